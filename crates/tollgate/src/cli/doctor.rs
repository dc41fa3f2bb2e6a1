//! `tollgate doctor`: is everything there, and what to do where it is not.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_engine::config::{Layer, Limits, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Environment, Git};
use tollgate_engine::reviewer::embedded;
use tollgate_engine::store::{Condition, Location, examine};

use super::rules::DataFormat;
use super::{Done, Place, board, memory, output};

pub(crate) mod github;
mod reviewers;

/// Checks git, the repository, the configuration, the database, your rules and who can review
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate doctor               is everything there?\n  \
    tollgate doctor --config      every setting, with where it came from\n  \
    tollgate doctor --database postgres://tollgate@db.example/tollgate   can this database be used?\n  \
    tollgate doctor --online      also ask services and GitHub whether they take the key\n  \
    tollgate doctor --self-test claude   ask an agent to write, and see that it cannot\n\n\
    Exit codes: 0 all is well, 1 something needs your attention.")]
pub(crate) struct Args {
    /// Print every setting with where it came from
    #[arg(long)]
    config: bool,
    /// Ask the services of reviewers and GitHub whether they can be reached and take the key
    #[arg(long)]
    online: bool,
    /// Ask this agent to write to a throw-away folder, and fail if it does; asks its model once
    #[arg(long, value_name = "NAME", conflicts_with_all = ["config", "online"])]
    self_test: Option<String>,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
    #[command(flatten)]
    store: memory::Flag,
}

/// One thing that was looked at.
struct Check {
    name: String,
    found: Found,
}

/// What was found.
enum Found {
    /// All is well.
    Ok(String),
    /// It is not there, and nobody needs it.
    Missing(String),
    /// Something is wrong, and what to do about it.
    Wrong(Failure),
}

impl Check {
    fn new(name: &str, result: Result<String, Failure>) -> Self {
        let found = result.map_or_else(Found::Wrong, Found::Ok);
        Self { name: name.to_owned(), found }
    }
}

pub(crate) fn run(place: &Place, args: &Args) -> Result<Done, Failure> {
    if args.config {
        return print_settings(place, args.format);
    }
    let (checks, reviewers, github) = match &args.self_test {
        Some(name) => (Vec::new(), vec![self_test(place, name)?], Vec::new()),
        None => check_all(place, args.online, &args.store),
    };
    let text = match args.format {
        DataFormat::Text => as_text(&checks, &reviewers, &github),
        DataFormat::Json => as_json(&checks, &reviewers, &github),
    };
    output::print(&text)?;
    let is_well = checks.iter().chain(&reviewers).chain(&github).all(|check| !matches!(check.found, Found::Wrong(_)));
    Ok(if is_well { Done::Fine } else { Done::No })
}

fn self_test(place: &Place, name: &str) -> Result<Check, Failure> {
    let root = place.repository().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    let settings = place.settings(root.as_deref(), Layer::default())?;
    output::end_cleanly_on_ctrl_c();
    let tested = reviewers::self_test(&settings, name, &place.program()?);
    tollgate_engine::process::wait_if_stopping();
    Ok(Check::new(name, tested))
}

/// What a review needs, who can review, and the app that reviews pull requests.
fn check_all(place: &Place, online: bool, store: &memory::Flag) -> (Vec<Check>, Vec<Check>, Vec<Check>) {
    let git = Git::new(&place.directory, Environment::of_process());
    let version = git.run(&["--version"]).map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    let mut checks = vec![Check::new("git", version)];
    let repository = place.repository();
    let root = repository.as_ref().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    let said = |root: Option<&Path>| match root {
        Some(root) => root.display().to_string(),
        None => "without a working tree; name a range to review".to_owned(),
    };
    checks.push(Check::new("repository", repository.map(|forge| said(forge.root()))));
    let settings = place.settings(root.as_deref(), Layer::default());
    let limits = settings.as_ref().map(|settings| settings.limits).unwrap_or_default();
    let used = settings.as_ref().map_err(Clone::clone).map(|settings| {
        let changed = settings.shown.iter().filter(|shown| shown.source != "default").count();
        format!("can be used; {changed} of {} settings are not the default", settings.shown.len())
    });
    checks.push(Check::new("configuration", used));
    if let Ok(settings) = &settings {
        checks.push(check_database(place, settings, store));
    }
    checks.push(Check::new("embedded rules", scan_something(place, limits)));
    let user = place.program().and_then(|program| embedded::check_user_rules(root.as_deref(), &program, limits));
    let said = |n_rules: usize| match n_rules {
        0 => "none; ast-grep YAML in .tollgate/rules is used when there is some".to_owned(),
        n_rules => format!("{n_rules} can be used"),
    };
    checks.push(Check::new("your rules", user.map(|rules| said(rules.len()))));
    let Ok(settings) = settings else { return (checks, Vec::new(), Vec::new()) };
    let data = board::data(place, &settings, store);
    let github = data.map(|data| github::check_all(&settings, &data, online)).unwrap_or_default();
    (checks, reviewers::check_all(&settings, online), github)
}

