//! `tollgate review`: reviews a change and reports the gate as the exit code.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tollgate_core::change::{Change, Content};
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::Finding;
use tollgate_core::gate::{FailOn, Gate};
use tollgate_core::path::FilePath;
use tollgate_core::report::terminal::Look;
use tollgate_core::report::{self, Strictness};
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_core::visible::visible;
use tollgate_engine::config::{BOT, FailOnWord, Layer, ProfileWord, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{Contents, FetchOptions, Local, Trigger};
use tollgate_engine::history;
use tollgate_engine::pipeline::{
    self, BranchSettings, ImportedFindings, Memory, ReviewProgress, ReviewRequest, Reviewed, Runtime, SinceLast,
};
use tollgate_engine::reviewer::imported::Scope;
use tollgate_engine::reviewer::recording::Recording;
use tollgate_engine::same_variants;
use tollgate_engine::store::Store;
use tollgate_rules::text::mask;

use super::progress::Progress;
use super::{CliContext, Exit, StoreArgs, convert, free_text, model_options, output, store_args};

mod post;
mod pull;

pub(crate) use pull::token;

/// Review a change and report whether it passes the gate
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate review                       your branch and uncommitted work against the main branch\n  \
    tollgate review main..HEAD            a range\n  \
    tollgate review --staged              the staged changes\n  \
    git diff | tollgate review --diff -   a patch\n  \
    tollgate review --since-last          only changes since the last review of this branch\n  \
    tollgate review --with ruff.sarif     with another tool's findings\n  \
    tollgate review --reviewer claude     also ask an agent or a model; `tollgate doctor` lists them\n  \
    tollgate review --format summary --body-file pr.md   a comment for the pull request\n  \
    tollgate review --pr https://github.com/owner/name/pull/12          a pull request\n  \
    tollgate review --pr https://github.com/owner/name/pull/12 --post   and post the findings there\n  \
    tollgate review --format html -o review.html\n\n\
    Exit codes: 0 gate open, 1 gate closed, 2 usage error or bad input, 3 failure.")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// A pull request on GitHub, by URL; private repositories need a token in `GITHUB_TOKEN` or `GH_TOKEN`
    #[arg(long, value_name = "URL", conflicts_with_all = ["range", "staged", "worktree", "diff", "title", "body_file", "offline"])]
    pr: Option<String>,
    /// Post the summary, the comments and the check to the pull request; needs a token with write access
    #[arg(long, requires = "pr", conflicts_with = "print_prompt")]
    post: bool,
    /// Import findings of another tool: SARIF, rdjson, rdjsonl, tollgate's JSON or Markdown; can be repeated
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// Also count findings imported by `--with` on unchanged lines
    #[arg(long, requires = "with")]
    with_unchanged: bool,
    /// The review profile: minimum severity, number of comments, omitted categories [default: balanced]
    #[arg(long, value_enum, value_name = "PROFILE")]
    profile: Option<ProfileFlag>,
    /// The minimum severity that closes the gate [default: high]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOnFlag>,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Pretty)]
    format: ReportFormat,
    /// Write the report to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Review only changes since the last review of this branch, and mark findings as new, resolved or still open
    #[arg(long, conflicts_with = "no_store")]
    since_last: bool,
    /// The title of the change; tags such as `[strict-review]` or `[WIP]` control the review
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
    title: Option<String>,
    /// A file with the description of the change; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Neither read nor store past reviews
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    /// Also ask this model or agent: `claude`, `openai`, … or one from your configuration; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "offline")]
    reviewer: Vec<String>,
    /// Print the prompts without sending them
    #[arg(long, conflicts_with_all = ["record", "replay", "offline"])]
    print_prompt: bool,
    /// Record prompts and answers in this file, with secrets redacted
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Replay the answers from a recorded file, without network access
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Disable the network: no model or agent is asked
    #[arg(long)]
    offline: bool,
    /// Also list skipped files and withheld findings, with reasons
    #[arg(short, long)]
    verbose: bool,
}

/// The largest file for which SARIF line hashes are computed.
const MAX_SOURCE: u64 = 1 << 20;

