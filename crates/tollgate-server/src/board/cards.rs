//! The board as its page shows it.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Offer;

use super::{BoardDesk, refusal};
use crate::desk::cards::Cards;
use crate::desk::{Answer, ProjectId};

impl Cards for BoardDesk {
    fn offers(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Offer>> {
        self.board.offers(self.row(project)?.id, feature).map_err(refusal)
    }
}
