//! The columns of the board in memory.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{self, Offer, Rules};
use tollgate_server::desk::cards::Cards;
use tollgate_server::desk::{Answer, ProjectId};

use super::MemoryDesk;

impl Cards for MemoryDesk {
    fn offers(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Offer>> {
        self.lock().feature(project, feature).map(|(feature, _)| machine::acts(&feature.state, &Rules::default()))
    }
}
