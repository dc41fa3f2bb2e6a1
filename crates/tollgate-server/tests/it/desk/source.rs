//! Diffs in memory. There is no repository, so there is nothing around them.

use std::sync::Arc;

use tollgate_core::board::FeatureId;
use tollgate_engine::board::source::{Shown, Source, Wanted};
use tollgate_server::desk::source::Sources;
use tollgate_server::desk::{Answer, Desk as _, Part, ProjectId};

use super::MemoryDesk;

impl Sources for MemoryDesk {
    fn shown(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<Arc<Shown>> {
        let diff = self.diff(project, feature, iteration, part)?;
        Ok(Arc::new(Shown::of(diff.into_bytes())))
    }

    fn sources(&self, _: ProjectId, wanted: &[Wanted]) -> Answer<Vec<Source>> {
        Ok(vec![Source::Gone; wanted.len()])
    }
}
