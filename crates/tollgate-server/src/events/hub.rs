//! Fan-out of the event log: one follower thread and a ring buffer of recent events.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tollgate_engine::failure::{Failure, Kind};

use crate::events::frame::Frame;
use crate::events::log::EventLog;
use crate::events::reader::Reader;

/// How many frames the ring holds.
const RING: usize = 4096;
/// How many bytes of frames the ring holds.
const RING_BYTES: usize = 8 * 1024 * 1024;
/// How many events are read from the log at once.
pub(super) const BATCH: usize = 256;
/// The longest wait of the follower for new events; then it looks whether the hub is still in use.
const IDLE: Duration = Duration::from_secs(10);
/// How soon the follower reads the log again after a failure.
const RETRY: Duration = Duration::from_millis(500);
/// How long the follower waits after a mistake of ours.
const AFTER_MISTAKE: Duration = Duration::from_millis(100);
/// How many clients may read from the log at once.
const LOG_READERS: usize = 4;

/// Broadcasts events to all subscribers.
#[derive(Clone)]
pub struct Hub(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) log: Arc<dyn EventLog>,
    ring: RwLock<Ring>,
    pub(super) last: watch::Sender<u64>,
    pub(super) log_readers: Semaphore,
    is_following: AtomicBool,
    pub(super) n_sent: AtomicU64,
    pub(super) n_open: AtomicU64,
}

#[derive(Default)]
struct Ring {
    frames: VecDeque<Frame>,
    n_bytes: usize,
    /// The number of the event before the first frame.
    before: u64,
}

/// The answer of the ring buffer to a cursor.
pub(super) enum Ahead {
    /// These.
    Frames(Vec<Frame>),
    /// It is too far back; the log may know.
    FellOut,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("last", &self.last_seq()).finish_non_exhaustive()
    }
}

impl Hub {
    /// Follows a log on a thread of its own, which ends when the last handle of the hub is dropped.
    pub fn start(log: Arc<dyn EventLog>) -> Result<Self, Failure> {
        let last = log.last_seq()?;
        let inner = Arc::new(Inner {
            log,
            ring: RwLock::new(Ring { before: last, ..Ring::default() }),
            last: watch::Sender::new(last),
            log_readers: Semaphore::new(LOG_READERS),
            is_following: AtomicBool::new(true),
            n_sent: AtomicU64::new(0),
            n_open: AtomicU64::new(0),
        });
        let weak = Arc::downgrade(&inner);
        thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || {
                // A panic must not end the event stream; the follower resumes after the last event that was sent.
                while catch_unwind(AssertUnwindSafe(|| follow(&weak))).is_err() {
                    thread::sleep(AFTER_MISTAKE);
                }
            })
            .map_err(|problem| Failure::new(Kind::External, format!("cannot start a thread: {problem}")))?;
        Ok(Self(inner))
    }

    /// The number of the last event that was seen.
    pub fn last_seq(&self) -> u64 {
        *self.0.last.borrow()
    }

    /// False when the log could not be read the last time.
    pub fn is_following(&self) -> bool {
        self.0.is_following.load(Ordering::Relaxed)
    }

    /// How many frames were given to clients.
    pub fn n_sent(&self) -> u64 {
        self.0.n_sent.load(Ordering::Relaxed)
    }

    /// How many clients listen.
    pub fn n_open(&self) -> u64 {
        self.0.n_open.load(Ordering::Relaxed)
    }

    /// Listens from now on, or from after an event that the client has seen.
    pub fn listen(&self, since: Option<u64>, project: Option<u64>) -> Reader {
        Reader::new(self.clone(), since, project)
    }
}

impl Inner {
    /// The events after a cursor, as far as the ring buffer has them.
    pub(super) fn after(&self, seq: u64) -> Ahead {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        if seq < ring.before {
            return Ahead::FellOut;
        }
        let start = ring.frames.partition_point(|frame| frame.seq <= seq);
        Ahead::Frames(ring.frames.range(start..).take(BATCH).cloned().collect())
    }

    fn take(&self, frames: Vec<Frame>) {
        let Some(newest) = frames.last().map(|frame| frame.seq) else { return };
        let mut ring = self.ring.write().unwrap_or_else(PoisonError::into_inner);
        for frame in frames {
            ring.n_bytes += frame.text.len();
            ring.frames.push_back(frame);
        }
        while ring.frames.len() > RING || (ring.n_bytes > RING_BYTES && ring.frames.len() > 1) {
            let Some(oldest) = ring.frames.pop_front() else { break };
            ring.n_bytes -= oldest.text.len();
            ring.before = oldest.seq;
        }
        drop(ring);
        self.last.send_replace(newest);
    }
}

/// Reads the log until the last handle of the hub is dropped.
fn follow(weak: &Weak<Inner>) {
    let Some(mut seq) = weak.upgrade().map(|inner| *inner.last.borrow()) else { return };
    loop {
        let Some(inner) = weak.upgrade() else { return };
        match inner.log.events_after(seq, BATCH) {
            Ok(events) => {
                tollgate_engine::process::panic_point("events");
                inner.is_following.store(true, Ordering::Relaxed);
                if let Some(newest) = events.last() {
                    seq = newest.seq;
                    inner.take(events.iter().map(Frame::new).collect());
                    continue;
                }
            }
            // The log is out of reach for a moment: a full disk, say. Nothing is lost by trying again.
            Err(_) => inner.is_following.store(false, Ordering::Relaxed),
        }
        let log = Arc::clone(&inner.log);
        let was_read = inner.is_following.load(Ordering::Relaxed);
        // Not held while waiting, so that the last one to let go of the hub ends this.
        drop(inner);
        if was_read {
            log.wait_for_events(seq, IDLE);
        } else {
            thread::sleep(RETRY);
        }
    }
}
