//! `tollgate history`: stored reviews and dismissed findings.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};
use tollgate_core::delta;
use tollgate_core::finding::{Finding, FindingId};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::report::json;
use tollgate_core::visible::visible;
use tollgate_engine::dismissals;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::Local;
use tollgate_engine::history;
use tollgate_engine::store::{Counts, Filter, Run, State, Store};

use super::rules::DataFormat;
use super::{CliContext, Exit, StoreArgs, failure, output, review, store_args};

/// List, show, compare and export past reviews
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate history                                  the reviews of this repository, newest first\n  \
    tollgate history --branch work --limit 5 --format json\n  \
    tollgate history show 12 --format html -o 12.html\n  \
    tollgate history compare 11 12                    findings that are new, resolved or still open\n  \
    tollgate history export -o reviews.jsonl          everything, one review a line\n  \
    tollgate history dismiss F002 --reason \"the template is ours\"")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List reviews, newest first
    ///
    /// Example: `tollgate history list --branch work`
    List(List),
    /// Show one review in any format
    ///
    /// Example: `tollgate history show 12 --format markdown`
    Show {
        /// The number of the review [default: the newest of this repository]
        number: Option<i64>,
        /// The format of the report
        #[arg(long, value_enum, default_value_t = review::ReportFormat::Pretty)]
        format: review::ReportFormat,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Also list skipped files and withheld findings, with reasons
        #[arg(short, long)]
        verbose: bool,
    },
    /// Compare two reviews: findings that are new, resolved or still open
    ///
    /// Example: `tollgate history compare 11 12 --format json`
    Compare {
        /// The number of the earlier review
        earlier: i64,
        /// The number of the later review
        later: i64,
        /// The output format
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
    /// Export complete reviews as JSON lines, oldest first
    ///
    /// Example: `tollgate history export --all -o reviews.jsonl`
    Export {
        /// Include all repositories, not only this one
        #[arg(long)]
        all: bool,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Dismiss a finding for as long as its code stays the same
    ///
    /// Example: `tollgate history dismiss F002 --reason "the template is ours" --shared`
    Dismiss {
        /// The finding: its ID in the newest review of this repository (F002) or its fingerprint (fp-…)
        finding: String,
        /// The reason, shown to all readers of the review
        #[arg(long)]
        reason: String,
        /// Look for the finding in this review instead of the newest
        #[arg(long, value_name = "NUMBER")]
        run: Option<i64>,
        /// Share the dismissal with the team: write it to `.tollgate/dismissals.toml`, to be committed
        #[arg(long)]
        shared: bool,
    },
    /// Withdraw a dismissal that was made without `--shared`
    ///
    /// Example: `tollgate history undismiss fp-4d1b0c2f9a6e7385`
    Undismiss {
        /// The fingerprint of the finding
        fingerprint: String,
    },
    /// List dismissed findings, yours and the team's
    ///
    /// Example: `tollgate history dismissals`
    Dismissals,
}

#[derive(clap::Args, PartialEq)]
struct List {
    /// Include all repositories, not only this one
    #[arg(long)]
    all: bool,
    /// List only reviews of this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The most reviews to list
    #[arg(long, value_name = "N", default_value_t = List::LIMIT)]
    limit: usize,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

impl List {
    const LIMIT: usize = 20;
}

impl Default for List {
    fn default() -> Self {
        Self { all: false, branch: None, limit: Self::LIMIT, format: DataFormat::Text }
    }
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let command = super::command_or_list(args.command, args.list, Command::List)?;
    let here = context.repository();
    let forge = here.as_ref().ok();
    let mut store = store_args::open(context, forge, &args.store)?;
    match command {
        Command::List(asked) => list(&store, &here, &asked),
        Command::Show { number, format, output, verbose } => {
            show(context, &find(&store, &here, number)?, &store, format, output, verbose)
        }
        Command::Compare { earlier, later, format } => {
            compare(&find(&store, &here, Some(earlier))?, &find(&store, &here, Some(later))?, format)
        }
        Command::Export { all, output } => export(context, &store, &here, all, output),
        Command::Dismiss { finding, reason, run, shared } => {
            let run = find(&store, &here, run)?;
            let forge = here?;
            let finding = find_finding(&run, &finding)?;
            let reason = reason.trim();
            if reason.is_empty() {
                return Err(failure::no_reason());
            }
            if shared { share(&forge, finding, reason) } else { dismiss(&mut store, &run, finding, reason) }
        }
        Command::Undismiss { fingerprint } => {
            let print = Fingerprint::parse(&fingerprint).ok_or_else(|| failure::not_a_fingerprint(&fingerprint))?;
            let repository = identity(&here)?;
            if store.withdraw(&repository, print, crate::cli::now_ms())? {
                output::say(&format!("withdrew the dismissal of {print}"));
                Ok(Exit::Success)
            } else {
                Err(failure::not_dismissed(&fingerprint))
            }
        }
        Command::Dismissals => dismissed(&store, &here),
    }
}

fn identity(here: &Result<Local, Failure>) -> Result<String, Failure> {
    let forge = here.as_ref().map_err(Clone::clone)?;
    forge.identity().ok_or_else(failure::no_identity)
}

/// Finds the run with this number, or the newest of this repository.
fn find(store: &Store, here: &Result<Local, Failure>, number: Option<i64>) -> Result<Run, Failure> {
    match number {
        Some(number) => store.run(number)?.ok_or_else(|| failure::no_such_run(number)),
        None => {
            let filter = Filter { repository: Some(identity(here)?), limit: 1, ..Filter::default() };
            store.runs(&filter)?.into_iter().next().map(|(run, _)| run).ok_or_else(failure::no_runs)
        }
    }
}

fn find_finding<'a>(run: &'a Run, name: &str) -> Result<&'a Finding, Failure> {
    let (id, print) = (FindingId::parse(name), Fingerprint::parse(name));
    let review = run.review.as_deref().ok_or_else(|| failure::run_without_review(run.id))?;
    let all = review.findings.iter().chain(review.withheld.iter().map(|withheld| &withheld.finding));
    let mut fitting = all.filter(|finding| Some(finding.id) == id || Some(Fingerprint::of(finding)) == print);
    fitting.next().ok_or_else(|| failure::no_such_finding(name, run.id))
}

