//! Stores features: insert, read, hide.

use std::collections::HashMap;
use std::path::PathBuf;

use tollgate_core::board::machine::{Review, State};
use tollgate_core::board::{FeatureId, Iteration};

use super::transition::{self, Changes, HistoryEntry};
use super::work::{self, Settling};
use super::{NewEvent, NewIteration, event, id, iteration, project, state};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, from_row, params};
use crate::store::{Database, number};

/// The facts of a feature's file that lists show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The title, which may be empty.
    pub title: String,
    /// The first line of the description.
    pub first_line: String,
    /// Its priority; 1 is the highest.
    pub priority: u32,
    /// Its dependencies, as named in the file.
    pub dependencies: Vec<String>,
    /// Its category.
    pub category: Option<String>,
    /// Its model, if not the default.
    pub model: Option<String>,
    /// True when a person approves it at the end.
    pub skip_tests: bool,
}

impl Facts {
    /// The title, or the first line of the description for want of one.
    pub fn display_title(&self) -> &str {
        if self.title.is_empty() { &self.first_line } else { &self.title }
    }
}

/// A stored feature.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRow {
    /// The project.
    pub project: i64,
    /// Its id.
    pub id: FeatureId,
    /// Its revision, incremented by each change.
    pub rev: u64,
    /// The revision that its file reflects.
    pub projected_rev: u64,
    /// Its state.
    pub state: State,
    /// The facts of its file.
    pub facts: Facts,
    /// `feature.json`, as last imported or written.
    pub document: Vec<u8>,
    /// The SHA-256 of the file as last seen or written.
    pub file_hash: Option<[u8; 32]>,
    /// The error of the file.
    pub broken: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Its target branch.
    pub target: Option<String>,
    /// The commit it started from.
    pub base: Option<String>,
    /// Its worktree.
    pub worktree: Option<PathBuf>,
    /// The last error, for people.
    pub problem: Option<String>,
    /// A note of a person for the next agent.
    pub note: Option<String>,
    /// The output of the hooks that refused the commit.
    pub hook_output: Option<String>,
    /// Its cost, in US dollars.
    pub cost_usd: f64,
    /// The number of tokens used.
    pub n_tokens: u64,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
}

/// A feature to insert.
#[derive(Debug, Clone)]
pub struct NewFeature {
    /// The project.
    pub project: i64,
    /// Its id.
    pub id: FeatureId,
    /// Its state, according to its file.
    pub state: State,
    /// The facts of its file.
    pub facts: Facts,
    /// `feature.json`.
    pub document: Vec<u8>,
    /// The SHA-256 of the file; `None` before it is written.
    pub file_hash: Option<[u8; 32]>,
    /// The error of the file.
    pub broken: Option<String>,
    /// The reviews in the file. Stored only if the database has none.
    pub iterations: Vec<Iteration>,
    /// Other fields.
    pub set: Changes,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// The actor.
    pub who: String,
    /// The current time.
    pub at_ms: u64,
    /// The events to append.
    pub events: Vec<NewEvent>,
}

impl Database {
    /// Inserts a feature. A hidden one reappears with its history; `None` when it exists.
    pub fn insert_feature(&self, new: NewFeature) -> Result<Option<FeatureRow>, Failure> {
        self.write(move |connection| insert(connection, new))
    }

    /// Inserts many features in one transaction.
    pub(crate) fn insert_features(&self, new: Vec<NewFeature>) -> Result<(), Failure> {
        self.write(move |connection| new.into_iter().try_for_each(|new| insert(connection, new).map(drop)))
    }

    /// The features of a project with the SHA-256 of their files; `None` for broken ones.
    pub(crate) fn file_hashes(&self, project: i64) -> Result<HashMap<FeatureId, Option<[u8; 32]>>, Failure> {
        let sql = "SELECT id, file_hash, broken IS NOT NULL FROM feature WHERE project = ?1 AND deleted_ms IS NULL";
        self.read(|connection| {
            let read = |row: &Row<'_>| {
                let (hash, is_broken): (Option<[u8; 32]>, bool) = (row.get(1)?, row.get(2)?);
                Ok((id(row.get(0)?)?, hash.filter(|_| !is_broken)))
            };
            connection.prepare(sql)?.query_map([project], read)?.collect()
        })
    }

    /// A feature by id.
    pub fn feature(&self, project: i64, feature: &FeatureId) -> Result<Option<FeatureRow>, Failure> {
        self.read(|connection| find(connection, project, feature))
    }

    /// Hides a feature. Its rows remain, and its job is removed.
    pub fn hide_feature(
        &self,
        project: i64,
        feature: &FeatureId,
        who: &str,
        at_ms: u64,
        events: Vec<NewEvent>,
    ) -> Result<bool, Failure> {
        let (feature, who) = (feature.clone(), who.to_owned());
        self.write(move |connection| hide(connection, project, &feature, &who, at_ms, &events))
    }
}

