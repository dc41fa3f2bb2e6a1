//! Concurrency limits: how many calls run at once, how many of them are reviews, and how many may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tollgate_engine::failure::Failure;

use super::failure;

/// How many calls are worked on at once.
const CALLS: usize = 8;
/// How many of them may be reviews, each of which starts processes.
const REVIEWS: usize = 2;
/// How many may wait; each holds its message.
const WAITING: usize = 64;

/// What a call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// A look at the memory, at most a request.
    Light,
    /// A review.
    Heavy,
}

/// The turns of all clients.
#[derive(Debug)]
pub(super) struct Concurrency {
    light: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    n_waiting: AtomicUsize,
}

impl Default for Concurrency {
    fn default() -> Self {
        let (light, heavy) = (Semaphore::new(CALLS - REVIEWS), Semaphore::new(REVIEWS));
        Self { light: Arc::new(light), heavy: Arc::new(heavy), n_waiting: AtomicUsize::new(0) }
    }
}

impl Concurrency {
    /// Waits for a turn, unless too many do or it is not wanted any more. The turn ends when it is dropped.
    pub(super) async fn take(
        &self,
        weight: Weight,
        cancel: &CancellationToken,
    ) -> Result<OwnedSemaphorePermit, Failure> {
        let queue = match weight {
            Weight::Light => &self.light,
            Weight::Heavy => &self.heavy,
        };
        let waiting = Waiting::begin(&self.n_waiting).ok_or_else(failure::busy)?;
        tokio::select! {
            turn = Arc::clone(queue).acquire_owned() => {
                drop(waiting);
                turn.map_err(|_| failure::busy())
            }
            () = cancel.cancelled() => Err(failure::cancelled()),
        }
    }
}

/// Counted as one that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Option<Self> {
        let waiting = Self(count);
        (count.fetch_add(1, Ordering::SeqCst) < WAITING).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn reviews_wait_for_reviews_and_hold_nobody_else_up() {
        let (turns, cancel) = (Concurrency::default(), CancellationToken::new());
        let now = |weight| turns.take(weight, &cancel).now_or_never();
        let held: Vec<_> = (0..REVIEWS).map(|_| now(Weight::Heavy).unwrap().unwrap()).collect();
        assert!(now(Weight::Heavy).is_none());
        assert!(now(Weight::Light).unwrap().is_ok());
        drop(held);
        assert!(now(Weight::Heavy).unwrap().is_ok());
    }

    #[test]
    fn a_call_behind_a_full_queue_is_refused() {
        let (turns, cancel) = (Concurrency::default(), CancellationToken::new());
        let held: Vec<_> =
            (0..REVIEWS).map(|_| turns.take(Weight::Heavy, &cancel).now_or_never().unwrap().unwrap()).collect();
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(turns.take(Weight::Heavy, &cancel))).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        assert_eq!(turns.take(Weight::Light, &cancel).now_or_never().unwrap().unwrap_err(), failure::busy());
        drop(waiting);
        assert!(turns.take(Weight::Light, &cancel).now_or_never().unwrap().is_ok());
        drop(held);
    }

    #[test]
    fn a_cancelled_call_leaves_the_queue() {
        let (turns, cancel) = (Concurrency::default(), CancellationToken::new());
        let _held: Vec<_> =
            (0..REVIEWS).map(|_| turns.take(Weight::Heavy, &cancel).now_or_never().unwrap().unwrap()).collect();
        cancel.cancel();
        let refused = turns.take(Weight::Heavy, &cancel).now_or_never().unwrap().unwrap_err();
        assert_eq!((refused, turns.n_waiting.load(Ordering::SeqCst)), (failure::cancelled(), 0));
    }
}
