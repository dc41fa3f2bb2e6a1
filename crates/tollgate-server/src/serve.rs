//! The server: listener, connections, graceful shutdown.
//!
//! Each connection has limits of its own (head, body, response, stalls), and their number is bounded. At the bound the
//! oldest idle connection is closed, unauthenticated ones first; when all are busy, a new one gets 503. At shutdown the
//! listener stops, running requests are finished, listeners get a goodbye frame, and after a grace period the remaining
//! connections are closed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tollgate_engine::board::Board;
use tollgate_engine::failure::{Failure, Kind};
use tower::Service as _;

use crate::access::Access;
use crate::access::token::Token;
use crate::agents::Agents;
use crate::app::App;
use crate::connections::{Busy, Connection, Connections};
use crate::delivery_limits::DeliveryLimits;
use crate::events::{EventLog, Hub};
use crate::guard::Names;
use crate::limits::Limits;
use crate::mcp::Mcp;
use crate::metrics::{Metrics, Observer};
use crate::pending_apps::PendingApps;
use crate::problem;
use crate::router;
use crate::webhook::Webhook;

mod stream;

use stream::Stream;

/// How long requests that are on their way may still arrive when the server ends.
const GRACE: Duration = Duration::from_millis(250);
/// Bytes that the system keeps for a client that reads slowly.
const SEND_BUFFER: u32 = 256 * 1024;
/// Files that are needed for other things than connections.
const OTHER_FILES: u64 = 256;

/// Where and how a server listens.
#[derive(Clone)]
pub struct ServerConfig {
    /// The address.
    pub listen: SocketAddr,
    /// Names it goes by besides the loopback ones.
    pub names: Vec<String>,
    /// The secret that opens it.
    pub token: Token,
    /// Where the secret is kept, so that another can take its place.
    pub token_file: Option<PathBuf>,
    /// How much of everything there may be.
    pub limits: Limits,
    /// Called with every request that was served.
    pub observer: Option<Observer>,
    /// The MCP tools that are served at `/mcp`, if any.
    pub mcp: Option<Mcp>,
    /// Whether webhook deliveries are accepted; set while the server runs.
    pub webhook: Arc<Webhook>,
    /// The organization that is to own a new GitHub App, if given.
    pub organization: Option<String>,
}

impl ServerConfig {
    /// The default address, with this token.
    pub fn new(token: Token) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7420)),
            names: Vec::new(),
            token,
            token_file: None,
            limits: Limits::default(),
            observer: None,
            mcp: None,
            webhook: Arc::default(),
            organization: None,
        }
    }
}

/// A server that listens and has not begun to answer.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    mcp: Option<Mcp>,
    connections: Arc<Connections>,
}

/// Serves until `shutdown` is cancelled, on a runtime of its own. `on_ready` is told the address.
pub fn serve(
    config: ServerConfig,
    board: Board,
    log: Arc<dyn EventLog>,
    on_ready: impl FnOnce(SocketAddr),
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8)))
        .max_blocking_threads(config.limits.calls + 16)
        .thread_name("server")
        .enable_all()
        .build()
        .map_err(|problem| Failure::new(Kind::External, format!("cannot start the server's threads: {problem}")))?;
    runtime.block_on(async {
        let server = Server::bind(config, board, log)?;
        on_ready(server.address());
        server.run(shutdown).await;
        Ok::<_, Failure>(())
    })?;
    // A call to the board that hangs must not keep the program from ending.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

impl Server {
    /// Begins to listen. Must be called within a runtime.
    pub fn bind(config: ServerConfig, board: Board, log: Arc<dyn EventLog>) -> Result<Self, Failure> {
        let listener = listen(config.listen).map_err(|problem| cannot_listen(config.listen, &problem))?;
        let address = listener.local_addr().map_err(|problem| cannot_listen(config.listen, &problem))?;
        #[cfg(unix)]
        tollgate_engine::process::sandbox::proxy::never_reach(address);
        let mut limits = config.limits;
        limits.connections = limits.connections.min(room_for_connections());
        limits.listeners = limits.listeners.min(limits.connections * 3 / 4).max(1);
        if let Some(url) = &board.settings().github.public_url {
            config.webhook.public().set(url);
        }
        let app = Arc::new(App {
            board,
            hub: Hub::start(log)?,
            access: Access::new(config.token, config.token_file, address.port()),
            names: Names::new(address.port(), &config.names, Arc::clone(config.webhook.public())),
            hosts: config.names,
            address,
            metrics: Metrics::new(),
            calls: Arc::new(Semaphore::new(limits.calls)),
            deliveries: DeliveryLimits::new(&limits),
            webhook: config.webhook,
            pending: PendingApps::default(),
            organization: config.organization,
            agents: Agents::default(),
            previews: tokio::sync::Mutex::default(),
            observer: config.observer,
            closing: CancellationToken::new(),
            limits,
        });
        let connections = Arc::new(Connections::new(app.limits.connections));
        Ok(Self { listener, address, app, mcp: config.mcp, connections })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is cancelled, then drains running requests within a bound.
    pub async fn run(self, shutdown: CancellationToken) {
        let router = router::router(&self.app, self.mcp.clone(), &self.connections);
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((tcp, _)) => admit(tcp, &router, &self.app, &self.connections),
                    // No file handles left, or a client that was gone at once. The others go on.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                },
            }
        }
        self.app.closing.cancel();
        let Self { listener, app, connections, .. } = self;
        // Clients in the accept queue are connected already and may have sent a request. The system is asked for them,
        // because the runtime may not have seen the last ones yet.
        if let Ok(listener) = listener.into_std() {
            while let Ok((tcp, _)) = listener.accept() {
                let tcp = tcp.set_nonblocking(true).and_then(|()| TcpStream::from_std(tcp));
                if let Ok(tcp) = tcp {
                    admit(tcp, &router, &app, &connections);
                }
            }
        }
        let _ = tokio::time::timeout(app.limits.goodbye, connections.all_gone()).await;
        connections.cut();
    }
}

