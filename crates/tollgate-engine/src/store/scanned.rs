//! The scan cache: hits of the rules by content.
//!
//! It can be recomputed, so it is bounded and its loss is harmless.

use super::Store;
use crate::failure::Failure;
use crate::store::sql::{OptionalExtension as _, params};

/// The maximum number of entries; the oldest are evicted.
const MAX_TEXTS: i64 = 50_000;

impl Store {
    /// The cached hits for the key of a text and the rules.
    pub fn scanned(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let sql = "SELECT hits FROM scanned WHERE key = ?1";
        let hits = self
            .connection
            .prepare(sql)
            .and_then(|mut statement| statement.query_row([key], |row| row.get(0)).optional());
        hits.map_err(|error| self.failed(&error))
    }

    /// Caches hits.
    pub(crate) fn remember_scanned(&mut self, scanned: &[(Vec<u8>, Vec<u8>)]) -> Result<(), Failure> {
        if scanned.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut insert =
                transaction.prepare("INSERT INTO scanned (key, hits) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            for (key, hits) in scanned {
                insert.execute(params![key, hits])?;
            }
            let oldest = "DELETE FROM scanned WHERE number <= (SELECT max(number) FROM scanned) - ?1";
            transaction.execute(oldest, [MAX_TEXTS])?;
            Ok(())
        })
    }
}
