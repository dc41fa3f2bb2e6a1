//! The spine: one change, from trigger to finished review.
//!
//! What only enriches a review (the author's declarations, the memory of past
//! reviews) fails open and leaves a note; the review itself fails closed: no
//! answer is never an approval.

use std::path::PathBuf;

use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, Covered, Looked};
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::finding::Finding;
use tollgate_core::gate::{self, FailOn, Gate};
use tollgate_core::intent::commits::Listed;
use tollgate_core::intent::{self, Commit, Intent};
use tollgate_core::path::FilePath;
use tollgate_core::policy::{self, Policy};
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_core::suppress::Dismissal;
use tollgate_rules::catalog;
use tollgate_rules::change::Declared;

use crate::config::Settings;
use crate::dismissals;
use crate::failure::Failure;
use crate::forge::git::Commits;
use crate::forge::local::{FetchOptions, Local};
use crate::reviewer::embedded;
use crate::reviewer::imported::{self, Scope};
use crate::store::{Completed, Ended, Outcome, Store, Subject};

mod accept;
mod cache;
mod since;

pub use since::SinceLast;

/// Everything a review needs from outside.
pub struct World<'a> {
    /// How to review.
    pub settings: &'a Settings,
    /// Where the change is.
    pub forge: Local,
    /// What other tools found, paths relative to the repository.
    pub imported: Vec<Finding>,
    /// What other tools found and somebody suppressed there.
    pub imported_withheld: Vec<WithheldFinding>,
    /// Which of that counts.
    pub scope: Scope,
    /// What the author calls the change.
    pub title: Option<&'a str>,
    /// What the author says about it.
    pub body: Option<&'a str>,
    /// Past reviews.
    pub memory: Memory,
    /// True to look only at what changed since the last review.
    pub since_last: bool,
    /// This very program, which scans files as a child of itself.
    pub executable: PathBuf,
    /// The time in milliseconds since 1970.
    pub clock: &'a dyn Fn() -> u64,
    /// Is told how the review goes.
    pub events: &'a dyn Fn(Event<'_>),
}

/// Past reviews, as far as there is a memory.
#[derive(Debug)]
pub enum Memory {
    /// Nobody wants one.
    Off,
    /// It cannot be used, and why.
    Unavailable(Failure),
    /// Here it is.
    Open(Store),
}

/// How a review goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The change was read.
    Fetched {
        /// What is compared with what.
        compared: &'a str,
        /// How many files it has.
        n_files: usize,
    },
    /// So many of so many files were scanned.
    Scanned {
        /// How many are done.
        n_done: usize,
        /// How many there are.
        n_files: usize,
    },
}

/// A change and its review. A change without files has a review without findings.
#[derive(Debug)]
pub struct Reviewed {
    /// What was reviewed.
    pub change: Change,
    /// The review.
    pub review: Review,
    /// Whether the change may pass.
    pub gate: Gate,
    /// What the author declared.
    pub intent: Intent,
    /// What was looked for.
    pub policy: Policy,
    /// What changed since the last review; `None` when there was none.
    pub since: Option<SinceLast>,
    /// What the change looked like, by its lines.
    snapshot: Vec<u8>,
}

/// Reviews one change, from trigger to finished review, and remembers it.
pub fn review_change(world: &mut World<'_>) -> Result<Reviewed, Failure> {
    let started = (world.clock)();
    let subject = subject(&world.forge);
    let reviewed = review(world, subject.as_ref());
    let stored = remember(world, subject.as_ref(), started, &reviewed);
    let mut reviewed = reviewed?;
    if let Err(failure) = stored {
        add_note(&mut reviewed.review, format!("this review was not stored: {}", failure.message));
    }
    Ok(reviewed)
}

