//! Forgets what is older than it is kept, beside all other work.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_engine::board::Board;
use tollgate_engine::failure::Failure;

use super::Clock;
use crate::cli::failure;

/// How often it is looked for what is old.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// How long the end of the program may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(200);

/// Forgets what is old, until the end.
pub(super) fn start(board: &Board, clock: Clock, until: &CancellationToken) -> Result<JoinHandle<()>, Failure> {
    let (board, until) = (board.clone(), until.clone());
    let thread = std::thread::Builder::new().name("retention".to_owned());
    let work = move || {
        while !until.is_cancelled() {
            let kept = board.settings().retention;
            // Whoever writes waits for no more than one small piece.
            let forgotten = board.database().forget(&kept, board.database().now_ms(), || !until.is_cancelled());
            if let Err(failure) = forgotten {
                clock.say(&format!("what is old could not be forgotten: {}", failure.message));
            }
            let next = Instant::now() + EVERY;
            while !until.is_cancelled() && Instant::now() < next {
                std::thread::sleep(PATIENCE);
            }
        }
    };
    thread.spawn(work).map_err(|error| failure::no_thread(&error))
}
