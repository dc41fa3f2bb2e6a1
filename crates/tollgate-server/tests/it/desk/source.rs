//! Diffs in memory. There is no repository, so there is nothing around them.

use std::sync::Arc;

use tollgate_core::board::FeatureId;
use tollgate_engine::board::diff_context::{BlobRequest, ReviewedDiff, Source};
use tollgate_server::desk::source::Sources;
use tollgate_server::desk::{Answer, Desk as _, Part, ProjectId};

use super::MemoryDesk;

impl Sources for MemoryDesk {
    fn shown(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<Arc<ReviewedDiff>> {
        let diff = self.diff(project, feature, iteration, part)?;
        Ok(Arc::new(ReviewedDiff::of(diff.into_bytes())))
    }

    fn sources(&self, _: ProjectId, wanted: &[BlobRequest]) -> Answer<Vec<Source>> {
        Ok(vec![Source::Gone; wanted.len()])
    }
}
