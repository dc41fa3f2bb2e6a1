//! The work that is owed to a feature, one piece at a time.
//!
//! A piece begins with a claim and ends with a transition in the claim's name. What somebody else decided meanwhile
//! (a person stopped it, another runner took it) makes that transition fail, and then there is nothing more to do.
//! Whatever is done before it can be done again: a crash costs time, nothing else.

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
use crate::store::board::{Claim, FeatureRow, Field, Hold, ProjectRow, Transitioned};

mod commit;
mod implement;
mod model;
mod review;

pub(super) use implement::boundary;
pub(super) use review::subject;

/// Who is named in the records of what happens by itself.
pub(super) const RUNNER: &str = "tollgate";
/// How long to wait before what could not be stored is tried again.
const AGAIN_MS: u64 = 5_000;

/// A piece of work.
pub(super) struct Job<'a> {
    board: &'a Board,
    claim: &'a Claim,
    project: ProjectRow,
    folder: Arc<Folder>,
    /// Ends it: somebody stopped it, or the program ends.
    cancel: &'a CancellationToken,
}

/// Does a piece of work.
pub(super) fn run(board: &Board, claim: &Claim, cancel: &CancellationToken) -> Result<(), Failure> {
    crate::process::panic_point("work");
    let done = Job::new(board, claim, cancel).and_then(|job| match claim.work {
        Work::Queued => job.implement(),
        Work::Stepping => job.step(),
        Work::Committing | Work::CommittingStep => job.commit(),
        Work::Reviewing => job.review(),
        // Whoever was at it is gone.
        Work::Implementing => job.interrupted(),
        Work::Nothing => Ok(()),
    });
    match done {
        Ok(()) => Ok(()),
        // Somebody else decided meanwhile.
        Err(Refused::Stale(_) | Refused::Illegal(_) | Refused::NoFeature(_) | Refused::NoProject(_)) => Ok(()),
        Err(other) => {
            // What can be told was told with a transition; this one could not be stored.
            try_again(board, claim)?;
            Err(other.into_failure())
        }
    }
}

/// Gives a piece of work back, to be tried again in a while.
pub(super) fn try_again(board: &Board, claim: &Claim) -> Result<(), Failure> {
    let again = board.now().saturating_add(AGAIN_MS);
    board.database().release(claim.token, again).map(drop)
}

/// Leaves a piece of work to a person, because we made the same mistake twice.
pub(super) fn give_up(board: &Board, claim: &Claim, cancel: &CancellationToken) -> Result<(), Failure> {
    let done = Job::new(board, claim, cancel).and_then(|job| {
        let Feature { row, .. } = job.feature()?;
        // What was claimed may have led on to the next piece before it went wrong.
        let event = match row.state.work {
            Work::Queued | Work::Implementing => Event::AgentFailed,
            Work::Stepping => Event::StepFailed,
            Work::Committing | Work::CommittingStep => Event::CommitFailed,
            Work::Reviewing => Event::ReviewFailed,
            Work::Nothing => return Ok(()),
        };
        job.failed(&row, event, &failure::mistake())
    });
    done.map_err(Refused::into_failure)
}

/// What a piece of work is about, as it is now.
pub(super) struct Feature {
    pub(super) row: FeatureRow,
    pub(super) document: Document,
}

impl<'a> Job<'a> {
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

    /// The work tree of a feature that was begun.
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

    /// Something happened, in the name of the claim; then the files are written anew.
    fn happened(&self, row: &FeatureRow, hold: Hold, change: Change<'_>) -> Result<Transitioned, Refused> {
        let done = self.board.transition(row, RUNNER, Some((self.claim.token, hold)), change)?;
        crate::process::crash_point("transition-before-files");
        // What is stored is the truth; files that could not be written are written later.
        let _ = self.board.write_files(&self.project, self.id());
        crate::process::crash_point("transition-files-written");
        Ok(done)
    }

    /// Something failed, and a person has to know.
    fn failed(&self, row: &FeatureRow, event: Event, failure: &Failure) -> Result<(), Refused> {
        if handles::were_missing(failure) {
            // No person can do anything about it, and soon it may work.
            return Err(Refused::Failure(failure.clone()));
        }
        let mut change = Change::of(event);
        change.set.problem = Field::Set(in_words(failure));
        self.happened(row, Hold::LetGo, change).map(drop)
    }

    /// Whoever worked on it was interrupted.
    fn interrupted(&self) -> Result<(), Refused> {
        let Feature { row, .. } = self.feature()?;
        self.happened(&row, Hold::LetGo, Change::of(Event::Interrupted)).map(drop)
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

/// The branch on which a feature is made.
pub(super) fn branch(row: &FeatureRow) -> Result<Branch, Failure> {
    match &row.branch {
        Some(name) => Branch::parse(name).map_err(|error| failure::bad_branch(name, &error.to_string())),
        None => Ok(Branch::for_feature(&row.id)),
    }
}

/// A failure in one text.
fn in_words(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message),
        None => failure.message.clone(),
    }
}
