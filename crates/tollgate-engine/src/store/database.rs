//! The database of a board: many write, one thread commits, a few connections read.
//!
//! [`Database`] is a handle that is cheap to clone and may be used from any thread. What [`Database::write`] has given
//! back is on the disk. Other processes may use the same file; whoever finds it in use waits for some seconds.
//!
//! On a server, what is decided upon what was read is written by one process at a time, as it is in a file; what is asked
//! often and touches rows of its own ([`Database::write_concurrent`]) is written by several threads of every process.
//!
//! What is written, and what it means, is in [`super::board`]; this only sees to it that each write is there whole or not
//! at all.

use std::any::TypeId;
use std::path::Path;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::pulls::LeaseLost;
use super::sql::{self, Connection, OptionalExtension as _, WriteMode};
use super::{Location, Store, open};
use crate::failure::{Failure, Kind};

mod clock;
mod failure;
mod follow;
pub(super) mod numbering;
mod pulse;
mod readers;
pub mod tally;
mod writer;

use follow::Told;
use readers::Readers;
pub use tally::Tallied;
use writer::{Decided, Job, Task, Writer};

/// So many writes may wait; who comes later waits for room, or is refused.
const MAX_WAITING: usize = 1_024;
/// So many writes are committed at once.
const MAX_BATCH: usize = 256;
/// So many threads write beside each other to a server.
const MAX_BESIDE: usize = 3;
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
    place: Location,
    readers: Readers,
    told: Arc<Told>,
    /// When it was last tried whether the database can be written, and what came of it.
    checked: Mutex<Option<(Instant, Result<(), Failure>)>>,
    /// There until the last handle goes.
    writing: Option<Writing>,
    /// On a server, what may be written beside it; in a file there is only one who writes.
    beside: Option<Writing>,
}

/// Threads that write, and how work is handed to them.
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

    /// True on a thread of its own, which must not wait for itself.
    fn is_here(&self) -> bool {
        self.threads.iter().any(|thread| thread.thread().id() == thread::current().id())
    }

    /// Ends once all is written.
    fn end(self) {
        let is_here = self.is_here();
        drop(self.jobs);
        if !is_here {
            for thread in self.threads {
                // It catches what its work throws; a panic of its own was already seen by whoever waited.
                let _ = thread.join();
            }
        }
    }
}

fn no_thread(error: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("no thread can be started that writes the database: {error}"))
}

