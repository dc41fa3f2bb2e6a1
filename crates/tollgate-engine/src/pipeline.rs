//! The spine: one change, from trigger to finished review.
//!
//! What only enriches a review (the author's declarations, the memory of past
//! reviews) fails open and leaves a note; the review itself fails closed: no
//! answer is never an approval.

use std::borrow::Cow;
use std::path::PathBuf;

use tollgate_core::board::{Compliance, Criterion};
use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::delta::convergence::LateFindings;
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::diff::{FileDiff, Status};
use tollgate_core::finding::Finding;
use tollgate_core::gate::{self, FailOn, Gate};
use tollgate_core::intent::commits::ListedCommit;
use tollgate_core::intent::{self, Commit, Intent};
use tollgate_core::path::FilePath;
use tollgate_core::policy::{self, Policy};
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_core::suppress::Dismissal;
use tollgate_core::verify::{self, Weight};
use tollgate_core::visible::grouped;
use tollgate_rules::catalog;
use tollgate_rules::change::{ChangeContext, is_per_file};

use crate::config::{FILE_NAME, Settings};
use crate::dismissals;
use crate::failure::{self, Failure, Kind};
use crate::forge::git::Commits;
use crate::forge::local::{FetchOptions, Known, Local};
use crate::process;
use crate::reviewer::embedded;
use crate::reviewer::imported::{self, Scope};
use crate::store::{Completed, Ended, Outcome, Store, Subject};

mod accept;
mod cache;
mod models;
mod preview;
mod since;

pub use models::{Asking, Run, Sent, Stated};
pub use preview::{Preview, preview};
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
    /// What was asked for in detail, for the reviewers who are told.
    pub spec: Option<&'a str>,
    /// What was asked for, one by one; reviewers are asked about each.
    pub criteria: &'a [Criterion],
    /// Past reviews.
    pub memory: Memory,
    /// True to look only at what changed since the last review.
    pub since_last: bool,
    /// This very program, which scans files as a child of itself.
    pub executable: PathBuf,
    /// Who the review is for.
    pub standing: Standing,
    /// How models and agents are asked.
    pub asking: Asking<'a>,
    /// The time in milliseconds since 1970.
    pub clock: &'a dyn Fn() -> u64,
    /// Is told how the review goes.
    pub events: &'a (dyn Fn(Event<'_>) + Sync),
}

/// Who a review is for, and whose word counts in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A person has their own work looked at: the rules of the working tree, marks in the code and tags in a title count.
    Own,
    /// A change is at a gate: what it says about its own review does not count, and rules are those of the base.
    ///
    /// Whoever keeps the gate stores the review together with what follows from it ([`Reviewed::completed`]).
    Gate(Subject),
    /// A pull request: as at a gate, all that it says about its own review does not count. What its title and its commits
    /// declare is heeded when whoever wrote it could merge it anyway, and only shown otherwise.
    ///
    /// Whoever publishes the review stores it together with what is to be seen of it.
    Pull {
        /// The pull request.
        subject: Subject,
        /// True when the author may write to the repository.
        heeds_author: bool,
    },
}

impl Standing {
    /// True at the gate of a pipeline, where reviewers say whether a change may pass.
    fn is_gate(&self) -> bool {
        matches!(self, Self::Gate(_))
    }

    /// True when rules, marks and dismissals of the change itself count.
    fn trusts_change(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// True when what the author declares is shown, and nothing more.
    fn is_a_strangers(&self) -> bool {
        matches!(self, Self::Pull { heeds_author: false, .. })
    }

    /// What the review is about, where that is not asked of the repository.
    fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Own => None,
            Self::Gate(subject) | Self::Pull { subject, .. } => Some(subject),
        }
    }
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
    /// A model or agent is asked, or answers.
    Asking {
        /// Who.
        reviewer: &'a str,
        /// What it does.
        stage: &'a str,
        /// A file that this is about.
        about: &'a str,
        /// How many calls are done.
        n_done: usize,
        /// How many there are.
        n_calls: usize,
        /// About how many tokens were written until now.
        n_tokens: u64,
    },
}

