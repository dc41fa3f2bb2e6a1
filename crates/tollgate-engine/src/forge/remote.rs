//! Repositories on a code host, kept here as far as reviews need them.
//!
//! Each has a bare repository of its own in a cache. It holds all commits and folders, but of the files only those that
//! some review looked at (a *partial clone*): what a pull request changes, and what the branch it is for says about
//! how to review. Nothing is ever checked out; no hook, filter, submodule or Git LFS plays a part; git connects to the one
//! address it is told and nowhere else, and asks for nothing that was left out by itself.
//!
//! ```text
//! <cache>/github.com-owner-name-<hash>.git     the repository
//! <cache>/github.com-owner-name-<hash>.use     held by all who read it; its age tells when that was last
//! <cache>/github.com-owner-name-<hash>.fetch   held by the one who fetches
//! ```
//!
//! All of it can be deleted at any time when nobody holds it, and is fetched again. Credentials travel in the
//! environment of git and are stored nowhere.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::sha::Sha;

use crate::failure::Failure;
use crate::forge::git::{Blob, Environment, Git};
use crate::forge::host::Hidden;
use crate::forge::local::{Absent, Local, Trigger};
use crate::forge::project::Branch;
use crate::lock::Lock;

mod address;
mod damage;
pub(crate) mod failure;
mod files;
mod folder;
mod get;
mod lock;
mod tidy;

use address::Address;
use damage::Trouble;
use folder::Folder;
use get::{Get, Got};

pub use tidy::{DEFAULT_MAX_BYTES, Tidied, tidy};

/// How long all of one fetch may take.
const WALL: Duration = Duration::from_secs(600);
/// The most that commits and folders may take on their way.
const MAX_HISTORY_BYTES: u64 = 4 << 30;
/// More heads of earlier reviews are not asked for.
const MAX_MORE: usize = 8;

/// A repository on a code host.
#[derive(Debug)]
pub struct Remote {
    folder: Folder,
    address: Address,
    authorization: Option<Hidden>,
    /// Reads the repository, without the network.
    git: Git,
    held: Arc<Lock>,
}

/// What is to be fetched for one pull request.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its number.
    pub number: u64,
    /// The commit at its head.
    pub head: &'a Sha,
    /// The branch it is to be merged into.
    pub base_branch: &'a str,
    /// The commit at the head of that branch.
    pub base: &'a Sha,
    /// Heads that were reviewed earlier, which may be gone.
    pub more: &'a [Sha],
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where the pull request left its base; `None` when they have no commit in common.
    pub merge_base: Option<Sha>,
    /// The head, which is the one that was wanted.
    pub head: Sha,
    /// Those of the earlier heads that are no longer to be had.
    pub gone: Vec<Sha>,
}

impl Remote {
    /// Finds the place of a repository in a cache. `key` names it there, and nobody may see one who may not see the
    /// other of the same key: `github.com/owner/name`. `authorization` is the value of the header of that name.
    pub fn open(
        cache_root: &Path,
        key: &str,
        url: &str,
        authorization: Option<&Hidden>,
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
        // The operator's own configuration and passwords are for the operator.
        let environment = Environment { home: None, config_home: None, repository: Vec::new(), ..git };
        let git = Git::new(folder.path(), environment).at_git_dir(folder.path());
        Ok(Self { folder, address, authorization, git, held: Arc::new(held) })
    }

    /// Fetches what a review of a pull request needs, as far as it is not here yet. One at a time for each repository;
    /// others wait.
    pub fn fetch(&self, wanted: &Wanted<'_>, cancel: &CancellationToken) -> Result<Fetched, Failure> {
        let deadline = Instant::now() + WALL;
        let _one_at_a_time = lock::take(&self.folder.fetching(), deadline, cancel)?;
        self.folder.ensure()?;
        self.folder.sweep();
        let references = references(wanted);
        let get = Get { remote: self, references: &references, deadline, cancel };
        match self.fetch_all(wanted, &get) {
            // A cache that cannot be read is none: what is in it can be had again.
            Err(Trouble::Damaged(_)) => {
                self.folder.discard()?;
                self.folder.ensure()?;
                self.fetch_all(wanted, &get).map_err(|trouble| self.said(trouble))
            }
            fetched => fetched.map_err(|trouble| self.said(trouble)),
        }
    }

    /// Fetches the other files of a commit that was fetched, for agents, which look around. As many as is reasonable: what
    /// is missing then is missing for them alone.
    pub fn fetch_tree(&self, commit: &Sha, cancel: &CancellationToken) -> Result<(), Failure> {
        let deadline = Instant::now() + WALL;
        let _one_at_a_time = lock::take(&self.folder.fetching(), deadline, cancel)?;
        let get = Get { remote: self, references: &[], deadline, cancel };
        files::fetch_tree(&self.git, &get, commit).map_err(|trouble| self.said(trouble))
    }

    /// Opens the repository for a review of `A..B`, two commits that were fetched, by what a third says about how to review.
    /// Files whose content was too much to fetch are not reviewed, by name.
    pub fn local(&self, range: &str, judge: &Sha) -> Result<Local, Failure> {
        let local = Local::open(self.folder.path(), Trigger::Range(range.to_owned()), self.git.environment().clone())?;
        let files = files::absent(&self.git, range).map_err(|trouble| self.said(trouble))?;
        Ok(local.judged_by(judge).without(Absent::new(files, Arc::clone(&self.held))))
    }

