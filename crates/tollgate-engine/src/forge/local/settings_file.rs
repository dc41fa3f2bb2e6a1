//! Reads a settings file at the base of a change, before the change itself is read.

use tollgate_core::sha::Sha;

use super::{FetchOptions, Local, Range, Trigger, base};
use crate::failure::Failure;

/// A settings file at the base of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseFile {
    /// There is no base: a patch, or a branch without commits.
    NoBase,
    /// The base has no such file.
    Absent,
    /// The content.
    Found(Vec<u8>),
}

impl Local {
    /// Reads a file at the base of the change. `main` is the configured branch to compare with.
    pub fn file_at_base(&self, main: Option<&str>, path: &str) -> Result<BaseFile, Failure> {
        let Some(commit) = self.base_commit(main)? else { return Ok(BaseFile::NoBase) };
        let answer = self.git.ask(&["cat-file", "blob", &format!("{commit}:{path}")])?;
        Ok(if answer.ok { BaseFile::Found(answer.stdout) } else { BaseFile::Absent })
    }

    /// True when git does not track a file of the work tree.
    pub fn is_untracked(&self, path: &str) -> Result<bool, Failure> {
        Ok(!self.git.ask(&["ls-files", "--error-unmatch", "--", &format!(":(top,literal){path}")])?.ok)
    }

    fn base_commit(&self, main: Option<&str>) -> Result<Option<Sha>, Failure> {
        let Some(repository) = &self.repository else { return Ok(None) };
        let commit = match (&self.trigger, &self.range) {
            (Trigger::Patch { .. }, _) => None,
            (_, Some(Range::Between(..) | Range::Since(_))) => repository.revisions.first().cloned(),
            (_, Some(Range::SinceFork(..))) => repository.revisions.get(4).cloned(),
            (Trigger::Staged | Trigger::Worktree, _) => repository.head.clone(),
            (Trigger::Default | Trigger::Range(_), _) => match &repository.head {
                None => None,
                Some(head) => {
                    let options = FetchOptions { base: main.map(str::to_owned), max_diff_bytes: 0 };
                    Some(match self.main_branch(repository, &options)? {
                        Some(main) => self.merge_base(repository, &main, head)?,
                        None => head.clone(),
                    })
                }
            },
        };
        Ok(commit.filter(|commit| !commit.is_null() && !base::is_empty_tree(commit)))
    }
}
