//! Open connections, and the eviction of idle ones when there are too many.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The connections that are open, by age.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    open: Mutex<Open>,
    one_gone: Notify,
    cut: CancellationToken,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    slots: BTreeMap<u64, Arc<Slot>>,
}

/// The state of a connection.
#[derive(Debug, Default)]
struct Slot {
    n_busy: AtomicU32,
    is_known: AtomicBool,
    evicted: Notify,
}

/// A connection's place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    connections: Arc<Connections>,
    number: u64,
    slot: Arc<Slot>,
}

/// An activity of a connection; while it exists, the connection is not evicted.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Held>);

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Mutex::default(), one_gone: Notify::new(), cut: CancellationToken::new() }
    }

    /// A place for a new connection, taken from the oldest that does nothing if it has to be.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Arc<Held>> {
        let mut open = self.lock();
        if open.slots.len() >= self.most {
            let victim = open.oldest_idle()?;
            if let Some(slot) = open.slots.remove(&victim) {
                slot.evicted.notify_one();
            }
        }
        let (number, slot) = (open.next, Arc::<Slot>::default());
        open.next += 1;
        open.slots.insert(number, Arc::clone(&slot));
        Some(Arc::new(Held { connections: Arc::clone(self), number, slot }))
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.lock().slots.len()
    }

    /// Waits until none is open.
    pub(super) async fn all_gone(&self) {
        loop {
            let gone = self.one_gone.notified();
            if self.count() == 0 {
                return;
            }
            gone.await;
        }
    }

    /// Cuts off all that are left.
    pub(super) fn cut(&self) {
        self.cut.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The oldest that does nothing, those first who never showed a token.
    fn oldest_idle(&self) -> Option<u64> {
        let is_idle = |slot: &Slot| slot.n_busy.load(Ordering::Relaxed) == 0;
        let is_stranger = |slot: &Slot| is_idle(slot) && !slot.is_known.load(Ordering::Relaxed);
        let oldest = |fits: &dyn Fn(&Slot) -> bool| self.slots.iter().find(|(_, slot)| fits(slot)).map(|(n, _)| *n);
        oldest(&is_stranger).or_else(|| oldest(&is_idle))
    }
}

impl Held {
    /// Notes that a token was shown on this connection.
    pub(crate) fn is_known(&self) {
        self.slot.is_known.store(true, Ordering::Relaxed);
    }

    /// Ends when the connection has to.
    pub(crate) async fn cut_off(&self) {
        tokio::select! {
            () = self.slot.evicted.notified() => {}
            () = self.connections.cut.cancelled() => {}
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.connections.lock().slots.remove(&self.number);
        self.connections.one_gone.notify_waiters();
    }
}

impl Busy {
    pub(crate) fn new(held: &Arc<Held>) -> Self {
        held.slot.n_busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(held))
    }

    /// Ends when the connection has to.
    pub(crate) async fn cut_off(&self) {
        self.0.cut_off().await;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.slot.n_busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn is_cut_off(held: &Held) -> bool {
        held.cut_off().now_or_never().is_some()
    }

    #[test]
    fn strangers_go_first_then_the_oldest_and_never_one_that_is_busy() {
        let connections = Arc::new(Connections::new(3));
        let [known, stranger, busy] = [(); 3].map(|()| connections.admit().unwrap());
        known.is_known();
        let work = Busy::new(&busy);
        let fourth = connections.admit().unwrap();
        assert!(is_cut_off(&stranger) && !is_cut_off(&known) && !is_cut_off(&busy));
        fourth.is_known();
        let fifth = connections.admit().unwrap();
        assert!(is_cut_off(&known) && !is_cut_off(&fourth));
        let (_four, _five) = (Busy::new(&fourth), Busy::new(&fifth));
        assert!(connections.admit().is_none());
        drop(work);
        assert!(connections.admit().is_some());
        assert!(is_cut_off(&busy));
    }

    #[test]
    fn a_place_is_given_back_once() {
        let connections = Arc::new(Connections::new(1));
        let first = connections.admit().unwrap();
        let second = connections.admit().unwrap();
        drop(first);
        assert_eq!(connections.count(), 1);
        drop(second);
        assert_eq!(connections.count(), 0);
    }

    #[test]
    fn all_are_gone_when_the_last_is() {
        let connections = Arc::new(Connections::new(2));
        let held = connections.admit().unwrap();
        assert!(connections.all_gone().now_or_never().is_none());
        drop(held);
        assert!(connections.all_gone().now_or_never().is_some());
    }
}