/// The spine.
fn review(world: &mut World<'_>, subject: Option<&Subject>) -> Result<Reviewed, Failure> {
    let options = FetchOptions { base: world.settings.base.clone(), max_diff_bytes: world.settings.max_diff_bytes };
    let change = world.forge.fetch(&options)?;
    (world.events)(Event::Fetched { compared: &change.compared, n_files: change.files.len() });
    let mut notes = change.notes.clone();

    let (intent, subjects) = intent(world, &change, &mut notes);
    let mut policy = policy::resolve(&intent, &world.settings.policy);
    if let FailOn::Severity(severity) = world.settings.fail_on {
        // What is asked to close the gate has to be counted.
        policy.floor = policy.floor.min(severity);
    }
    if intent.no_review() && world.settings.allow_no_review {
        return Ok(skipped(change, intent, policy));
    }
    notes.extend(intent.remarks());
    notes.extend(policy.changes_by_tags().iter().cloned());

    let snapshot = Snapshot::of(&change.files);
    let last = recall(world, subject, &change, &snapshot, &mut notes);
    let only_fresh = last.as_ref().filter(|_| world.since_last);
    let dismissals = dismissals(world, subject, &mut notes)?;

    let answer = scan(world, &change, &intent, &subjects, only_fresh)?;
    let looked_at = since::LookedAt::of(&world.imported, only_fresh.is_some(), &answer.coverage);
    let imported = imported::accept(std::mem::take(&mut world.imported), &change.files, world.scope);
    notes.extend(answer.notes);
    notes.extend(unknown_rules(world.settings, &answer.user_rules));

    let mut findings: Vec<Finding> = answer.findings.into_iter().chain(imported.findings).map(accept::masked).collect();
    let withheld = imported.withheld.into_iter().chain(std::mem::take(&mut world.imported_withheld));
    if let Some(last) = &last {
        let carried = last.carried(&findings, &looked_at);
        findings.extend(carried);
    }
    let rules = accept::Rules { settings: world.settings, policy: &policy, user: &answer.user_rules };
    let mut accepted = rules.accept(findings, withheld.collect(), &change, &dismissals);
    let since = last.map(|last| last.compare(&mut accepted.kept, &mut accepted.withheld));
    accept::number(&mut accepted);
    notes.extend(accepted.notes);

    let review = Review {
        title: world.title.map(str::to_owned).or_else(|| change.title.clone()),
        reviewed: change.head.clone(),
        base: change.base.clone(),
        compared: Some(change.compared.clone()),
        files_reviewed: files_reviewed(&answer.coverage),
        findings: accepted.kept,
        withheld: accepted.withheld,
        coverage: Some(answer.coverage),
        re_review_required: false,
        notes: (!notes.is_empty()).then(|| notes.join("\n")),
        extra: serde_json::Map::new(),
    };
    let gate = gate::check(&review, world.settings.fail_on);
    Ok(Reviewed { change, review, gate, intent, policy, since, snapshot: snapshot.to_bytes() })
}

/// What a run is about, in the memory; `None` for what has no name to be found again by.
fn subject(forge: &Local) -> Option<Subject> {
    let (name, scope) = forge.line_of_work()?;
    Some(Subject { repository: forge.identity()?, name, scope })
}

/// What the author declared, and the first lines of the commits; without the latter if they cannot be had.
fn intent(world: &World<'_>, change: &Change, notes: &mut Vec<String>) -> (Intent, Vec<String>) {
    let commits = world.forge.commits(change).unwrap_or_else(|failure| {
        notes.push(format!("the commits' messages were not read: {}", failure.message));
        Commits::default()
    });
    let read: Vec<Commit<'_>> = commits.listed.iter().map(Listed::as_commit).collect();
    let intent = intent::read(world.title.unwrap_or_default(), world.body, &read, false);
    let subjects = read.iter().map(|commit| commit.message.lines().next().unwrap_or_default().to_owned());
    (intent, subjects.collect())
}

/// A review that was not made, since the title says so. Nothing in it reads as an approval.
fn skipped(change: Change, intent: Intent, policy: Policy) -> Reviewed {
    let not_reviewed = |file: FilePath| Covered { file, lines: None, looked: Looked::NotReviewed(SKIPPED.to_owned()) };
    let hunks = change.files.iter().map(|file| not_reviewed(FilePath::of_repo_path(file.path()))).collect();
    let review = Review {
        title: change.title.clone(),
        reviewed: change.head.clone(),
        base: change.base.clone(),
        compared: Some(change.compared.clone()),
        files_reviewed: Vec::new(),
        findings: Vec::new(),
        withheld: Vec::new(),
        coverage: Some(Coverage { hunks }),
        re_review_required: false,
        notes: Some(SKIPPED.to_owned()),
        extra: serde_json::Map::new(),
    };
    Reviewed { change, review, gate: Gate::Skipped, intent, policy, since: None, snapshot: Vec::new() }
}

/// What is said of a change that its title keeps from being reviewed.
pub const SKIPPED: &str = "Review skipped per `[no-review]` in PR title.";

/// The last review of the same line of work. Without a memory the review goes on and says so.
fn recall(
    world: &World<'_>,
    subject: Option<&Subject>,
    change: &Change,
    now: &Snapshot,
    notes: &mut Vec<String>,
) -> Option<since::Last> {
    let whole = |why: &str| format!("{why}, so all of the change was reviewed");
    let asked = world.since_last;
    let recalled = match (&world.memory, subject) {
        (Memory::Open(store), Some(subject)) => since::Last::recall(store, subject, change, now, asked),
        (Memory::Unavailable(failure), _) => Err(failure.clone()),
        (Memory::Off, _) | (Memory::Open(_), None) => Ok(None),
    };
    match recalled {
        Ok(Some(last)) => return Some(last),
        Ok(None) if asked => notes.push(whole("there is no earlier review to compare with")),
        Ok(None) => {}
        Err(failure) if asked => {
            notes.push(whole(&format!("past reviews are not available ({})", failure.message)));
        }
        Err(failure) => notes.push(format!("past reviews are not available: {}", failure.message)),
    }
    None
}

