//! What routes ask about what is owed.

use tollgate_engine::store::jobs::{Job, JobId, JobState};

use crate::desk::Answer;

/// Which jobs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobsWanted {
    /// Only in this state.
    pub state: Option<JobState>,
    /// Only of this repository or project, by its name.
    pub place: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// What routes ask about what is owed.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Jobs {
    /// What is owed, and what was given up.
    fn jobs(&self, wanted: &JobsWanted) -> Answer<Vec<Job>>;
    /// Has something done that was given up or waits after a failure.
    fn retry_job(&self, id: &JobId, by: &str) -> Answer<()>;
    /// Ends something that is owed.
    fn cancel_job(&self, id: &JobId, by: &str) -> Answer<()>;
}
