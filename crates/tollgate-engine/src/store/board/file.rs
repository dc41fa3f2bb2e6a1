//! Features and their files: what people write is taken in, what is stored is written back.
//!
//! Nothing here reads or writes a file. It stores what was found in one, and knows which are not written yet.

use std::fmt;

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{self, Event, Illegal, Rules, Status};

use super::feature::{self, Facts, FeatureRow};
use super::transition::{self, Announce, Changes, Happening, TransitionError};
use super::{NewEvent, event, id};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Row, params};
use crate::store::{Database, database};

/// The file of a feature changed, and is taken in.
pub struct TakeIn {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The file.
    pub document: Vec<u8>,
    /// Its SHA-256.
    pub file_hash: [u8; 32],
    /// What a list shows of it.
    pub facts: Facts,
    /// What else changes.
    pub set: Changes,
    /// The status in the file, when it is to count.
    pub edit: Option<Status>,
    /// What the project wants.
    pub rules: Rules,
    /// The change up to which what is stored was seen; another one since then makes it stale.
    pub seen_rev: u64,
    /// True when the file also says all that is stored, so that nothing is to be written into it.
    pub is_current: bool,
    /// Who did it.
    pub who: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What is to be announced.
    pub announce: Announce,
}

/// What came of taking in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenIn {
    /// The feature afterwards.
    pub feature: FeatureRow,
    /// Why the status in the file does not count; the file is to be put right.
    pub refused: Option<Illegal>,
    /// The number of the last event.
    pub last_seq: u64,
}

/// The file of a feature as it was written.
#[derive(Debug, Clone)]
pub struct Projected {
    /// The file.
    pub document: Vec<u8>,
    /// Its SHA-256.
    pub hash: [u8; 32],
}

/// A feature whose file does not say what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unprojected {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The change up to which it is to be written.
    pub rev: u64,
}

impl Database {
    /// Takes in the file of a feature.
    ///
    /// A status that the gate does not allow is refused, and all else is taken in.
    pub fn take_in(&self, taking: TakeIn) -> Result<TakenIn, TransitionError> {
        self.decide(move |connection| take_in(connection, taking)).map_err(TransitionError::Failure)?
    }

    /// Says that the file of a feature cannot be read, and why; `None` when it can. False when there is no such feature.
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

    /// Says that the file of a feature now says what was stored at a change.
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

    /// Features whose files do not say what is stored. Files that cannot be read are left alone.
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

fn take_in(connection: &Connection, taking: TakeIn) -> sql::Result<Result<TakenIn, TransitionError>> {
    let Some(mut feature) = feature::find(connection, taking.project, &taking.feature)? else {
        return Ok(Err(TransitionError::NoSuchFeature));
    };
    if feature.rev != taking.seen_rev {
        // What the file means was judged by a state that is no more.
        return Ok(Err(TransitionError::Stale));
    }
    let before = feature.state.clone();
    let moved = taking.edit.map(|status| machine::next(&before, &Event::Edited(status), &taking.rules));
    let (effects, refused) = match moved {
        None => (Vec::new(), None),
        Some(Ok((state, effects))) => {
            feature.state = state;
            (effects, None)
        }
        Some(Err(illegal)) => (Vec::new(), Some(illegal)),
    };
    let is_current = taking.is_current && refused.is_none();
    feature.rev += 1;
    feature.document = taking.document;
    feature.file_hash = Some(taking.file_hash);
    feature.facts = taking.facts;
    feature.broken = None;
    feature.updated_ms = taking.at_ms;
    taking.set.apply(&mut feature);
    if is_current {
        feature.projected_rev = feature.rev;
    }
    feature::write(connection, &feature)?;
    feature::write_document(connection, &feature)?;
    feature::write_words(connection, &feature)?;
    let word = if refused.is_some() { "edit_refused" } else { "edited" };
    let note = refused.as_ref().map(ToString::to_string);
    let happening = Happening { who: &taking.who, word, note: note.as_deref(), at_ms: taking.at_ms, iteration: None };
    transition::record(connection, &feature, Some(&before), &happening)?;
    feature::settle(connection, Some(&before), &feature, taking.at_ms)?;
    let events = (taking.announce)(&feature, &before, &effects);
    event::insert(connection, &events, taking.at_ms)?;
    Ok(Ok(TakenIn { feature, refused, last_seq: database::last_seq(connection)? }))
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
    // A file that was taken in since then is newer than what was written.
    let sql = "UPDATE feature_text SET document = ?4, rev = ?3 WHERE project = ?1 AND feature = ?2 AND rev <= ?3";
    if connection.execute(sql, params![key.0, key.1, rev, projected.document])? > 0 {
        let sql = "UPDATE feature SET file_hash = ?3 WHERE project = ?1 AND id = ?2";
        connection.execute(sql, params![key.0, key.1, projected.hash])?;
    }
    Ok(())
}

impl fmt::Debug for TakeIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TakeIn").field("feature", &self.feature).field("edit", &self.edit).finish_non_exhaustive()
    }
}
