//! What a diff is shown from, asked of the board.

use std::sync::Arc;

use tollgate_core::board::FeatureId;
use tollgate_engine::board;
use tollgate_engine::board::diff_context::{BlobRequest, ReviewedDiff, Source};

use super::{BoardDesk, refusal};
use crate::desk::source::Sources;
use crate::desk::{Answer, Part, ProjectId};

impl Sources for BoardDesk {
    fn shown(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<Arc<ReviewedDiff>> {
        let part = match part {
            Part::Whole => board::Part::Whole,
            Part::Delta => board::Part::Delta,
        };
        self.board.shown(self.row(project)?.id, feature, iteration, part).map_err(refusal)
    }

    fn sources(&self, project: ProjectId, wanted: &[BlobRequest]) -> Answer<Vec<Source>> {
        self.board.sources(self.row(project)?.id, wanted).map_err(refusal)
    }
}
