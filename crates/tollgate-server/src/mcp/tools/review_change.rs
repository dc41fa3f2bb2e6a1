//! `review_change`: reviews a change, by the same pipeline as `tollgate review`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::finding;
use tollgate_core::gate::{FailOn, Gate};
use tollgate_engine::config::Settings;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::{Local, PatchSource, Trigger};
use tollgate_engine::pipeline::{
    self, BranchSettings, Memory, ModelOptions, ReviewProgress, ReviewRequest, Reviewed, ReviewerRun, Runtime,
};
use tollgate_engine::store::Store;

use super::{Effect, Job, Tool};
use crate::mcp::arguments::name;
use crate::mcp::concurrency::Weight;
use crate::mcp::context::ToolContext;
use crate::mcp::failure;
use crate::mcp::shape::{Finding, MAX_LISTED, Told};

/// The tool.
pub(super) struct ReviewChange;

/// Input of the tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Arguments {
    /// The folder of the repository; on a server the number or folder of a project. Left out: where the server was
    /// started, or its only project.
    #[schemars(length(min = 1, max = 4096))]
    repository: Option<String>,
    /// Which change: `branch` is everything since the branch left the main branch, with uncommitted work (the default);
    /// `staged` is what the next commit would contain; `worktree` is uncommitted work alone.
    scope: Option<Scope>,
    /// A range of commits instead: `A..B`, `A...B`, or `A` for everything since A.
    #[schemars(length(min = 1, max = 4096))]
    range: Option<String>,
    /// A unified diff instead, as `git diff` prints it.
    #[schemars(length(min = 1))]
    diff: Option<String>,
    /// Close the gate from this severity on. It can only be stricter than what the operator configured.
    fail_on: Option<FailFrom>,
    /// Review only the changes since the last review of this branch, and report new and resolved findings.
    since_last: bool,
}

/// Which change of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Scope {
    Branch,
    Staged,
    Worktree,
}

/// From which severity on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FailFrom {
    Critical,
    High,
    Medium,
    Low,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True when the change may pass: everything was reviewed, and no finding closes the gate.
    may_pass: bool,
    /// open, closed (by a finding), partial (not all was reviewed) or skipped (its author said so).
    gate: String,
    /// The number of this review, for `get_review`; left out when it was not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<i64>,
    #[serde(flatten)]
    told: Told,
    /// The findings that count, worst first, at most 100.
    findings: Vec<Finding>,
    /// What changed since the last review; left out when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_last: Option<Since>,
    /// The models and agents that were asked beside the rules.
    reviewers: Vec<Reviewer>,
}

/// What changed since the last review.
#[derive(Debug, Serialize, JsonSchema)]
struct Since {
    /// The number of that review.
    review: i64,
    /// How many findings are new.
    n_new: usize,
    /// How many were there before.
    n_still_open: usize,
    /// Resolved findings, by title and file.
    resolved: Vec<String>,
}

/// A reviewer that was asked.
#[derive(Debug, Serialize, JsonSchema)]
struct Reviewer {
    /// The name in the configuration.
    name: String,
    /// How many calls were made.
    n_calls: usize,
    /// How many of them brought no answer.
    n_failed: usize,
    /// US dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

impl Tool for ReviewChange {
    const NAME: &'static str = "review_change";
    const TITLE: &'static str = "Review a change";
    const DESCRIPTION: &'static str = "Reviews a code change and says whether it may pass. Call it before you say that \
        you are done, before you commit or push, and after you fixed findings (then with `since_last`). Without \
        arguments it reviews the current branch with uncommitted work. It runs static rules, offline, and the models \
        that the operator configured, if any; it changes no file. The answer has a verdict, the gate, each finding with \
        place, reason and fix, and what was not reviewed.";
    const EFFECT: Effect = Effect::Asks;
    const WEIGHT: Weight = Weight::Heavy;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, job: &Job<'_>) -> Result<Output, Failure> {
        let (fail_on, since_last) = (arguments.fail_on, arguments.since_last);
        let (repository, trigger) = trigger(arguments)?;
        let is_patch = matches!(trigger, Trigger::Patch { .. });
        let forge = context.open(repository.as_deref(), trigger)?;
        let BranchSettings { mut settings, note } = context.review_settings(&forge)?;
        settings.fail_on = stricter(settings.fail_on, fail_on);
        let (mut reviewed, stored) = review(context, forge, &settings, (is_patch, since_last), job)?;
        if job.cancel.is_cancelled() {
            return Err(failure::cancelled());
        }
        note.iter().for_each(|note| reviewed.add_note(note));
        Ok(output(&reviewed, stored))
    }

    fn in_words(output: &Output) -> String {
        let review = output.review.map(|number| format!(" (review {number})")).unwrap_or_default();
        let may = if output.may_pass { "may pass" } else { "may not pass" };
        let Output { told, gate, .. } = output;
        let head =
            format!("the change {may}: {}, the gate is {gate}, findings: {}{review}", told.state, told.n_findings);
        let resolved = output.since_last.iter().flat_map(|since| &since.resolved);
        let resolved: Vec<String> = resolved.map(|title| format!("resolved: {title}\n")).collect();
        format!("{head}\n{}{}", told.in_words(&output.findings), resolved.concat())
    }
}

