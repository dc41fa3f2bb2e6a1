//! What the rules said of a text, remembered by its content.
//!
//! It can all be found out again, so it is not kept for ever and nothing is
//! lost without it.

use super::Store;
use crate::failure::Failure;
use crate::store::sql::{OptionalExtension as _, params};

/// So many texts are remembered; the oldest go first.
const MAX_TEXTS: i64 = 50_000;

impl Store {
    /// What the rules said of a text before, by the key of the text and the rules.
    pub fn scanned(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let sql = "SELECT hits FROM scanned WHERE key = ?1";
        let hits = self
            .connection
            .prepare(sql)
            .and_then(|mut statement| statement.query_row([key], |row| row.get(0)).optional());
        hits.map_err(|error| self.failed(&error))
    }

    /// Remembers what the rules said of texts.
    pub fn remember_scanned(&mut self, scanned: &[(Vec<u8>, Vec<u8>)]) -> Result<(), Failure> {
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
