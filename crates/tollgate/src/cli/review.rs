//! `tollgate review`: reviews a change and says whether it may pass.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tollgate_core::change::{Change, Content};
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::Finding;
use tollgate_core::gate::{FailOn, Gate};
use tollgate_core::path::FilePath;
use tollgate_core::report::terminal::Look;
use tollgate_core::report::{self, Format, Strictness};
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_engine::config::{BOT, FailOnWord, Layer, ProfileWord, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{Contents, FetchOptions, Local, Trigger};
use tollgate_engine::history;
use tollgate_engine::pipeline::{self, Asking, Event, Memory, Reviewed, SinceLast, World};
use tollgate_engine::pulls::present;
use tollgate_engine::reviewer::imported::Scope;
use tollgate_engine::reviewer::tape::Tape;
use tollgate_engine::store::Store;
use tollgate_rules::text::mask;

use super::progress::Progress;
use super::{Done, Place, asking, convert, memory, output};

mod post;
mod pull;

pub(crate) use pull::token;

/// Reviews a change and says whether it may pass
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate review                       your branch and uncommitted work against the main branch\n  \
    tollgate review main..HEAD            a range\n  \
    tollgate review --staged              what the next commit would contain\n  \
    git diff | tollgate review --diff -   a patch\n  \
    tollgate review --since-last          only what changed since the last review of this branch\n  \
    tollgate review --with ruff.sarif     with another tool's findings\n  \
    tollgate review --reviewer claude     an agent or a model reviews, too; `tollgate doctor` lists them\n  \
    tollgate review --format summary --body-file pr.md   a comment for the pull request\n  \
    tollgate review --pr https://github.com/owner/name/pull/12          a pull request, by its address\n  \
    tollgate review --pr https://github.com/owner/name/pull/12 --post   and post what was found there\n  \
    tollgate review --format html -o review.html\n\n\
    Exit codes: 0 the change may pass, 1 it may not, 2 wrong use or bad input, 3 something failed.")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// A pull request on GitHub, by its address; `GITHUB_TOKEN` or `GH_TOKEN` opens private repositories
    #[arg(long, value_name = "URL", conflicts_with_all = ["range", "staged", "worktree", "diff", "title", "body_file"])]
    pr: Option<String>,
    /// Post the summary, the comments and the check to the pull request; needs a token that may write
    #[arg(long, requires = "pr", conflicts_with = "print_prompt")]
    post: bool,
    /// Take in findings of another tool: SARIF, rdjson, rdjsonl, tollgate's JSON or Markdown
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// Count findings taken in by `--with` also on lines that the change does not touch
    #[arg(long, requires = "with")]
    with_unchanged: bool,
    /// How strict to be: the mildest finding that counts, how many comments, what is left out [default: balanced]
    #[arg(long, value_enum, value_name = "PROFILE")]
    profile: Option<ProfileFlag>,
    /// From which severity on a finding closes the gate [default: high]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOnFlag>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Pretty)]
    format: ReportFormat,
    /// Write the report to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Look only at what changed since the last review of this branch, and tell new, resolved and still open apart
    #[arg(long, conflicts_with = "no_store")]
    since_last: bool,
    /// The title of the change; tags in it, as `[strict-review]` or `[WIP]`, say how to review
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A file with the description of the change; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    #[command(flatten)]
    store: memory::Flag,
    /// Neither read nor keep past reviews
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    /// Ask this model or agent, too: `claude`, `openai`, … or one of your configuration; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "offline")]
    reviewer: Vec<String>,
    /// Print what models would be asked, and ask nobody
    #[arg(long, conflicts_with_all = ["record", "replay", "offline"])]
    print_prompt: bool,
    /// Keep what models were asked and what they answered in this file, secrets masked
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Take the models' answers from a record, without the network
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Never use the network: no model or agent is asked
    #[arg(long)]
    offline: bool,
    /// Also list what was skipped or does not count, and why
    #[arg(short, long)]
    verbose: bool,
}

