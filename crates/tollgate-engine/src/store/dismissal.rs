//! What somebody decided not to hear again.

use rusqlite::types::Type;
use rusqlite::{Error, Row, params};
use tollgate_core::finding::Finding;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::suppress::Dismissal;

use super::{Store, number};
use crate::failure::Failure;

/// What a report calls a dismissal of this memory.
const NAME: &str = "your own dismissal";

impl Store {
    /// Remembers that a finding is not to be heard again while its evidence is the same.
    pub fn dismiss(&mut self, repository: &str, finding: &Finding, reason: &str, now: u64) -> Result<(), Failure> {
        let fingerprint = Fingerprint::of(finding).to_string();
        self.write(|transaction| {
            // Said again, the last reason stands.
            transaction.execute(
                "UPDATE dismissal SET withdrawn_ms = ?3 WHERE repository = ?1 AND fingerprint = ?2 AND withdrawn_ms IS NULL",
                params![repository, fingerprint, number(now)],
            )?;
            transaction.execute(
                "INSERT INTO dismissal (repository, fingerprint, file, title, evidence, reason, made_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    repository,
                    fingerprint,
                    finding.location.file.as_str(),
                    finding.summary.as_str(),
                    finding.evidence,
                    reason,
                    number(now)
                ],
            )?;
            Ok(())
        })
    }

    /// Takes back a dismissal; false when there was none.
    pub fn withdraw(&mut self, repository: &str, fingerprint: Fingerprint, now: u64) -> Result<bool, Failure> {
        self.write(|transaction| {
            let n_rows = transaction.execute(
                "UPDATE dismissal SET withdrawn_ms = ?3 WHERE repository = ?1 AND fingerprint = ?2 AND withdrawn_ms IS NULL",
                params![repository, fingerprint.to_string(), number(now)],
            )?;
            Ok(n_rows > 0)
        })
    }

    /// What is dismissed in a repository by whoever uses this memory, oldest first.
    pub fn dismissals(&self, repository: &str) -> Result<Vec<Dismissal>, Failure> {
        let sql = "SELECT file, title, evidence, reason FROM dismissal \
                   WHERE repository = ?1 AND withdrawn_ms IS NULL ORDER BY id";
        let read = || -> rusqlite::Result<Vec<Dismissal>> {
            let mut statement = self.connection.prepare(sql)?;
            statement.query_map([repository], dismissal)?.collect()
        };
        read().map_err(|error| self.failed(&error))
    }
}

fn dismissal(row: &Row<'_>) -> rusqlite::Result<Dismissal> {
    let (file, title): (String, String) = (row.get(0)?, row.get(1)?);
    let dismissal = Dismissal::parse(&file, &title, row.get(2)?, row.get(3)?, NAME);
    dismissal.map_err(|problem| Error::FromSqlConversionFailure(0, Type::Text, problem.into()))
}
