//! The columns of a board, and the lanes in them.

use std::fmt;

use tollgate_core::board::machine::Status;
use tollgate_core::visible::grouped;
use tollgate_engine::store::board::Lane;

use super::AT_ONCE;
use super::card::CardView;
use super::query::{Search, encoded};
use crate::desk::ProjectId;
use crate::desk::cards::{Frame, Place};

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
        place: &Place,
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
            Place::Column(status) => status.to_string(),
            Place::Gate(_) => Status::CodeReview.to_string(),
            Place::Elsewhere => String::new(),
        };
        let is_busy = matches!(place, Place::Column(Status::InProgress | Status::Step(_)));
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
        place: &Place,
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
                Place::Gate(lane) => lane_name(*lane),
                Place::Column(_) | Place::Elsewhere => "",
            },
            is_recent: matches!(place, Place::Column(Status::WaitingApproval | Status::Verified | Status::Completed)),
            empty: if search.is_narrow() { "Nothing here fits." } else { empty(place) },
            slug,
            total,
            cards,
            more,
        }
    }
}

/// A place as it stands in addresses.
pub(super) struct Slug<'a>(pub(super) &'a Place);

impl fmt::Display for Slug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Column(status) => status.fmt(f),
            Place::Gate(Lane::Running) => f.write_str("code_review.running"),
            Place::Gate(Lane::NeedsYou) => f.write_str("code_review.needs_you"),
            Place::Gate(Lane::Queued) => f.write_str("code_review.queued"),
            Place::Elsewhere => f.write_str("elsewhere"),
        }
    }
}

impl Slug<'_> {
    /// Reads the name of a place; words of other programs name none.
    pub(super) fn parse(slug: &str) -> Option<Place> {
        let others =
            [Place::Gate(Lane::Running), Place::Gate(Lane::NeedsYou), Place::Gate(Lane::Queued), Place::Elsewhere];
        if let Some(place) = others.into_iter().find(|place| Slug(place).to_string() == slug) {
            return Some(place);
        }
        match Status::parse(slug) {
            Status::Other(_) => None,
            status => Some(Place::Column(status)),
        }
    }
}

/// The columns that are shown: all, or the one that is asked for.
pub(super) fn wanted(frame: &Frame, search: &Search, counts: &[(Status, Lane, u64)]) -> Vec<Place> {
    if let Some(only) = &search.only {
        return vec![only.clone()];
    }
    let columns = frame.columns();
    let has_others = counts.iter().any(|(status, _, _)| !columns.contains(status));
    let elsewhere = has_others.then_some(Place::Elsewhere);
    columns.into_iter().map(Place::Column).chain(elsewhere).collect()
}

/// The lanes of a column; itself if it has none.
pub(super) fn lanes(place: &Place) -> Vec<Place> {
    match place {
        Place::Column(Status::CodeReview) => GATE.map(Place::Gate).to_vec(),
        Place::Column(_) | Place::Gate(_) | Place::Elsewhere => vec![place.clone()],
    }
}

/// The lanes at the gate, in order.
const GATE: [Lane; 3] = [Lane::Running, Lane::NeedsYou, Lane::Queued];

/// All places that have cards.
pub(super) fn places(columns: &[Status]) -> impl Iterator<Item = Place> {
    columns.iter().flat_map(|status| lanes(&Place::Column(status.clone())))
}

/// True when features of this status and lane are in this place.
pub(super) fn is_in(place: &Place, status: &Status, lane: Lane, columns: &[Status]) -> bool {
    match place {
        Place::Column(of) => of == status,
        Place::Gate(of) => *status == Status::CodeReview && *of == lane,
        Place::Elsewhere => !columns.contains(status),
    }
}

/// Finished features are collapsed.
pub(super) fn is_folded(place: &Place, search: &Search) -> bool {
    *place == Place::Column(Status::Completed) && !search.is_narrow()
}

/// Columns to choose one from: names in addresses, and to people.
pub(super) fn choices(frame: &Frame) -> Vec<(String, String)> {
    let columns = frame.columns().into_iter().map(Place::Column);
    columns.map(|place| (Slug(&place).to_string(), name(&place, frame))).collect()
}

/// The name of a place to people.
pub(super) fn name(place: &Place, frame: &Frame) -> String {
    match place {
        Place::Column(status) => status_name(status, frame),
        Place::Gate(lane) => format!("Code review: {}", lane_name(*lane).to_lowercase()),
        Place::Elsewhere => "Elsewhere".to_owned(),
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

fn empty(place: &Place) -> &'static str {
    match place {
        Place::Column(Status::Backlog) => "What is to be done later. Press n to add a feature.",
        Place::Column(Status::InProgress) => "What agents work on. Drag a card here, or press . on it, to start it.",
        Place::Column(Status::CodeReview) | Place::Gate(Lane::Running) => "Nothing is being reviewed.",
        Place::Gate(Lane::NeedsYou) => "Nothing waits for you.",
        Place::Gate(Lane::Queued) => "Nothing waits for its turn.",
        Place::Column(Status::Step(_)) => "What passed the gate and is at this step of yours.",
        Place::Column(Status::WaitingApproval) => "What passed the gate comes here, for you to look at.",
        Place::Column(Status::Verified) => "What passed the gate with tests comes here.",
        Place::Column(Status::Completed) => "What is done.",
        Place::Column(Status::Other(_)) | Place::Elsewhere => "Nothing.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        let frame = Frame::default();
        for place in places(&frame.columns()).chain([Place::Column(Status::CodeReview), Place::Elsewhere]) {
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
                let all = places(&columns).chain([Place::Elsewhere]);
                let n_places = all.filter(|place| is_in(place, &status, lane, &columns)).count();
                assert_eq!(n_places, 1, "{status} {lane:?}");
            }
        }
    }
}
