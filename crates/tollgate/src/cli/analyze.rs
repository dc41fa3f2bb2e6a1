//! `tollgate analyze`: statistics of a change.

use std::path::PathBuf;

use tollgate_core::analysis;
use tollgate_engine::failure::Failure;

use super::rules::DataFormat;
use super::{CliContext, Exit, failure, output, review};

/// Summarize a change: files, categories, languages, risks
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate analyze                          your branch and uncommitted work\n  \
    tollgate analyze v1.0..v1.1 --format json\n  \
    git diff | tollgate analyze --diff -")]
pub(crate) struct Args {
    #[command(flatten)]
    source: review::Source,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let analysis = match &args.source.diff {
        // Streamed, because a patch may be larger than memory.
        Some(path) => {
            let (name, source) = output::open_input(&context.resolve(path))?;
            analysis::analyze_reader(source, &|_| None).map_err(|error| failure::cannot_read(&name, &error))?
        }
        None => review::fetch(context, &args.source)?.analyze(),
    };
    for refused in &analysis.refused {
        output::say(&format!("note: line {} of the diff: {}", refused.line_number, refused.problem));
    }
    let text = match args.format {
        DataFormat::Text => analysis::render(&analysis),
        DataFormat::Json => analysis::json::write(&analysis),
    };
    output::deliver(context, &text, args.output.as_deref())?;
    Ok(Exit::Success)
}
