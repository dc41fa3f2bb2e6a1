//! A repository in which agents work, as far as git is concerned: branches, commits, what changed between them.
//!
//! Everything is read through a git folder of our own (`own`), because an agent can write the repository's. Worktrees
//! are next door in [`crate::forge::worktree`], commits in [`crate::forge::gate`].

use std::path::{Path, PathBuf};

use tollgate_core::sha::Sha;

use crate::failure::{self as shared, Failure};
use crate::forge::git::{Blob, Environment, Git, Value};
use crate::forge::local::{DIFF, empty_tree};

mod branch;
mod exclude;
pub(in crate::forge) mod failure;
mod open;
pub(in crate::forge) mod own;
pub(in crate::forge) mod pointer;
mod reference;
mod settings;

pub use branch::{Branch, BranchError};
pub(in crate::forge) use open::check_entry;
pub(in crate::forge) use own::Own;
pub(in crate::forge) use settings::Settings;

/// The longest text that is tried as the name of a revision.
const MAX_REVISION: usize = 512;

/// A repository that the operator added as a project.
#[derive(Debug, Clone)]
pub struct Project {
    place: Place,
}

/// Where a repository is, and what does not change about it.
#[derive(Debug, Clone)]
pub(in crate::forge) struct Place {
    /// The top of the checkout.
    pub(in crate::forge) root: PathBuf,
    /// The git folder of that checkout.
    pub(in crate::forge) git_dir: PathBuf,
    /// The git folder that all worktrees share.
    pub(in crate::forge) common: PathBuf,
    sha256: bool,
    shallow: bool,
    /// Without a word about where the repository is.
    environment: Environment,
    /// Git in the repository itself, for plain values of its configuration.
    git: Git,
}

/// What changed between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The beginning of it, as `git diff` prints it.
    pub bytes: Vec<u8>,
    /// How long the whole is.
    pub n_bytes: u64,
    /// True when the whole is longer than what is here.
    pub cut: bool,
}

impl Project {
    /// Opens the repository whose top `path` is.
    ///
    /// Refused are: a folder that is not the top, a bare repository, a submodule, a `.git` that is a link or leads to a
    /// folder that does not lead back. A branch without commits is fine, and so is whatever is going on in the main
    /// checkout, since nothing is done there.
    pub fn open(path: &Path, environment: Environment) -> Result<Self, Failure> {
        Ok(Self { place: open::look(path, environment)? })
    }

