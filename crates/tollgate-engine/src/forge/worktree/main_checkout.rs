//! Notices changes of the main checkout while an agent works in its worktree.
//!
//! [`MainCheckout::look`] records the branch, its commit, and the files that differ from the index;
//! [`MainCheckout::changes`] compares them later. Only metadata is read, with a copy of the index that was made before, so
//! that neither looking nor an agent can hide a change. Commits that came from elsewhere (a pull, the merge of a branch that
//! existed before) are the work of others and are not reported. Nothing is ever reverted: the files may be a person's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use tollgate_core::sha::Sha;
use tollgate_core::visible::visible;

use super::changed;
use crate::failure::Failure;
use crate::forge::git::{Git, path_of};
use crate::forge::project::pointer::{self, Head};
use crate::forge::project::private_git_dir::WorkTree;
use crate::forge::project::{GitPaths, PrivateGitDir, Project, Settings, failure};

/// The most files that are compared; in a checkout with more changes, the rest is not watched.
const MAX_FILES: usize = 20_000;
/// The most branches and tags that count as known before.
const MAX_REFERENCES: usize = 5_000;
/// The most changes that are named.
const MAX_NAMED: usize = 10;

/// The main checkout of a project at one time.
#[derive(Debug)]
pub struct MainCheckout {
    paths: GitPaths,
    board_dir: String,
    head: MainHead,
    /// The commits of all branches and tags.
    known: Vec<String>,
    /// A copy of its index.
    index: tempfile::TempDir,
    files: Files,
}

/// Changed and untracked files, with the time and size of each.
type Files = BTreeMap<Vec<u8>, Option<(SystemTime, u64)>>;

/// What the main checkout is at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MainHead {
    branch: Option<String>,
    commit: Option<Sha>,
}

impl MainCheckout {
    /// Records the main checkout, without the folders of the board.
    pub fn look(project: &Project, board_dir: &str) -> Result<Self, Failure> {
        let paths = project.paths().clone();
        let index = tempfile::tempdir().map_err(|error| failure::no_scratch(&std::env::temp_dir(), &error))?;
        let head = head(&paths)?;
        let known = references(&paths)?;
        let mut checkout = Self { paths, board_dir: board_dir.to_owned(), head, known, index, files: Files::new() };
        let own = checkout.paths.git_dir.join("index");
        let is_copied = std::fs::copy(own, checkout.index_path()).is_ok();
        checkout.files = checkout.differing(if is_copied { None } else { checkout.head.commit.clone() }.as_ref())?;
        Ok(checkout)
    }

    /// The changes since it was recorded, for people; empty when there are none but those of others.
    pub fn changes(&self) -> Result<Vec<String>, Failure> {
        let now = head(&self.paths)?;
        let name = |head: &MainHead| match &head.branch {
            Some(branch) => format!("`{}`", visible(branch)),
            None => "no branch".to_owned(),
        };
        if now.branch != self.head.branch {
            return Ok(vec![format!("it was on {} and is on {}", name(&self.head), name(&now))]);
        }
        let mut changes = Vec::new();
        let is_moved = now.commit != self.head.commit;
        if is_moved && !self.is_of_others(now.commit.as_ref())? {
            let short = |commit: &Option<Sha>| commit.as_ref().map_or("none".to_owned(), |sha| sha.short().to_string());
            let (before, after) = (short(&self.head.commit), short(&now.commit));
            changes.push(format!("{} moved from {before} to {after}", name(&now)));
        }
        // Files of another commit are compared with that commit.
        let files = self.differing(now.commit.as_ref().filter(|_| is_moved))?;
        let paths = self.files.keys().chain(files.keys().filter(|path| !self.files.contains_key(*path)));
        // A change that was committed meanwhile is no longer one.
        let is_other = |path: &&Vec<u8>| match (self.files.get(*path), files.get(*path)) {
            (Some(_), None) => !is_moved,
            (before, after) => before != after,
        };
        let changed: Vec<&Vec<u8>> = paths.filter(is_other).collect();
        let named = changed.iter().take(MAX_NAMED).map(|path| format!("`{}`", visible(&String::from_utf8_lossy(path))));
        changes.extend(named);
        if changed.len() > MAX_NAMED {
            changes.push(format!("{} more", changed.len() - MAX_NAMED));
        }
        Ok(changes)
    }

    fn index_path(&self) -> PathBuf {
        self.index.path().join("index")
    }

    /// The files that differ from the copied index, or from a commit.
    fn differing(&self, commit: Option<&Sha>) -> Result<Files, Failure> {
        let index = if commit.is_some() { self.index.path().join("other") } else { self.index_path() };
        let settings = Settings::read(&self.paths)?;
        let tree = WorkTree { path: &self.paths.root, index: &index, settings: &settings };
        let own = PrivateGitDir::to_work(&self.paths, tree)?;
        let git = own.git();
        if commit.is_some() || !index.exists() {
            changed::load(git, commit, &[])?;
        }
        git.ask(&["update-index", "-q", "--ignore-submodules", "--unmerged", "--refresh"])?;
        let mut files = Files::new();
        self.list(git, &["diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"], &mut files)?;
        self.list(git, &["ls-files", "-z", "--others", "--exclude-standard"], &mut files)?;
        Ok(files)
    }

    /// Adds the files that a command lists, except those of the board.
    fn list(&self, git: &Git, args: &[&str], files: &mut Files) -> Result<(), Failure> {
        let of_board = [&*self.board_dir, ".worktrees"].map(|dir| format!("{}/", dir.trim_matches('/')));
        let is_of_board = |path: &[u8]| of_board.iter().any(|dir| path.starts_with(dir.as_bytes()));
        let listed = git.run(args)?;
        let paths = listed.split(|&byte| byte == 0).filter(|path| !path.is_empty() && !is_of_board(path));
        for path in paths.take(MAX_FILES) {
            let found = std::fs::symlink_metadata(self.paths.root.join(path_of(path))).ok();
            // The time of a folder, which is a nested repository, changes with everything in it.
            let found = found.filter(|found| !found.is_dir());
            files.insert(path.to_vec(), found.and_then(|found| Some((found.modified().ok()?, found.len()))));
        }
        Ok(())
    }

    /// True when all commits that the branch has gained were on a branch or tag before, or came from a remote.
    fn is_of_others(&self, commit: Option<&Sha>) -> Result<bool, Failure> {
        let Some(commit) = commit else { return Ok(false) };
        let known = self.known.iter().map(|known| format!("^{known}\n")).collect::<String>();
        let args = ["rev-list", "--no-merges", "--max-count=1", "--stdin", commit.as_str(), "--not", "--remotes"];
        let answer = self.paths.git_in(&self.paths.root, &self.paths.git_dir).feed(&args, known.as_bytes())?;
        Ok(answer.ok && answer.stdout.is_empty())
    }
}

fn head(paths: &GitPaths) -> Result<MainHead, Failure> {
    let head = pointer::head(&paths.git_dir).map_err(|error| failure::no_worktree(&paths.git_dir, &error))?;
    let branch = match head {
        Head::Branch(name) => Some(name),
        Head::Other => None,
    };
    let git = paths.git_in(&paths.root, &paths.git_dir);
    let answer = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let commit = Sha::parse(String::from_utf8_lossy(&answer.stdout).trim()).ok();
    Ok(MainHead { branch, commit })
}

fn references(paths: &GitPaths) -> Result<Vec<String>, Failure> {
    let count = format!("--count={MAX_REFERENCES}");
    let args = ["for-each-ref", "--format=%(objectname)", &count];
    let listed = paths.git_in(&paths.root, &paths.git_dir).run(&args)?;
    Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
}
