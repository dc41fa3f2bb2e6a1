//! The store: past reviews, findings, dismissals, and the scan cache, in SQLite or PostgreSQL.
//!
//! A SQLite file in the user's data directory, or a PostgreSQL database shared by several machines ([`Location`]). No
//! other module uses SQL. A run is stored once it has ended and is immutable, which triggers in the database enforce.
//! The caller decides what a failure means: a review continues without history and says so.
//!
//! ```text
//! run        one review of a branch or pull request, with all of its JSON
//! finding    the findings of a run, one row each, for searching
//! dismissal  findings that people dismissed, each on its subject or in the whole repository
//! proposal   dismissals that agents propose, without effect until a person confirms them
//! scanned    the scan cache: hits of the rules by content
//! ```
//!
//! A server keeps its board ([`board`]) and its pull request queue, inbox and outbox ([`pulls`]) in the same database,
//! shared by its threads through [`Database`].

use std::path::Path;

use rusqlite::OpenFlags;
use sha2::{Digest as _, Sha256};
use tollgate_core::finding::Severity;

use crate::failure::Failure;

use self::sql::{Connection, OptionalExtension as _, WriteMode, params};

pub mod board;
mod condition;
pub mod copy;
mod database;
mod dismissal;
mod figures;
mod health;
pub mod jobs;
mod listed;
mod location;
mod open;
pub mod pulls;
pub mod queue;
mod record;
mod retention;
mod row;
mod scanned;
mod search;
mod sql;
mod trend;

pub use condition::{Condition, examine};
pub use database::{Database, Signal, Tallied, tally};
pub use dismissal::{DismissalRow, NewDismissal};
pub use health::{Health, Jobs, Recent};
pub use listed::{Listed, Names, OfFeature, Order, Origin, ResultFilter, RunQuery};
pub use location::{Address, Location};
pub use record::{CompletedRun, RunRecord};
pub use retention::Forgotten;
pub use row::{Counts, Run, State};
pub use trend::{Figures, MAX_PARTS, Range, RuleFigures, Spread, Trends};

/// The most reviews of one state that are looked at.
const MAX_AT_HEAD: u32 = 20;

/// The store of a single thread.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    place: Location,
}

/// The subject of a run: one line of work in one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The repository, across clones: `github.com/owner/name`, or the directory of one without a remote.
    pub repository: String,
    /// The branch or pull request: `branch work`, `pr 12`.
    pub name: String,
    /// The scope of its changes: `branch`, `staged`, `worktree`, or a range.
    pub scope: String,
}

/// A filter of runs, newest first.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Matches this repository.
    pub repository: Option<String>,
    /// Matches this branch or pull request, by its full name or the part after the space.
    pub name: Option<String>,
    /// The maximum number.
    pub limit: usize,
}

