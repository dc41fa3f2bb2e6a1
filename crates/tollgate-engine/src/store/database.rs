//! The database of a server: many threads write, few commit (group commit), a few connections read.
//!
//! [`Database`] is a handle that is cheap to clone and may be used from any thread. A write is durable when
//! [`Database::write`] returns. Other processes may use the same file; a locked file is waited for, for some seconds.
//!
//! On PostgreSQL, a write that decides upon rows it has read is exclusive among all processes, as it is in a file. Frequent
//! writes that only touch rows of their own ([`Database::write_concurrent`]) run concurrently, on several connections.
//!
//! The contents are the business of [`super::board`] and [`super::pulls`]; this module makes each write atomic.

use std::any::TypeId;
use std::path::Path;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::pulls::Rotation;
use super::queue::LeaseLost;
use super::sql::{self, Connection, OptionalExtension as _, WriteMode};
use super::{Location, Store, open};
use crate::failure::{Failure, no_thread};

mod clock;
mod failure;
mod listen;
pub(super) mod numbering;
mod readers;
mod signal;
pub mod tally;
mod writer;

use listen::Shared;
use readers::Readers;
pub use signal::Signal;
pub use tally::Tallied;
use writer::{Decided, Job, Task, Writer};

/// The most queued writes; further ones wait for room, or are refused.
const MAX_WAITING: usize = 1_024;
/// The most writes in one commit.
const MAX_BATCH: usize = 256;
/// The connections to PostgreSQL for concurrent writes.
const MAX_BESIDE: usize = 3;
/// How soon writes of another process are noticed without a watching thread.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The shortest time between two checks whether the database is writable.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The database of a server.
///
/// When the last handle is dropped, queued writes are committed first.
#[derive(Debug, Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    place: Location,
    readers: Readers,
    shared: Arc<Shared>,
    /// Started by the first subscription to a file.
    file_watch: OnceLock<()>,
    /// How far the round robin over the lanes of pull requests has come.
    rotation: Arc<Rotation>,
    /// The last check whether the database is writable, and its result.
    checked: Mutex<Option<(Instant, Result<(), Failure>)>>,
    /// `None` once the last handle is dropped.
    writing: Option<Writing>,
    /// Concurrent writers on PostgreSQL; a file has a single writer.
    beside: Option<Writing>,
}

/// Writing threads and their queue.
#[derive(Debug)]
struct Writing {
    jobs: SyncSender<Box<dyn Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Writing {
    fn start(name: &str, mut writers: Vec<Writer>) -> Result<Self, Failure> {
        let (jobs, waiting) = mpsc::sync_channel(MAX_WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::new();
        while let Some(writer) = writers.pop() {
            let (thread, waiting) = (thread::Builder::new().name(name.to_owned()), Arc::clone(&waiting));
            threads.push(thread.spawn(move || writer.run(&waiting)).map_err(|error| no_thread(&error))?);
        }
        Ok(Self { jobs, threads })
    }

    /// True on one of its own threads, which must not wait for itself.
    fn is_here(&self) -> bool {
        self.threads.iter().any(|thread| thread.thread().id() == thread::current().id())
    }

    /// Ends once the queue is empty.
    fn end(self) {
        let is_here = self.is_here();
        drop(self.jobs);
        if !is_here {
            for thread in self.threads {
                // A panic of a write is caught; a panic of the thread itself was reported to the waiting callers.
                let _ = thread.join();
            }
        }
    }
}

impl Database {
    /// Opens the database in a file, creates it if necessary, and migrates it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Self::open_at(&Location::File(path.to_owned()))
    }

    /// Opens the database at a location, and migrates it.
    pub fn open_at(place: &Location) -> Result<Self, Failure> {
        Self::open_batched(place, MAX_BATCH)
    }

    /// Opens it with at most so many writes in one commit. With 1 there is no group commit.
    pub fn open_batched(place: &Location, max_batch: usize) -> Result<Self, Failure> {
        let connection = open::open_writer(place)?;
        let shared = Arc::new(Shared::default());
        let failed = |error: sql::Error| open::explain(place, &error);
        if let Location::Postgres(address) = place {
            listen::read_state(&connection, &shared).map_err(failed)?;
            let (address, weak) = (address.clone(), Arc::downgrade(&shared));
            let thread = thread::Builder::new().name("database-events".to_owned());
            thread.spawn(move || listen::listen(&address, &weak)).map_err(|error| no_thread(&error))?;
        } else {
            shared.events.advance(last_seq(&connection).map_err(failed)?);
        }
        let writer = |connection, with, max_batch| Writer {
            place: place.clone(),
            connection,
            shared: Arc::clone(&shared),
            with,
            max_batch,
            file: writer::identity(place),
        };
        let is_shared = connection.is_shared();
        let writing = Writing::start("database", vec![writer(Some(connection), WriteMode::Exclusive, max_batch)])?;
        let beside = if is_shared {
            let writers = (0..MAX_BESIDE).map(|_| writer(None, WriteMode::Concurrent, 1)).collect();
            Some(Writing::start("database-beside", writers)?)
        } else {
            None
        };
        let (place, checked) = (place.clone(), Mutex::default());
        let inner = Inner {
            place,
            readers: Readers::new(),
            shared,
            file_watch: OnceLock::new(),
            rotation: Arc::default(),
            checked,
            writing: Some(writing),
            beside,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The location of the database.
    #[must_use]
    pub fn place(&self) -> &Location {
        &self.inner.place
    }

    /// The store at the same location, for one thread.
    pub fn store(&self) -> Result<Store, Failure> {
        Store::open_at(&self.inner.place)
    }

    /// The time in milliseconds since 1970: on PostgreSQL that of the server, which all processes share.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.inner.shared.clock.now_ms()
    }

    /// How far the round robin over the lanes of pull requests has come.
    pub(super) fn rotation(&self) -> Arc<Rotation> {
        Arc::clone(&self.inner.rotation)
    }

    /// Counts of writes since the process began.
    #[must_use]
    pub fn tallied(&self) -> Tallied {
        self.inner.shared.tally.read()
    }

    /// Fails when the database is not writable. It is checked once a second at most.
    pub fn check(&self) -> Result<(), Failure> {
        let mut checked = self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, result)) = &*checked
            && at.elapsed() < CHECK_EVERY
        {
            return result.clone();
        }
        let result = self.write_concurrent(try_to_write);
        *checked = Some((Instant::now(), result.clone()));
        result
    }

