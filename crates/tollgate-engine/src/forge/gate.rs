//! Gate commits: turns the files an agent left in its worktree into one commit on the branch of its feature.
//!
//! `git add`, `commit` and `status` run programs that an agent can plant (hooks, filters, a file system monitor …). So
//! the commit is made with git plumbing, in a private git directory that shares only objects and branches, and with a
//! private index:
//!
//! - Bytes are stored as they are, unless `.gitattributes` or the plain values `core.autocrlf` and `core.eol` of the
//!   repository or its operator say how lines end.
//! - The only filter that runs is Git LFS, when the operator's own configuration names it. A changed file that asks
//!   for another configured filter is refused, because its content would be committed unfiltered, for example
//!   unencrypted.
//! - Symbolic links are stored as links; submodules and files outside a sparse checkout stay as they were.
//! - A repository inside the tree is refused.
//! - The commit is idempotent: the same attempt always makes the same commit, because its time is passed in. A commit
//!   that no branch points to yet is unreachable garbage.
//!
//! The project's own hooks are not run here; `agent` runs them within the agent's limits.

use std::path::{Path, PathBuf};

use tollgate_core::sha::Sha;

use crate::failure::Failure;
use crate::forge::git::Git;
use crate::forge::project::private_git_dir::WorkTree;
use crate::forge::project::{Branch, PrivateGitDir, Project, Settings, failure, sha_of};
use crate::forge::worktree::Worktree;
use crate::forge::worktree::changed;

mod author;
mod filter;
mod index;

pub use author::Author;

/// How many commits of a branch are searched for an attempt.
const MAX_LOOKED_AT: &str = "--max-count=20";
/// The trailer that names the attempt.
const ATTEMPT: &str = "Tollgate-Attempt: ";

/// The input of a gate commit.
#[derive(Debug, Clone)]
pub struct GateCommit<'a> {
    /// The worktree with the files.
    pub worktree: &'a Worktree,
    /// A private directory for the index, one per worktree, which agents cannot access. Its content speeds up the next
    /// commit.
    pub scratch: &'a Path,
    /// The whole message. Its trailers should include `Tollgate-Attempt: <attempt>`, so that [`find_attempt`] finds
    /// it.
    pub message: &'a str,
    /// The author, instead of the one in git's configuration.
    pub author: Option<Author>,
    /// The commit time in seconds since 1970; the same for each retry of an attempt.
    pub time: u64,
    /// The commit the branch must point to. With `None`, commits that the agent made itself become the parent.
    pub expected_parent: Option<&'a Sha>,
    /// The directory of the board, which is never committed: `.automaker`.
    pub board_dir: &'a str,
}

/// The result of staging a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Staged {
    /// No changes: the files match the branch.
    Nothing,
    /// A tree that differs from the branch.
    Tree {
        /// The name of the tree.
        tree: Sha,
        /// The tip of the branch; `None` while it has no commits.
        parent: Option<Sha>,
        /// A copy of the index for hooks to read and change; the next [`stage`] starts from the original.
        index: PathBuf,
    },
}

/// Writes the files of the worktree as a tree, without touching the worktree, its index or its branch.
pub fn stage(gate: &GateCommit<'_>) -> Result<Staged, Failure> {
    let worktree = gate.worktree;
    worktree.verify()?;
    let parent = tip(worktree)?;
    if gate.expected_parent.is_some_and(|expected| Some(expected) != parent.as_ref()) {
        return Err(failure::branch_moved(worktree.branch().as_str()));
    }
    let sparse = changed::sparse(worktree)?;
    let index = index::index_path(gate.scratch, sparse.is_empty())?;
    let settings = Settings::read(worktree.paths())?;
    let own = PrivateGitDir::to_work(
        worktree.paths(),
        WorkTree { path: worktree.path(), index: &index, settings: &settings },
    )?;
    let git = own.git();
    changed::load(git, parent.as_ref(), &sparse)?;
    let mut changed = changed::look(git)?;
    for paths in [&mut changed.removed, &mut changed.written, &mut changed.nested] {
        paths.retain(|path| !is_below(path, gate.board_dir) && !is_below(path, ".worktrees"));
    }
    changed::refuse_nested(worktree.path(), &changed)?;
    changed::refuse_planted(worktree, git)?;
    changed::refuse_heaps(worktree.path(), &changed)?;
    filter::refuse(git, &settings, &changed.written, worktree.path())?;
    changed::feed(git, &["update-index", "--force-remove", "-z", "--stdin"], &changed.removed)?;
    changed::feed(git, &["update-index", "--add", "--remove", "-z", "--stdin"], &changed.written)?;
    // Objects that a partial clone omitted may be missing, as they are in the parent.
    let tree = sha_of("write-tree", &git.run(&["write-tree", "--missing-ok"])?)?;
    if tree == tree_of(git, parent.as_ref(), worktree)? {
        return Ok(Staged::Nothing);
    }
    Ok(Staged::Tree { tree, parent, index: index::copy(&index)? })
}

