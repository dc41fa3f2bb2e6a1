//! The board of a project: its features as cards, in the columns of their way through the gate.
//!
//! At most [`AT_ONCE`] cards stand in a column or lane; the rest is loaded on demand. The search is part of the address,
//! so that a board can be kept and sent. On an event the script asks for one card with the counts of all columns.
//!
//! ```text
//! GET /projects/1?q=login&priority=1            the page
//! GET /projects/1/board?q=login&priority=1      its columns
//! GET /projects/1/columns/backlog?after=ID      more of one
//! GET /projects/1/features/ID/card              one card, and how many there are everywhere
//! GET /projects/1/features/ID/acts              its available actions
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use askama::Template;
use axum::extract::{Path, State};
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Status;
use tollgate_core::visible::grouped;
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::Lane;

use crate::app::{ProjectId, Shared};
use crate::extract::{InProject, OfFeature, Query};
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::{Page, words};
use crate::problem::{self, Problem};
use crate::view::{BrokenBody, FeatureBody};

mod acts;
mod card;
mod cards;
mod column;
mod query;

use acts::Acts;
use card::CardView;
use cards::{BoardPlace, Frame, LaneCount};
use column::{Column, Slug};
use query::{Asked, Search};

/// The most cards of a column or lane that are shown at once.
const AT_ONCE: usize = 50;

#[derive(Template)]
#[template(path = "board.html")]
pub(crate) struct BoardPage {
    chrome: Chrome,
    board: BoardView,
    /// True when no implementing agent is configured.
    has_no_agent: bool,
    notes: Vec<String>,
    categories: Vec<String>,
    /// The columns to choose from.
    choices: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "board_columns.html")]
pub(crate) struct BoardFragment {
    board: BoardView,
}

/// The columns of a board, as they are shown.
struct BoardView {
    project: ProjectId,
    search: Search,
    columns: Vec<Column>,
    broken: Vec<BrokenBody>,
    /// How many features fit.
    n_fitting: u64,
    /// How many there are.
    n_all: u64,
}

#[derive(Template)]
#[template(path = "board_part.html")]
pub(crate) struct PartFragment {
    lane: column::LaneView,
}

#[derive(Template)]
#[template(path = "board_one.html")]
pub(crate) struct CardFragment {
    card: Option<CardView>,
    /// How many features fit, in each place.
    counts: Vec<(String, u64)>,
    /// How many of a column wait for a person.
    waiting: Vec<(String, u64)>,
    n_fitting: u64,
    /// The same in words.
    found: String,
}

#[derive(Template)]
#[template(path = "board_acts.html")]
pub(crate) struct ActsFragment {
    acts: Acts,
}

/// The board.
pub(crate) async fn page(
    State(app): State<Shared>,
    visitor: Visitor,
    InProject(project): InProject,
    Query(asked): Query<Asked>,
) -> Result<Page<BoardPage>, Problem> {
    let search = asked.check()?;
    let chrome = visitor.chrome(&app, Section::Board, "Board", Some(project)).await?;
    let (board, frame) = app.call(move |board| read(board, project, search)).await?;
    let chrome = Chrome { title: format!("{} board", frame.name), ..chrome };
    Ok(Page(BoardPage {
        chrome,
        has_no_agent: frame.implementer.is_none(),
        choices: column::choices(&frame),
        categories: frame.categories,
        notes: frame.notes,
        board,
    }))
}

/// The columns alone.
pub(crate) async fn columns(
    State(app): State<Shared>,
    InProject(project): InProject,
    Query(asked): Query<Asked>,
) -> Result<Page<BoardFragment>, Problem> {
    let search = asked.check()?;
    let (board, _) = app.call(move |board| read(board, project, search)).await?;
    Ok(Page(BoardFragment { board }))
}

/// More of a column or lane.
pub(crate) async fn part(
    State(app): State<Shared>,
    InProject(project): InProject,
    Path(names): Path<std::collections::HashMap<String, String>>,
    Query(asked): Query<Asked>,
) -> Result<Page<PartFragment>, Problem> {
    let search = asked.check()?;
    let place = names.get("place").and_then(|slug| Slug::parse(slug)).ok_or_else(problem::no_such_path)?;
    let lane = app
        .call(move |board| {
            let frame = Frame::read(board, project)?;
            let counts = search.wanted.lane_counts(board, project)?;
            let columns = frame.columns();
            let total = counts.iter().filter(|(status, lane, _)| column::is_in(&place, status, *lane, &columns));
            let total = total.map(|(_, _, n)| n).sum();
            let Reading { cards, shown } = Reading::of(board, project, &search, &place, &frame)?;
            Ok::<_, Refused>(column::LaneView::new(project, &place, &search, cards, shown, total))
        })
        .await?;
    Ok(Page(PartFragment { lane }))
}

