//! Reads changes from a repository on this machine, or from a patch.
//!
//! | trigger | comparison |
//! |---|---|
//! | default | the merge base with the main branch, and the working tree |
//! | `A..B` | A and B |
//! | `A...B` | the merge base of A and B, and B |
//! | `A` | A and the working tree, so everything since A |
//! | staged | `HEAD` and the index |
//! | worktree | `HEAD` and the working tree |
//! | patch | the content of the patch |
//!
//! The working tree includes untracked files that are not ignored. On the main branch itself the default compares with
//! its upstream or, if nothing is unpushed, only uncommitted work.

use std::path::{Path, PathBuf};

use tollgate_core::change::{Change, Generated};
use tollgate_core::coverage::{CoveredHunk, HunkStatus};
use tollgate_core::diff::{self, FileDiff, Refused};
use tollgate_core::path::{FilePath, PathDanger, RepoPath};
use tollgate_core::sha::Sha;
use tollgate_core::visible::grouped;

use crate::failure::{self, Failure};
use crate::forge::git::{Commits, Environment, Git};
use crate::forge::limits::{Collected, Collector};
use crate::forge::untracked;

mod base;
mod contents;
mod export;
mod generated;
mod guidance;
mod hidden;
mod identity;
mod incremental;
mod missing_blobs;
mod open;
mod patch;
mod range;
mod settings_file;
mod special_files;

pub(in crate::forge) use base::empty_tree;
pub use contents::Contents;
pub(crate) use generated::ATTRIBUTES;
pub(crate) use guidance::{GUIDANCE, GUIDANCE_FOLDER, PROJECT_PROMPTS};
pub use incremental::{HasFile, Known};
pub(in crate::forge) use missing_blobs::MissingBlobs;
pub use patch::PatchSource;
use range::Range;
pub use settings_file::BaseFile;

/// The source of the change to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// The difference from the merge base with the main branch, uncommitted work included.
    Default,
    /// A range as git writes it: `A..B`, `A...B`, or `A` for everything since A.
    Range(String),
    /// Staged changes.
    Staged,
    /// All uncommitted work.
    Worktree,
    /// A patch.
    Patch {
        /// The source of the patch, for messages.
        name: String,
        /// The patch, which is read once.
        source: PatchSource,
    },
}

/// The settings for reading a change.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// The branch to compare with, instead of the main branch.
    pub base: Option<String>,
    /// The maximum size of a diff.
    pub max_diff_bytes: usize,
}

/// A repository on this machine, opened for one trigger.
#[derive(Debug, Clone)]
pub struct Local {
    git: Git,
    trigger: Trigger,
    range: Option<Range>,
    repository: Option<Repository>,
    /// Files whose blobs are missing, and the lock that protects the others from eviction.
    missing_blobs: MissingBlobs,
    /// The commit whose settings and guidance apply, if not the base of the change.
    settings_commit: Option<Sha>,
}

/// The facts about a repository.
#[derive(Debug, Clone)]
struct Repository {
    /// The root of the working tree; `None` for a bare repository.
    root: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    shallow: bool,
    sha256: bool,
    /// `None` on a branch without commits.
    head: Option<Sha>,
    /// The name of the branch; `None` when `HEAD` is detached.
    branch: Option<String>,
    /// The commits of the range's sides, then its merge bases.
    revisions: Vec<Sha>,
}

/// The two sides of a comparison.
#[derive(Debug)]
struct Comparison {
    base: Sha,
    head: Sha,
    after: After,
    compared: String,
    title: Option<String>,
    notes: Vec<String>,
    untracked: Vec<Vec<u8>>,
    uncommitted: bool,
}

/// The location of the files after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum After {
    Commit(Sha),
    Index,
    WorkingTree,
}

impl Local {
    /// Opens the repository of `dir`. A patch needs none.
    pub fn open(dir: &Path, trigger: Trigger, environment: Environment) -> Result<Self, Failure> {
        let range = match &trigger {
            Trigger::Range(text) => Some(Range::parse(text)?),
            _ => None,
        };
        let mut git = Git::new(dir, environment);
        let repository = match open::look(&mut git, dir, range.as_ref()) {
            Ok(repository) => Some(repository),
            Err(_) if matches!(trigger, Trigger::Patch { .. }) => None,
            Err(failure) => return Err(failure),
        };
        Ok(Self { git, trigger, range, repository, missing_blobs: MissingBlobs::default(), settings_commit: None })
    }

