//! `tollgate check-comment`: validates summary comments.

use std::path::{Path, PathBuf};

use tollgate_core::comment::{self, CheckedComment, DEFAULT_BOT, Kind, Problem};
use tollgate_engine::failure::Failure;

use super::rules::DataFormat;
use super::{CliContext, Exit, failure, output};

/// The largest comment that is read; forges accept far smaller ones.
const MAX_INPUT: u64 = 4 << 20;

/// Check a summary comment against its rules, and optionally repair it
///
/// The text of its `<summary>` decides which rules apply; any other comment is valid.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate check-comment comment.md\n  \
    tollgate check-comment --format json < comment.md\n  \
    tollgate check-comment comment.md --fix -o fixed.md\n\n\
    Exit codes: 0 valid or repaired, 1 invalid or not repairable, 2 the input could not be read.")]
pub(crate) struct Args {
    /// The comment; `-` is standard input
    #[arg(default_value = "-")]
    input: PathBuf,
    /// Write the comment with blank lines, order and empty sections repaired, and list the repairs
    #[arg(long)]
    fix: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text, conflicts_with = "fix")]
    format: DataFormat,
    /// The reviewer's name in front of `Review Summary`
    #[arg(long, value_name = "NAME", default_value = DEFAULT_BOT)]
    bot: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let is_stdin = args.input == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { args.input.display().to_string() };
    let bytes = output::read_input(&context.resolve(&args.input), MAX_INPUT)?;
    let text = String::from_utf8(bytes).map_err(|_| failure::not_text(&name))?;
    if args.fix {
        return fix(context, &text, &args, &name);
    }
    let checked = comment::check(&text, &args.bot);
    let report = match args.format {
        DataFormat::Text => in_words(&checked, &name),
        DataFormat::Json => comment::json::write(&checked),
    };
    output::deliver(context, &report, args.output.as_deref())?;
    Ok(if checked.is_valid() { Exit::Success } else { Exit::Negative })
}

fn fix(context: &CliContext, text: &str, args: &Args, name: &str) -> Result<Exit, Failure> {
    match comment::fix(text, &args.bot) {
        Ok(fixed) => {
            output::deliver(context, &fixed.text, args.output.as_deref())?;
            for done in &fixed.done {
                output::say(&format!("fixed: {done}"));
            }
            Ok(Exit::Success)
        }
        Err(errors) => {
            output::say(&listed(&errors, name));
            output::say("not repaired: some problems cannot be repaired without changing the meaning");
            Ok(Exit::Negative)
        }
    }
}

fn in_words(checked: &CheckedComment, name: &str) -> String {
    match (checked.kind, checked.errors.as_slice()) {
        (Kind::Other, _) => format!("{name}: not a review summary, so no rule applies\n"),
        (Kind::Review, []) => format!("{name}: a valid summary of a first review\n"),
        (Kind::ReReview, []) => format!("{name}: a valid summary of a re-review\n"),
        (_, errors) => {
            let problems = if errors.len() == 1 { "problem" } else { "problems" };
            format!("{}\n{} {problems}\n", listed(errors, name), errors.len())
        }
    }
}

/// `comment.md:14: … (section-order)`, one line each.
fn listed(errors: &[Problem], name: &str) -> String {
    let line = |error: &Problem| {
        let section = error.section.as_deref().map(|section| format!("in `{section}`: ")).unwrap_or_default();
        let line = format!("{name}:{}: {section}{} ({})", error.line, error.message, error.rule);
        tollgate_core::visible::visible(&line).into_owned()
    };
    errors.iter().map(line).collect::<Vec<_>>().join("\n")
}
