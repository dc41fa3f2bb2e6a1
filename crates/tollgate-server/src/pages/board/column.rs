//! The columns of a board, and the lanes in them.

use std::fmt;

use tollgate_core::board::machine::Status;
use tollgate_core::visible::grouped;
use tollgate_engine::store::board::Lane;

use super::AT_ONCE;
use super::card::CardView;
use super::cards::{BoardPlace, Frame};
use super::query::{Search, encoded};
use crate::app::ProjectId;

/// A column, as it is shown.
pub(super) struct Column {
    /// Its name in addresses.
    pub(super) slug: String,
    /// Its name to people.
    pub(super) name: String,
    /// Where features go from here by a drop: the word of the status, if there is one.
    pub(super) status: String,
    pub(super) total: u64,
    /// How many wait for a person, where that is not the meaning of the column.
    pub(super) n_waiting: Option<u64>,
    /// True when its cards are collapsed.
    pub(super) is_folded: bool,
    /// The board with nothing but this column.
    pub(super) href: String,
    pub(super) lanes: Vec<LaneView>,
}

/// A lane of a column, as it is shown; a column without lanes has one without a name.
pub(super) struct LaneView {
    pub(super) slug: String,
    pub(super) name: &'static str,
    pub(super) total: u64,
    pub(super) cards: Vec<CardView>,
    /// True when the newest card comes first.
    pub(super) is_recent: bool,
    /// What to say when nothing is there.
    pub(super) empty: &'static str,
    pub(super) more: Option<More>,
}

/// The rest of a lane.
pub(super) struct More {
    /// What to press, in words.
    pub(super) words: String,
    /// A page with it.
    pub(super) href: String,
    /// The cards alone.
    pub(super) fragment: String,
}

impl Column {
    pub(super) fn new(
        project: ProjectId,
        place: &BoardPlace,
        frame: &Frame,
        search: &Search,
        lanes: Vec<LaneView>,
        n_waiting: u64,
        is_folded: bool,
    ) -> Self {
        let slug = Slug(place).to_string();
        let mut pairs = search.pairs();
        pairs.push(("status", slug.clone()));
        let status = match place {
            BoardPlace::Column(status) => status.to_string(),
            BoardPlace::Gate(_) => Status::CodeReview.to_string(),
            BoardPlace::Elsewhere => String::new(),
        };
        let is_busy = matches!(place, BoardPlace::Column(Status::InProgress | Status::Step(_)));
        Self {
            name: name(place, frame),
            total: lanes.iter().map(|lane| lane.total).sum(),
            n_waiting: is_busy.then_some(n_waiting),
            href: format!("/projects/{project}{}", encoded(&pairs)),
            is_folded,
            slug,
            status,
            lanes,
        }
    }
}

impl LaneView {
    pub(super) fn new(
        project: ProjectId,
        place: &BoardPlace,
        search: &Search,
        cards: Vec<CardView>,
        shown: usize,
        total: u64,
    ) -> Self {
        let slug = Slug(place).to_string();
        let left = total.saturating_sub(shown as u64);
        let more = cards.last().filter(|_| left > 0).map(|last| {
            let mut pairs = search.pairs();
            pairs.extend([("after", last.id.clone()), ("n", shown.to_string())]);
            let fragment = format!("/projects/{project}/columns/{slug}{}", encoded(&pairs));
            pairs.push(("status", slug.clone()));
            let href = format!("/projects/{project}{}", encoded(&pairs));
            let words = format!("Show {} more of {}", left.min(AT_ONCE as u64), grouped(total));
            More { words, href, fragment }
        });
        Self {
            name: match place {
                BoardPlace::Gate(lane) => lane_name(*lane),
                BoardPlace::Column(_) | BoardPlace::Elsewhere => "",
            },
            is_recent: matches!(
                place,
                BoardPlace::Column(Status::WaitingApproval | Status::Verified | Status::Completed)
            ),
            empty: if search.is_narrow() { "No matches." } else { empty(place) },
            slug,
            total,
            cards,
            more,
        }
    }
}

/// A place as it stands in addresses.
pub(super) struct Slug<'a>(pub(super) &'a BoardPlace);

impl fmt::Display for Slug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            BoardPlace::Column(status) => status.fmt(f),
            BoardPlace::Gate(Lane::Running) => f.write_str("code_review.running"),
            BoardPlace::Gate(Lane::NeedsYou) => f.write_str("code_review.needs_you"),
            BoardPlace::Gate(Lane::Queued) => f.write_str("code_review.queued"),
            BoardPlace::Elsewhere => f.write_str("elsewhere"),
        }
    }
}

impl Slug<'_> {
    /// Reads the name of a place; words of other programs name none.
    pub(super) fn parse(slug: &str) -> Option<BoardPlace> {
        let others = [
            BoardPlace::Gate(Lane::Running),
            BoardPlace::Gate(Lane::NeedsYou),
            BoardPlace::Gate(Lane::Queued),
            BoardPlace::Elsewhere,
        ];
        if let Some(place) = others.into_iter().find(|place| Slug(place).to_string() == slug) {
            return Some(place);
        }
        match Status::parse(slug) {
            Status::Other(_) => None,
            status => Some(BoardPlace::Column(status)),
        }
    }
}

