//! Settings → Gate policy: every value that decides whether a change may pass, its source, and how to change it.

use askama::Template;
use axum::extract::State;
use tollgate_engine::config::SourcedValue;

use crate::app::Shared;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::settings::{Tab, config_file, source};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "settings_gate.html")]
pub(crate) struct GatePage {
    chrome: Chrome,
    tab: Tab,
    groups: Vec<Group>,
    file: Option<String>,
    has_file: bool,
}

struct Group {
    name: &'static str,
    rows: Vec<Row>,
}

/// A value.
struct Row {
    key: &'static str,
    name: &'static str,
    meaning: &'static str,
    /// The value as TOML, and where it comes from; more than one where lists add up.
    values: Vec<(String, String)>,
    /// The default value.
    unset: &'static str,
    /// What to write to change it.
    snippet: String,
    /// True when a repository's own `.tollgate.toml` may say it, too.
    in_repository: bool,
}

/// A setting in words: key, name, meaning, default, an example of a value.
type Words = (&'static str, &'static str, &'static str, &'static str, &'static str);

const ROUNDS: [Words; 7] = [
    (
        "pipeline.rounds",
        "Rounds",
        "How often a feature may be rejected before a person decides; three at most.",
        "",
        "3",
    ),
    (
        "pipeline.agent",
        "Implementer",
        "Who implements features.",
        "none: features wait until one is configured",
        "\"claude\"",
    ),
    ("pipeline.at_once", "Agents at once", "How many features agents work on at the same time.", "", "2"),
    ("pipeline.reviews_at_once", "Reviews at once", "How many reviews are made at the same time.", "", "2"),
    ("pipeline.minutes", "Time for one round", "Minutes until an agent is ended.", "", "60"),
    ("pipeline.idle_minutes", "Silence", "Minutes an agent may say nothing before it is ended.", "", "10"),
    ("pipeline.hooks", "Hooks", "Whether the project's git hooks have a say in commits.", "", "true"),
];

const VERDICT: [Words; 6] = [
    ("review.fail_on", "Closes the gate", "The mildest severity that keeps a change from passing.", "", "\"high\""),
    (
        "review.profile",
        "Profile",
        "How strict to be: strict, balanced or minimal. It sets the floor and how many findings are commented on.",
        "",
        "\"balanced\"",
    ),
    ("review.floor", "Floor", "Milder findings are withheld in every profile.", "as the profile says", "\"medium\""),
    ("review.cap", "Cap", "How many findings are commented on at most.", "as the profile says", "7"),
    (
        "review.ignore",
        "Left out",
        "Categories that are not remarked on; blockers always are.",
        "as the profile says",
        "[\"doc\"]",
    ),
    (
        "review.focus",
        "Looked at most",
        "Categories that are looked at with more care.",
        "none in particular",
        "[\"security\"]",
    ),
];

const REVIEWERS: [Words; 3] = [
    (
        "review.reviewers",
        "Reviewers",
        "Who reviews beside the rules. Without one, acceptance criteria stay unclear.",
        "the embedded rules alone",
        "[\"claude\"]",
    ),
    (
        "review.consensus",
        "Consensus",
        "How many of them must say the same for it to count. Rules count alone.",
        "",
        "1",
    ),
    (
        "pipeline.review_model",
        "Model of reviews",
        "Another model for reviews than for the work.",
        "the feature's model, else the reviewer's own",
        "\"opus\"",
    ),
];

const COST: [Words; 6] = [
    (
        "pipeline.usd",
        "Money for a feature",
        "US dollars, work and reviews together; then it waits for you.",
        "no limit",
        "5.0",
    ),
    ("budget.usd", "Money for a review", "US dollars; what does not fit is not reviewed.", "no limit", "1.0"),
    (
        "budget.tokens",
        "Tokens for a review",
        "What is sent to models; what does not fit is not reviewed.",
        "",
        "200000",
    ),
    ("budget.seconds", "Time for a review", "Seconds until models must have answered.", "", "600"),
    (
        "budget.idle_seconds",
        "Silence of a model",
        "Seconds without a sign of life until a call is given up.",
        "",
        "120",
    ),
    ("budget.parallel", "Calls at once", "How many questions are put at the same time.", "", "4"),
];

const SANDBOX: [Words; 4] = [
    (
        "sandbox.mode",
        "Sandbox",
        "Whether agents and hooks need a sandbox: require refuses to start without every layer, best uses the layers there are.",
        "",
        "\"best\"",
    ),
    ("sandbox.network", "Network", "What agents reach: hosts, none or open.", "", "\"hosts\""),
    (
        "sandbox.registries",
        "Package registries",
        "Whether implementers and hooks reach the public package registries.",
        "",
        "true",
    ),
    ("sandbox.processes", "Processes", "Processes and threads that one agent may have.", "", "8192"),
];

const LIMITS: [Words; 6] = [
    (
        "review.max_diff_bytes",
        "Largest diff",
        "Bytes that are read; files beyond are listed as not reviewed.",
        "",
        "20000000",
    ),
    ("limits.file_bytes", "Largest file", "Bytes of a file that is scanned.", "", "1048576"),
    ("limits.file_seconds", "Time for a file", "Seconds that scanning one file may take.", "", "10"),
    ("limits.cpu_seconds", "Processor time for a file", "Seconds of it that scanning one file may take.", "", "2"),
    ("limits.memory_mib", "Memory for a file", "MiB that a scanning process may take.", "", "512"),
    ("pipeline.dir", "Folder", "The folder of a project that holds its features.", "", "\".automaker\""),
];

pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<GatePage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "Gate policy", None).await?;
    let file = config_file(&app.board);
    let has_file = file.as_ref().is_some_and(|file| std::path::Path::new(file).is_file());
    let groups = groups(&app.board.settings().shown);
    Ok(Page(GatePage { chrome, tab: Tab::Gate, groups, file, has_file }))
}