/// Of larger files no line hashes are made.
const MAX_SOURCE: u64 = 1 << 20;

/// A larger description is refused.
const MAX_BODY: u64 = 16 << 20;

/// A larger patch is refused before it is cut by file.
const MAX_PATCH: u64 = 1 << 30;

/// Which change is meant.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// `A..B`, `A...B`, or `A` for everything since A
    #[arg(value_name = "RANGE", conflicts_with_all = ["staged", "worktree", "diff"])]
    range: Option<String>,
    /// What is staged for the next commit
    #[arg(long, conflicts_with_all = ["worktree", "diff"])]
    staged: bool,
    /// Uncommitted work alone, untracked files included
    #[arg(long, conflicts_with = "diff")]
    worktree: bool,
    /// A patch; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
}

/// The forms of a report.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people at a terminal
    Pretty,
    /// The review schema
    Json,
    /// The same for people and programs
    Markdown,
    /// SARIF 2.1.0
    Sarif,
    /// reviewdog's JSON
    Rdjson,
    /// reviewdog's JSON, one finding per line
    Rdjsonl,
    /// Annotations of a GitHub workflow run
    Github,
    /// JUnit's XML
    Junit,
    /// One self-contained page
    Html,
    /// A comment for a pull request
    Summary,
}

/// How strict to be.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileFlag {
    /// From Low on, 15 comments
    Strict,
    /// From Medium on, 7 comments, no style
    Balanced,
    /// From High on, 5 comments, neither style nor documentation
    Minimal,
}

impl From<ProfileFlag> for ProfileWord {
    fn from(flag: ProfileFlag) -> Self {
        match flag {
            ProfileFlag::Strict => Self::Strict,
            ProfileFlag::Balanced => Self::Balanced,
            ProfileFlag::Minimal => Self::Minimal,
        }
    }
}

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Pretty => Self::Pretty,
            ReportFormat::Json => Self::Json,
            ReportFormat::Markdown => Self::Markdown,
            ReportFormat::Sarif => Self::Sarif,
            ReportFormat::Rdjson => Self::Rdjson,
            ReportFormat::Rdjsonl => Self::Rdjsonl,
            ReportFormat::Github => Self::Github,
            ReportFormat::Junit => Self::Junit,
            ReportFormat::Html => Self::Html,
            ReportFormat::Summary => Self::Summary,
        }
    }
}

/// From which severity on a finding closes the gate.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOnFlag {
    Critical,
    High,
    Medium,
    Low,
    /// The gate is always open
    Never,
}

impl From<FailOnFlag> for FailOnWord {
    fn from(flag: FailOnFlag) -> Self {
        match flag {
            FailOnFlag::Critical => Self::Critical,
            FailOnFlag::High => Self::High,
            FailOnFlag::Medium => Self::Medium,
            FailOnFlag::Low => Self::Low,
            FailOnFlag::Never => Self::Never,
        }
    }
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    let with = args.with.iter().map(|path| ("--with", Some(path.as_path())));
    let one_each = [("--diff", args.source.diff.as_deref()), ("--body-file", args.body_file.as_deref())];
    output::standard_input_once(one_each.into_iter().chain(with))?;
    let asked =
        asking::Flags { print: args.print_prompt, record: args.record.as_deref(), replay: args.replay.as_deref() };
    let variable = |name: &str| std::env::var(name).ok();
    let asking = asking::prepare(place, &asked, &variable)?;
    // What models say is paid for; it must not be lost for want of a folder.
    let mut files = [&args.record, &args.output].into_iter().flatten().filter(|file| *file != Path::new("-"));
    files.try_for_each(|file| output::can_write(&place.resolve(file)))?;
    if let Some(address) = &args.pr {
        return pull::run(place, &args, address, asking);
    }
    let (forge, settings) = open(place, &args.source, flags(&args, &asking.tape))?;
    let root = forge.root().map(Path::to_owned);
    let body = args.body_file.as_deref().map(|path| output::read_input(&place.resolve(path), MAX_BODY)).transpose()?;
    let body = body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let subject = Subject {
        forge,
        title: args.title.as_deref(),
        body: body.as_deref(),
        standing: pipeline::Standing::Own,
        memory: memory(place, &settings, &args),
    };
    let mut made = review(place, &args, &settings, subject, asking)?;
    if args.print_prompt {
        return print_prompt(place, &args, &made.reviewed);
    }
    show(place, &args, &settings, &mut made, root.as_deref())
}

