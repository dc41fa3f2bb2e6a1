//! Whether models may be asked about a pull request, and what is said when they may not.
//!
//! Beyond what the operator allows for a day the rules look alone. What models would have looked at is then not reviewed,
//! so that nobody gets past them by pushing often.

use super::{Job, Pull, PullRow, Stop, fenced};
use crate::store::pulls::{DailyLimits, Quota, QuotaRequest, SpentQuota};

/// What the key of a review ends with when models were not asked: it is another review once they may be.
pub(super) const UNASKED: &str = " without models";

/// Asks for leave to ask models, which is counted.
pub(super) fn ask(job: &Job<'_>, row: &PullRow, pull: &Pull) -> Result<Quota, Stop> {
    let github = &job.pulls.settings().github;
    let limit = |number: u32| (number > 0).then_some(number);
    let allowance = if row.is_asked_again() {
        // Only who may write to the repository can ask for a review, and does it by hand.
        DailyLimits::default()
    } else {
        let of_repository = limit(github.model_reviews_per_repository);
        DailyLimits { of_repository, of_author: limit(github.model_reviews_per_author) }
    };
    let asking = QuotaRequest { author: pull.author.clone(), allowance, now_ms: job.pulls.now() };
    fenced(job.pulls.database().take_quota(job.token, asking))
}

/// Why models did not look at a hunk.
pub(super) fn why(spent: SpentQuota) -> String {
    match spent {
        SpentQuota::Repository(most) => {
            format!("not asked, the repository had its {most} reviews with models of the day")
        }
        SpentQuota::Author(most) => format!("not asked, the author had their {most} reviews with models of the day"),
    }
}

/// What is said of it in the details of the review.
pub(super) fn note(spent: SpentQuota, mention: &str) -> String {
    let whose = match spent {
        SpentQuota::Repository(most) => format!("this repository had {most} reviews with models in 24 hours"),
        SpentQuota::Author(most) => format!("the author had {most} reviews with models in 24 hours"),
    };
    format!("{whose}, which is the limit, so models were not asked; `@{mention} review` asks them nevertheless")
}