    /// A file that says how to review, as of the base that was fetched; `None` when there is none. One that is there and
    /// was not fetched is a failure: without it a review would go by other rules.
    pub fn file(&self, commit: &Sha, path: &str, max_bytes: u64) -> Result<Option<Blob>, Failure> {
        match files::read(&self.git, commit, path, max_bytes).map_err(|trouble| self.said(trouble))? {
            Some(Blob::Missing) => Err(failure::no_settings(&self.address, path)),
            found => Ok(found),
        }
    }

    fn fetch_all(&self, wanted: &Wanted<'_>, get: &Get<'_>) -> Result<Fetched, Trouble> {
        self.fetch_commits(wanted, get)?;
        self.remember(wanted);
        let gone = self.fetch_more(wanted.more, get)?;
        let merge_base = self.merge_base(wanted.base, wanted.head)?;
        if let Some(merge_base) = &merge_base {
            files::fetch(&self.git, get, &files::Sides { merge_base, head: wanted.head, judge: wanted.base })?;
        }
        Ok(Fetched { merge_base, head: wanted.head.clone(), gone })
    }

    /// Fetches the two commits with their history: by name, or by their references where a host hands out nothing else.
    fn fetch_commits(&self, wanted: &Wanted<'_>, get: &Get<'_>) -> Result<(), Trouble> {
        let both = [wanted.head, wanted.base];
        let missing = self.missing(&both)?;
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let mut got = get.history(&names, MAX_HISTORY_BYTES)?;
        if got == Got::Refused {
            got = get.history(get.references, MAX_HISTORY_BYTES)?;
        }
        match got {
            Got::All | Got::Refused => {}
            Got::TooMuch => return Err(failure::too_large(&self.address, MAX_HISTORY_BYTES).into()),
            Got::TooLate => return Err(get.too_late()),
        }
        match self.missing(&both)?.first() {
            None => Ok(()),
            Some(gone) if *gone == wanted.head => Err(failure::head_gone(&self.address, wanted.number, gone).into()),
            Some(gone) => Err(failure::base_gone(&self.address, wanted.base_branch, gone).into()),
        }
    }

    /// The commit at the head of a branch when it was last fetched; `None` when it never was.
    pub fn last_base(&self, branch: &str) -> Result<Option<Sha>, Failure> {
        let reference = format!("refs/tollgate/bases/{}", folder::hash(branch));
        let answer = self.git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &reference])?;
        Ok(Sha::parse(String::from_utf8_lossy(&answer.stdout).trim()).ok())
    }

    /// Keeps the two commits as references: what is told to the host as known the next time.
    fn remember(&self, wanted: &Wanted<'_>) {
        let branch = folder::hash(wanted.base_branch);
        let updates = format!(
            "update refs/tollgate/pulls/{} {}\nupdate refs/tollgate/bases/{branch} {}\n",
            wanted.number, wanted.head, wanted.base
        );
        // Without them the next fetch takes longer, and nothing else.
        let _ = self.git.feed(&["update-ref", "--no-deref", "--stdin"], updates.as_bytes());
    }

    /// Fetches earlier heads; gives back those that are not to be had.
    fn fetch_more(&self, more: &[Sha], get: &Get<'_>) -> Result<Vec<Sha>, Trouble> {
        let more: Vec<&Sha> = more.iter().take(MAX_MORE).collect();
        for missing in self.missing(&more)? {
            // Each by itself: one that is gone has the host refuse all.
            if get.history(&[missing.to_string()], MAX_HISTORY_BYTES)? == Got::TooLate {
                break;
            }
        }
        Ok(self.missing(&more)?.into_iter().cloned().collect())
    }

    /// Those of the commits that are not here.
    fn missing<'a>(&self, commits: &[&'a Sha]) -> Result<Vec<&'a Sha>, Trouble> {
        let names: Vec<String> = commits.iter().map(|commit| format!("{commit}^{{commit}}")).collect();
        let here = files::sizes(&self.git, &names)?;
        Ok(commits.iter().zip(here).filter(|(_, size)| size.is_none()).map(|(commit, _)| *commit).collect())
    }

    fn merge_base(&self, base: &Sha, head: &Sha) -> Result<Option<Sha>, Trouble> {
        let answer = self.git.ask(&["merge-base", base.as_str(), head.as_str()])?;
        let first = String::from_utf8_lossy(&answer.stdout);
        match Sha::parse(first.lines().next().unwrap_or_default()) {
            Ok(merge_base) => Ok(Some(merge_base)),
            Err(_) if answer.stderr.contains("fatal:") || answer.stderr.contains("error:") => {
                Err(Trouble::Damaged(answer.stderr))
            }
            Err(_) => Ok(None),
        }
    }

    fn said(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Failure(failure) => failure,
            Trouble::Damaged(said) => failure::damaged(self.folder.path(), &said),
        }
    }
}

/// What the host itself calls what is wanted.
fn references(wanted: &Wanted<'_>) -> Vec<String> {
    let mut references = vec![format!("refs/pull/{}/head", wanted.number)];
    // A name that could mean anything else is not asked for.
    let branch = Branch::parse(wanted.base_branch).ok();
    references.extend(branch.map(|branch| format!("refs/heads/{}", branch.as_str())));
    references
}
