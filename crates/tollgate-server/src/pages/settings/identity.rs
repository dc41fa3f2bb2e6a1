//! Settings → Identity: whose names stand on commits and comments.

use askama::Template;
use axum::extract::State;
use tollgate_core::board::FeatureId;
use tollgate_core::board::commit::{self, Commit};
use tollgate_engine::board::Board;
use tollgate_engine::config::Settings;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::gate::Author;
use tollgate_engine::forge::project::Project;
use tollgate_engine::store::board::ProjectRow;

use crate::app::Shared;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::settings::{Tab, config_file, source};
use crate::problem::Problem;

/// The most projects whose author is read.
const MAX_AUTHORS: usize = 50;

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

/// The names on commits and comments.
struct Identity {
    /// In the titles of summary comments.
    bot: String,
    /// In commit messages.
    pipeline: String,
    /// The authors of commits, by project.
    authors: Vec<ProjectAuthor>,
    /// An example of a commit message.
    message: String,
}

/// The author of the commits of a project.
struct ProjectAuthor {
    project: String,
    /// `Ada Lovelace <ada@example.com>`, or why git does not know one.
    author: Result<String, String>,
}

impl Identity {
    fn read(board: &Board) -> Result<Self, Failure> {
        let settings = board.settings();
        let rows = board.projects()?.into_iter().take(MAX_AUTHORS);
        let feature = FeatureId::parse("feature-1767968520000-x7k2m9qpa");
        let message = feature.map(|feature| {
            commit::message(&Commit {
                title: "Add login",
                description: "",
                feature: &feature,
                work: commit::Work::Implementation,
                iteration: 2,
                pipeline: &settings.pipeline.name,
                attempt: "41",
            })
        });
        Ok(Self {
            bot: settings.bot.clone(),
            pipeline: settings.pipeline.name.clone(),
            authors: rows.map(|row| ProjectAuthor::read(board, row)).collect(),
            message: message.unwrap_or_default(),
        })
    }
}

impl ProjectAuthor {
    fn read(board: &Board, row: ProjectRow) -> Self {
        let repository = Project::open(&row.path, board.home().git.clone());
        let author = repository.and_then(|repository| Author::of(&repository));
        let author = author.map(|Author { name, email }| format!("{name} <{email}>"));
        Self { project: row.name, author: author.map_err(|failure| failure.message) }
    }
}

pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<IdentityPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "Identity", None).await?;
    let identity = app.call(Identity::read).await?;
    let settings = app.board.settings();
    let (bot_from, pipeline_from) = (from(settings, "identity.bot"), from(settings, "identity.pipeline"));
    let author = identity.authors.iter().find_map(|it| it.author.clone().ok());
    let (tab, file) = (Tab::Identity, config_file(&app.board));
    Ok(Page(IdentityPage { chrome, tab, identity, bot_from, pipeline_from, file, author }))
}

fn from(settings: &Settings, key: &str) -> String {
    let set = settings.shown.iter().rfind(|set| set.key == key);
    source(set.map_or("default", |set| set.source.as_str())).to_owned()
}
