//! Puts a worktree back on its branch after an agent switched to another one.
//!
//! When the other commit builds on the branch, the branch is moved to it and no work is lost. Otherwise the files belong
//! to something else, and a person has to look.

use tollgate_core::sha::Sha;
use tollgate_core::visible::visible;

use super::Worktree;
use crate::failure::Failure;
use crate::forge::project::failure;
use crate::forge::project::pointer::{self, Head};

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
    /// Puts the worktree back on its branch, if it is on another one that builds on it.
    pub fn put_back(&self) -> Result<PutBack, Failure> {
        let unreadable = |error: std::io::Error| failure::not_the_worktree(&self.path, &error.to_string());
        let from = match pointer::head(&self.git_dir).map_err(unreadable)? {
            Head::Branch(name) if name == self.branch.as_str() => return Ok(PutBack::NotNeeded),
            Head::Branch(name) => format!("the branch `{}`", visible(&name)),
            Head::Other => "no branch".to_owned(),
        };
        let git = self.paths.git_in(&self.path, &self.git_dir);
        let answer = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let head = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        let (Ok(head), Some(tip)) = (Sha::parse(&head), self.paths.tip(&self.branch)?) else {
            return Err(failure::switched(&self.path, &from, self.branch.as_str()));
        };
        if !git.ask(&["merge-base", "--is-ancestor", tip.as_str(), head.as_str()])?.ok {
            return Err(failure::switched(&self.path, &from, self.branch.as_str()));
        }
        if tip != head {
            self.paths.move_branch(&self.branch, &head, tip.as_str())?;
        }
        let written = tempfile::NamedTempFile::new_in(&self.git_dir).and_then(|mut file| {
            std::io::Write::write_all(&mut file, format!("ref: {}\n", self.branch.reference()).as_bytes())?;
            file.persist(self.git_dir.join("HEAD")).map_err(|error| error.error)
        });
        written.map_err(|error| failure::no_worktree(&self.git_dir, &error))?;
        Ok(PutBack::Done { from })
    }
}
