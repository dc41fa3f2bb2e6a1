//! In memory nothing is stored; what is stored is looked at over the real board.

use tollgate_engine::history::Recalled;
use tollgate_engine::store::{Figures, Listed, Names, Range, RunQuery, Trends};
use tollgate_server::desk::reviews::Reviews;
use tollgate_server::desk::{Answer, Page, Refusal};

use super::{MemoryDesk, refuse};

impl Reviews for MemoryDesk {
    fn reviews(&self, _: &RunQuery) -> Answer<Page<Listed>> {
        Ok(Page { items: vec![], next: None, total: 0 })
    }

    fn review(&self, run: u64) -> Answer<Recalled> {
        refuse(Refusal::NotFound, format!("there is no review {run}"))
    }

    fn newest_review(&self) -> Answer<u64> {
        Ok(0)
    }

    fn review_names(&self) -> Answer<Names> {
        Ok(Names::default())
    }

    fn trends(&self, range: &Range) -> Answer<Trends> {
        let n_parts = usize::try_from(range.n_parts()).unwrap();
        Ok(Trends { parts: vec![Figures::default(); n_parts], ..Trends::default() })
    }
}
