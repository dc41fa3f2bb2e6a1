//! `tollgate convert`: converts reviews between formats.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tollgate_core::gate::{self, FailOn, Gate};
use tollgate_core::report::{self, InputFormat, Strictness};
use tollgate_engine::failure::Failure;
use tollgate_engine::same_variants;

use super::{CliContext, Exit, failure, output, review};

/// Convert a review or another tool's findings to another format
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate convert review.json --to markdown\n  \
    eslint --format @microsoft/eslint-formatter-sarif src | tollgate convert - --to rdjson\n  \
    tollgate convert review.md --to html -o review.html\n\n\
    Exit codes: 0 converted, 2 the input could not be parsed.")]
pub(crate) struct Args {
    /// The file to read; `-` is standard input
    input: PathBuf,
    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: review::ReportFormat,
    /// The input format, if it cannot be detected
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<Source>,
    /// Accept input that violates its format, and list the corrections
    #[arg(long)]
    lenient: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The input formats.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// tollgate's JSON
    Json,
    /// tollgate's Markdown
    Markdown,
    /// SARIF 2.1.0
    Sarif,
    /// reviewdog's rdjson
    Rdjson,
    /// reviewdog's rdjsonl
    Rdjsonl,
}

same_variants!(Source => InputFormat: Json Markdown Sarif Rdjson Rdjsonl);

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let name = args.input.display().to_string();
    let strictness = if args.lenient { Strictness::Lenient } else { Strictness::Strict };
    let read = read_report(context, &args.input, args.from.map(InputFormat::from), strictness, None)?;
    for note in &read.notes {
        output::say(&format!("note: {name}: {note}"));
    }
    let review = read.into_review();
    // A review keeps its recorded gate; for other inputs, the gate follows from the default settings.
    let said = review.extra.get("x_gate").and_then(serde_json::Value::as_str).and_then(Gate::parse);
    let gate = match said {
        Some(Gate::Open) if !review.is_complete() => Gate::Partial,
        Some(gate) => gate,
        None => gate::check(&review, FailOn::default()),
    };
    let sources = HashMap::new();
    let shown = review::ReportContext::read(&review, gate, &sources);
    let text = review::render(context, &review, &shown, args.to);
    output::deliver(context, &text, args.output.as_deref())?;
    Ok(Exit::Success)
}

/// Reads another tool's report or one of ours.
pub(crate) fn read_report(
    context: &CliContext,
    path: &Path,
    format: Option<InputFormat>,
    strictness: Strictness,
    root: Option<&Path>,
) -> Result<report::Read, Failure> {
    let name = path.display().to_string();
    let bytes = output::read_input(&context.resolve(path), report::MAX_INPUT as u64)?;
    let Some(format) = format.or_else(|| report::detect(&bytes)) else {
        return Err(failure::unknown_format(&name));
    };
    let root = root.map(Path::to_string_lossy);
    report::read(&bytes, format, strictness, root.as_deref()).map_err(|error| {
        let listed: Vec<String> = error.problems.iter().take(20).map(|problem| format!("  {problem}")).collect();
        let more = error.problems.len().saturating_sub(listed.len());
        let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
        failure::unreadable_report(&name, &format!("\n{}{more}", listed.join("\n")))
    })
}
