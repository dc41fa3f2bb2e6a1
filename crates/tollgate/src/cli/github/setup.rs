//! `tollgate github setup`: a server for as long as it takes to make an app.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_engine::config::{Layer, github};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::own_app::{self, Card};
use tollgate_server::access::token::{self, Token};
use tollgate_server::board::{BoardDesk, BoardLog};
use tollgate_server::{Limits, ServerConfig};

use super::super::{Done, Place, board, failure, memory, output};

/// How often it is looked whether the app is there.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the browser has to load the last page.
const LAST_PAGE: Duration = Duration::from_secs(3);

/// Leads through making an app, in a browser
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The organization whose app it is to be [default: your own account]
    #[arg(long, value_name = "ORG")]
    org: Option<String>,
    /// Where GitHub reaches this server: a proxy with TLS, or a tunnel
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Which GitHub
    #[arg(long, help = "Which GitHub [default: https://github.com]", value_name = "URL")]
    github_url: Option<String>,
    /// Where to listen meanwhile [default: any free port of this machine]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

pub(crate) fn run(place: &Place, args: Args, store: &memory::Flag) -> Result<Done, Failure> {
    let board = board::open(place, store, layer(&args)?)?;
    let data = board.home().data.clone();
    let token_file = board::token_file(place, &board);
    let token = token::load_or_create(&token_file)?;
    let config = ServerConfig {
        listen: address(args.listen.as_deref())?,
        limits: Limits { goodbye: Duration::from_secs(1), ..Limits::default() },
        token_file: Some(token_file.clone()),
        ..ServerConfig::new(token.clone())
    };
    let shutdown = CancellationToken::new();
    let asked = shutdown.clone();
    // Without a handler the program would end all the same.
    let _ = ctrlc::set_handler(move || asked.cancel());
    // One that cannot be read is not the one that will be made.
    let before = own_app::kept(&data).ok().flatten();
    let watch = Watch { data, before, shutdown: shutdown.clone() };
    let desk = Arc::new(BoardDesk::new(board.clone()).for_organization(args.org));
    let log = Arc::new(BoardLog::new(board.database().clone()));
    let watching = std::thread::spawn(move || watch.run());
    let ready = |address: SocketAddr| greet(address, &token, &token_file);
    let served = tollgate_server::serve(config, desk, log, ready, shutdown.clone());
    shutdown.cancel();
    let made = watching.join().unwrap_or_default();
    served?;
    match made {
        Some(card) => {
            output::say(&next_steps(&card));
            Ok(Done::Fine)
        }
        None => {
            output::say("no app was made");
            Ok(Done::No)
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
        // What is not a terminal is kept by somebody.
        output::say(&format!("open {page}\nthe token to sign in is in {}", token_file.display()));
    }
    output::say("it leads to GitHub, where you confirm; Ctrl-C gives up");
}

/// Waits for the app.
struct Watch {
    data: PathBuf,
    before: Option<Card>,
    shutdown: CancellationToken,
}

impl Watch {
    /// The app that was made, or nothing when somebody gave up. Either way the server ends.
    fn run(self) -> Option<Card> {
        while !self.shutdown.is_cancelled() {
            let made = own_app::kept(&self.data).ok().flatten().filter(|card| self.before.as_ref() != Some(card));
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

fn next_steps(card: &Card) -> String {
    let mut text = match &card.slug {
        Some(slug) => format!("the app `{slug}` is made (number {})\n", card.id),
        None => format!("the app is made (number {})\n", card.id),
    };
    if let Some(url) = card.install_url() {
        text.push_str(&format!("install it in repositories: {url}\n"));
    }
    text.push_str("run `tollgate serve`; one that runs already notices the app by itself");
    text
}
