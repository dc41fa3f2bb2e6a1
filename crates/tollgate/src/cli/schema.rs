//! `tollgate schema`: JSON Schemas of all input and output formats.

use clap::ValueEnum;
use tollgate_core::report::json::schema;
use tollgate_core::{analysis, answer, comment, delta, intent};
use tollgate_engine::config;
use tollgate_engine::failure::Failure;

use super::{Exit, output};

/// Print the JSON Schema (2020-12) of a format
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate schema review > review.schema.json\n  \
    tollgate schema config      for editors that complete .tollgate.toml")]
pub(crate) struct Args {
    /// The format to describe
    #[arg(value_enum)]
    what: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// One finding
    Finding,
    /// A complete review, as `tollgate review --format json` writes it
    Review,
    /// The configuration file `.tollgate.toml`
    Config,
    /// The output of `tollgate analyze --format json`
    Analysis,
    /// The output of `tollgate intent --format json`
    Intent,
    /// The output of `tollgate delta --format json`
    Delta,
    /// The output of `tollgate check-comment --format json`
    CheckComment,
    /// The output of `tollgate parse-answer --format json`
    ParseAnswer,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let schema = match args.what {
        What::Finding => schema::finding(),
        What::Review => schema::review(),
        What::Config => config::schema(),
        What::Analysis => analysis::json::schema(),
        What::Intent => intent::json::schema(),
        What::Delta => delta::json::schema(),
        What::CheckComment => comment::json::schema(),
        What::ParseAnswer => answer::json::schema(),
    };
    output::print(&format!("{schema:#}\n"))?;
    Ok(Exit::Success)
}
