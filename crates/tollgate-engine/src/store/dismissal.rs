//! Stores dismissed findings.
//!
//! The command line dismisses for the user of this store; the board dismisses in the name of a person, and appends an
//! event.

use tollgate_core::finding::Finding;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::suppress::Dismissal;

use super::board::NewEvent;
use super::{Database, Store, board, number};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Error, Row, params};

/// The name of such a dismissal in reports.
const NAME: &str = "your own dismissal";

const SELECT: &str = "SELECT file, title, evidence, reason, who, made_ms FROM dismissal \
                      WHERE repository = ?1 AND withdrawn_ms IS NULL ORDER BY id";

/// A stored dismissal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DismissalRow {
    /// The finding and the reason.
    pub dismissal: Dismissal,
    /// The person, if known.
    pub who: Option<String>,
    /// The time, in milliseconds since 1970.
    pub made_ms: u64,
}

impl Store {
    /// Dismisses a finding for as long as its evidence is the same.
    pub fn dismiss(&mut self, repository: &str, finding: &Finding, reason: &str, now: u64) -> Result<(), Failure> {
        let (file, title) = (finding.location.file.as_str(), finding.summary.as_str());
        let dismissal = Dismissal::parse(file, title, finding.evidence.clone(), reason.to_owned(), NAME);
        let dismissal = dismissal.map_err(|problem| Failure::new(crate::failure::Kind::User, problem))?;
        self.write(|transaction| insert(transaction, repository, &dismissal, None, now))
    }

    /// Withdraws a dismissal; false when there is none.
    pub fn withdraw(&mut self, repository: &str, fingerprint: Fingerprint, now: u64) -> Result<bool, Failure> {
        self.write(|transaction| withdraw(transaction, repository, fingerprint, now))
    }

    /// The dismissals in a repository, oldest first.
    pub fn dismissals(&self, repository: &str) -> Result<Vec<Dismissal>, Failure> {
        let rows = all(&self.connection, repository).map_err(|error| self.failed(&error))?;
        Ok(rows.into_iter().map(|row| row.dismissal).collect())
    }
}

impl Database {
    /// Dismisses a finding in the name of a person, and appends events.
    pub fn dismiss(
        &self,
        repository: &str,
        dismissal: Dismissal,
        who: &str,
        now: u64,
        events: Vec<NewEvent>,
    ) -> Result<(), Failure> {
        let (repository, who) = (repository.to_owned(), who.to_owned());
        self.write(move |connection| {
            insert(connection, &repository, &dismissal, Some(&who), now)?;
            board::announce_in(connection, &events, now)
        })
    }

    /// Withdraws a dismissal and appends events; false, without events, when there is none.
    pub fn withdraw(
        &self,
        repository: &str,
        fingerprint: Fingerprint,
        now: u64,
        events: Vec<NewEvent>,
    ) -> Result<bool, Failure> {
        let repository = repository.to_owned();
        self.write(move |connection| {
            let was_there = withdraw(connection, &repository, fingerprint, now)?;
            if was_there {
                board::announce_in(connection, &events, now)?;
            }
            Ok(was_there)
        })
    }

    /// The dismissals in a repository, oldest first.
    pub fn dismissals(&self, repository: &str) -> Result<Vec<DismissalRow>, Failure> {
        self.read(|connection| all(connection, repository))
    }
}

pub(super) fn insert(
    connection: &Connection,
    repository: &str,
    dismissal: &Dismissal,
    who: Option<&str>,
    now: u64,
) -> sql::Result<()> {
    // A repeated dismissal replaces the reason.
    withdraw(connection, repository, dismissal.fingerprint, now)?;
    connection.execute(
        "INSERT INTO dismissal (repository, fingerprint, file, title, evidence, reason, made_ms, who) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            repository,
            dismissal.fingerprint.to_string(),
            dismissal.file.as_str(),
            dismissal.title().as_str(),
            dismissal.evidence,
            dismissal.reason,
            number(now),
            who
        ],
    )?;
    Ok(())
}

pub(super) fn withdraw(
    connection: &Connection,
    repository: &str,
    fingerprint: Fingerprint,
    now: u64,
) -> sql::Result<bool> {
    let n_rows = connection.execute(
        "UPDATE dismissal SET withdrawn_ms = ?3 WHERE repository = ?1 AND fingerprint = ?2 AND withdrawn_ms IS NULL",
        params![repository, fingerprint.to_string(), number(now)],
    )?;
    Ok(n_rows > 0)
}

fn all(connection: &Connection, repository: &str) -> sql::Result<Vec<DismissalRow>> {
    connection.prepare(SELECT)?.query_map([repository], row)?.collect()
}

fn row(row: &Row<'_>) -> sql::Result<DismissalRow> {
    let (file, title, who): (String, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(4)?);
    let name = who.as_ref().map_or_else(|| NAME.to_owned(), |who| format!("a dismissal by {who}"));
    let dismissal = Dismissal::parse(&file, &title, row.get(2)?, row.get(3)?, &name);
    let dismissal = dismissal.map_err(|problem| Error::Damaged(problem.to_string()))?;
    Ok(DismissalRow { dismissal, who, made_ms: row.get(5)? })
}
