//! What a process counts of its database, for those who watch.
//!
//! Counted since the process began, without a lock, and read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the classes of how long a write took, in seconds.
pub const SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];
/// Upper bounds of the classes of how many writes were committed at once.
pub const WRITES: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What a process counts of its database.
#[derive(Debug, Default)]
pub(super) struct Tally {
    waiting: AtomicU64,
    commits: AtomicU64,
    failures: AtomicU64,
    reconnects: AtomicU64,
    too_late: AtomicU64,
    seconds: Classes<{ SECONDS.len() }>,
    writes: Classes<{ WRITES.len() }>,
}

/// The same, as it was at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallied {
    /// Writes that wait for their turn.
    pub waiting: u64,
    /// Commits that succeeded.
    pub commits: u64,
    /// Commits that failed, with whatever stood in them.
    pub failures: u64,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Writes that were refused because somebody else had claimed the work meanwhile.
    pub too_late: u64,
    /// How long commits took, in seconds, by the classes of [`SECONDS`].
    pub seconds: Spread,
    /// How many writes a commit had, by the classes of [`WRITES`].
    pub writes: Spread,
}

/// How values are spread over classes: how many are not larger than the bound of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spread {
    /// One for each class.
    pub counts: Vec<u64>,
    /// All of them.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl Tally {
    /// A write waits for its turn.
    pub(super) fn waits(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// So many writes wait no longer.
    pub(super) fn taken(&self, n_writes: usize) {
        self.waiting.fetch_sub(n_writes as u64, Ordering::Relaxed);
    }

    /// So many writes were committed at once, or were not.
    pub(super) fn ended(&self, n_writes: usize, took: Duration, is_committed: bool) {
        let which = if is_committed { &self.commits } else { &self.failures };
        which.fetch_add(1, Ordering::Relaxed);
        self.seconds.add(&SECONDS, took.as_secs_f64());
        self.writes.add(&WRITES, n_writes as f64);
    }

    /// A connection was made again.
    pub(super) fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody came too late.
    pub(super) fn lost_lease(&self) {
        self.too_late.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted by now.
    pub(super) fn read(&self) -> Tallied {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tallied {
            waiting: read(&self.waiting),
            commits: read(&self.commits),
            failures: read(&self.failures),
            reconnects: read(&self.reconnects),
            too_late: read(&self.too_late),
            seconds: self.seconds.read(),
            writes: self.writes.read(),
        }
    }
}

/// Values by classes. The sum is kept in millionths.
#[derive(Debug)]
struct Classes<const N: usize> {
    counts: [AtomicU64; N],
    count: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Default for Classes<N> {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU64::new(0)), count: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }
}

impl<const N: usize> Classes<N> {
    fn add(&self, bounds: &[f64; N], value: f64) {
        for (count, bound) in self.counts.iter().zip(bounds) {
            count.fetch_add(u64::from(value <= *bound), Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add((value * 1e6) as u64, Ordering::Relaxed);
    }

    fn read(&self) -> Spread {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let sum = self.sum.load(Ordering::Relaxed) as f64 / 1e6;
        Spread { counts, count: self.count.load(Ordering::Relaxed), sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let tally = Tally::default();
        tally.waits();
        tally.waits();
        tally.taken(1);
        tally.ended(3, Duration::from_millis(4), true);
        tally.ended(1, Duration::from_secs(9), false);
        tally.reconnected();
        tally.lost_lease();
        let read = tally.read();
        assert_eq!((read.waiting, read.commits, read.failures), (1, 1, 1));
        assert_eq!((read.reconnects, read.too_late), (1, 1));
        assert_eq!(read.seconds.counts, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!((read.seconds.count, read.seconds.sum), (2, 9.004));
        assert_eq!((read.writes.counts[0], read.writes.counts[2], read.writes.sum), (1, 2, 4.0));
    }
}