/// Commits the staged tree and moves the branch to it, if the branch still points to the parent.
///
/// Afterwards the worktree's own index matches the commit; no file is touched.
pub fn commit(gate: &GateCommit<'_>, staged: &Staged) -> Result<Option<Sha>, Failure> {
    let Staged::Tree { tree, parent, index } = staged else {
        return Ok(None);
    };
    let worktree = gate.worktree;
    worktree.verify()?;
    let commit = write_commit(gate, tree, parent.as_ref())?;
    crate::process::crash_point("commit-before-ref-update");
    let nothing = "0".repeat(commit.as_str().len());
    let from = parent.as_ref().map_or(nothing.as_str(), Sha::as_str);
    worktree.paths().move_branch(worktree.branch(), &commit, from)?;
    index::hand_over(index, worktree);
    Ok(Some(commit))
}

/// Resets the worktree's own index to its branch without touching a file: for a commit found after a crash that may
/// have happened before this was done.
pub fn settle(worktree: &Worktree, scratch: &Path) -> Result<(), Failure> {
    worktree.verify()?;
    let tip = tip(worktree)?;
    let sparse = changed::sparse(worktree)?;
    let index = index::index_path(scratch, sparse.is_empty())?;
    let settings = Settings::read(worktree.paths())?;
    let own = PrivateGitDir::to_work(
        worktree.paths(),
        WorkTree { path: worktree.path(), index: &index, settings: &settings },
    )?;
    changed::load(own.git(), tip.as_ref(), &sparse)?;
    changed::look(own.git())?;
    index::hand_over(&index, worktree);
    Ok(())
}

/// The tip of the branch. It is missing only while the repository has no commits: a root commit in place of a deleted
/// branch would drop its history.
fn tip(worktree: &Worktree) -> Result<Option<Sha>, Failure> {
    let (paths, branch) = (worktree.paths(), worktree.branch());
    let tip = paths.tip(branch)?;
    if tip.is_none() && paths.has_commits()? {
        return Err(failure::branch_gone(branch.as_str()));
    }
    Ok(tip)
}

/// Finds the commit of an attempt among the last commits of a branch.
///
/// The name of the attempt must be unguessable for agents, or an agent could have forged the commit.
pub fn find_attempt(project: &Project, branch: &Branch, attempt: &str) -> Result<Option<Sha>, Failure> {
    let Some(tip) = project.branch_head(branch)? else {
        return Ok(None);
    };
    let own = PrivateGitDir::to_read(project.paths())?;
    let format = "--format=tformat:%H%n%B";
    let args =
        ["log", "-z", MAX_LOOKED_AT, format, "--encoding=UTF-8", "--no-patch", "--end-of-options", tip.as_str(), "--"];
    let listed = own.git().run(&args)?;
    for record in listed.split(|&byte| byte == 0) {
        let record = String::from_utf8_lossy(record);
        if let Some((sha, message)) = record.split_once('\n')
            && is_attempt(message, attempt)
        {
            return sha_of("log", sha.as_bytes()).map(Some);
        }
    }
    Ok(None)
}

/// True when the trailers of a message name this attempt.
fn is_attempt(message: &str, attempt: &str) -> bool {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    last.lines().any(|line| line.strip_prefix(ATTEMPT).is_some_and(|found| found.trim_end() == attempt))
}

fn write_commit(gate: &GateCommit<'_>, tree: &Sha, parent: Option<&Sha>) -> Result<Sha, Failure> {
    let paths = gate.worktree.paths();
    let author = match &gate.author {
        Some(author) => author.clone(),
        None => Author::configured(&Settings::read(paths)?),
    };
    let own = PrivateGitDir::to_read(paths)?;
    let git = author.sign(own.git().clone(), gate.time);
    let mut args = vec!["commit-tree", tree.as_str()];
    args.extend(parent.iter().flat_map(|parent| ["-p", parent.as_str()]));
    args.extend(["-F", "-"]);
    let answer = git.feed(&args, gate.message.as_bytes())?;
    if answer.ok { sha_of("commit-tree", &answer.stdout) } else { Err(git.explain(&args, &answer.stderr)) }
}

/// The tree of a commit, or the empty tree without one.
fn tree_of(git: &Git, commit: Option<&Sha>, worktree: &Worktree) -> Result<Sha, Failure> {
    match commit {
        Some(commit) => {
            let tree = format!("{commit}^{{tree}}");
            sha_of("rev-parse", &git.run(&["rev-parse", "--verify", "--end-of-options", &tree])?)
        }
        None => worktree.paths().empty_tree(),
    }
}

/// True for a directory and everything below it.
fn is_below(path: &[u8], folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_matches('/').as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_named_in_the_last_lines_only() {
        let check = |message: &str, expected: bool| assert_eq!(is_attempt(message, "a1"), expected, "{message:?}");
        check("feat: x\n\nTollgate-Feature: f\nTollgate-Attempt: a1\n", true);
        check("feat: x\n\nTollgate-Attempt: a1\n\n\n", true);
        check("feat: x\n\nTollgate-Attempt: a1\n\nTollgate-Feature: f", false);
        check("feat: x\n\nTollgate-Attempt: a12", false);
        check("feat: x\n\n Tollgate-Attempt: a1", false);
        check("", false);
    }

    #[test]
    fn a_folder_is_not_another_that_begins_alike() {
        assert!(is_below(b".automaker/features/x", ".automaker"));
        assert!(is_below(b".automaker", ".automaker/"));
        assert!(!is_below(b".automaker2/x", ".automaker"));
        assert!(!is_below(b"src/.automaker/x", ".automaker"));
    }
}