/// The largest description that is read.
const MAX_BODY: u64 = 16 << 20;

/// Arguments that select the change.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// The commits to review: `A..B`, `A...B`, or `A` for everything since A
    #[arg(value_name = "RANGE", conflicts_with_all = ["staged", "worktree", "diff"])]
    range: Option<String>,
    /// Only the staged changes
    #[arg(long, conflicts_with_all = ["worktree", "diff"])]
    staged: bool,
    /// Only uncommitted work, including untracked files
    #[arg(long, conflicts_with = "diff")]
    worktree: bool,
    /// A patch file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    /// Use the settings of the branch instead of those of its base
    #[arg(long)]
    pub(crate) trust_branch_config: bool,
}

/// The report formats.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for the terminal
    Pretty,
    /// JSON; `tollgate schema review` describes it
    Json,
    /// Markdown, which tollgate can also read
    Markdown,
    /// SARIF 2.1.0
    Sarif,
    /// reviewdog's JSON
    Rdjson,
    /// reviewdog's JSON, one finding per line
    Rdjsonl,
    /// Annotations for a GitHub workflow run
    Github,
    /// JUnit XML
    Junit,
    /// A self-contained HTML page
    Html,
    /// A comment for a pull request
    Summary,
}

/// The review profiles.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileFlag {
    /// From Low on, 15 comments
    Strict,
    /// From Medium on, 7 comments, no style
    Balanced,
    /// From High on, 5 comments, neither style nor documentation
    Minimal,
}

/// The values of `--fail-on`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOnFlag {
    Critical,
    High,
    Medium,
    Low,
    /// Never close the gate
    Never,
}

same_variants!(ProfileFlag => ProfileWord: Strict Balanced Minimal);
same_variants!(FailOnFlag => FailOnWord: Critical High Medium Low Never);

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let with = args.with.iter().map(|path| ("--with", Some(path.as_path())));
    let one_each = [("--diff", args.source.diff.as_deref()), ("--body-file", args.body_file.as_deref())];
    output::standard_input_once(one_each.into_iter().chain(with))?;
    // A store that cannot be opened is noted; one that cannot be named is a mistake.
    store_args::from_flags(context, &args.store)?;
    let asked = model_options::Flags {
        print: args.print_prompt,
        record: args.record.as_deref(),
        replay: args.replay.as_deref(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    let models = model_options::prepare(context, &asked, &variable)?;
    // Model answers cost money, so unwritable output files are detected before any request is sent.
    let mut files = [&args.record, &args.output].into_iter().flatten().filter(|file| *file != Path::new("-"));
    files.try_for_each(|file| output::can_write(&context.resolve(file)))?;
    if let Some(address) = &args.pr {
        return pull::run(context, &args, address, models);
    }
    let (forge, settings) = open(context, &args.source, &flags(&args, &models.recording))?;
    let root = forge.root().map(Path::to_owned);
    let body =
        args.body_file.as_deref().map(|path| output::read_input(&context.resolve(path), MAX_BODY)).transpose()?;
    let body = body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let runtime = runtime(context, &settings, &args)?;
    let request = ReviewRequest {
        title: args.title.as_deref(),
        body: body.as_deref(),
        trusts_branch: args.source.trust_branch_config,
        ..ReviewRequest::for_branch(&settings, forge, models, runtime)
    };
    let mut made = review(context, &args, request)?;
    if args.print_prompt {
        return print_prompt(context, &args, &made.reviewed);
    }
    show(context, &args, &settings, &mut made, root.as_deref())
}

/// The services of this process for a review.
fn runtime(context: &CliContext, settings: &Settings, args: &Args) -> Result<Runtime<'static>, Failure> {
    let memory = memory(context, settings, args);
    Ok(Runtime { executable: context.program()?, memory, clock: &crate::cli::now_ms, events: &|_| {} })
}

/// A finished review with its file contents and store.
struct FinishedReview {
    reviewed: Reviewed,
    /// Access to file contents, for formats that quote source lines.
    contents: Contents,
    memory: Memory,
}

