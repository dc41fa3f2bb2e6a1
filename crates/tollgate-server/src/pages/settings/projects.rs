//! Settings → Projects: the projects of the board.

use askama::Template;
use axum::extract::State;

use crate::app::Shared;
use crate::pages::home::Overview;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::settings::Tab;
use crate::pages::{Page, home, words};
use crate::problem::Problem;

/// Broken features that are named; more are only counted.
const MAX_BROKEN: usize = 20;

#[derive(Template)]
#[template(path = "settings_projects.html")]
pub(crate) struct ProjectsPage {
    chrome: Chrome,
    tab: Tab,
    projects: Vec<Overview>,
    has_demo: bool,
    max_broken: usize,
}

pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<ProjectsPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "Projects", None).await?;
    let projects = app.call(Overview::read_all).await?;
    let has_demo = projects.iter().any(|overview| overview.is_demo);
    Ok(Page(ProjectsPage { chrome, tab: Tab::Projects, projects, has_demo, max_broken: MAX_BROKEN }))
}
