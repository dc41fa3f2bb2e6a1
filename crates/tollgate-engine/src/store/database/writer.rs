//! The thread that writes: it takes all that waits, does each in a savepoint, and commits once.
//!
//! A commit waits for the disk, whatever stands in it; twenty writes in one cost hardly more than one. Whoever wrote is
//! answered after the commit, so that what was answered is there even after the power went.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::follow::Told;
use super::{failure, numbering};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, WriteMode};
use crate::store::{Location, open};

/// What a piece of work comes to: something, or the refusal of the one who wrote it.
pub(super) type Decided<T, E> = sql::Result<Result<T, E>>;

/// One piece of work that waits to be written.
pub(super) trait Job: Send {
    /// Does it; false when nothing of it is to stay.
    fn work(&mut self, connection: &Connection) -> bool;
    /// Says how it ended.
    fn answer(self: Box<Self>, place: &Location, committed: Result<(), Failure>);
}

/// A piece of work with the one who waits for it.
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
        // What panics is rolled back, so nothing half done can be seen.
        self.outcome = catch_unwind(AssertUnwindSafe(|| work(connection))).ok();
        matches!(self.outcome, Some(Ok(Ok(_))))
    }

    fn answer(self: Box<Self>, place: &Location, committed: Result<(), Failure>) {
        let Self { outcome, done, .. } = *self;
        let answer = match (outcome, committed) {
            (Some(Err(error)), _) => Err(open::explain(place, &error)),
            // A refusal may stand on what others wrote in the same batch; without that it is worth nothing.
            (_, Err(failure)) => Err(failure),
            (Some(Ok(decided)), Ok(())) => Ok(decided),
            (None, Ok(())) => Err(failure::panicked()),
        };
        // Whoever waits may be gone, or be wrong; the others are answered all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| done(answer)));
    }
}

/// The jobs that wait, for one thread or for several.
pub(super) type Waiting = Arc<Mutex<Receiver<Box<dyn Job>>>>;

/// The thread's own.
pub(super) struct Writer {
    pub(super) place: Location,
    /// Made when it is needed, and anew when the server hung up.
    pub(super) connection: Option<Connection>,
    pub(super) told: Arc<Told>,
    /// What others may write meanwhile.
    pub(super) with: WriteMode,
    /// At most so many writes are committed at once.
    pub(super) max_batch: usize,
}

impl Writer {
    /// Writes until nobody can send any more, and what was sent is written.
    pub(super) fn run(mut self, jobs: &Waiting) {
        while let Some(mut batch) = self.next_batch(jobs) {
            self.told.tally.taken(batch.len());
            let begun = Instant::now();
            let committed = self.commit(&mut batch);
            self.told.tally.ended(batch.len(), begun.elapsed(), committed.is_ok());
            for job in batch {
                job.answer(&self.place, committed.clone());
            }
        }
    }

    /// All that waits, or the first that comes.
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
            // What a server was told it tells everybody, us too.
            Ok(last_seq) => {
                last_seq.into_iter().for_each(|last_seq| self.told.pulse.beat(last_seq));
                if numbering::has_waiting(&connection) {
                    self.told.wake();
                }
                Ok(())
            }
            Err(error) => {
                // It fails where the database has rolled back by itself.
                let _ = connection.execute_batch("ROLLBACK");
                Err(open::explain(&self.place, &error))
            }
        };
        if !connection.is_lost() {
            self.connection = Some(connection);
        }
        done
    }

    /// A connection on which a transaction has begun. A server that has hung up since is called again.
    fn begin(&mut self) -> Result<Connection, Failure> {
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
            self.told.tally.reconnected();
        }
        let connection = open::open_writer(&self.place)?;
        connection.begin(self.with).map_err(|error| open::explain(&self.place, &error))?;
        Ok(connection)
    }
}

/// Does all of a batch, and says how it is to end.
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

/// Does one piece of work, so that it is there whole or not at all.
fn step(connection: &Connection, job: &mut dyn Job) -> sql::Result<()> {
    connection.begin_piece()?;
    let stays = job.work(connection);
    check(connection)?;
    connection.end_piece(stays)
}

/// A full disk or a failing one can end the whole transaction, and with it what others wrote; so can a server.
fn check(connection: &Connection) -> sql::Result<()> {
    if connection.is_idle() { Err(failure::ended_by_itself(connection)) } else { Ok(()) }
}
