//! Settings → Identity: whose names stand on commits and comments.

use askama::Template;
use axum::extract::State;

use crate::desk::setup::{Identity, Policy};
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::settings::{Tab, source};
use crate::problem::Problem;
use crate::routes::Shared;

#[derive(Template)]
#[template(path = "settings_identity.html")]
pub(crate) struct IdentityPage {
    chrome: Chrome,
    tab: Tab,
    identity: Identity,
    bot_from: String,
    pipeline_from: String,
    file: Option<String>,
    /// Whom a commit names, to show one.
    author: Option<String>,
}

/// The page.
pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<IdentityPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "Identity", None).await?;
    let (identity, policy) = app.call(|desk| Ok((desk.identity()?, desk.policy()?))).await?;
    let (bot_from, pipeline_from) = (from(&policy, "identity.bot"), from(&policy, "identity.pipeline"));
    let author = identity.authors.iter().find_map(|it| it.author.clone().ok());
    let (tab, file) = (Tab::Identity, policy.file);
    Ok(Page(IdentityPage { chrome, tab, identity, bot_from, pipeline_from, file, author }))
}

fn from(policy: &Policy, key: &str) -> String {
    let set = policy.values.iter().rfind(|set| set.key == key);
    source(set.map_or("default", |set| set.source.as_str())).to_owned()
}
