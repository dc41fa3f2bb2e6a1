//! The available actions of a feature in its current state, and the pipeline steps of a project.

use tollgate_core::board::FeatureId;
use tollgate_core::board::document::Step;
use tollgate_core::board::machine::{self, AvailableAction, IllegalTransition, Rules, State};

use super::{Board, Refused};

impl Board {
    /// The available actions of a feature, each with its target status, or the reason why it is not available.
    pub fn available_actions(&self, project: i64, id: &FeatureId) -> Result<Vec<AvailableAction>, Refused> {
        let row = self.feature(project, id)?;
        let project = self.project(project)?;
        if let Err(elsewhere) = self.check_here(&project) {
            let rules = Rules { max_rounds: self.settings().pipeline.rounds, ..Rules::default() };
            return Ok(refused(machine::available_actions(&row.state, &rules), &elsewhere.message));
        }
        let folder = self.folder(&project)?;
        Ok(available_actions(&row.state, &self.rules(&folder, &row.document, &row)?, row.broken.as_deref()))
    }

    /// The pipeline steps after the gate, in order, and the errors of their file.
    pub fn steps(&self, project: i64) -> Result<(Vec<Step>, Vec<String>), Refused> {
        let project = self.project(project)?;
        // The file is on another machine.
        if self.is_here(&project) { Ok(self.folder(&project)?.steps()) } else { Ok((Vec::new(), Vec::new())) }
    }
}

/// The available actions in a state; none when the feature's file is broken.
pub fn available_actions(state: &State, rules: &Rules, broken: Option<&str>) -> Vec<AvailableAction> {
    let offers = machine::available_actions(state, rules);
    match broken {
        Some(why) => refused(offers, &format!("its file cannot be read: {why}")),
        None => offers,
    }
}

/// Marks all actions as not available for this reason.
fn refused(mut offers: Vec<AvailableAction>, why: &str) -> Vec<AvailableAction> {
    for offer in &mut offers {
        let event = offer.action.event().map_or("move it there", |event| event.in_words());
        offer.target = Err(IllegalTransition { event, why: why.to_owned() });
    }
    offers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_feature_has_no_available_actions() {
        let offers = available_actions(&State::new(), &Rules::default(), Some("line 1: expected `{`"));
        assert!(!offers.is_empty());
        for offer in offers {
            let why = offer.target.unwrap_err().why;
            assert_eq!(why, "its file cannot be read: line 1: expected `{`");
        }
    }
}