impl Event<'_> {
    /// How it goes, in a few words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Fetched { n_files: 0, .. } => "reading the change".to_owned(),
            Self::Fetched { n_files, .. } => format!("reviewed 0 of {n_files} files"),
            Self::Scanned { n_done, n_files } => format!("reviewed {n_done} of {n_files} files"),
            Self::Asking { reviewer, stage, about, n_done, n_calls, n_tokens } => {
                let calls = if *n_calls == 1 { String::new() } else { format!(", {n_done} of {n_calls} calls done") };
                let tokens = if *n_tokens == 0 { String::new() } else { format!(", {} tokens", grouped(*n_tokens)) };
                format!("{reviewer} {stage}: {about}{calls}{tokens}")
            }
        }
    }
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
    /// What models and agents took.
    pub runs: Vec<Run>,
    /// Whether what was asked for is there, each as its reviewers say; unclear where none does.
    pub compliance: Compliance,
    /// What models and agents said of passing, in the order of their calls. The verdict does not follow from it.
    pub stated: Vec<Stated>,
    /// What was sent to them, or would have been.
    pub sent: Vec<Sent>,
    /// How many lines the change adds in all.
    n_added: usize,
    /// What the change looked like, by its lines.
    snapshot: Vec<u8>,
}

impl Reviewed {
    /// The review as it is stored.
    #[must_use]
    pub fn completed(&self) -> Completed<'_> {
        Completed {
            review: &self.review,
            gate: self.gate,
            n_added: self.n_added,
            snapshot: &self.snapshot,
            prior: self.since.as_ref().map(|since| since.run),
            new: self.since.as_ref().map(|since| since.new.as_slice()),
        }
    }
}

/// Reviews one change, from trigger to finished review, and remembers it.
pub fn review_change(world: &mut World<'_>) -> Result<Reviewed, Failure> {
    let started = (world.clock)();
    let subject = world.standing.subject().cloned().or_else(|| subject(&world.forge));
    let reviewed = review_all_it_takes(world, subject.as_ref());
    process::wait_if_stopping();
    let stored = match world.standing {
        Standing::Own => remember(world, subject.as_ref(), started, &reviewed),
        Standing::Gate(_) | Standing::Pull { .. } => Ok(()),
    };
    let mut reviewed = reviewed?;
    if let Err(failure) = stored {
        add_note(&mut reviewed.review, format!("this review was not stored: {}", failure.message));
    }
    Ok(reviewed)
}

/// Reviews what changed since the last review by itself, and all of the change where that is not enough.
fn review_all_it_takes(world: &mut World<'_>, subject: Option<&Subject>) -> Result<Reviewed, Failure> {
    // Another tool speaks of the whole change, so its findings need all of it to be placed.
    if world.since_last
        && world.imported.is_empty()
        && let Some(reviewed) = review(world, subject, Reading::Unknown)?
    {
        return Ok(reviewed);
    }
    review(world, subject, Reading::All)?.ok_or_else(failure::nothing_reviewed)
}

/// How much of a change is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Files that the last review knows are left out.
    Unknown,
    /// Everything.
    All,
}