    /// The top of the checkout; canonical.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// True when older commits are not here, so that a merge base may be missing.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        self.place.shallow
    }

    /// The tree without files: what the first commit is compared with.
    pub fn empty_tree(&self) -> Result<Sha, Failure> {
        self.place.empty_tree()
    }

    /// The branch that is checked out at the root; features start from it when nothing else is set.
    #[must_use]
    pub fn head_branch(&self) -> Option<String> {
        match pointer::head(&self.place.git_dir) {
            Ok(pointer::Head::Branch(name)) => Some(name),
            Ok(pointer::Head::Other) | Err(_) => None,
        }
    }

    /// The commit that goes by a name; `None` when there is none.
    pub fn resolve(&self, revision: &str) -> Result<Option<Sha>, Failure> {
        if revision.is_empty() || revision.len() > MAX_REVISION || revision.contains(['\0', '\n']) {
            return Ok(None);
        }
        let own = Own::to_read(&self.place)?;
        let peeled = format!("{revision}^{{commit}}");
        let answer = own.git().ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        Ok(if answer.ok { Some(sha_of("rev-parse", &answer.stdout)?) } else { None })
    }

    /// The commit at the tip of a branch; `None` when there is no such branch, or no commit on it yet.
    pub fn branch_head(&self, branch: &Branch) -> Result<Option<Sha>, Failure> {
        self.place.tip(branch)
    }

    /// The commit where a branch left its target; `None` when they have none in common.
    pub fn merge_base(&self, target: &Sha, commit: &Sha) -> Result<Option<Sha>, Failure> {
        let args = ["merge-base", target.as_str(), commit.as_str()];
        let own = Own::to_read(&self.place)?;
        let answer = own.git().ask(&args)?;
        match (answer.ok, answer.stderr.trim().is_empty()) {
            (true, _) => sha_of("merge-base", &answer.stdout).map(Some),
            (false, true) => Ok(None),
            (false, false) => Err(own.git().explain(&args, &answer.stderr)),
        }
    }

    /// What changed from one commit (or tree) to another, at most `max_bytes` of it.
    pub fn diff(&self, base: &Sha, commit: &Sha, max_bytes: usize) -> Result<Diff, Failure> {
        let mut args = vec!["diff-tree", "-r"];
        args.extend(DIFF);
        args.extend(["--end-of-options", base.as_str(), commit.as_str(), "--"]);
        let mut diff = Diff { bytes: Vec::new(), n_bytes: 0, cut: false };
        Own::to_read(&self.place)?.git().run_into(&args, &mut |chunk| {
            let room = max_bytes.saturating_sub(diff.bytes.len()).min(chunk.len());
            diff.bytes.extend_from_slice(&chunk[..room]);
            diff.n_bytes += chunk.len() as u64;
            true
        })?;
        diff.cut = diff.n_bytes > diff.bytes.len() as u64;
        Ok(diff)
    }

    /// A file as of a commit. A link is not followed: it is [`Blob::Missing`].
    pub fn blob(&self, commit: &Sha, path: &str, max_bytes: u64) -> Result<Blob, Failure> {
        let own = Own::to_read(&self.place)?;
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

    /// Files by the names of their blobs, in the same order.
    pub fn blobs(&self, names: &[&str], max_bytes: u64) -> Result<Vec<Blob>, Failure> {
        let own = Own::to_read(&self.place)?;
        let mut blobs = own.git().blobs()?;
        names.iter().map(|name| blobs.read(name, max_bytes)).collect()
    }

    /// Has git ignore the folders of the board in every checkout of this repository, without a change to its files.
    ///
    /// For operators who ask for it: the lines are added to `.git/info/exclude`, and those that are there stay.
    pub fn ignore_board(&self, board_dir: &str) -> Result<(), Failure> {
        exclude::add(&self.place.common, &[&format!("/{}/", board_dir.trim_matches('/')), "/.worktrees/"])
    }

    pub(in crate::forge) fn place(&self) -> &Place {
        &self.place
    }
}

impl Place {
    /// Plain values of the repository's and the operator's configuration, of the keys that match.
    pub(in crate::forge) fn values(&self, pattern: &str) -> Result<Vec<Value>, Failure> {
        self.git.values(pattern)
    }

    /// The commit at the tip of a branch.
    pub(in crate::forge) fn tip(&self, branch: &Branch) -> Result<Option<Sha>, Failure> {
        let own = Own::to_read(self)?;
        let peeled = format!("{}^{{commit}}", branch.reference());
        let answer = own.git().ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        Ok(if answer.ok { Some(sha_of("rev-parse", &answer.stdout)?) } else { None })
    }

    /// True when the branch of the main checkout has commits.
    pub(in crate::forge) fn has_commits(&self) -> Result<bool, Failure> {
        let own = Own::to_read(self)?;
        Ok(own.git().ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.ok)
    }

    /// The tree without files.
    pub(in crate::forge) fn empty_tree(&self) -> Result<Sha, Failure> {
        empty_tree(self.sha256)
    }

    /// Git in a worktree, with the repository's own folder: for reading its index only.
    pub(in crate::forge) fn git_in(&self, path: &Path, git_dir: &Path) -> Git {
        Git::new(path, self.environment.clone()).at_git_dir(git_dir).with_variable("GIT_WORK_TREE", path)
    }

    /// Moves a branch from one commit to another, all zeros standing for none.
    pub(in crate::forge) fn move_branch(&self, branch: &Branch, to: &Sha, from: &str) -> Result<(), Failure> {
        let reference = branch.reference();
        reference::refuse_links(&self.common, &reference)?;
        let own = Own::to_read(self)?;
        let args = ["update-ref", "--no-deref", "--end-of-options", &reference, to.as_str(), from];
        let answer = own.git().ask(&args)?;
        if answer.ok { Ok(()) } else { Err(reference::explain(&self.common, branch, &answer.stderr)) }
    }

    /// The folder below which our worktrees are.
    pub(in crate::forge) fn worktrees(&self) -> PathBuf {
        self.root.join(".worktrees")
    }
}

/// The one object name that a command printed.
pub(in crate::forge) fn sha_of(command: &str, stdout: &[u8]) -> Result<Sha, Failure> {
    let text = String::from_utf8_lossy(stdout);
    Sha::parse(text.lines().next().unwrap_or_default()).map_err(|_| shared::git_unreadable(command))
}
