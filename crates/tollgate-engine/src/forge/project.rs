//! A project's git repository: branches, commits, diffs and blobs.
//!
//! Everything is read through a private git directory (`private_git_dir`), because agents can write the repository's.
//! Worktrees are in [`crate::forge::worktree`], commits in [`crate::forge::gate`].

use std::path::{Path, PathBuf};

use tollgate_core::sha::Sha;

use crate::failure::{self as shared, Failure};
use crate::forge::git::{Blob, Environment, Git, Value};
use crate::forge::local::{DIFF, MAX_PATHS, empty_tree};

mod branch;
mod exclude;
pub(in crate::forge) mod failure;
mod open;
pub(in crate::forge) mod pointer;
pub(in crate::forge) mod private_git_dir;
mod reference;
mod settings;

pub use branch::{Branch, BranchError};
pub(in crate::forge) use open::check_entry;
pub(in crate::forge) use private_git_dir::PrivateGitDir;
pub(in crate::forge) use settings::Settings;

/// The maximum length of a revision.
const MAX_REVISION: usize = 512;

/// A repository that the operator added as a project.
#[derive(Debug, Clone)]
pub struct Project {
    paths: GitPaths,
}

/// The directories of a repository and its fixed properties.
#[derive(Debug, Clone)]
pub(in crate::forge) struct GitPaths {
    /// The root of the checkout.
    pub(in crate::forge) root: PathBuf,
    /// The git directory of the checkout.
    pub(in crate::forge) git_dir: PathBuf,
    /// The git directory that all worktrees share.
    pub(in crate::forge) common: PathBuf,
    sha256: bool,
    /// The environment without variables that locate a repository.
    environment: Environment,
    /// Git in the repository itself, for plain values of its configuration.
    git: Git,
}

/// The diff of two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The beginning of the output of `git diff`.
    pub bytes: Vec<u8>,
    /// The size of the whole diff.
    pub n_bytes: u64,
    /// True when the diff was truncated.
    pub cut: bool,
}

impl Project {
    /// Opens the repository whose root is `path`.
    ///
    /// Refuses a subdirectory, a bare repository, a submodule, and a `.git` that is a link or points to a directory
    /// that does not point back. A branch without commits is fine, and so is any state of the main checkout, since it
    /// is never touched.
    pub fn open(path: &Path, environment: Environment) -> Result<Self, Failure> {
        Ok(Self { paths: open::look(path, environment)? })
    }

    /// The canonical root of the checkout.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.paths.root
    }

    /// The empty tree, as the base of the first commit.
    pub fn empty_tree(&self) -> Result<Sha, Failure> {
        self.paths.empty_tree()
    }

    /// The branch checked out at the root; the default start of features.
    #[must_use]
    pub fn head_branch(&self) -> Option<String> {
        match pointer::head(&self.paths.git_dir) {
            Ok(pointer::Head::Branch(name)) => Some(name),
            Ok(pointer::Head::Other) | Err(_) => None,
        }
    }

    /// Resolves a revision to a commit.
    pub fn resolve(&self, revision: &str) -> Result<Option<Sha>, Failure> {
        if revision.is_empty() || revision.len() > MAX_REVISION || revision.contains(['\0', '\n']) {
            return Ok(None);
        }
        let own = PrivateGitDir::to_read(&self.paths)?;
        let peeled = format!("{revision}^{{commit}}");
        let answer = own.git().ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        Ok(if answer.ok { Some(sha_of("rev-parse", &answer.stdout)?) } else { None })
    }

    /// The tip of a branch; `None` without such a branch or without commits.
    pub fn branch_head(&self, branch: &Branch) -> Result<Option<Sha>, Failure> {
        self.paths.tip(branch)
    }

    /// The merge base; `None` for unrelated histories.
    pub fn merge_base(&self, target: &Sha, commit: &Sha) -> Result<Option<Sha>, Failure> {
        let args = ["merge-base", target.as_str(), commit.as_str()];
        let own = PrivateGitDir::to_read(&self.paths)?;
        let answer = own.git().ask(&args)?;
        match (answer.ok, answer.stderr.trim().is_empty()) {
            (true, _) => sha_of("merge-base", &answer.stdout).map(Some),
            (false, true) => Ok(None),
            (false, false) => Err(own.git().explain(&args, &answer.stderr)),
        }
    }

    /// The diff of two commits or trees, at most `max_bytes` of it.
    pub fn diff(&self, base: &Sha, commit: &Sha, max_bytes: usize) -> Result<Diff, Failure> {
        let mut args = vec!["diff-tree", "-r"];
        args.extend(DIFF);
        args.extend(["--end-of-options", base.as_str(), commit.as_str(), "--"]);
        let mut diff = Diff { bytes: Vec::new(), n_bytes: 0, cut: false };
        let own = PrivateGitDir::to_read(&self.paths)?;
        if own.git().differs_in_more_than(MAX_PATHS, base.as_str(), commit.as_str())? {
            return Err(shared::too_many_paths(MAX_PATHS));
        }
        own.git().run_into(&args, &mut |chunk| {
            let room = max_bytes.saturating_sub(diff.bytes.len()).min(chunk.len());
            diff.bytes.extend_from_slice(&chunk[..room]);
            diff.n_bytes += chunk.len() as u64;
            true
        })?;
        diff.cut = diff.n_bytes > diff.bytes.len() as u64;
        Ok(diff)
    }

    /// A file of a commit. A symbolic link is [`Blob::Missing`].
    pub fn blob(&self, commit: &Sha, path: &str, max_bytes: u64) -> Result<Blob, Failure> {
        let own = PrivateGitDir::to_read(&self.paths)?;
        let git = own.git().clone().with_variable("GIT_LITERAL_PATHSPECS", "1");
        let args = ["ls-tree", "-z", "--full-tree", "--end-of-options", commit.as_str(), "--", path];
        let listed = git.run(&args)?;
        // `100644 blob <name><tab>path`
        let entry = listed.split(|&byte| byte == 0).next().unwrap_or_default();
        let Some((head, found)) = entry.iter().position(|&byte| byte == b'\t').map(|tab| entry.split_at(tab)) else {
            return Ok(Blob::Missing);
        };
        let head = String::from_utf8_lossy(head);
        match head.split(' ').collect::<Vec<_>>()[..] {
            ["100644" | "100755", _, name] if &found[1..] == path.as_bytes() => git.blobs()?.read(name, max_bytes),
            _ => Ok(Blob::Missing),
        }
    }

    /// Blobs by name, in the same order.
    pub fn blobs(&self, names: &[&str], max_bytes: u64) -> Result<Vec<Blob>, Failure> {
        let own = PrivateGitDir::to_read(&self.paths)?;
        let mut blobs = own.git().blobs()?;
        names.iter().map(|name| blobs.read(name, max_bytes)).collect()
    }

    /// Makes git ignore the board's directories in every checkout of this repository.
    ///
    /// Opt-in: the patterns are appended to `.git/info/exclude`.
    pub fn ignore_board(&self, board_dir: &str) -> Result<(), Failure> {
        exclude::add(&self.paths.common, &[&format!("/{}/", board_dir.trim_matches('/')), "/.worktrees/"])
    }

    pub(in crate::forge) fn paths(&self) -> &GitPaths {
        &self.paths
    }
}

