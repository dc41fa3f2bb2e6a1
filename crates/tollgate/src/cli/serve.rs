//! `tollgate serve`: the board, its agents and its API, until an interrupt.
//!
//! The server listens, the worker processes the job queue, and one thread writes events to standard error. At an
//! interrupt agents are stopped and their work is left to the next start; a second interrupt exits at once.

use std::io::IsTerminal as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use time::UtcOffset;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Database;
use tollgate_server::access::token::{self, Token};
use tollgate_server::events::BoardLog;
use tollgate_server::mcp::{Mcp, ToolContext};
use tollgate_server::supervision::{AppSlot, BackgroundTasks, WriteLog};
use tollgate_server::webhook::Webhook;
use tollgate_server::{Limits, Observer, ServerConfig};

use super::demo::Demo;
use super::{CliContext, Exit, StoreArgs, board, failure, mcp, output};

/// The default address.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7420);
/// How long running requests have to finish; with the work it is less than ten seconds.
const ANSWERS_END: Duration = Duration::from_secs(3);

/// Serve the board and the API, and process the job queue: agents, commits, reviews
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate serve --demo              a sample project and a pretend agent: rejection, fix, approval, offline\n  \
    tollgate serve                     the board on http://127.0.0.1:7420\n  \
    tollgate serve --agent claude --at-once 4\n  \
    tollgate serve --no-work           only show the board; `tollgate worker` does the work\n  \
    tollgate serve --database postgres://tollgate@db.example/tollgate   one of several, on a shared database\n\n\
    Ctrl-C ends it: agents are stopped, and their work goes on at the next start. A second Ctrl-C ends it at once.")]
pub(crate) struct Args {
    /// Where to listen [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Another name by which the server is reached; needed to listen on more than this machine
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    #[command(flatten)]
    worker: WorkerArgs,
    /// Start no agents and make no reviews here
    #[arg(long, conflicts_with = "demo")]
    no_work: bool,
    /// Show the loop with a sample project and a pretend agent, in a fresh folder
    #[arg(long, conflicts_with = "agent")]
    demo: bool,
    /// Make the sample project in this folder, which must be new or empty
    #[arg(long, value_name = "DIR", requires = "demo")]
    demo_dir: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    // Keys are in our environment, and agents run as the same user.
    tollgate_engine::process::seclude();
    tollgate_engine::forge::git::end_git_with_us(&context.program()?);
    // Asked while there is one thread only: later the system's answer is not to be trusted.
    let clock = Clock::of_system();
    let listen = address(&args)?;
    let demo = args.demo.then(|| Demo::make(context, args.demo_dir.as_deref(), &args.store)).transpose()?;
    let board = match &demo {
        Some(demo) => demo.open(context)?,
        None => board::open(context, &args.store, args.worker.layer())?,
    };
    let (slot, has_app) = AppSlot::load(&board)?;
    let token_file = board::token_file(context, &board);
    let token = token::load_or_create(&token_file)?;
    let webhook = Arc::new(Webhook::default());
    let config = ServerConfig {
        webhook: Arc::clone(&webhook),
        listen,
        names: args.allow_host.clone(),
        limits: Limits { goodbye: ANSWERS_END, ..Limits::default() },
        observer: Some(observer(clock.log())),
        token_file: Some(token_file.clone()),
        mcp: Some(Mcp::new(
            ToolContext::on_board(board.clone()).connecting(slot.connect(mcp::connect(board.settings())), Vec::new()),
        )),
        ..ServerConfig::new(token.clone())
    };
    let mut tasks = BackgroundTasks::new(board, slot, clock.log());
    tasks.does_work = !args.no_work;
    tasks.story = demo.clone().map(Demo::into_epilogue);
    tasks.webhook = Some(webhook);
    RunningServer { tasks: Arc::new(tasks), demo, has_app, token, token_file }.run(config)
}

/// The flags of workers: agent and concurrency.
#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    /// Who implements features, instead of `pipeline.agent` of the configuration
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How many features agents work on at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    at_once: Option<u64>,
}

impl WorkerArgs {
    /// The flags as settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer { source: "the command line".to_owned(), ..Layer::default() };
        layer.values.pipeline.agent.clone_from(&self.agent);
        layer.values.pipeline.at_once = self.at_once;
        layer
    }
}

/// The first Ctrl-C or SIGTERM requests shutdown, the second exits at once.
pub(crate) fn on_interrupt(ask: Sender<()>) {
    let is_ending = AtomicBool::new(false);
    // Without a handler the program would exit as well, and the next start would clean up.
    let _ = ctrlc::set_handler(move || {
        if is_ending.swap(true, Ordering::SeqCst) {
            tollgate_engine::process::stop_all();
            std::process::exit(130);
        }
        let _ = ask.send(());
    });
}

/// Writes the database into its file, so that a copy of the file is a backup.
pub(crate) fn checkpoint(database: &Database) {
    if let Err(failure) = database.checkpoint() {
        output::say(&format!("warning: {failure}; copy the `-wal` file along with the database"));
    }
}