impl Store {
    /// Opens the store in a file, creates it if missing, and runs migrations.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Self::open_at(&Location::File(path.to_owned()))
    }

    /// Opens the store at a location and runs migrations.
    pub fn open_at(place: &Location) -> Result<Self, Failure> {
        Ok(Self { connection: open::open(place)?, place: place.clone() })
    }

    /// Opens the store in a file for reading: a missing file counts as empty and is not created.
    pub fn look_up(path: &Path) -> Result<Self, Failure> {
        Self::look_up_at(&Location::File(path.to_owned()))
    }

    /// Opens the store at a location for reading: a missing file counts as empty and is not created.
    pub fn look_up_at(place: &Location) -> Result<Self, Failure> {
        match place.file() {
            Some(path) if !path.exists() => {
                let connection = open::open_with(Path::new(":memory:"), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                Ok(Self { connection, place: place.clone() })
            }
            Some(_) | None => Self::open_at(place),
        }
    }

    /// The location of the store.
    #[must_use]
    pub fn place(&self) -> &Location {
        &self.place
    }

    /// Stores a run and returns its number.
    pub fn record(&mut self, record: &RunRecord) -> Result<i64, Failure> {
        self.write(|transaction| {
            let run = record::record_in(transaction, record)?;
            // A server may be following the same database.
            board::announce_run(transaction, run, record)?;
            Ok(run)
        })
    }

    /// The last completed run of a subject with another head or snapshot.
    pub(crate) fn last_before(&self, subject: &Subject, head: &str, snapshot: &[u8]) -> Result<Option<Run>, Failure> {
        let sql = format!(
            "{} WHERE repository = ?1 AND subject = ?2 AND scope = ?3 AND state = 'completed' \
             AND NOT (head = ?4 AND snapshot_key = ?5) ORDER BY id DESC LIMIT 1",
            row::SELECT
        );
        let key = snapshot_key(snapshot);
        let values = params![subject.repository, subject.name, subject.scope, head, key];
        let run = self.connection.query_row(&sql, values, row::run).optional();
        run.map_err(|error| self.failed(&error))
    }

    /// The newest completed runs of a subject with this head and snapshot, the newest first.
    pub(crate) fn runs_at(&self, subject: &Subject, head: &str, snapshot: &[u8]) -> Result<Vec<Run>, Failure> {
        let sql = format!(
            "{} WHERE repository = ?1 AND subject = ?2 AND scope = ?3 AND state = 'completed' \
             AND head = ?4 AND snapshot_key = ?5 ORDER BY id DESC LIMIT {MAX_AT_HEAD}",
            row::SELECT
        );
        let key = snapshot_key(snapshot);
        let read = || -> sql::Result<Vec<Run>> {
            let values = params![subject.repository, subject.name, subject.scope, head, key];
            self.connection.prepare(&sql)?.query_map(values, row::run)?.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// A run by its number.
    pub fn run(&self, id: i64) -> Result<Option<Run>, Failure> {
        row::by_id(&self.connection, id).map_err(|error| self.failed(&error))
    }

    /// The newest completed run of a subject.
    pub fn last_of(&self, subject: &Subject) -> Result<Option<Run>, Failure> {
        row::last_of(&self.connection, subject).map_err(|error| self.failed(&error))
    }

    /// Runs with their counts, newest first.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<(Run, Counts)>, Failure> {
        let sql = format!(
            "{} WHERE (CAST(?1 AS TEXT) IS NULL OR repository = ?1) AND (CAST(?2 AS TEXT) IS NULL OR subject = ?2 OR subject = 'branch ' || ?2 \
             OR subject = 'pr ' || ?2) ORDER BY id DESC LIMIT ?3",
            row::SELECT
        );
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let read = || -> sql::Result<Vec<(Run, Counts)>> {
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map(params![filter.repository, filter.name, limit], row::run)?;
            let runs: Vec<Run> = rows.collect::<sql::Result<_>>()?;
            runs.into_iter().map(|run| self.counts(run.id).map(|counts| (run, counts))).collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    fn counts(&self, run: i64) -> sql::Result<Counts> {
        let sql = "SELECT severity, withheld IS NOT NULL, count(*) FROM finding WHERE run = ?1 GROUP BY 1, 2";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([run])?;
        let mut counts = Counts::default();
        while let Some(row) = rows.next()? {
            let (severity, withheld, n): (String, bool, usize) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match Severity::parse_exact(&severity) {
                _ if withheld => counts.withheld += n,
                Some(severity) => counts.by_severity.push((severity, n)),
                None => {}
            }
        }
        counts.by_severity.sort_by(|a, b| b.cmp(a));
        Ok(counts)
    }

    fn write<T>(&mut self, work: impl FnOnce(&Connection) -> sql::Result<T>) -> Result<T, Failure> {
        if self.connection.is_lost() {
            self.connection = open::open(&self.place)?;
        }
        let connection = &self.connection;
        let done = connection.begin(WriteMode::Exclusive).and_then(|()| {
            let done = work(connection)?;
            connection.execute_batch("COMMIT")?;
            Ok(done)
        });
        done.map_err(|error| {
            // The rollback fails if the database has already rolled back.
            let _ = connection.execute_batch("ROLLBACK");
            self.failed(&error)
        })
    }

    fn failed(&self, error: &sql::Error) -> Failure {
        open::explain(&self.place, error)
    }
}

/// The hash of a snapshot.
fn snapshot_key(snapshot: &[u8]) -> [u8; 32] {
    Sha256::digest(snapshot).into()
}

/// Converts a number for SQL.
fn number(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "../tests/it/place.rs"]
mod place;
#[cfg(test)]
mod tests;
