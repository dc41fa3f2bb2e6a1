//! Imports feature files that people and other programs write.
//!
//! The content of a card (title, description, priority …) belongs to the file, its state to the database. So a card is
//! edited by editing its file, which is then imported like any other change. A status written into the file counts if
//! a person may make that move; otherwise the file is corrected.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use serde_json::{Value, json};
use tollgate_core::board::document::quote;
use tollgate_core::board::feature_event::FeatureEvent;
use tollgate_core::board::id::IdError;
use tollgate_core::board::machine::{Status, Work};
use tollgate_core::board::{Document, FeatureId, code_review_spec};

use super::folder::{Broken, FeatureFile, Folder};
use super::{Board, Refused, announce, failure, iso};
use crate::failure::Failure;
use crate::forge::project::Branch;
use crate::store::board::NewFeature as NewRow;
use crate::store::board::{Changes, Facts, FeatureRow, Field, FileImport, ProjectRow, Projected, TransitionError};

/// The actor of changes to a file.
const FILE: &str = "file";
/// The maximum number of retries after concurrent changes of the row.
const MAX_TRIES: u32 = 10;
/// The batch size of new features, in number and bytes.
const TOGETHER: usize = 128;
const TOGETHER_BYTES: usize = 2 * 1024 * 1024;

/// A feature to create.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewFeature {
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its detailed requirements.
    pub spec: Option<String>,
    /// Its category.
    pub category: Option<String>,
    /// 1 is most urgent, 3 least.
    pub priority: Option<u8>,
    /// False to skip the manual approval at the end.
    pub skip_tests: Option<bool>,
    /// Features that must be completed first.
    pub dependencies: Vec<String>,
    /// The model to use.
    pub model: Option<String>,
    /// The branch to use.
    pub branch: Option<String>,
}

