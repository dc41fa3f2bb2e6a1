//! Pull requests on a code host: reviewed, and kept up to date there.
//!
//! ```text
//! delivery ─► store ─► runner ─► work: read, fetch, review ─► store (review + posts) ─► publish
//!                         └────► told: what people say to us, answered once
//! ```
//!
//! What is owed is in the database; whoever claims it carries out all that was asked until then. A killed server costs
//! time and nothing else: what was stored is published by the next one, which looks first what is there. The code host is
//! asked through [`Host`] alone, git data comes by `git fetch`.

use std::path::PathBuf;
use std::sync::Arc;

use tollgate_core::pull::Repo;

use crate::board::Home;
use crate::config::{Github, Settings};
use crate::failure::Failure;
use crate::forge::github::App;
use crate::forge::host::{Asked, FailedDelivery, Host, IsOurs, Me};
use crate::store::pulls::Limits;
use crate::store::{Database, Subject};

mod failure;
pub mod jobs;
pub mod post;
pub mod present;
pub mod publish;
mod reconcile;
mod runner;
mod told;
mod work;

pub use reconcile::Reconciled;
pub use runner::{Runner, Tell};
pub use work::Stepped;

/// Hosts, one for each repository in whose name we may act.
pub trait Hosts: Send + Sync {
    /// The host of a repository, in the name of an installation of our app, to write there while that is ours to do.
    fn host(&self, installation: Option<u64>, repo: &Repo, is_ours: IsOurs) -> Asked<Arc<dyn Host>>;
    /// Who we are there.
    fn me(&self) -> Asked<Me>;
    /// Deliveries that could not be handed over, newest first, back to a time in milliseconds since 1970.
    fn failed_deliveries(&self, since_ms: u64) -> Asked<Vec<FailedDelivery>>;
    /// Asks to deliver once more.
    fn redeliver(&self, id: u64) -> Asked<()>;
}

impl Hosts for App {
    fn host(&self, installation: Option<u64>, repo: &Repo, is_ours: IsOurs) -> Asked<Arc<dyn Host>> {
        let installation = installation.map_or_else(|| self.installation_of(repo), Ok)?;
        Ok(self.host_while(installation, repo, is_ours))
    }

    fn me(&self) -> Asked<Me> {
        Self::me(self)
    }

    fn failed_deliveries(&self, since_ms: u64) -> Asked<Vec<FailedDelivery>> {
        Self::failed_deliveries(self, since_ms)
    }

    fn redeliver(&self, id: u64) -> Asked<()> {
        Self::redeliver(self, id)
    }
}

/// Where pull requests are, and how we appear there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Where the host is, for links: `https://github.com`.
    pub url: String,
    /// The name of our check.
    pub check_name: String,
    /// Where people reach this server, for links to it.
    pub public_url: Option<String>,
    /// How many pull requests are worked on at once.
    pub concurrency: usize,
    /// How many of one repository and of one installation, on all machines together.
    pub limits: Limits,
}

impl Site {
    /// The host's name, without a scheme: `github.com`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.url.split_once("://").map_or(self.url.as_str(), |(_, name)| name)
    }

    /// How many pull requests of one kind are worked on at once, as the settings have it.
    #[must_use]
    pub fn limits(github: &Github) -> Limits {
        let limit = |number: u32| (number > 0).then_some(number);
        let of_repository = limit(github.concurrency_per_repository);
        Limits { of_repository, of_installation: limit(github.concurrency_per_installation) }
    }

    /// What reviews of a pull request are about, in the memory.
    #[must_use]
    pub fn subject(&self, repo: &Repo, number: u64) -> Subject {
        let repository = format!("{}/{}", self.name(), repo.key());
        Subject { repository, name: format!("pr {number}"), scope: "pull".to_owned() }
    }
}

/// The pull requests of one code host.
#[derive(Clone)]
pub struct Pulls {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    home: Home,
    /// The settings that hold whatever the repository.
    settings: Settings,
    hosts: Arc<dyn Hosts>,
    site: Site,
}

impl Pulls {
    /// The pull requests of a host.
    pub fn open(database: Database, home: Home, hosts: Arc<dyn Hosts>, site: Site) -> Result<Self, Failure> {
        let settings = home.settings()?;
        Ok(Self { inner: Arc::new(Inner { database, home, settings, hosts, site }) })
    }

    /// What is stored.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// What is needed from outside.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.inner.home
    }

    /// Where pull requests are.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.inner.site
    }

    /// The settings that hold whatever the repository.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    fn hosts(&self) -> &dyn Hosts {
        self.inner.hosts.as_ref()
    }

    /// The time in milliseconds since 1970; several machines go by the clock of the database that they share.
    fn now(&self) -> u64 {
        if self.database().place().file().is_some() { (self.inner.home.clock)() } else { self.database().now_ms() }
    }

    /// Where git data is kept.
    fn cache(&self) -> PathBuf {
        self.home().data.join("remotes")
    }

    /// The name of a repository in the cache. What one installation may see another may not.
    fn cache_key(&self, installation: Option<u64>, repo: &Repo) -> String {
        let key = format!("{}/{}", self.site().name(), repo.key());
        installation.map_or_else(|| key.clone(), |installation| format!("{key}/{installation}"))
    }
}
