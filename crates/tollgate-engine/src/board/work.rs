//! Runs one leased job of a feature: implement, commit or review.
//!
//! A job begins with a lease and ends with a transition that checks the fencing token. If the feature was changed
//! meanwhile (stopped by a person, leased by another worker), the transition fails and the job ends. Everything before
//! the transition is idempotent: a crash costs only time.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tollgate_core::board::machine::{Event, Work};
use tollgate_core::board::{Document, FeatureId, criteria};

use super::folder::Folder;
use super::{Board, Change, Refused, failure};
use crate::failure::{Failure, Kind};
use crate::forge::project::{Branch, Project as Repository};
use crate::forge::worktree::Worktree;
use crate::process::handles;
use crate::store::board::{Claim, FeatureRow, Field, LeaseAfter, ProjectRow, Transitioned};

mod commit;
mod implement;
mod model;
mod review;
mod session;

pub(super) use implement::boundary;
pub(super) use review::subject;

/// The actor of automatic transitions.
pub(super) const RUNNER: &str = "tollgate";
/// The delay before a transition that could not be stored is retried.
const AGAIN_MS: u64 = 5_000;

pub(super) struct FeatureJob<'a> {
    board: &'a Board,
    claim: &'a Claim,
    project: ProjectRow,
    folder: Arc<Folder>,
    /// Cancels the job: a person stopped it, or the program shuts down.
    cancel: &'a CancellationToken,
}

/// Runs a job.
pub(super) fn run(board: &Board, claim: &Claim, cancel: &CancellationToken) -> Result<(), Failure> {
    crate::process::panic_point("work");
    let done = FeatureJob::new(board, claim, cancel).and_then(|job| match claim.work {
        Work::Queued => job.implement(),
        Work::Stepping => job.step(),
        Work::Committing | Work::CommittingStep => job.commit(),
        Work::Reviewing => job.review(),
        // The worker of this job crashed.
        Work::Implementing => job.interrupted(),
        Work::Nothing => Ok(()),
    });
    match done {
        Ok(()) => Ok(()),
        // The feature was changed meanwhile.
        Err(Refused::Stale(_) | Refused::Illegal(_) | Refused::NoFeature(_) | Refused::NoProject(_)) => Ok(()),
        Err(other) => {
            // Reportable failures are stored by a transition; this one could not be.
            try_again(board, claim)?;
            Err(other.into_failure())
        }
    }
}

/// Releases the lease for a retry after a delay.
pub(super) fn try_again(board: &Board, claim: &Claim) -> Result<(), Failure> {
    let again = board.now().saturating_add(AGAIN_MS);
    board.database().release(claim.token, again).map(drop)
}

/// Hands a job to a person after the second panic.
pub(super) fn give_up(board: &Board, claim: &Claim, cancel: &CancellationToken) -> Result<(), Failure> {
    let done = FeatureJob::new(board, claim, cancel).and_then(|job| {
        let Feature { row, .. } = job.feature()?;
        // The job may have progressed to the next step before it panicked.
        let event = match row.state.work {
            Work::Queued | Work::Implementing => Event::AgentFailed,
            Work::Stepping => Event::StepFailed,
            Work::Committing | Work::CommittingStep => Event::CommitFailed,
            Work::Reviewing => Event::ReviewFailed,
            Work::Nothing => return Ok(()),
        };
        job.failed(&row, event, &crate::failure::internal_error())
    });
    done.map_err(Refused::into_failure)
}

/// The feature of a job, in its current state.
pub(super) struct Feature {
    pub(super) row: FeatureRow,
    pub(super) document: Document,
}

impl<'a> FeatureJob<'a> {
    fn new(board: &'a Board, claim: &'a Claim, cancel: &'a CancellationToken) -> Result<Self, Refused> {
        let project = board.project(claim.project)?;
        let folder = board.folder(&project)?;
        Ok(Self { board, claim, project, folder, cancel })
    }

    fn id(&self) -> &FeatureId {
        &self.claim.feature
    }

    fn feature(&self) -> Result<Feature, Refused> {
        Ok(Feature::read(self.board.feature(self.project.id, self.id())?)?)
    }

    fn repository(&self) -> Result<Repository, Failure> {
        Repository::open(&self.project.path, self.board.home().git.clone())
    }

    /// The worktree of a started feature.
    fn worktree(&self, repository: &Repository, row: &FeatureRow) -> Result<Worktree, Failure> {
        let branch = branch(row)?;
        let Some(worktree) = repository.worktree(&branch)? else {
            return Err(match repository.branch_head(&branch)? {
                Some(_) => failure::no_worktree(branch.as_str()),
                None => failure::no_branch(branch.as_str()),
            });
        };
        worktree.verify()?;
        Ok(worktree)
    }

    /// Applies an event under the lease, then rewrites the files.
    fn happened(&self, row: &FeatureRow, hold: LeaseAfter, change: Change<'_>) -> Result<Transitioned, Refused> {
        let done = self.board.transition(row, RUNNER, Some((self.claim.token, hold)), change)?;
        crate::process::crash_point("transition-before-files");
        // The database is authoritative; a failed projection is repeated later.
        let _ = self.board.write_files(&self.project, self.id());
        crate::process::crash_point("transition-files-written");
        Ok(done)
    }

    /// Reports a failure to the person.
    fn failed(&self, row: &FeatureRow, event: Event, failure: &Failure) -> Result<(), Refused> {
        if handles::were_missing(failure) {
            // File handles have run out: a person cannot fix it, and a retry may succeed.
            return Err(Refused::Failure(failure.clone()));
        }
        let mut change = Change::of(event);
        change.set.problem = Field::Set(in_words(failure));
        self.happened(row, LeaseAfter::Release, change).map(drop)
    }

    /// The worker of the job was interrupted.
    fn interrupted(&self) -> Result<(), Refused> {
        let Feature { row, .. } = self.feature()?;
        self.happened(&row, LeaseAfter::Release, Change::of(Event::Interrupted)).map(drop)
    }
}

impl Feature {
    pub(super) fn read(row: FeatureRow) -> Result<Self, Failure> {
        let document = Document::parse(&row.document);
        let document = document.map_err(|error| Failure::new(Kind::External, error.to_string()))?;
        Ok(Self { row, document })
    }

    pub(super) fn criteria(&self) -> Vec<tollgate_core::board::Criterion> {
        criteria::read(&self.document.description(), &self.document.spec().unwrap_or_default())
    }

    pub(super) fn title(&self) -> String {
        self.document
            .title()
            .filter(|title| !title.trim().is_empty())
            .unwrap_or_else(|| self.row.facts.first_line.clone())
    }
}

pub(super) fn branch(row: &FeatureRow) -> Result<Branch, Failure> {
    match &row.branch {
        Some(name) => Branch::parse(name).map_err(|error| failure::bad_branch(name, &error.to_string())),
        None => Ok(Branch::for_feature(&row.id)),
    }
}

/// A failure and its hint in one text.
fn in_words(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message),
        None => failure.message.clone(),
    }
}
