//! What people may do to features where they are, and the columns there are.

use tollgate_core::board::FeatureId;
use tollgate_core::board::document::Step;
use tollgate_core::board::machine::{self, Illegal, Offer, Rules, State};

use super::{Board, Refused};

impl Board {
    /// What a person may do to a feature now, where that leads, and why the rest is not possible.
    pub fn offers(&self, project: i64, id: &FeatureId) -> Result<Vec<Offer>, Refused> {
        let row = self.feature(project, id)?;
        let project = self.project(project)?;
        if let Err(elsewhere) = self.check_here(&project) {
            let rules = Rules { skip_tests: true, steps: Vec::new(), max_rounds: self.settings().pipeline.rounds };
            return Ok(refused(machine::acts(&row.state, &rules), &elsewhere.message));
        }
        let folder = self.folder(&project)?;
        Ok(offers(&row.state, &self.rules(&folder, &row.document), row.broken.as_deref()))
    }

    /// The steps that a team put behind the gate, in order, and what of their file could not be read.
    pub fn steps(&self, project: i64) -> Result<(Vec<Step>, Vec<String>), Refused> {
        let project = self.project(project)?;
        // They are in a file that is not here.
        if self.is_here(&project) { Ok(self.folder(&project)?.steps()) } else { Ok((Vec::new(), Vec::new())) }
    }
}

/// What a person may do to a feature in this state; nothing when its file cannot be read, for this reason.
#[must_use]
pub fn offers(state: &State, rules: &Rules, broken: Option<&str>) -> Vec<Offer> {
    let offers = machine::acts(state, rules);
    match broken {
        Some(why) => refused(offers, &format!("its file cannot be read: {why}")),
        None => offers,
    }
}

/// The same, none of which is possible for this reason.
fn refused(mut offers: Vec<Offer>, why: &str) -> Vec<Offer> {
    for offer in &mut offers {
        let event = offer.act.event().map_or("moving it there", |event| event.in_words());
        offer.leads = Err(Illegal { event, why: why.to_owned() });
    }
    offers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_done_to_a_feature_whose_file_cannot_be_read() {
        let offers = offers(&State::new(), &Rules::default(), Some("line 1: expected `{`"));
        assert!(!offers.is_empty());
        for offer in offers {
            let why = offer.leads.unwrap_err().why;
            assert_eq!(why, "its file cannot be read: line 1: expected `{`");
        }
    }
}
