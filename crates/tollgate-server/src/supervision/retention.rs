//! Retention: deletes expired rows in the background.

use std::time::Duration;

use super::BackgroundTasks;

/// How often expired rows are deleted.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// Deletes expired rows until shutdown.
pub(super) fn run(tasks: &BackgroundTasks) {
    let (board, shutdown) = (&tasks.board, &tasks.shutdown);
    while !shutdown.is_cancelled() {
        // Other writers wait for one small batch at most.
        let kept = board.settings().retention;
        let forgotten = board.database().forget(&kept, board.database().now_ms(), || !shutdown.is_cancelled());
        if let Err(failure) = forgotten {
            tasks.say(&format!("deleting expired rows failed: {}", failure.message));
        }
        tasks.waits(EVERY);
    }
}