fn list(store: &Store, here: &Result<Local, Failure>, asked: &List) -> Result<Exit, Failure> {
    let repository = if asked.all { None } else { Some(identity(here)?) };
    let runs = store.runs(&Filter { repository, name: asked.branch.clone(), limit: asked.limit })?;
    let text = match asked.format {
        DataFormat::Json => {
            format!("{:#}\n", Value::Array(runs.iter().map(|(run, counts)| described(run, Some(counts))).collect()))
        }
        DataFormat::Text => table(&runs, asked.all),
    };
    match &asked.branch {
        Some(branch) if runs.is_empty() => output::say(&format!("no reviews of `{branch}`")),
        None if runs.is_empty() => output::say("no reviews yet; `tollgate review` makes and stores one"),
        _ => {}
    }
    output::print(&text)?;
    Ok(Exit::Success)
}

fn table(runs: &[(Run, Counts)], all: bool) -> String {
    let rows: Vec<[String; 6]> = runs
        .iter()
        .map(|(run, counts)| {
            let verdict = match (run.state, run.verdict) {
                (State::Completed, Some(verdict)) => verdict.as_str().to_lowercase().replace('_', " "),
                (state, _) => state.as_str().to_owned(),
            };
            let what = match run.subject.scope.as_str() {
                "branch" => run.subject.name.clone(),
                scope => format!("{} ({scope})", run.subject.name),
            };
            let what = if all { format!("{} {what}", run.subject.repository) } else { what };
            let head = run.head.get(..7).unwrap_or_default().to_owned();
            [
                run.id.to_string(),
                when(run.finished_ms),
                head,
                visible(&what).into_owned(),
                verdict,
                in_words(run, counts),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let [number, cells @ .., last] = row;
        let _ = write!(text, "{number:>width$}", width = widths[0]);
        for (cell, width) in cells.iter().zip(&widths[1..]) {
            let _ = write!(text, "  {cell:<width$}");
        }
        let _ = writeln!(text, "  {last}");
    }
    text
}

fn in_words(run: &Run, counts: &Counts) -> String {
    if let Some(problem) = &run.problem {
        return visible(problem.lines().next().unwrap_or_default()).into_owned();
    }
    let counted: Vec<String> = counts.by_severity.iter().map(|(severity, n)| format!("{n} {severity}")).collect();
    let mut words = if counted.is_empty() { "nothing to report".to_owned() } else { counted.join(", ") };
    if run.coverage.not_reviewed > 0 {
        let _ = write!(words, "; partial, {} not reviewed", run.coverage.not_reviewed);
    }
    words
}

/// Formats a time for people, in the local time zone.
pub(super) fn when(millis: u64) -> String {
    let local = |time: OffsetDateTime| UtcOffset::local_offset_at(time).map_or(time, |offset| time.to_offset(offset));
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]");
    moment(millis).and_then(|time| local(time).format(format).ok()).unwrap_or_default()
}

/// Formats a time by RFC 3339.
pub(super) fn timestamp(millis: u64) -> Option<String> {
    moment(millis)?.format(&Rfc3339).ok()
}

fn moment(millis: u64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).ok()
}