/// What is reviewed, and for whom.
struct Subject<'a> {
    forge: Local,
    title: Option<&'a str>,
    body: Option<&'a str>,
    standing: pipeline::Standing,
    memory: Memory,
}

/// A finished review.
struct Made {
    reviewed: Reviewed,
    /// A way to the files, for formats that want more of them.
    contents: Contents,
    memory: Memory,
}

/// Reviews, and keeps a record where one is wanted.
fn review(
    place: &Place,
    args: &Args,
    settings: &Settings,
    subject: Subject<'_>,
    asking: Asking<'_>,
) -> Result<Made, Failure> {
    let (imported, withheld) = read_imported(place, &args.with, subject.forge.root())?;
    output::end_cleanly_on_ctrl_c();
    let (outcome, contents, memory, record) = {
        let progress = Progress::start();
        let events = |event: Event<'_>| progress.tell(|| event.in_words());
        let mut world = World {
            settings,
            forge: subject.forge,
            imported,
            imported_withheld: withheld,
            scope: if args.with_unchanged { Scope::Everything } else { Scope::ChangedLines },
            title: subject.title,
            body: subject.body,
            spec: None,
            criteria: &[],
            memory: subject.memory,
            since_last: args.since_last,
            executable: place.program()?,
            standing: subject.standing,
            asking,
            clock: &memory::now,
            events: &events,
        };
        let outcome = pipeline::review_change(&mut world);
        let record = world.asking.tape.written(world.asking.boundary);
        (outcome, world.forge.contents(), world.memory, record)
    };
    if let (Some(file), Some(record)) = (&args.record, record) {
        output::deliver(place, &record, Some(file))?;
    }
    Ok(Made { reviewed: outcome?, contents, memory })
}

/// Prints the report, and ends as the gate wants it.
fn show(
    place: &Place,
    args: &Args,
    settings: &Settings,
    made: &mut Made,
    root: Option<&Path>,
) -> Result<Done, Failure> {
    let Made { reviewed, contents, .. } = made;
    for note in reviewed.review.notes.iter().flat_map(|notes| notes.lines()) {
        output::say(&format!("note: {note}"));
    }
    if let Some(names) = asking::left_out(settings, args.offline) {
        output::say(&format!("note: not asked, because of `--offline`: {names}"));
    }
    if reviewed.change.is_empty() {
        output::say(&format!("nothing to review: compared {}, and nothing differs", reviewed.change.compared));
        if args.format == ReportFormat::Pretty && args.output.is_none() {
            return Ok(Done::Fine);
        }
    }
    let sources = if args.format == ReportFormat::Sarif { sources(reviewed, contents) } else { HashMap::new() };
    let shown = Shown {
        files: &reviewed.change.files,
        sources: &sources,
        gate: reviewed.gate,
        root,
        verbose: args.verbose,
        only_new: args.since_last,
        bot: &settings.bot,
        reviewed: Some(reviewed),
    };
    let text = render(place, &reviewed.review, &shown, args.format.into());
    output::deliver(place, &text, args.output.as_deref())?;
    if let Some(file) = &args.output {
        output::say(&format!("wrote {}: {}", file.display(), reviewed.review.verdict().as_str()));
    }
    if args.record.is_some() && reviewed.runs.is_empty() {
        output::say("note: nobody was asked, so there is nothing in the record");
    }
    conclude(reviewed, settings.fail_on)
}

