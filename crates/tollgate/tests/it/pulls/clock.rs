//! A clock that a test moves: ours, that of the client, and that of the fake GitHub are one.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_engine::forge::github::Clock;

use crate::fake_github::FakeGithub;

thread_local! {
    /// The time by which this thread works.
    static TIME: RefCell<Option<Arc<Time>>> = const { RefCell::new(None) };
}

/// The time of a test.
pub(crate) struct Time {
    /// When it began, if it moves only when it is moved.
    still: Option<u64>,
    ahead_ms: AtomicU64,
    waited_ms: AtomicU64,
    step_hub: Box<dyn Fn(u64) + Send + Sync>,
}

fn machine_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The time by which this thread works, in milliseconds since 1970.
pub(crate) fn clock() -> u64 {
    TIME.with_borrow(|time| time.as_ref().map_or_else(machine_ms, |time| time.now()))
}

impl Time {
    /// A clock that runs, or moves only when advanced.
    pub(crate) fn new(github: &FakeGithub, is_still: bool) -> Arc<Self> {
        let (ahead_ms, waited_ms) = (AtomicU64::new(0), AtomicU64::new(0));
        let (still, step_hub) = (is_still.then(machine_ms), Box::new(github.stepper()));
        Arc::new(Self { still, ahead_ms, waited_ms, step_hub })
    }

    /// This thread works by it from now on.
    pub(crate) fn hold(self: &Arc<Self>) {
        TIME.set(Some(Arc::clone(self)));
    }

    pub(crate) fn now(&self) -> u64 {
        self.still.unwrap_or_else(machine_ms) + self.ahead_ms.load(Ordering::SeqCst)
    }

    /// Advances all clocks.
    pub(crate) fn pass(&self, ms: u64) {
        self.ahead_ms.fetch_add(ms, Ordering::SeqCst);
        (self.step_hub)(ms);
    }

    /// The total backoff of the client.
    pub(crate) fn waited_ms(&self) -> u64 {
        self.waited_ms.load(Ordering::SeqCst)
    }
}

impl Clock for Time {
    fn now_ms(&self) -> u64 {
        self.now()
    }

    fn steady_ms(&self) -> u64 {
        self.now()
    }

    fn wait(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap();
        self.waited_ms.fetch_add(ms, Ordering::SeqCst);
        self.pass(ms);
    }
}
