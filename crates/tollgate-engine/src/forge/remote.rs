//! The partial clone cache: remote repositories with only the blobs that reviews need.
//!
//! Each is a bare repository in a cache. It holds all commits and trees, but only the blobs that some review read: the
//! changed files of pull requests, and the settings of their target branches. Nothing is ever checked out; no hook,
//! filter, submodule or Git LFS runs; git connects only to the given URL, and never fetches missing objects lazily.
//!
//! ```text
//! <cache>/github.com-owner-name-<hash>.git     the repository
//! <cache>/github.com-owner-name-<hash>.use     shared lock of readers; its mtime is the last use
//! <cache>/github.com-owner-name-<hash>.fetch   exclusive lock of the fetcher
//! ```
//!
//! Without locks held, the cache can be deleted at any time and is fetched again. Credentials are passed in git's
//! environment and never stored.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::sha::Sha;

use crate::failure::Failure;
use crate::forge::git::{Blob, Environment, Git};
use crate::forge::host::Secret;
use crate::forge::local::{Local, MissingBlobs, Trigger};
use crate::forge::project::Branch;
use crate::lock::Lock;

mod address;
mod corruption;
mod eviction;
pub(crate) mod failure;
mod fetch;
mod files;
mod folder;
mod lock;

use address::Address;
use corruption::FetchError;
use fetch::{FetchResult, Fetcher};
use folder::Folder;

pub use eviction::{DEFAULT_MAX_BYTES, Eviction, evict};

/// The time limit of one fetch.
const WALL: Duration = Duration::from_secs(600);
/// The maximum size of fetched commits and trees.
const MAX_HISTORY_BYTES: u64 = 4 << 30;
/// The maximum number of earlier heads that are fetched.
const MAX_MORE: usize = 8;

/// A cached remote repository.
#[derive(Debug)]
pub struct Remote {
    folder: Folder,
    address: Address,
    authorization: Option<Secret>,
    /// Git for reading the repository, without the network.
    git: Git,
    held: Arc<Lock>,
}

/// The commits to fetch for a pull request.
#[derive(Debug, Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The number of the pull request.
    pub number: u64,
    /// The commit at its head.
    pub head: &'a Sha,
    /// The target branch.
    pub base_branch: &'a str,
    /// The tip of the target branch.
    pub base: &'a Sha,
    /// Heads of earlier reviews, which may be gone.
    pub more: &'a [Sha],
}

/// The fetched commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The merge base; `None` for unrelated histories.
    pub merge_base: Option<Sha>,
    /// The head that was requested.
    pub head: Sha,
    /// The earlier heads that no longer exist.
    pub gone: Vec<Sha>,
}

impl Remote {
    /// Opens the cache entry of a repository. Users of the same `key` share its data, so the key includes everything
    /// that access depends on: `github.com/owner/name`. `authorization` is the value of the HTTP header.
    pub fn open(
        cache_root: &Path,
        key: &str,
        url: &str,
        authorization: Option<&Secret>,
        git: Environment,
    ) -> Result<Self, Failure> {
        let address = Address::parse(url)?;
        let authorization = authorization.cloned();
        if authorization.as_ref().is_some_and(|value| !value.expose().chars().all(|it| matches!(it, ' '..='~'))) {
            return Err(failure::bad_authorization(&address));
        }
        let folder = Folder::of(cache_root, key)?;
        let held = lock::hold(&folder.in_use())?;
        folder.ensure()?;
        // The operator's own configuration and credentials must not be used.
        let environment = Environment { home: None, config_home: None, repository: Vec::new(), ..git };
        let git = Git::new(folder.path(), environment).at_git_dir(folder.path());
        Ok(Self { folder, address, authorization, git, held: Arc::new(held) })
    }

    /// Fetches the missing commits and blobs for a review. One fetch at a time per repository; others wait.
    pub fn fetch(&self, wanted: &FetchRequest<'_>, cancel: &CancellationToken) -> Result<Fetched, Failure> {
        let deadline = Instant::now() + WALL;
        let _one_at_a_time = lock::take(&self.folder.fetching(), deadline, cancel)?;
        self.folder.ensure()?;
        self.folder.sweep();
        let references = references(wanted);
        let get = Fetcher { remote: self, references: &references, deadline, cancel };
        match self.fetch_all(wanted, &get) {
            // A corrupt cache entry is discarded and fetched again.
            Err(FetchError::Damaged(_)) => {
                self.folder.discard()?;
                self.folder.ensure()?;
                self.fetch_all(wanted, &get).map_err(|error| self.said(error))
            }
            fetched => fetched.map_err(|error| self.said(error)),
        }
    }

    /// Fetches the other files of a fetched commit, for agents that explore. Best effort: only agents miss the rest.
    pub fn fetch_tree(&self, commit: &Sha, cancel: &CancellationToken) -> Result<(), Failure> {
        let deadline = Instant::now() + WALL;
        let _one_at_a_time = lock::take(&self.folder.fetching(), deadline, cancel)?;
        let get = Fetcher { remote: self, references: &[], deadline, cancel };
        files::fetch_tree(&self.git, &get, commit).map_err(|error| self.said(error))
    }

    /// Opens the repository for a review of the fetched commits `A..B`, with the settings of a third. Files that were
    /// too large to fetch are reported as not reviewed.
    pub fn local(&self, range: &str, settings_commit: &Sha) -> Result<Local, Failure> {
        let local = Local::open(self.folder.path(), Trigger::Range(range.to_owned()), self.git.environment().clone())?;
        let files = files::absent(&self.git, range).map_err(|error| self.said(error))?;
        Ok(local.with_settings_of(settings_commit).without(MissingBlobs::new(files, Arc::clone(&self.held))))
    }