/// Says what models and agents took, and ends as the gate wants it, or as a reviewer that failed.
fn conclude(reviewed: &Reviewed, fail_on: FailOn) -> Result<Done, Failure> {
    for run in &reviewed.runs {
        output::say(&run.in_words());
    }
    let passes = matches!(reviewed.gate, Gate::Open | Gate::Skipped) || fail_on == FailOn::Never;
    let mut failed: Vec<Failure> = reviewed.runs.iter().filter_map(|run| run.failure.clone()).collect();
    // The gate stays shut either way; what has to be mended first is not the change.
    let last = if passes || reviewed.gate == Gate::Closed { None } else { failed.pop() };
    for failure in failed {
        output::say(&format!("note: {failure}"));
        if let Some(hint) = &failure.hint {
            output::say(&format!("hint: {hint}"));
        }
    }
    match last {
        Some(failure) => Err(failure),
        None => Ok(if passes { Done::Fine } else { Done::No }),
    }
}

/// Prints what models would be asked.
fn print_prompt(place: &Place, args: &Args, reviewed: &Reviewed) -> Result<Done, Failure> {
    for note in reviewed.review.notes.iter().flat_map(|notes| notes.lines()) {
        output::say(&format!("note: {note}"));
    }
    if reviewed.sent.is_empty() {
        output::say("nothing would be sent: there is no reviewer to ask, or nothing for it to look at");
    }
    let text = match args.format {
        ReportFormat::Json => asking::prompt_json(&reviewed.sent),
        _ => asking::prompt_text(&reviewed.sent),
    };
    output::deliver(place, &text, args.output.as_deref())?;
    Ok(Done::Fine)
}

/// The memory of past reviews. A review goes on without it.
fn memory(place: &Place, settings: &Settings, args: &Args) -> Memory {
    if args.no_store || args.source.diff.is_some() || !settings.remembers {
        return Memory::Off;
    }
    match memory::location(place, settings, &args.store).and_then(|location| Store::open_at(&location)) {
        Ok(store) => Memory::Open(store),
        Err(failure) => Memory::Unavailable(failure),
    }
}

/// Looks at the repository and reads the settings that hold in it.
pub(crate) fn open(place: &Place, source: &Source, flags: Layer) -> Result<(Local, Settings), Failure> {
    let trigger = trigger(place, source)?;
    let forge = Local::open(&place.directory, trigger, Environment::of_process())?;
    let settings = place.settings(forge.root(), flags)?;
    Ok((forge, settings))
}

/// Reads the change alone.
pub(crate) fn fetch(place: &Place, source: &Source) -> Result<Change, Failure> {
    let (mut forge, settings) = open(place, source, Layer::default())?;
    forge.fetch(&FetchOptions { base: settings.base.clone(), max_diff_bytes: settings.max_diff_bytes })
}

fn trigger(place: &Place, source: &Source) -> Result<Trigger, Failure> {
    Ok(match source {
        Source { diff: Some(path), .. } => {
            Trigger::Patch { name: path.display().to_string(), bytes: read_patch(place, path, MAX_PATCH)? }
        }
        Source { range: Some(range), .. } => Trigger::Range(range.clone()),
        Source { staged: true, .. } => Trigger::Staged,
        Source { worktree: true, .. } => Trigger::Worktree,
        _ => Trigger::Default,
    })
}

/// Reads a patch from a file or standard input.
pub(crate) fn read_patch(place: &Place, path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    output::read_input(&place.resolve(path), limit)
}

fn flags(args: &Args, tape: &Tape) -> Layer {
    let mut flags = Layer { source: "the command line".to_owned(), ..Layer::default() };
    flags.values.review.fail_on = args.fail_on.map(FailOnWord::from);
    flags.values.review.profile = args.profile.map(ProfileWord::from);
    if args.offline {
        flags.values.review.reviewers = Some(Vec::new());
    } else if !args.reviewer.is_empty() {
        flags.values.review.reviewers = Some(args.reviewer.clone());
    } else if let recorded = tape.reviewers()
        && !recorded.is_empty()
    {
        // Without them the record would not be looked at, and the review taken for the one that was recorded.
        flags.values.review.reviewers = Some(recorded);
    }
    flags
}

