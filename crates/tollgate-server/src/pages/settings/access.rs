//! Settings → Access: authentication, host names, sessions.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;

use crate::app::Shared;
use crate::connections::Connections;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::settings::Tab;
use crate::pages::{Page, words};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "settings_access.html")]
pub(crate) struct AccessPage {
    chrome: Chrome,
    tab: Tab,
    /// Where the token is kept.
    file: Option<String>,
    address: String,
    is_loopback: bool,
    /// Names it answers to, with the port.
    names: Vec<String>,
    n_connections: u64,
    n_listeners: u64,
}

pub(crate) async fn page(
    State(app): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
    visitor: Visitor,
) -> Result<Page<AccessPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "Access", None).await?;
    let port = app.address.port();
    let own = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}"));
    Ok(Page(AccessPage {
        chrome,
        tab: Tab::Access,
        file: app.access.file().map(|file| file.display().to_string()),
        address: app.address.to_string(),
        is_loopback: app.address.ip().is_loopback(),
        names: own.into_iter().chain(app.hosts.iter().cloned()).chain(app.webhook.public().host()).collect(),
        n_connections: connections.count() as u64,
        n_listeners: app.hub.n_open(),
    }))
}
