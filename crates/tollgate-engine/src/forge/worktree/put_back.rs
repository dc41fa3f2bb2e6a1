//! Puts a worktree back on its branch after an agent switched to another one.
//!
//! When the other commit builds on the branch, the branch is moved to it and no work is lost. Otherwise the files belong
//! to something else, and a person has to look.

use std::path::Path;

use tollgate_core::sha::Sha;
use tollgate_core::visible::visible;

use super::Worktree;
use super::lent::{LentHead, return_lent};
use crate::failure::Failure;
use crate::forge::project::pointer::{self, Head};
use crate::forge::project::{PrivateGitDir, failure};

/// The state of a worktree after an agent worked in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutBack {
    /// It is on its branch.
    NotNeeded,
    /// It was on another branch, or on none, and is on its own again.
    Done {
        /// The other branch, for people.
        from: String,
    },
}

impl Worktree {
    /// Takes over the commits of an agent that had a git directory of its own in `lent`, and puts the worktree back on its
    /// branch, if it is on another one that builds on it.
    pub fn put_back(&self, lent: &Path) -> Result<PutBack, Failure> {
        let Some(head) = self.lent_head(lent) else { return self.put_back_own() };
        let taken = self.take_over(lent, &head);
        return_lent(lent).map_err(|error| failure::no_scratch(lent, &error))?;
        taken
    }

    /// Moves the branch to the commit that the agent left.
    fn take_over(&self, lent: &Path, head: &LentHead) -> Result<PutBack, Failure> {
        let from = self.name_of(&head.found);
        if from.is_none() && head.commit == head.before {
            return Ok(PutBack::NotNeeded);
        }
        let now = self.paths.tip(&self.branch)?;
        let switched = |from: &str| failure::switched(&self.path, from, self.branch.as_str());
        let Some(commit) = &head.commit else {
            // Without commits a branch has no name yet; a deleted one stays as it was.
            return from.map_or(Ok(PutBack::NotNeeded), |from| Err(switched(&from)));
        };
        if Some(commit) != head.before.as_ref() && Some(commit) != now.as_ref() {
            self.fetch_lent(lent, head.before.as_ref(), commit)?;
        }
        if let Some(from) = &from
            && !self.builds_on(commit, head.own.as_ref().or(head.before.as_ref()))?
        {
            // The files belong to that commit, so the worktree is not on its branch until a person has looked.
            self.write_head(&format!("{commit}\n"))?;
            return Err(switched(from));
        }
        if now.as_ref() != Some(commit) {
            if now != head.before {
                return Err(failure::branch_moved(self.branch.as_str()));
            }
            let nothing = "0".repeat(commit.as_str().len());
            self.paths.move_branch(&self.branch, commit, now.as_ref().map_or(&nothing, Sha::as_str))?;
            // It only speeds git up and shows a person what is staged; the next commit writes it, too.
            let _ = self.write_index(lent);
        }
        Ok(from.map_or(PutBack::NotNeeded, |from| PutBack::Done { from }))
    }

    fn put_back_own(&self) -> Result<PutBack, Failure> {
        let unreadable = |error: std::io::Error| failure::not_the_worktree(&self.path, &error.to_string());
        let head = pointer::head(&self.git_dir).map_err(unreadable)?;
        let Some(from) = self.name_of(&head) else { return Ok(PutBack::NotNeeded) };
        let git = self.paths.git_in(&self.path, &self.git_dir);
        let answer = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let head = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        let (Ok(head), Some(tip)) = (Sha::parse(&head), self.paths.tip(&self.branch)?) else {
            return Err(failure::switched(&self.path, &from, self.branch.as_str()));
        };
        if !self.builds_on(&head, Some(&tip))? {
            return Err(failure::switched(&self.path, &from, self.branch.as_str()));
        }
        if tip != head {
            self.paths.move_branch(&self.branch, &head, tip.as_str())?;
        }
        self.write_head(&format!("ref: {}\n", self.branch.reference()))?;
        Ok(PutBack::Done { from })
    }

    /// The name of what a worktree is on, for people; `None` for its own branch.
    fn name_of(&self, head: &Head) -> Option<String> {
        match head {
            Head::Branch(name) if name == self.branch.as_str() => None,
            Head::Branch(name) => Some(format!("the branch `{}`", visible(name))),
            Head::Other => Some("no branch".to_owned()),
        }
    }

    fn builds_on(&self, commit: &Sha, tip: Option<&Sha>) -> Result<bool, Failure> {
        let Some(tip) = tip else { return Ok(false) };
        let own = PrivateGitDir::to_read(&self.paths)?;
        Ok(own.git().ask(&["merge-base", "--is-ancestor", tip.as_str(), commit.as_str()])?.ok)
    }

    fn write_head(&self, text: &str) -> Result<(), Failure> {
        let written = tempfile::NamedTempFile::new_in(&self.git_dir).and_then(|mut file| {
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.persist(self.git_dir.join("HEAD")).map_err(|error| error.error)
        });
        written.map(drop).map_err(|error| failure::no_worktree(&self.git_dir, &error))
    }
}
