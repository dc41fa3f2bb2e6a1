//! Settings → GitHub: the app that we are, or how to become one.

use askama::Template;
use axum::extract::State;
use tollgate_engine::forge::own_app::{Card, PERMISSIONS, Permission};

use crate::desk::github::AppState;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::settings::{Tab, with_code};
use crate::problem::Problem;
use crate::routes::Shared;

#[derive(Template)]
#[template(path = "settings_github.html")]
pub(crate) struct GithubPage {
    chrome: Chrome,
    tab: Tab,
    state: AppState,
    /// The app, and where it is installed.
    app: Option<(Card, Option<String>)>,
    /// What is wrong, and what to do about it.
    problem: Option<(Markup, Option<Markup>)>,
    permissions: &'static [Permission],
}

/// The page.
pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<GithubPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "GitHub", None).await?;
    let state = app.call(|desk| desk.app_state()).await?;
    let problem = state.problem.as_ref();
    let problem = problem.map(|it| (with_code(&it.message), it.hint.as_deref().map(with_code)));
    let app = state.app.clone().map(|card| (card.clone(), card.install_url()));
    Ok(Page(GithubPage { chrome, tab: Tab::Github, state, app, problem, permissions: &PERMISSIONS }))
}
