//! `tollgate github`: the GitHub App of this server.
//!
//! Creating the app needs a browser, because its owner confirms it on GitHub; a temporary server runs until then. A
//! running `tollgate serve` picks up the app by itself.

use std::fmt::Write as _;

use serde_json::json;
use tollgate_core::visible::visible;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::app_registration::{self, RegisteredApp};
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::FailingPull;

use super::history::{timestamp, when};
use super::rules::DataFormat;
use super::{CliContext, Exit, StoreArgs, board, output, store_args};

mod setup;

/// The most failing pull requests that are listed.
const MAX_TROUBLED: usize = 50;

/// Create the GitHub App that reviews pull requests, and show its status
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate github setup --public-url https://tollgate.example             an app of your account\n  \
    tollgate github setup --public-url https://tollgate.example --org acme  an app of an organization\n  \
    tollgate github status\n\n\
    `tollgate serve` then receives webhook deliveries at https://tollgate.example/webhooks/github.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create the GitHub App in a browser
    ///
    /// Example: `tollgate github setup --public-url https://tollgate.example --org acme`
    Setup(setup::Args),
    /// Show the configured app, missing settings and failing pull requests
    ///
    /// Example: `tollgate github status --format json`
    Status {
        /// The output format
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Setup(setup) => setup::run(context, setup, &args.store),
        Command::Status { format } => status(context, &args.store, format),
    }
}

/// Prints the configured app and failing pull requests, without network access.
fn status(context: &CliContext, store: &StoreArgs, format: DataFormat) -> Result<Exit, Failure> {
    let settings = context.settings(None, Layer::default())?;
    let data = board::data_folder(context, &settings, store)?;
    let found = app_registration::find(&settings.github, &data, &CliContext::variables())?;
    let check = settings.github.check_name(&settings.bot);
    let location = store_args::location(context, &settings, store)?;
    // Before the first delivery there may be no database, and a status query does not create one.
    let troubled = if store_args::may_exist(&location) {
        Database::open_at(&location)?.failing_pulls(MAX_TROUBLED)?
    } else {
        Vec::new()
    };
    let text = match (format, &found) {
        (DataFormat::Json, found) => as_json(found.as_ref(), &check, &troubled),
        (DataFormat::Text, Some(app)) => as_text(app, &check, &troubled),
        (DataFormat::Text, None) => {
            output::say("no GitHub App is set up; `tollgate github setup` creates one");
            return Ok(Exit::Negative);
        }
    };
    output::print(&text)?;
    Ok(if found.is_some() { Exit::Success } else { Exit::Negative })
}

fn as_text(app: &RegisteredApp, check: &str, troubled: &[FailingPull]) -> String {
    let card = &app.card;
    let mut text = format!("app      {} at {}\n", card.id, card.url);
    let mut line = |name: &str, value: &str| _ = writeln!(text, "{name:<8} {value}");
    line("name", &card.slug.as_ref().map_or("unknown".to_owned(), |slug| format!("@{slug}")));
    line("check", check);
    line("key", &app.key_file.display().to_string());
    line("secret", &app.secret_from);
    if let Some(url) = &card.public_url {
        line("hook", &format!("{url}/webhooks/github"));
    }
    if let Some(url) = card.install_url() {
        line("install", &url);
    }
    if app_registration::is_open_to_others(&app.key_file) {
        line("warning", "the key is readable by other users; run `chmod 600` on its file");
    }
    for one in troubled {
        let next = one.next_ms.map_or("no automatic retry".to_owned(), |next| format!("next retry {}", when(next)));
        let words = visible(&one.in_words()).into_owned();
        line("trouble", &format!("{}#{}: {words} (since {}, {next})", one.repo, one.number, when(one.since_ms)));
    }
    text
}

fn as_json(app: Option<&RegisteredApp>, check: &str, troubled: &[FailingPull]) -> String {
    let trouble = |one: &FailingPull| {
        json!({
            "repository": one.repo.to_string(),
            "number": one.number,
            "problem": one.in_words(),
            "since": timestamp(one.since_ms),
            "next": one.next_ms.and_then(timestamp),
        })
    };
    let value = match app {
        None => json!({ "app": null }),
        Some(app) => json!({
            "app": app.card.id,
            "url": app.card.url,
            "slug": app.card.slug,
            "check": check,
            "keyFile": app.key_file.display().to_string(),
            "keyIsOpenToOthers": app_registration::is_open_to_others(&app.key_file),
            "secretFrom": app.secret_from,
            "secrets": app.secrets.len(),
            "publicUrl": app.card.public_url,
            "installUrl": app.card.install_url(),
            "troubles": troubled.iter().map(trouble).collect::<Vec<_>>(),
        }),
    };
    format!("{value:#}\n")
}
