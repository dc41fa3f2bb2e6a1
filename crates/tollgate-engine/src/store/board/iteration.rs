//! Stores reviews of features with their diffs.
//!
//! A stored review is JSON that mirrors [`Iteration`], except later additions by a person (`overridden`, `note`),
//! which have columns of their own. Diffs are stored once, by their SHA-256.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tollgate_core::board::iteration::Identity;
use tollgate_core::board::{Compliance, Criterion, FeatureId, Iteration, Met, Outcome, Override, Remark, StepId};
use tollgate_core::finding::{Category, Severity};

use super::damaged;
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, from_row, params};
use crate::store::{Database, RunRecord, number, record};

/// A finished review, to be stored.
#[derive(Debug, Clone)]
pub struct NewIteration {
    /// The review.
    pub iteration: Iteration,
    /// The whole diff.
    pub diff: Option<Vec<u8>>,
    /// The diff since the prior review.
    pub delta: Option<Vec<u8>>,
    /// The run to store with it.
    pub review: Option<RunRecord>,
}

/// A stored review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationRow {
    /// Its row number; later reviews have higher ones.
    pub row: i64,
    /// The review with later additions by a person.
    pub iteration: Iteration,
    /// The hash of the whole diff; see [`Database::diff`].
    pub diff: Option<[u8; 32]>,
    /// The hash of the diff since the prior review.
    pub delta: Option<[u8; 32]>,
    /// The stored run.
    pub run: Option<i64>,
    /// When it was stored, in milliseconds since 1970.
    pub stored_ms: u64,
}

const SELECT: &str = "SELECT id, diff, delta, run, stored_ms, overridden, note, record FROM iteration \
                      WHERE project = ?1 AND feature = ?2";

impl Database {
    /// All stored reviews of a feature, oldest first. Of several with the same number, the last one is valid.
    pub fn iterations(&self, project: i64, feature: &FeatureId) -> Result<Vec<IterationRow>, Failure> {
        self.read(|connection| {
            let mut statement = connection.prepare(&format!("{SELECT} ORDER BY id"))?;
            statement.query_map(params![project, feature.as_str()], of_row)?.collect()
        })
    }

    /// The last stored review of an iteration.
    pub fn iteration(&self, project: i64, feature: &FeatureId, number: u32) -> Result<Option<IterationRow>, Failure> {
        self.read(|connection| {
            let sql = format!("{SELECT} AND number = ?3 ORDER BY id DESC LIMIT 1");
            connection.query_row(&sql, params![project, feature.as_str(), number], of_row).optional()
        })
    }

    /// A diff by its hash.
    pub fn diff(&self, hash: &[u8; 32]) -> Result<Option<Vec<u8>>, Failure> {
        let sql = "SELECT bytes FROM blob WHERE hash = ?1";
        self.read(|connection| connection.query_row(sql, [hash], |row| row.get(0)).optional())
    }
}

/// Stores a review and returns its row number.
pub(super) fn insert(
    connection: &Connection,
    project: i64,
    feature: &FeatureId,
    new: &NewIteration,
    at_ms: u64,
) -> sql::Result<i64> {
    let iteration = &new.iteration;
    let run = new.review.as_ref().map(|run| record::record_in(connection, run)).transpose()?;
    let diff = new.diff.as_deref().map(|diff| keep(connection, diff)).transpose()?;
    let delta = new.delta.as_deref().map(|delta| keep(connection, delta)).transpose()?;
    let stored = StoredIteration::from(iteration);
    let (n_new, n_resolved) = match prior(connection, project, feature, iteration)? {
        Some(prior) => {
            let (n_new, n_resolved) = iteration.progress_since(&prior);
            (Some(number(n_new)), Some(number(n_resolved)))
        }
        None => (None, None),
    };
    let count = |severity| iteration.findings.iter().filter(|remark| remark.severity == severity).count();
    connection.query_row(
        "INSERT INTO iteration (project, feature, number, outcome, commit_id, outdated, n_critical, n_high, n_medium, \
         n_low, n_nit, diff, delta, run, stored_ms, overridden, note, record, n_new, n_resolved, n_late) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21) RETURNING id",
        params![
            project,
            feature.as_str(),
            iteration.number,
            iteration.outcome.as_str(),
            iteration.commit,
            iteration.outdated,
            number(count(Severity::Critical)),
            number(count(Severity::High)),
            number(count(Severity::Medium)),
            number(count(Severity::Low)),
            number(count(Severity::Nit)),
            diff,
            delta,
            run,
            at_ms,
            iteration.overridden.as_ref().map(override_to_json).transpose()?,
            iteration.note,
            to_json(&stored)?,
            n_new,
            n_resolved,
            number(iteration.late.len()),
        ],
        |row| row.get(0),
    )
}

