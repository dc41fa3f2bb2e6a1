//! An event to 5,000 clients: what the server's process spends on each message it delivers, and the memory it has then.
//!
//! The server is a process of its own, over a real board and its database. The clients are plain connections in this
//! process that read frames and count them. Events come one at a time, so that none is sent together with the next.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tollgate_engine::board::{Board, Home};
use tollgate_engine::config::Layer;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::store::Database;
use tollgate_engine::store::board::NewEvent;
use tollgate_server::access::token::Token;
use tollgate_server::board::{BoardDesk, BoardLog};
use tollgate_server::{ServerConfig, serve};

use crate::measure::{Measure, Setting};
use crate::row::Row;

pub(super) const MEASURE: Measure = Measure { name: "fanout", take };

/// The word that makes this program serve a board.
pub(crate) const SERVE: &str = "__serve";

const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const N_CLIENTS: usize = 5_000;
const N_EVENTS: u64 = 100;
/// How long all clients have for one event.
const PATIENCE: Duration = Duration::from_secs(30);

fn take(_: &Setting) -> io::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut server = Server::start()?;
    let n_got = Arc::new(AtomicU64::new(0));
    let idle = server.figures()?;
    runtime.block_on(async {
        for _ in 0..N_CLIENTS {
            let tcp = listen(server.address).await?;
            tokio::spawn(count(tcp, Arc::clone(&n_got)));
        }
        // Each has been told hello.
        reach(&n_got, N_CLIENTS as u64).await
    })?;
    let before = server.figures()?;
    for number in 1..=N_EVENTS {
        server.announce()?;
        runtime.block_on(reach(&n_got, (number + 1) * N_CLIENTS as u64))?;
    }
    let after = server.figures()?;
    let n_messages = (N_EVENTS * N_CLIENTS as u64) as f64;
    let cpu_us = (after.cpu_ms - before.cpu_ms) * 1e3 / n_messages;
    let row = |measure: &str, ours, unit, bar| Row { measure: measure.to_owned(), ours, peer: 1.0, unit, bar };
    Ok(vec![
        row("fanout, CPU a message", cpu_us, "µs", 10.0),
        row("fanout, memory", after.memory_mb, "MB", 60.0),
        row("fanout, memory without clients", idle.memory_mb, "MB", 40.0),
    ])
}

/// What the server's process has used and has.
struct Figures {
    cpu_ms: f64,
    memory_mb: f64,
}

/// The server, in a process of its own.
struct Server {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(SERVE).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().parse().map_err(|_| io::Error::other("the server did not say where it is"))?;
        Ok(Self { child, address, _folder: folder })
    }

    fn announce(&mut self) -> io::Result<()> {
        let stdin = self.child.stdin.as_mut().ok_or_else(|| io::Error::other("the server is gone"))?;
        stdin.write_all(b"x")?;
        stdin.flush()
    }

    fn figures(&self) -> io::Result<Figures> {
        let folder = format!("/proc/{}", self.child.id());
        let odd = || io::Error::other("cannot read what the server uses");
        let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
        // After the name in brackets, user and system time are the 12th and 13th, in hundredths of a second.
        let times = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(11).take(2));
        let ticks: f64 = times.ok_or_else(odd)?.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        let status = std::fs::read_to_string(format!("{folder}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or_else(odd)?;
        let kilobytes: f64 = resident.trim().trim_end_matches(" kB").parse().map_err(|_| odd())?;
        Ok(Figures { cpu_ms: ticks * 10.0, memory_mb: kilobytes / 1024.0 })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a socket for events.
async fn listen(address: SocketAddr) -> io::Result<TcpStream> {
    let mut tcp = TcpStream::connect(address).await?;
    let request = format!(
        "GET /api/events HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        address.port()
    );
    tcp.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tcp.read_u8().await?);
    }
    if head.starts_with(b"HTTP/1.1 101 ") { Ok(tcp) } else { Err(io::Error::other("no socket was opened")) }
}

/// Counts the texts that come.
async fn count(mut tcp: TcpStream, n_got: Arc<AtomicU64>) {
    let mut frame = Vec::new();
    loop {
        let mut head = [0; 2];
        if tcp.read_exact(&mut head).await.is_err() {
            return;
        }
        let length = match head[1] {
            126 => tcp.read_u16().await.map(usize::from),
            length => Ok(usize::from(length)),
        };
        let Ok(length) = length else { return };
        frame.resize(length, 0);
        if tcp.read_exact(&mut frame).await.is_err() {
            return;
        }
        // The first four bits say that it is whole, the last that it is a text.
        if head[0] == 0x81 {
            n_got.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits until so many texts have come.
async fn reach(n_got: &AtomicU64, n: u64) -> io::Result<()> {
    let all = async {
        while n_got.load(Ordering::Relaxed) < n {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.map_err(|_| io::Error::other("not all clients got an event in time"))
}

/// Serves a board in a folder, and announces something for each byte that comes in.
pub(crate) fn serve_board(folder: &str) -> ExitCode {
    let folder = std::path::Path::new(folder);
    let home = Home {
        executable: folder.join("none"),
        config_dir: None,
        variables: Vec::new(),
        flags: Layer::default(),
        data: folder.to_owned(),
        git: Environment::of_process(),
        clock: || 1_767_968_520_000,
    };
    let opened = Database::open(&folder.join("board.db")).and_then(|database| Board::open(database, home));
    let (Ok(board), Some(token)) = (opened, Token::parse(TOKEN)) else { return ExitCode::from(3) };
    let database = board.database().clone();
    let shutdown = CancellationToken::new();
    let (announcer, end) = (database.clone(), shutdown.clone());
    std::thread::spawn(move || {
        let payload = r#"{"featureId":"feature-1767960000000-x7k2m9qpa","iterationNumber":1,"message":"Reviewing"}"#;
        for _ in io::stdin().lock().bytes() {
            let kind = "feature:code-review-progress".to_owned();
            let event = NewEvent { project: None, feature: None, kind, payload: payload.to_owned() };
            if announcer.announce(event, 1_767_968_520_000).is_err() {
                break;
            }
        }
        end.cancel();
    });
    let config = ServerConfig { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..ServerConfig::new(token) };
    let on_ready = |address: SocketAddr| {
        println!("{address}");
        let _ = io::stdout().flush();
    };
    match serve(config, Arc::new(BoardDesk::new(board)), Arc::new(BoardLog::new(database)), on_ready, shutdown) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}
