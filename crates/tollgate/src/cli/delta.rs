//! `tollgate delta`: compares the findings of two reviews.

use std::path::{Path, PathBuf};

use tollgate_core::delta::classify::{self, ReviewedScope};
use tollgate_core::delta::identity::{self, ComparedFinding};
use tollgate_core::delta::line_map::{LineMap, Mapped};
use tollgate_core::delta::{json, text};
use tollgate_core::diff::{self, FileDiff};
use tollgate_core::path::FilePath;
use tollgate_core::report;
use tollgate_core::report::finding_list::{self, ListedFinding};
use tollgate_engine::failure::{Failure, broken_diff, not_a_patch};

use super::{CliContext, Exit, failure, output};

/// The largest diff that is read, in bytes.
const MAX_DIFF: u64 = 1 << 30;

/// Compare two reviews: findings that are new, resolved or still open
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate delta --prior last.json --current now.json\n  \
    git diff abc1234 HEAD | tollgate delta --prior last.json --current now.json --diff -\n  \
    tollgate delta --prior last.sarif --current now.sarif --rename src/old.rs=src/new.rs --format json\n\n\
    Findings are matched by file and title, by quoted code, or by lines and similar words.\n\
    Without `--diff`, a prior finding that is not reported again is resolved; with it, one on unchanged lines\n\
    is still open.\n\n\
    Exit codes: 0 compared, 2 an input could not be parsed.")]
pub(crate) struct Args {
    /// The earlier review: any format that `convert` reads, or a JSON array of findings; `-` is standard input
    #[arg(long, value_name = "FILE")]
    prior: PathBuf,
    /// The later review
    #[arg(long, value_name = "FILE")]
    current: PathBuf,
    /// The diff between the reviewed revisions; `-` is standard input
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// A renamed file; can be repeated
    #[arg(long, value_name = "OLD=NEW", value_parser = rename)]
    rename: Vec<(FilePath, FilePath)>,
    /// The output format
    #[arg(long, value_enum, default_value_t = DeltaFormat::Pretty)]
    format: DeltaFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DeltaFormat {
    /// For people
    Pretty,
    /// For programs
    Json,
}

fn rename(text: &str) -> Result<(FilePath, FilePath), String> {
    let (old, new) = text.split_once('=').ok_or("expected `old=new`")?;
    let path = |text: &str| FilePath::parse(text).map_err(|error| format!("`{text}`: {error}"));
    Ok((path(old)?, path(new)?))
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    output::standard_input_once([
        ("--prior", Some(args.prior.as_path())),
        ("--current", Some(args.current.as_path())),
        ("--diff", args.diff.as_deref()),
    ])?;
    let prior = findings(context, &args.prior)?;
    let current = findings(context, &args.current)?;
    let files = args.diff.as_deref().map(|path| files(context, path)).transpose()?;

    let map = match &files {
        Some(files) => LineMap::of_diff(files, &args.rename),
        None => LineMap::of_diff(&[], &args.rename).assumed(),
    };
    let prior: Vec<ComparedFinding<'_>> = prior.iter().map(ListedFinding::claim).collect();
    let current: Vec<ComparedFinding<'_>> = current.iter().map(ListedFinding::claim).collect();
    let joined = identity::match_findings(&prior, &current, &map);
    if joined.n_not_compared > 0 {
        let n_not_compared = joined.n_not_compared;
        output::say(&format!("note: too many findings in one place; skipped {n_not_compared} comparisons"));
    }
    // Without a diff, the later review is assumed to cover every file.
    let is_looked_at = |_: &ComparedFinding<'_>, mapped: &Mapped| files.is_none() || !matches!(mapped, Mapped::At(_));
    let delta = classify::classify(&prior, current.len(), &joined, &map, ReviewedScope::at(&is_looked_at));

    let written = match args.format {
        DeltaFormat::Pretty => text::write(&delta, &prior, &current),
        DeltaFormat::Json => json::write(&delta, &prior, &current),
    };
    output::deliver(context, &written, args.output.as_deref())?;
    Ok(Exit::Success)
}

fn findings(context: &CliContext, path: &Path) -> Result<Vec<ListedFinding>, Failure> {
    let name = path.display().to_string();
    let bytes = output::read_input(&context.resolve(path), report::MAX_INPUT as u64)?;
    let (findings, notes) = finding_list::read(&bytes).map_err(|error| failure::unreadable_findings(&name, &error))?;
    for note in &notes {
        output::say(&format!("note: {name}: {note}"));
    }
    Ok(findings)
}

fn files(context: &CliContext, path: &Path) -> Result<Vec<FileDiff>, Failure> {
    let bytes = output::read_input(&context.resolve(path), MAX_DIFF)?;
    let is_blank = bytes.trim_ascii().is_empty();
    let (files, refused) = diff::parse(bytes);
    if files.is_empty() && !is_blank {
        let name = path.display().to_string();
        return Err(refused.first().map_or_else(|| not_a_patch(&name), |refused| broken_diff(&name, refused)));
    }
    for refused in &refused {
        output::say(&format!("note: line {} of the diff: {}", refused.line_number, refused.problem));
    }
    Ok(files)
}