/// Runs the review, and writes the recording if `--record` is given.
fn review(context: &CliContext, args: &Args, mut request: ReviewRequest<'_>) -> Result<FinishedReview, Failure> {
    let (findings, withheld) = read_imported(context, &args.with, request.forge.root())?;
    let scope = if args.with_unchanged { Scope::Everything } else { Scope::ChangedLines };
    request.imported = ImportedFindings { findings, withheld, scope };
    request.since_last = args.since_last;
    output::end_cleanly_on_ctrl_c();
    let (outcome, contents, memory, record) = {
        let progress = Progress::start();
        let events = |event: ReviewProgress<'_>| match event {
            ReviewProgress::Output { .. } => {}
            event => progress.tell(|| event.in_words()),
        };
        let mut request = ReviewRequest { runtime: Runtime { events: &events, ..request.runtime }, ..request };
        let outcome = pipeline::review_change(&mut request);
        let record = request.models.recording.written(request.models.boundary);
        (outcome, request.forge.contents(), request.runtime.memory, record)
    };
    if let (Some(file), Some(record)) = (&args.record, record) {
        output::deliver(context, &record, Some(file))?;
    }
    Ok(FinishedReview { reviewed: outcome?, contents, memory })
}

/// Prints the report and converts the gate to an exit status.
fn show(
    context: &CliContext,
    args: &Args,
    settings: &Settings,
    made: &mut FinishedReview,
    root: Option<&Path>,
) -> Result<Exit, Failure> {
    let FinishedReview { reviewed, contents, .. } = made;
    for note in reviewed.review.notes.iter().flat_map(|notes| notes.lines()) {
        output::say(&format!("note: {note}"));
    }
    if let Some(names) = model_options::left_out(settings, args.offline) {
        output::say(&format!("note: not asked because of `--offline`: {names}"));
    }
    if reviewed.change.is_empty() {
        output::say(&format!("nothing to review: no differences in {}", reviewed.change.compared));
        if args.format == ReportFormat::Pretty && args.output.is_none() {
            return Ok(Exit::Success);
        }
    }
    let sources = if args.format == ReportFormat::Sarif { sources(reviewed, contents) } else { HashMap::new() };
    let shown = ReportContext {
        files: &reviewed.change.files,
        sources: &sources,
        gate: reviewed.gate,
        fail_on: settings.fail_on,
        root,
        verbose: args.verbose,
        only_new: args.since_last,
        bot: &settings.bot,
        reviewed: Some(reviewed),
    };
    let text = render(context, &reviewed.review, &shown, args.format);
    output::deliver(context, &text, args.output.as_deref())?;
    if let Some(file) = &args.output {
        output::say(&format!("wrote {}: {}", file.display(), visible(&reviewed.state().plain())));
    }
    if args.record.is_some() && reviewed.runs.is_empty() {
        output::say("note: no model or agent was asked, so the recording is empty");
    }
    conclude(reviewed, settings.fail_on)
}

/// Prints the usage of models and agents, and returns the exit status of the gate or the failure of a reviewer.
fn conclude(reviewed: &Reviewed, fail_on: FailOn) -> Result<Exit, Failure> {
    for run in &reviewed.runs {
        output::say(&run.in_words());
    }
    let passes = matches!(reviewed.gate, Gate::Open | Gate::Skipped) || fail_on == FailOn::Never;
    // Without a change there is nothing that could fail to pass, and nothing that was approved either.
    let passes = passes || reviewed.change.is_empty() && reviewed.gate == Gate::Partial;
    let mut failed: Vec<Failure> = reviewed.runs.iter().filter_map(|run| run.failure.clone()).collect();
    // The gate is not open either way; a failed reviewer has to be fixed before the change can be judged.
    let last = if passes || reviewed.gate == Gate::Closed { None } else { failed.pop() };
    for failure in failed {
        output::say(&format!("note: {failure}"));
        if let Some(hint) = &failure.hint {
            output::say(&format!("hint: {hint}"));
        }
    }
    match last {
        Some(failure) => Err(failure),
        None => Ok(if passes { Exit::Success } else { Exit::Negative }),
    }
}

