//! Available actions of a feature: a menu, with the reasons for unavailable ones.

use tollgate_core::board::machine::{self, Action, Status};

use super::cards::Frame;
use super::column::status_name;
use crate::pages::feature::acts::known;
use crate::view::FeatureBody;

/// The menu of available actions.
pub(super) struct Acts {
    /// Where it is, in words.
    pub(super) state: String,
    /// Actions that do not move the card.
    pub(super) own: Vec<Choice>,
    /// Each other column.
    pub(super) moves: Vec<Choice>,
}

/// Something that can be done, or cannot.
pub(super) struct Choice {
    /// The word of the act.
    pub(super) act: &'static str,
    /// The column, for a move.
    pub(super) to: String,
    pub(super) words: String,
    /// What else is to be known: that it asks for words, or why it is not possible.
    pub(super) note: Option<String>,
    pub(super) is_possible: bool,
}

impl Acts {
    pub(super) fn new(feature: &FeatureBody, frame: &Frame) -> Self {
        let (state, rules) = (&feature.state, frame.rules(feature.skip_tests));
        let broken = feature.broken.as_deref();
        let offers = tollgate_engine::board::available_actions(state, &rules, broken);
        let own = offers.iter().filter(|offer| !matches!(offer.action, Action::Move(_)) && offer.target.is_ok());
        let own = own.map(|offer| Choice {
            act: offer.action.as_str(),
            to: String::new(),
            words: words(&offer.action).to_owned(),
            note: note(&offer.action),
            is_possible: true,
        });
        let moved = |status: Status| {
            let way = match broken {
                Some(why) => Err(format!("its file cannot be read: {why}")),
                None => machine::action_towards(&status, state, &rules).map_err(|illegal| illegal.why),
            };
            let (act, note, is_possible) = match way {
                Ok(Action::Move(_)) => (Action::Move(status.clone()).as_str(), None, true),
                Ok(act) => {
                    let note = format!("{} leads there", words(&act).trim_end_matches(" …").to_lowercase());
                    (act.as_str(), Some(note), true)
                }
                Err(why) => ("move", Some(why), false),
            };
            Choice { act, to: status.to_string(), words: status_name(&status, frame), note, is_possible }
        };
        let columns = frame.columns().into_iter().filter(|status| *status != state.status);
        Self { state: state.in_words(), own: own.collect(), moves: columns.map(moved).collect() }
    }
}

/// The label of an action that is no move.
fn words(act: &Action) -> &'static str {
    known(act, false).map_or("Move", |choice| choice.words)
}

fn note(act: &Action) -> Option<String> {
    match act {
        Action::Approve => Some("asks for a reason, which is kept with your name".to_owned()),
        Action::SendBack => Some("asks for a note, which the agent reads first".to_owned()),
        Action::Resume => Some("with more rounds, and a note if you like".to_owned()),
        Action::Start | Action::Stop | Action::Retry | Action::Move(_) => None,
    }
}
