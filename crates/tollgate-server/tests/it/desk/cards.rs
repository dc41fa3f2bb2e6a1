//! The columns of the board in memory.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{self, Offer, Rules, Status, Work};
use tollgate_engine::store::board::{Card, Lane};
use tollgate_server::desk::cards::{Cards, Frame, Part, Place, Wanted};
use tollgate_server::desk::{Answer, ProjectId};

use super::MemoryDesk;

impl MemoryDesk {
    /// The cards of a project that fit, by their names.
    fn fitting(&self, project: ProjectId, wanted: &Wanted) -> Answer<Vec<Card>> {
        let kept = self.lock();
        kept.project(project)?;
        let all = kept.features.iter().filter(|((of, _), _)| *of == project);
        let cards = all.map(|(_, (feature, _))| super::card(feature.clone()).card);
        let fits = |card: &Card| {
            let facts = &card.facts;
            wanted.text.as_ref().is_none_or(|text| facts.title.contains(text.as_str()))
                && wanted.priority.is_none_or(|priority| facts.priority == priority)
                && wanted.category.as_ref().is_none_or(|category| facts.category.as_ref() == Some(category))
                && (!wanted.needs_person || card.state.pause.is_some())
        };
        Ok(cards.filter(fits).collect())
    }
}

fn lane(card: &Card) -> Lane {
    match card.state.work {
        Work::Nothing => Lane::NeedsYou,
        _ if card.is_claimed => Lane::Running,
        _ => Lane::Queued,
    }
}

impl Cards for MemoryDesk {
    fn offers(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Offer>> {
        self.lock().feature(project, feature).map(|(feature, _)| machine::acts(&feature.state, &Rules::default()))
    }

    fn frame(&self, project: ProjectId) -> Answer<Frame> {
        let kept = self.lock();
        let project = kept.project(project)?;
        Ok(Frame { name: project.name.clone(), broken: project.broken.clone(), max_rounds: 3, ..Frame::default() })
    }

    fn lane_counts(&self, project: ProjectId, wanted: &Wanted) -> Answer<Vec<(Status, Lane, u64)>> {
        let mut counts: Vec<(Status, Lane, u64)> = Vec::new();
        for card in self.fitting(project, wanted)? {
            let place = (card.state.status.clone(), lane(&card));
            match counts.iter_mut().find(|(status, lane, _)| (status, lane) == (&place.0, &place.1)) {
                Some((_, _, n)) => *n += 1,
                None => counts.push((place.0, place.1, 1)),
            }
        }
        Ok(counts)
    }

    fn cards(&self, project: ProjectId, wanted: &Wanted, part: &Part) -> Answer<Vec<Card>> {
        let is_there = |card: &Card| match &part.place {
            Place::Column(status) => card.state.status == *status,
            Place::Gate(of) => card.state.status == Status::CodeReview && lane(card) == *of,
            Place::Elsewhere => !part.columns.contains(&card.state.status),
        };
        let is_after = |card: &Card| part.after.as_ref().is_none_or(|after| card.id.as_str() > after.as_str());
        let cards = self.fitting(project, wanted)?;
        Ok(cards.into_iter().filter(is_there).filter(is_after).take(part.limit).collect())
    }

    fn card(&self, project: ProjectId, feature: &FeatureId, wanted: &Wanted) -> Answer<Option<Card>> {
        Ok(self.fitting(project, wanted)?.into_iter().find(|card| card.id == *feature))
    }
}