/// The columns that are shown: all, or the one that is asked for.
pub(super) fn wanted(frame: &Frame, search: &Search, counts: &[(Status, Lane, u64)]) -> Vec<BoardPlace> {
    if let Some(only) = &search.only {
        return vec![only.clone()];
    }
    let columns = frame.columns();
    let has_others = counts.iter().any(|(status, _, _)| !columns.contains(status));
    let elsewhere = has_others.then_some(BoardPlace::Elsewhere);
    columns.into_iter().map(BoardPlace::Column).chain(elsewhere).collect()
}

/// The lanes of a column; itself if it has none.
pub(super) fn lanes(place: &BoardPlace) -> Vec<BoardPlace> {
    match place {
        BoardPlace::Column(Status::CodeReview) => GATE.map(BoardPlace::Gate).to_vec(),
        BoardPlace::Column(_) | BoardPlace::Gate(_) | BoardPlace::Elsewhere => vec![place.clone()],
    }
}

/// The lanes at the gate, in order.
const GATE: [Lane; 3] = [Lane::Running, Lane::NeedsYou, Lane::Queued];

/// All places that have cards.
pub(super) fn places(columns: &[Status]) -> impl Iterator<Item = BoardPlace> {
    columns.iter().flat_map(|status| lanes(&BoardPlace::Column(status.clone())))
}

/// True when features of this status and lane are in this place.
pub(super) fn is_in(place: &BoardPlace, status: &Status, lane: Lane, columns: &[Status]) -> bool {
    match place {
        BoardPlace::Column(of) => of == status,
        BoardPlace::Gate(of) => *status == Status::CodeReview && *of == lane,
        BoardPlace::Elsewhere => !columns.contains(status),
    }
}

/// Finished features are collapsed.
pub(super) fn is_folded(place: &BoardPlace, search: &Search) -> bool {
    *place == BoardPlace::Column(Status::Completed) && !search.is_narrow()
}

/// Columns to choose one from: names in addresses, and to people.
pub(super) fn choices(frame: &Frame) -> Vec<(String, String)> {
    let columns = frame.columns().into_iter().map(BoardPlace::Column);
    columns.map(|place| (Slug(&place).to_string(), name(&place, frame))).collect()
}

/// The name of a place to people.
pub(super) fn name(place: &BoardPlace, frame: &Frame) -> String {
    match place {
        BoardPlace::Column(status) => status_name(status, frame),
        BoardPlace::Gate(lane) => format!("Code review: {}", lane_name(*lane).to_lowercase()),
        BoardPlace::Elsewhere => "Elsewhere".to_owned(),
    }
}

/// The name of a column to people.
pub(super) fn status_name(status: &Status, frame: &Frame) -> String {
    match status {
        Status::Backlog => "Backlog".to_owned(),
        Status::InProgress => "In progress".to_owned(),
        Status::CodeReview => "Code review".to_owned(),
        Status::Step(id) => {
            let known = frame.steps.iter().find(|step| step.id == *id);
            known.map_or_else(|| format!("Step {id}"), |step| step.name.clone())
        }
        Status::WaitingApproval => "Waiting approval".to_owned(),
        Status::Verified => "Verified".to_owned(),
        Status::Completed => "Completed".to_owned(),
        Status::Other(word) => word.clone(),
    }
}

fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Running => "Running",
        Lane::NeedsYou => "Needs you",
        Lane::Queued => "Queued",
    }
}

fn empty(place: &BoardPlace) -> &'static str {
    match place {
        BoardPlace::Column(Status::Backlog) => "What is to be done later. Press n to add a feature.",
        BoardPlace::Column(Status::InProgress) => {
            "What agents work on. Drag a card here, or press . on it, to start it."
        }
        BoardPlace::Column(Status::CodeReview) | BoardPlace::Gate(Lane::Running) => "Nothing is being reviewed.",
        BoardPlace::Gate(Lane::NeedsYou) => "No review waits for you.",
        BoardPlace::Gate(Lane::Queued) => "Nothing waits for its turn.",
        BoardPlace::Column(Status::Step(_)) => "What passed the gate and is at this step of yours.",
        BoardPlace::Column(Status::WaitingApproval) => "What passed the gate comes here, for you to look at.",
        BoardPlace::Column(Status::Verified) => "What passed the gate with tests comes here.",
        BoardPlace::Column(Status::Completed) => "What is done.",
        BoardPlace::Column(Status::Other(_)) | BoardPlace::Elsewhere => "Nothing.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        let frame = Frame::default();
        for place in places(&frame.columns()).chain([BoardPlace::Column(Status::CodeReview), BoardPlace::Elsewhere]) {
            assert_eq!(Slug::parse(&Slug(&place).to_string()), Some(place));
        }
        assert_eq!(
            Slug::parse("pipeline_docs").map(|place| Slug(&place).to_string()).as_deref(),
            Some("pipeline_docs")
        );
        for nowhere in ["", "done", "code_review.", "<script>"] {
            assert_eq!(Slug::parse(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn every_feature_is_in_one_place() {
        let columns = Frame::default().columns();
        let statuses = ["backlog", "in_progress", "code_review", "pipeline_gone", "verified", "interrupted"];
        for status in statuses.map(Status::parse) {
            for lane in GATE {
                let all = places(&columns).chain([BoardPlace::Elsewhere]);
                let n_places = all.filter(|place| is_in(place, &status, lane, &columns)).count();
                assert_eq!(n_places, 1, "{status} {lane:?}");
            }
        }
    }
}
