//! `tollgate check-comment`: whether a summary comment keeps its rules.

use std::path::{Path, PathBuf};

use tollgate_core::comment::{self, Checked, DEFAULT_BOT, Kind, Problem};
use tollgate_engine::failure::Failure;

use super::rules::DataFormat;
use super::{Done, Place, failure, output};

/// The largest comment that is read; code hosts take a small part of it.
const MAX_INPUT: u64 = 4 << 20;

/// Checks a summary comment that somebody wrote, and repairs what can be repaired
///
/// The text of its `<summary>` tells which rules hold; any other comment passes as it is.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate check-comment comment.md\n  \
    tollgate check-comment --format json < comment.md\n  \
    tollgate check-comment comment.md --fix -o fixed.md\n\n\
    Exit codes: 0 valid or repaired, 1 invalid or not to be repaired, 2 the input could not be read.")]
pub(crate) struct Args {
    /// The comment; `-` is standard input
    #[arg(default_value = "-")]
    input: PathBuf,
    /// Write the comment with blank lines, order and empty sections repaired, and say what was done
    #[arg(long)]
    fix: bool,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text, conflicts_with = "fix")]
    format: DataFormat,
    /// The reviewer's name in front of `Review Summary`
    #[arg(long, value_name = "NAME", default_value = DEFAULT_BOT)]
    bot: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    let is_stdin = args.input == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { args.input.display().to_string() };
    let bytes = output::read_input(&place.resolve(&args.input), MAX_INPUT)?;
    let text = String::from_utf8(bytes).map_err(|_| failure::not_text(&name))?;
    if args.fix {
        return fix(place, &text, &args, &name);
    }
    let checked = comment::check(&text, &args.bot);
    let report = match args.format {
        DataFormat::Text => in_words(&checked, &name),
        DataFormat::Json => comment::json::write(&checked),
    };
    output::deliver(place, &report, args.output.as_deref())?;
    Ok(if checked.is_valid() { Done::Fine } else { Done::No })
}

fn fix(place: &Place, text: &str, args: &Args, name: &str) -> Result<Done, Failure> {
    match comment::fix(text, &args.bot) {
        Ok(fixed) => {
            output::deliver(place, &fixed.text, args.output.as_deref())?;
            for done in &fixed.done {
                output::say(&format!("fixed: {done}"));
            }
            Ok(Done::Fine)
        }
        Err(errors) => {
            output::say(&listed(&errors, name));
            output::say("not repaired: not all of this can be repaired without a change of meaning");
            Ok(Done::No)
        }
    }
}

fn in_words(checked: &Checked, name: &str) -> String {
    match (checked.kind, checked.errors.as_slice()) {
        (Kind::Other, _) => format!("{name}: not a summary of a review, so no rule holds\n"),
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
