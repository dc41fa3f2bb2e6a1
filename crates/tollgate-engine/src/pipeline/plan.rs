//! Stage 2, planned: decides from the author's intent, the settings and past reviews how the change is reviewed.

use std::borrow::Cow;

use tollgate_core::change::Change;
use tollgate_core::coverage::CoveredHunk;
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::diff::Status;
use tollgate_core::finding::{Finding, LineRange, Side};
use tollgate_core::gate::FailOn;
use tollgate_core::intent::commits::ListedCommit;
use tollgate_core::intent::{self, Commit, Intent};
use tollgate_core::path::FilePath;
use tollgate_core::policy::{self, Policy};
use tollgate_core::suppress::{Dismissal, Occurrence};

use super::fetch::Fetched;
use super::prior::{MappedPrior, PriorReview};
use super::{Memory, ReviewContext, ReviewRequest, Reviewed};
use crate::config::Settings;
use crate::dismissals;
use crate::failure::Failure;
use crate::forge::git::Commits;
use crate::store::{Store, Subject};

/// How a change is reviewed, if at all.
pub(super) enum Plan {
    /// The author asked for no review.
    Skip(Box<Reviewed>),
    /// The change is reviewed.
    Review(Box<Planned>),
}

/// A change, and how it is reviewed.
pub(super) struct Planned {
    pub(super) change: Change,
    pub(super) intent: Intent,
    /// The first lines of the commit messages.
    pub(super) commit_subjects: Vec<String>,
    /// The index of the first commit after the head of the prior review; `None` when that is not among the commits.
    pub(super) first_new_commit: Option<usize>,
    pub(super) policy: Policy,
    pub(super) history: History,
    pub(super) dismissals: Vec<Dismissal>,
    pub(super) notes: Vec<String>,
}

/// The history of a line of work: the change as it is now, and the prior review of it.
pub(super) struct History {
    pub(super) snapshot: Snapshot,
    pub(super) prior: Option<MappedPrior>,
    /// The last review of this very state.
    pub(super) here: Option<MappedPrior>,
    /// Why lines that the prior review has seen are left out; `None` when all of the change is reviewed.
    pub(super) unchanged_because: Option<String>,
    /// The coverage of files that were not fetched, taken from the prior review.
    pub(super) coverage_of_unread: Vec<CoveredHunk>,
}

/// Plans the review of a change.
pub(super) fn plan(request: &ReviewRequest<'_>, fetched: Fetched) -> Result<Plan, Failure> {
    let Fetched { change, prior, mut notes } = fetched;
    let (intent, commits) = read_intent(request, &change, &mut notes);
    let policy = resolve_policy(&followed(request, &intent, &mut notes), request.settings);
    if intent.no_review() && request.settings.allow_no_review && request.context.trusts_change() {
        return Ok(Plan::Skip(Box::new(Reviewed::skipped(change, intent, policy))));
    }
    notes.extend(intent.remarks());
    notes.extend(policy.changes_by_tags().iter().cloned());
    let mut history = History::new(request, &change, prior, &mut notes);
    let is_prior = |sha: &str| history.prior.as_ref().is_some_and(|prior| prior.head().as_str().starts_with(sha));
    let last = commits.listed.iter().position(|commit| !commit.sha.is_empty() && is_prior(&commit.sha));
    let commit_subjects = subjects(&commits);
    let first_new_commit = last.map(|last| last + 1);
    let mut dismissals = read_dismissals(request, &change, &mut notes)?;
    dismissals.extend(follow_renames(&dismissals, &change, history.prior.as_ref()));
    if let Some(known) = history.here.as_ref().or(history.prior.as_ref()) {
        dismissals = dismissals.into_iter().map(|dismissal| at_its_occurrences(dismissal, known)).collect();
    }
    if let Some(prior) = &history.prior {
        history.here = history.here.take().map(|here| here.without_those_of(prior));
    }
    Ok(Plan::Review(Box::new(Planned {
        change,
        intent,
        commit_subjects,
        first_new_commit,
        policy,
        history,
        dismissals,
        notes,
    })))
}

impl Planned {
    /// The subjects of the commits since the prior review; none when its head is not among the commits.
    pub(super) fn commits_since_last(&self) -> &[String] {
        self.first_new_commit.and_then(|first| self.commit_subjects.get(first..)).unwrap_or_default()
    }
}

