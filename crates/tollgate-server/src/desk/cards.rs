//! What the board page asks for: columns of cards, and what a person may do to each.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Offer;

use super::{Answer, ProjectId};

/// The board as a page shows it.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Cards {
    /// What a person may do to a feature now, where that leads, and why the rest is not possible.
    fn offers(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Offer>>;
}
