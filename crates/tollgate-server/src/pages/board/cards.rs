//! Reads the board of a project: its frame, the number of cards in each lane, and some of the cards.

use tollgate_core::board::FeatureId;
use tollgate_core::board::document::Step;
use tollgate_core::board::machine::{Rules, Status};
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::{Card, CardFilter, Lane, Order};

use crate::app::ProjectId;
use crate::view::BrokenBody;

/// The most categories that a filter offers.
const MAX_CATEGORIES: usize = 100;

/// The number of cards in a lane of a column.
pub(super) type LaneCount = (Status, Lane, u64);

/// The settings and columns around the cards of a board.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Frame {
    /// The name of the project.
    pub(super) name: String,
    /// The steps after the gate, each with a column.
    pub(super) steps: Vec<Step>,
    /// Warnings about their file.
    pub(super) notes: Vec<String>,
    /// The number of rounds before a person decides.
    pub(super) max_rounds: u32,
    /// The agent that implements, if configured.
    pub(super) implementer: Option<String>,
    /// The reviewers besides the rules.
    pub(super) reviewers: Vec<String>,
    /// The categories of its features.
    pub(super) categories: Vec<String>,
    /// Feature folders that could never be read.
    pub(super) broken: Vec<BrokenBody>,
}

impl Frame {
    /// Reads the frame of a project.
    pub(super) fn read(board: &Board, project: ProjectId) -> Result<Self, Refused> {
        let (row, settings, database) = (board.project(project)?, board.settings(), board.database());
        let (steps, notes) = board.steps(row.id)?;
        let broken = board.broken(row.id);
        let names: Vec<FeatureId> = broken.iter().filter_map(|broken| FeatureId::parse(&broken.name).ok()).collect();
        // A folder that could be read once has a card with the facts that were last read.
        let known = database.statuses(row.id, &names)?;
        let is_known = |name: &str| known.iter().any(|(id, _)| id.as_str() == name);
        let broken = broken.into_iter().filter(|broken| !is_known(&broken.name));
        let implementer = board.implementer(&row)?;
        // Unless reviewers are set, the agent that implements features reviews them too.
        let own = implementer.as_ref().filter(|agent| !settings.chooses_reviewers && agent.part.can_review());
        let reviewers = settings.reviewers.iter().chain(own).map(|chosen| chosen.name.clone()).collect();
        let implementer = implementer.map(|chosen| chosen.name);
        Ok(Self {
            name: row.name,
            steps,
            notes,
            max_rounds: settings.pipeline.rounds,
            implementer,
            reviewers,
            categories: database.categories(row.id, MAX_CATEGORIES)?,
            broken: broken.map(BrokenBody::from).collect(),
        })
    }

    /// The rules of the state machine.
    pub(super) fn rules(&self, skip_tests: bool) -> Rules {
        let steps = self.steps.iter().map(|step| step.id.clone()).collect();
        Rules { skip_tests, unchecked: false, steps, max_rounds: self.max_rounds }
    }

    /// The columns of the board with those of its steps, in order.
    pub(super) fn columns(&self) -> Vec<Status> {
        let steps = self.steps.iter().map(|step| Status::Step(step.id.clone()));
        let first = [Status::Backlog, Status::InProgress, Status::CodeReview];
        first.into_iter().chain(steps).chain([Status::WaitingApproval, Status::Verified, Status::Completed]).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum BoardPlace {
    Column(Status),
    /// A lane of the gate's column.
    Gate(Lane),
    /// Statuses without a column: words of other programs, removed steps.
    Elsewhere,
}

/// The criteria of a search, wherever the features are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CardSearch {
    /// Text in id, title or first line, case-insensitive.
    pub(super) text: Option<String>,
    pub(super) priority: Option<u32>,
    pub(super) category: Option<String>,
    /// Only features that wait for a person.
    pub(super) needs_person: bool,
}

impl CardSearch {
    fn filter(&self) -> CardFilter {
        CardFilter {
            text: self.text.clone(),
            priority: self.priority,
            category: self.category.clone(),
            needs_person: self.needs_person,
            ..CardFilter::default()
        }
    }

    /// The number of matching features in each lane of each column.
    pub(super) fn lane_counts(&self, board: &Board, project: ProjectId) -> Result<Vec<LaneCount>, Failure> {
        let counts = board.database().lane_counts(project, &self.filter())?;
        Ok(counts.into_iter().map(|(status, lane, n)| (status, lane, n as u64)).collect())
    }

    /// At most `limit` matching features of a place, in its order.
    pub(super) fn cards(
        &self,
        board: &Board,
        project: ProjectId,
        place: &BoardPlace,
        columns: Vec<Status>,
        (limit, after): (usize, Option<FeatureId>),
    ) -> Result<Vec<Card>, Failure> {
        let mut filter = CardFilter { limit, after, order: order(place), ..self.filter() };
        match place {
            BoardPlace::Column(status) => filter.status = Some(status.clone()),
            BoardPlace::Gate(lane) => {
                filter.status = Some(Status::CodeReview);
                filter.lane = Some(*lane);
            }
            BoardPlace::Elsewhere => filter.outside = columns,
        }
        board.database().cards(project, &filter)
    }

    /// One feature, if it matches.
    pub(super) fn card(&self, board: &Board, project: ProjectId, feature: &FeatureId) -> Result<Option<Card>, Failure> {
        let filter = CardFilter { id: Some(feature.clone()), limit: 1, ..self.filter() };
        Ok(board.database().cards(project, &filter)?.pop())
    }
}

/// Open features come in the order in which they are started; passed ones, latest first.
fn order(place: &BoardPlace) -> Order {
    match place {
        BoardPlace::Column(Status::WaitingApproval | Status::Verified | Status::Completed) => Order::Recent,
        BoardPlace::Column(_) | BoardPlace::Gate(_) | BoardPlace::Elsewhere => Order::Urgency,
    }
}
