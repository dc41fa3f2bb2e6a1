//! `/`: the first steps where there is no project, the board where there is one, all of them where there are several.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use tollgate_core::board::machine::Status;
use tollgate_engine::board::Board;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::{CardFilter, ProjectRow};

use crate::app::Shared;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::problem::Problem;
use crate::view::ProjectBody;

/// The first steps.
#[derive(Template)]
#[template(path = "welcome.html")]
struct WelcomePage {
    chrome: Chrome,
    /// The implementing agent, if one is configured.
    implementer: Option<String>,
    reviewers: Vec<String>,
}

/// All projects.
#[derive(Template)]
#[template(path = "projects.html")]
struct HomePage {
    chrome: Chrome,
    projects: Vec<Row>,
    has_agent: bool,
}

/// A project with the counts of its columns, in the order of the board.
struct Row {
    overview: Overview,
    columns: Vec<(String, u64)>,
}

/// A project at a glance.
pub(crate) struct Overview {
    pub(crate) project: ProjectBody,
    /// The number of features in each column that is not empty, by its status or the name of a step.
    pub(crate) columns: Vec<(String, u64)>,
    /// How many wait for a person.
    pub(crate) n_waiting: u64,
    /// True when it is the demonstration.
    pub(crate) is_demo: bool,
}

impl Overview {
    /// All projects.
    pub(crate) fn read_all(board: &Board) -> Result<Vec<Self>, Failure> {
        board.projects()?.into_iter().map(|row| Self::read(board, row)).collect()
    }

    fn read(board: &Board, row: ProjectRow) -> Result<Self, Failure> {
        let database = board.database();
        let counts = database.column_counts(row.id)?;
        let waiting = CardFilter { needs_person: true, limit: usize::MAX, ..CardFilter::default() };
        // Without the folder of the project, its steps have no names.
        let steps = board.steps(row.id).map_or_else(|_| Vec::new(), |(steps, _)| steps);
        let named = |status: Status| {
            match &status {
                Status::Step(id) => steps.iter().find(|step| step.id == *id).map(|step| step.name.clone()),
                _ => None,
            }
            .unwrap_or_else(|| status.to_string())
        };
        Ok(Self {
            columns: counts.into_iter().map(|(status, n)| (named(status), n as u64)).collect(),
            n_waiting: database.n_cards(row.id, &waiting)? as u64,
            is_demo: board.demo_of(&row).is_some(),
            project: ProjectBody::read(board, row)?,
        })
    }
}

/// The page, or where to go instead.
pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Response, Problem> {
    let chrome = visitor.chrome(&app, Section::Board, "Projects", None).await?;
    match &chrome.projects[..] {
        [] => {
            let settings = app.board.settings();
            let chrome = Chrome { title: "Welcome".to_owned(), ..chrome };
            let reviewers = settings.reviewers.iter().map(|chosen| chosen.name.clone()).collect();
            let implementer = settings.pipeline.agent.clone();
            Ok(Page(WelcomePage { chrome, implementer, reviewers }).into_response())
        }
        [only] => Ok(Redirect::to(&format!("/projects/{}", only.id)).into_response()),
        _ => {
            let overview = app.call(Overview::read_all).await?;
            let projects = overview.into_iter().map(|overview| Row { columns: columns(&overview), overview }).collect();
            let has_agent = app.board.settings().pipeline.agent.is_some();
            Ok(Page(HomePage { chrome, projects, has_agent }).into_response())
        }
    }
}

/// How many features wait for a person.
pub(crate) fn waiting(n: u64) -> String {
    if n == 1 { "1 needs you".to_owned() } else { format!("{} need you", tollgate_core::visible::grouped(n)) }
}

/// The columns that have something in them, in the order of the board and by the names it gives them.
pub(crate) fn columns(overview: &Overview) -> Vec<(String, u64)> {
    const ORDER: [(&str, &str); 6] = [
        ("backlog", "Backlog"),
        ("in_progress", "In progress"),
        ("code_review", "Code review"),
        ("waiting_approval", "Waiting approval"),
        ("verified", "Verified"),
        ("completed", "Completed"),
    ];
    let known = |status: &str| ORDER.iter().position(|(known, _)| *known == status);
    let mut columns: Vec<(usize, String, u64)> = overview
        .columns
        .iter()
        .map(|(status, n)| match known(status) {
            Some(index) => (index, ORDER[index].1.to_owned(), *n),
            // A step of the project's own, which is between the gate and the end.
            None => (3, status.strip_prefix("pipeline_").map_or_else(|| status.clone(), |id| id.replace('_', " ")), *n),
        })
        .collect();
    columns.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    columns.into_iter().map(|(_, name, n)| (name, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_the_order_of_the_board() {
        let project =
            ProjectBody { id: 1, name: String::new(), path: "/x".to_owned(), features: 0, broken: Vec::new() };
        let counts =
            [("verified", 2), ("pipeline_run_tests", 1), ("Check a_b", 1), ("backlog", 7), ("waiting_approval", 3)];
        let columns = counts.map(|(status, n)| (status.to_owned(), n)).to_vec();
        let overview = Overview { project, columns, n_waiting: 0, is_demo: false };
        let words: Vec<String> = self::columns(&overview).iter().map(|(name, n)| format!("{name} {n}")).collect();
        assert_eq!(words.join(", "), "Backlog 7, Check a_b 1, Waiting approval 3, run tests 1, Verified 2");
    }
}
