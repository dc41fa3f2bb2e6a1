//! A server on a port of its own.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request as WsRequest;
use tokio_util::sync::CancellationToken;
use tollgate_server::access::token::Token;
use tollgate_server::desk::Desk;
use tollgate_server::events::EventLog;
use tollgate_server::{Limits, Served, Server, ServerConfig};

use crate::client::{self, Said};
use crate::desk::MemoryDesk;
use crate::log::MemoryLog;

pub(crate) const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) desk: Arc<MemoryDesk>,
    pub(crate) served: Arc<Mutex<Vec<Served>>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) running: JoinHandle<()>,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let log = Arc::new(MemoryLog::default());
        let desk = Arc::new(MemoryDesk::new(Arc::clone(&log)));
        Self::build(limits, Arc::clone(&desk) as _, Arc::clone(&log) as _, log, desk)
    }

    /// A server over another board and its log; `log` and `desk` in memory are not used then.
    pub(crate) fn over(desk: Arc<dyn Desk>, events: Arc<dyn EventLog>, log: Arc<MemoryLog>) -> Self {
        let unused = Arc::new(MemoryDesk::new(Arc::clone(&log)));
        Self::build(Limits::default(), desk, events, log, unused)
    }

    /// A server whose token is in a file.
    pub(crate) fn with_token_in(file: &std::path::Path) -> Self {
        let log = Arc::new(MemoryLog::default());
        let desk = Arc::new(MemoryDesk::new(Arc::clone(&log)));
        let token = tollgate_server::access::token::load_or_create(file).unwrap();
        let config = ServerConfig { token_file: Some(file.to_owned()), ..ServerConfig::new(token) };
        Self::of(config, Arc::clone(&desk) as _, Arc::clone(&log) as _, log, desk)
    }

    fn build(
        limits: Limits,
        behind: Arc<dyn Desk>,
        events: Arc<dyn EventLog>,
        log: Arc<MemoryLog>,
        desk: Arc<MemoryDesk>,
    ) -> Self {
        let config = ServerConfig { limits, ..ServerConfig::new(Token::parse(TOKEN).unwrap()) };
        Self::of(config, behind, events, log, desk)
    }

    fn of(
        config: ServerConfig,
        behind: Arc<dyn Desk>,
        events: Arc<dyn EventLog>,
        log: Arc<MemoryLog>,
        desk: Arc<MemoryDesk>,
    ) -> Self {
        let served = Arc::new(Mutex::new(Vec::new()));
        let observer = {
            let served = Arc::clone(&served);
            move |request: &Served| served.lock().unwrap().push(request.clone())
        };
        let config = ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            names: vec!["board.example".to_owned()],
            observer: Some(Arc::new(observer)),
            ..config
        };
        let server = Server::bind(config, behind, events).unwrap();
        let (address, shutdown) = (server.address(), CancellationToken::new());
        let running = tokio::spawn(server.run(shutdown.clone()));
        Self { address, log, desk, served, shutdown, running }
    }

    pub(crate) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.host())
    }

    /// Sends a request with these headers besides `Host`, and nothing else.
    pub(crate) async fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Said {
        let host = self.host();
        let mut all = vec![("host", host.as_str())];
        all.extend_from_slice(headers);
        client::exchange(self.address, &client::request(method, path, &all, body)).await
    }

    /// Sends a request as a program with the token does.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> Said {
        let bearer = format!("Bearer {TOKEN}");
        let mut headers = vec![("authorization", bearer.as_str())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        self.raw(method, path, &headers, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Said {
        self.ask("GET", path, "").await
    }

    /// A project with a feature in it.
    pub(crate) async fn project_with_feature(&self) -> (u64, String) {
        let said = self.ask("POST", "/api/projects", r#"{"path":"/srv/shop"}"#).await;
        let project = said.json()["id"].as_u64().unwrap();
        let path = format!("/api/projects/{project}/features");
        let said = self.ask("POST", &path, r#"{"title":"Add login","description":"Users can sign in"}"#).await;
        (project, said.json()["id"].as_str().unwrap().to_owned())
    }

    /// The request that opens a socket as a program with the token does.
    pub(crate) fn socket(&self, query: &str) -> WsRequest {
        let mut request = format!("ws://{}/api/events{query}", self.host()).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
        request
    }

    /// Opens a socket with this request.
    pub(crate) async fn open(
        &self,
        request: WsRequest,
    ) -> Result<crate::listen::Socket, tokio_tungstenite::tungstenite::Error> {
        let tcp = client::connect(self.address).await;
        Ok(tokio_tungstenite::client_async(request, tcp).await?.0)
    }
}

/// Runs a test on a runtime of several threads, within a bound.
pub(crate) fn story<F: Future<Output = ()>>(story: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(client::PATIENCE * 5, story()).await.expect("the story in time") });
}
