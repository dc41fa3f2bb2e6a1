//! The board as its page shows it.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{AvailableAction, Status};
use tollgate_engine::store::board::{Card, CardFilter, Lane, Order};

use super::{BoardDesk, refusal};
use crate::desk::cards::{Cards, Frame, Part, Place, Wanted};
use crate::desk::{Answer, Broken, ProjectId};

/// The most groups that are offered to choose from.
const MAX_CATEGORIES: usize = 100;

impl Cards for BoardDesk {
    fn offers(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<AvailableAction>> {
        self.board.available_actions(self.row(project)?.id, feature).map_err(refusal)
    }

    fn frame(&self, project: ProjectId) -> Answer<Frame> {
        let (row, settings, database) = (self.row(project)?, self.board.settings(), self.board.database());
        let (steps, notes) = self.board.steps(row.id).map_err(refusal)?;
        let broken = self.board.broken(row.id);
        let names: Vec<FeatureId> = broken.iter().filter_map(|broken| FeatureId::parse(&broken.name).ok()).collect();
        // What could be read once is a card with what was last read.
        let known = database.statuses(row.id, &names)?;
        let is_known = |name: &str| known.iter().any(|(id, _)| id.as_str() == name);
        let broken = broken.into_iter().filter(|broken| !is_known(&broken.name));
        let implementer = self.board.implementer(&row)?.map(|chosen| chosen.name);
        Ok(Frame {
            name: row.name,
            steps,
            notes,
            max_rounds: settings.pipeline.rounds,
            implementer,
            reviewers: settings.reviewers.iter().map(|chosen| chosen.name.clone()).collect(),
            categories: database.categories(row.id, MAX_CATEGORIES)?,
            broken: broken.map(|broken| Broken { folder: broken.name, problem: broken.why }).collect(),
        })
    }

    fn lane_counts(&self, project: ProjectId, wanted: &Wanted) -> Answer<Vec<(Status, Lane, u64)>> {
        let counts = self.board.database().lane_counts(self.row(project)?.id, &filter(wanted))?;
        Ok(counts.into_iter().map(|(status, lane, n)| (status, lane, n as u64)).collect())
    }

    fn cards(&self, project: ProjectId, wanted: &Wanted, part: &Part) -> Answer<Vec<Card>> {
        let mut filter = CardFilter { limit: part.limit, after: part.after.clone(), ..filter(wanted) };
        filter.order = order(&part.place);
        match &part.place {
            Place::Column(status) => filter.status = Some(status.clone()),
            Place::Gate(lane) => {
                filter.status = Some(Status::CodeReview);
                filter.lane = Some(*lane);
            }
            Place::Elsewhere => filter.outside = part.columns.clone(),
        }
        Ok(self.board.database().cards(self.row(project)?.id, &filter)?)
    }

    fn card(&self, project: ProjectId, feature: &FeatureId, wanted: &Wanted) -> Answer<Option<Card>> {
        let filter = CardFilter { id: Some(feature.clone()), limit: 1, ..filter(wanted) };
        Ok(self.board.database().cards(self.row(project)?.id, &filter)?.pop())
    }
}

fn filter(wanted: &Wanted) -> CardFilter {
    CardFilter {
        text: wanted.text.clone(),
        priority: wanted.priority,
        category: wanted.category.clone(),
        needs_person: wanted.needs_person,
        ..CardFilter::default()
    }
}

/// What is to be done comes in the order in which it is taken; what passed, latest first.
fn order(place: &Place) -> Order {
    match place {
        Place::Column(Status::WaitingApproval | Status::Verified | Status::Completed) => Order::Recent,
        Place::Column(_) | Place::Gate(_) | Place::Elsewhere => Order::Urgency,
    }
}
