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
use tollgate_core::report::head_state::HeadState;
use tollgate_core::report::json;
use tollgate_core::review::{Suppressor, Withheld, WithheldFinding};
use tollgate_core::suppress::{self, Dismissal};
use tollgate_core::visible::visible;
use tollgate_engine::board::Refused;
use tollgate_engine::dismissals;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::local::Local;
use tollgate_engine::history;
use tollgate_engine::party::Party;
use tollgate_engine::store::{Counts, DismissalRow, Filter, NewDismissal, Run, Store, Subject};

use super::rules::DataFormat;
use super::{CliContext, Exit, StoreArgs, board, failure, free_text, output, review, store_args};

/// List, show, compare and export past reviews
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate history                                  the reviews of this repository, newest first\n  \
    tollgate history --branch work --limit 5 --format json\n  \
    tollgate history show 12 --format html -o 12.html\n  \
    tollgate history compare 11 12                    findings that are new, resolved or still open\n  \
    tollgate history export -o reviews.jsonl          everything, one review a line\n  \
    tollgate history dismiss F002 --reason \"the template is ours\"\n  \
    tollgate history dismissals                       also the ones that agents propose")]
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
    /// Dismiss a finding of a branch for as long as its code stays the same
    ///
    /// Run by an agent, it only proposes the dismissal: the finding counts until a person confirms it.
    ///
    /// Example: `tollgate history dismiss F002 --reason "the template is ours" --shared`
    Dismiss {
        /// The finding: its ID in the newest review of this repository (F002) or its fingerprint (fp-…)
        finding: String,
        /// The reason, shown to all readers of the review
        #[arg(long, allow_hyphen_values = true, value_parser = free_text)]
        reason: String,
        /// Look for the finding in this review instead of the newest
        #[arg(long, value_name = "NUMBER")]
        run: Option<i64>,
        /// Dismiss it in the whole repository, not only on the branch of the review
        #[arg(long, conflicts_with = "shared")]
        everywhere: bool,
        /// Share the dismissal with the team: write it to `.tollgate/dismissals.toml`, to be committed
        #[arg(long)]
        shared: bool,
    },
    /// Confirm a dismissal that an agent proposed
    ///
    /// Example: `tollgate history confirm fp-4d1b0c2f9a6e7385`
    Confirm {
        /// The fingerprint of the finding, as printed by `history dismissals`
        fingerprint: String,
    },
    /// Withdraw a dismissal that was made without `--shared`, or reject a proposed one
    ///
    /// Example: `tollgate history undismiss fp-4d1b0c2f9a6e7385`
    Undismiss {
        /// The fingerprint of the finding
        fingerprint: String,
    },
    /// List dismissed findings, yours and the team's, and the dismissals that agents propose
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
        Command::Dismiss { finding, reason, run, everywhere, shared } => {
            let run = find(&store, &here, run)?;
            let forge = here?;
            let finding = find_finding(&run, &finding)?;
            let reason = suppress::reason(&reason).map_err(|_| failure::no_reason())?;
            match board::party(context)? {
                Party::Agent(agent) if shared => Err(failure::not_for_agents("share a dismissal", &agent)),
                party @ Party::Person(_) if shared => {
                    share(&forge, finding, reason)?;
                    dismiss(&mut store, &run, finding, reason, (party, true))
                }
                party => dismiss(&mut store, &run, finding, reason, (party, everywhere)),
            }
        }
        Command::Confirm { fingerprint } => confirm(context, &mut store, &identity(&here)?, &fingerprint),
        Command::Undismiss { fingerprint } => undismiss(context, &mut store, &identity(&here)?, &fingerprint),
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
        .map(|(run, _)| {
            let state = state_of(run);
            let label = state.as_ref().map_or_else(|| run.state.as_str(), HeadState::label).to_owned();
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
                label,
                in_words(run, state.as_ref()),
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

fn in_words(run: &Run, state: Option<&HeadState>) -> String {
    let problem = run.problem.as_deref().map(|problem| problem.lines().next().unwrap_or_default());
    visible(problem.or(state.map(HeadState::explanation)).unwrap_or_default()).into_owned()
}

/// The state of a completed run.
fn state_of(run: &Run) -> Option<HeadState> {
    let gate = run.gate.as_deref().and_then(Gate::parse);
    run.review.as_deref().map(|review| HeadState::stored(review, gate))
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
        "state_of_head": state_of(run).map(|state| json!({
            "colour": state.colour().as_str(),
            "label": state.label(),
            "explanation": state.explanation(),
        })),
        "problem": run.problem,
        "compared_with_run": run.prior,
        "lines_added": run.n_added,
        "coverage": {
            "reviewed": run.coverage.reviewed,
            "skipped": run.coverage.skipped,
            "not_reviewed": run.coverage.not_reviewed,
        },
        "findings": findings,
        "suppressed_blockers": run.review.as_ref().map(|review| review.suppressed_blockers().map(suppressed).collect::<Vec<_>>()),
    })
}

