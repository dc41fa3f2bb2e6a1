//! The git directory that an agent gets for one run, in the place of the repository's.
//!
//! `git add`, `commit`, `stash` and `rebase` write objects, branches, logs and locks all over a git directory, so an agent
//! that may run them on the repository's own could also replace its hooks, other branches and objects. It gets a directory
//! that looks alike, mounted in the same place of its sandbox:
//!
//! ```text
//! HEAD, packed-refs, shallow, info/     copies
//! refs/heads/<main>                     a copy, read only
//! objects/                              new objects; info/alternates names base-objects
//! base-objects, hooks, lfs, modules     the repository's, read only
//! worktrees/<name>/                     HEAD, index and the like of the worktree: copies
//! ```
//!
//! After the run [`Worktree::put_back`] fetches the commits of the feature's branch, which git verifies on the way, and
//! moves that one branch. All else ends with the run: other branches, tags, stashes, configuration. The commits of a run
//! that was killed are taken over before the next one.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_core::sha::Sha;

use super::quarantine::{Limits, take_objects};
use super::{Worktree, changed};
use crate::failure::Failure;
use crate::forge::git::path_of;
use crate::forge::project::pointer::{self, Head};
use crate::forge::project::private_git_dir::WorkTree;
use crate::forge::project::{GitPaths, PrivateGitDir, Settings, failure};
use crate::process::guard;
use crate::process::sandbox::Bind;
use crate::tree::{self, Entry};

/// The directory that the agent sees; its name permits a guard's functions to remove it.
const LENT: &str = "tollgate-agent-git";
/// The commit of the branch when the directory was lent, beside the directory.
const TIP: &str = "lent-tip";
/// The repository from which the agent's commits are fetched.
const SOURCE: &str = "tollgate-agent-source";
/// The branch in it.
const TAKEN: &str = "refs/heads/taken";
/// The largest copied file, and the largest `packed-refs` that an agent leaves.
const MAX_FILE: u64 = 64 << 20;
/// The largest index.
const MAX_INDEX: u64 = 1 << 30;
/// The most object directories that a repository borrows from.
const MAX_ALTERNATES: usize = 32;

/// A git directory for one run of an agent.
#[derive(Debug)]
pub struct LentGit {
    folder: PathBuf,
    binds: Vec<Bind>,
}

impl LentGit {
    /// The mounts that put it in its place.
    #[must_use]
    pub fn binds(&self) -> &[Bind] {
        &self.binds
    }

    /// Removes it with all that was written to it.
    pub fn discard(self) {
        // The next one that is lent in its place removes it, too.
        let _ = return_lent(&self.folder);
    }
}

impl Worktree {
    /// Makes the git directory for a run, below a folder that agents cannot access.
    pub fn lend(&self, folder: &Path) -> Result<LentGit, Failure> {
        let tip = self.paths.tip(&self.branch)?;
        let references = PrivateGitDir::to_read(&self.paths)?.git().run(&[
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/heads",
            "refs/remotes",
            "refs/tags",
        ])?;
        let failed = |error: io::Error| failure::no_scratch(folder, &error);
        let binds = self.fill_lent(folder, &references).map_err(failed)?;
        std::fs::write(folder.join(TIP), tip.as_ref().map_or("", Sha::as_str)).map_err(failed)?;
        Ok(LentGit { folder: folder.to_owned(), binds })
    }

