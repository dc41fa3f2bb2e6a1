//! Stores imports of feature files, and tracks the projection.
//!
//! Files are not accessed here.

use std::fmt;

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{self, Event, IllegalTransition, Rules, Status};

use super::feature::{self, Facts, FeatureRow};
use super::transition::{self, Announce, Changes, HistoryEntry, TransitionError};
use super::{NewEvent, event, id};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Row, params};
use crate::store::{Database, database};

/// An import of a changed feature file.
pub struct FileImport {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The content of the file.
    pub document: Vec<u8>,
    /// Its SHA-256.
    pub file_hash: [u8; 32],
    /// The facts of the file.
    pub facts: Facts,
    /// Other changes.
    pub set: Changes,
    /// The status in the file, if it was edited.
    pub edit: Option<Status>,
    /// The rules of the project.
    pub rules: Rules,
    /// The revision that the caller has seen; a newer one makes the import stale.
    pub seen_rev: u64,
    /// True when the file reflects the row, so that no projection is needed.
    pub is_current: bool,
    /// The actor.
    pub who: String,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The events to append.
    pub announce: Announce,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct FileImported {
    /// The feature afterwards.
    pub feature: FeatureRow,
    /// The reason why the status in the file was refused; the file is to be corrected.
    pub refused: Option<IllegalTransition>,
    /// The number of the last event.
    pub last_seq: u64,
}

/// A written feature file.
#[derive(Debug, Clone)]
pub struct Projected {
    /// The content of the file.
    pub document: Vec<u8>,
    /// Its SHA-256.
    pub hash: [u8; 32],
}

/// A feature whose projection is pending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unprojected {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The revision to write.
    pub rev: u64,
}

impl Database {
    /// Imports a feature file.
    ///
    /// An illegal status is refused, and everything else is imported.
    pub fn import_file(&self, import: FileImport) -> Result<FileImported, TransitionError> {
        self.decide(move |connection| import_file(connection, import)).map_err(TransitionError::Failure)?
    }

    /// Records or clears the error of a feature file. False when there is no such feature.
    pub fn set_broken(
        &self,
        project: i64,
        feature: &FeatureId,
        broken: Option<&str>,
        at_ms: u64,
        events: Vec<NewEvent>,
    ) -> Result<bool, Failure> {
        let (feature, broken) = (feature.clone(), broken.map(str::to_owned));
        self.write(move |connection| {
            let sql = "UPDATE feature SET broken = ?3, updated_ms = ?4 \
                       WHERE project = ?1 AND id = ?2 AND deleted_ms IS NULL";
            let n_rows = connection.execute(sql, params![project, feature.as_str(), broken, at_ms])?;
            if n_rows > 0 {
                event::insert(connection, &events, at_ms)?;
            }
            Ok(n_rows > 0)
        })
    }

    /// Records that a feature file reflects a revision.
    pub fn mark_projected(
        &self,
        project: i64,
        feature: &FeatureId,
        rev: u64,
        projected: Option<Projected>,
    ) -> Result<(), Failure> {
        let feature = feature.clone();
        self.write(move |connection| mark_projected(connection, project, &feature, rev, projected))
    }

    /// The features with a pending projection. Broken files are excluded.
    pub fn unprojected(&self) -> Result<Vec<Unprojected>, Failure> {
        let sql = "SELECT f.project, f.id, f.rev FROM feature f JOIN project p ON p.id = f.project \
                   WHERE f.projected_rev < f.rev AND f.deleted_ms IS NULL AND f.broken IS NULL \
                   AND p.removed_ms IS NULL ORDER BY f.project, f.id";
        self.read(|connection| {
            let read =
                |row: &Row<'_>| Ok(Unprojected { project: row.get(0)?, feature: id(row.get(1)?)?, rev: row.get(2)? });
            connection.prepare(sql)?.query_map((), read)?.collect()
        })
    }
}

fn import_file(connection: &Connection, import: FileImport) -> sql::Result<Result<FileImported, TransitionError>> {
    let Some(mut feature) = feature::find(connection, import.project, &import.feature)? else {
        return Ok(Err(TransitionError::NoSuchFeature));
    };
    if feature.rev != import.seen_rev {
        // The meaning of the file was derived from an outdated state.
        return Ok(Err(TransitionError::Stale));
    }
    let before = feature.state.clone();
    let moved = import.edit.map(|status| machine::next(&before, &Event::Edited(status), &import.rules));
    let (effects, refused) = match moved {
        None => (Vec::new(), None),
        Some(Ok((state, effects))) => {
            feature.state = state;
            (effects, None)
        }
        Some(Err(illegal)) => (Vec::new(), Some(illegal)),
    };
    let is_current = import.is_current && refused.is_none();
    feature.rev += 1;
    feature.document = import.document;
    feature.file_hash = Some(import.file_hash);
    feature.facts = import.facts;
    feature.broken = None;
    feature.updated_ms = import.at_ms;
    import.set.apply(&mut feature);
    if is_current {
        feature.projected_rev = feature.rev;
    }
    feature::write(connection, &feature)?;
    feature::write_document(connection, &feature)?;
    feature::write_words(connection, &feature)?;
    let word = if refused.is_some() { "edit_refused" } else { "edited" };
    let note = refused.as_ref().map(ToString::to_string);
    let entry = HistoryEntry { who: &import.who, word, note: note.as_deref(), at_ms: import.at_ms, iteration: None };
    transition::record(connection, &feature, Some(&before), &entry)?;
    feature::settle(connection, Some(&before), &feature, import.at_ms)?;
    let events = (import.announce)(&feature, &before, &effects);
    event::insert(connection, &events, import.at_ms)?;
    Ok(Ok(FileImported { feature, refused, last_seq: database::last_seq(connection)? }))
}

fn mark_projected(
    connection: &Connection,
    project: i64,
    feature: &FeatureId,
    rev: u64,
    projected: Option<Projected>,
) -> sql::Result<()> {
    let key = (project, feature.as_str());
    let sql =
        "UPDATE feature SET projected_rev = ?3 WHERE project = ?1 AND id = ?2 AND projected_rev < ?3 AND rev >= ?3";
    connection.execute(sql, params![key.0, key.1, rev])?;
    let Some(projected) = projected else { return Ok(()) };
    // A file imported since then is newer than the written one.
    let sql = "UPDATE feature_text SET document = ?4, rev = ?3 WHERE project = ?1 AND feature = ?2 AND rev <= ?3";
    if connection.execute(sql, params![key.0, key.1, rev, projected.document])? > 0 {
        let sql = "UPDATE feature SET file_hash = ?3 WHERE project = ?1 AND id = ?2";
        connection.execute(sql, params![key.0, key.1, projected.hash])?;
    }
    Ok(())
}

impl fmt::Debug for FileImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileImport").field("feature", &self.feature).field("edit", &self.edit).finish_non_exhaustive()
    }
}
