//! Notifications: threads that wait for events or jobs are woken by them instead of polling.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// The number of the last event, for threads that wait for the next.
#[derive(Debug, Default)]
pub(super) struct EventSignal {
    last_seq: Mutex<u64>,
    changed: Condvar,
    /// Notified of new events.
    pub(super) signals: Signals,
}

impl EventSignal {
    /// Notifies of the events up to this number.
    pub(super) fn advance(&self, last_seq: u64) {
        let mut known = self.last_seq.lock().unwrap_or_else(PoisonError::into_inner);
        if last_seq > *known {
            *known = last_seq;
            self.changed.notify_all();
            self.signals.notify();
        }
    }

    /// Waits until an event after this one is known; false when there is none in time.
    pub(super) fn wait(&self, after_seq: u64, until: Instant) -> bool {
        let known = self.last_seq.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(known, left, |known| *known <= after_seq);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Wakes a waiting thread: a count that grows with each notification.
#[derive(Debug, Default)]
pub struct Signal {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Signal {
    /// Wakes the waiting thread, or the next one that waits.
    pub fn notify(&self) {
        *self.lock() += 1;
        self.changed.notify_all();
    }

    /// How many notifications there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        *self.lock()
    }

    /// Waits until there were more notifications than these, up to a time.
    pub fn wait(&self, seen: u64, within: Duration) {
        drop(self.changed.wait_timeout_while(self.lock(), within, |count| *count <= seen));
    }

    /// The same, but no longer than until a cancellation.
    pub fn wait_unless_cancelled(self: &Arc<Self>, seen: u64, within: Duration, cancel: &CancellationToken) {
        let waker = Waker::from(Arc::clone(self));
        let mut cancelled = std::pin::pin!(cancel.cancelled());
        if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.wait(seen, within);
        }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

/// Signals that are notified together, as long as they are in use.
#[derive(Debug, Default)]
pub(super) struct Signals(Mutex<Vec<Weak<Signal>>>);

impl Signals {
    /// Another signal.
    pub(super) fn subscribe(&self) -> Arc<Signal> {
        let signal = Arc::new(Signal::default());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&signal));
        signal
    }

    /// Notifies all of them.
    pub(super) fn notify(&self) {
        let mut signals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        signals.retain(|signal| signal.upgrade().inspect(|signal| signal.notify()).is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_notification_wakes_the_thread_that_waits_and_the_one_that_comes_later() {
        let signals = Signals::default();
        let signal = signals.subscribe();
        let seen = signal.count();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| signal.wait(seen, LONG));
            signals.notify();
            waiting.join().unwrap();
        });
        let begun = Instant::now();
        signal.wait(seen, LONG);
        assert!(begun.elapsed() < LONG, "a notification before the wait is not lost");
        assert_eq!(signal.count(), seen + 1);
    }

    #[test]
    fn a_cancellation_ends_the_wait() {
        let (signal, cancel) = (Arc::new(Signal::default()), CancellationToken::new());
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| signal.wait_unless_cancelled(0, LONG, &cancel));
            cancel.cancel();
        });
        signal.wait_unless_cancelled(signal.count(), LONG, &cancel);
        assert!(begun.elapsed() < LONG);
    }
}
