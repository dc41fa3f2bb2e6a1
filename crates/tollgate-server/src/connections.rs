//! Open connections, and which one is closed when there are too many.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Open connections, by age.
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

/// An open connection; its slot is released on drop.
#[derive(Debug)]
pub(crate) struct Connection {
    connections: Arc<Connections>,
    number: u64,
    slot: Arc<Slot>,
}

/// A request in progress: while it exists, its connection is not closed for another one.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Connection>);

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Mutex::default(), one_gone: Notify::new(), cut: CancellationToken::new() }
    }

    /// Admits a new connection; at the bound the oldest idle one is closed for it.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Arc<Connection>> {
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
        Some(Arc::new(Connection { connections: Arc::clone(self), number, slot }))
    }

    /// The number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.lock().slots.len()
    }

    /// Waits until all are closed.
    pub(crate) async fn all_gone(&self) {
        loop {
            let gone = self.one_gone.notified();
            if self.count() == 0 {
                return;
            }
            gone.await;
        }
    }

    /// Closes all that are left.
    pub(crate) fn cut(&self) {
        self.cut.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The oldest idle connection, unauthenticated ones first.
    fn oldest_idle(&self) -> Option<u64> {
        let is_idle = |slot: &Slot| slot.n_busy.load(Ordering::Relaxed) == 0;
        let is_stranger = |slot: &Slot| is_idle(slot) && !slot.is_known.load(Ordering::Relaxed);
        let oldest = |fits: &dyn Fn(&Slot) -> bool| self.slots.iter().find(|(_, slot)| fits(slot)).map(|(n, _)| *n);
        oldest(&is_stranger).or_else(|| oldest(&is_idle))
    }
}

impl Connection {
    /// Marks the connection as authenticated.
    pub(crate) fn mark_known(&self) {
        self.slot.is_known.store(true, Ordering::Relaxed);
    }

    /// Resolves when the connection has to be closed.
    pub(crate) async fn cut_off(&self) {
        tokio::select! {
            () = self.slot.evicted.notified() => {}
            () = self.connections.cut.cancelled() => {}
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.connections.lock().slots.remove(&self.number);
        self.connections.one_gone.notify_waiters();
    }
}

impl Busy {
    pub(crate) fn new(connection: &Arc<Connection>) -> Self {
        connection.slot.n_busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connection))
    }

    /// Resolves when the connection has to be closed.
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

    fn is_cut_off(connection: &Connection) -> bool {
        connection.cut_off().now_or_never().is_some()
    }

    #[test]
    fn unauthenticated_connections_are_closed_first_then_the_oldest_never_busy_ones() {
        let connections = Arc::new(Connections::new(3));
        let [known, stranger, busy] = [(); 3].map(|()| connections.admit().unwrap());
        known.mark_known();
        let work = Busy::new(&busy);
        let fourth = connections.admit().unwrap();
        assert!(is_cut_off(&stranger) && !is_cut_off(&known) && !is_cut_off(&busy));
        fourth.mark_known();
        let fifth = connections.admit().unwrap();
        assert!(is_cut_off(&known) && !is_cut_off(&fourth));
        let (_four, _five) = (Busy::new(&fourth), Busy::new(&fifth));
        assert!(connections.admit().is_none());
        drop(work);
        assert!(connections.admit().is_some());
        assert!(is_cut_off(&busy));
    }

    #[test]
    fn a_slot_is_released_once() {
        let connections = Arc::new(Connections::new(1));
        let first = connections.admit().unwrap();
        let second = connections.admit().unwrap();
        drop(first);
        assert_eq!(connections.count(), 1);
        drop(second);
        assert_eq!(connections.count(), 0);
    }

    #[test]
    fn waiting_ends_with_the_last_connection() {
        let connections = Arc::new(Connections::new(2));
        let connection = connections.admit().unwrap();
        assert!(connections.all_gone().now_or_never().is_none());
        drop(connection);
        assert!(connections.all_gone().now_or_never().is_some());
    }
}
