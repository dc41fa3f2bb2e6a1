//! `tollgate doctor`: is everything there, and what to do where it is not.

use std::fmt::Write as _;

use serde_json::json;
use tollgate_engine::config::{Layer, Limits};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Environment, Git};
use tollgate_engine::reviewer::embedded;

use super::rules::DataFormat;
use super::{Done, Place, output};

/// Checks git, the repository, the configuration and your rules
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate doctor               is everything there?\n  \
    tollgate doctor --config      every setting, with where it came from\n\n\
    Exit codes: 0 all is well, 1 something needs your attention.")]
pub(crate) struct Args {
    /// Print every setting with where it came from
    #[arg(long)]
    config: bool,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

/// One thing that was looked at.
struct Check {
    name: &'static str,
    /// What was found, or what is wrong and what to do about it.
    result: Result<String, Failure>,
}

pub(crate) fn run(place: &Place, args: &Args) -> Result<Done, Failure> {
    if args.config {
        return print_settings(place, args.format);
    }
    let checks = check_all(place);
    let text = match args.format {
        DataFormat::Text => as_text(&checks),
        DataFormat::Json => as_json(&checks),
    };
    output::print(&text)?;
    Ok(if checks.iter().all(|check| check.result.is_ok()) { Done::Fine } else { Done::No })
}

fn check_all(place: &Place) -> Vec<Check> {
    let git = Git::new(&place.directory, Environment::of_process());
    let version = git.run(&["--version"]).map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    let mut checks = vec![Check { name: "git", result: version }];
    let repository = place.repository();
    let root = repository.as_ref().ok().and_then(|forge| forge.root().map(ToOwned::to_owned));
    checks.push(Check {
        name: "repository",
        result: repository.map(|forge| match forge.root() {
            Some(root) => root.display().to_string(),
            None => "without a working tree; name a range to review".to_owned(),
        }),
    });
    let settings = place.settings(root.as_deref(), Layer::default());
    let limits = settings.as_ref().map(|settings| settings.limits).unwrap_or_default();
    checks.push(Check {
        name: "configuration",
        result: settings.map(|settings| {
            let changed = settings.shown.iter().filter(|shown| shown.source != "default").count();
            format!("can be used; {changed} of {} settings are not the default", settings.shown.len())
        }),
    });
    checks.push(Check { name: "embedded rules", result: scan_something(place, limits) });
    let user = place.program().and_then(|program| embedded::check_user_rules(root.as_deref(), &program, limits));
    checks.push(Check {
        name: "your rules",
        result: user.map(|rules| match rules.len() {
            0 => "none; ast-grep YAML in .tollgate/rules is used when there is some".to_owned(),
            n_rules => format!("{n_rules} can be used"),
        }),
    });
    checks
}

/// Shows that a child can be started and finds what it should.
fn scan_something(place: &Place, limits: Limits) -> Result<String, Failure> {
    embedded::self_test(&place.program()?, limits)?;
    Ok(format!("{} rules; a scanning child works", tollgate_rules::catalog::all().len()))
}

fn as_text(checks: &[Check]) -> String {
    let mut text = format!("tollgate {} ({})\n\n", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
    for check in checks {
        match &check.result {
            Ok(found) => {
                let _ = writeln!(text, "ok    {:<16} {found}", check.name);
            }
            Err(failure) => {
                let _ = writeln!(text, "FAIL  {:<16} {}", check.name, failure.message.replace('\n', "\n      "));
                if let Some(hint) = &failure.hint {
                    let _ = writeln!(text, "      {:<16} {hint}", "");
                }
            }
        }
    }
    text
}

fn as_json(checks: &[Check]) -> String {
    let checks: Vec<_> = checks
        .iter()
        .map(|check| match &check.result {
            Ok(found) => json!({ "check": check.name, "ok": true, "found": found }),
            Err(failure) => {
                json!({ "check": check.name, "ok": false, "problem": failure.message, "hint": failure.hint })
            }
        })
        .collect();
    format!("{:#}\n", json!({ "version": env!("CARGO_PKG_VERSION"), "checks": checks }))
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
