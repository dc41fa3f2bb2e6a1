//! Settings → GitHub: the app that we are, or how to become one.

use askama::Template;
use axum::extract::State;
use tollgate_engine::board::iso;
use tollgate_engine::forge::app_registration::{AppRecord, PERMISSIONS, Permission};
use tollgate_engine::store::pulls::FailingPull;

use crate::app::Shared;
use crate::github_app::AppState;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::settings::{Tab, with_code};
use crate::pages::words;
use crate::problem::Problem;
use crate::routes::github;

#[derive(Template)]
#[template(path = "settings_github.html")]
pub(crate) struct GithubPage {
    chrome: Chrome,
    tab: Tab,
    state: AppState,
    /// The app, and where it is installed.
    app: Option<(AppRecord, Option<String>)>,
    /// The problem, and the remedy.
    problem: Option<(Markup, Option<Markup>)>,
    permissions: &'static [Permission],
    troubled: Vec<TroubledRow>,
}

/// A pull request with which something is the matter.
struct TroubledRow {
    /// Jobs that can be retried.
    job: String,
    name: String,
    /// Where it is at GitHub.
    url: String,
    words: Markup,
    since: String,
    next: Option<String>,
}

impl TroubledRow {
    fn of(one: &FailingPull, site: &str) -> Self {
        Self {
            job: one.job.to_string(),
            name: format!("{}#{}", one.repo, one.number),
            url: format!("{site}/{}/pull/{}", one.repo, one.number),
            words: with_code(&words::sentence(&one.in_words())),
            since: iso(one.since_ms),
            next: one.next_ms.map(iso),
        }
    }
}

pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<GithubPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "GitHub", None).await?;
    let state = github::state(&app).await?;
    let problem = state.problem.as_ref();
    let problem = problem.map(|it| (with_code(&it.message), it.hint.as_deref().map(with_code)));
    let app = state.app.clone().map(|card| (card.clone(), card.install_url()));
    let site = state.app.as_ref().map_or(state.url.as_str(), |card| card.url.as_str());
    let troubled = state.failing.iter().map(|one| TroubledRow::of(one, site)).collect();
    Ok(Page(GithubPage { chrome, tab: Tab::Github, state, app, problem, permissions: &PERMISSIONS, troubled }))
}
