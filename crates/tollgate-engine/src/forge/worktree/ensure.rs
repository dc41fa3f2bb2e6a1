//! Creates a worktree, or recovers one that was moved, half made, or deleted by hand.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_core::board::FeatureId;
use tollgate_core::sha::Sha;

use super::{MAKING, Worktree, WorktreeRecord, known, lock, remove};
use crate::failure::{self as shared, Failure};
use crate::forge::project::pointer::{self, Head};
use crate::forge::project::private_git_dir::WorkTree;
use crate::forge::project::{Branch, PrivateGitDir, Project, Settings, failure};

/// The maximum number of names tried for an entry.
const MAX_NAMES: usize = 100;

impl Project {
    /// Returns the worktree of a branch: an existing one at any path, or a new one at `.worktrees/<id>`.
    ///
    /// A new branch starts at `start`. In a repository without commits it starts empty, and `start` is empty or names
    /// the branch of the main checkout.
    pub fn ensure_worktree(&self, branch: &Branch, start: &str, id: &FeatureId) -> Result<Worktree, Failure> {
        let _lock = lock::take(self.paths())?;
        self.refuse_main(branch)?;
        let wanted = self.paths().worktrees().join(id.as_str());
        remove::finish(&wanted)?;
        for known in known(self.paths())? {
            if matches!(&known.head, Head::Branch(name) if name == branch.as_str())
                && let Some(worktree) = self.find_again(known, branch, &wanted)?
            {
                return Ok(worktree);
            }
        }
        self.make(branch, start, &wanted)
    }

    /// Refuses a branch that a person has checked out.
    fn refuse_main(&self, branch: &Branch) -> Result<(), Failure> {
        let paths = self.paths();
        let main = paths.common.parent().unwrap_or(&paths.common);
        for (git_dir, checkout) in [(&paths.common, main), (&paths.git_dir, paths.root.as_path())] {
            if matches!(pointer::head(git_dir), Ok(Head::Branch(name)) if name == branch.as_str()) {
                return Err(failure::branch_in_use(branch.as_str(), checkout));
            }
        }
        Ok(())
    }

    fn find_again(&self, known: WorktreeRecord, branch: &Branch, wanted: &Path) -> Result<Option<Worktree>, Failure> {
        let checkout = known.checkout.as_deref().and_then(|path| path.canonicalize().ok());
        let with_path = |path: PathBuf| Worktree {
            path,
            branch: branch.clone(),
            git_dir: known.git_dir.clone(),
            paths: self.paths().clone(),
        };
        if known.lock.as_deref() == Some(MAKING) {
            let worktree = with_path(wanted.to_owned());
            self.fill(&worktree)?;
            return Ok(Some(worktree));
        }
        if is_moved(&known, checkout.as_deref(), wanted) {
            let worktree = with_path(wanted.to_owned());
            point(&worktree).map_err(|error| failure::no_worktree(wanted, &error))?;
            worktree.verify()?;
            return Ok(Some(worktree));
        }
        if let Some(path) = checkout {
            let worktree = with_path(path);
            worktree.verify()?;
            return Ok(Some(worktree));
        }
        // The directory was deleted by hand. A lock means that it will come back, for example with a removable disk.
        if known.lock.is_some() {
            return Err(failure::worktree_locked(known.checkout.as_deref().unwrap_or(wanted)));
        }
        remove::clear(&known.git_dir).map_err(|error| failure::no_worktree(&known.git_dir, &error))?;
        Ok(None)
    }

    fn make(&self, branch: &Branch, start: &str, wanted: &Path) -> Result<Worktree, Failure> {
        self.check_place(branch, wanted)?;
        if self.paths().tip(branch)?.is_none() {
            match self.resolve(start)? {
                Some(start) => self.make_branch(branch, &start)?,
                None if self.has_no_commits(start)? => {}
                None => return Err(shared::no_such_revision(start)),
            }
        }
        let failed = |error: io::Error| failure::no_worktree(wanted, &error);
        let git_dir = self.make_entry(wanted, branch).map_err(failed)?;
        let (path, branch, paths) = (wanted.to_owned(), branch.clone(), self.paths().clone());
        let worktree = Worktree { path, branch, git_dir, paths };
        self.fill(&worktree)?;
        Ok(worktree)
    }

