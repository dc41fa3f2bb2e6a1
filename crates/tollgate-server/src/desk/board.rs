//! The real board behind the desk.
//!
//! Nothing is decided here: names, numbers and refusals are translated, and that is all.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_core::board::machine::{Pause, State, Status, Work};
use tollgate_core::board::{Document, FeatureId, Iteration, Outcome};
use tollgate_core::prompt::{DEFAULT_SYSTEM, DEFAULT_TEMPLATE};
use tollgate_engine::board::folder::{self, Attachment, Folder};
use tollgate_engine::board::{self as engine, Board, Edits, Refused, iso};
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::reviewer::prompts;
use tollgate_engine::store::board::{Card, CardFilter, FeatureRow, IterationRow, ProjectRow};

use crate::desk::{
    Act, Agent, Answer, Desk, Feature, FeatureEdit, FeatureQuery, Figures, NewFeature, NewProject, Output, Page, Part,
    Project, ProjectId, Prompt, Prompts, PromptsInForce, Refusal, ReviewRequest, ReviewTicket, Settings, SettingsEdit,
    Step,
};

/// How much of what an agent wrote is given at once.
const OUTPUT_BYTES: usize = 256 * 1024;
/// The largest review that is read from its file.
const REVIEW_BYTES: usize = 4 * 1024 * 1024;
/// The largest file of settings that is read.
const SETTINGS_BYTES: u64 = 4 * 1024 * 1024;
/// The name of the file with the prompts for all projects, in the server's data.
const SETTINGS: &str = "settings.json";

/// The board, as the routes see it.
#[derive(Debug, Clone)]
pub struct BoardDesk {
    board: Board,
}

impl BoardDesk {
    /// Puts a desk before a board.
    #[must_use]
    pub fn new(board: Board) -> Self {
        Self { board }
    }

    fn row(&self, project: ProjectId, feature: &FeatureId) -> Answer<FeatureRow> {
        self.board.project(number(project))?;
        Ok(self.board.feature(number(project), feature)?)
    }

    fn feature_of(&self, row: FeatureRow) -> Feature {
        let document = Document::parse(&row.document).ok();
        let text = |read: fn(&Document) -> Option<String>| document.as_ref().and_then(read);
        Feature {
            title: row.facts.title,
            description: text(|document| Some(document.description())).unwrap_or(row.facts.first_line),
            spec: text(Document::spec),
            category: text(Document::category).unwrap_or_else(|| "Uncategorized".to_owned()),
            priority: u8::try_from(row.facts.priority).unwrap_or(2),
            skip_tests: document.as_ref().is_none_or(Document::skip_tests),
            dependencies: row.facts.dependencies,
            model: text(Document::model),
            branch: row.branch.or_else(|| text(Document::branch)),
            max_iterations: self.board.settings().pipeline.rounds,
            error: row.broken.or(row.problem),
            id: row.id,
            state: row.state,
            rev: row.rev,
            created_at: Some(iso(row.created_ms)),
            updated_at: Some(iso(row.updated_ms)),
        }
    }

    fn project_of(&self, row: ProjectRow) -> Answer<Project> {
        let counts = self.board.database().column_counts(row.id)?;
        Ok(Project {
            id: u64::try_from(row.id).unwrap_or_default(),
            n_features: counts.iter().map(|(_, count)| *count as u64).sum(),
            name: row.name,
            path: row.path,
        })
    }

    fn count_work(&self, project: i64, status: Status, figures: &mut Figures) -> Answer<()> {
        let column = CardFilter { status: Some(status), limit: usize::MAX, ..CardFilter::default() };
        for card in self.board.features(project, &column)? {
            if card.state.work != Work::Nothing {
                add(&mut figures.work, card.state.work.as_str().to_owned(), 1);
            }
            figures.agents += u64::from(matches!(card.state.work, Work::Implementing | Work::Stepping));
        }
        Ok(())
    }

    /// The last review of an iteration.
    fn review(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<IterationRow> {
        self.row(project, feature)?;
        match self.board.database().iteration(number(project), feature, iteration)? {
            Some(row) => Ok(row),
            None => Err(Refusal::NotFound(no_review(iteration))),
        }
    }

    fn folder(&self, project: ProjectId) -> Answer<Folder> {
        let project = self.board.project(number(project))?;
        Ok(Folder::open(&project.path, &self.board.settings().pipeline.dir)?)
    }

    /// The file of settings, as bytes; none when there is none.
    fn settings_file(&self, project: Option<ProjectId>) -> Answer<Option<Vec<u8>>> {
        match project {
            Some(project) => Ok(self.folder(project)?.settings()?.map(|document| document.to_bytes())),
            None => Ok(read_bounded(&self.board.home().data.join(SETTINGS))?),
        }
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let as_what = match &refused {
            Refused::NoProject(_) | Refused::NoFeature(_) => Self::NotFound,
            Refused::Illegal(_) => Self::Conflict,
            Refused::Stale(_) => Self::Stale,
            Refused::Invalid(_) | Refused::Failure(_) => Self::Failed,
        };
        as_what(refused.into_failure())
    }
}

/// For what is done to something that is there: what makes no sense now may make sense later.
fn not_now(refused: Refused) -> Refusal {
    match refused {
        Refused::Invalid(_) => Refusal::Conflict(refused.into_failure()),
        other => other.into(),
    }
}

impl Desk for BoardDesk {
    fn ready(&self) -> Answer<()> {
        // A write that changes nothing still has to get to the disk.
        self.board.database().announce_many(Vec::new(), 0)?;
        Ok(())
    }