/// Edits of a card: keys with their new values; `Null` removes a key.
pub type Edits = Vec<(&'static str, Value)>;

impl Board {
    /// Creates a feature.
    pub fn create(&self, project: i64, new: &NewFeature) -> Result<FeatureRow, Refused> {
        let project = self.project(project)?;
        if new.title.trim().is_empty() && new.description.trim().is_empty() {
            return Err(Refused::Invalid("a feature needs a title or a description".to_owned()));
        }
        if let Some(branch) = &new.branch {
            check_branch(branch)?;
        }
        new.dependencies.iter().try_for_each(|name| check_name(name))?;
        let now = self.now();
        let id = new_id(now);
        let document = document(new, &id, &iso(now)).map_err(Refused::Invalid)?;
        let folder = self.folder(&project)?;
        let file = folder.create(&id, &document)?;
        let stored = self.import_file(&project, &folder, &file);
        match (self.feature(project.id, &id), stored) {
            (Ok(row), _) => Ok(row),
            (Err(refused), Ok(())) => Err(refused),
            (Err(Refused::NoFeature(_)), Err(failure)) => {
                // The caller will retry, and the file would become a duplicate.
                let _ = folder.delete(&id);
                Err(failure.into())
            }
            (Err(_), Err(failure)) => Err(failure::stored_later(failure).into()),
        }
    }

    /// Edits a card; `rev` is the revision that the caller has seen.
    pub fn edit(&self, project: i64, id: &FeatureId, edits: &Edits, rev: Option<u64>) -> Result<FeatureRow, Refused> {
        let project = self.project(project)?;
        let row = self.feature(project.id, id)?;
        if rev.is_some_and(|rev| rev != row.rev) {
            return Err(Refused::Stale(row.rev));
        }
        let begun = row.state.iteration > 0 || row.state.work != Work::Nothing;
        if begun && edits.iter().any(|(key, _)| *key == "branchName") {
            return Err(Refused::Invalid("the branch of a feature that was begun stays what it is".to_owned()));
        }
        for (key, value) in edits {
            match (*key, value) {
                ("branchName", Value::String(branch)) => check_branch(branch)?,
                ("dependencies", Value::Array(names)) => {
                    names.iter().try_for_each(|name| check_name(name.as_str().unwrap_or_default()))?;
                }
                _ => {}
            }
        }
        let folder = self.folder(&project)?;
        let at = iso(self.now());
        let file = folder.update(id, &|document| {
            for (key, value) in edits {
                match value {
                    Value::Null => document.remove(key),
                    value => document.set_raw(key, &value.to_string())?,
                }
            }
            document.set_text("updatedAt", &at)
        })?;
        self.import_file(&project, &folder, &file)?;
        self.feature(project.id, id)
    }

    /// Deletes a feature: its folder moves to the trash, its history remains.
    pub fn delete(&self, project: i64, id: &FeatureId, who: &str) -> Result<(), Refused> {
        let project = self.project(project)?;
        let row = self.feature(project.id, id)?;
        if row.state.work != Work::Nothing {
            return Err(Refused::Invalid(format!("{}; stop it first", row.state.in_words())));
        }
        self.folder(&project)?.delete(id)?;
        self.hide(&project, id, who)?;
        Ok(())
    }

    /// Imports all features of a project, and returns the broken ones.
    pub fn import_all(&self, project: &ProjectRow) -> Result<Vec<Broken>, Failure> {
        let folder = self.folder(project)?;
        // Read before the files: a feature has its file before its row, so a row without a file means a deleted
        // feature.
        let known = self.database().file_hashes(project.id)?;
        let mut import = Importer { board: self, project, folder: &folder, known, new: Vec::new(), new_bytes: 0 };
        let (mut seen, mut broken, mut taken) = (HashSet::new(), Vec::new(), Ok(()));
        folder.visit(&mut |found| match found {
            Ok(file) => {
                if taken.is_ok() {
                    taken = import.take(&file);
                }
                seen.insert(file.id.to_string());
            }
            Err(found) => {
                seen.insert(found.name.clone());
                broken.push(found);
            }
        })?;
        taken?;
        import.store()?;
        let known = import.known;
        for gone in self.broken(project.id).iter().filter(|gone| broken.iter().all(|it| it.name != gone.name)) {
            self.note_broken(project.id, &gone.name, None);
        }
        for broken in &broken {
            self.import_broken(project, broken)?;
        }
        for id in known.keys().filter(|id| !seen.contains(id.as_str())) {
            let row = self.database().feature(project.id, id)?;
            if row.is_some_and(|row| row.state.work == Work::Nothing) {
                self.hide(project, id, FILE)?;
            }
        }
        Ok(broken)
    }

    /// Imports one feature folder, whether it was created, changed or deleted.
    pub(super) fn import_one(&self, project: &ProjectRow, name: &str) -> Result<(), Failure> {
        let folder = self.folder(project)?;
        let Ok(id) = FeatureId::parse(name) else {
            self.note_broken(project.id, name, folder.read_named(name).err().as_ref().map(|broken| &*broken.why));
            return Ok(());
        };
        let found = folder.read(&id);
        self.note_broken(project.id, name, found.as_ref().err().map(|broken| &*broken.why));
        match found {
            Ok(Some(file)) => self.import_file(project, &folder, &file),
            Ok(None) => match self.database().feature(project.id, &id)? {
                Some(row) if row.state.work == Work::Nothing => self.hide(project, &id, FILE),
                _ => Ok(()),
            },
            Err(broken) => self.import_broken(project, &broken),
        }
    }

    fn hide(&self, project: &ProjectRow, id: &FeatureId, who: &str) -> Result<(), Failure> {
        let event = announce::event(project.id, &project.path.to_string_lossy(), id, &FeatureEvent::Changed);
        self.database().hide_feature(project.id, id, who, self.now(), vec![event]).map(drop)
    }

    fn import_broken(&self, project: &ProjectRow, broken: &Broken) -> Result<(), Failure> {
        self.note_broken(project.id, &broken.name, Some(&broken.why));
        let Ok(id) = FeatureId::parse(&broken.name) else { return Ok(()) };
        let row = self.database().feature(project.id, &id)?;
        if row.is_none_or(|row| row.broken.as_deref() == Some(&broken.why)) {
            return Ok(());
        }
        let announced = FeatureEvent::Broken { error: &broken.why };
        let event = announce::event(project.id, &project.path.to_string_lossy(), &id, &announced);
        self.database().set_broken(project.id, &id, Some(&broken.why), self.now(), vec![event]).map(drop)
    }

    /// Imports a feature file, unless it is the one last written or imported.
    pub(super) fn import_file(&self, project: &ProjectRow, folder: &Folder, file: &FeatureFile) -> Result<(), Failure> {
        for _ in 0..MAX_TRIES {
            let Some(row) = self.database().feature(project.id, &file.id)? else {
                return self.import_new(project, file);
            };
            if row.file_hash == Some(file.hash) && row.broken.is_none() {
                return Ok(());
            }
            // Read after the row, so that it is not older.
            let Ok(Some(now)) = folder.read(&file.id) else { return Ok(()) };
            if self.import_changed(project, folder, &now, &row)? {
                return Ok(());
            }
        }
        // A feature that changes this fast is imported when it settles.
        Ok(())
    }

    /// Imports a changed file; false when the row changed meanwhile.
    fn import_changed(
        &self,
        project: &ProjectRow,
        folder: &Folder,
        file: &FeatureFile,
        row: &FeatureRow,
    ) -> Result<bool, Failure> {
        if row.file_hash == Some(file.hash) && row.broken.is_none() {
            return Ok(true);
        }
        if row.broken.is_some() {
            let path = project.path.to_string_lossy();
            let event = announce::event(project.id, &path, &row.id, &FeatureEvent::Changed);
            self.database().set_broken(project.id, &row.id, None, self.now(), vec![event])?;
        }
        let status = file.document.status();
        let before = Document::parse(&row.document).ok();
        if before.as_ref().is_some_and(|before| is_ours(before, &file.document, row)) {
            let projected = Projected { document: file.document.to_bytes(), hash: file.hash };
            self.database().mark_projected(project.id, &file.id, row.rev, Some(projected))?;
            return Ok(true);
        }
        let before = before.map(|document| document.status());
        // A file that is behind the row does not request a move.
        let edited = before.is_some_and(|before| before != status) && status != row.state.status;
        let is_current = rev(&file.document).is_none_or(|rev| rev >= row.rev) && status == row.state.status;
        let path = project.path.to_string_lossy().into_owned();
        let (project_id, feature) = (project.id, file.id.clone());
        let import = FileImport {
            project: project.id,
            feature: file.id.clone(),
            document: file.document.to_bytes(),
            file_hash: file.hash,
            facts: facts(&file.document),
            set: Changes { branch: branch(&file.document, row), ..Changes::default() },
            edit: edited.then_some(status),
            rules: self.rules(folder, file.document.as_str().as_bytes(), row)?,
            seen_rev: row.rev,
            is_current,
            who: FILE.to_owned(),
            at_ms: self.now(),
            announce: Box::new(move |after, before, effects| {
                let transition_events = announce::TransitionEvents {
                    project: project_id,
                    path: &path,
                    feature: &feature,
                    iteration: None,
                    problem: None,
                    first: Vec::new(),
                };
                transition_events.events(before, &after.state, effects)
            }),
        };
        let taken = match self.database().import_file(import) {
            Ok(taken) => taken,
            Err(TransitionError::Stale) => return Ok(false),
            Err(TransitionError::Failure(failure)) => return Err(failure),
            Err(TransitionError::Illegal(_) | TransitionError::NoSuchFeature | TransitionError::Unfounded(_)) => {
                return Err(failure::gone(&file.id));
            }
        };
        if taken.refused.is_some() || taken.feature.projected_rev < taken.feature.rev {
            self.write_files(project, &file.id)?;
        }
        if row.state.status != Status::Completed && taken.feature.state.status == Status::Completed {
            // As after completion by transition: a worktree that cannot be removed now can be removed on request.
            let _ = self.clean(project.id, &file.id);
        }
        Ok(true)
    }

    fn import_new(&self, project: &ProjectRow, file: &FeatureFile) -> Result<(), Failure> {
        self.database().insert_features(vec![self.new_row(project, file)])
    }

    fn new_row(&self, project: &ProjectRow, file: &FeatureFile) -> NewRow {
        let now = self.now();
        let reviews = file.document.raw("codeReviewSpec").and_then(|raw| serde_json::from_str::<Value>(raw).ok());
        let reviews = reviews.unwrap_or(Value::Null);
        let event = announce::event(project.id, &project.path.to_string_lossy(), &file.id, &FeatureEvent::Changed);
        NewRow {
            project: project.id,
            id: file.id.clone(),
            state: code_review_spec::read_state(&reviews, &file.document.status()),
            facts: facts(&file.document),
            document: file.document.to_bytes(),
            file_hash: Some(file.hash),
            broken: None,
            iterations: code_review_spec::read(&reviews),
            set: Changes { branch: file.document.branch().map_or(Field::Keep, Field::Set), ..Changes::default() },
            created_ms: now,
            who: FILE.to_owned(),
            at_ms: now,
            events: vec![event],
        }
    }
}

/// Imports many features: unchanged ones are skipped, and new ones stored in batches.
struct Importer<'a> {
    board: &'a Board,
    project: &'a ProjectRow,
    folder: &'a Folder,
    /// The stored features, with the hashes of their files.
    known: HashMap<FeatureId, Option<[u8; 32]>>,
    new: Vec<NewRow>,
    new_bytes: usize,
}