/// Prints the prompts that would be sent.
fn print_prompt(context: &CliContext, args: &Args, reviewed: &Reviewed) -> Result<Exit, Failure> {
    for note in reviewed.review.notes.iter().flat_map(|notes| notes.lines()) {
        output::say(&format!("note: {note}"));
    }
    if reviewed.sent.is_empty() {
        output::say("no prompts: no reviewer is configured, or there is nothing to review");
    }
    let text = match args.format {
        ReportFormat::Json => model_options::prompt_json(&reviewed.sent),
        _ => model_options::prompt_text(&reviewed.sent),
    };
    output::deliver(context, &text, args.output.as_deref())?;
    Ok(Exit::Success)
}

/// The memory of past reviews. A review goes on without it.
fn memory(context: &CliContext, settings: &Settings, args: &Args) -> Memory {
    if args.no_store || args.source.diff.is_some() || !settings.remembers {
        return Memory::Off;
    }
    match store_args::location(context, settings, &args.store).and_then(|location| Store::open_at(&location)) {
        Ok(store) => Memory::Open(store),
        Err(failure) => Memory::Unavailable(failure),
    }
}

/// Opens the repository and loads its settings.
pub(crate) fn open(context: &CliContext, source: &Source, flags: &Layer) -> Result<(Local, Settings), Failure> {
    let trigger = trigger(context, source)?;
    let forge = Local::open(&context.directory, trigger, Environment::of_process())?;
    let BranchSettings { settings, note } = context.review_settings(&forge, flags, source.trust_branch_config)?;
    if let Some(note) = note {
        output::say(&format!("note: {note}"));
        output::say("hint: Use `--trust-branch-config` to review with the settings of the branch.");
    }
    Ok((forge, settings))
}

/// Reads the change without reviewing it.
pub(crate) fn fetch(context: &CliContext, source: &Source) -> Result<Change, Failure> {
    let (mut forge, settings) = open(context, source, &Layer::default())?;
    forge.fetch(&FetchOptions { base: settings.base.clone(), max_diff_bytes: settings.max_diff_bytes })
}

fn trigger(context: &CliContext, source: &Source) -> Result<Trigger, Failure> {
    Ok(match source {
        Source { diff: Some(path), .. } => {
            Trigger::Patch { name: path.display().to_string(), source: output::patch_source(&context.resolve(path))? }
        }
        Source { range: Some(range), .. } => Trigger::Range(range.clone()),
        Source { staged: true, .. } => Trigger::Staged,
        Source { worktree: true, .. } => Trigger::Worktree,
        _ => Trigger::Default,
    })
}

fn flags(args: &Args, recording: &Recording) -> Layer {
    let mut flags = Layer { source: "the command line".to_owned(), ..Layer::default() };
    flags.values.review.fail_on = args.fail_on.map(FailOnWord::from);
    flags.values.review.profile = args.profile.map(ProfileWord::from);
    if args.offline {
        flags.values.review.reviewers = Some(Vec::new());
    } else if !args.reviewer.is_empty() {
        flags.values.review.reviewers = Some(args.reviewer.clone());
    } else if let recorded = recording.reviewers()
        && !recorded.is_empty()
    {
        // A replay without its recorded reviewers would ignore the recording and pass for the recorded review.
        flags.values.review.reviewers = Some(recorded);
    }
    flags
}

fn read_imported(
    context: &CliContext,
    files: &[PathBuf],
    root: Option<&Path>,
) -> Result<(Vec<Finding>, Vec<WithheldFinding>), Failure> {
    let (mut findings, mut withheld) = (Vec::new(), Vec::new());
    for file in files {
        let read = convert::read_report(context, file, None, Strictness::Lenient, root)?;
        for note in &read.notes {
            output::say(&format!("note: {}: {note}", file.display()));
        }
        let (counting, held) = read.into_findings();
        findings.extend(counting);
        withheld.extend(held);
    }
    Ok((findings, withheld))
}