/// One card, if it exists and matches the filter.
pub(crate) async fn card(
    State(app): State<Shared>,
    OfFeature(project, feature): OfFeature,
    Query(asked): Query<Asked>,
) -> Result<Page<CardFragment>, Problem> {
    let search = asked.check()?;
    let fragment = app
        .call(move |board| {
            let frame = Frame::read(board, project)?;
            let card = search.wanted.card(board, project, &feature)?;
            let counts = search.wanted.lane_counts(board, project)?;
            let card = card.map(|card| CardView::new(project, card, &frame, now_ms()));
            let columns = frame.columns();
            let of = |place: BoardPlace| {
                let fitting = counts.iter().filter(|(status, lane, _)| column::is_in(&place, status, *lane, &columns));
                (Slug(&place).to_string(), fitting.map(|(_, _, n)| n).sum())
            };
            let places =
                column::places(&columns).chain([BoardPlace::Column(Status::CodeReview), BoardPlace::Elsewhere]);
            let n_fitting = n_fitting(&counts, &search, &columns);
            Ok::<_, Refused>(CardFragment {
                card,
                n_fitting,
                found: found(n_fitting, n_all(board, project, &search, n_fitting)?, &search),
                waiting: columns.iter().map(|status| (status.to_string(), waiting(status, &counts))).collect(),
                counts: places.map(of).collect(),
            })
        })
        .await?;
    Ok(Page(fragment))
}

/// The available actions of a feature.
pub(crate) async fn acts(
    State(app): State<Shared>,
    OfFeature(project, feature): OfFeature,
) -> Result<Page<ActsFragment>, Problem> {
    let acts = app
        .call(move |board| {
            let (frame, feature) = (Frame::read(board, project)?, FeatureBody::read(board, project, &feature)?);
            Ok::<_, Refused>(Acts::new(&feature, &frame))
        })
        .await?;
    Ok(Page(ActsFragment { acts }))
}

/// Reads the columns of a board.
fn read(board: &Board, project: ProjectId, search: Search) -> Result<(BoardView, Frame), Refused> {
    let frame = Frame::read(board, project)?;
    let counts = search.wanted.lane_counts(board, project)?;
    let columns = frame.columns();
    let n_fitting = n_fitting(&counts, &search, &columns);
    let n_all = n_all(board, project, &search, n_fitting)?;
    let mut shown = Vec::new();
    for place in column::wanted(&frame, &search, &counts) {
        let fitting = |lane: &BoardPlace| {
            let fitting = counts.iter().filter(|(status, of, _)| column::is_in(lane, status, *of, &columns));
            fitting.map(|(_, _, n)| n).sum::<u64>()
        };
        let is_folded = column::is_folded(&place, &search);
        let mut lanes = Vec::new();
        for lane in column::lanes(&place) {
            let total = fitting(&lane);
            let reading = if is_folded || total == 0 {
                Reading::default()
            } else {
                Reading::of(board, project, &search, &lane, &frame)?
            };
            lanes.push(column::LaneView::new(project, &lane, &search, reading.cards, reading.shown, total));
        }
        let n_waiting = match &place {
            BoardPlace::Column(status) => waiting(status, &counts),
            BoardPlace::Gate(_) | BoardPlace::Elsewhere => 0,
        };
        shown.push(Column::new(project, &place, &frame, &search, lanes, n_waiting, is_folded));
    }
    // What cannot be read fits no question.
    let broken = if search.is_narrow() { Vec::new() } else { frame.broken.clone() };
    Ok((BoardView { project, search, columns: shown, broken, n_fitting, n_all }, frame))
}

/// The number of features of a column without a running job.
fn waiting(status: &Status, counts: &[LaneCount]) -> u64 {
    let waits = |(of, lane, _): &&LaneCount| of == status && *lane == Lane::NeedsYou;
    counts.iter().filter(waits).map(|(_, _, n)| n).sum()
}

/// Cards of a place, and how many came before and with them.
#[derive(Default)]
struct Reading {
    cards: Vec<CardView>,
    shown: usize,
}

impl Reading {
    fn of(
        board: &Board,
        project: ProjectId,
        search: &Search,
        place: &BoardPlace,
        frame: &Frame,
    ) -> Result<Self, Refused> {
        let part = (AT_ONCE, search.after.clone());
        let now = now_ms();
        let cards = search.wanted.cards(board, project, place, frame.columns(), part)?;
        let cards: Vec<CardView> = cards.into_iter().map(|card| CardView::new(project, card, frame, now)).collect();
        Ok(Self { shown: search.n_before + cards.len(), cards })
    }
}

impl BoardView {
    /// Those of the folders that cannot be read that are shown.
    fn broken_shown(&self) -> &[BrokenBody] {
        &self.broken[..self.broken.len().min(AT_ONCE)]
    }

    /// The result of the search, in words.
    fn found(&self) -> String {
        found(self.n_fitting, self.n_all, &self.search)
    }
}

/// How many features fit, in the places that are looked at.
fn n_fitting(counts: &[LaneCount], search: &Search, columns: &[Status]) -> u64 {
    let is_looked_at = |(status, lane, _): &&LaneCount| {
        search.only.as_ref().is_none_or(|place| column::is_in(place, status, *lane, columns))
    };
    counts.iter().filter(is_looked_at).map(|(_, _, n)| n).sum()
}

/// How many features there are, whether they fit or not.
fn n_all(board: &Board, project: ProjectId, search: &Search, n_fitting: u64) -> Result<u64, Failure> {
    if !search.is_narrow() {
        return Ok(n_fitting);
    }
    Ok(board.database().column_counts(project)?.iter().map(|(_, n)| *n as u64).sum())
}

/// The result of the search, in words.
fn found(n_fitting: u64, n_all: u64, search: &Search) -> String {
    let all = words::count(n_all, "feature");
    if search.is_narrow() { format!("{} of {all} match", grouped(n_fitting)) } else { all }
}

/// Milliseconds of Unix time.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The page of a feature.
fn feature_href(project: ProjectId, feature: &FeatureId) -> String {
    format!("/projects/{project}/features/{feature}")
}

#[cfg(test)]
mod tests;