impl History {
    fn new(
        request: &ReviewRequest<'_>,
        change: &Change,
        mut prior: Option<PriorReview>,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut snapshot = Snapshot::of(&change.files);
        let mut coverage_of_unread = Vec::new();
        if let Some(prior) = &prior {
            snapshot = prior.complete(snapshot, change);
            coverage_of_unread = prior.coverage_of_known(change);
        } else if !request.since_last {
            prior = recall_before(request, change, &snapshot, notes);
        }
        let here = recall_here(request, change, &snapshot, notes);
        let is_prior = |here: &PriorReview| prior.as_ref().is_some_and(|prior| prior.run() == here.run());
        let here = here.filter(|here| !is_prior(here)).map(|here| here.mapped_here(&snapshot));
        let unchanged_because = prior.as_ref().filter(|_| request.since_last).map(PriorReview::unchanged_because);
        let prior = prior.map(|prior| prior.mapped_onto(&snapshot));
        Self { snapshot, prior, here, unchanged_because, coverage_of_unread }
    }

    /// True when only lines that the prior review has not seen are reviewed.
    pub(super) fn only_fresh(&self) -> bool {
        self.unchanged_because.is_some()
    }

    /// True when the prior review has not seen one of these lines.
    pub(super) fn is_fresh(&self, file: &FilePath, lines: LineRange, side: Side) -> bool {
        self.prior.as_ref().is_none_or(|prior| prior.is_fresh(file, lines, side))
    }
}

/// The last review of the same line of work in another state. Without a memory the review goes on and says so.
pub(super) fn recall_before(
    request: &ReviewRequest<'_>,
    change: &Change,
    now: &Snapshot,
    notes: &mut Vec<String>,
) -> Option<PriorReview> {
    recall(request, notes, |store, subject| PriorReview::before(store, subject, change, now))
}

/// The last review of this very state.
pub(super) fn recall_here(
    request: &ReviewRequest<'_>,
    change: &Change,
    now: &Snapshot,
    notes: &mut Vec<String>,
) -> Option<PriorReview> {
    recall(request, notes, |store, subject| PriorReview::here(store, subject, change, now))
}

fn recall(
    request: &ReviewRequest<'_>,
    notes: &mut Vec<String>,
    find: impl FnOnce(&Store, &Subject) -> Result<Option<PriorReview>, Failure>,
) -> Option<PriorReview> {
    let recalled = match (&request.runtime.memory, &request.subject) {
        (Memory::Open(store), Some(subject)) => find(store, subject),
        (Memory::Unavailable(failure), _) => Err(failure.clone()),
        (Memory::Off, _) | (Memory::Open(_), None) => Ok(None),
    };
    recalled.unwrap_or_else(|failure| {
        let note = format!("past reviews are not available: {}", failure.message);
        if !notes.contains(&note) {
            notes.push(note);
        }
        None
    })
}

/// The declarations of the author and the commits; without the latter if git cannot list them.
pub(super) fn read_intent(request: &ReviewRequest<'_>, change: &Change, notes: &mut Vec<String>) -> (Intent, Commits) {
    let commits = request.forge.commits(change).unwrap_or_else(|failure| {
        notes.push(format!("the commits' messages were not read: {}", failure.message));
        Commits::default()
    });
    let read: Vec<Commit<'_>> = commits.listed.iter().map(ListedCommit::as_commit).collect();
    // At a gate an agent wrote the commit messages, so they must not change how the commits are reviewed.
    let followed = if request.context.is_gate() { &[][..] } else { &read };
    let intent = intent::read(request.title.unwrap_or_default(), request.body, followed, false);
    (intent, commits)
}

/// The first lines of the commit messages.
pub(super) fn subjects(commits: &Commits) -> Vec<String> {
    commits.listed.iter().map(|commit| commit.message.lines().next().unwrap_or_default().to_owned()).collect()
}

/// The part of an intent that changes how the change is reviewed: none of it when the author may not write here.
fn followed<'a>(request: &ReviewRequest<'_>, intent: &'a Intent, notes: &mut Vec<String>) -> Cow<'a, Intent> {
    if !request.context.distrusts_author() {
        return Cow::Borrowed(intent);
    }
    if intent.recognized().next().is_some() {
        notes.push(UNTRUSTED_TAGS.to_owned());
    }
    Cow::Owned(intent::read("", None, &[], false))
}

const UNTRUSTED_TAGS: &str = "the author's tags were ignored: the author has no write access to the repository";

/// Resolves how the change is reviewed.
pub(super) fn resolve_policy(intent: &Intent, settings: &Settings) -> Policy {
    let mut policy = policy::resolve(intent, &settings.policy);
    if let FailOn::Severity(severity) = settings.fail_on {
        // Findings that close the gate have to be above the floor.
        policy.floor = policy.floor.min(severity);
    }
    policy
}

/// The most proposed dismissals that a note names.
const MAX_PROPOSED: usize = 5;