    /// The root of the working tree, if any.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.repository.as_ref()?.root.as_deref()
    }

    /// The git directory that all worktrees share, with the hooks.
    #[must_use]
    pub fn common_dir(&self) -> Option<&Path> {
        Some(&self.repository.as_ref()?.common_dir)
    }

    /// Reads the change.
    pub fn fetch(&mut self, options: &FetchOptions) -> Result<Change, Failure> {
        if let Trigger::Patch { name, source } = &self.trigger {
            return patch::read(name, source, options);
        }
        let comparison = self.compare(options)?;
        self.read(comparison, options)
    }

    /// Reads the diff of a comparison.
    fn read(&self, comparison: Comparison, options: &FetchOptions) -> Result<Change, Failure> {
        if self.has_too_many_paths(&comparison)? {
            return Ok(too_many_paths(comparison));
        }
        let collected = self.diff(&comparison, options.max_diff_bytes, &[])?;
        self.build_change(comparison, options, collected)
    }

    /// Builds the change from git's diff and the untracked files.
    fn build_change(
        &self,
        comparison: Comparison,
        options: &FetchOptions,
        collected: Collected,
    ) -> Result<Change, Failure> {
        let max_untracked = options.max_diff_bytes.saturating_sub(collected.diff.len());
        let (mut change, _) = read_diff(collected, options);
        // Git refuses such paths, but a tree that was made without git may hold them.
        let dangerous = change.files.extract_if(.., |file| danger(file).is_some());
        let refused = dangerous.filter_map(|file| {
            let (path, danger) = danger(&file)?;
            Some(not_reviewed(&file, &format!("its path is `{path}`: {danger}")))
        });
        change.left_out.extend(refused);
        self.reveal_hidden(&mut change, &comparison, options)?;
        self.missing_blobs.report(&mut change);
        if let Some(root) = self.root() {
            let untracked = untracked::as_diff(root, &comparison.untracked, max_untracked);
            change.files.extend(diff::parse(untracked.diff).0);
            change.left_out.extend(untracked.left_out);
            change.notes.extend(untracked.notes);
        }
        change.files.sort_by(|a, b| a.path().cmp(b.path()));
        change.notes.splice(0..0, comparison.notes);
        let generated = self.generated(&comparison.base, &change.files);
        Ok(Change {
            title: comparison.title,
            base: comparison.base,
            head: comparison.head,
            uncommitted: comparison.uncommitted,
            compared: comparison.compared,
            generated,
            ..change
        })
    }

    /// True when two commits differ in so many paths that git must not list them.
    fn has_too_many_paths(&self, comparison: &Comparison) -> Result<bool, Failure> {
        match &comparison.after {
            After::Commit(head) => self.git.differs_in_more_than(MAX_PATHS, comparison.base.as_str(), head.as_str()),
            After::Index | After::WorkingTree => Ok(false),
        }
    }

    /// Access to the full text of files after the change.
    #[must_use]
    pub fn contents(&self) -> Contents {
        match (&self.trigger, self.root()) {
            (Trigger::Patch { .. }, _) => Contents::nowhere(),
            (_, Some(root)) if self.ends_in_the_tree() => Contents::in_tree(root),
            _ => Contents::in_repository(self.git.clone(), self.root()),
        }
    }

    /// Every path in the repository before the change, for rules about other files.
    ///
    /// Empty on failure: these rules are skipped then, and nothing else depends on it.
    #[must_use]
    pub(crate) fn paths_before(&self, change: &Change) -> Vec<String> {
        if self.repository.is_none() || change.base.is_null() || change.is_empty() {
            return Vec::new();
        }
        let mut list = Vec::new();
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", change.base.as_str()];
        let listed = self.git.run_into(&args, &mut |chunk| {
            list.extend_from_slice(chunk);
            list.len() <= MAX_PATH_LIST
        });
        if listed.is_err() || list.len() > MAX_PATH_LIST {
            return Vec::new();
        }
        let paths = list.split(|&byte| byte == 0).filter(|path| !path.is_empty());
        paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    /// The commits of a change, oldest first; none for a patch and on a branch without commits.
    pub fn commits(&self, change: &Change) -> Result<Commits, Failure> {
        self.commits_between(&change.base, &change.head)
    }

    /// The commits of the given range, oldest first: those of its second side that its first lacks.
    pub fn commits_of_range(&self) -> Result<Commits, Failure> {
        let repository = self.repository()?;
        let side = |index: usize| repository.revisions.get(index).ok_or_else(|| failure::git_unreadable("rev-parse"));
        match &self.range {
            Some(Range::Between(..) | Range::SinceFork(..)) => self.commits_between(side(0)?, side(1)?),
            Some(Range::Since(_)) | None => match &repository.head {
                Some(head) => self.commits_between(side(0)?, head),
                None => Ok(Commits { complete: true, ..Commits::default() }),
            },
        }
    }

    fn commits_between(&self, base: &Sha, head: &Sha) -> Result<Commits, Failure> {
        if self.repository.is_none() || head.is_null() {
            return Ok(Commits { complete: true, ..Commits::default() });
        }
        let base = Some(base).filter(|base| !base.is_null() && !base::is_empty_tree(base));
        self.git.commits(base, head)
    }

    fn repository(&self) -> Result<&Repository, Failure> {
        self.repository.as_ref().ok_or_else(|| failure::git_unreadable("rev-parse"))
    }

    /// Runs `git diff` with reproducible output.
    fn diff(&self, comparison: &Comparison, limit: usize, more: &[&std::ffi::OsStr]) -> Result<Collected, Failure> {
        let mut collector = Collector::new(limit);
        self.run_diff(comparison, more, &mut |chunk| collector.take(chunk))?;
        Ok(collector.finish())
    }

    fn run_diff(
        &self,
        comparison: &Comparison,
        more: &[&std::ffi::OsStr],
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Failure> {
        let raw = more.contains(&std::ffi::OsStr::new(incremental::RAW));
        let flags = DIFF.iter().filter(|arg| !(raw && **arg == "--patch")).copied();
        let mut args: Vec<&std::ffi::OsStr> = ["diff"].into_iter().chain(flags).map(AsRef::as_ref).collect();
        let (base, head);
        match &comparison.after {
            After::Commit(sha) => {
                (base, head) = (comparison.base.as_str(), sha.as_str());
                args.extend([base.as_ref(), head.as_ref()] as [&std::ffi::OsStr; 2]);
            }
            After::Index => {
                args.extend(["--cached".as_ref(), comparison.base.as_str().as_ref()] as [&std::ffi::OsStr; 2])
            }
            After::WorkingTree => args.push(comparison.base.as_str().as_ref()),
        }
        args.extend(more);
        if !more.contains(&std::ffi::OsStr::new("--")) {
            args.push("--".as_ref());
        }
        let missing_blobs = self.missing_blobs.as_arguments();
        args.extend(missing_blobs.iter().map(std::ffi::OsString::as_os_str));
        self.git.run_into(&args, take)
    }
}

/// The maximum number of paths of a change: beyond it nothing is read, and nothing is reviewed.
pub(in crate::forge) const MAX_PATHS: u64 = 1_000_000;

/// A change of which nothing is read.
fn too_many_paths(comparison: Comparison) -> Change {
    let reason = format!("the change has more than {} paths", grouped(MAX_PATHS));
    let file = FilePath::of_repo_path(&RepoPath::from_bytes(b"(all files)"));
    Change {
        title: comparison.title,
        base: comparison.base,
        head: comparison.head,
        uncommitted: comparison.uncommitted,
        compared: comparison.compared,
        files: Vec::new(),
        known: Vec::new(),
        left_out: vec![CoveredHunk { file, lines: None, status: HunkStatus::NotReviewed(reason) }],
        generated: Generated::default(),
        notes: comparison.notes,
    }
}

/// The maximum size of a list of paths.
const MAX_PATH_LIST: usize = 16 * 1024 * 1024;

/// Arguments of `git diff` and `diff-tree` that make every setting explicit.
pub(super) const DIFF: [&str; 19] = [
    "--patch",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-color-moved",
    "--ws-error-highlight=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--full-index",
    "--find-renames",
    "-l1000",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--unified=3",
    "--inter-hunk-context=0",
    "--no-relative",
    "--submodule=short",
    // A recursive diff would run git in the submodule, with the submodule's own configuration.
    "--ignore-submodules=dirty",
    "-O/dev/null",
];

/// Parses a diff; truncated and unparsable parts become notes.
fn read_diff(collected: Collected, options: &FetchOptions) -> (Change, Vec<Refused>) {
    let (files, refused) = diff::parse(collected.diff);
    let (cut, _) = diff::parse(collected.left_out);
    let mut notes = Vec::new();
    if !cut.is_empty() {
        let (n_cut, limit) = (cut.len(), options.max_diff_bytes);
        notes.push(format!("the diff is larger than {limit} bytes: {n_cut} of its files were not looked at"));
    }
    let reason = format!("the diff is larger than {} bytes", options.max_diff_bytes);
    let mut left_out: Vec<CoveredHunk> = cut.iter().map(|file| not_reviewed(file, &reason)).collect();
    for refused in &refused {
        notes.push(format!("line {} of the diff was not understood: {}", refused.line_number, refused.problem));
        left_out.extend(files.last().map(|file| not_reviewed(file, &refused.problem)));
    }
    let change = Change {
        title: None,
        base: Sha::null(),
        head: Sha::null(),
        uncommitted: false,
        compared: String::new(),
        files,
        known: Vec::new(),
        left_out,
        generated: Generated::default(),
        notes,
    };
    (change, refused)
}

/// The first path of a file that no checkout may write.
fn danger(file: &FileDiff) -> Option<(&RepoPath, PathDanger)> {
    [&file.old_path, &file.new_path].into_iter().flatten().find_map(|path| Some((path, path.danger()?)))
}

fn not_reviewed(file: &FileDiff, reason: &str) -> CoveredHunk {
    let file = FilePath::of_repo_path(file.path());
    CoveredHunk { file, lines: None, status: HunkStatus::NotReviewed(reason.to_owned()) }
}