/// Which change is meant.
fn trigger(arguments: Arguments) -> Result<(Option<String>, Trigger), Failure> {
    let trigger = match (arguments.scope, arguments.range, arguments.diff) {
        (None | Some(Scope::Branch), None, None) => Trigger::Default,
        (Some(Scope::Staged), None, None) => Trigger::Staged,
        (Some(Scope::Worktree), None, None) => Trigger::Worktree,
        (None, Some(range), None) => Trigger::Range(name("range", &range)?.to_owned()),
        (None, None, Some(diff)) => {
            Trigger::Patch { name: "diff".to_owned(), source: PatchSource::of_bytes(diff.into_bytes()) }
        }
        (_, _, _) => return Err(failure::several_changes()),
    };
    Ok((arguments.repository, trigger))
}

/// The severity that closes the gate: the caller may be stricter than the operator, never more lenient.
fn stricter(configured: FailOn, asked: Option<FailFrom>) -> FailOn {
    let asked = match asked {
        None => return configured,
        Some(FailFrom::Critical) => finding::Severity::Critical,
        Some(FailFrom::High) => finding::Severity::High,
        Some(FailFrom::Medium) => finding::Severity::Medium,
        Some(FailFrom::Low) => finding::Severity::Low,
    };
    match configured {
        FailOn::Never => FailOn::Severity(asked),
        FailOn::Severity(configured) => FailOn::Severity(configured.min(asked)),
    }
}

/// Reviews, and says under which number that is stored.
fn review(
    context: &ToolContext,
    forge: Local,
    settings: &Settings,
    (is_patch, since_last): (bool, bool),
    job: &Job<'_>,
) -> Result<(Reviewed, Option<i64>), Failure> {
    let home = context.home();
    let memory = match () {
        () if is_patch || !settings.remembers => Memory::Off,
        () => Store::open_at(context.store()).map_or_else(Memory::Unavailable, Memory::Open),
    };
    let variable = |name: &str| context.variable(name);
    let events = |event: ReviewProgress<'_>| match event {
        ReviewProgress::Output { .. } => {}
        event => (job.tell)(event.in_words()),
    };
    let models = ModelOptions {
        prompts: Some(home.data.join("settings.json")),
        ..ModelOptions::new(&variable, job.cancel.clone())
    };
    let runtime = Runtime { executable: home.executable.clone(), memory, clock: &home.clock, events: &events };
    let mut request = ReviewRequest { since_last, ..ReviewRequest::for_branch(settings, forge, models, runtime) };
    let begun = (home.clock)();
    let reviewed = pipeline::review_change(&mut request)?;
    let stored = match (&request.runtime.memory, &request.subject) {
        (Memory::Open(store), Some(subject)) => store.last_of(subject)?.filter(|run| run.started_ms >= begun),
        _ => None,
    };
    Ok((reviewed, stored.map(|run| run.id)))
}

fn output(reviewed: &Reviewed, review: Option<i64>) -> Output {
    let since = reviewed.since.as_ref();
    let told = |(index, finding): (usize, &finding::Finding)| Finding {
        is_new: since.map(|since| since.new.contains(&index)),
        ..Finding::from(finding)
    };
    let resolved = |finding: &finding::Finding| format!("{} ({})", finding.summary, finding.location.file);
    Output {
        may_pass: reviewed.gate == Gate::Open,
        gate: reviewed.gate.as_str().to_owned(),
        review,
        told: Told::new(&reviewed.review, Some(reviewed.gate)),
        findings: reviewed.review.findings.iter().enumerate().take(MAX_LISTED).map(told).collect(),
        since_last: since.map(|since| Since {
            review: since.run,
            n_new: since.new.len(),
            n_still_open: since.still_open.len(),
            resolved: since.resolved.iter().take(MAX_LISTED).map(resolved).collect(),
        }),
        reviewers: reviewed.runs.iter().map(asked).collect(),
    }
}

fn asked(run: &ReviewerRun) -> Reviewer {
    Reviewer { name: run.name.clone(), n_calls: run.n_calls, n_failed: run.n_failed, cost_usd: run.cost }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::finding::Severity;

    #[test]
    fn a_caller_can_only_be_stricter_than_the_operator() {
        let at = FailOn::Severity;
        for (configured, asked, expected) in [
            (at(Severity::High), None, at(Severity::High)),
            (at(Severity::High), Some(FailFrom::Critical), at(Severity::High)),
            (at(Severity::High), Some(FailFrom::Low), at(Severity::Low)),
            (FailOn::Never, None, FailOn::Never),
            (FailOn::Never, Some(FailFrom::High), at(Severity::High)),
        ] {
            assert_eq!(stricter(configured, asked), expected, "{configured:?} and {asked:?}");
        }
    }

    #[test]
    fn a_change_is_named_in_one_way() {
        let arguments = |text: &str| serde_json::from_str::<Arguments>(text).unwrap();
        let of = |text: &str| trigger(arguments(text)).map(|(_, trigger)| trigger);
        assert_eq!(of("{}").unwrap(), Trigger::Default);
        assert_eq!(of(r#"{"scope": "branch"}"#).unwrap(), Trigger::Default);
        assert_eq!(of(r#"{"scope": "staged"}"#).unwrap(), Trigger::Staged);
        assert_eq!(of(r#"{"range": "a..b"}"#).unwrap(), Trigger::Range("a..b".to_owned()));
        assert_eq!(of(r#"{"range": "a..b", "scope": "branch"}"#).unwrap_err(), failure::several_changes());
        assert_eq!(of(r#"{"range": "a..b", "diff": "x"}"#).unwrap_err(), failure::several_changes());
        assert!(of(r#"{"range": "a\u0000b"}"#).is_err());
    }
}