    fn fill_lent(&self, folder: &Path, references: &[u8]) -> io::Result<Vec<Bind>> {
        std::fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        return_lent(&folder)?;
        let (lent, common) = (folder.join(LENT), &self.paths.common);
        let entry = self.lent_entry(&folder);
        for name in ["refs/heads", "refs/tags", "objects/info", "objects/pack", "base-objects", "hooks", "info"] {
            std::fs::create_dir_all(lent.join(name))?;
        }
        std::fs::create_dir_all(entry.join("info"))?;
        std::fs::write(lent.join("config"), "[core]\n\tbare = false\n")?;
        std::fs::write(lent.join("packed-refs"), references)?;
        let mut alternates = pointer::bytes_of(&common.join("base-objects"));
        alternates.push(b'\n');
        std::fs::write(lent.join("objects/info/alternates"), alternates)?;
        for name in ["HEAD", "shallow", "info/exclude", "info/attributes"] {
            copy(common, name, &lent)?;
        }
        for name in ["HEAD", "commondir", "gitdir", "config.worktree", "info/sparse-checkout"] {
            copy(&self.git_dir, name, &entry)?;
        }
        copy_index(&self.git_dir, &entry)?;
        let mut binds = vec![Bind::writable(&lent, common)];
        binds.push(Bind::readable(common.join("objects"), common.join("base-objects")));
        binds.extend(alternates_of(&common.join("objects")).into_iter().map(|path| Bind::readable(path.clone(), path)));
        let hooks = common.join("hooks");
        let seen = if hooks.is_dir() { hooks.clone() } else { lent.join("hooks") };
        binds.push(Bind::readable(seen, hooks));
        for folder in [common.join("lfs"), common.join("modules"), self.git_dir.join("modules")] {
            if folder.is_dir() {
                binds.push(Bind::readable(folder.clone(), folder));
            }
        }
        // A branch that is checked out elsewhere is refused at once, instead of being moved for the agent alone.
        if let Some((name, commit)) = main_branch(&self.paths, references) {
            let file = lent.join(&name);
            file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&file, format!("{commit}\n"))?;
            binds.push(Bind::readable(file, common.join(&name)));
        }
        // It decides which configuration git obeys, also for a person who looks at the files.
        let pointer = self.path.join(".git");
        binds.push(Bind::readable(pointer.clone(), pointer));
        Ok(binds)
    }

    /// The directory that stands for the worktree's own.
    fn lent_entry(&self, folder: &Path) -> PathBuf {
        folder.join(LENT).join("worktrees").join(self.git_dir.file_name().unwrap_or_default())
    }

    /// The commit that an agent left in a lent directory, `None` when nothing is lent.
    pub(super) fn lent_head(&self, folder: &Path) -> Option<LentHead> {
        let before = std::fs::read_to_string(folder.join(TIP)).ok()?;
        // Nothing in it is followed: the agent could put a link in the place of every folder.
        let lent = folder.join(LENT);
        let head = format!("worktrees/{}/HEAD", self.git_dir.file_name()?.to_str()?);
        let own = reference_in(&lent, &self.branch.reference());
        let (found, commit) = match pointer::head_at(&lent, &head).ok()? {
            Head::Branch(name) if name == self.branch.as_str() => (Head::Branch(name), own.clone()),
            Head::Branch(name) => {
                let commit = reference_in(&lent, &format!("refs/heads/{name}"));
                (Head::Branch(name), commit)
            }
            Head::Other => {
                let text = pointer::read(&lent, &head).ok().flatten().unwrap_or_default();
                (Head::Other, Sha::parse(&String::from_utf8_lossy(&text)).ok())
            }
        };
        Some(LentHead { before: Sha::parse(before.trim()).ok(), own, found, commit })
    }

    /// Fetches a commit of the agent, with all that it builds on. Git names every object by its content and verifies it,
    /// so that none of the repository's objects can be replaced or damaged.
    ///
    /// Refuses a commit that adds a nested repository: its configuration names programs, which git would start as soon as a
    /// person asks for the status of the worktree.
    pub(super) fn fetch_lent(&self, folder: &Path, before: Option<&Sha>, commit: &Sha) -> Result<(), Failure> {
        let failed = |error: io::Error| failure::no_scratch(folder, &error);
        let source = self.make_source(folder, commit).map_err(failed)?;
        let own = PrivateGitDir::to_read(&self.paths)?;
        let git = own.git().clone().over("file").with_setting("fetch.fsckObjects", "true");
        let args = ["fetch", "--quiet", "--no-tags", "--no-auto-maintenance", "--no-write-fetch-head"];
        let mut args: Vec<&std::ffi::OsStr> = args.iter().map(AsRef::as_ref).collect();
        args.extend(["--no-recurse-submodules".as_ref(), source.as_os_str(), TAKEN.as_ref()]);
        let answer = git.ask(&args)?;
        if !answer.ok {
            return Err(failure::agents_commits(&self.path, &answer.stderr));
        }
        let kind = own.git().ask(&["cat-file", "-t", commit.as_str()])?;
        if !kind.ok || kind.stdout.trim_ascii() != b"commit" {
            return Err(failure::agents_commits(&self.path, &format!("`{commit}` is not a commit")));
        }
        if let Some(path) = changed::added_gitlink(own.git(), before, commit)? {
            return Err(failure::agents_commits(&self.path, &format!("they add the nested repository `{path}`")));
        }
        Ok(())
    }

    /// Makes a repository of copies of the objects that the agent left. Links and files with other names, as a list of
    /// further object directories, stay behind: they could lead to what the agent itself cannot read.
    fn make_source(&self, folder: &Path, commit: &Sha) -> io::Result<PathBuf> {
        let folder = folder.canonicalize()?;
        let source = folder.join(SOURCE);
        let objects = source.join("objects");
        // Left by a process that was killed.
        guard::remove(&source)?;
        for name in ["refs/heads", "objects/info", "objects/pack"] {
            std::fs::create_dir_all(source.join(name))?;
        }
        std::fs::write(source.join("config"), self.paths.config(true))?;
        std::fs::write(source.join("HEAD"), format!("ref: {TAKEN}\n"))?;
        std::fs::write(source.join(TAKEN), format!("{commit}\n"))?;
        copy(&self.paths.common, "shallow", &source)?;
        let mut alternates = pointer::bytes_of(&self.paths.common.join("objects"));
        alternates.push(b'\n');
        std::fs::write(objects.join("info/alternates"), alternates)?;
        take_objects(&folder.join(LENT), &objects, Limits::RUN)?;
        Ok(source)
    }

    /// Writes the index of the worktree anew, from its branch. That of the agent is not used: its entries could have paths
    /// outside of the worktree, to which a person's `git restore` would write.
    pub(super) fn write_index(&self, folder: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| failure::no_scratch(folder, &error);
        let source = folder.join(SOURCE);
        std::fs::create_dir_all(&source).map_err(failed)?;
        let (index, settings) = (source.join("index"), Settings::read(&self.paths)?);
        let own =
            PrivateGitDir::to_work(&self.paths, WorkTree { path: &self.path, index: &index, settings: &settings })?;
        changed::load(own.git(), self.paths.tip(&self.branch)?.as_ref(), &changed::sparse(self)?)?;
        copy_index(&source, &self.git_dir).map_err(failed)
    }
}