/// Converts a run to JSON, without its review.
fn described(run: &Run, counts: Option<&Counts>) -> Value {
    let findings = counts.map(|counts| {
        let by_severity = counts.by_severity.iter().map(|(severity, n)| (severity.as_str().to_owned(), json!(n)));
        let mut map: serde_json::Map<String, Value> = by_severity.collect();
        map.insert("withheld".to_owned(), json!(counts.withheld));
        map
    });
    json!({
        "run": run.id,
        "repository": run.subject.repository,
        "subject": run.subject.name,
        "scope": run.subject.scope,
        "state": run.state.as_str(),
        "started_at": timestamp(run.started_ms),
        "finished_at": timestamp(run.finished_ms),
        "version": run.version,
        "head": run.head,
        "base": run.base,
        "compared": run.compared,
        "verdict": run.verdict.map(|verdict| verdict.as_str()),
        "gate": run.gate,
        "problem": run.problem,
        "compared_with_run": run.prior,
        "lines_added": run.n_added,
        "coverage": {
            "reviewed": run.coverage.reviewed,
            "skipped": run.coverage.skipped,
            "not_reviewed": run.coverage.not_reviewed,
        },
        "findings": findings,
    })
}

fn show(
    context: &CliContext,
    run: &Run,
    store: &Store,
    format: review::ReportFormat,
    file: Option<PathBuf>,
    verbose: bool,
) -> Result<Exit, Failure> {
    let mut review = run.review.as_deref().cloned().ok_or_else(|| match &run.problem {
        Some(problem) => failure::run_failed(run.id, problem),
        None => failure::run_without_review(run.id),
    })?;
    let last = store.last_of(&run.subject)?.filter(|last| last.id != run.id);
    review.re_review_required = last.is_some_and(|last| history::is_outdated(run, &last));
    let gate = match run.gate.as_deref() {
        Some("closed") => Gate::Closed,
        Some("partial") => Gate::Partial,
        _ => Gate::Open,
    };
    let sources = HashMap::new();
    let shown = review::ReportContext { verbose, ..review::ReportContext::read(gate, &sources) };
    output::deliver(context, &review::render(context, &review, &shown, format), file.as_deref())?;
    Ok(Exit::Success)
}

fn compare(earlier: &Run, later: &Run, format: DataFormat) -> Result<Exit, Failure> {
    for run in [earlier, later] {
        if run.review.is_none() {
            return Err(failure::run_without_review(run.id));
        }
    }
    let delta = history::compare(earlier, later);
    let (prior, current) = (history::claims(earlier), history::claims(later));
    let text = match format {
        DataFormat::Json => delta::json::write(&delta, &prior, &current),
        DataFormat::Text => delta::text::write(&delta, &prior, &current),
    };
    output::print(&text)?;
    Ok(Exit::Success)
}

fn export(
    context: &CliContext,
    store: &Store,
    here: &Result<Local, Failure>,
    all: bool,
    file: Option<PathBuf>,
) -> Result<Exit, Failure> {
    let repository = if all { None } else { Some(identity(here)?) };
    let runs = store.runs(&Filter { repository, name: None, limit: usize::MAX })?;
    let mut text = String::new();
    for (run, counts) in runs.iter().rev() {
        let mut line = described(run, Some(counts));
        line["review"] = match &run.review {
            Some(review) => json::review_value(review, json::Options::default()),
            None => Value::Null,
        };
        let _ = writeln!(text, "{line}");
    }
    output::deliver(context, &text, file.as_deref())?;
    Ok(Exit::Success)
}

fn dismiss(store: &mut Store, run: &Run, finding: &Finding, reason: &str) -> Result<Exit, Failure> {
    store.dismiss(&run.subject.repository, finding, reason, crate::cli::now_ms())?;
    let print = Fingerprint::of(finding);
    output::say(&format!("dismissed: {} in {} ({print})", finding.summary, finding.location.file));
    Ok(Exit::Success)
}

fn share(forge: &Local, finding: &Finding, reason: &str) -> Result<Exit, Failure> {
    let root = forge.root().ok_or_else(|| tollgate_engine::failure::no_working_tree("`--shared`"))?;
    let text = dismissals::with(root, finding, reason)?;
    let path = root.join(dismissals::FILE_NAME);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| failure::cannot_write(&folder.display().to_string(), &error))?;
    }
    output::write_file(&path, &text)?;
    output::say(&format!("added to {}; commit it to share it with your team", dismissals::FILE_NAME));
    Ok(Exit::Success)
}

fn dismissed(store: &Store, here: &Result<Local, Failure>) -> Result<Exit, Failure> {
    let mut all = store.dismissals(&identity(here)?)?;
    if let Some(root) = here.as_ref().ok().and_then(Local::root) {
        all.extend(dismissals::read(root)?);
    }
    let mut text = String::new();
    for dismissal in &all {
        let evidence = dismissal.evidence.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!("{}  {}: {}\n    {evidence}", dismissal.fingerprint, dismissal.name, dismissal.reason);
        let _ = writeln!(text, "{}", visible(&line));
    }
    if all.is_empty() {
        output::say("no dismissed findings");
    }
    output::print(&text)?;
    Ok(Exit::Success)
}