/// A visible feature by id.
pub(super) fn find(connection: &Connection, project: i64, id: &FeatureId) -> sql::Result<Option<FeatureRow>> {
    let sql = format!(
        "SELECT {}, f.*, t.document, t.note, t.hook_output FROM feature f \
         JOIN feature_text t ON t.project = f.project AND t.feature = f.id \
         JOIN project p ON p.id = f.project AND p.removed_ms IS NULL \
         WHERE f.project = ?1 AND f.id = ?2 AND f.deleted_ms IS NULL",
        state::COLUMNS
    );
    connection.query_row(&sql, params![project, id.as_str()], of_row).optional()
}

fn of_row(row: &Row<'_>) -> sql::Result<FeatureRow> {
    let (worktree, dependencies): (Option<String>, String) = (row.get("worktree")?, row.get("dependencies")?);
    Ok(from_row!(row => FeatureRow {
        project, rev, projected_rev, document, file_hash, broken, branch, target, base, problem, note, hook_output,
        cost_usd, n_tokens, created_ms, updated_ms;
        id: id(row.get("id")?)?,
        state: state::of_row(row)?,
        facts: from_row!(row => Facts {
            title, first_line, priority, category, model, skip_tests;
            dependencies: super::strings(&dependencies)?,
        }),
        worktree: worktree.map(PathBuf::from),
    }))
}

/// The searched text, in lower case.
fn search(id: &FeatureId, facts: &Facts) -> String {
    format!("{}\n{}\n{id}", facts.title, facts.first_line).to_lowercase()
}

fn insert(connection: &Connection, new: NewFeature) -> sql::Result<Option<FeatureRow>> {
    if !project::exists(connection, new.project)? || find(connection, new.project, &new.id)?.is_some() {
        return Ok(None);
    }
    let key = params![new.project, new.id.as_str()];
    let sql = "SELECT rev FROM feature WHERE project = ?1 AND id = ?2";
    let hidden_rev: Option<u64> = connection.query_row(sql, key, |row| row.get(0)).optional()?;
    let sql = "SELECT max(number) FROM iteration WHERE project = ?1 AND feature = ?2";
    let last_number: Option<u32> = connection.query_row(sql, key, |row| row.get(0))?;
    let mut feature = FeatureRow {
        project: new.project,
        id: new.id,
        rev: hidden_rev.unwrap_or(0) + 1,
        projected_rev: 0,
        state: new.state,
        facts: new.facts,
        document: new.document,
        file_hash: new.file_hash,
        broken: new.broken,
        branch: None,
        target: None,
        base: None,
        worktree: None,
        problem: None,
        note: None,
        hook_output: None,
        cost_usd: 0.0,
        n_tokens: 0,
        created_ms: new.created_ms,
        updated_ms: new.at_ms,
    };
    if let Some(last) = last_number {
        // A feature that reappears continues its numbering of iterations.
        let is_next = feature.state.review == Review::Pending;
        feature.state.iteration = feature.state.iteration.max(if is_next { last + 1 } else { last });
    }
    if feature.file_hash.is_some() {
        feature.projected_rev = feature.rev;
    }
    new.set.apply(&mut feature);
    write(connection, &feature)?;
    write_document(connection, &feature)?;
    write_words(connection, &feature)?;
    for iteration in new.iterations.into_iter().filter(|_| last_number.is_none()) {
        let new_iteration = NewIteration { iteration, diff: None, delta: None, review: None };
        iteration::insert(connection, feature.project, &feature.id, &new_iteration, new.at_ms)?;
    }
    let entry = HistoryEntry { who: &new.who, word: "added", note: None, at_ms: new.at_ms, iteration: None };
    transition::record(connection, &feature, None, &entry)?;
    settle(connection, None, &feature, new.at_ms)?;
    event::insert(connection, &new.events, new.at_ms)?;
    Ok(Some(feature))
}

