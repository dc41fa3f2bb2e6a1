//! Counters of writes, for metrics.
//!
//! They count from the start of the process, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the histogram of commit times, in seconds.
pub const SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];
/// Upper bounds of the histogram of writes in one commit.
pub const WRITES: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// The counters.
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

/// A snapshot of the counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallied {
    /// Queued writes.
    pub waiting: u64,
    /// Successful commits.
    pub commits: u64,
    /// Failed commits.
    pub failures: u64,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Writes that were refused because the lease was lost.
    pub too_late: u64,
    /// The histogram of commit times, by [`SECONDS`].
    pub seconds: Spread,
    /// The histogram of writes in one commit, by [`WRITES`].
    pub writes: Spread,
}

/// A cumulative histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spread {
    /// How many values are not larger than each bound.
    pub counts: Vec<u64>,
    /// How many values there are.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl Tally {
    /// Counts a queued write.
    pub(super) fn waits(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts writes that left the queue.
    pub(super) fn taken(&self, n_writes: usize) {
        self.waiting.fetch_sub(n_writes as u64, Ordering::Relaxed);
    }

    /// Counts a commit of so many writes, or a failed one.
    pub(super) fn ended(&self, n_writes: usize, took: Duration, is_committed: bool) {
        let which = if is_committed { &self.commits } else { &self.failures };
        which.fetch_add(1, Ordering::Relaxed);
        self.seconds.add(&SECONDS, took.as_secs_f64());
        self.writes.add(&WRITES, n_writes as f64);
    }

    /// Counts a connection that was made again.
    pub(super) fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a write that was refused because the lease was lost.
    pub(super) fn lost_lease(&self) {
        self.too_late.fetch_add(1, Ordering::Relaxed);
    }

    /// A snapshot of the counters.
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

/// A histogram. The sum is kept in millionths.
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
    fn counters_are_read_as_a_snapshot() {
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
