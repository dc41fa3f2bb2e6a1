//! `tollgate analyze`: statistics of a change.

use std::io::Read;
use std::path::{Path, PathBuf};

use tollgate_core::analysis::{self, Analysis};
use tollgate_engine::failure::{self as engine_failure, Failure};

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
        Some(path) => analyze_patch(&context.resolve(path))?,
        None => review::fetch(context, &args.source)?.analyze(),
    };
    let text = match args.format {
        DataFormat::Text => analysis::render(&analysis),
        DataFormat::Json => analysis::json::write(&analysis),
    };
    output::deliver(context, &text, args.output.as_deref())?;
    Ok(Exit::Success)
}

/// Analyzes a patch. Text that is no unified diff, or only in part, is an error: its figures would be wrong.
fn analyze_patch(path: &Path) -> Result<Analysis, Failure> {
    let (name, source) = output::open_input(path)?;
    let mut source = BlankCheck { source, is_blank: true };
    let analysis =
        analysis::analyze_reader(&mut source, &|_| None).map_err(|error| failure::cannot_read(&name, &error))?;
    if let Some(refused) = analysis.refused.first() {
        return Err(engine_failure::broken_diff(&name, refused));
    }
    match (analysis.files.is_empty(), source.is_blank) {
        (true, false) => Err(engine_failure::not_a_patch(&name)),
        (true, true) => {
            output::say(&format!("note: `{name}` is empty"));
            Ok(analysis)
        }
        (false, _) => Ok(analysis),
    }
}

/// Notices whether a source holds more than white space.
struct BlankCheck<R> {
    source: R,
    is_blank: bool,
}

impl<R: Read> Read for BlankCheck<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_read = self.source.read(buffer)?;
        self.is_blank = self.is_blank && buffer[..n_read].iter().all(u8::is_ascii_whitespace);
        Ok(n_read)
    }
}
