//! Notices writes of other processes: at once on PostgreSQL (LISTEN, NOTIFY), within a moment in a file.
//!
//! A notification of PostgreSQL says how far the events go, or that jobs were enqueued; their contents are read from the tables.
//! Every two seconds the tables are read anyway, so a lost notification costs two seconds and nothing else; so does a job of a
//! process that died before it could announce it. Events that wait for their number get it on the same thread ([`super::numbering`]).
//!
//! `NOTIFY` takes a lock that all commits of the server share, so jobs are announced by this thread, many at once, and not
//! by the transactions that enqueue them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::clock::Clock;
use super::signal::{EventSignal, Signal, Signals};
use super::tally::Tally;
use super::{last_seq, numbering};
use crate::store::location::Address;
use crate::store::sql::{self, Connection, Follower, Row};
use crate::store::{Location, open};

/// The channel of notifications about events.
pub(super) const EVENTS: &str = "tollgate_event";
/// The channel of notifications about jobs.
const JOBS: &str = "tollgate_job";
/// How often the tables are read without a notification.
const READ_EVERY: Duration = Duration::from_secs(2);
/// How often a file is looked at for writes of other processes, which nothing announces.
const READ_FILE_EVERY: Duration = Duration::from_millis(1_500);
/// The shortest time between two numberings of events, and between two announcements of jobs, so that each does many.
const REST: Duration = Duration::from_millis(5);
/// The same after another process was numbering: it has most likely numbered these events as well.
const CONTENDED_REST: Duration = Duration::from_millis(25);
const JOBS_REST: Duration = Duration::from_millis(50);
/// How long to wait before a lost connection is made again.
const RECONNECT_AFTER: Duration = Duration::from_millis(300);

/// What the threads of a database share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) events: EventSignal,
    /// Notified of enqueued jobs.
    pub(super) jobs: Signals,
    pub(super) clock: Clock,
    pub(super) tally: Tally,
    /// True when events wait for their number.
    has_waiting: AtomicBool,
    /// True when other processes are to be notified of enqueued jobs.
    has_jobs: AtomicBool,
    /// True when the last handle of the database is gone.
    is_closed: AtomicBool,
    /// Wakes the listening thread.
    waker: Mutex<Option<Arc<Notify>>>,
    /// Wakes the thread that looks at a file.
    closing: Arc<Signal>,
}

impl Shared {
    /// Has the listening thread number the events that wait.
    pub(super) fn number_events(&self) {
        if !self.has_waiting.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Notifies the workers of all processes of enqueued jobs.
    pub(super) fn notify_jobs(&self) {
        self.jobs.notify();
        if !self.has_jobs.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Ends the listening threads.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.closing.notify();
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.notify_one();
        }
    }

    fn is_open(weak: &Weak<Self>) -> Option<Arc<Self>> {
        weak.upgrade().filter(|shared| !shared.is_closed.load(Ordering::SeqCst))
    }
}

/// Listens to a server until the database is closed.
pub(super) fn listen(address: &Address, weak: &Weak<Shared>) {
    let mut is_first = true;
    while let Some(shared) = Shared::is_open(weak) {
        if !is_first {
            shared.tally.reconnected();
        }
        is_first = false;
        drop(shared);
        // The failure is reported by the next read or write.
        let _ = listen_once(address, weak);
        thread::sleep(RECONNECT_AFTER);
    }
}

