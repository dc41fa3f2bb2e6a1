//! The daily quota of model reviews, and the texts when it is exhausted.
//!
//! Beyond the operator's quota only rules run. Hunks that models would have reviewed count as not reviewed, so that
//! frequent pushes do not evade them.

use super::{JobError, Pull, PullJob, PullRow, fenced};
use crate::store::pulls::{DailyLimits, Quota, QuotaRequest, SpentQuota};

/// The suffix of a review's key without models: with models it would be another review.
pub(super) const UNASKED: &str = " without models";

/// Takes a model review from the quota.
pub(super) fn ask(job: &PullJob<'_>, row: &PullRow, pull: &Pull) -> Result<Quota, JobError> {
    let github = &job.pulls.settings().github;
    let limit = |number: u32| (number > 0).then_some(number);
    let allowance = if row.is_asked_again() {
        // A review requested by hand is unlimited, since it needs write permission.
        DailyLimits::default()
    } else {
        let of_repository = limit(github.model_reviews_per_repository);
        DailyLimits { of_repository, of_author: limit(github.model_reviews_per_author) }
    };
    let asking = QuotaRequest { author: pull.author.clone(), allowance, now_ms: job.pulls.now() };
    fenced(job.pulls.database().take_quota(job.token, asking))
}

/// The reason why models skipped a hunk.
pub(super) fn why(spent: SpentQuota) -> String {
    match spent {
        SpentQuota::Repository(most) => {
            format!("not asked, the repository had its {most} reviews with models of the day")
        }
        SpentQuota::Author(most) => format!("not asked, the author had their {most} reviews with models of the day"),
    }
}

/// The note in the details of the review.
pub(super) fn note(spent: SpentQuota, mention: &str) -> String {
    let whose = match spent {
        SpentQuota::Repository(most) => format!("this repository had {most} reviews with models in 24 hours"),
        SpentQuota::Author(most) => format!("the author had {most} reviews with models in 24 hours"),
    };
    format!("{whose}, which is the limit, so models were not asked; `@{mention} review` asks them nevertheless")
}
