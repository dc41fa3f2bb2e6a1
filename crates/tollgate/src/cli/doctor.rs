//! `tollgate doctor`: checks the installation, with a hint for each problem.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_engine::config::{Layer, Limits, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Environment, Git};
use tollgate_engine::reviewer::embedded;
use tollgate_engine::store::{Condition, Location, examine};

use super::rules::DataFormat;
use super::{CliContext, Exit, StoreArgs, board, output, store_args};

pub(crate) mod github;
mod reviewers;
mod sandbox;

/// Check git, the repository, the configuration, the database, your rules and reviewers
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate doctor               check everything, offline\n  \
    tollgate doctor --config      every setting with its source\n  \
    tollgate doctor --database postgres://tollgate@db.example/tollgate   check this database\n  \
    tollgate doctor --online      also check the keys with the model providers and GitHub\n  \
    tollgate doctor --self-test claude   ask an agent to write, and verify that it cannot\n\n\
    Exit codes: 0 all checks passed, 1 a check failed.")]
pub(crate) struct Args {
    /// Print every setting with its source
    #[arg(long)]
    config: bool,
    /// Also connect to the model providers and GitHub, and check the keys
    #[arg(long)]
    online: bool,
    /// Ask this agent to write to a temporary directory, and fail if it does; sends one request to its model
    #[arg(long, value_name = "NAME", conflicts_with_all = ["config", "online"])]
    self_test: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
    #[command(flatten)]
    store: StoreArgs,
}

/// One check and its result.
struct Check {
    name: String,
    found: Found,
}

/// The result of a check.
enum Found {
    /// Passed, with a description.
    Ok(String),
    /// Not installed and not required.
    Missing(String),
    /// Failed, with a hint.
    Wrong(Failure),
}

/// The checks of the program, by what they are about.
#[derive(Default)]
struct Groups {
    /// Git, the repository, the configuration, the database and the rules.
    checks: Vec<Check>,
    sandbox: Vec<Check>,
    reviewers: Vec<Check>,
    github: Vec<Check>,
}

impl Check {
    fn new(name: &str, result: Result<String, Failure>) -> Self {
        let found = result.map_or_else(Found::Wrong, Found::Ok);
        Self { name: name.to_owned(), found }
    }
}

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    if args.config {
        return print_settings(context, args.format);
    }
    let groups = match &args.self_test {
        Some(name) => Groups { reviewers: vec![self_test(context, name)?], ..Groups::default() },
        None => check_all(context, args.online, &args.store),
    };
    let text = match args.format {
        DataFormat::Text => groups.as_text(),
        DataFormat::Json => groups.as_json(),
    };
    output::print(&text)?;
    let is_well = groups.all().all(|check| !matches!(check.found, Found::Wrong(_)));
    Ok(if is_well { Exit::Success } else { Exit::Negative })
}

fn self_test(context: &CliContext, name: &str) -> Result<Check, Failure> {
    let root = context.repository().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    let settings = context.settings(root.as_deref(), Layer::default())?;
    output::end_cleanly_on_ctrl_c();
    let tested = reviewers::self_test(&settings, name, &context.program()?);
    tollgate_engine::process::wait_if_stopping();
    Ok(Check::new(name, tested))
}

