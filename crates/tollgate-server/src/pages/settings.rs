//! Settings: prompts, agents, gate policy, names, GitHub, projects, access.
//!
//! Prompts, projects and the token are changed here, through the API. Everything else is the operator's configuration
//! file, so these pages show effective values, their source, and the lines to write there.

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use tollgate_engine::board::Board;

use crate::app::Shared;
use crate::pages::markup::{Builder, Markup};

mod access;
mod agents;
mod gate;
mod github;
mod identity;
mod projects;
mod prompts;

/// The pages of the settings.
pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/settings", get(|| async { Redirect::to("/settings/prompts") }))
        .route("/settings/prompts", get(prompts::page))
        .route("/settings/agents", get(agents::page))
        .route("/settings/gate", get(gate::page))
        .route("/settings/identity", get(identity::page))
        .route("/settings/projects", get(projects::page))
        .route("/settings/github", get(github::page))
        .route("/settings/access", get(access::page))
}

/// The parts of the settings, with their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    /// What reviewers are told.
    Prompts,
    /// Who implements and reviews.
    Agents,
    /// The gate policy and budgets.
    Gate,
    /// The names of bot and pipeline.
    Identity,
    /// The app that reviews pull requests.
    Github,
    /// The projects of the board.
    Projects,
    /// Authentication.
    Access,
}

impl Tab {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 7] =
        [Self::Prompts, Self::Agents, Self::Gate, Self::Identity, Self::Github, Self::Projects, Self::Access];

    /// Its label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prompts => "Prompts",
            Self::Agents => "Agents",
            Self::Gate => "Gate policy",
            Self::Identity => "Identity",
            Self::Github => "GitHub",
            Self::Projects => "Projects",
            Self::Access => "Access",
        }
    }

    /// Where it is.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Prompts => "/settings/prompts",
            Self::Agents => "/settings/agents",
            Self::Gate => "/settings/gate",
            Self::Identity => "/settings/identity",
            Self::Github => "/settings/github",
            Self::Projects => "/settings/projects",
            Self::Access => "/settings/access",
        }
    }
}

/// The operator's own configuration file, whether it exists or not.
fn config_file(board: &Board) -> Option<String> {
    let folder = board.home().config_dir.as_ref()?;
    Some(folder.join("tollgate/config.toml").display().to_string())
}

/// Where a value comes from, to people.
fn source(source: &str) -> &str {
    if source == "default" { "the default" } else { source }
}

/// A message to people, with names in backticks as code.
fn with_code(text: &str) -> Markup {
    let mut markup = Builder::default();
    let parts: Vec<&str> = text.split('`').collect();
    // The last one of an odd number of backticks opens nothing.
    let n_pairs = (parts.len() - 1) / 2;
    for (index, part) in parts.iter().enumerate() {
        match (index % 2 == 1, index / 2 < n_pairs) {
            (true, true) => markup.tag("<code>").text(part).tag("</code>"),
            (true, false) => markup.text("`").text(part),
            (false, _) => markup.text(part),
        };
    }
    markup.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(with_code(text).0, expected);
    }

    #[test]
    fn backticks_become_code_and_nothing_else_becomes_markup() {
        check("no program `claude` here", "no program <code>claude</code> here");
        check("`a`, `b`", "<code>a</code>, <code>b</code>");
        check("a ` b", "a ` b");
        check("`a` and ` b", "<code>a</code> and ` b");
        check("`<script>`\u{202e}", "<code>&lt;script&gt;</code>\\u{202e}");
        check("", "");
    }
}
