//! Retention: deletes expired rows in the background.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_engine::board::Board;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Signal;

use super::Clock;
use crate::cli::failure;

/// How often expired rows are deleted.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// Deletes expired rows until shutdown.
pub(super) fn start(board: &Board, clock: Clock, until: &CancellationToken) -> Result<JoinHandle<()>, Failure> {
    let (board, until) = (board.clone(), until.clone());
    let thread = std::thread::Builder::new().name("retention".to_owned());
    let work = move || {
        while !until.is_cancelled() {
            let kept = board.settings().retention;
            // Other writers wait for one small batch at most.
            let forgotten = board.database().forget(&kept, board.database().now_ms(), || !until.is_cancelled());
            if let Err(failure) = forgotten {
                clock.say(&format!("deleting expired rows failed: {}", failure.message));
            }
            Arc::new(Signal::default()).wait_unless_cancelled(0, EVERY, &until);
        }
    };
    thread.spawn(work).map_err(|error| failure::no_thread(&error))
}
