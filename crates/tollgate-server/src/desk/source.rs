//! What a diff is shown from: the change itself, and the files around it.

use std::sync::Arc;

use tollgate_core::board::FeatureId;
use tollgate_engine::board::diff_context::{BlobRequest, ReviewedDiff, Source};

use crate::desk::{Answer, Part, ProjectId};

/// The files of changes.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Sources {
    /// The files of an iteration's change, secrets covered.
    fn shown(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<Arc<ReviewedDiff>>;
    /// What the repository has of some texts, in the order in which they are asked for.
    fn sources(&self, project: ProjectId, wanted: &[BlobRequest]) -> Answer<Vec<Source>>;
}