    fn figures(&self) -> Answer<Figures> {
        let mut figures = Figures::default();
        for project in self.board.projects()? {
            for (status, count) in self.board.database().column_counts(project.id)? {
                add(&mut figures.features, status.to_string(), count as u64);
                // Only in these columns anybody works.
                if matches!(status, Status::InProgress | Status::CodeReview | Status::Step(_)) {
                    self.count_work(project.id, status, &mut figures)?;
                }
            }
        }
        Ok(figures)
    }

    fn projects(&self) -> Answer<Vec<Project>> {
        self.board.projects()?.into_iter().map(|row| self.project_of(row)).collect()
    }

    fn project(&self, project: ProjectId) -> Answer<Project> {
        self.project_of(self.board.project(number(project))?)
    }

    fn add_project(&self, new: NewProject) -> Answer<Project> {
        let row = self.board.add_project(Path::new(&new.path), new.name.as_deref())?;
        self.project_of(row)
    }

    fn remove_project(&self, project: ProjectId) -> Answer<()> {
        self.board.remove_project(number(project)).map_err(not_now)
    }

    fn features(&self, project: ProjectId, query: &FeatureQuery) -> Answer<Page<Card>> {
        let after = match query.after.as_deref().map(FeatureId::parse) {
            // A place that nobody gave out has nothing after it.
            Some(Err(_)) => return Ok(Page { items: Vec::new(), next: None }),
            Some(Ok(after)) => Some(after),
            None => None,
        };
        let filter = CardFilter {
            status: query.status.as_deref().map(Status::parse),
            text: query.text.clone(),
            limit: query.limit.saturating_add(1),
            after,
        };
        let mut items = self.board.features(number(project), &filter)?;
        let has_more = items.len() > query.limit;
        items.truncate(query.limit);
        let next = items.last().filter(|_| has_more).map(|card| card.id.to_string());
        Ok(Page { items, next })
    }

    fn feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<Feature> {
        Ok(self.feature_of(self.row(project, feature)?))
    }

    fn add_feature(&self, project: ProjectId, new: NewFeature, by: &str) -> Answer<Feature> {
        let starts = new.start == Some(true);
        let names = new.dependencies.unwrap_or_default();
        let new = engine::NewFeature {
            title: new.title,
            description: new.description,
            spec: new.spec,
            category: new.category,
            priority: new.priority,
            skip_tests: new.skip_tests,
            dependencies: names.iter().map(|name| name.0.to_string()).collect(),
            model: new.model,
            branch: new.branch_name,
        };
        let row = self.board.create(number(project), &new)?;
        let row = if starts { self.board.start(row.project, &row.id, by)? } else { row };
        Ok(self.feature_of(row))
    }

    fn edit_feature(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        edit: FeatureEdit,
        rev: Option<u64>,
    ) -> Answer<Feature> {
        let row = self.board.edit(number(project), feature, &edits(edit), rev)?;
        Ok(self.feature_of(row))
    }

    fn remove_feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<()> {
        self.board.delete(number(project), feature, "operator").map_err(not_now)
    }

    fn act(&self, project: ProjectId, feature: &FeatureId, act: Act, by: &str) -> Answer<Feature> {
        self.row(project, feature)?;
        let (board, project) = (&self.board, number(project));
        let row = match act {
            Act::Start => board.start(project, feature, by),
            Act::Stop => board.stop(project, feature, by),
            Act::Resume { note } => board.resume(project, feature, by, note.as_deref()),
            Act::Approve { reason } => board.approve(project, feature, by, &reason),
            Act::Reject { note } => board.reject(project, feature, by, &note),
            Act::Retry => board.retry(project, feature, by),
            Act::Move { status } => board.move_to(project, feature, by, &Status::parse(&status)),
            Act::Clean => board.clean(project, feature).and_then(|_| board.feature(project, feature)),
        };
        let row = row.map_err(not_now)?;
        Ok(self.feature_of(row))
    }

