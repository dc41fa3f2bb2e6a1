//! Pull requests on a code host: enqueued by webhook deliveries, reviewed by workers, published through an outbox.
//!
//! ```text
//! delivery ─► inbox ─► worker ─► work: fetch, review ─► store (review + outbox entries) ─► publish
//! └────► bot_commands: commands in comments, answered once
//! ```
//!
//! Due work is in the database; the worker that leases a pull request handles everything enqueued until then. A killed
//! server costs only time: its outbox entries are published by the next worker, which first looks for existing posts.
//! The code host is called through [`Host`] alone, git data comes by `git fetch`.

use std::path::PathBuf;
use std::sync::Arc;

use tollgate_core::pull::Repo;

use crate::board::Home;
use crate::config::{Github, Settings};
use crate::failure::Failure;
use crate::forge::github::App;
use crate::forge::host::{BotIdentity, FailedDelivery, FenceCheck, Host, HostResult};
use crate::store::pulls::ConcurrencyLimits;
use crate::store::{Database, Subject};

mod bot_commands;
pub mod compose;
mod failure;
pub mod jobs;
pub mod post;
pub mod publish;
mod reconcile;
mod runner;
mod work;

pub use crate::worker::Log;
pub use reconcile::Reconciled;
pub use runner::Runner;
pub use work::Stepped;

/// The code hosts, one for each repository in which the app acts.
pub trait Hosts: Send + Sync {
    /// The host of a repository for an installation of our app; it refuses to write once `is_ours` returns false.
    fn host(&self, installation: Option<u64>, repo: &Repo, is_ours: FenceCheck) -> HostResult<Arc<dyn Host>>;
    /// Our identity.
    fn me(&self) -> HostResult<BotIdentity>;
    /// Webhook deliveries that failed, newest first, back to a time in milliseconds since 1970.
    fn failed_deliveries(&self, since_ms: u64) -> HostResult<Vec<FailedDelivery>>;
    /// Requests a redelivery.
    fn redeliver(&self, id: u64) -> HostResult<()>;
}

impl Hosts for App {
    fn host(&self, installation: Option<u64>, repo: &Repo, is_ours: FenceCheck) -> HostResult<Arc<dyn Host>> {
        let installation = installation.map_or_else(|| self.installation_of(repo), Ok)?;
        Ok(self.host_while(installation, repo, is_ours))
    }

    fn me(&self) -> HostResult<BotIdentity> {
        Self::me(self)
    }

    fn failed_deliveries(&self, since_ms: u64) -> HostResult<Vec<FailedDelivery>> {
        Self::failed_deliveries(self, since_ms)
    }

    fn redeliver(&self, id: u64) -> HostResult<()> {
        Self::redeliver(self, id)
    }
}

/// The code host and our appearance there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The web URL of the host: `https://github.com`.
    pub url: String,
    /// The name of our check run.
    pub check_name: String,
    /// The public URL of this server, for links.
    pub public_url: Option<String>,
    /// The number of pull requests processed at once.
    pub concurrency: usize,
    /// The concurrency limits per repository and per installation, across all machines.
    pub limits: ConcurrencyLimits,
}

impl Site {
    /// The name of the host without a scheme: `github.com`.
    pub fn name(&self) -> &str {
        self.url.split_once("://").map_or(self.url.as_str(), |(_, name)| name)
    }

    /// The concurrency limits in the settings.
    pub fn limits(github: &Github) -> ConcurrencyLimits {
        let limit = |number: u32| (number > 0).then_some(number);
        let of_repository = limit(github.concurrency_per_repository);
        ConcurrencyLimits { of_repository, of_installation: limit(github.concurrency_per_installation) }
    }

    /// The subject under which reviews of a pull request are stored.
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
    /// The settings without those of a repository.
    settings: Settings,
    hosts: Arc<dyn Hosts>,
    site: Site,
}

impl Pulls {
    /// Opens the pull requests of a host.
    pub fn open(database: Database, home: Home, hosts: Arc<dyn Hosts>, site: Site) -> Result<Self, Failure> {
        let settings = home.settings()?;
        Ok(Self { inner: Arc::new(Inner { database, home, settings, hosts, site }) })
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// The environment of the program.
    pub fn home(&self) -> &Home {
        &self.inner.home
    }

    /// The code host.
    pub fn site(&self) -> &Site {
        &self.inner.site
    }

    /// The settings without those of a repository.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    fn hosts(&self) -> &dyn Hosts {
        self.inner.hosts.as_ref()
    }

    fn now(&self) -> u64 {
        self.home().now(self.database())
    }

    /// The directory of partial clones.
    fn cache(&self) -> PathBuf {
        self.home().data.join("remotes")
    }

    /// The cache key of a repository. Installations do not share data, because their access differs.
    fn cache_key(&self, installation: Option<u64>, repo: &Repo) -> String {
        let key = format!("{}/{}", self.site().name(), repo.key());
        installation.map_or_else(|| key.clone(), |installation| format!("{key}/{installation}"))
    }
}
