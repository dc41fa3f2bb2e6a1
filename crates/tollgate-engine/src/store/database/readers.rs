//! A few connections that only read.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use rusqlite::Connection;

use crate::failure::Failure;
use crate::store::open;

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
        path: &Path,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        let mut loan = Loan { readers: self, connection: self.take() };
        let connection = match loan.connection.take() {
            Some(connection) => connection,
            None => open::open_reader(path)?,
        };
        let transaction = connection.unchecked_transaction().map_err(|error| open::explain(path, &error))?;
        let read = work(&transaction).map_err(|error| open::explain(path, &error));
        drop(transaction);
        loan.connection = Some(connection);
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
