//! Commits an agent's work exactly once.
//!
//! The commit of an attempt is idempotent: its time is that of the attempt, which the message names. So a crash at any
//! point leads to one commit: an unreferenced one is garbage, and one on the branch is found again.

use tollgate_core::board::commit::{self as message, Commit};
use tollgate_core::board::machine::{Event, State, Status, Work};
use tollgate_core::board::{Iteration, Outcome};

use super::super::folder::Attachment;
use super::super::{Change, Refused, gate_result};
use super::{Feature, FeatureJob, implement};
use crate::agent::{self, HookLimits, HookResult, HookRun};
use crate::failure::Failure;
use crate::forge::gate::{self, GateCommit, Staged};
use crate::forge::project::Project as Repository;
use crate::forge::worktree::{LentGit, Worktree};
use crate::process;
use crate::reviewer::prepared::{self, ReviewerTransport};
use crate::store::board::{Field, LeaseAfter, NewIteration};

/// The most bytes of a step's output that are kept for its review.
const MAX_OUTPUT: usize = 1 << 20;

enum CommitResult {
    Commit(String),
    Nothing,
    Refused(String),
}

impl FeatureJob<'_> {
    /// Commits the agent's work.
    pub(super) fn commit(&self) -> Result<(), Refused> {
        process::panic_point("commit");
        let feature = self.feature()?;
        let is_step = feature.row.state.work == Work::CommittingStep;
        let done = self.make_commit(&feature);
        if self.cancel.is_cancelled() && !matches!(done, Ok(CommitResult::Commit(_))) {
            // Stopped by a person, or by a shutdown that also ended the hooks: the job is repeated.
            let _ = self.board.database().release(self.claim.token, 0);
            return Ok(());
        }
        let done = match done {
            Ok(done) => done,
            Err(failure) => return self.failed(&feature.row, Event::CommitFailed, &failure),
        };
        let row = &feature.row;
        process::crash_point("commit-before-transition");
        let change = match done {
            CommitResult::Commit(commit) if is_step => Change::of(Event::StepCommitted(commit)),
            CommitResult::Commit(commit) => Change::of(Event::Committed(commit)),
            CommitResult::Nothing if is_step => {
                Change::of(Event::StepCommitted(row.state.commit.clone().unwrap_or_default()))
            }
            CommitResult::Nothing => {
                let at = super::super::iso(self.board.now());
                let criteria = feature.criteria();
                let rows = self.board.database().iterations(self.claim.project, &self.claim.feature)?;
                let previous: Vec<Iteration> = rows.into_iter().map(|row| row.iteration).collect();
                let before = previous.iter().rfind(|previous| previous.outcome != Outcome::Failed);
                let (number, base) = (row.state.iteration, row.base.as_deref());
                let iteration = gate_result::nothing_changed(number, &at, &criteria, base, before);
                let mut change = Change::of(Event::NothingChanged);
                change.iteration = Some(NewIteration { iteration, diff: None, delta: None, review: None });
                change
            }
            CommitResult::Refused(_) if row.state.hook_failed => {
                let mut change = Change::of(Event::HookRefused);
                change.set.problem = Field::Set("the project's hooks refused the commit twice".to_owned());
                change
            }
            CommitResult::Refused(output) => {
                let mut change = Change::of(Event::HookRefused);
                change.set.hook_output = Field::Set(output);
                change
            }
        };
        let after = self.happened(row, LeaseAfter::Release, change)?.feature.state;
        process::crash_point("commit-recorded");
        if is_step && after.iteration > row.state.iteration {
            self.write_step_output(&row.state, after.iteration);
        }
        Ok(())
    }

    /// Writes the output of the steps as that of the iteration in which their changes are reviewed.
    fn write_step_output(&self, before: &State, iteration: u32) {
        let steps = self.folder.steps().0;
        let n_steps =
            steps.iter().position(|step| before.status == Status::Step(step.id.clone())).map_or(1, |at| at + 1);
        let output = self.folder.tail(self.id(), Attachment::Output(before.iteration), MAX_OUTPUT).ok().flatten();
        let output = String::from_utf8_lossy(&output.unwrap_or_default()).into_owned();
        let sessions: Vec<&str> = output.split(implement::FOLLOW_UP).collect();
        let of_steps = sessions[sessions.len().saturating_sub(n_steps)..].join(implement::FOLLOW_UP);
        // The review is valid without it, and the output of the last iteration has it too.
        let _ = self.folder.write(self.id(), Attachment::Output(iteration), of_steps.as_bytes());
    }

    fn make_commit(&self, feature: &Feature) -> Result<CommitResult, Failure> {
        let repository = self.repository()?;
        let worktree = self.worktree(&repository, &feature.row)?;
        let attempt = format!("{}-{}", self.id(), self.claim.attempt);
        let scratch = self.board.scratch(self.project.id, self.id());
        // An agent could forge the name; the tip of the branch is reviewed in any case.
        if let Some(commit) = gate::find_attempt(&repository, worktree.branch(), &attempt)? {
            gate::settle(&worktree, &scratch)?;
            return Ok(CommitResult::Commit(commit.as_str().to_owned()));
        }
        let text = self.message(feature, &attempt);
        let mut commit = GateCommit {
            worktree: &worktree,
            scratch: &scratch,
            message: &text,
            author: None,
            time: self.claim.since_ms / 1000,
            expected_parent: None,
            board_dir: &self.board.settings().pipeline.dir,
        };
        let mut staged = gate::stage(&commit)?;
        if matches!(staged, Staged::Nothing) {
            return self.committed_by_agent(&repository, &worktree, feature);
        }
        let mut told = text.clone();
        if self.board.settings().pipeline.hooks && worktree.may_have_hooks()? {
            match self.run_hooks(&worktree, &staged, &text)? {
                HookResult::Passed { message } => told = message,
                HookResult::Refused { hook, output } => {
                    return Ok(CommitResult::Refused(format!("The hook `{hook}` refused the commit:\n{output}")));
                }
            }
            // A hook may have fixed files.
            staged = gate::stage(&commit)?;
        }
        commit.message = &told;
        let made = gate::commit(&commit, &staged)?;
        Ok(made.map_or(CommitResult::Nothing, |commit| CommitResult::Commit(commit.as_str().to_owned())))
    }

    /// An agent may have committed by itself; then nothing is left to commit, but there is something to review.
    fn committed_by_agent(
        &self,
        repository: &Repository,
        worktree: &Worktree,
        feature: &Feature,
    ) -> Result<CommitResult, Failure> {
        let row = &feature.row;
        let known = row.state.commit.as_deref().or(row.base.as_deref());
        let head = repository.branch_head(worktree.branch())?;
        Ok(match head {
            Some(head) if known != Some(head.as_str()) => CommitResult::Commit(head.as_str().to_owned()),
            Some(_) | None => CommitResult::Nothing,
        })
    }

    fn run_hooks(&self, worktree: &Worktree, staged: &Staged, text: &str) -> Result<HookResult, Failure> {
        let Staged::Tree { index, .. } = staged else {
            return Ok(HookResult::Passed { message: text.to_owned() });
        };
        let chosen = self.board.implementer(&self.project).ok().flatten();
        let prepared = chosen.map(|chosen| prepared::prepare(&chosen, &|name| std::env::var(name).ok()).way);
        let Some(ReviewerTransport::Agent(agent)) = prepared else {
            // Hooks run in the agent's environment, which is unknown without an agent.
            return Err(super::super::failure::no_agent());
        };
        let cancel = self.cancel.child_token();
        let state = self.agent_state();
        let folder = self.board.scratch(self.project.id, self.id()).join("lent-to-hooks");
        let lent = if agent.has_mounts() { Some(worktree.lend(&folder)?) } else { None };
        let run = HookRun {
            agent: &agent,
            folder: worktree.path(),
            index,
            message: text,
            binds: lent.as_ref().map(LentGit::binds).unwrap_or_default(),
            state: Some(&state),
            limits: HookLimits::default(),
            executable: &self.board.home().executable,
            cancel: &cancel,
            started: &|mark| self.record(mark, &cancel),
        };
        let done = agent::run_hooks(&run);
        if let Some(lent) = lent {
            lent.discard();
        }
        self.forget();
        done.map_err(|failure| implement::call_failure(&failure))
    }

    fn message(&self, feature: &Feature, attempt: &str) -> String {
        let (title, description) = (feature.title(), feature.document.description());
        let steps = self.folder.steps().0;
        let step = match &feature.row.state.status {
            Status::Step(id) => steps.iter().find(|step| step.id == *id).map(|step| step.name.as_str()),
            _ => None,
        };
        message::message(&Commit {
            title: &title,
            description: &description,
            feature: self.id(),
            work: step.map_or(message::Work::Implementation, message::Work::Step),
            iteration: feature.row.state.iteration,
            pipeline: &self.board.settings().pipeline.name,
            attempt,
        })
    }
}
