//! A pool of read-only connections.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::failure::Failure;
use crate::store::sql::{self, Connection};
use crate::store::{Location, open};

/// The most concurrent reads; others wait. Reads are short, and each connection holds memory.
const MAX_READERS: usize = 4;

/// The pool.
#[derive(Debug)]
pub(super) struct Readers {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    n_busy: usize,
}

impl Readers {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), returned: Condvar::new() }
    }

    /// Reads a snapshot of the database, unaffected by concurrent writes.
    pub(super) fn read<T>(
        &self,
        place: &Location,
        work: impl FnOnce(&Connection) -> sql::Result<T>,
    ) -> Result<T, Failure> {
        let mut loan = Loan { readers: self, connection: self.take() };
        let connection = begin(place, loan.connection.take())?;
        let read = work(&connection).and_then(|read| connection.settle().map(|()| read));
        let read = read.map_err(|error| open::explain(place, &error));
        // A read changes nothing. If even this fails, the connection is unusable; a server reports it to the next read.
        if connection.execute_batch_later("ROLLBACK").is_ok() {
            loan.connection = Some(connection);
        }
        read
    }

    /// An idle connection, or permission to open another.
    fn take(&self) -> Option<Connection> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.n_busy >= MAX_READERS {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.n_busy += 1;
        state.idle.pop()
    }
}

/// Begins a snapshot on a connection. A lost connection is made again.
fn begin(place: &Location, idle: Option<Connection>) -> Result<Connection, Failure> {
    let start = |connection: &Connection| {
        let is_shared = connection.is_shared();
        connection.execute_batch(if is_shared { "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" } else { "BEGIN" })
    };
    if let Some(connection) = idle.filter(|connection| !connection.is_lost()) {
        match start(&connection) {
            Ok(()) => return Ok(connection),
            Err(error) if error.is_disconnect() => {}
            Err(error) => return Err(open::explain(place, &error)),
        }
    }
    let connection = open::open_reader(place)?;
    start(&connection).map_err(|error| open::explain(place, &error))?;
    Ok(connection)
}

/// Returns a connection to the pool, or closes it when its user panicked.
struct Loan<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_busy -= 1;
        state.idle.extend(self.connection.take());
        self.readers.returned.notify_one();
    }
}