/// A server with its background tasks.
struct RunningServer {
    tasks: Arc<BackgroundTasks>,
    demo: Option<Demo>,
    has_app: bool,
    token: Token,
    token_file: PathBuf,
}

impl RunningServer {
    fn run(self, config: ServerConfig) -> Result<Exit, Failure> {
        let (ask, asked) = mpsc::channel();
        on_interrupt(ask.clone());
        let ending = end(asked, &self.tasks);
        let log = Arc::new(BoardLog::new(self.tasks.board.database().clone()));
        let mut failed = None;
        let ready = |address: SocketAddr| {
            self.greet(address);
            let begin_demo = || self.demo.as_ref().map_or(Ok(()), |demo| demo.begin(&self.tasks.board));
            if let Err(failure) = self.tasks.begin().and_then(|()| begin_demo()) {
                failed = Some(failure);
                let _ = ask.send(());
            }
        };
        let served = tollgate_server::serve(config, self.tasks.board.clone(), log, ready, self.tasks.shutdown.clone());
        // However it ended, the background tasks have to end, too.
        let _ = ask.send(());
        let _ = ending.join();
        // A runner that came to be while the end was already asked for.
        self.tasks.stop();
        self.tasks.wait();
        checkpoint(self.tasks.board.database());
        served?;
        failed.map_or(Ok(Exit::Success), Err)
    }

    fn greet(&self, address: SocketAddr) {
        let token_file = self.token_file.display();
        if std::io::stderr().is_terminal() {
            output::say(&format!(
                "listening on http://{address}\nopen http://{address}/#token={}",
                self.token.expose()
            ));
        } else {
            // Output that is not a terminal may be stored, so it gets no token.
            output::say(&format!("listening on http://{address}"));
        }
        output::say(&format!("the token for the API is in {token_file}"));
        if !address.ip().is_loopback() {
            output::say(
                "warning: other machines can connect, and nothing is encrypted; put a proxy with TLS before it",
            );
        }
        match &self.demo {
            Some(demo) => output::say(&demo.prologue()),
            None => self.advise(),
        }
    }

    /// Prints the missing prerequisites.
    fn advise(&self) {
        let has_projects = self.has_app || self.tasks.board.projects().is_ok_and(|projects| !projects.is_empty());
        if !has_projects {
            output::say("there is no project yet; `tollgate project add PATH` adds one");
        }
        if !self.tasks.does_work {
            output::say("agents and reviews are left to another process");
        } else if self.tasks.board.settings().pipeline.agent.is_none() {
            output::say(
                "no agent is set up to implement features; `--agent NAME` or `agent` in `[pipeline]` of your \
                 configuration names one, and `tollgate doctor` says which are here",
            );
        }
    }
}

/// The address to listen on. A demonstration without `--listen` takes any port if the default one is in use.
fn address(args: &Args) -> Result<SocketAddr, Failure> {
    let Some(text) = &args.listen else {
        let is_taken = args.demo && TcpListener::bind(LISTEN).is_err();
        return Ok(SocketAddr::new(LISTEN.ip(), if is_taken { 0 } else { LISTEN.port() }));
    };
    let address: SocketAddr = text.parse().map_err(|_| failure::not_an_address(text))?;
    if !address.ip().is_loopback() && args.allow_host.is_empty() {
        return Err(failure::open_to_others(&address));
    }
    Ok(address)
}

/// A thread that stops the background tasks at the first interrupt.
fn end(asked: Receiver<()>, tasks: &Arc<BackgroundTasks>) -> JoinHandle<()> {
    let tasks = Arc::clone(tasks);
    std::thread::spawn(move || {
        let _ = asked.recv();
        tasks.stop();
    })
}

/// Logs responses with a server error.
fn observer(log: WriteLog) -> Observer {
    Arc::new(move |served| {
        if served.status >= 500 {
            let (method, route, status) = (&served.method, &served.route, served.status);
            let millis = served.duration.as_millis();
            log(Some(crate::cli::now_ms()), &format!("{method} {route} was answered with {status} after {millis} ms"));
        }
    })
}

/// Prefixes log lines with the local time.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    offset: UtcOffset,
}

impl Clock {
    /// The clock of this machine; to be asked while there is one thread only.
    pub(crate) fn of_system() -> Self {
        Self { offset: UtcOffset::current_local_offset().unwrap_or(UtcOffset::UTC) }
    }

    /// Writes log lines to standard error.
    pub(crate) fn log(self) -> WriteLog {
        Arc::new(move |at_ms, message| match at_ms {
            Some(at_ms) => output::say(&format!("{} {message}", self.time(at_ms))),
            None => output::say(message),
        })
    }

    fn time(self, millis: u64) -> String {
        let moment = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000);
        let format = time::macros::format_description!("[hour]:[minute]:[second]");
        moment.ok().and_then(|moment| moment.to_offset(self.offset).format(format).ok()).unwrap_or_default()
    }
}