impl Importer<'_> {
    fn take(&mut self, file: &FeatureFile) -> Result<(), Failure> {
        match self.known.get(&file.id) {
            Some(hash) if *hash == Some(file.hash) => Ok(()),
            Some(_) => self.board.import_file(self.project, self.folder, file),
            None => {
                self.new_bytes += file.document.as_str().len();
                self.new.push(self.board.new_row(self.project, file));
                if self.new.len() >= TOGETHER || self.new_bytes >= TOGETHER_BYTES { self.store() } else { Ok(()) }
            }
        }
    }

    fn store(&mut self) -> Result<(), Failure> {
        self.new_bytes = 0;
        match std::mem::take(&mut self.new) {
            new if new.is_empty() => Ok(()),
            new => self.board.database().insert_features(new),
        }
    }
}

/// Refuses an invalid branch name.
fn check_branch(name: &str) -> Result<(), Refused> {
    Branch::parse(name).map(drop).map_err(|error| Refused::Invalid(error.failure(name).message))
}

/// Refuses an invalid feature id.
fn check_name(name: &str) -> Result<(), Refused> {
    let wrong = |error: IdError| Refused::Invalid(format!("`{}` names no feature: {error}", name.escape_debug()));
    FeatureId::parse(name).map(drop).map_err(wrong)
}