    fn iterations(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Iteration>> {
        self.row(project, feature)?;
        Ok(self.board.iterations(number(project), feature)?.into_iter().map(|row| row.iteration).collect())
    }

    fn diff(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<String> {
        let row = self.review(project, feature, iteration)?;
        let hash = match part {
            Part::Whole => row.diff,
            Part::Delta => row.delta,
        };
        let bytes = match hash {
            Some(hash) => self.board.database().diff(&hash)?,
            None => None,
        };
        match bytes {
            Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            None => Err(Refusal::NotFound(no_diff(iteration, part))),
        }
    }

    fn review_text(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<String> {
        self.row(project, feature)?;
        match self.folder(project)?.head(feature, Attachment::Review(iteration), REVIEW_BYTES)? {
            Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            None => Err(Refusal::NotFound(no_review(iteration))),
        }
    }

    fn output(&self, project: ProjectId, feature: &FeatureId, iteration: u32, from: u64) -> Answer<Output> {
        let row = self.row(project, feature)?;
        let bytes = self.folder(project)?.after(feature, Attachment::Output(iteration), from, OUTPUT_BYTES)?;
        let is_running = row.state.iteration == iteration && row.state.work == Work::Implementing;
        let bytes = match bytes {
            Some(bytes) => bytes,
            None if is_running => Vec::new(),
            None => return Err(Refusal::NotFound(no_output(iteration))),
        };
        let bytes = whole_characters(&bytes, is_running);
        let next = from + bytes.len() as u64;
        Ok(Output { text: String::from_utf8_lossy(bytes).into_owned(), next, is_running })
    }

    fn history(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Step>> {
        self.row(project, feature)?;
        let column = |state: &State| state.status.to_string();
        let steps = self.board.history(number(project), feature)?.into_iter().map(|row| Step {
            at: iso(row.at_ms),
            from: row.from.as_ref().map_or_else(String::new, column),
            to: column(&row.to),
            event: row.event,
            by: row.who,
            note: row.note,
        });
        Ok(steps.collect())
    }

    fn prompts(&self, project: Option<ProjectId>) -> Answer<PromptsInForce> {
        let bytes = self.settings_file(project)?;
        let name = if project.is_some() { "the project's `settings.json`" } else { "`settings.json`" };
        let notes = bytes.as_deref().map(|bytes| prompts::read(&[(name, bytes)]).notes).unwrap_or_default();
        Ok(PromptsInForce {
            own: bytes.as_deref().map(stored_prompts).unwrap_or_default(),
            default_system: DEFAULT_SYSTEM.to_owned(),
            default_template: DEFAULT_TEMPLATE.to_owned(),
            notes,
        })
    }

    fn set_prompts(&self, project: Option<ProjectId>, prompts: Prompts) -> Answer<PromptsInForce> {
        let value = json!(prompts).to_string();
        let edit = |document: &mut Document| document.set_at(&["promptCustomization", "codeReview"], &value);
        match project {
            Some(project) => self.folder(project)?.update_settings(&edit)?,
            None => folder::update_file(&self.board.home().data, SETTINGS, &edit)?,
        };
        self.prompts(project)
    }

    fn settings(&self) -> Answer<Settings> {
        let pipeline = &self.board.settings().pipeline;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Settings {
            max_concurrency: count(pipeline.at_once),
            max_reviews: count(pipeline.reviews_at_once),
            max_iterations: pipeline.rounds,
            implementer: pipeline.agent.clone(),
            review_model: pipeline.review_model.clone(),
        })
    }

    fn edit_settings(&self, edit: SettingsEdit) -> Answer<Settings> {
        let settings = self.settings()?;
        if edit == SettingsEdit::default() {
            return Ok(settings);
        }
        Err(Refusal::Conflict(
            Failure::new(Kind::User, "these settings come from the server's configuration")
                .hint("Change `[pipeline]` there, and start the server again."),
        ))
    }

    fn agents(&self) -> Answer<Vec<Agent>> {
        let settings = self.board.settings();
        let implementer = settings.pipeline.agent.iter().map(|name| Agent {
            name: name.clone(),
            role: "implementer".to_owned(),
            available: true,
            detail: "implements features, as `pipeline.agent` says".to_owned(),
        });
        let rules = Agent {
            name: "tollgate/offline".to_owned(),
            role: "reviewer".to_owned(),
            available: true,
            detail: "the embedded rules".to_owned(),
        };
        Ok(implementer.chain([rules]).collect())
    }

    fn start_review(&self, request: &ReviewRequest) -> Answer<ReviewTicket> {
        let path = Path::new(&request.project_path);
        let Some(project) = self.board.project_at(path)? else {
            return Err(Refusal::NotFound(
                Failure::new(Kind::User, "there is no project in this folder")
                    .hint("Add it with `tollgate project add PATH`."),
            ));
        };
        let row = self.board.feature(project.id, &request.feature)?;
        check_review(&row.state, request.iteration)?;
        let n_before = self.board.iterations(project.id, &request.feature)?.len();
        if row.state.work != Work::Reviewing {
            self.board.retry(project.id, &request.feature, "operator").map_err(not_now)?;
        }
        Ok(ReviewTicket {
            project: u64::try_from(project.id).unwrap_or_default(),
            feature: request.feature.clone(),
            iteration: request.iteration,
            review: format!("{}-{}-{}", request.feature, request.iteration, n_before + 1),
            n_before,
        })
    }

    fn review_outcome(&self, ticket: &ReviewTicket) -> Answer<Option<Outcome>> {
        let rows = self.board.iterations(number(ticket.project), &ticket.feature)?;
        let mut new = rows.iter().skip(ticket.n_before).map(|row| &row.iteration);
        if let Some(found) = new.find(|found| found.number == ticket.iteration && !found.outdated) {
            return Ok(Some(found.outcome));
        }
        // A review that brings no answer may leave none behind but the pause.
        let state = self.row(ticket.project, &ticket.feature)?.state;
        Ok((state.work != Work::Reviewing && state.pause == Some(Pause::ReviewFailed)).then_some(Outcome::Failed))
    }
}

/// A number of the database, whose numbers have a sign. One that is too large names nothing.
fn number(project: ProjectId) -> i64 {
    i64::try_from(project).unwrap_or(-1)
}

fn add(counts: &mut Vec<(String, u64)>, word: String, count: u64) {
    match counts.iter_mut().find(|(found, _)| *found == word) {
        Some((_, sum)) => *sum += count,
        None => counts.push((word, count)),
    }
}

/// A feature that is at the gate, in this iteration.
fn check_review(state: &State, iteration: u32) -> Answer<()> {
    if state.status != Status::CodeReview {
        let message = format!("the feature is not at the gate: {}", state.in_words());
        return Err(Refusal::Conflict(Failure::new(Kind::User, message)));
    }
    if state.iteration != iteration {
        let message = format!("the feature is at iteration {}, not {iteration}", state.iteration);
        let hint = "The server counts; ask for the iteration it names.";
        return Err(Refusal::Conflict(Failure::new(Kind::User, message).hint(hint)));
    }
    Ok(())
}

/// What is to be different, by the keys of `feature.json`. An empty specification or model is none.
fn edits(edit: FeatureEdit) -> Edits {
    let or_none = |text: String| if text.is_empty() { Value::Null } else { json!(text) };
    let names = edit.dependencies.map(|names| json!(names.iter().map(|name| name.0.as_str()).collect::<Vec<_>>()));
    let all = [
        ("title", edit.title.map(|text| json!(text))),
        ("description", edit.description.map(|text| json!(text))),
        ("spec", edit.spec.map(or_none)),
        ("category", edit.category.map(|text| json!(text))),
        ("priority", edit.priority.map(|number| json!(number))),
        ("skipTests", edit.skip_tests.map(|flag| json!(flag))),
        ("dependencies", names),
        ("model", edit.model.map(or_none)),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// The prompts as they stand in a file of settings; what is odd there is left out.
fn stored_prompts(bytes: &[u8]) -> Prompts {
    let settings: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let parts = &settings["promptCustomization"]["codeReview"];
    let prompt = |key: &str| serde_json::from_value::<Prompt>(parts[key].clone()).ok();
    Prompts {
        review_system_prompt: prompt("reviewSystemPrompt"),
        review_prompt_template: prompt("reviewPromptTemplate"),
    }
}

fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    use std::io::Read as _;
    let unreadable =
        |problem: std::io::Error| Failure::new(Kind::External, format!("cannot read `{}`: {problem}", path.display()));
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(unreadable(problem)),
    };
    let mut bytes = Vec::new();
    file.take(SETTINGS_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// The bytes without a character that is only half there, unless no more will come.
fn whole_characters(bytes: &[u8], more_may_come: bool) -> &[u8] {
    if !more_may_come && bytes.len() < OUTPUT_BYTES {
        return bytes;
    }
    match std::str::from_utf8(bytes) {
        // `None` says that it broke off in the middle of a character.
        Err(problem) if problem.error_len().is_none() => &bytes[..problem.valid_up_to()],
        _ => bytes,
    }
}

fn no_review(iteration: u32) -> Failure {
    Failure::new(Kind::User, format!("iteration {iteration} has no review"))
}

fn no_diff(iteration: u32, part: Part) -> Failure {
    let what = match part {
        Part::Whole => "diff",
        Part::Delta => "delta to an earlier review",
    };
    Failure::new(Kind::User, format!("iteration {iteration} has no {what}"))
}

fn no_output(iteration: u32) -> Failure {
    Failure::new(Kind::User, format!("no agent wrote anything in iteration {iteration}"))
}
