//! The database of a board: many write, one thread commits, a few connections read.
//!
//! [`Database`] is a handle that is cheap to clone and may be used from any thread. What [`Database::write`] has given
//! back is on the disk. Other processes may use the same file; whoever finds it in use waits for some seconds.
//!
//! What is written, and what it means, is in [`super::board`]; this only sees to it that each write is there whole or not
//! at all.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use super::open;
use crate::failure::{Failure, Kind};

mod failure;
mod pulse;
mod readers;
mod writer;

use pulse::Pulse;
use readers::Readers;
use writer::{Decided, Job, Task, Writer};

/// So many writes may wait; who comes later waits for room, or is refused.
const MAX_WAITING: usize = 1_024;
/// So many writes are committed at once.
const MAX_BATCH: usize = 256;
/// How soon what another process wrote is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How often it is tried whether the database can be written.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The database of a board.
///
/// When the last handle goes, what was handed over is written first.
#[derive(Debug, Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    readers: Readers,
    pulse: Arc<Pulse>,
    /// When it was last tried whether the database can be written, and what came of it.
    checked: Mutex<Option<(Instant, Result<(), Failure>)>>,
    /// Both are there until the last handle goes.
    jobs: Option<SyncSender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
}

impl Database {
    /// Opens the database and brings it up to date; makes it if it is not there.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Self::open_batched(path, MAX_BATCH)
    }

    /// Opens it so that at most so many writes are committed at once. With 1 each waits for the disk alone.
    pub fn open_batched(path: &Path, max_batch: usize) -> Result<Self, Failure> {
        let connection = open::open_writer(path)?;
        let last_seq = last_seq(&connection).map_err(|error| open::explain(path, &error))?;
        let pulse = Arc::new(Pulse::default());
        pulse.beat(last_seq);
        let (jobs, waiting) = mpsc::sync_channel(MAX_WAITING);
        let writer = Writer { connection, path: path.to_owned(), pulse: Arc::clone(&pulse), max_batch };
        let thread = thread::Builder::new().name("database".to_owned());
        let writer = thread.spawn(move || writer.run(&waiting)).map_err(|error| {
            Failure::new(Kind::External, format!("no thread can be started that writes the database: {error}"))
        })?;
        let (path, readers) = (path.to_owned(), Readers::new());
        let inner = Inner { path, readers, pulse, checked: Mutex::default(), jobs: Some(jobs), writer: Some(writer) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Where the database is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Fails when the database cannot be written. It is tried once a second at most, however often it is asked.
    pub fn check(&self) -> Result<(), Failure> {
        let mut checked = self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, result)) = &*checked
            && at.elapsed() < CHECK_EVERY
        {
            return result.clone();
        }
        let result = self.write(|connection| connection.execute("UPDATE counter SET value = value", [])).map(drop);
        *checked = Some((Instant::now(), result.clone()));
        result
    }

    /// Waits until there is an event after this one; false when there is none in time.
    ///
    /// Events of this process wake at once, those of another within a moment.
    pub fn wait_for_events(&self, after_seq: u64, timeout: Duration) -> Result<bool, Failure> {
        let end = Instant::now() + timeout;
        loop {
            if self.inner.pulse.wait(after_seq, end.min(Instant::now() + LOOK_EVERY)) {
                return Ok(true);
            }
            self.inner.pulse.beat(self.read(last_seq)?);
            if self.inner.pulse.wait(after_seq, Instant::now()) {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
        }
    }

    /// Reads one state of the database.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Failure> {
        self.inner.readers.read(&self.inner.path, work)
    }

    /// Writes, and comes back when it is on the disk.
    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let decided = self.decide(move |connection| work(connection).map(Ok::<T, std::convert::Infallible>))?;
        match decided {
            Ok(done) => Ok(done),
            Err(never) => match never {},
        }
    }

    /// Writes, or refuses after a look; of what is refused nothing stays.
    pub(super) fn decide<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Failure> {
        if self.inner.is_writer() {
            return Err(failure::inside_itself());
        }
        let (answer, answered) = mpsc::sync_channel(1);
        // Nobody listens only when the thread that asked is gone.
        let job = Task::new(work, move |decided| _ = answer.send(decided));
        let jobs = self.inner.jobs.as_ref().ok_or_else(failure::closed)?;
        jobs.send(Box::new(job)).map_err(|_| failure::closed())?;
        answered.recv().map_err(|_| failure::closed())?
    }

    /// Hands something over to be written and comes back at once; `done` is told, on another thread, how it ended.
    ///
    /// When too much waits already, it is told so at once.
    pub(super) fn submit<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
        done: impl FnOnce(Result<Result<T, E>, Failure>) + Send + 'static,
    ) {
        let job: Box<dyn Job> = Box::new(Task::new(work, done));
        let refused = match &self.inner.jobs {
            None => Some((job, failure::closed())),
            Some(jobs) => match jobs.try_send(job) {
                Ok(()) => None,
                Err(TrySendError::Full(job)) => Some((job, failure::too_busy())),
                Err(TrySendError::Disconnected(job)) => Some((job, failure::closed())),
            },
        };
        if let Some((job, failure)) = refused {
            job.answer(&self.inner.path, Err(failure));
        }
    }
}

/// The number of the last event there ever was, also when it is not kept any more.
pub(super) fn last_seq(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'event'";
    Ok(connection.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or(0))
}

impl Inner {
    /// True on the thread that writes, which must not wait for itself.
    fn is_writer(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.thread().id() == thread::current().id())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without a sender the thread ends once all is written.
        self.jobs = None;
        if !self.is_writer()
            && let Some(writer) = self.writer.take()
        {
            // It catches what its work throws; a panic of its own was already seen by whoever waited.
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests;