/// The prior review of a new one: the last valid one that did not fail.
fn prior(
    connection: &Connection,
    project: i64,
    feature: &FeatureId,
    iteration: &Iteration,
) -> sql::Result<Option<Iteration>> {
    if iteration.outcome == Outcome::Failed {
        return Ok(None);
    }
    let sql = format!("{SELECT} AND outcome <> 'failed' AND outdated = 0 ORDER BY id DESC LIMIT 1");
    let found = connection.query_row(&sql, params![project, feature.as_str()], of_row).optional()?;
    Ok(found.map(|row| row.iteration))
}

/// The approval of a person against the review of a run.
pub(in crate::store) fn override_of_run(connection: &Connection, run: i64) -> sql::Result<Option<Override>> {
    let sql = "SELECT overridden FROM iteration WHERE run = ?1 AND overridden IS NOT NULL";
    let text: Option<String> = connection.prepare(sql)?.query_row([run], |row| row.get(0)).optional()?;
    text.as_deref().map(override_of_json).transpose()
}

/// Records on the last review that a person overrode it; an earlier override is kept.
pub(super) fn add_override(
    connection: &Connection,
    project: i64,
    feature: &FeatureId,
    by: &Override,
) -> sql::Result<()> {
    let sql = "UPDATE iteration SET overridden = ?3 WHERE overridden IS NULL AND id = \
               (SELECT max(id) FROM iteration WHERE project = ?1 AND feature = ?2)";
    connection.execute(sql, params![project, feature.as_str(), override_to_json(by)?])?;
    Ok(())
}

/// Records on the last review the note of the person who sent it back.
pub(super) fn add_note(connection: &Connection, project: i64, feature: &FeatureId, note: &str) -> sql::Result<()> {
    let sql = "UPDATE iteration SET note = ?3 WHERE note IS NULL AND id = \
               (SELECT max(id) FROM iteration WHERE project = ?1 AND feature = ?2)";
    connection.execute(sql, params![project, feature.as_str(), note])?;
    Ok(())
}

/// Stores bytes under their SHA-256.
fn keep(connection: &Connection, bytes: &[u8]) -> sql::Result<[u8; 32]> {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    connection
        .execute("INSERT INTO blob (hash, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING", params![hash, bytes])?;
    Ok(hash)
}