fn admit(tcp: TcpStream, router: &Router, app: &Arc<App>, connections: &Arc<Connections>) {
    // Small frames are sent when they are there.
    let _ = tcp.set_nodelay(true);
    match connections.admit() {
        Some(connection) => {
            tokio::spawn(serve_connection(tcp, router.clone(), Arc::clone(app), connection));
        }
        None => refuse(&tcp),
    }
}

/// Answers the requests of one connection.
async fn serve_connection(tcp: TcpStream, router: Router, app: Arc<App>, connection: Arc<Connection>) {
    // A connection that says nothing costs a task and no buffers. Peeked, since `readable` may come too early.
    let mut first = [0];
    tokio::select! {
        peeked = tcp.peek(&mut first) => if !matches!(peeked, Ok(1)) { return },
        () = connection.cut_off() => return,
        () = tokio::time::sleep(app.limits.head) => return,
        () = grace(&app) => return,
    }
    // On the heap, because it is large and most connections of a flood never get here.
    Box::pin(talk(tcp, router, app, connection)).await;
}

async fn talk(tcp: TcpStream, router: Router, app: Arc<App>, connection: Arc<Connection>) {
    let io = TokioIo::new(Stream::new(tcp, app.limits.stall));
    let service = {
        let connection = Arc::clone(&connection);
        service_fn(move |request: Request<Incoming>| answer(request, router.clone(), Arc::clone(&connection)))
    };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(app.limits.head).max_headers(100).max_buf_size(64 * 1024);
    let mut serving = pin!(builder.serve_connection(io, service).with_upgrades());
    tokio::select! {
        _ = serving.as_mut() => return,
        () = connection.cut_off() => return,
        () = grace(&app) => serving.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = serving => {}
        () = connection.cut_off() => {}
    }
}

/// Ends a moment after the server was told to end: requests that are on their way are still answered.
async fn grace(app: &App) {
    app.closing.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

async fn answer(
    mut request: Request<Incoming>,
    mut router: Router,
    connection: Arc<Connection>,
) -> Result<Response<Body>, std::convert::Infallible> {
    let busy = Busy::new(&connection);
    request.extensions_mut().insert(connection);
    let response = router.call(request.map(Body::new)).await?;
    // Busy until the last byte of the answer is on its way.
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _until_the_end = &busy;
            frame
        }))
    }))
}

/// Tells a client that there is no room, as far as that can be told without waiting.
fn refuse(tcp: &TcpStream) {
    let body = problem::busy("too many connections").to_json();
    let mut answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(&body);
    let _ = tcp.try_write(&answer);
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Inherited by connections: what a client does not read must not grow by megabytes in the system.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(4096)
}

fn cannot_listen(address: SocketAddr, problem: &std::io::Error) -> Failure {
    let failure = Failure::new(Kind::External, format!("cannot listen on `{address}`: {problem}"));
    match problem.kind() {
        std::io::ErrorKind::AddrInUse => {
            failure.hint("Another server may be running there; stop it, or choose another port with `--listen`.")
        }
        _ => failure.hint("Choose another address with `--listen`."),
    }
}

/// How many connections the limit on open files leaves room for, after raising it as far as we may.
#[cfg(unix)]
fn room_for_connections() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const WANTED: u64 = 32_768;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = WANTED.min(maximum.unwrap_or(WANTED));
    let raised = current.is_some_and(|current| current < wanted)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_ok();
    let n_files = if raised { wanted } else { current.unwrap_or(WANTED) };
    let room = n_files.saturating_sub(OTHER_FILES.min(n_files / 4 * 3)).max(8);
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn room_for_connections() -> usize {
    usize::MAX
}