/// The spine. `None` when a rule about the change as a whole needs more of it than was read.
fn review(world: &mut World<'_>, subject: Option<&Subject>, reading: Reading) -> Result<Option<Reviewed>, Failure> {
    let mut notes = Vec::new();
    let mut recalled = if world.since_last { recall_last(world, subject, &mut notes) } else { None };
    // Files that a model has not seen yet have to be read, whatever the last review knows of them.
    let all_asked = |recalled: &&since::Recalled| world.settings.reviewers.iter().all(|it| recalled.asked(&it.name));
    let known = recalled.as_ref().filter(|_| reading == Reading::Unknown).filter(all_asked);
    let change = fetch(world, known)?;
    (world.events)(Event::Fetched { compared: &change.compared, n_files: change.files.len() });
    notes.splice(0..0, change.notes.iter().cloned());
    if alters_settings(&change) {
        notes.push(format!("the change alters `{FILE_NAME}`, by which it is reviewed"));
    }

    let (intent, subjects) = intent(world, &change, &mut notes);
    let policy = policy(&heeded(world, &intent, &mut notes), world.settings);
    if intent.no_review() && world.settings.allow_no_review && world.standing.trusts_change() {
        return Ok(Some(skipped(change, intent, policy)));
    }
    notes.extend(intent.remarks());
    notes.extend(policy.changes_by_tags().iter().cloned());

    let mut snapshot = Snapshot::of(&change.files);
    let mut known = Vec::new();
    if let Some(recalled) = &recalled {
        snapshot = recalled.complete(snapshot, &change);
        known = recalled.coverage_of_known(&change);
    } else if !world.since_last {
        recalled = recall_before(world, subject, &change, &snapshot, &mut notes);
    }
    let otherwise = recalled.as_ref().filter(|_| world.since_last).map(since::Recalled::otherwise);
    let last = recalled.map(|recalled| recalled.seen_from(&snapshot));
    let mut dismissals = dismissals(world, subject, &change, &mut notes)?;
    dismissals.extend(follow(&dismissals, &change, last.as_ref()));

    let touches = |file: &FilePath, lines, side| last.as_ref().is_none_or(|last| last.is_fresh(file, lines, side));
    let part = otherwise.as_deref().map(|otherwise| embedded::Part { touches: &touches, otherwise });
    let only_fresh = part.is_some();
    let told = models::Told { subjects: &subjects, policy: &policy, last: last.as_ref(), only_fresh };
    let Some((mut answer, heard)) = look(world, &change, declared(world, &intent, &subjects), part, &told)? else {
        return Ok(None);
    };
    models::enter(&mut answer.coverage, &change, &heard.missed);
    answer.coverage.hunks.extend(known);
    let mut looked_at = since::LookedAt::of(&world.imported, only_fresh, &answer.coverage, &change);
    looked_at.models = heard.places;
    let imported = imported::accept(std::mem::take(&mut world.imported), &change.files, world.scope);
    notes.extend(answer.notes);
    notes.extend(heard.notes);
    let (compliance, problems) = verify::combine_criteria(world.criteria, &heard.testimony);
    notes.extend(problems);
    notes.extend(unknown_rules(world.settings, &answer.user_rules));

    let mut findings: Vec<Finding> =
        answer.findings.into_iter().chain(imported.findings).chain(heard.findings).map(accept::masked).collect();
    let withheld = imported.withheld.into_iter().chain(std::mem::take(&mut world.imported_withheld));
    let withheld = withheld.chain(heard.withheld);
    if let Some(last) = &last {
        let carried = last.carried(&findings, &looked_at);
        findings.extend(carried.into_iter().filter(|finding| is_wanted(finding, world.settings)));
    }
    let is_model = |name: &str| {
        let is_chosen = world.settings.reviewers.iter().any(|chosen| chosen.name == name);
        is_chosen || last.as_ref().is_some_and(|last| last.asked(name))
    };
    let rules = accept::Rules {
        settings: world.settings,
        policy: &policy,
        user: &answer.user_rules,
        is_model: &is_model,
        own_marks: world.standing.trusts_change(),
    };
    let mut accepted = rules.accept(findings, withheld.collect(), &change, &dismissals);
    let late = if world.standing.is_gate() { LateFindings::AllButGrave } else { LateFindings::Mild };
    let since = last.as_ref().map(|last| last.compare(&mut accepted.kept, &mut accepted.withheld, (late, &is_model)));
    accept::number(&mut accepted);
    notes.extend(accepted.notes);

    let mut review = Review {
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
    if let Some(since) = since.as_ref().filter(|_| world.since_last) {
        review.extra.insert("x_since_last".to_owned(), since.to_json(&review));
    }
    if !heard.runs.is_empty() {
        let runs = heard.runs.iter().map(Run::to_json).collect();
        review.extra.insert(since::REVIEWERS.to_owned(), serde_json::Value::Array(runs));
    }
    let gate = gate::check(&review, world.settings.fail_on);
    let (n_added, snapshot) = (snapshot.n_added(), snapshot.to_bytes());
    let models::Hearing { runs, sent, stated, .. } = heard;
    Ok(Some(Reviewed {
        change,
        review,
        gate,
        intent,
        policy,
        since,
        runs,
        compliance,
        stated,
        sent,
        n_added,
        snapshot,
    }))
}

/// Lets the rules and the models look at the change, at the same time where they do not need one another.
///
/// `None` when a rule needs more of the change than was read.
fn look(
    world: &mut World<'_>,
    change: &Change,
    declared: ChangeContext<'_>,
    part: Option<embedded::Part<'_>>,
    told: &models::Told<'_>,
) -> Result<Option<(embedded::Answer, models::Hearing)>, Failure> {
    let asking = std::mem::replace(&mut world.asking, Asking::nobody());
    let (forge, executable) = (world.forge.clone(), world.executable.clone());
    let (settings, events) = (world.settings, world.events);
    let scene = models::Scene {
        settings,
        forge: &forge,
        executable: &executable,
        title: world.title,
        body: world.body,
        spec: world.spec,
        criteria: world.criteria,
        weight: if world.standing.is_gate() { Weight::Statement } else { Weight::Findings },
        asking: &asking,
        events,
    };
    let asks = !settings.reviewers.is_empty() && !change.files.is_empty();
    // When files were left out all of it may have to be read after all; nobody is asked twice.
    let at_once = change.known.is_empty();
    let looked = std::thread::scope(|scope| {
        let begun = asks.then(|| scope.spawn(|| models::begin(&scene, change, told, at_once)));
        let answer = scan(world, change, declared, part);
        if answer.is_err() {
            asking.cancel.cancel();
        }
        let begun = begun.map(|begun| begun.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let answer = answer?;
        if !change.known.is_empty() && answer.findings.iter().any(needs_all_files) {
            return Ok(None);
        }
        let heard = begun.transpose()?.map(|begun| begun.finish(&scene, change, told, &answer.findings));
        Ok(Some((answer, heard.unwrap_or_default())))
    });
    world.asking = asking;
    looked
}

/// Reads the change, but for what the last review knows of it.
fn fetch(world: &mut World<'_>, recalled: Option<&since::Recalled>) -> Result<Change, Failure> {
    let options = FetchOptions { base: world.settings.base.clone(), max_diff_bytes: world.settings.max_diff_bytes };
    match recalled.filter(|recalled| recalled.is_worth_knowing()) {
        Some(recalled) => {
            let has =
                |old: Option<&FilePath>, new: Option<&FilePath>, blob: Option<&str>| recalled.knows(old, new, blob);
            world.forge.fetch_unknown(&options, &Known { base: recalled.base(), has: &has })
        }
        None => world.forge.fetch(&options),
    }
}

/// True when a change alters the settings by which it is reviewed.
fn alters_settings(change: &Change) -> bool {
    let paths = |file: &FileDiff| [file.old_path.clone(), file.new_path.clone()];
    let mut paths = change.files.iter().chain(&change.known).flat_map(paths).flatten();
    paths.any(|path| path.as_bytes() == FILE_NAME.as_bytes())
}

/// False for what the configuration has switched off since it was found.
fn is_wanted(finding: &Finding, settings: &Settings) -> bool {
    let is_enabled = finding.origin.rule.as_deref().is_none_or(|rule| settings.rules.enabled(rule));
    is_enabled && settings.paths.wants(finding.location.file.as_str())
}

/// True for what a rule says that looks at more than one file, and has not seen them all.
fn needs_all_files(finding: &Finding) -> bool {
    finding.origin.rule.as_deref().is_some_and(|rule| since::is_about_the_change(rule) && !is_per_file(rule))
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
    let read: Vec<Commit<'_>> = commits.listed.iter().map(ListedCommit::as_commit).collect();
    // At a gate the messages are the author's of the change, who has no say in how it is looked at.
    let heeded = if world.standing.is_gate() { &[][..] } else { &read };
    let intent = intent::read(world.title.unwrap_or_default(), world.body, heeded, false);
    let subjects = read.iter().map(|commit| commit.message.lines().next().unwrap_or_default().to_owned());
    (intent, subjects.collect())
}

/// What of an intent has a say in how the change is looked at.
fn heeded<'a>(world: &World<'_>, intent: &'a Intent, notes: &mut Vec<String>) -> Cow<'a, Intent> {
    if !world.standing.is_a_strangers() {
        return Cow::Borrowed(intent);
    }
    if intent.recognized().next().is_some() {
        notes.push("the author's tags were not heeded: only who may write to the repository has a say".to_owned());
    }
    Cow::Owned(intent::read("", None, &[], false))
}

/// How the change is looked at.
fn policy(intent: &Intent, settings: &Settings) -> Policy {
    let mut policy = policy::resolve(intent, &settings.policy);
    if let FailOn::Severity(severity) = settings.fail_on {
        // What is asked to close the gate has to be counted.
        policy.floor = policy.floor.min(severity);
    }
    policy
}

/// A review that was not made, since the title says so. Nothing in it reads as an approval.
fn skipped(change: Change, intent: Intent, policy: Policy) -> Reviewed {
    let not_reviewed =
        |file: FilePath| CoveredHunk { file, lines: None, status: HunkStatus::NotReviewed(SKIPPED.to_owned()) };
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
    Reviewed {
        change,
        review,
        gate: Gate::Skipped,
        intent,
        policy,
        since: None,
        runs: Vec::new(),
        compliance: Compliance::default(),
        stated: Vec::new(),
        sent: Vec::new(),
        n_added: 0,
        snapshot: Vec::new(),
    }
}

/// What is said of a change that its title keeps from being reviewed.
pub const SKIPPED: &str = "Review skipped per `[no-review]` in PR title.";

/// The last review of the same line of work, for one that looks only at what changed since.
fn recall_last(world: &World<'_>, subject: Option<&Subject>, notes: &mut Vec<String>) -> Option<since::Recalled> {
    let recalled = match (&world.memory, subject) {
        (Memory::Open(store), Some(subject)) => since::Recalled::last(store, subject),
        (Memory::Unavailable(failure), _) => Err(failure.clone()),
        (Memory::Off, _) | (Memory::Open(_), None) => Ok(None),
    };
    let why = match recalled {
        Ok(Some(recalled)) => return Some(recalled),
        Ok(None) => "there is no earlier review to compare with".to_owned(),
        Err(failure) => format!("past reviews are not available ({})", failure.message),
    };
    notes.push(format!("{why}, so all of the change was reviewed"));
    None
}

/// The last review of the same line of work in another state. Without a memory the review goes on and says so.
fn recall_before(
    world: &World<'_>,
    subject: Option<&Subject>,
    change: &Change,
    now: &Snapshot,
    notes: &mut Vec<String>,
) -> Option<since::Recalled> {
    let recalled = match (&world.memory, subject) {
        (Memory::Open(store), Some(subject)) => since::Recalled::before(store, subject, change, now),
        (Memory::Unavailable(failure), _) => Err(failure.clone()),
        (Memory::Off, _) | (Memory::Open(_), None) => Ok(None),
    };
    recalled.unwrap_or_else(|failure| {
        notes.push(format!("past reviews are not available: {}", failure.message));
        None
    })
}

/// What the team and the user decided not to hear again. The team's file is part of the configuration.
fn dismissals(
    world: &World<'_>,
    subject: Option<&Subject>,
    change: &Change,
    notes: &mut Vec<String>,
) -> Result<Vec<Dismissal>, Failure> {
    let mut all = match world.standing {
        Standing::Own | Standing::Gate(_) => world.forge.root().map_or(Ok(Vec::new()), dismissals::read)?,
        Standing::Pull { .. } => {
            let texts = world.forge.before(change, &[dismissals::FILE_NAME], &[], dismissals::MAX_BYTES)?;
            texts.first().map_or(Ok(Vec::new()), |(_, text)| dismissals::parse(text))?
        }
    };
    if let (Memory::Open(store), Some(subject)) = (&world.memory, subject) {
        // At a gate a repository goes by its folder; on a person's own machine by its address, if it has one.
        let other =
            world.forge.identity().filter(|identity| world.standing.is_gate() && *identity != subject.repository);
        for repository in [Some(&subject.repository), other.as_ref()].into_iter().flatten() {
            match store.dismissals(repository) {
                Ok(own) => all.extend(own),
                Err(failure) => notes.push(format!("your own dismissals are not available: {}", failure.message)),
            }
        }
    }
    Ok(all)
}

/// The dismissals of files that have a new path, in this change or since an earlier review.
fn follow(dismissals: &[Dismissal], change: &Change, last: Option<&since::Last>) -> Vec<Dismissal> {
    let renamed = |dismissal: &Dismissal| {
        let files = change.files.iter().chain(&change.known).filter(|file| file.status == Status::Renamed);
        let mut named =
            files.filter(|file| file.old_path.as_ref().map(FilePath::of_repo_path).as_ref() == Some(&dismissal.file));
        named.next().map(|file| dismissal.moved_to(&FilePath::of_repo_path(file.path())))
    };
    let mut moved: Vec<Dismissal> = dismissals.iter().filter_map(renamed).collect();
    if let Some(last) = last {
        // What it covered in the last review it covers where that file is now, however often it was renamed before.
        let found: Vec<&Finding> = last.found().collect();
        for dismissal in dismissals {
            let covered = found.iter().filter(|finding| dismissal.covers(finding));
            moved.extend(covered.filter_map(|finding| Some(dismissal.moved_to(last.path(&finding.location.file)?))));
        }
    }
    moved
}

/// What the rules are told of what the author said.
fn declared<'a>(world: &World<'a>, intent: &Intent, subjects: &'a [String]) -> ChangeContext<'a> {
    let title = world.title.or_else(|| if let [only] = subjects { Some(only) } else { None });
    let declared = ChangeContext::titled(title.unwrap_or_default());
    ChangeContext { breaking: intent.is_breaking(), fix: declared.fix || intent.is_fix(), ..declared }
}

/// Runs the embedded reviewer, over all of the change or over a part of it.
fn scan(
    world: &mut World<'_>,
    change: &Change,
    declared: ChangeContext<'_>,
    part: Option<embedded::Part<'_>>,
) -> Result<embedded::Answer, Failure> {
    let mut contents = world.forge.contents();
    let mut cache = cache::Cache::new(&mut world.memory, &world.executable);
    let asked = embedded::asks_for_paths(change, declared);
    let paths = if asked { cache.paths(&change.base, || world.forge.paths_before(change)) } else { Vec::new() };
    let events = world.events;
    let user_rules = match world.standing {
        Standing::Own => embedded::UserRules::Below(world.forge.root()),
        Standing::Gate(_) | Standing::Pull { .. } => {
            embedded::UserRules::Texts(world.forge.before_below(change, embedded::RULES_FOLDER)?)
        }
    };
    let request = embedded::Request {
        change,
        settings: world.settings,
        user_rules: &user_rules,
        executable: &world.executable,
        declared: declared.in_repository(&paths),
        part,
        progress: &|n_done, n_files| events(Event::Scanned { n_done, n_files }),
    };
    let answer = embedded::review(&request, &mut |file, max_bytes| contents.read(file, max_bytes), &mut cache)?;
    cache.store();
    Ok(answer)
}

/// True when there was nothing to review and nothing to tell of an earlier review.
fn is_about_nothing(reviewed: &Reviewed) -> bool {
    reviewed.change.is_empty() && !reviewed.since.as_ref().is_some_and(SinceLast::had_findings)
}

/// Stores how a run ended. A skipped review is no run, and neither is one of nothing.
fn remember(
    world: &mut World<'_>,
    subject: Option<&Subject>,
    started: u64,
    reviewed: &Result<Reviewed, Failure>,
) -> Result<(), Failure> {
    let (Memory::Open(store), Some(subject)) = (&mut world.memory, subject) else {
        return Ok(());
    };
    if world.asking.only_print {
        return Ok(());
    }
    let outcome = match reviewed {
        Ok(reviewed) if reviewed.gate == Gate::Skipped || is_about_nothing(reviewed) => return Ok(()),
        // Whoever asked for it does not want it any more, and what is missing in it is nobody's fault.
        Ok(_) if world.asking.cancel.is_cancelled() => return Ok(()),
        Ok(reviewed) => Outcome::Completed(reviewed.completed()),
        // Somebody asked for what cannot be: that is no review.
        Err(failure) if matches!(failure.kind, Kind::User | Kind::Config) => return Ok(()),
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
    let reviewed = coverage.hunks.iter().filter(|covered| covered.status == HunkStatus::Reviewed);
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
