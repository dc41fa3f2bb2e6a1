//! What a person can do to a feature here, and why the rest is not possible now.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{Action, AvailableAction, Status, Work};

use crate::view::FeatureBody;

/// Something that can be done, or cannot now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) struct Choice {
    /// The word for it, which a script knows.
    pub(super) act: &'static str,
    pub(in crate::pages) words: &'static str,
    /// Its effect, in one sentence.
    pub(super) does: &'static str,
    /// The key that does it.
    pub(super) key: &'static str,
    /// The same at a terminal.
    pub(super) command: &'static str,
    /// Why it is not possible now.
    pub(super) why_not: Option<String>,
    /// How its button looks.
    pub(super) look: &'static str,
}

impl Choice {
    /// The command for a feature.
    pub(super) fn at(&self, id: &FeatureId) -> String {
        self.command.replacen("ID", id.as_str(), 1)
    }
}

/// All that a person can do to a feature.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Acts {
    /// Each once, in one order everywhere.
    pub(super) all: Vec<Choice>,
}

impl Acts {
    pub(super) fn new(feature: &FeatureBody, offers: &[AvailableAction]) -> Self {
        let of_machine = offers.iter().filter_map(|offer| {
            let why_not = offer.target.as_ref().err().map(|illegal| illegal.why.clone());
            Some(Choice { why_not, ..known(&offer.action, reviews_again(feature))? })
        });
        let mut all: Vec<Choice> = of_machine.collect();
        all.extend([edit(feature), clean(feature), delete(feature)]);
        Self { all }
    }

    /// The buttons beside the title: the available actions that matter most.
    pub(super) fn first(&self) -> impl Iterator<Item = &Choice> {
        let is_rare = |choice: &&Choice| !["move-backlog", "edit", "clean", "delete"].contains(&choice.act);
        self.all.iter().filter(|choice| choice.why_not.is_none()).filter(is_rare)
    }
}

/// The table of the machine's actions; `None` for a move that has no button.
pub(in crate::pages) fn known(act: &Action, reviews_again: bool) -> Option<Choice> {
    let (words, does, key, command, look) = match act {
        Action::Start => ("Start", "Has an agent work on it.", "", "start ID", "primary"),
        Action::Stop => {
            ("Stop", "Ends the agent and all it started; the work stays in its work tree.", "", "stop ID", "danger")
        }
        Action::Approve => {
            let does = "Approves it against the review. Your reason is recorded.";
            ("Approve anyway …", does, "a", "approve ID --reason TEXT", "")
        }
        Action::SendBack => {
            let does = "Has an agent work on it once more. It reads your note first.";
            ("Send back …", does, "x", "reject ID --note TEXT", "")
        }
        Action::Resume => {
            let does = "Lets it go on with all rounds anew. The agent reads your note first.";
            ("Resume …", does, "", "resume ID --note TEXT", "primary")
        }
        Action::Retry if reviews_again => {
            let does = "Has the same commit reviewed once more, e.g. after you dismissed findings.";
            ("Review again", does, "r", "retry ID", "")
        }
        Action::Retry => ("Retry", "Does once more what failed.", "r", "retry ID", ""),
        Action::Move(Status::Completed) => {
            ("Complete", "You are done with it; its work tree is removed.", "", "move ID completed", "primary")
        }
        Action::Move(Status::Backlog) => {
            ("To the backlog", "Nobody works on it until it is started again.", "", "move ID backlog", "")
        }
        Action::Move(_) => return None,
    };
    let act = match act {
        Action::Move(Status::Completed) => "move-completed",
        Action::Move(_) => "move-backlog",
        act => act.as_str(),
    };
    Some(Choice { act, words, does, key, command, why_not: None, look })
}

/// True when to try again means to review again.
fn reviews_again(feature: &FeatureBody) -> bool {
    use tollgate_core::board::machine::Pause;
    matches!(feature.state.pause, Some(Pause::MaxIterations | Pause::NoProgress))
}

fn edit(feature: &FeatureBody) -> Choice {
    Choice {
        act: "edit",
        words: "Edit …",
        does: "Changes its title, description and settings.",
        key: "e",
        command: "edit ID",
        why_not: feature.broken.as_ref().map(|why| format!("its file cannot be read: {why}")),
        look: "",
    }
}

fn clean(feature: &FeatureBody) -> Choice {
    let why_not = match (feature.state.work, &feature.worktree_path) {
        (Work::Nothing, Some(_)) => None,
        (Work::Nothing, None) => Some("it has no work tree".to_owned()),
        (_, _) => Some(format!("{}; stop it first", feature.state.in_words())),
    };
    Choice {
        act: "clean",
        words: "Remove the work tree …",
        does: "Its branch stays; work that is not committed keeps the work tree there.",
        key: "",
        command: "clean ID",
        why_not,
        look: "danger",
    }
}

fn delete(feature: &FeatureBody) -> Choice {
    let is_busy = feature.state.work != Work::Nothing;
    Choice {
        act: "delete",
        words: "Delete …",
        does: "Takes it off the board; its folder is put aside, its branch and history stay.",
        key: "",
        command: "delete ID",
        why_not: is_busy.then(|| format!("{}; stop it first", feature.state.in_words())),
        look: "danger",
    }
}