fn listen_once(address: &Address, weak: &Weak<Shared>) -> sql::Result<()> {
    let follower = Follower::connect(address, EVENTS, JOBS)?;
    let (mut read_at, mut numbered, mut announced) = (None::<Instant>, None::<Instant>, None::<Instant>);
    let mut numbering_rest = REST;
    loop {
        let Some(shared) = Shared::is_open(weak) else { return Ok(()) };
        if read_at.is_none() {
            *shared.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(follower.waker());
            // Notifications may have been lost while there was no connection.
            shared.events.signals.notify();
            shared.jobs.notify();
        }
        shared.events.advance(follower.number());
        if follower.take_jobs() {
            shared.jobs.notify();
        }
        if read_at.is_none_or(|at| at.elapsed() >= READ_EVERY) {
            read_at = Some(Instant::now());
            if read_state(follower.connection(), &shared)? {
                shared.has_waiting.store(true, Ordering::SeqCst);
            }
        }
        let left =
            |at: Option<Instant>, rest: Duration| at.map_or(Duration::ZERO, |at| rest.saturating_sub(at.elapsed()));
        let mut wait = left(read_at, READ_EVERY);
        if shared.has_jobs.load(Ordering::SeqCst) {
            let rest = left(announced, JOBS_REST);
            if rest.is_zero() {
                announced = Some(Instant::now());
                shared.has_jobs.store(false, Ordering::SeqCst);
                follower.connection().execute("SELECT pg_notify(?1, '')", [JOBS])?;
            } else {
                wait = wait.min(rest);
            }
        }
        if shared.has_waiting.load(Ordering::SeqCst) {
            thread::sleep(left(numbered, numbering_rest));
            numbering_rest = REST;
            // Cleared first: events that are announced from now on set it again. If this fails, the next read finds them.
            if shared.has_waiting.swap(false, Ordering::SeqCst) && !numbering::number_waiting(follower.connection())? {
                // The process that is numbering now may have begun before these events were committed.
                numbering_rest = CONTENDED_REST;
                shared.number_events();
            }
            numbered = Some(Instant::now());
        }
        drop(shared);
        follower.wait(wait)?;
    }
}

/// Reads the number of the last event and the time of the server, and notifies of jobs that can be claimed; true when events
/// wait for their number.
pub(super) fn read_state(connection: &Connection, shared: &Shared) -> sql::Result<bool> {
    let sql = "SELECT c.value, n.now_ms, EXISTS (SELECT 1 FROM event_waiting), \
               EXISTS (SELECT 1 FROM pull p WHERE p.ready_ms <= n.now_ms \
                 AND (p.lease_until_ms IS NULL OR p.lease_until_ms < n.now_ms)) \
               FROM counter c \
               CROSS JOIN (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now_ms) n \
               WHERE c.name = 'event'";
    let asked = Instant::now();
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let (last_seq, now_ms, has_waiting, has_jobs): (_, _, _, bool) = connection.query_row(sql, (), read)?;
    shared.clock.set(asked, Instant::now(), now_ms);
    shared.events.advance(last_seq);
    if has_jobs {
        shared.jobs.notify();
    }
    Ok(has_waiting)
}

/// Looks at a file for writes of other processes until the database is closed.
pub(super) fn watch_file(place: &Location, weak: &Weak<Shared>) {
    let (mut connection, mut version) = (None, 0);
    while let Some(shared) = Shared::is_open(weak) {
        if connection.is_none() {
            // The failure is reported by the next read or write.
            connection = open::open_reader(place).ok();
        }
        match connection.as_ref().map(data_version) {
            Some(Ok(found)) if found != version => {
                version = found;
                connection.as_ref().map(last_seq).into_iter().flatten().for_each(|seq| shared.events.advance(seq));
                // Not every write announces an event, and nothing tells which ones there were.
                shared.events.signals.notify();
                shared.jobs.notify();
            }
            Some(Ok(_)) | None => {}
            Some(Err(_)) => connection = None,
        }
        let (closing, seen) = (Arc::clone(&shared.closing), shared.closing.count());
        let is_open = !shared.is_closed.load(Ordering::SeqCst);
        drop(shared);
        if is_open {
            closing.wait(seen, READ_FILE_EVERY);
        }
    }
}

/// Changes whenever another connection has written.
fn data_version(connection: &Connection) -> sql::Result<i64> {
    connection.query_row("PRAGMA data_version", (), |row| row.get(0))
}