impl GitPaths {
    /// Values of the matching keys in the repository's and the operator's configuration.
    pub(in crate::forge) fn values(&self, pattern: &str) -> Result<Vec<Value>, Failure> {
        self.git.values(pattern)
    }

    /// The tip of a branch.
    pub(in crate::forge) fn tip(&self, branch: &Branch) -> Result<Option<Sha>, Failure> {
        let own = PrivateGitDir::to_read(self)?;
        let peeled = format!("{}^{{commit}}", branch.reference());
        let answer = own.git().ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        Ok(if answer.ok { Some(sha_of("rev-parse", &answer.stdout)?) } else { None })
    }

    /// True when the branch of the main checkout has commits.
    pub(in crate::forge) fn has_commits(&self) -> Result<bool, Failure> {
        let own = PrivateGitDir::to_read(self)?;
        Ok(own.git().ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.ok)
    }

    /// The empty tree.
    pub(in crate::forge) fn empty_tree(&self) -> Result<Sha, Failure> {
        empty_tree(self.sha256)
    }

    /// Git in a worktree with the repository's own git directory, for reading its index only.
    pub(in crate::forge) fn git_in(&self, path: &Path, git_dir: &Path) -> Git {
        Git::new(path, self.environment.clone()).at_git_dir(git_dir).with_variable("GIT_WORK_TREE", path)
    }

    /// Moves a branch by compare-and-swap; zeros mean that it does not exist.
    pub(in crate::forge) fn move_branch(&self, branch: &Branch, to: &Sha, from: &str) -> Result<(), Failure> {
        let reference = branch.reference();
        reference::refuse_links(&self.common, &reference)?;
        let own = PrivateGitDir::to_read(self)?;
        let args = ["update-ref", "--no-deref", "--end-of-options", &reference, to.as_str(), from];
        let answer = own.git().ask(&args)?;
        if answer.ok { Ok(()) } else { Err(reference::explain(&self.common, branch, &answer.stderr)) }
    }

    /// The parent directory of our worktrees.
    pub(in crate::forge) fn worktrees(&self) -> PathBuf {
        self.root.join(".worktrees")
    }
}

/// Parses the single object name that a command printed.
pub(in crate::forge) fn sha_of(command: &str, stdout: &[u8]) -> Result<Sha, Failure> {
    let text = String::from_utf8_lossy(stdout);
    Sha::parse(text.lines().next().unwrap_or_default()).map_err(|_| shared::git_unreadable(command))
}