fn of_row(row: &Row<'_>) -> sql::Result<IterationRow> {
    let text: String = row.get("record")?;
    let stored: StoredIteration = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    let mut iteration = Iteration::try_from(stored).map_err(damaged)?;
    let overridden: Option<String> = row.get("overridden")?;
    iteration.overridden = overridden.as_deref().map(override_of_json).transpose()?;
    iteration.note = row.get("note")?;
    Ok(from_row!(row => IterationRow {
        diff, delta, run, stored_ms;
        row: row.get("id")?,
        iteration,
    }))
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredIteration {
    number: u32,
    outcome: String,
    reviewed_at: String,
    model: String,
    provider: String,
    commit: Option<String>,
    base: Option<String>,
    findings: Vec<StoredRemark>,
    late: Vec<StoredRemark>,
    summary: String,
    reason: Option<String>,
    criteria: Vec<StoredCriterion>,
    notes: Vec<String>,
    outdated: bool,
    after_step: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRemark {
    category: String,
    severity: String,
    title: String,
    description: String,
    suggestion: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    evidence: Option<String>,
    identity: Option<StoredIdentity>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredIdentity {
    id: String,
    fingerprint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredCriterion {
    id: String,
    text: String,
    met: StoredMet,
    evidence: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredMet {
    Yes,
    No,
    Unclear,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredOverride {
    who: String,
    reason: String,
    at: String,
}

fn to_json(value: &impl Serialize) -> sql::Result<String> {
    serde_json::to_string(value).map_err(|error| damaged(error.to_string()))
}

fn override_to_json(by: &Override) -> sql::Result<String> {
    to_json(&StoredOverride { who: by.who.clone(), reason: by.reason.clone(), at: by.at.clone() })
}

fn override_of_json(text: &str) -> sql::Result<Override> {
    let stored: StoredOverride = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    Ok(Override { who: stored.who, reason: stored.reason, at: stored.at })
}

impl From<&Iteration> for StoredIteration {
    fn from(iteration: &Iteration) -> Self {
        Self {
            number: iteration.number,
            outcome: iteration.outcome.as_str().to_owned(),
            reviewed_at: iteration.reviewed_at.clone(),
            model: iteration.model.clone(),
            provider: iteration.provider.clone(),
            commit: iteration.commit.clone(),
            base: iteration.base.clone(),
            findings: iteration.findings.iter().map(StoredRemark::from).collect(),
            late: iteration.late.iter().map(StoredRemark::from).collect(),
            summary: iteration.summary.clone(),
            reason: iteration.reason.clone(),
            criteria: iteration.compliance.criteria.iter().map(StoredCriterion::from).collect(),
            notes: iteration.notes.clone(),
            outdated: iteration.outdated,
            after_step: iteration.after_step.as_ref().map(|step| step.as_str().to_owned()),
        }
    }
}

impl TryFrom<StoredIteration> for Iteration {
    type Error = String;

    fn try_from(stored: StoredIteration) -> Result<Self, String> {
        let remarks = |remarks: Vec<StoredRemark>| remarks.into_iter().map(Remark::try_from).collect::<Result<_, _>>();
        let step = |step: String| StepId::parse(&step).map_err(|error| format!("`{step}` is no step: {error}"));
        let outcome = Outcome::parse(&stored.outcome);
        Ok(Self {
            number: stored.number,
            outcome: outcome.ok_or_else(|| format!("`{}` is no outcome", stored.outcome))?,
            reviewed_at: stored.reviewed_at,
            model: stored.model,
            provider: stored.provider,
            commit: stored.commit,
            base: stored.base,
            findings: remarks(stored.findings)?,
            late: remarks(stored.late)?,
            summary: stored.summary,
            reason: stored.reason,
            compliance: Compliance { criteria: stored.criteria.into_iter().map(StoredCriterion::take).collect() },
            notes: stored.notes,
            outdated: stored.outdated,
            after_step: stored.after_step.map(step).transpose()?,
            overridden: None,
            note: None,
        })
    }
}

impl From<&Remark> for StoredRemark {
    fn from(remark: &Remark) -> Self {
        let identity = |identity: &Identity| StoredIdentity {
            id: identity.id.clone(),
            fingerprint: identity.fingerprint.clone(),
            key: identity.key.clone(),
        };
        Self {
            category: remark.category.as_str().to_owned(),
            severity: remark.severity.as_str().to_owned(),
            title: remark.title.clone(),
            description: remark.description.clone(),
            suggestion: remark.suggestion.clone(),
            file: remark.file.clone(),
            line: remark.line,
            evidence: remark.evidence.clone(),
            identity: remark.identity.as_ref().map(identity),
        }
    }
}

impl TryFrom<StoredRemark> for Remark {
    type Error = String;

    fn try_from(stored: StoredRemark) -> Result<Self, String> {
        let category = Category::parse_exact(&stored.category);
        let severity = Severity::parse_exact(&stored.severity);
        Ok(Self {
            category: category.ok_or_else(|| format!("`{}` is no category", stored.category))?,
            severity: severity.ok_or_else(|| format!("`{}` is no severity", stored.severity))?,
            title: stored.title,
            description: stored.description,
            suggestion: stored.suggestion,
            file: stored.file,
            line: stored.line,
            evidence: stored.evidence,
            identity: stored.identity.map(|StoredIdentity { id, fingerprint, key }| Identity { id, fingerprint, key }),
        })
    }
}

impl From<&(Criterion, Met)> for StoredCriterion {
    fn from((criterion, met): &(Criterion, Met)) -> Self {
        let (met, evidence) = match met {
            Met::Yes { evidence } => (StoredMet::Yes, Some(evidence.clone())),
            Met::No { evidence } => (StoredMet::No, Some(evidence.clone())),
            Met::Unclear { evidence } => (StoredMet::Unclear, evidence.clone()),
        };
        Self { id: criterion.id.clone(), text: criterion.text.clone(), met, evidence }
    }
}

impl StoredCriterion {
    fn take(self) -> (Criterion, Met) {
        let met = match self.met {
            StoredMet::Yes => Met::Yes { evidence: self.evidence.unwrap_or_default() },
            StoredMet::No => Met::No { evidence: self.evidence.unwrap_or_default() },
            StoredMet::Unclear => Met::Unclear { evidence: self.evidence },
        };
        (Criterion { id: self.id, text: self.text }, met)
    }
}

#[cfg(test)]
mod tests;