/// Writes a feature without its texts; a hidden one becomes visible.
pub(super) fn write(connection: &Connection, feature: &FeatureRow) -> sql::Result<()> {
    let state = state::StoredState::from(&feature.state);
    let dependencies = serde_json::Value::from(feature.facts.dependencies.clone()).to_string();
    let worktree = feature.worktree.as_ref().map(|path| path.to_string_lossy().into_owned());
    connection.execute(
        "INSERT INTO feature (project, id, rev, projected_rev, status, work, pause, iteration, round, review, tries, \
         restarts, hook_failed, commit_id, committed, stale, stepped, title, first_line, search, priority, dependencies, \
         branch, target, base, worktree, problem, broken, file_hash, cost_usd, n_tokens, created_ms, updated_ms, category, \
         model, skip_tests, since_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, \
         ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?33) \
         ON CONFLICT (project, id) DO UPDATE SET rev = excluded.rev, projected_rev = excluded.projected_rev, \
         status = excluded.status, work = excluded.work, pause = excluded.pause, iteration = excluded.iteration, \
         round = excluded.round, review = excluded.review, tries = excluded.tries, restarts = excluded.restarts, \
         hook_failed = excluded.hook_failed, commit_id = excluded.commit_id, committed = excluded.committed, \
         stale = excluded.stale, stepped = excluded.stepped, title = excluded.title, first_line = excluded.first_line, \
         search = excluded.search, priority = excluded.priority, dependencies = excluded.dependencies, \
         branch = excluded.branch, target = excluded.target, base = excluded.base, worktree = excluded.worktree, \
         problem = excluded.problem, broken = excluded.broken, file_hash = excluded.file_hash, \
         cost_usd = excluded.cost_usd, n_tokens = excluded.n_tokens, created_ms = excluded.created_ms, \
         updated_ms = excluded.updated_ms, category = excluded.category, model = excluded.model, \
         skip_tests = excluded.skip_tests, since_ms = CASE WHEN feature.deleted_ms IS NULL \
         AND feature.status = excluded.status AND feature.work = excluded.work \
         AND feature.pause IS NOT DISTINCT FROM excluded.pause THEN feature.since_ms ELSE excluded.updated_ms END, \
         deleted_ms = NULL",
        params![
            feature.project,
            feature.id.as_str(),
            feature.rev,
            feature.projected_rev,
            state.status,
            state.work,
            state.pause,
            state.iteration,
            state.round,
            state.review,
            state.tries,
            state.restarts,
            state.hook_failed,
            state.commit,
            state.committed,
            state.stale,
            state.stepped,
            feature.facts.title,
            feature.facts.first_line,
            search(&feature.id, &feature.facts),
            feature.facts.priority,
            dependencies,
            feature.branch,
            feature.target,
            feature.base,
            worktree,
            feature.problem,
            feature.broken,
            feature.file_hash,
            feature.cost_usd,
            number(feature.n_tokens),
            number(feature.created_ms),
            number(feature.updated_ms),
            feature.facts.category,
            feature.facts.model,
            feature.facts.skip_tests,
        ],
    )?;
    Ok(())
}

/// Writes the file of a feature.
pub(super) fn write_document(connection: &Connection, feature: &FeatureRow) -> sql::Result<()> {
    connection.execute(
        "INSERT INTO feature_text (project, feature, rev, document) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (project, feature) DO UPDATE SET rev = excluded.rev, document = excluded.document",
        params![feature.project, feature.id.as_str(), feature.rev, feature.document],
    )?;
    Ok(())
}

/// Writes the note and the hook output. They seldom change, and the document in the same row may be long.
pub(super) fn write_words(connection: &Connection, feature: &FeatureRow) -> sql::Result<()> {
    connection.execute(
        "UPDATE feature_text SET note = ?3, hook_output = ?4 WHERE project = ?1 AND feature = ?2 \
         AND (note IS DISTINCT FROM ?3 OR hook_output IS DISTINCT FROM ?4)",
        params![feature.project, feature.id.as_str(), feature.note, feature.hook_output],
    )?;
    Ok(())
}

/// Updates the job of a feature to its state.
pub(super) fn settle(
    connection: &Connection,
    before: Option<&State>,
    feature: &FeatureRow,
    at_ms: u64,
) -> sql::Result<()> {
    let settling = Settling {
        project: feature.project,
        feature: &feature.id,
        before,
        after: &feature.state,
        at_ms,
        keep: false,
        release: false,
        not_before_ms: None,
    };
    work::settle(connection, &settling)
}

fn hide(
    connection: &Connection,
    project: i64,
    id: &FeatureId,
    who: &str,
    at_ms: u64,
    events: &[NewEvent],
) -> sql::Result<bool> {
    let Some(mut feature) = find(connection, project, id)? else { return Ok(false) };
    feature.rev += 1;
    let sql = "UPDATE feature SET rev = ?3, deleted_ms = ?4, updated_ms = ?4 WHERE project = ?1 AND id = ?2";
    connection.execute(sql, params![project, id.as_str(), feature.rev, at_ms])?;
    connection.execute("DELETE FROM work WHERE project = ?1 AND feature = ?2", params![project, id.as_str()])?;
    let entry = HistoryEntry { who, word: "deleted", note: None, at_ms, iteration: None };
    transition::record(connection, &feature, Some(&feature.state.clone()), &entry)?;
    event::insert(connection, events, at_ms)?;
    Ok(true)
}
