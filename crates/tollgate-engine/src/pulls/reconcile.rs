//! What no delivery told us is found out: on start, and every few minutes.
//!
//! Deliveries that the host could not hand over are asked for once more; open pull requests of repositories that we know
//! are looked through for heads that nobody reviewed. What is due in the database, or was left by who is gone, is found
//! by the runner without this.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_core::pull::Repo;

use super::Pulls;
use crate::failure::Failure;
use crate::forge::remote;
use crate::store::pulls::PullRow;

/// Deliveries are asked for from so long ago when nobody knows since when; a host keeps them no longer.
const FIRST_LOOK_MS: u64 = 3 * 24 * 60 * 60 * 1_000;
/// What was delivered just now may still be on its way.
const OVERLAP_MS: u64 = 60_000;
/// So many deliveries are asked for once more in one go.
const MAX_REDELIVERED: usize = 500;
/// So many pull requests, and repositories of them, are looked through in one go.
const MAX_PULLS: usize = 1_000;
const MAX_REPOS: usize = 100;
/// So many of each repository.
const MAX_OPEN: usize = 100;

/// What was found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// How many deliveries were asked for once more.
    pub n_redelivered: usize,
    /// How many pull requests are to be looked at.
    pub n_wanted: usize,
    /// What could not be found out, for people.
    pub problems: Vec<String>,
}

impl Pulls {
    /// Finds out what no delivery told us, since a time in milliseconds since 1970.
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
        if let Err(failure) = remote::tidy(&self.cache(), remote::DEFAULT_MAX_BYTES, &self.home().git) {
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
            // It may have arrived, and only our answer did not.
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

    /// Looks for heads of a repository that nobody reviewed. What cannot be found out is given back in words.
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