    /// Writes everything into the file itself, so that a copy of the file is whole. For the end of a process.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        if self.place().file().is_none() {
            return Ok(());
        }
        let connection = open::open(self.place())?;
        let done = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        done.map_err(|error| open::explain(self.place(), &error))
    }

    /// Waits until there is an event after this one; false when there is none in time.
    ///
    /// Events of this process wake at once, those of another within a moment.
    pub fn wait_for_events(&self, after_seq: u64, timeout: Duration) -> Result<bool, Failure> {
        let end = Instant::now() + timeout;
        let events = &self.inner.shared.events;
        if self.inner.beside.is_some() || self.inner.file_watch.get().is_some() {
            // Another thread listens to the server, or looks at the file.
            return Ok(events.wait(after_seq, end));
        }
        loop {
            if events.wait(after_seq, end.min(Instant::now() + LOOK_EVERY)) {
                return Ok(true);
            }
            events.advance(self.read(last_seq)?);
            if events.wait(after_seq, Instant::now()) {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
        }
    }

    /// A signal that is notified of new events.
    #[must_use]
    pub fn event_signal(&self) -> Arc<Signal> {
        self.watch_file();
        self.inner.shared.events.signals.subscribe()
    }

    /// A signal that is notified when a pull request is enqueued.
    #[must_use]
    pub fn job_signal(&self) -> Arc<Signal> {
        self.watch_file();
        self.inner.shared.jobs.subscribe()
    }

    /// Wakes the worker of the board in this process, because of a change that no event announces.
    pub(super) fn notify_board(&self) {
        self.inner.shared.events.signals.notify();
    }

    /// Wakes the workers of all processes, because a pull request was enqueued.
    pub(super) fn notify_jobs(&self) {
        self.inner.shared.notify_jobs();
    }

    /// The same, for another thread.
    pub(super) fn job_notifier(&self) -> impl Fn() + Send + 'static {
        let shared = Arc::clone(&self.inner.shared);
        move || shared.notify_jobs()
    }

    /// Starts the thread that looks at a file for writes of other processes, which nothing announces.
    fn watch_file(&self) {
        if self.inner.beside.is_some() {
            return;
        }
        self.inner.file_watch.get_or_init(|| {
            let (place, weak) = (self.inner.place.clone(), Arc::downgrade(&self.inner.shared));
            let thread = thread::Builder::new().name("database-file".to_owned());
            // Without the thread, writes of this process are noticed at once, and those of others with the next one.
            let _ = thread.spawn(move || listen::watch_file(&place, &weak));
        });
    }

    /// Reads a snapshot of the database.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> sql::Result<T>) -> Result<T, Failure> {
        self.inner.readers.read(&self.inner.place, work)
    }

    /// Writes exclusively; the write is durable when this returns.
    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        never_refused(self.decide(move |connection| work(connection).map(Ok))?)
    }

    /// Writes concurrently with others: the write only touches rows that it has locked, or changes each in one statement that
    /// carries its own condition.
    pub(super) fn write_concurrent<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        never_refused(self.decide_with(WriteMode::Concurrent, move |connection| work(connection).map(Ok))?)
    }

    /// Writes or refuses, exclusively; a refused write leaves nothing behind.
    pub(super) fn decide<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Failure> {
        self.decide_with(WriteMode::Exclusive, work)
    }

    /// Writes or refuses, concurrently with others.
    pub(super) fn decide_concurrent<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Failure> {
        self.decide_with(WriteMode::Concurrent, work)
    }

    fn decide_with<T: Send + 'static, E: Send + 'static>(
        &self,
        with: WriteMode,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Failure> {
        if self.inner.is_writer() {
            return Err(failure::inside_itself());
        }
        let (answer, answered) = mpsc::sync_channel(1);
        // The receiver is gone only together with the calling thread.
        let job = Task::new(work, move |decided| _ = answer.send(decided));
        let writing = self.inner.writing(with).ok_or_else(failure::closed)?;
        let tally = &self.inner.shared.tally;
        tally.waits();
        writing.jobs.send(Box::new(job)).map_err(|_| failure::closed())?;
        let decided = answered.recv().map_err(|_| failure::closed())??;
        // A lost lease shows itself by this refusal alone.
        if decided.is_err() && TypeId::of::<E>() == TypeId::of::<LeaseLost>() {
            tally.lost_lease();
        }
        Ok(decided)
    }

    /// Queues a write and returns at once; `done` gets the result on another thread.
    ///
    /// A full queue is reported at once.
    pub(super) fn submit<T: Send + 'static, E: Send + 'static>(
        &self,
        with: WriteMode,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
        done: impl FnOnce(Result<Result<T, E>, Failure>) + Send + 'static,
    ) {
        let job: Box<dyn Job> = Box::new(Task::new(work, done));
        let refused = match self.inner.writing(with) {
            None => Some((job, failure::closed())),
            Some(writing) => {
                let tally = &self.inner.shared.tally;
                tally.waits();
                let refused = match writing.jobs.try_send(job) {
                    Ok(()) => None,
                    Err(TrySendError::Full(job)) => Some((job, failure::too_busy())),
                    Err(TrySendError::Disconnected(job)) => Some((job, failure::closed())),
                };
                tally.taken(usize::from(refused.is_some()));
                refused
            }
        };
        if let Some((job, failure)) = refused {
            job.answer(&self.inner.place, Err(failure));
        }
    }
}

