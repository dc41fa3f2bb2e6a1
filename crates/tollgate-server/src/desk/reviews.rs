//! Stored reviews, whoever asked for them: the command line, a feature at the gate, a pull request.

use tollgate_engine::history::StoredReview;
use tollgate_engine::store::{Listed, Names, Range, RunQuery, Trends};

use super::{Answer, Page};

/// The stored reviews, as the routes see them.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Reviews {
    /// Some stored reviews. Where the next part begins is the number of a review.
    fn reviews(&self, query: &RunQuery) -> Answer<Page<Listed>>;
    /// One stored review, and what became of the one before it.
    fn review(&self, run: u64) -> Answer<StoredReview>;
    /// The number of the newest review; 0 when there is none.
    fn newest_review(&self) -> Answer<u64>;
    /// Names to choose from in a filter.
    fn review_names(&self) -> Answer<Names>;
    /// What stored reviews say together.
    fn trends(&self, range: &Range) -> Answer<Trends>;
}
