//! `tollgate rules`: the rules of the embedded reviewer.

use std::fmt::Write as _;

use clap::ValueEnum;
use serde_json::{Value, json};
use tollgate_core::report::terminal::Look;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::reviewer::embedded;
use tollgate_rules::catalog::{self, Example, Rule, RuleKind};
use tollgate_rules::example;
use tollgate_rules::user::UserRuleInfo;

use super::{CliContext, Exit, failure, output};

/// List, explain and test rules
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate rules                        all rules, by language\n  \
    tollgate rules list --language go     those for Go\n  \
    tollgate rules show js-async-foreach  one rule with its examples\n  \
    tollgate rules test                   the embedded rules and those in .tollgate/rules on their examples")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the embedded rules
    ///
    /// Example: `tollgate rules list --language python --format json`
    List {
        /// List only rules for this language, or `text` or `change`
        #[arg(long)]
        language: Option<String>,
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
    /// Show one rule with its rationale and examples
    ///
    /// Example: `tollgate rules show js-async-foreach`
    Show {
        /// The rule's ID
        id: String,
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
    /// Test rules on their examples, and validate your rules in `.tollgate/rules`
    ///
    /// Example: `tollgate rules test js-`
    Test {
        /// Test only rules whose ID contains this
        #[arg(default_value = "")]
        name: String,
    },
}

/// The output formats of most commands.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for people
    #[value(alias = "pretty")]
    Text,
    /// JSON for programs
    Json,
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let list = Command::List { language: None, format: DataFormat::Text };
    match args.command.unwrap_or(list) {
        Command::List { language, format } => list_rules(context, language.as_deref(), format),
        Command::Show { id, format } => show(context, &id, format),
        Command::Test { name } => test(context, &name),
    }
}

fn list_rules(context: &CliContext, language: Option<&str>, format: DataFormat) -> Result<Exit, Failure> {
    let matches =
        |rule: &&Rule| language.is_none_or(|wanted| groups(rule).iter().any(|own| own.eq_ignore_ascii_case(wanted)));
    let rules: Vec<&Rule> = catalog::all().iter().filter(matches).collect();
    if rules.is_empty() {
        let mut known: Vec<&str> = catalog::all().iter().flat_map(groups).collect();
        known.sort_unstable();
        known.dedup();
        return Err(failure::no_such_language(language.unwrap_or_default())
            .hint(format!("The languages are {}.", known.join(", "))));
    }
    if format == DataFormat::Json {
        let rules: Vec<Value> = rules.iter().map(|rule| as_json(rule)).collect();
        output::print(&format!("{:#}\n", Value::Array(rules)))?;
        return Ok(Exit::Success);
    }
    let look = output::look(context, None, false);
    let mut text = String::new();
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in &rules {
        let label = format!("{:<8}", rule.severity);
        let _ = writeln!(text, "{:<width$}  {}  {}", rule.id, look.paint.severity(rule.severity, &label), rule.message);
    }
    let _ = writeln!(text, "\n{} rules; `tollgate rules show ID` explains one", rules.len());
    output::print(&text)?;
    Ok(Exit::Success)
}

/// The languages of a code rule, or `text` or `change`.
fn groups(rule: &Rule) -> Vec<&'static str> {
    match rule.kind() {
        RuleKind::Code => rule.languages.to_vec(),
        RuleKind::Text => vec!["text"],
        RuleKind::Change => vec!["change"],
    }
}

fn show(context: &CliContext, id: &str, format: DataFormat) -> Result<Exit, Failure> {
    let Some(rule) = catalog::find(id) else { return Err(unknown_rule(id)) };
    let text = match format {
        DataFormat::Json => format!("{:#}\n", as_json(rule)),
        DataFormat::Text => explain(rule, &output::look(context, None, false)),
    };
    output::print(&text)?;
    Ok(Exit::Success)
}

fn explain(rule: &Rule, look: &Look) -> String {
    let label = format!("{}/{}", rule.severity, rule.category);
    let mut text = format!("{} {}\n\n{}\n\n", look.paint.severity(rule.severity, &label), rule.id, rule.message);
    for line in look.wrap(rule.why) {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "\nLooks at: {}", groups(rule).join(", "));
    if !rule.in_tests {
        let _ = writeln!(text, "Not in test files.");
    }
    if !rule.references.is_empty() {
        let _ = writeln!(text, "See: {}", rule.references.join(", "));
    }
    for (title, examples) in [("Reported", rule.bad), ("Not reported", rule.good)] {
        let _ = writeln!(text, "\n{title}:");
        for example in examples {
            text.push('\n');
            let code = match example {
                Example::Code { code, .. } => code,
                Example::Diff(diff) => diff,
            };
            for line in example::without_markup(code).lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    let _ = writeln!(
        text,
        "\nTo silence it in one place, write a comment on the line or above it:\n    tollgate:ignore {} because …",
        rule.id
    );
    text
}

fn as_json(rule: &Rule) -> Value {
    let examples = |examples: &[Example]| -> Vec<Value> {
        let one = |example: &Example| match example {
            Example::Code { path, code } => json!({ "path": path, "code": example::without_markup(code) }),
            Example::Diff(diff) => json!({ "diff": example::without_markup(diff) }),
        };
        examples.iter().map(one).collect()
    };
    json!({
        "id": rule.id,
        "looks_at": groups(rule),
        "severity": rule.severity.as_str(),
        "category": rule.category.as_str(),
        "message": rule.message,
        "why": rule.why,
        "in_tests": rule.in_tests,
        "references": rule.references,
        "bad": examples(rule.bad),
        "good": examples(rule.good),
    })
}

fn test(context: &CliContext, name: &str) -> Result<Exit, Failure> {
    let rules: Vec<&Rule> = catalog::all().iter().filter(|rule| rule.id.contains(name)).collect();
    let user = user_rules(context)?.into_iter().filter(|rule| rule.id.contains(name)).count();
    if rules.is_empty() && user == 0 {
        return Err(unknown_rule(name));
    }
    let problems: Vec<String> = rules.iter().flat_map(|rule| example::test(rule)).collect();
    let mut text = problems.iter().map(|problem| format!("{problem}\n")).collect::<String>();
    let _ =
        writeln!(text, "{} embedded rules tested, {user} user rules valid; {} problems", rules.len(), problems.len());
    output::print(&text)?;
    Ok(if problems.is_empty() { Exit::Success } else { Exit::Negative })
}

/// Compiles the user's own rules, all of them: one that is invalid may have any ID.
fn user_rules(context: &CliContext) -> Result<Vec<UserRuleInfo>, Failure> {
    match context.repository() {
        Ok(forge) => {
            let settings = context.settings(forge.root(), Layer::default())?;
            embedded::check_user_rules(forge.root(), &context.program()?, settings.limits)
        }
        // Outside a repository there are no user rules.
        Err(_) => Ok(Vec::new()),
    }
}

fn unknown_rule(id: &str) -> Failure {
    let hint = match catalog::nearest(id) {
        Some(nearest) => format!("Did you mean `{nearest}`? `tollgate rules` lists all rules."),
        None => "`tollgate rules` lists all rules.".to_owned(),
    };
    failure::no_such_rule(id).hint(hint)
}