    /// Verifies that the path is free and no link leads elsewhere.
    fn check_place(&self, branch: &Branch, wanted: &Path) -> Result<(), Failure> {
        let above = self.paths().worktrees();
        match std::fs::symlink_metadata(&above) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(failure::place_taken(&above)),
            Err(_) => std::fs::create_dir(&above).map_err(|error| failure::no_worktree(&above, &error))?,
        }
        let is_here =
            |known: &WorktreeRecord| known.checkout.as_deref().is_some_and(|path| pointer::is_same(path, wanted));
        if let Some(known) = known(self.paths())?.into_iter().find(is_here) {
            let found = match known.head {
                Head::Branch(name) => format!("the branch `{}`", tollgate_core::visible::visible(&name)),
                Head::Other => "no branch".to_owned(),
            };
            return Err(failure::other_branch(wanted, &found, branch.as_str()));
        }
        let is_free = match std::fs::symlink_metadata(wanted) {
            Ok(metadata) if metadata.is_dir() => {
                std::fs::read_dir(wanted).is_ok_and(|mut entries| entries.next().is_none())
            }
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_free { Ok(()) } else { Err(failure::place_taken(wanted)) }
    }

    /// True when `start` is the branch of the main checkout or empty, and that has no commits.
    fn has_no_commits(&self, start: &str) -> Result<bool, Failure> {
        let is_head = matches!(start, "" | "HEAD") || self.head_branch().as_deref() == Some(start);
        Ok(is_head && self.head_branch().is_some() && !self.paths().has_commits()?)
    }

    fn make_branch(&self, branch: &Branch, start: &Sha) -> Result<(), Failure> {
        let nothing = "0".repeat(start.as_str().len());
        self.paths().move_branch(branch, start, &nothing)
    }

    /// Creates the entry in the repository, locked against `git worktree prune` until its files exist.
    fn make_entry(&self, wanted: &Path, branch: &Branch) -> io::Result<PathBuf> {
        let above = self.paths().common.join("worktrees");
        std::fs::create_dir_all(&above)?;
        let name = wanted.file_name().unwrap_or_default();
        for number in 0..MAX_NAMES {
            let mut name = name.to_owned();
            if number > 0 {
                name.push(number.to_string());
            }
            let git_dir = above.join(name);
            // Left by a crash; no other process is here, since the lock is held.
            if pointer::read(&git_dir, "locked")?.as_deref() == Some(MAKING) {
                remove::clear(&git_dir)?;
            }
            match std::fs::create_dir(&git_dir) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            std::fs::write(git_dir.join("locked"), MAKING)?;
            std::fs::write(git_dir.join("commondir"), "../..\n")?;
            std::fs::write(git_dir.join("gitdir"), line(&wanted.join(".git")))?;
            std::fs::write(git_dir.join("HEAD"), format!("ref: {}\n", branch.reference()))?;
            return Ok(git_dir);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Writes the files of a worktree that has an entry. No agent has run in it yet, so existing files are ours.
    fn fill(&self, worktree: &Worktree) -> Result<(), Failure> {
        let failed = |error: io::Error| failure::no_worktree(&worktree.path, &error);
        std::fs::create_dir_all(&worktree.path).map_err(failed)?;
        point(worktree).map_err(failed)?;
        worktree.verify()?;
        let lock = worktree.git_dir.join("index.lock");
        let _ = std::fs::remove_file(lock);
        if let Some(tip) = self.paths().tip(&worktree.branch)? {
            let settings = Settings::read(self.paths())?;
            let index = worktree.git_dir.join("index");
            let tree = WorkTree { path: &worktree.path, index: &index, settings: &settings };
            PrivateGitDir::to_work(self.paths(), tree)?.git().run(&["read-tree", "--reset", "-u", tip.as_str()])?;
        }
        std::fs::remove_file(worktree.git_dir.join("locked")).map_err(failed)
    }
}

/// True when the directory was moved to `wanted`, perhaps with the whole project: its `.git` names an entry of this
/// name, and that entry has no other valid directory.
fn is_moved(known: &WorktreeRecord, checkout: Option<&Path>, wanted: &Path) -> bool {
    let is_folder = std::fs::symlink_metadata(wanted).is_ok_and(|metadata| metadata.is_dir());
    if !is_folder || checkout.is_some_and(|checkout| pointer::is_same(checkout, wanted)) {
        return false;
    }
    let named = |checkout: &Path| pointer::git_dir_of(checkout).ok().flatten();
    let is_still_there = checkout.and_then(named).is_some_and(|named| pointer::is_same(&named, &known.git_dir));
    let is_its_name = named(wanted).is_some_and(|named| named.file_name() == known.git_dir.file_name());
    is_its_name && !is_still_there
}

/// Makes a directory and its entry point at each other.
fn point(worktree: &Worktree) -> io::Result<()> {
    let dot_git = worktree.path.join(".git");
    write_anew(&dot_git, &[b"gitdir: ", &line(&worktree.git_dir)[..]].concat())?;
    write_anew(&worktree.git_dir.join("gitdir"), &line(&dot_git))
}

/// Replaces a file atomically, without following a symbolic link.
fn write_anew(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, content)?;
    file.persist(path)?;
    Ok(())
}

fn line(path: &Path) -> Vec<u8> {
    [&pointer::bytes_of(path)[..], b"\n"].concat()
}
