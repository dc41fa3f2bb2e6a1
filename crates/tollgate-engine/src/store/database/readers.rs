//! A few connections that only read.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::failure::Failure;
use crate::store::sql::{self, Connection};
use crate::store::{Location, open};

/// So many read at once; others wait. Reads are short, and each connection holds memory.
const MAX_READERS: usize = 4;

/// Connections that nobody uses now.
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

    /// Reads one state of the database, whatever is written meanwhile.
    pub(super) fn read<T>(
        &self,
        place: &Location,
        work: impl FnOnce(&Connection) -> sql::Result<T>,
    ) -> Result<T, Failure> {
        let mut loan = Loan { readers: self, connection: self.take() };
        let connection = begin(place, loan.connection.take())?;
        let read = work(&connection).map_err(|error| open::explain(place, &error));
        // Nothing was changed; where this fails, the connection is of no more use.
        if connection.execute_batch("ROLLBACK").is_ok() {
            loan.connection = Some(connection);
        }
        read
    }

    /// An idle connection, or leave to open another.
    fn take(&self) -> Option<Connection> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.n_busy >= MAX_READERS {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.n_busy += 1;
        state.idle.pop()
    }
}

/// A connection on which one state of the database is seen. A server that has hung up since is called again.
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

/// A connection that is given back, also when its user panics; then it is closed instead.
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