fn read_imported(
    place: &Place,
    files: &[PathBuf],
    root: Option<&Path>,
) -> Result<(Vec<Finding>, Vec<WithheldFinding>), Failure> {
    let (mut findings, mut withheld) = (Vec::new(), Vec::new());
    for file in files {
        let read = convert::read_report(place, file, None, Strictness::Lenient, root)?;
        for note in &read.notes {
            output::say(&format!("note: {}: {note}", file.display()));
        }
        let (counting, held) = read.into_findings();
        findings.extend(counting);
        withheld.extend(held);
    }
    Ok((findings, withheld))
}

/// The text of the files that have findings, as far as it can be had: line hashes are made of it.
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

/// What a report shows beside the review.
pub(crate) struct Shown<'a> {
    pub(crate) files: &'a [FileDiff],
    pub(crate) sources: &'a HashMap<FilePath, String>,
    pub(crate) gate: Gate,
    pub(crate) root: Option<&'a Path>,
    pub(crate) verbose: bool,
    /// True to show in full only what is new since the last review.
    pub(crate) only_new: bool,
    /// The name on comments.
    pub(crate) bot: &'a str,
    /// How the review was made; `None` for one that was only read.
    pub(crate) reviewed: Option<&'a Reviewed>,
}

impl<'a> Shown<'a> {
    /// What there is to show of a review that was only read.
    pub(crate) fn read(gate: Gate, sources: &'a HashMap<FilePath, String>) -> Self {
        Self { files: &[], sources, gate, root: None, verbose: false, only_new: false, bot: BOT, reviewed: None }
    }
}

/// Renders a review in one of the formats.
pub(crate) fn render(place: &Place, review: &Review, shown: &Shown<'_>, format: Format) -> String {
    match format {
        Format::Pretty => {
            let only_new = shown.only_new;
            let look = Look { only_new, ..output::look(place, shown.root, shown.verbose) };
            // Without findings no line of the change is shown.
            let masked = if review.findings.is_empty() { None } else { Some(mask::files(shown.files)) };
            let files = masked.as_deref().unwrap_or(shown.files);
            let since = shown.reviewed.and_then(|reviewed| reviewed.since.as_ref()).map(SinceLast::told);
            report::terminal::render(review, files, shown.gate, since.as_ref(), &look)
        }
        Format::Json => {
            report::json::write(review, report::json::Options { gate: Some(shown.gate), ..Default::default() })
        }
        Format::Markdown => report::markdown::write(review),
        Format::Sarif => report::sarif::write(
            review,
            report::sarif::Options {
                version: Some(env!("CARGO_PKG_VERSION")),
                sources: Some(shown.sources),
                rules: &history::rules_in(review),
                ..Default::default()
            },
        ),
        Format::Rdjson => report::rdjson::write(review),
        Format::Rdjsonl => report::rdjson::write_lines(review),
        Format::Github => {
            let annotations = report::github::write(review);
            if let Some(note) = &annotations.note {
                output::say(&format!("note: {note}"));
            }
            annotations.text
        }
        Format::Junit => report::junit::write(review),
        Format::Html => report::html::write(review, &mask::files(shown.files), Some(shown.gate)),
        Format::Summary => comment(review, shown),
    }
}

/// The comment for a pull request. A clean change has none, one that was looked at in part only its figures.
fn comment(review: &Review, shown: &Shown<'_>) -> String {
    if shown.gate == Gate::Skipped {
        return format!("{}\n", pipeline::SKIPPED);
    }
    let text = match shown.reviewed {
        Some(reviewed) => present::summary_text(reviewed, shown.bot, reviewed.since.as_ref()),
        None => present::stored_summary_text(review, shown.bot),
    };
    text.unwrap_or_else(|| {
        output::say("note: there is nothing to report, so there is no comment");
        String::new()
    })
}