impl Database {
    /// Opens the database in a file and brings it up to date; makes it if it is not there.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Self::open_at(&Location::File(path.to_owned()))
    }

    /// Opens the database wherever it is, and brings it up to date.
    pub fn open_at(place: &Location) -> Result<Self, Failure> {
        Self::open_batched(place, MAX_BATCH)
    }

    /// Opens it so that at most so many writes are committed at once. With 1 each waits for the disk alone.
    pub fn open_batched(place: &Location, max_batch: usize) -> Result<Self, Failure> {
        let connection = open::open_writer(place)?;
        let told = Arc::new(Told::default());
        let failed = |error: sql::Error| open::explain(place, &error);
        if let Location::Postgres(address) = place {
            follow::look(&connection, &told).map_err(failed)?;
            let (address, weak) = (address.clone(), Arc::downgrade(&told));
            let thread = thread::Builder::new().name("database-events".to_owned());
            thread.spawn(move || follow::follow(&address, &weak)).map_err(|error| no_thread(&error))?;
        } else {
            told.pulse.beat(last_seq(&connection).map_err(failed)?);
        }
        let writer = |connection, with, max_batch| Writer {
            place: place.clone(),
            connection,
            told: Arc::clone(&told),
            with,
            max_batch,
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
        let inner = Inner { place, readers: Readers::new(), told, checked, writing: Some(writing), beside };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Where the database is.
    #[must_use]
    pub fn place(&self) -> &Location {
        &self.inner.place
    }

    /// The memory in the same place, for one thread.
    pub fn store(&self) -> Result<Store, Failure> {
        Store::open_at(&self.inner.place)
    }

    /// The time, in milliseconds since 1970: on a server, what all who use it agree upon.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.inner.told.clock.now_ms()
    }

    /// What became of writes since the process began.
    #[must_use]
    pub fn tallied(&self) -> Tallied {
        self.inner.told.tally.read()
    }

    /// Fails when the database cannot be written. It is tried once a second at most, however often it is asked.
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

    /// Waits until there is an event after this one; false when there is none in time.
    ///
    /// Events of this process wake at once, those of another within a moment.
    pub fn wait_for_events(&self, after_seq: u64, timeout: Duration) -> Result<bool, Failure> {
        let end = Instant::now() + timeout;
        let pulse = &self.inner.told.pulse;
        if self.inner.beside.is_some() {
            // Whoever listens to the server looks by itself.
            return Ok(pulse.wait(after_seq, end));
        }
        loop {
            if pulse.wait(after_seq, end.min(Instant::now() + LOOK_EVERY)) {
                return Ok(true);
            }
            pulse.beat(self.read(last_seq)?);
            if pulse.wait(after_seq, Instant::now()) {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
        }
    }

    /// Reads one state of the database.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> sql::Result<T>) -> Result<T, Failure> {
        self.inner.readers.read(&self.inner.place, work)
    }

    /// Writes, and comes back when it is on the disk.
    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        never_refused(self.decide(move |connection| work(connection).map(Ok))?)
    }

    /// Writes what others may write beside: it only touches rows that it has locked, or changes each in one statement that
    /// says itself under which condition.
    pub(super) fn write_concurrent<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        never_refused(self.decide_with(WriteMode::Concurrent, move |connection| work(connection).map(Ok))?)
    }

    /// Writes, or refuses after a look; of what is refused nothing stays.
    pub(super) fn decide<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Decided<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Failure> {
        self.decide_with(WriteMode::Exclusive, work)
    }

    /// The same, of what others may write beside.
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
        // Nobody listens only when the thread that asked is gone.
        let job = Task::new(work, move |decided| _ = answer.send(decided));
        let writing = self.inner.writing(with).ok_or_else(failure::closed)?;
        let tally = &self.inner.told.tally;
        tally.waits();
        writing.jobs.send(Box::new(job)).map_err(|_| failure::closed())?;
        let decided = answered.recv().map_err(|_| failure::closed())??;
        // Whoever is refused for this reason had lost a claim; there is no other sign of that.
        if decided.is_err() && TypeId::of::<E>() == TypeId::of::<LeaseLost>() {
            tally.lost_lease();
        }
        Ok(decided)
    }

    /// Hands something over to be written and comes back at once; `done` is told, on another thread, how it ended.
    ///
    /// When too much waits already, it is told so at once.
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
                let tally = &self.inner.told.tally;
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

/// Fails where nothing can be written. A server that only follows another can be read, and no more.
fn try_to_write(connection: &Connection) -> sql::Result<()> {
    if connection.is_shared() {
        let sql = "SELECT current_setting('transaction_read_only') = 'on'";
        let is_read_only: bool = connection.query_row(sql, (), |row| row.get(0))?;
        return if is_read_only { Err(sql::Error::Unreachable("it can only be read".to_owned())) } else { Ok(()) };
    }
    connection.execute("UPDATE counter SET value = value", ()).map(drop)
}

/// The number of the last event there ever was, also when it is not kept any more.
pub(super) fn last_seq(connection: &Connection) -> sql::Result<u64> {
    let sql = if connection.is_shared() {
        "SELECT value FROM counter WHERE name = 'event'"
    } else {
        "SELECT seq FROM sqlite_sequence WHERE name = 'event'"
    };
    Ok(connection.query_row(sql, (), |row| row.get(0)).optional()?.unwrap_or(0))
}

impl Inner {
    /// Who writes it.
    fn writing(&self, with: WriteMode) -> Option<&Writing> {
        match with {
            WriteMode::Exclusive => self.writing.as_ref(),
            WriteMode::Concurrent => self.beside.as_ref().or(self.writing.as_ref()),
        }
    }

    /// True on a thread that writes, which must not wait for itself.
    fn is_writer(&self) -> bool {
        [&self.writing, &self.beside].into_iter().flatten().any(Writing::is_here)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for writing in [self.writing.take(), self.beside.take()].into_iter().flatten() {
            writing.end();
        }
    }
}

#[cfg(test)]
mod tests;