/// The facts that lists show.
fn facts(document: &Document) -> Facts {
    let description = document.description();
    Facts {
        title: document.title().unwrap_or_default(),
        first_line: description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned(),
        priority: u32::from(document.priority()),
        dependencies: document.dependencies(),
        category: document.category(),
        model: document.model(),
        skip_tests: document.skip_tests(),
    }
}

/// True when a file is our own projection, before its hash was stored.
fn is_ours(before: &Document, now: &Document, row: &FeatureRow) -> bool {
    let is_foreign = |key: &&str| !["status", "codeReviewSpec", "updatedAt", "justFinishedAt"].contains(key);
    let card = |document: &Document| -> Vec<(String, Option<String>)> {
        let keys = document.keys().filter(is_foreign);
        keys.map(|key| (key.to_owned(), document.raw(key).map(str::to_owned))).collect()
    };
    let says_all = match rev(now) {
        Some(rev) => rev == row.rev,
        None => rev(before).is_none() && now.raw("codeReviewSpec").is_none(),
    };
    now.status() == row.state.status && says_all && card(before) == card(now)
}

/// The branch in the file counts until work has begun.
fn branch(document: &Document, row: &FeatureRow) -> Field<String> {
    let begun = row.state.iteration > 0 || row.state.work != Work::Nothing;
    match document.branch() {
        Some(branch) if !begun => Field::Set(branch),
        None if !begun => Field::Clear,
        Some(_) | None => Field::Keep,
    }
}

/// The revision that a file reflects.
pub(super) fn rev(document: &Document) -> Option<u64> {
    document.object("codeReviewSpec")?.number("rev").and_then(|rev| u64::try_from(rev).ok())
}

/// A new feature id in the format of other boards: `feature-1767960000000-x7k2m9qpa`.
fn new_id(now_ms: u64) -> FeatureId {
    let mut random = RandomState::new().build_hasher().finish();
    let mut tail = String::new();
    for _ in 0..9 {
        tail.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(random % 36) as usize]));
        random /= 36;
    }
    let name = format!("feature-{now_ms}-{tail}");
    FeatureId::parse(&name).unwrap_or_else(|_| unreachable!("digits, letters and `-` are a name"))
}

/// The document of a new feature, with keys in the order of other boards.
fn document(new: &NewFeature, id: &FeatureId, at: &str) -> Result<Document, String> {
    let text = |text: &str| quote(text);
    let history = json!([{ "description": new.description, "timestamp": at, "source": "initial" }]);
    let mut pairs: Vec<(&str, String)> = vec![
        ("category", text(new.category.as_deref().unwrap_or("Uncategorized"))),
        ("description", text(&new.description)),
        ("title", text(&new.title)),
        ("titleGenerating", "false".to_owned()),
        ("images", "[]".to_owned()),
        ("imagePaths", "[]".to_owned()),
        ("skipTests", new.skip_tests.unwrap_or(true).to_string()),
    ];
    pairs.extend(new.model.iter().map(|model| ("model", text(model))));
    pairs.extend(new.branch.iter().map(|branch| ("branchName", text(branch))));
    pairs.extend(new.spec.iter().map(|spec| ("spec", text(spec))));
    pairs.extend([
        ("priority", new.priority.unwrap_or(2).to_string()),
        ("planningMode", text("skip")),
        ("requirePlanApproval", "false".to_owned()),
        ("status", text(&Status::Backlog.to_string())),
        ("dependencies", json!(new.dependencies).to_string()),
        ("id", text(id.as_str())),
        ("descriptionHistory", history.to_string()),
        ("createdAt", text(at)),
        ("updatedAt", text(at)),
    ]);
    Document::new(pairs.iter().map(|(key, value)| (*key, value.as_str()))).map_err(|error| error.to_string())
}
