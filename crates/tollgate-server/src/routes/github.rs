//! The app that we are at GitHub: how it stands, and the first step to have one.
//!
//! A person says which GitHub and whose app, here; then looks at what will be asked for, on a page of ours whose form goes
//! to GitHub; and GitHub hands a code back to `/github/callback`, with the name under which it was begun.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use tollgate_engine::config::github::URL;
use tollgate_engine::forge::app_registration::{AppRequest, ExistingApp};
use utoipa::ToSchema;

use crate::app::Shared;
use crate::extract::Body;
use crate::github_app::AppState;
use crate::pending_apps::PendingApp;
use crate::problem::{Kind, Problem};
use crate::webhook::WebhookState;

/// How it stands with the app.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppBody {
    /// True when deliveries of GitHub are taken.
    takes_deliveries: bool,
    /// The number of the app, once there is one.
    id: Option<u64>,
    /// Its name in addresses, which people put behind `@`.
    #[schema(example = "kodiai-3f2a")]
    slug: Option<String>,
    /// Where it is installed in repositories.
    install_url: Option<String>,
    /// The reason why it cannot be used.
    problem: Option<String>,
}

/// How it stands with the app that the server is at GitHub.
#[utoipa::path(
    get,
    path = "/api/github",
    operation_id = "showGithub",
    responses((status = 200, description = "How it stands.", body = AppBody))
)]
pub(crate) async fn show(State(app): State<Shared>) -> Result<Json<AppBody>, Problem> {
    let state = state(&app).await?;
    Ok(Json(AppBody {
        takes_deliveries: state.is_ready,
        id: state.app.as_ref().map(|card| card.id),
        install_url: state.app.as_ref().and_then(|card| card.install_url()),
        slug: state.app.and_then(|card| card.slug),
        problem: state.problem.map(|failure| failure.message),
    }))
}

pub(crate) async fn state(app: &Shared) -> Result<AppState, Problem> {
    let (organization, is_ready) = (app.organization.clone(), matches!(app.webhook.get(), WebhookState::Ready(_)));
    app.call(move |board| AppState::read(board, organization, is_ready)).await
}

/// An app to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSetup {
    /// Where GitHub reaches this server.
    #[schema(max_length = 500, pattern = r"^https://[a-z0-9.-]+$", example = "https://tollgate.example")]
    public_url: String,
    /// The organization whose app it is to be; missing means the person's own.
    #[schema(max_length = 39, pattern = "^[A-Za-z0-9][A-Za-z0-9-]*$", example = "acme")]
    organization: Option<String>,
    /// Which GitHub, if not `https://github.com`.
    #[schema(max_length = 500, pattern = r"^https://[a-z0-9.-]+$", example = "https://github.com")]
    github_url: Option<String>,
    /// True to put an app aside that is kept already.
    #[serde(default)]
    replace: bool,
}

/// An app that is about to be made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SetupBody {
    /// The page whose form goes to GitHub; good for ten minutes and one app.
    #[schema(example = "/github/setup/b5c1v0…")]
    page: String,
}

/// Begins to make an app. Nothing is asked of GitHub yet.
#[utoipa::path(
    post,
    path = "/api/github/setup",
    operation_id = "beginGithubSetup",
    request_body = NewSetup,
    responses((status = 201, description = "A page leads on.", body = SetupBody, headers(("location" = String))))
)]
pub(crate) async fn begin(
    State(app): State<Shared>,
    headers: HeaderMap,
    Body(new): Body<NewSetup>,
) -> Result<Response, Problem> {
    let wish =
        AppRequest::parse(new.github_url.as_deref().unwrap_or(URL), &new.public_url, new.organization.as_deref())
            .map_err(|wrong| Problem::new(Kind::Unprocessable, wrong.to_string()))?;
    let state = state(&app).await?;
    if (state.app.is_some() || state.problem.is_some()) && !new.replace {
        return Err(Problem::new(Kind::Conflict, "an app is set up already").hint("`replace` puts it aside."));
    }
    let earlier = if new.replace { ExistingApp::Replace } else { ExistingApp::Keep };
    let name = app.pending.begin(PendingApp { wish, earlier, from: origin(&headers) })?;
    let page = format!("/github/setup/{name}");
    Ok((StatusCode::CREATED, [(header::LOCATION, page.clone())], Json(SetupBody { page })).into_response())
}

/// Where the browser reaches us. Both headers were checked to be ours.
fn origin(headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let host = || format!("http://{}", text(header::HOST).unwrap_or_default());
    text(header::ORIGIN).map_or_else(host, str::to_owned)
}