/// Whether the database can be used. To look is no reason to make it, or to bring it up to date.
fn check_database(place: &Place, settings: &Settings, store: &memory::Flag) -> Check {
    let name = "database";
    let found = memory::location(place, settings, store).and_then(|location| {
        let health = examine(&location)?;
        Ok((location, health))
    });
    match found {
        Ok((location, None)) => {
            let why = format!("{location} is not there yet; it is made when something is to be kept");
            Check { name: name.to_owned(), found: Found::Missing(why) }
        }
        Ok((location, Some(health))) => Check::new(name, Ok(describe(&location, &health))),
        Err(failure) => Check::new(name, Err(failure)),
    }
}

fn describe(location: &Location, health: &Condition) -> String {
    let tables = match (health.version, health.n_pending) {
        (None, _) => "no tables yet, which the next start makes".to_owned(),
        (Some(version), 0) => format!("tables of version {version}"),
        (Some(version), n_pending) => {
            let migrations = if n_pending == 1 { "migration" } else { "migrations" };
            format!("tables of version {version}, {n_pending} {migrations} pending, which the next start makes")
        }
    };
    // Without them it could not be used, and would be told of as a failure.
    let rights = if location.file().is_some() { "" } else { "; all rights that are needed" };
    let latency = health.latency.as_secs_f64() * 1_000.0;
    format!("{} at {location}; {tables}{rights}; answers in {latency:.1} ms", health.engine)
}

/// Shows that a child can be started and finds what it should.
fn scan_something(place: &Place, limits: Limits) -> Result<String, Failure> {
    embedded::self_test(&place.program()?, limits)?;
    Ok(format!("{} rules; a scanning child works", tollgate_rules::catalog::all().len()))
}

fn as_text(checks: &[Check], reviewers: &[Check], github: &[Check]) -> String {
    let mut text = format!("tollgate {} ({})\n\n", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
    write(&mut text, checks);
    if !checks.is_empty() && !reviewers.is_empty() {
        text.push_str("\nReviewers, beside the rules: `tollgate review --reviewer NAME`\n");
    }
    write(&mut text, reviewers);
    if !github.is_empty() {
        text.push_str("\nGitHub, where pull requests are reviewed\n");
    }
    write(&mut text, github);
    text
}

fn write(text: &mut String, checks: &[Check]) {
    for check in checks {
        match &check.found {
            Found::Ok(found) => {
                let _ = writeln!(text, "ok    {:<16} {found}", check.name);
            }
            Found::Missing(why) => {
                let _ = writeln!(text, "-     {:<16} {why}", check.name);
            }
            Found::Wrong(failure) => {
                let _ = writeln!(text, "FAIL  {:<16} {}", check.name, failure.message.replace('\n', "\n      "));
                if let Some(hint) = &failure.hint {
                    let _ = writeln!(text, "      {:<16} {hint}", "");
                }
            }
        }
    }
}

fn as_json(checks: &[Check], reviewers: &[Check], github: &[Check]) -> String {
    let (checks, reviewers, github) = (values(checks), values(reviewers), values(github));
    let version = env!("CARGO_PKG_VERSION");
    format!("{:#}\n", json!({ "version": version, "checks": checks, "reviewers": reviewers, "github": github }))
}

fn values(checks: &[Check]) -> Vec<Value> {
    checks
        .iter()
        .map(|check| match &check.found {
            Found::Ok(found) => json!({ "check": check.name, "ok": true, "found": found }),
            Found::Missing(why) => json!({ "check": check.name, "ok": true, "missing": why }),
            Found::Wrong(failure) => {
                json!({ "check": check.name, "ok": false, "problem": failure.message, "hint": failure.hint })
            }
        })
        .collect()
}

fn print_settings(place: &Place, format: DataFormat) -> Result<Done, Failure> {
    let root = place.repository().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    let settings = place.settings(root.as_deref(), Layer::default())?;
    let text = match format {
        DataFormat::Json => {
            let rows = settings.shown.iter();
            let rows = rows.map(|row| json!({ "key": row.key, "value": row.value, "source": row.source }));
            format!("{:#}\n", serde_json::Value::Array(rows.collect()))
        }
        DataFormat::Text => {
            let width = settings.shown.iter().map(|row| row.key.len() + row.value.len() + 3).max().unwrap_or(0).min(60);
            let rows = settings.shown.iter();
            rows.map(|row| format!("{:<width$}  # {}\n", format!("{} = {}", row.key, row.value), row.source)).collect()
        }
    };
    output::print(&text)?;
    Ok(Done::Fine)
}
