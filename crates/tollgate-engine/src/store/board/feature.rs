//! Features as they are stored: added, read, hidden.

use std::collections::HashMap;
use std::path::PathBuf;

use tollgate_core::board::machine::{Review, State};
use tollgate_core::board::{FeatureId, Iteration};

use super::transition::{self, Changes, Happening};
use super::work::{self, Settling};
use super::{NewEvent, NewIteration, event, id, iteration, project, state};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, params};
use crate::store::{Database, number};

/// What a list shows of a feature, as it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The title, which may be empty.
    pub title: String,
    /// The first line of the description.
    pub first_line: String,
    /// How urgent it is; 1 is most.
    pub priority: u32,
    /// The features that have to be done before, as they are named in the file.
    pub dependencies: Vec<String>,
    /// The group it is shown in.
    pub category: Option<String>,
    /// The model that works on it, if it is not the default.
    pub model: Option<String>,
    /// True when a person looks at it in the end.
    pub skip_tests: bool,
}

/// A feature.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRow {
    /// The project.
    pub project: i64,
    /// Its name.
    pub id: FeatureId,
    /// Counts the changes; each is one more.
    pub rev: u64,
    /// The change up to which its file says what is stored here.
    pub projected_rev: u64,
    /// Where it is.
    pub state: State,
    /// What a list shows of it.
    pub facts: Facts,
    /// `feature.json`, as it was last taken in or written.
    pub document: Vec<u8>,
    /// The SHA-256 of the file as it was last seen or written.
    pub file_hash: Option<[u8; 32]>,
    /// Why the file cannot be read.
    pub broken: Option<String>,
    /// The branch on which it is made.
    pub branch: Option<String>,
    /// The branch for which it is made.
    pub target: Option<String>,
    /// The commit with which it began.
    pub base: Option<String>,
    /// Its work tree.
    pub worktree: Option<PathBuf>,
    /// What went wrong last, for people.
    pub problem: Option<String>,
    /// What a person says to the next agent.
    pub note: Option<String>,
    /// What the project's hooks said when they refused the commit.
    pub hook_output: Option<String>,
    /// What it has cost, in US dollars.
    pub cost_usd: f64,
    /// How many tokens it took.
    pub n_tokens: u64,
    /// When it was added, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
}

/// A feature that is not stored yet.
#[derive(Debug, Clone)]
pub struct NewFeature {
    /// The project.
    pub project: i64,
    /// Its name.
    pub id: FeatureId,
    /// Where it is, as its file says.
    pub state: State,
    /// What a list shows of it.
    pub facts: Facts,
    /// `feature.json`.
    pub document: Vec<u8>,
    /// The SHA-256 of the file; `None` when it is not written yet.
    pub file_hash: Option<[u8; 32]>,
    /// Why the file cannot be read.
    pub broken: Option<String>,
    /// Reviews that the file knows of. They are stored only when none are.
    pub iterations: Vec<Iteration>,
    /// What else is known.
    pub set: Changes,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Who adds it.
    pub who: String,
    /// Now.
    pub at_ms: u64,
    /// What is to be announced.
    pub events: Vec<NewEvent>,
}

impl Database {
    /// Stores a feature. One that was hidden comes back with its history; `None` when it is there already.
    pub fn insert_feature(&self, new: NewFeature) -> Result<Option<FeatureRow>, Failure> {
        self.write(move |connection| insert(connection, new))
    }

    /// Stores many features at once, as [`Database::insert_feature`] stores one; either all are stored or none.
    pub fn insert_features(&self, new: Vec<NewFeature>) -> Result<(), Failure> {
        self.write(move |connection| new.into_iter().try_for_each(|new| insert(connection, new).map(drop)))
    }

    /// The features of a project, with the SHA-256 of their files as they were last seen; none for one that could not be
    /// read then.
    pub fn file_hashes(&self, project: i64) -> Result<HashMap<FeatureId, Option<[u8; 32]>>, Failure> {
        let sql = "SELECT id, file_hash, broken IS NOT NULL FROM feature WHERE project = ?1 AND deleted_ms IS NULL";
        self.read(|connection| {
            let read = |row: &Row<'_>| {
                let (hash, is_broken): (Option<[u8; 32]>, bool) = (row.get(1)?, row.get(2)?);
                Ok((id(row.get(0)?)?, hash.filter(|_| !is_broken)))
            };
            connection.prepare(sql)?.query_map([project], read)?.collect()
        })
    }

    /// A feature, if there is one of this name.
    pub fn feature(&self, project: i64, feature: &FeatureId) -> Result<Option<FeatureRow>, Failure> {
        self.read(|connection| find(connection, project, feature))
    }

    /// Takes a feature off the board. What is stored of it is kept, and nothing is owed to it any more.
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

/// The feature of this name, if it is on the board.
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
    Ok(FeatureRow {
        project: row.get("project")?,
        id: id(row.get("id")?)?,
        rev: row.get("rev")?,
        projected_rev: row.get("projected_rev")?,
        state: state::of_row(row)?,
        facts: Facts {
            title: row.get("title")?,
            first_line: row.get("first_line")?,
            priority: row.get("priority")?,
            dependencies: super::strings(&dependencies)?,
            category: row.get("category")?,
            model: row.get("model")?,
            skip_tests: row.get("skip_tests")?,
        },
        document: row.get("document")?,
        file_hash: row.get("file_hash")?,
        broken: row.get("broken")?,
        branch: row.get("branch")?,
        target: row.get("target")?,
        base: row.get("base")?,
        worktree: worktree.map(PathBuf::from),
        problem: row.get("problem")?,
        note: row.get("note")?,
        hook_output: row.get("hook_output")?,
        cost_usd: row.get("cost_usd")?,
        n_tokens: row.get("n_tokens")?,
        created_ms: row.get("created_ms")?,
        updated_ms: row.get("updated_ms")?,
    })
}

/// What is searched: without capitals, since people do not type them.
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
        // What is stored of a feature that comes back goes on counting: the next review has the next number.
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
    let happening = Happening { who: &new.who, word: "added", note: None, at_ms: new.at_ms, iteration: None };
    transition::record(connection, &feature, None, &happening)?;
    settle(connection, None, &feature, new.at_ms)?;
    event::insert(connection, &new.events, new.at_ms)?;
    Ok(Some(feature))
}

/// Stores a feature as it now is, without its texts; one that was hidden is there again.
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

/// Stores the file of a feature.
pub(super) fn write_document(connection: &Connection, feature: &FeatureRow) -> sql::Result<()> {
    connection.execute(
        "INSERT INTO feature_text (project, feature, rev, document) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (project, feature) DO UPDATE SET rev = excluded.rev, document = excluded.document",
        params![feature.project, feature.id.as_str(), feature.rev, feature.document],
    )?;
    Ok(())
}

/// Stores what is to be said to the next agent. It seldom changes, and the file beside it may be long.
pub(super) fn write_words(connection: &Connection, feature: &FeatureRow) -> sql::Result<()> {
    connection.execute(
        "UPDATE feature_text SET note = ?3, hook_output = ?4 WHERE project = ?1 AND feature = ?2 \
         AND (note IS DISTINCT FROM ?3 OR hook_output IS DISTINCT FROM ?4)",
        params![feature.project, feature.id.as_str(), feature.note, feature.hook_output],
    )?;
    Ok(())
}

/// Makes what is owed to a feature follow its state.
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
    let happening = Happening { who, word: "deleted", note: None, at_ms, iteration: None };
    transition::record(connection, &feature, Some(&feature.state.clone()), &happening)?;
    event::insert(connection, events, at_ms)?;
    Ok(true)
}
