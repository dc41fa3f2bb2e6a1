//! The thread that writes: it takes all that waits, does each in a savepoint, and commits once.
//!
//! A commit waits for the disk, whatever stands in it; twenty writes in one cost hardly more than one. Whoever wrote is
//! answered after the commit, so that what was answered is there even after the power went.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::Connection;

use super::failure;
use super::pulse::Pulse;
use crate::failure::Failure;
use crate::store::open;

/// What a piece of work comes to: something, or the refusal of the one who wrote it.
pub(super) type Decided<T, E> = rusqlite::Result<Result<T, E>>;

/// One piece of work that waits to be written.
pub(super) trait Job: Send {
    /// Does it; false when nothing of it is to stay.
    fn work(&mut self, connection: &Connection) -> bool;
    /// Says how it ended.
    fn answer(self: Box<Self>, path: &Path, committed: Result<(), Failure>);
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

    fn answer(self: Box<Self>, path: &Path, committed: Result<(), Failure>) {
        let Self { outcome, done, .. } = *self;
        let answer = match (outcome, committed) {
            (Some(Err(error)), _) => Err(open::explain(path, &error)),
            // A refusal may stand on what others wrote in the same batch; without that it is worth nothing.
            (_, Err(failure)) => Err(failure),
            (Some(Ok(decided)), Ok(())) => Ok(decided),
            (None, Ok(())) => Err(failure::panicked()),
        };
        // Whoever waits may be gone, or be wrong; the others are answered all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| done(answer)));
    }
}

/// The thread's own.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) pulse: Arc<Pulse>,
    /// At most so many writes are committed at once.
    pub(super) max_batch: usize,
}

impl Writer {
    /// Writes until nobody can send any more, and what was sent is written.
    pub(super) fn run(self, jobs: &Receiver<Box<dyn Job>>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            while batch.len() < self.max_batch
                && let Ok(job) = jobs.try_recv()
            {
                batch.push(job);
            }
            let committed = self.commit(&mut batch).map_err(|error| open::explain(&self.path, &error));
            for job in batch {
                job.answer(&self.path, committed.clone());
            }
        }
    }

    fn commit(&self, batch: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let committed = batch.iter_mut().try_for_each(|job| self.step(job.as_mut())).and_then(|()| {
            let last_seq = super::last_seq(&self.connection)?;
            self.connection.execute_batch("COMMIT")?;
            Ok(last_seq)
        });
        match committed {
            Ok(last_seq) => {
                self.pulse.beat(last_seq);
                Ok(())
            }
            Err(error) => {
                // It fails where SQLite has rolled back by itself.
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Does one piece of work, so that it is there whole or not at all.
    fn step(&self, job: &mut dyn Job) -> rusqlite::Result<()> {
        self.connection.execute_batch("SAVEPOINT job")?;
        let stays = job.work(&self.connection);
        if self.connection.is_autocommit() {
            // A full disk or a failing one can end the whole transaction, and with it what others wrote.
            return Err(failure::ended_by_itself());
        }
        let end = if stays { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
        self.connection.execute_batch(end)
    }
}
