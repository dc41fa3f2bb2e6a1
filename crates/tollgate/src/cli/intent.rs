//! `tollgate intent`: the declared intent of a pull request.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tollgate_core::intent::commits::{self, ListedCommit};
use tollgate_core::intent::{self, Commit, Intent};
use tollgate_core::policy::{self, Configured};
use tollgate_core::visible::visible;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{Local, Trigger};

use super::{CliContext, Exit, failure, free_text, output};

/// The largest body that is read; forges accept far smaller ones.
const MAX_BODY: u64 = 16 * 1024 * 1024;
/// The largest list of commits that is read.
const MAX_COMMITS: u64 = 64 * 1024 * 1024;

/// Parse the intent declared by a title, a body and commits: tags, type, breaking changes
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate intent --title '[WIP] feat(api)!: drop v1'\n  \
    tollgate intent --title 'fix: retry' --body-file pr.md --commits main..HEAD --format json\n  \
    git log --oneline main.. | tollgate intent --title 'fix: retry' --commits -")]
pub(crate) struct Args {
    /// The title of the pull request
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = free_text)]
    title: String,
    /// Read the body from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// The commits: a file of JSON lines {"sha", "message"} or of `git log`, or a range such as `main..HEAD`
    #[arg(long, value_name = "FILE|RANGE")]
    commits: Option<String>,
    /// Treat the pull request as a draft
    #[arg(long)]
    draft: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Pretty)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Pretty,
    /// For programs; `tollgate schema intent` describes it
    Json,
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let commits = args.commits.as_deref().map(Path::new);
    output::standard_input_once([("--body-file", args.body_file.as_deref()), ("--commits", commits)])?;
    let read = |path: &Path, limit| output::read_input(&context.resolve(path), limit);
    let body = args.body_file.as_deref().map(|path| read(path, MAX_BODY)).transpose()?;
    let body = body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let listed = args.commits.as_deref().map_or(Ok(Vec::new()), |source| list(context, source))?;
    let commits: Vec<Commit<'_>> = listed.iter().map(ListedCommit::as_commit).collect();
    let intent = intent::read(&args.title, body.as_deref(), &commits, args.draft);
    output::print(&match args.format {
        Format::Pretty => pretty(&intent),
        Format::Json => intent::json::write(&intent),
    })?;
    Ok(Exit::Success)
}

/// Reads commits from the file of this name if it exists, else from a range.
fn list(context: &CliContext, source: &str) -> Result<Vec<ListedCommit>, Failure> {
    let path = context.resolve(Path::new(source));
    if source == "-" || path.is_file() {
        let bytes = output::read_input(&path, MAX_COMMITS)?;
        let name = if source == "-" { "standard input" } else { source };
        return commits::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|error| failure::not_commits(name, &error.to_string()));
    }
    let range = Local::open(&context.directory, Trigger::Range(source.to_owned()), Environment::of_process());
    let commits = range.map_err(|why| failure::neither_file_nor_range(source, why))?.commits_of_range()?;
    if !commits.complete {
        output::say("note: too many commits; the oldest were left out");
    }
    Ok(commits.listed)
}

/// Renders the intent and its effect on a review with default settings.
fn pretty(intent: &Intent) -> String {
    let mut lines = intent.details();
    lines.extend(intent.draft.then(|| "Draft: not reviewed until it is ready".to_owned()));
    let policy = policy::resolve(intent, &Configured::default());
    if !policy.changes.is_empty() {
        lines.push(String::new());
        lines.push("In a review:".to_owned());
        lines.extend(policy.changes.iter().map(|change| format!("  {change}")));
    }
    lines.iter().map(|line| format!("{}\n", visible(line))).collect()
}
