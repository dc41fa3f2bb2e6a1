//! A server on a port of its own, over a real board in a temporary folder.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request as WsRequest;
use tokio_util::sync::CancellationToken;
use tollgate_engine::board::{Board, Home};
use tollgate_engine::config::Layer;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::store::Database;
use tollgate_server::access::token::Token;
use tollgate_server::events::EventLog;
use tollgate_server::webhook::{Hook, Webhook, WebhookState};
use tollgate_server::{Limits, Served, Server, ServerConfig};

use crate::client::{self, Said};
use crate::log::MemoryLog;

pub(crate) const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// The webhook secret of GitHub's own example.
pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// The secret before it, which is still good.
pub(crate) const OLD_SECRET: &str = "It was a Secret to Everybody";
/// 9 January 2026, 14:22 UTC: the time of every board here.
pub(crate) const NOW: u64 = 1_767_968_520_000;

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    /// The events that clients of this server receive.
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) board: Board,
    pub(crate) webhook: Arc<Webhook>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) served: Arc<Mutex<Vec<Served>>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) running: JoinHandle<()>,
}

/// A server that is about to be started.
pub(crate) struct Setup {
    folder: tempfile::TempDir,
    config: ServerConfig,
    variables: Vec<(String, String)>,
}

impl Setup {
    pub(crate) fn new() -> Self {
        let config = ServerConfig::new(Token::parse(TOKEN).unwrap());
        Self { folder: tempfile::tempdir().unwrap(), config, variables: Vec::new() }
    }

    /// With these settings of the operator's.
    pub(crate) fn configured(self, settings: &str) -> Self {
        let folder = self.folder.path().join("config/tollgate");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), settings).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn board(&self) -> Board {
        let home = Home {
            executable: std::env::current_exe().unwrap(),
            config_dir: Some(self.folder.path().join("config")),
            variables: self.variables.clone(),
            flags: Layer::default(),
            data: self.folder.path().to_owned(),
            git: Environment::of_process(),
            clock: || NOW,
        };
        Board::open(Database::open(&self.folder.path().join("board.db")).unwrap(), home).unwrap()
    }

    /// Starts the server with events that the test pushes by hand.
    pub(crate) fn start(self) -> World {
        self.start_with(|_, log| log)
    }

    /// Starts the server with another event log.
    pub(crate) fn start_with(self, events: impl FnOnce(&Board, Arc<MemoryLog>) -> Arc<dyn EventLog>) -> World {
        let (board, log) = (self.board(), Arc::new(MemoryLog::default()));
        let events = events(&board, Arc::clone(&log));
        let hook = Hook::new([SECRET, OLD_SECRET], "tollgate").unwrap();
        let webhook = Arc::new(Webhook::default());
        webhook.set(WebhookState::Ready(Arc::new(hook)));
        let served = Arc::new(Mutex::new(Vec::new()));
        let observer = {
            let served = Arc::clone(&served);
            move |request: &Served| served.lock().unwrap().push(request.clone())
        };
        let config = ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            names: vec!["board.example".to_owned()],
            observer: Some(Arc::new(observer)),
            webhook: Arc::clone(&webhook),
            ..self.config
        };
        let server = Server::bind(config, board.clone(), events).unwrap();
        let (address, shutdown) = (server.address(), CancellationToken::new());
        let running = tokio::spawn(server.run(shutdown.clone()));
        World { address, log, board, webhook, folder: self.folder, served, shutdown, running }
    }
}

impl World {
    pub(crate) fn start() -> Self {
        Setup::new().start()
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let setup = Setup::new();
        Setup { config: ServerConfig { limits, ..setup.config }, ..setup }.start()
    }

    /// A server whose token is in a file.
    pub(crate) fn with_token_in(file: &Path) -> Self {
        let token = tollgate_server::access::token::load_or_create(file).unwrap();
        let config = ServerConfig { token_file: Some(file.to_owned()), ..ServerConfig::new(token) };
        Setup { config, ..Setup::new() }.start()
    }

    pub(crate) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.host())
    }

    /// A path in the folder of this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A text with `/srv` for the folder of this world.
    pub(crate) fn plain(&self, text: &str) -> String {
        text.replace(&*self.folder.path().canonicalize().unwrap().to_string_lossy(), "/srv")
            .replace(&*self.folder.path().to_string_lossy(), "/srv")
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

    /// Sends a request as the page of a signed-in person does.
    pub(crate) async fn ask_as_person(&self, method: &str, path: &str, body: &str) -> Said {
        let json = ("content-type", "application/json");
        let said = self.raw("POST", "/api/auth/login", &[json], &format!(r#"{{"token":"{TOKEN}"}}"#)).await;
        let cookie = said.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let origin = self.origin();
        let mut headers = vec![("cookie", cookie.as_str()), ("origin", origin.as_str())];
        if !body.is_empty() {
            headers.push(json);
        }
        self.raw(method, path, &headers, body).await
    }

    /// The body that adds a repository of this name, which is made here.
    pub(crate) fn new_project(&self, name: &str) -> String {
        serde_json::json!({ "path": self.repository(name) }).to_string()
    }

    /// Makes a repository with one empty commit.
    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        let folder = self.path(name);
        std::fs::create_dir_all(&folder).unwrap();
        git(&folder, &["init", "-q", "-b", "main"]);
        for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.com")] {
            git(&folder, &["config", key, value]);
        }
        git(&folder, &["commit", "-q", "--allow-empty", "-m", "begin"]);
        folder
    }

    /// Adds the repository `shop`.
    pub(crate) async fn add_project(&self) -> u64 {
        let said = self.ask("POST", "/api/projects", &self.new_project("shop")).await;
        assert_eq!(said.status, 201, "{said:?}");
        said.json()["id"].as_u64().unwrap()
    }

    /// A project with a feature in it.
    pub(crate) async fn project_with_feature(&self) -> (u64, String) {
        let project = self.add_project().await;
        self.add_feature(project, "feature-000002");
        self.log.push(Some(project), "feature:created", r#"{"featureId":"feature-000002"}"#.to_owned());
        (project, "feature-000002".to_owned())
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

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs a test on a runtime of several threads, within a bound.
pub(crate) fn story<F: Future<Output = ()>>(story: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(client::PATIENCE * 5, story()).await.expect("the story in time") });
}