    /// Reads a settings file of the fetched base; `None` when it does not exist. A file that exists but was not
    /// fetched is a failure, because a review without it would use other rules.
    pub fn file(&self, commit: &Sha, path: &str, max_bytes: u64) -> Result<Option<Blob>, Failure> {
        match files::read(&self.git, commit, path, max_bytes).map_err(|error| self.said(error))? {
            Some(Blob::Missing) => Err(failure::no_settings(&self.address, path)),
            found => Ok(found),
        }
    }

    fn fetch_all(&self, wanted: &FetchRequest<'_>, get: &Fetcher<'_>) -> Result<Fetched, FetchError> {
        self.fetch_commits(wanted, get)?;
        self.remember(wanted);
        let gone = self.fetch_more(wanted.more, get)?;
        let merge_base = self.merge_base(wanted.base, wanted.head)?;
        if let Some(merge_base) = &merge_base {
            files::fetch(
                &self.git,
                get,
                &files::ReviewCommits { merge_base, head: wanted.head, settings: wanted.base },
            )?;
        }
        Ok(Fetched { merge_base, head: wanted.head.clone(), gone })
    }

    /// Fetches both commits with their history: by name, or by reference from hosts that serve nothing else.
    fn fetch_commits(&self, wanted: &FetchRequest<'_>, get: &Fetcher<'_>) -> Result<(), FetchError> {
        let both = [wanted.head, wanted.base];
        let missing = self.missing(&both)?;
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let mut got = get.history(&names, MAX_HISTORY_BYTES)?;
        if got == FetchResult::Refused {
            got = get.history(get.references, MAX_HISTORY_BYTES)?;
        }
        match got {
            FetchResult::All | FetchResult::Refused => {}
            FetchResult::TooMuch => return Err(failure::too_large(&self.address, MAX_HISTORY_BYTES).into()),
            FetchResult::TooLate => return Err(get.too_late()),
        }
        match self.missing(&both)?.first() {
            None => Ok(()),
            Some(gone) if *gone == wanted.head => Err(failure::head_gone(&self.address, wanted.number, gone).into()),
            Some(gone) => Err(failure::base_gone(&self.address, wanted.base_branch, gone).into()),
        }
    }

    /// The last fetched tip of a branch.
    pub(crate) fn last_base(&self, branch: &str) -> Result<Option<Sha>, Failure> {
        let reference = format!("refs/tollgate/bases/{}", folder::hash(branch));
        let answer = self.git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &reference])?;
        Ok(Sha::parse(String::from_utf8_lossy(&answer.stdout).trim()).ok())
    }

    /// Keeps both commits as references, which shortens the next negotiation.
    fn remember(&self, wanted: &FetchRequest<'_>) {
        let branch = folder::hash(wanted.base_branch);
        let updates = format!(
            "update refs/tollgate/pulls/{} {}\nupdate refs/tollgate/bases/{branch} {}\n",
            wanted.number, wanted.head, wanted.base
        );
        // Without references the next fetch is only slower.
        let _ = self.git.feed(&["update-ref", "--no-deref", "--stdin"], updates.as_bytes());
    }

    /// Fetches earlier heads and returns the missing ones.
    fn fetch_more(&self, more: &[Sha], get: &Fetcher<'_>) -> Result<Vec<Sha>, FetchError> {
        let more: Vec<&Sha> = more.iter().take(MAX_MORE).collect();
        for missing in self.missing(&more)? {
            // One by one, because hosts reject a whole request that names a missing commit.
            if get.history(&[missing.to_string()], MAX_HISTORY_BYTES)? == FetchResult::TooLate {
                break;
            }
        }
        Ok(self.missing(&more)?.into_iter().cloned().collect())
    }

    /// The commits that are not in the cache.
    fn missing<'a>(&self, commits: &[&'a Sha]) -> Result<Vec<&'a Sha>, FetchError> {
        let names: Vec<String> = commits.iter().map(|commit| format!("{commit}^{{commit}}")).collect();
        let here = files::sizes(&self.git, &names)?;
        Ok(commits.iter().zip(here).filter(|(_, size)| size.is_none()).map(|(commit, _)| *commit).collect())
    }

    fn merge_base(&self, base: &Sha, head: &Sha) -> Result<Option<Sha>, FetchError> {
        let answer = self.git.ask(&["merge-base", base.as_str(), head.as_str()])?;
        let first = String::from_utf8_lossy(&answer.stdout);
        match Sha::parse(first.lines().next().unwrap_or_default()) {
            Ok(merge_base) => Ok(Some(merge_base)),
            Err(_) if answer.stderr.contains("fatal:") || answer.stderr.contains("error:") => {
                Err(FetchError::Damaged(answer.stderr))
            }
            Err(_) => Ok(None),
        }
    }

    fn said(&self, error: FetchError) -> Failure {
        match error {
            FetchError::Failure(failure) => failure,
            FetchError::Damaged(said) => failure::damaged(self.folder.path(), &said),
        }
    }
}

/// The host's references of the pull request and its target branch.
fn references(wanted: &FetchRequest<'_>) -> Vec<String> {
    let mut references = vec![format!("refs/pull/{}/head", wanted.number)];
    // A name that is not a valid branch is not requested.
    let branch = Branch::parse(wanted.base_branch).ok();
    references.extend(branch.map(|branch| format!("refs/heads/{}", branch.as_str())));
    references
}