/// The dismissals of the team: the file of the base, as for the other settings. Entries that a local branch adds to it are
/// proposals, which a note lists; they count when the user trusts the branch.
fn read_shared(
    request: &ReviewRequest<'_>,
    change: &Change,
    notes: &mut Vec<String>,
) -> Result<Vec<Dismissal>, Failure> {
    let here = match request.context {
        ReviewContext::Local => request.forge.root().map_or(Ok(Vec::new()), dismissals::read)?,
        ReviewContext::Gate | ReviewContext::Pull { .. } => Vec::new(),
    };
    if request.trusts_branch || !request.forge.has_base(change) {
        return Ok(here);
    }
    let texts = request.forge.before(change, &[dismissals::FILE_NAME], &[], dismissals::MAX_BYTES)?;
    let at_base = texts.first().map_or(Ok(Vec::new()), |(_, text)| dismissals::parse(text))?;
    let proposed: Vec<&Dismissal> = here.iter().filter(|entry| !at_base.contains(entry)).collect();
    for entry in proposed.iter().take(MAX_PROPOSED) {
        let (title, file, reason) = (entry.title().as_str(), &entry.file, &entry.reason);
        notes.push(format!(
            "the branch proposes in `{}` to dismiss `{title}` in {file}: {reason}; this counts once the base has it",
            dismissals::FILE_NAME
        ));
    }
    if let Some(n_more) = proposed.len().checked_sub(MAX_PROPOSED).filter(|n_more| *n_more > 0) {
        notes.push(format!("the branch proposes {n_more} more dismissals in `{}`", dismissals::FILE_NAME));
    }
    Ok(at_base)
}

/// The dismissals of the team and of the user. The team's file is part of the configuration.
fn read_dismissals(
    request: &ReviewRequest<'_>,
    change: &Change,
    notes: &mut Vec<String>,
) -> Result<Vec<Dismissal>, Failure> {
    let mut all = read_shared(request, change, notes)?;
    if let (Memory::Open(store), Some(subject)) = (&request.runtime.memory, &request.subject) {
        // A gate names a repository by its folder, a local review by the URL of its origin, if there is one.
        let is_gate = request.context.is_gate();
        let other = request.forge.identity().filter(|identity| is_gate && *identity != subject.repository);
        for repository in [Some(&subject.repository), other.as_ref()].into_iter().flatten() {
            match store.dismissals_for(repository, &subject.name) {
                Ok(own) => all.extend(own),
                Err(failure) => notes.push(format!("dismissals are not available: {}", failure.message)),
            }
        }
    }
    Ok(all)
}

/// The dismissal with the findings of the prior review that it covers. Without one there, or when their lines changed, it
/// covers the findings with its title and evidence in its function.
fn at_its_occurrences(dismissal: Dismissal, prior: &MappedPrior) -> Dismissal {
    let here = |findings: &mut dyn Iterator<Item = &Finding>| -> Vec<Occurrence> {
        let covered = findings.filter(|finding| dismissal.covers(finding));
        let occurrences = covered.filter_map(|finding| prior.occurrence(finding));
        occurrences.filter(|occurrence| occurrence.0.location.file == dismissal.file).collect()
    };
    // Where the prior review suppressed findings by it, an equal finding that counted then is another one.
    let suppressed = here(&mut prior.dismissed_by(&dismissal));
    let occurrences = if suppressed.is_empty() { here(&mut prior.found()) } else { suppressed };
    dismissal.of(occurrences)
}

/// The dismissals of files that have a new path, in this change or since the prior review.
fn follow_renames(dismissals: &[Dismissal], change: &Change, prior: Option<&MappedPrior>) -> Vec<Dismissal> {
    let renamed = |dismissal: &Dismissal| {
        let files = change.files.iter().chain(&change.known).filter(|file| file.status == Status::Renamed);
        let mut named =
            files.filter(|file| file.old_path.as_ref().map(FilePath::of_repo_path).as_ref() == Some(&dismissal.file));
        named.next().map(|file| dismissal.moved_to(&FilePath::of_repo_path(file.path())))
    };
    let mut moved: Vec<Dismissal> = dismissals.iter().filter_map(renamed).collect();
    if let Some(prior) = prior {
        // A dismissal that covered a finding of the prior review covers it at the file's new path as well, even when
        // the file was renamed several times before.
        let found: Vec<&Finding> = prior.found().collect();
        for dismissal in dismissals {
            let covered = found.iter().filter(|finding| dismissal.covers(finding));
            moved.extend(covered.filter_map(|finding| Some(dismissal.moved_to(prior.path(&finding.location.file)?))));
        }
    }
    moved
}