/// Checks the requirements of a review, the sandbox, the reviewers and the GitHub App.
fn check_all(context: &CliContext, online: bool, store: &StoreArgs) -> Groups {
    let git = Git::new(&context.directory, Environment::of_process());
    let version = git.run(&["--version"]).map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    let mut checks = vec![Check::new("git", version)];
    let repository = context.repository();
    let root = repository.as_ref().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    let said = |root: Option<&Path>| match root {
        Some(root) => root.display().to_string(),
        None => "bare, without a working tree; give a range to review".to_owned(),
    };
    checks.push(Check::new("repository", repository.map(|forge| said(forge.root()))));
    let settings = context.settings(root.as_deref(), Layer::default());
    let limits = settings.as_ref().map(|settings| settings.limits).unwrap_or_default();
    let used = settings.as_ref().map_err(Clone::clone).map(|settings| {
        let changed = settings.shown.iter().filter(|shown| shown.source != "default").count();
        format!("valid; {changed} of {} settings differ from the default", settings.shown.len())
    });
    checks.push(Check::new("configuration", used));
    if let Ok(settings) = &settings {
        checks.push(check_database(context, settings, store));
    }
    checks.push(Check::new("embedded rules", scan_something(context, limits)));
    let user = context.program().and_then(|program| embedded::check_user_rules(root.as_deref(), &program, limits));
    let said = |n_rules: usize| match n_rules {
        0 => "none; put ast-grep YAML into .tollgate/rules to add some".to_owned(),
        n_rules => format!("{n_rules} valid"),
    };
    checks.push(Check::new("your rules", user.map(|rules| said(rules.len()))));
    let Ok(settings) = settings else { return Groups { checks, ..Groups::default() } };
    let data = board::data_folder(context, &settings, store).ok();
    let github = data.as_ref().map(|data| github::check_all(&settings, data, online)).unwrap_or_default();
    let sandbox = sandbox::check_all(context, &settings, data.as_deref());
    Groups { checks, sandbox, reviewers: reviewers::check_all(&settings, online), github }
}

/// Checks the database without creating or migrating it.
fn check_database(context: &CliContext, settings: &Settings, store: &StoreArgs) -> Check {
    let name = "database";
    let found = store_args::location(context, settings, store).and_then(|location| {
        let health = examine(&location)?;
        Ok((location, health))
    });
    match found {
        Ok((location, None)) => {
            let why = format!("{location} does not exist yet; it is created on first use");
            Check { name: name.to_owned(), found: Found::Missing(why) }
        }
        Ok((location, Some(health))) => Check::new(name, Ok(describe(&location, &health))),
        Err(failure) => Check::new(name, Err(failure)),
    }
}

fn describe(location: &Location, health: &Condition) -> String {
    let tables = match (health.version, health.n_pending) {
        (None, _) => "no tables yet; the next start creates them".to_owned(),
        (Some(version), 0) => format!("tables of version {version}"),
        (Some(version), n_pending) => {
            let migrations = if n_pending == 1 { "migration" } else { "migrations" };
            format!("tables of version {version}, {n_pending} {migrations} pending, applied by the next start")
        }
    };
    // A database without these rights fails the check before this line.
    let rights = if location.file().is_some() { "" } else { "; all required rights" };
    let latency = health.latency.as_secs_f64() * 1_000.0;
    format!("{} at {location}; {tables}{rights}; latency {latency:.1} ms", health.engine)
}

/// Checks that the scanning child process starts and reports a known finding.
fn scan_something(context: &CliContext, limits: Limits) -> Result<String, Failure> {
    embedded::self_test(&context.program()?, limits)?;
    Ok(format!("{} rules; the scanning child process works", tollgate_rules::catalog::all().len()))
}

impl Groups {
    fn all(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().chain(&self.sandbox).chain(&self.reviewers).chain(&self.github)
    }

    fn as_text(&self) -> String {
        let mut text = format!("tollgate {} ({})\n\n", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
        write(&mut text, &self.checks);
        let titled = [
            ("Sandbox of agents and hooks", &self.sandbox),
            ("Reviewers besides the rules: `tollgate review --reviewer NAME`", &self.reviewers),
            ("GitHub App", &self.github),
        ];
        for (title, group) in titled {
            if !group.is_empty() && !self.checks.is_empty() {
                let _ = writeln!(text, "\n{title}");
            }
            write(&mut text, group);
        }
        text
    }

    fn as_json(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let [checks, sandbox, reviewers, github] =
            [&self.checks, &self.sandbox, &self.reviewers, &self.github].map(|group| values(group));
        let groups = json!({
            "version": version,
            "checks": checks,
            "sandbox": sandbox,
            "reviewers": reviewers,
            "github": github
        });
        format!("{groups:#}\n")
    }
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

fn print_settings(context: &CliContext, format: DataFormat) -> Result<Exit, Failure> {
    let root = context.repository().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    let settings = context.settings(root.as_deref(), Layer::default())?;
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
    Ok(Exit::Success)
}