/// A blocker that does not count, with the person and the reason.
fn suppressed(held: &WithheldFinding) -> Value {
    let Withheld::Suppressed { by, reason, kind } = &held.why else { return Value::Null };
    let who = match kind {
        Suppressor::Dismissal { who, .. } => who.as_deref(),
        Suppressor::Comment | Suppressor::Configuration | Suppressor::Tool => None,
    };
    json!({
        "id": held.finding.id.to_string(),
        "severity": held.finding.severity.as_str(),
        "file": held.finding.location.file.as_str(),
        "title": held.finding.summary.as_str(),
        "kind": kind.as_str(),
        "by": by,
        "who": who,
        "reason": reason,
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
    let shown = review::ReportContext { verbose, ..review::ReportContext::read(&review, gate, &sources) };
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

fn dismiss(
    store: &mut Store,
    run: &Run,
    finding: &Finding,
    reason: &str,
    (party, everywhere): (Party, bool),
) -> Result<Exit, Failure> {
    let dismissal = Dismissal::of_finding(finding, reason).map_err(|problem| Failure::new(Kind::User, problem))?;
    let new = NewDismissal { dismissal, party, subject: run.subject.clone(), everywhere };
    say_dismissed(&store.dismiss(&new, crate::cli::now_ms())?, "tollgate history confirm");
    Ok(Exit::Success)
}

/// Says that a finding was dismissed, or that an agent proposed it and how a person confirms that.
pub(super) fn say_dismissed(row: &DismissalRow, confirm: &str) {
    let (print, title, file) = (row.dismissal.fingerprint, row.dismissal.title(), &row.dismissal.file);
    let scope = row.subject.as_deref().map_or_else(|| "in the whole repository".to_owned(), |on| format!("on {on}"));
    if row.is_proposal {
        let who = row.who.as_deref().unwrap_or_default();
        output::say(&format!("proposed to dismiss: {title} in {file} ({print}), {scope}, by {who}"));
        output::say(&format!("the finding counts until a person confirms that with `{confirm} {print}`"));
    } else {
        output::say(&format!("dismissed: {title} in {file} ({print}), {scope}"));
    }
}

fn confirm(context: &CliContext, store: &mut Store, repository: &str, named: &str) -> Result<Exit, Failure> {
    let print = Fingerprint::parse(named).ok_or_else(|| failure::not_a_fingerprint(named))?;
    let party = board::person(context, "confirm a dismissal")?;
    let mut proposals = store.proposals(repository)?;
    proposals.retain(|row| row.dismissal.fingerprint == print);
    if proposals.is_empty() {
        return Err(Refused::NoProposal(print.to_string()).into_failure());
    }
    for proposal in proposals {
        let (everywhere, name) = (proposal.subject.is_none(), proposal.subject.unwrap_or_default());
        let subject = Subject { repository: repository.to_owned(), name, scope: String::new() };
        let new = NewDismissal { dismissal: proposal.dismissal, party: party.clone(), subject, everywhere };
        say_dismissed(&store.dismiss(&new, crate::cli::now_ms())?, "");
    }
    Ok(Exit::Success)
}

fn undismiss(context: &CliContext, store: &mut Store, repository: &str, named: &str) -> Result<Exit, Failure> {
    let print = Fingerprint::parse(named).ok_or_else(|| failure::not_a_fingerprint(named))?;
    let (who, now) = (board::party(context)?, crate::cli::now_ms());
    let was_dismissed = store.withdraw(repository, print, now)?;
    let was_proposed = store.reject_proposal(repository, print, who.name(), now)?;
    for (was_there, done) in
        [(was_dismissed, "withdrew the dismissal"), (was_proposed, "rejected the proposed dismissal")]
    {
        if was_there {
            output::say(&format!("{done} of {print}"));
        }
    }
    if was_dismissed || was_proposed { Ok(Exit::Success) } else { Err(failure::not_dismissed(named)) }
}

/// Writes a dismissal to the team's file. Reviews follow it once the base has it; until then the person's own one counts.
fn share(forge: &Local, finding: &Finding, reason: &str) -> Result<(), Failure> {
    let root = forge.root().ok_or_else(|| tollgate_engine::failure::no_working_tree("`--shared`"))?;
    let text = dismissals::with(root, finding, reason)?;
    let path = root.join(dismissals::FILE_NAME);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| failure::cannot_write(&folder.display().to_string(), &error))?;
    }
    output::write_file(&path, &text)?;
    output::say(&format!(
        "added to {}; commit it to share it with your team, for whom it counts once it is merged",
        dismissals::FILE_NAME
    ));
    Ok(())
}

fn dismissed(store: &Store, here: &Result<Local, Failure>) -> Result<Exit, Failure> {
    let repository = identity(here)?;
    let mut rows = store.dismissals(&repository)?;
    rows.extend(store.proposals(&repository)?);
    let mut text: String = rows.iter().map(described_dismissal).collect();
    if let Some(root) = here.as_ref().ok().and_then(Local::root) {
        for shared in dismissals::read(root)? {
            text.push_str(&listed_dismissal(&shared, &shared.name));
        }
    }
    if text.is_empty() {
        output::say("no dismissed findings");
    }
    output::print(&text)?;
    Ok(Exit::Success)
}

/// A dismissal, or a proposed one, with its author, its scope and its reason.
pub(super) fn described_dismissal(row: &DismissalRow) -> String {
    let on = row.subject.as_ref().map(|subject| format!(" on {subject}")).unwrap_or_default();
    let scope = if row.subject.is_none() { " for the whole repository" } else { "" };
    let who = row.who.as_deref().unwrap_or("an unnamed agent");
    let name = match row.is_proposal {
        true => format!("proposed by {who}{on}{scope}, not confirmed"),
        false => format!("{}{on}", row.dismissal.name),
    };
    listed_dismissal(&row.dismissal, &name)
}

fn listed_dismissal(dismissal: &Dismissal, name: &str) -> String {
    let evidence = dismissal.evidence.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{}  {name}: {}\n    {evidence}", dismissal.fingerprint, dismissal.reason);
    format!("{}\n", visible(&line))
}
