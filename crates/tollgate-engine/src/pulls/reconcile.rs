//! The reconcile job: finds what no delivery reported, at startup and every few minutes.
//!
//! Requests redelivery of failed webhook deliveries, and searches open pull requests of known repositories for heads
//! that were not reviewed. Jobs whose lease expired are found by the worker without this.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_core::pull::Repo;

use super::Pulls;
use crate::failure::Failure;
use crate::forge::remote;
use crate::store::pulls::PullRow;

/// How far back failed deliveries are listed the first time; hosts keep them no longer.
const FIRST_LOOK_MS: u64 = 3 * 24 * 60 * 60 * 1_000;
/// Overlap with the previous run, for deliveries that were in flight.
const OVERLAP_MS: u64 = 60_000;
/// The maximum number of redeliveries per run.
const MAX_REDELIVERED: usize = 500;
/// The maximum number of pull requests and repositories per run.
const MAX_PULLS: usize = 1_000;
const MAX_REPOS: usize = 100;
/// The maximum number of open pull requests per repository.
const MAX_OPEN: usize = 100;

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// The number of requested redeliveries.
    pub n_redelivered: usize,
    /// The number of enqueued pull requests.
    pub n_wanted: usize,
    /// Errors, for people.
    pub problems: Vec<String>,
}

impl Pulls {
    /// Reconciles deliveries and open pull requests since a time in milliseconds since 1970.
    pub fn reconcile(&self, since_ms: Option<u64>) -> Result<Reconciled, Failure> {
        let mut found = Reconciled::default();
        let now = self.now();
        self.redeliver(since_ms.unwrap_or_else(|| now.saturating_sub(FIRST_LOOK_MS)), &mut found)?;
        let mut repos: BTreeMap<String, PullRow> = BTreeMap::new();
        for row in self.database().open_pulls(MAX_PULLS)? {
            repos.entry(row.repo.key()).or_insert(row);
        }
        for row in repos.values().take(MAX_REPOS) {
            if let Err(problem) = self.look_through(&row.repo, row.installation, &mut found)? {
                found.problems.push(problem);
            }
        }
        self.database().prune_quota(now)?;
        if let Err(failure) = remote::evict(&self.cache(), remote::DEFAULT_MAX_BYTES, &self.home().git) {
            found.problems.push(failure.message);
        }
        Ok(found)
    }

    fn redeliver(&self, since_ms: u64, found: &mut Reconciled) -> Result<(), Failure> {
        let failed = match self.hosts().failed_deliveries(since_ms.saturating_sub(OVERLAP_MS)) {
            Ok(failed) => failed,
            Err(error) => {
                found.problems.push(error.message);
                return Ok(());
            }
        };
        for delivery in failed.iter().take(MAX_REDELIVERED) {
            // The delivery may have arrived, and only our response was lost.
            if self.database().knows_delivery(&delivery.guid)? {
                continue;
            }
            match self.hosts().redeliver(delivery.id) {
                Ok(()) => found.n_redelivered += 1,
                Err(error) => {
                    found.problems.push(error.message);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Enqueues pull requests of a repository whose head was not reviewed. An error of the host is returned as text.
    fn look_through(
        &self,
        repo: &Repo,
        installation: Option<u64>,
        found: &mut Reconciled,
    ) -> Result<Result<(), String>, Failure> {
        let open =
            self.hosts().host(installation, repo, Arc::new(|| false)).and_then(|host| host.open_pulls(repo, MAX_OPEN));
        let open = match open {
            Ok(open) => open,
            Err(error) => return Ok(Err(error.message)),
        };
        for pull in open {
            let row = self.database().pull_at(repo, pull.number)?;
            let is_known = row.is_some_and(|row| row.is_owed() || row.reviewed_head.as_ref() == Some(&pull.head));
            if !is_known && self.database().request_pull(repo, pull.number, installation, self.now())? {
                found.n_wanted += 1;
            }
        }
        Ok(Ok(()))
    }
}
