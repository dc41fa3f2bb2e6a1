//! `tollgate github setup`: a temporary server for creating the GitHub App in a browser.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_engine::config::{Layer, github};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::app_registration::{self, AppRecord};
use tollgate_server::access::token::{self, Token};
use tollgate_server::events::BoardLog;
use tollgate_server::{Limits, ServerConfig};

use super::super::{CliContext, Exit, StoreArgs, board, failure, output};

/// The poll interval for the new app.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The time for the browser to load the last page before the server ends.
const LAST_PAGE: Duration = Duration::from_secs(3);

/// Create the GitHub App in a browser
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The organization that owns the app [default: your account]
    #[arg(long, value_name = "ORG")]
    org: Option<String>,
    /// The public URL of this server: a TLS proxy or a tunnel
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The GitHub server
    #[arg(long, help = "The GitHub server [default: https://github.com]", value_name = "URL")]
    github_url: Option<String>,
    /// The address of the temporary server [default: any free port on localhost]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

pub(crate) fn run(context: &CliContext, args: Args, store: &StoreArgs) -> Result<Exit, Failure> {
    let board = board::open(context, store, layer(&args)?)?;
    let data = board.home().data.clone();
    let token_file = board::token_file(context, &board);
    let token = token::load_or_create(&token_file)?;
    let config = ServerConfig {
        listen: address(args.listen.as_deref())?,
        limits: Limits { goodbye: Duration::from_secs(1), ..Limits::default() },
        token_file: Some(token_file.clone()),
        organization: args.org,
        ..ServerConfig::new(token.clone())
    };
    let shutdown = CancellationToken::new();
    let asked = shutdown.clone();
    // Without a handler, Ctrl-C ends the program too.
    let _ = ctrlc::set_handler(move || asked.cancel());
    // An unreadable app file counts as absent: it is not the app that is about to be created.
    let before = app_registration::kept(&data).ok().flatten();
    let watch = Watch { data, before, shutdown: shutdown.clone() };
    let log = Arc::new(BoardLog::new(board.database().clone()));
    let watching = std::thread::spawn(move || watch.run());
    let ready = |address: SocketAddr| greet(address, &token, &token_file);
    let served = tollgate_server::serve(config, board, log, ready, shutdown.clone());
    shutdown.cancel();
    let made = watching.join().unwrap_or_default();
    served?;
    match made {
        Some(card) => {
            output::say(&next_steps(&card));
            Ok(Exit::Success)
        }
        None => {
            output::say("no app was created");
            Ok(Exit::Negative)
        }
    }
}

fn layer(args: &Args) -> Result<Layer, Failure> {
    let read = |flag: &str, text: &Option<String>, parse: fn(&str) -> Result<String, String>| {
        let parsed = text.as_deref().map(parse).transpose();
        parsed.map_err(|why| tollgate_engine::failure::bad_config(flag, &why))
    };
    let mut layer = Layer { source: "the command line".to_owned(), ..Layer::default() };
    layer.values.github.url = read("--github-url", &args.github_url, github::parse_site)?;
    layer.values.github.public_url = read("--public-url", &args.public_url, github::parse_public)?;
    Ok(layer)
}

fn address(listen: Option<&str>) -> Result<SocketAddr, Failure> {
    let Some(text) = listen else { return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)) };
    let address: SocketAddr = text.parse().map_err(|_| failure::not_an_address(text))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(failure::open_to_others(&address)) }
}

fn greet(address: SocketAddr, token: &Token, token_file: &std::path::Path) {
    let page = format!("http://{address}/settings/github");
    if std::io::stderr().is_terminal() {
        output::say(&format!("open {page}#token={}", token.expose()));
    } else {
        // Other outputs may be logged, so the token is not printed.
        output::say(&format!("open {page}\nthe token to sign in is in {}", token_file.display()));
    }
    output::say("confirm the app on GitHub in the browser; Ctrl-C cancels");
}

/// Waits for the new app.
struct Watch {
    data: PathBuf,
    before: Option<AppRecord>,
    shutdown: CancellationToken,
}

impl Watch {
    /// Returns the new app, or `None` after Ctrl-C. Stops the server in both cases.
    fn run(self) -> Option<AppRecord> {
        while !self.shutdown.is_cancelled() {
            let made =
                app_registration::kept(&self.data).ok().flatten().filter(|card| self.before.as_ref() != Some(card));
            if made.is_some() {
                std::thread::sleep(LAST_PAGE);
                self.shutdown.cancel();
                return made;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        None
    }
}

fn next_steps(card: &AppRecord) -> String {
    let mut text = match &card.slug {
        Some(slug) => format!("created the app `{slug}` (ID {})\n", card.id),
        None => format!("created the app (ID {})\n", card.id),
    };
    if let Some(url) = card.install_url() {
        text.push_str(&format!("install it in repositories: {url}\n"));
    }
    text.push_str("run `tollgate serve`; a running server picks up the app by itself");
    text
}
