//! A server process of a desk, and a client that sends exact bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::wait::wait_until;

/// How long anything may take before a test gives up. Nothing depends on it but the end of a broken test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How a server is started.
#[derive(Default)]
pub(crate) struct Launch<'a> {
    /// A line of shell that runs first in the same process, as `ulimit -n 64`.
    pub(crate) before: &'a str,
    /// A program that starts it, with its arguments.
    pub(crate) through: &'a [&'a str],
    /// More of the environment.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    /// Where it listens, if not anywhere.
    pub(crate) listen: Option<SocketAddr>,
}

/// A server that listens.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    log: Arc<Mutex<String>>,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers, in lower case.
    pub(crate) head: String,
    /// The cookie that the server sets.
    pub(crate) cookie: Option<String>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|problem| panic!("{problem}: {self:?}"))
    }

    /// True for a problem document that says the same status as the answer.
    pub(crate) fn is_problem(&self) -> bool {
        let says = |value: Value| value["status"] == self.status && value["detail"].is_string();
        self.head.contains("application/problem+json") && serde_json::from_str(&self.body).is_ok_and(says)
    }
}

impl Server {
    pub(crate) fn start(desk: &Desk) -> Self {
        Self::launch(desk, &Launch::default())
    }

    #[track_caller]
    pub(crate) fn launch(desk: &Desk, how: &Launch<'_>) -> Self {
        let mut words: Vec<&str> = how.through.to_vec();
        let before = format!("{}\nexec \"$@\"", how.before);
        let listen = how.listen.map_or_else(|| "127.0.0.1:0".to_owned(), |address| address.to_string());
        words.extend(["sh", "-ec", &before, "sh", env!("CARGO_BIN_EXE_tollgate"), "serve", "--listen", &listen]);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(desk.path("home")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", desk.path("home"));
        command.env("XDG_CONFIG_HOME", desk.path("config")).env("XDG_DATA_HOME", desk.path("data"));
        command.envs(how.variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let (found, address) = mpsc::channel();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on http://") {
                    let _ = found.send(address.parse().unwrap());
                }
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let address = address.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{}", log.lock().unwrap()));
        let mut server = Self { child, address, token: String::new(), log };
        server.token = std::fs::read_to_string(server.inside(&desk.path("data/tollgate/token"))).unwrap();
        server.token.truncate(server.token.trim_end().len());
        server
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A path as the server sees it, which may have mounts of its own.
    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        Path::new("/proc").join(self.pid().to_string()).join("root").join(path.strip_prefix("/").unwrap())
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends SIGTERM and waits for the exit; returns the time between.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Duration {
        let asked = self.ask_to_end();
        self.ended(asked)
    }

    /// Sends SIGTERM; returns the time of the signal.
    #[track_caller]
    pub(crate) fn ask_to_end(&self) -> Instant {
        let asked = Instant::now();
        assert!(Command::new("kill").arg(self.pid().to_string()).status().unwrap().success());
        asked
    }

    /// Waits for the exit of the process; returns the time since `begun`.
    #[track_caller]
    pub(crate) fn ended(&mut self, begun: Instant) -> Duration {
        wait_until("the server exits", || !self.is_running());
        begun.elapsed()
    }

    // Requests.

    /// Sends bytes on a connection of their own; the answer, if a whole one comes.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> Result<Answer, String> {
        exchange(self.address, bytes)
    }

    /// A request of the page of a signed-in person.
    pub(crate) fn bytes_of_person(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let token = serde_json::json!({ "token": self.token }).to_string();
        let login = self.exchange(&self.bytes("POST", "/api/auth/login", &[("authorization", "")], &token)).unwrap();
        let cookie = login.cookie.unwrap();
        let origin = format!("http://{}", self.address);
        self.bytes(method, path, &[("authorization", ""), ("cookie", &cookie), ("origin", &origin)], body)
    }

    /// A request with the headers that it needs, and more.
    pub(crate) fn bytes(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
        let (address, token) = (self.address, &self.token);
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in [("host", &*address.to_string()), ("authorization", &format!("Bearer {token}"))] {
            if !headers.iter().any(|(own, _)| *own == name) {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            if !headers.iter().any(|(own, _)| *own == "content-type") {
                text.push_str("content-type: application/json\r\n");
            }
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        text.into_bytes()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.exchange(&self.bytes("GET", path, &[], "")).unwrap()
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.exchange(&self.bytes("POST", path, &[], &body.to_string())).unwrap()
    }

    // The board.

    #[track_caller]
    pub(crate) fn add_project(&self, path: &Path) -> u64 {
        let answer = self.post("/api/projects", &json!({"path": path}));
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_u64().unwrap()
    }

    /// Adds a feature and starts the work on it.
    #[track_caller]
    pub(crate) fn begin(&self, project: u64, title: &str) -> String {
        let body = json!({"title": title, "description": title, "start": true});
        let answer = self.post(&format!("/api/projects/{project}/features"), &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn feature(&self, project: u64, id: &str) -> Value {
        let answer = self.get(&format!("/api/projects/{project}/features/{id}"));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Waits until a feature has no queued work.
    #[track_caller]
    pub(crate) fn settled(&self, project: u64, id: &str) -> Value {
        let mut feature = Value::Null;
        wait_until("a feature ends", || {
            feature = self.feature(project, id);
            feature["work"] == "nothing"
        });
        feature
    }

    /// The number of the last event.
    pub(crate) fn last_seq(&self) -> u64 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&self.bytes("GET", "/api/events", &[], "")).unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let hello = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
        serde_json::from_str::<Value>(&hello).unwrap()["seq"].as_u64().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends bytes on a connection of their own; the answer, if a whole one comes.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Result<Answer, String> {
    let mut stream = TcpStream::connect(address).map_err(|error| format!("cannot connect: {error}"))?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).map_err(|error| format!("cannot send: {error}"))?;
    read_answer(&mut stream)
}

/// Reads an answer to its end, and checks that it is whole.
pub(crate) fn read_answer(stream: &mut TcpStream) -> Result<Answer, String> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(|error| format!("cannot read: {error}"))?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.ok_or_else(|| format!("no whole answer: {:?}", String::from_utf8_lossy(&bytes)))?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
    let cookie = cookie.map(str::to_owned);
    let head = head.to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or("no status")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    match length {
        Some(length) if length != bytes.len() - end - 4 => Err(format!("cut short: {head} {body}")),
        _ => Ok(Answer { status, head, cookie, body }),
    }
}

/// Processes that have something to do with a folder.
pub(crate) fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let place = std::fs::read_link(entry.path().join("cwd")).ok().map(|place| place.display().to_string());
        let is_near = line.contains(&folder) || place.is_some_and(|place| place.starts_with(&folder));
        (is_near && pid != std::process::id()).then_some(format!("{pid} {line}"))
    });
    lines.collect()
}

/// Waits until no process of a desk is left.
#[track_caller]
pub(crate) fn nothing_is_left(desk: &Desk, when: &str) {
    wait_until(&format!("no process is left after {when}"), || processes_of(&desk.path("")).is_empty());
}