fn groups(shown: &[SourcedValue]) -> Vec<Group> {
    let group = |name, words: &[Words]| Group { name, rows: words.iter().map(|words| row(words, shown)).collect() };
    vec![
        group("Rounds and agents", &ROUNDS),
        group("Verdict", &VERDICT),
        group("Reviewers", &REVIEWERS),
        group("Cost", &COST),
        group("Sandbox", &SANDBOX),
        group("Limits and folder", &LIMITS),
    ]
}

fn row(&(key, name, meaning, unset, example): &Words, shown: &[SourcedValue]) -> Row {
    let set = shown.iter().filter(|set| set.key == key);
    let values: Vec<(String, String)> =
        set.map(|SourcedValue { value, source: from, .. }| (value.clone(), source(from).to_owned())).collect();
    let (table, field) = key.split_once('.').unwrap_or(("review", key));
    let current = values.last().map_or(example, |(value, _)| value.as_str());
    let snippet = format!("[{table}]\n{field} = {current}");
    Row { key, name, meaning, values, unset, snippet, in_repository: !["pipeline", "sandbox"].contains(&table) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str, &str)]) -> Vec<SourcedValue> {
        let value = |(key, value, source): &(&str, &str, &str)| SourcedValue {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            source: (*source).to_owned(),
        };
        values.iter().map(value).collect()
    }

    #[test]
    fn every_value_that_has_a_default_is_explained() {
        let settings = tollgate_engine::config::Settings::of_layers(&[]).unwrap();
        let known: Vec<&str> =
            [&ROUNDS[..], &VERDICT, &REVIEWERS, &COST, &SANDBOX, &LIMITS].concat().iter().map(|it| it.0).collect();
        // Shown elsewhere, or of no meaning at a gate.
        let elsewhere = [
            "identity.bot",
            "identity.pipeline",
            "store.enabled",
            "review.allow_no_review",
            "review.automatic",
            "review.auto_approve",
            "review.mode",
            "github.url",
            "github.concurrency",
            "github.concurrency_per_repository",
            "github.concurrency_per_installation",
            "github.model_reviews_per_repository",
            "github.model_reviews_per_author",
            "retention.reviews",
            "retention.diffs",
            "retention.deliveries",
            "retention.events",
            "retention.pulls",
        ];
        for shown in &settings.shown {
            let is_there = known.contains(&shown.key.as_str()) || elsewhere.contains(&shown.key.as_str());
            assert!(is_there, "`{}` is not explained", shown.key);
        }
    }

    #[test]
    fn every_example_is_a_configuration_that_can_be_used() {
        let all = groups(&settings(&[]));
        for row in all.iter().flat_map(|group| &group.rows) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("tollgate")).unwrap();
            std::fs::write(folder.path().join("tollgate/config.toml"), &row.snippet).unwrap();
            let loaded = tollgate_engine::config::load(None, Some(folder.path()), &[], Default::default());
            assert!(loaded.is_ok(), "{}: {loaded:?}", row.snippet);
        }
    }

    #[test]
    fn the_snippet_has_the_value_of_now() {
        let rows = groups(&settings(&[("pipeline.rounds", "2", "--flag"), ("pipeline.rounds", "1", "default")]));
        assert_eq!(rows[0].rows[0].snippet, "[pipeline]\nrounds = 1");
        let sources: Vec<&str> = rows[0].rows[0].values.iter().map(|(_, source)| source.as_str()).collect();
        assert_eq!(sources, ["--flag", "the default"]);
    }
}
