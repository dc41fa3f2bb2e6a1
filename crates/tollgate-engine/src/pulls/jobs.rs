//! Retries and cancels queued jobs on request of a person.
//!
//! A job of a feature follows the feature's state machine; cancelling a job of a pull request completes its check run.

use tollgate_core::pull::not_reviewed;

use super::post::Post;
use crate::board::{Board, Refused};
use crate::store::jobs::{Asked, JobId, JobRefused};
use crate::store::pulls::NewPost;

/// Retries a job now that failed or was given up, with its retry counters reset.
pub fn retry(board: &Board, id: &JobId, who: &str) -> Asked {
    let now_ms = board.now();
    match id {
        JobId::Pull(pull) => board.database().retry_pull(*pull, now_ms),
        JobId::Post(post) => board.database().retry_post(*post, now_ms),
        JobId::Work(project, feature) => settled(id, board.retry(*project, feature, who)),
    }
}

/// Cancels a queued job, or dismisses one that was given up.
pub fn cancel(board: &Board, id: &JobId, who: &str) -> Asked {
    let now_ms = board.now();
    match id {
        JobId::Pull(pull) => {
            let head = board.database().pull(*pull)?.and_then(|row| row.head);
            let note = not_reviewed::cancelled(who);
            let ends: Option<NewPost> =
                head.map(|head| Post::check(&head, Some(note.conclusion), note.check, None).stored());
            board.database().cancel_pull(*pull, now_ms, ends)
        }
        JobId::Post(post) => board.database().give_up_post(*post, now_ms),
        JobId::Work(project, feature) => settled(id, board.stop(*project, feature, who)),
    }
}

fn settled<T>(id: &JobId, done: Result<T, Refused>) -> Asked {
    match done {
        Ok(_) => Ok(Ok(())),
        Err(Refused::NoProject(_) | Refused::NoFeature(_)) => Ok(Err(JobRefused::Unknown(id.to_string()))),
        Err(Refused::Failure(failure)) => Err(failure),
        Err(refused) => Ok(Err(JobRefused::Not(refused.into_failure().message))),
    }
}
