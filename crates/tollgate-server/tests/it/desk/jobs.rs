//! What is owed on a board in memory.

use tollgate_engine::store::jobs::{Job, JobId, JobState};
use tollgate_server::desk::jobs::{Jobs, JobsWanted};
use tollgate_server::desk::{Answer, Refusal};

use super::{MemoryDesk, refuse};

impl MemoryDesk {
    /// This is owed.
    pub(crate) fn owes(&self, jobs: Vec<Job>) {
        self.lock().jobs = jobs;
    }
}

impl Jobs for MemoryDesk {
    fn jobs(&self, wanted: &JobsWanted) -> Answer<Vec<Job>> {
        let is_wanted = |job: &&Job| {
            wanted.state.is_none_or(|state| job.state == state)
                && wanted.place.as_ref().is_none_or(|place| job.place == *place)
        };
        Ok(self.lock().jobs.iter().filter(is_wanted).take(wanted.limit).cloned().collect())
    }

    fn retry_job(&self, id: &JobId, _: &str) -> Answer<()> {
        match self.lock().jobs.iter_mut().find(|job| job.id == *id) {
            None => refuse(Refusal::NotFound, format!("there is no job `{id}`")),
            Some(job) if job.state != JobState::Dead => refuse(Refusal::Conflict, "it waits for its turn already"),
            Some(job) => {
                job.state = JobState::Queued;
                Ok(())
            }
        }
    }

    fn cancel_job(&self, id: &JobId, _: &str) -> Answer<()> {
        let mut kept = self.lock();
        let n_jobs = kept.jobs.len();
        kept.jobs.retain(|job| job.id != *id);
        if kept.jobs.len() < n_jobs { Ok(()) } else { refuse(Refusal::NotFound, format!("there is no job `{id}`")) }
    }
}
