//! What the board page asks for: columns of cards, how many there are, and what a person may do to each.

use tollgate_core::board::FeatureId;
use tollgate_core::board::document::Step;
use tollgate_core::board::machine::{AvailableAction, Rules, Status};
use tollgate_engine::store::board::{Card, Lane};

use super::{Answer, Broken, ProjectId};

/// The board as a page shows it.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Cards {
    /// What a person may do to a feature now, where that leads, and why the rest is not possible.
    fn offers(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<AvailableAction>>;
    /// What is around the cards.
    fn frame(&self, project: ProjectId) -> Answer<Frame>;
    /// How many features that fit are in each lane of each column.
    fn lane_counts(&self, project: ProjectId, wanted: &Wanted) -> Answer<Vec<(Status, Lane, u64)>>;
    /// The features of a place that fit, in its order.
    fn cards(&self, project: ProjectId, wanted: &Wanted, part: &Part) -> Answer<Vec<Card>>;
    /// A feature, if it is there and fits.
    fn card(&self, project: ProjectId, feature: &FeatureId, wanted: &Wanted) -> Answer<Option<Card>>;
}

/// What is around the cards of a board.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// What the project is called.
    pub name: String,
    /// The steps behind the gate, each with a column.
    pub steps: Vec<Step>,
    /// What of their file could not be read.
    pub notes: Vec<String>,
    /// How many rounds there are before a person decides.
    pub max_rounds: u32,
    /// Who implements, if somebody does.
    pub implementer: Option<String>,
    /// Who reviews, beside the rules.
    pub reviewers: Vec<String>,
    /// The groups that features are in.
    pub categories: Vec<String>,
    /// Folders that cannot be read and have never been.
    pub broken: Vec<Broken>,
}

impl Frame {
    /// The rules by which a feature moves.
    #[must_use]
    pub fn rules(&self, skip_tests: bool) -> Rules {
        let steps = self.steps.iter().map(|step| step.id.clone()).collect();
        Rules { skip_tests, steps, max_rounds: self.max_rounds }
    }

    /// The columns that every board has and those of its steps, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<Status> {
        let steps = self.steps.iter().map(|step| Status::Step(step.id.clone()));
        let first = [Status::Backlog, Status::InProgress, Status::CodeReview];
        first.into_iter().chain(steps).chain([Status::WaitingApproval, Status::Verified, Status::Completed]).collect()
    }
}

/// Which features are looked for, wherever they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// With this text in name, title or first line, in any case.
    pub text: Option<String>,
    /// Of this priority.
    pub priority: Option<u32>,
    /// Of this group.
    pub category: Option<String>,
    /// Only those that wait for a person.
    pub needs_person: bool,
}

/// A place on the board.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A column.
    Column(Status),
    /// A lane of those at the gate.
    Gate(Lane),
    /// Everything that has no column: words of other programs, steps that are no more.
    Elsewhere,
}

/// Some of the features of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The place.
    pub place: Place,
    /// The columns there are, so that everything else is elsewhere.
    pub columns: Vec<Status>,
    /// At most so many.
    pub limit: usize,
    /// Those after this one.
    pub after: Option<FeatureId>,
}