/// Reads the files with findings, as far as possible: SARIF line hashes are computed from them.
fn sources(reviewed: &Reviewed, contents: &mut Contents) -> HashMap<FilePath, String> {
    let named: HashSet<&FilePath> = reviewed.review.findings.iter().map(|finding| &finding.location.file).collect();
    let files = reviewed.change.files.iter().map(|file| (FilePath::of_repo_path(file.path()), file));
    let mut sources = HashMap::new();
    for (path, file) in files.filter(|(path, _)| named.contains(path)) {
        if let Ok(Content::Whole(bytes)) = contents.read(file, MAX_SOURCE) {
            sources.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    sources
}

/// Additional inputs of the report renderers.
pub(crate) struct ReportContext<'a> {
    pub(crate) files: &'a [FileDiff],
    pub(crate) sources: &'a HashMap<FilePath, String>,
    pub(crate) gate: Gate,
    /// The findings that close the gate.
    pub(crate) fail_on: FailOn,
    pub(crate) root: Option<&'a Path>,
    pub(crate) verbose: bool,
    /// True to show only new findings in full.
    pub(crate) only_new: bool,
    /// The bot's name in comments.
    pub(crate) bot: &'a str,
    /// The run that produced the review; `None` for a review read from a file or the store.
    pub(crate) reviewed: Option<&'a Reviewed>,
}

impl<'a> ReportContext<'a> {
    /// The inputs for a review that was read from a file or the store.
    pub(crate) fn read(review: &Review, gate: Gate, sources: &'a HashMap<FilePath, String>) -> Self {
        Self {
            files: &[],
            sources,
            gate,
            fail_on: FailOn::implied_by(gate, review),
            root: None,
            verbose: false,
            only_new: false,
            bot: BOT,
            reviewed: None,
        }
    }
}

pub(crate) fn render(context: &CliContext, review: &Review, shown: &ReportContext<'_>, format: ReportFormat) -> String {
    match format {
        ReportFormat::Pretty => {
            let only_new = shown.only_new;
            let look = Look { only_new, ..output::look(context, shown.root, shown.verbose) };
            // Without findings, the report quotes no lines of the change.
            let masked = if review.findings.is_empty() { None } else { Some(mask::mask_files(shown.files)) };
            let files = masked.as_deref().unwrap_or(shown.files);
            let since = shown.reviewed.and_then(|reviewed| reviewed.since.as_ref()).map(SinceLast::for_report);
            report::terminal::render(review, files, shown.gate, since.as_ref(), &look)
        }
        ReportFormat::Json => {
            report::json::write(review, report::json::Options { gate: Some(shown.gate), ..Default::default() })
        }
        ReportFormat::Markdown => report::markdown::write(review),
        ReportFormat::Sarif => report::sarif::write(
            review,
            report::sarif::Options {
                version: Some(env!("CARGO_PKG_VERSION")),
                sources: Some(shown.sources),
                rules: &history::rules_in(review),
                ..Default::default()
            },
        ),
        ReportFormat::Rdjson => report::rdjson::write(review),
        ReportFormat::Rdjsonl => report::rdjson::write_lines(review),
        ReportFormat::Github => {
            let annotations = report::github::write(review);
            if let Some(note) = &annotations.note {
                output::say(&format!("note: {note}"));
            }
            annotations.text
        }
        ReportFormat::Junit => report::junit::write(review, shown.fail_on),
        ReportFormat::Html => report::html::write(review, &mask::mask_files(shown.files), Some(shown.gate)),
        ReportFormat::Summary => comment(review, shown),
    }
}

/// Renders the pull request comment. A clean change has none; a partially reviewed one only its statistics.
fn comment(review: &Review, shown: &ReportContext<'_>) -> String {
    if shown.gate == Gate::Skipped {
        return format!("{}\n", pipeline::SKIPPED);
    }
    let text = match shown.reviewed {
        Some(reviewed) => pipeline::summary_text(reviewed, shown.bot, reviewed.since.as_ref()),
        None => pipeline::stored_summary_text(review, shown.gate, shown.bot),
    };
    text.unwrap_or_else(|| {
        output::say("note: no findings, so there is no comment");
        String::new()
    })
}
