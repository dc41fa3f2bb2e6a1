//! `/`: the first steps where there is no project, the board where there is one, all of them where there are several.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::desk::setup::Overview;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::problem::Problem;
use crate::routes::Shared;

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

/// The page, or where to go instead.
pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Response, Problem> {
    let chrome = visitor.chrome(&app, Section::Board, "Projects", None).await?;
    match &chrome.projects[..] {
        [] => {
            let settings = app.call(|desk| desk.settings()).await?;
            let chrome = Chrome { title: "Welcome".to_owned(), ..chrome };
            let (implementer, reviewers) = (settings.implementer, settings.reviewers);
            Ok(Page(WelcomePage { chrome, implementer, reviewers }).into_response())
        }
        [only] => Ok(Redirect::to(&format!("/projects/{}", only.id)).into_response()),
        _ => {
            let (overview, settings) = app.call(|desk| Ok((desk.overview()?, desk.settings()?))).await?;
            let projects = overview.into_iter().map(|overview| Row { columns: columns(&overview), overview }).collect();
            Ok(Page(HomePage { chrome, projects, has_agent: settings.implementer.is_some() }).into_response())
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
            None => (3, status.trim_start_matches("pipeline_").replace('_', " "), *n),
        })
        .collect();
    columns.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    columns.into_iter().map(|(_, name, n)| (name, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::Project;

    #[test]
    fn columns_are_in_the_order_of_the_board() {
        let project = Project { id: 1, name: String::new(), path: "/x".into(), n_features: 0, broken: Vec::new() };
        let counts = [("verified", 2), ("pipeline_run_tests", 1), ("backlog", 7), ("waiting_approval", 3)];
        let columns = counts.map(|(status, n)| (status.to_owned(), n)).to_vec();
        let overview = Overview { project, columns, n_waiting: 0, is_demo: false };
        let words: Vec<String> = self::columns(&overview).iter().map(|(name, n)| format!("{name} {n}")).collect();
        assert_eq!(words.join(", "), "Backlog 7, Waiting approval 3, run tests 1, Verified 2");
    }
}
