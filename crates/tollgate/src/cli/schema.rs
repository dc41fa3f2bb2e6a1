//! `tollgate schema`: JSON Schemas of what is read and written.

use clap::ValueEnum;
use tollgate_core::report::json::schema;
use tollgate_core::{analysis, answer, comment, delta, intent};
use tollgate_engine::config;
use tollgate_engine::failure::Failure;

use super::{Done, output};

/// Prints a JSON Schema (2020-12) of one of the formats
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate schema review > review.schema.json\n  \
    tollgate schema config      for editors that complete .tollgate.toml")]
pub(crate) struct Args {
    /// What to describe
    #[arg(value_enum)]
    what: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// One finding
    Finding,
    /// A whole review, as `tollgate review --format json` writes it
    Review,
    /// The configuration file `.tollgate.toml`
    Config,
    /// What `tollgate analyze --format json` prints
    Analysis,
    /// What `tollgate intent --format json` prints
    Intent,
    /// What `tollgate delta --format json` prints
    Delta,
    /// What `tollgate check-comment --format json` prints
    CheckComment,
    /// What `tollgate parse-answer --format json` prints
    ParseAnswer,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
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
    Ok(Done::Fine)
}
