//! `tollgate github`: the app that this server is at GitHub.
//!
//! Making one needs a browser, because a person confirms it at GitHub; so a server runs as long as that takes. A server
//! that runs already notices the app by itself.

use std::fmt::Write as _;

use serde_json::json;
use tollgate_core::visible::visible;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::own_app::{self, OwnApp};
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::FailingPull;

use super::history::{timestamp, when};
use super::rules::DataFormat;
use super::{Done, Place, board, memory, output};

mod setup;

/// So many pull requests in trouble are shown.
const MAX_TROUBLED: usize = 50;

/// Makes the GitHub App that reviews pull requests, and says how it stands
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate github setup --public-url https://tollgate.example             an app of your own\n  \
    tollgate github setup --public-url https://tollgate.example --org acme  one of an organization\n  \
    tollgate github status\n\n\
    `tollgate serve` then takes what GitHub delivers to https://tollgate.example/webhooks/github.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    store: memory::Flag,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Leads through making an app, in a browser
    ///
    /// Example: `tollgate github setup --public-url https://tollgate.example --org acme`
    Setup(setup::Args),
    /// Says which app is set up, whether anything is missing, and which pull requests are in trouble
    ///
    /// Example: `tollgate github status --format json`
    Status {
        /// For people or for programs
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    match args.command {
        Command::Setup(setup) => setup::run(place, setup, &args.store),
        Command::Status { format } => status(place, &args.store, format),
    }
}

/// Which app is set up. Nobody is asked.
fn status(place: &Place, store: &memory::Flag, format: DataFormat) -> Result<Done, Failure> {
    let settings = place.settings(None, Layer::default())?;
    let data = board::data(place, &settings, store)?;
    let found = own_app::find(&settings.github, &data, &Place::variables())?;
    let check = settings.github.check_name(&settings.bot);
    let location = memory::location(place, &settings, store)?;
    // Before the first delivery there may be none, and to look is no reason to make one.
    let troubled = if memory::may_be_there(&location) {
        Database::open_at(&location)?.failing_pulls(MAX_TROUBLED)?
    } else {
        Vec::new()
    };
    let text = match (format, &found) {
        (DataFormat::Json, found) => as_json(found.as_ref(), &check, &troubled),
        (DataFormat::Text, Some(app)) => as_text(app, &check, &troubled),
        (DataFormat::Text, None) => {
            output::say("no GitHub App is set up; `tollgate github setup` makes one");
            return Ok(Done::No);
        }
    };
    output::print(&text)?;
    Ok(if found.is_some() { Done::Fine } else { Done::No })
}

fn as_text(app: &OwnApp, check: &str, troubled: &[FailingPull]) -> String {
    let card = &app.card;
    let mut text = format!("app      {} at {}\n", card.id, card.url);
    let mut line = |name: &str, value: &str| _ = writeln!(text, "{name:<8} {value}");
    line("name", &card.slug.as_ref().map_or("not known here".to_owned(), |slug| format!("@{slug}")));
    line("check", check);
    line("key", &app.key_file.display().to_string());
    line("secret", &app.secret_from);
    if let Some(url) = &card.public_url {
        line("hook", &format!("{url}/webhooks/github"));
    }
    if let Some(url) = card.install_url() {
        line("install", &url);
    }
    if own_app::is_open_to_others(&app.key_file) {
        line("warning", "others can read the key; run `chmod 600` on its file");
    }
    for one in troubled {
        let next = one.next_ms.map_or("not tried again by itself".to_owned(), |next| format!("again {}", when(next)));
        let words = visible(&one.in_words()).into_owned();
        line("trouble", &format!("{}#{}: {words} (since {}, {next})", one.repo, one.number, when(one.since_ms)));
    }
    text
}

fn as_json(app: Option<&OwnApp>, check: &str, troubled: &[FailingPull]) -> String {
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
            "keyIsOpenToOthers": own_app::is_open_to_others(&app.key_file),
            "secretFrom": app.secret_from,
            "secrets": app.secrets.len(),
            "publicUrl": app.card.public_url,
            "installUrl": app.card.install_url(),
            "troubles": troubled.iter().map(trouble).collect::<Vec<_>>(),
        }),
    };
    format!("{value:#}\n")
}