/// What the team and the user decided not to hear again. The team's file is part of the configuration.
fn dismissals(
    world: &World<'_>,
    subject: Option<&Subject>,
    notes: &mut Vec<String>,
) -> Result<Vec<Dismissal>, Failure> {
    let mut all = world.forge.root().map_or(Ok(Vec::new()), dismissals::read)?;
    if let (Memory::Open(store), Some(subject)) = (&world.memory, subject) {
        match store.dismissals(&subject.repository) {
            Ok(own) => all.extend(own),
            Err(failure) => notes.push(format!("your own dismissals are not available: {}", failure.message)),
        }
    }
    Ok(all)
}

/// Runs the embedded reviewer, over all of the change or over what the last review has not seen.
fn scan(
    world: &mut World<'_>,
    change: &Change,
    intent: &Intent,
    subjects: &[String],
    only_fresh: Option<&since::Last>,
) -> Result<embedded::Answer, Failure> {
    let title = world.title.or_else(|| if let [only] = subjects { Some(only) } else { None });
    let declared = Declared { breaking: intent.is_breaking(), ..Declared::titled(title.unwrap_or_default()) };
    let declared = Declared { fix: declared.fix || intent.is_fix(), ..declared };
    let paths = if embedded::asks_for_paths(change, declared) { world.forge.paths_before(change) } else { Vec::new() };
    let mut contents = world.forge.contents();
    let mut cache = cache::Cache::new(&mut world.memory, &world.executable);
    let events = world.events;
    let touches = |file: &FilePath, lines, side| only_fresh.is_some_and(|last| last.is_fresh(file, lines, side));
    let otherwise = only_fresh.map(|last| format!("unchanged since the review of {}", last.head().short()));
    let part = otherwise.as_deref().map(|otherwise| embedded::Part { touches: &touches, otherwise });
    let request = embedded::Request {
        change,
        settings: world.settings,
        root: world.forge.root(),
        executable: &world.executable,
        declared: declared.in_repository(&paths),
        part,
        progress: &|n_done, n_files| events(Event::Scanned { n_done, n_files }),
    };
    let answer = embedded::review(&request, &mut |file, max_bytes| contents.read(file, max_bytes), &mut cache)?;
    cache.store();
    Ok(answer)
}

/// Stores how a run ended. A skipped review is no run.
fn remember(
    world: &mut World<'_>,
    subject: Option<&Subject>,
    started: u64,
    reviewed: &Result<Reviewed, Failure>,
) -> Result<(), Failure> {
    let (Memory::Open(store), Some(subject)) = (&mut world.memory, subject) else {
        return Ok(());
    };
    let outcome = match reviewed {
        Ok(reviewed) if reviewed.gate == Gate::Skipped => return Ok(()),
        Ok(reviewed) => Outcome::Completed(Completed {
            review: &reviewed.review,
            gate: reviewed.gate,
            n_added: reviewed.change.files.iter().map(|file| file.n_added as usize).sum(),
            snapshot: &reviewed.snapshot,
            prior: reviewed.since.as_ref().map(|since| since.run),
            new: reviewed.since.as_ref().map(|since| since.new.as_slice()),
        }),
        Err(failure) => Outcome::Failed(&failure.message),
    };
    let version = env!("CARGO_PKG_VERSION");
    store.record(&Ended { subject, time: (started, (world.clock)()), version, outcome }).map(drop)
}

fn add_note(review: &mut Review, note: String) {
    match &mut review.notes {
        Some(notes) => {
            notes.push('\n');
            notes.push_str(&note);
        }
        None => review.notes = Some(note),
    }
}

fn files_reviewed(coverage: &Coverage) -> Vec<FilePath> {
    let reviewed = coverage.hunks.iter().filter(|covered| covered.looked == Looked::Reviewed);
    let mut files: Vec<FilePath> = reviewed.map(|covered| covered.file.clone()).collect();
    files.dedup();
    files
}

/// Names in the configuration that no rule has, which is most likely a mistake.
fn unknown_rules(settings: &Settings, user_rules: &[String]) -> Vec<String> {
    let ids = || catalog::all().iter().map(|rule| rule.id).chain(user_rules.iter().map(String::as_str));
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', '{']);
    let unknown = settings.rules.names().filter(is_plain).filter(|name| !ids().any(|id| id == *name));
    unknown.map(|name| format!("the configuration names the rule `{name}`, and no rule is called that")).collect()
}