fn never_refused<T>(decided: Result<T, std::convert::Infallible>) -> Result<T, Failure> {
    match decided {
        Ok(done) => Ok(done),
        Err(never) => match never {},
    }
}

/// Fails where the database is not writable, such as on a standby server.
fn try_to_write(connection: &Connection) -> sql::Result<()> {
    if connection.is_shared() {
        let sql = "SELECT current_setting('transaction_read_only') = 'on'";
        let is_read_only: bool = connection.query_row(sql, (), |row| row.get(0))?;
        return if is_read_only { Err(sql::Error::Unreachable("it can only be read".to_owned())) } else { Ok(()) };
    }
    connection.execute("UPDATE counter SET value = value", ()).map(drop)
}

/// The number of the last event, even if that is no longer kept.
pub(super) fn last_seq(connection: &Connection) -> sql::Result<u64> {
    let sql = if connection.is_shared() {
        "SELECT value FROM counter WHERE name = 'event'"
    } else {
        "SELECT seq FROM sqlite_sequence WHERE name = 'event'"
    };
    Ok(connection.query_row(sql, (), |row| row.get(0)).optional()?.unwrap_or(0))
}

impl Inner {
    /// The threads for a mode.
    fn writing(&self, with: WriteMode) -> Option<&Writing> {
        match with {
            WriteMode::Exclusive => self.writing.as_ref(),
            WriteMode::Concurrent => self.beside.as_ref().or(self.writing.as_ref()),
        }
    }

    /// True on a writing thread, which must not wait for itself.
    fn is_writer(&self) -> bool {
        [&self.writing, &self.beside].into_iter().flatten().any(Writing::is_here)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
        for writing in [self.writing.take(), self.beside.take()].into_iter().flatten() {
            writing.end();
        }
    }
}

#[cfg(test)]
mod tests;
