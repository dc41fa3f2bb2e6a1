//! A writing thread: it takes all queued writes, runs each in a savepoint, and commits once (group commit).
//!
//! A commit waits for the disk, small or large; twenty writes in one cost hardly more than one. Results are returned after
//! the commit, so that a reported write survives a power failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::listen::Shared;
use super::{failure, numbering};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, WriteMode};
use crate::store::{Location, open};

/// The result of a write: a value, or its own refusal.
pub(super) type Decided<T, E> = sql::Result<Result<T, E>>;

/// A queued write.
pub(super) trait Job: Send {
    /// Runs it; false when it is to be rolled back.
    fn work(&mut self, connection: &Connection) -> bool;
    /// Reports the result.
    fn answer(self: Box<Self>, place: &Location, committed: Result<(), Failure>);
}

/// A queued write with its caller.
pub(super) struct Task<T, E, W, D> {
    work: Option<W>,
    outcome: Option<Decided<T, E>>,
    done: D,
}

impl<T, E, W, D> Task<T, E, W, D> {
    pub(super) fn new(work: W, done: D) -> Self {
        Self { work: Some(work), outcome: None, done }
    }
}

impl<T, E, W, D> Job for Task<T, E, W, D>
where
    T: Send,
    E: Send,
    W: FnOnce(&Connection) -> Decided<T, E> + Send,
    D: FnOnce(Result<Result<T, E>, Failure>) + Send,
{
    fn work(&mut self, connection: &Connection) -> bool {
        let Some(work) = self.work.take() else { return false };
        // A panicking write is rolled back, so no half of it can be seen.
        self.outcome = catch_unwind(AssertUnwindSafe(|| work(connection))).ok();
        matches!(self.outcome, Some(Ok(Ok(_))))
    }

    fn answer(self: Box<Self>, place: &Location, committed: Result<(), Failure>) {
        let Self { outcome, done, .. } = *self;
        let answer = match (outcome, committed) {
            (Some(Err(error)), _) => Err(open::explain(place, &error)),
            // A refusal may be based on other writes of the same batch; without them it is worth nothing.
            (_, Err(failure)) => Err(failure),
            (Some(Ok(decided)), Ok(())) => Ok(decided),
            (None, Ok(())) => Err(failure::panicked()),
        };
        // A caller may be gone or panic; the others get their results all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| done(answer)));
    }
}

/// The queue, for one thread or for several.
pub(super) type Waiting = Arc<Mutex<Receiver<Box<dyn Job>>>>;

/// The state of the thread.
pub(super) struct Writer {
    pub(super) place: Location,
    /// Made when needed, and again after it was lost.
    pub(super) connection: Option<Connection>,
    pub(super) shared: Arc<Shared>,
    /// Whether others may write meanwhile.
    pub(super) with: WriteMode,
    /// The most writes in one commit.
    pub(super) max_batch: usize,
    /// The file that the database was in when it was opened.
    pub(super) file: Option<FileIdentity>,
}

/// Device and number of a file, which tell a file from another one with its name.
pub(super) type FileIdentity = (u64, u64);

/// The identity of the file at a location; `None` for a server, or when there is no file.
pub(super) fn identity(place: &Location) -> Option<FileIdentity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        place.file().and_then(|path| std::fs::metadata(path).ok()).map(|file| (file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = place;
        None
    }
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(super) fn run(mut self, jobs: &Waiting) {
        while let Some(mut batch) = self.next_batch(jobs) {
            self.shared.tally.taken(batch.len());
            let begun = Instant::now();
            let committed = self.commit(&mut batch);
            self.shared.tally.ended(batch.len(), begun.elapsed(), committed.is_ok());
            for job in batch {
                job.answer(&self.place, committed.clone());
            }
        }
    }

    /// All queued writes, or the next one.
    fn next_batch(&self, jobs: &Waiting) -> Option<Vec<Box<dyn Job>>> {
        let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = vec![jobs.recv().ok()?];
        while batch.len() < self.max_batch
            && let Ok(job) = jobs.try_recv()
        {
            batch.push(job);
        }
        Some(batch)
    }

    fn commit(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), Failure> {
        let connection = self.begin()?;
        let committed = steps(&connection, batch).and_then(|end| {
            let last_seq = if connection.is_shared() { None } else { Some(super::last_seq(&connection)?) };
            connection.execute_batch(end)?;
            Ok(last_seq)
        });
        let done = match committed {
            // PostgreSQL notifies all processes, this one too.
            Ok(last_seq) => {
                last_seq.into_iter().for_each(|last_seq| self.shared.events.advance(last_seq));
                if numbering::has_waiting(&connection) {
                    self.shared.number_events();
                }
                Ok(())
            }
            Err(error) => {
                // This fails where the engine has rolled back by itself.
                let _ = connection.execute_batch("ROLLBACK");
                Err(open::explain(&self.place, &error))
            }
        };
        if !connection.is_lost() {
            self.connection = Some(connection);
        }
        done
    }

    /// Begins a transaction on a connection. A lost connection is made again.
    fn begin(&mut self) -> Result<Connection, Failure> {
        // SQLite goes on in a file that was deleted, and everything is lost with the process.
        if self.file.is_some() && identity(&self.place) != self.file {
            return Err(failure::gone(&self.place));
        }
        if let Some(connection) = self.connection.take().filter(|connection| !connection.is_lost()) {
            match connection.begin(self.with) {
                Ok(()) => return Ok(connection),
                Err(error) if error.is_disconnect() => {}
                Err(error) => {
                    let _ = connection.execute_batch("ROLLBACK");
                    let failure = open::explain(&self.place, &error);
                    self.connection = Some(connection);
                    return Err(failure);
                }
            }
            self.shared.tally.reconnected();
        }
        let connection = open::open_writer(&self.place)?;
        connection.begin(self.with).map_err(|error| open::explain(&self.place, &error))?;
        Ok(connection)
    }
}

/// Runs a batch, and says how its transaction is to end.
fn steps(connection: &Connection, batch: &mut [Box<dyn Job>]) -> sql::Result<&'static str> {
    if let [job] = batch {
        let stays = job.work(connection);
        check(connection)?;
        if stays && connection.is_spoilt() {
            return Err(failure::spoilt());
        }
        return Ok(if stays { "COMMIT" } else { "ROLLBACK" });
    }
    for job in batch {
        step(connection, job.as_mut())?;
    }
    Ok("COMMIT")
}

/// Runs one write in a savepoint.
fn step(connection: &Connection, job: &mut dyn Job) -> sql::Result<()> {
    connection.begin_piece()?;
    let stays = job.work(connection);
    check(connection)?;
    connection.end_piece(stays)
}

/// A full or failing disk can end the whole transaction, and with it the other writes; so can a server.
fn check(connection: &Connection) -> sql::Result<()> {
    if connection.is_idle() { Err(failure::ended_by_itself(connection)) } else { Ok(()) }
}