/// The state of a lent directory after a run.
#[derive(Debug)]
pub(super) struct LentHead {
    /// The commit of the branch before the run.
    pub(super) before: Option<Sha>,
    /// The commit of the branch after it.
    pub(super) own: Option<Sha>,
    /// What the agent's worktree is on.
    pub(super) found: Head,
    /// The commit of that.
    pub(super) commit: Option<Sha>,
}

/// Removes what was lent, even when an agent made parts of it unreadable.
pub(super) fn return_lent(folder: &Path) -> io::Result<()> {
    // First, so that a directory that is half removed is taken for none.
    match std::fs::remove_file(folder.join(TIP)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    guard::remove(&folder.join(SOURCE))?;
    guard::remove(&folder.join(LENT))
}

/// The branch of the main checkout and its commit.
fn main_branch(paths: &GitPaths, references: &[u8]) -> Option<(String, String)> {
    let Ok(Head::Branch(name)) = pointer::head(&paths.git_dir) else { return None };
    let name = format!("refs/heads/{name}");
    let references = String::from_utf8_lossy(references);
    let (commit, _) = references.lines().filter_map(|line| line.split_once(' ')).find(|(_, known)| *known == name)?;
    Some((name, commit.to_owned()))
}

/// The commit of a reference in a directory that an agent wrote.
fn reference_in(lent: &Path, reference: &str) -> Option<Sha> {
    if let Ok(Some(text)) = pointer::read(lent, reference) {
        return Sha::parse(&String::from_utf8_lossy(&text)).ok();
    }
    let Ok(Entry::File { content, .. }) = tree::read(lent, b"packed-refs", MAX_FILE) else { return None };
    let text = String::from_utf8_lossy(&content);
    let (commit, _) = text.lines().filter_map(|line| line.split_once(' ')).find(|(_, name)| *name == reference)?;
    Sha::parse(commit).ok()
}

/// Copies a regular file, if it is there.
fn copy(from: &Path, name: &str, to: &Path) -> io::Result<()> {
    match tree::read(from, name.as_bytes(), MAX_FILE) {
        Ok(Entry::File { content, .. }) => std::fs::write(to.join(name), content),
        Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => Ok(()),
    }
}

/// Copies an index, if there is one of a sensible size.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let index = from.join("index");
    let is_fine = |metadata: std::fs::Metadata| metadata.is_file() && metadata.len() <= MAX_INDEX;
    if !std::fs::symlink_metadata(&index).is_ok_and(is_fine) {
        return Ok(());
    }
    let mut file = tempfile::NamedTempFile::new_in(to)?;
    io::copy(&mut std::fs::File::open(&index)?, &mut file)?;
    file.persist(to.join("index")).map_err(|error| error.error)?;
    Ok(())
}

/// The object directories that one borrows from, directly or not.
fn alternates_of(objects: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut pending = vec![objects.to_owned()];
    while let Some(objects) = pending.pop() {
        let Ok(Entry::File { content, .. }) = tree::read(&objects, b"info/alternates", MAX_FILE) else { continue };
        for line in content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
            let Ok(path) = objects.join(path_of(line)).canonicalize() else { continue };
            if found.len() < MAX_ALTERNATES && path.is_dir() && !found.contains(&path) {
                found.push(path.clone());
                pending.push(path);
            }
        }
    }
    found
}
