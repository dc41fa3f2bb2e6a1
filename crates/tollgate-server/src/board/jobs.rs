//! What is owed on a real board.

use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::pulls::jobs;
use tollgate_engine::store::jobs::{Job, JobId, JobQuery, JobRefused};

use super::{BoardDesk, conflict};
use crate::desk::jobs::{Jobs, JobsWanted};
use crate::desk::{Answer, Refusal};

impl Jobs for BoardDesk {
    fn jobs(&self, wanted: &JobsWanted) -> Answer<Vec<Job>> {
        let JobsWanted { state, place, limit } = wanted.clone();
        let now_ms = self.board.now();
        Ok(self.board.database().jobs(&JobQuery { state, place, limit, now_ms })?)
    }

    fn retry_job(&self, id: &JobId, by: &str) -> Answer<()> {
        jobs::retry(&self.board, id, by)?.map_err(refusal)
    }

    fn cancel_job(&self, id: &JobId, by: &str) -> Answer<()> {
        jobs::cancel(&self.board, id, by)?.map_err(refusal)
    }
}

fn refusal(refused: JobRefused) -> Refusal {
    match refused {
        JobRefused::Unknown(_) => {
            let failure = Failure::new(Kind::User, refused.to_string());
            Refusal::NotFound(failure.hint("List them with `GET /api/jobs`."))
        }
        JobRefused::Not(why) => conflict(why),
    }
}
