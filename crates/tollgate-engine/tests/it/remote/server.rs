//! A real git server: `git http-backend` behind a minimal HTTP server, with a log of requests.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A server on loopback, stopped when dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    root: PathBuf,
    /// The required `Authorization` header.
    authorization: Option<String>,
    log: Mutex<Vec<String>>,
    behaviour: Mutex<Behaviour>,
    is_over: AtomicBool,
}

/// The reaction to a request for a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Sends it.
    Good,
    /// Speaks protocol version 0 only, which serves nothing but references by default.
    Old,
    /// Sends this many bytes and then stalls without closing the connection.
    Stalls(usize),
    /// Sends this many bytes and closes the connection.
    HangsUp(usize),
    /// Redirects.
    Redirects,
    /// Fails with an error.
    Fails,
}

impl Server {
    /// Serves the repositories below a directory.
    pub(crate) fn start(root: &Path, authorization: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            authorization: authorization.map(str::to_owned),
            log: Mutex::default(),
            behaviour: Mutex::new(Behaviour::Good),
            is_over: AtomicBool::new(false),
        });
        let ours = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ours.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&ours);
                std::thread::spawn(move || shared.answer(stream));
            }
        });
        Self { url: format!("http://{address}"), address, shared, thread: Some(thread) }
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// The requests since the last call, one line each.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.log.lock().unwrap())
    }

    /// The number of requested packs since the last call.
    pub(crate) fn n_packs(&self) -> usize {
        self.log().iter().filter(|line| line.starts_with("POST")).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

impl Shared {
    fn answer(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut first = String::new();
        reader.read_line(&mut first).ok()?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        self.log.lock().unwrap().push(format!("{method} {target}"));
        let body = match header("content-length") {
            Some(length) => {
                let mut body = vec![0; length.parse().ok()?];
                reader.read_exact(&mut body).ok()?;
                body
            }
            None if header("transfer-encoding") == Some("chunked") => chunked(&mut reader)?,
            None => Vec::new(),
        };
        let behaviour = *self.behaviour.lock().unwrap();
        let answer = if self.authorization.as_deref().is_some_and(|wanted| header("authorization") != Some(wanted)) {
            b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n".to_vec()
        } else {
            match behaviour {
                Behaviour::Redirects => {
                    let elsewhere = format!("http://{}/elsewhere{target}", header("host")?);
                    format!("HTTP/1.1 301 Moved\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n").into_bytes()
                }
                Behaviour::Fails => b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".to_vec(),
                _ => self.backend(&method, &target, &header, &body)?,
            }
        };
        send(stream, &answer, if method == "POST" { behaviour } else { Behaviour::Good })
    }

    /// Runs `git http-backend`.
    fn backend<'a>(
        &self,
        method: &str,
        target: &str,
        header: &dyn Fn(&str) -> Option<&'a str>,
        body: &[u8],
    ) -> Option<Vec<u8>> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut command = Command::new("git");
        command.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH")?);
        command.envs([("GIT_HTTP_EXPORT_ALL", "1"), ("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", "/nonexistent")]);
        command.env("GIT_PROJECT_ROOT", &self.root).env("REQUEST_METHOD", method).env("PATH_INFO", path);
        command.env("QUERY_STRING", query).env("CONTENT_LENGTH", body.len().to_string());
        command.env("CONTENT_TYPE", header("content-type").unwrap_or_default());
        command.env("HTTP_CONTENT_ENCODING", header("content-encoding").unwrap_or_default());
        if *self.behaviour.lock().unwrap() != Behaviour::Old {
            command.env("GIT_PROTOCOL", header("git-protocol").unwrap_or_default());
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut stdin = child.stdin.take()?;
        let body = body.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output().ok()?.stdout;
        let _ = writer.join();
        let end = output.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&output[..end]);
        let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let others: Vec<&str> = head.lines().filter(|line| !line.starts_with("Status: ")).collect();
        let content = &output[end + 4..];
        let head = format!("HTTP/1.1 {status}\r\n{}\r\nContent-Length: {}\r\n", others.join("\r\n"), content.len());
        Some([head.as_bytes(), b"Connection: close\r\n\r\n", content].concat())
    }
}

fn send(mut stream: TcpStream, answer: &[u8], behaviour: Behaviour) -> Option<()> {
    match behaviour {
        Behaviour::Stalls(n_bytes) => {
            stream.write_all(&answer[..n_bytes.min(answer.len())]).ok()?;
            // Until the client closes the connection.
            let _ = stream.read(&mut [0; 1]);
        }
        Behaviour::HangsUp(n_bytes) => stream.write_all(&answer[..n_bytes.min(answer.len())]).ok()?,
        Behaviour::Good | Behaviour::Old | Behaviour::Redirects | Behaviour::Fails => stream.write_all(answer).ok()?,
    }
    Some(())
}

fn chunked(reader: &mut impl std::io::BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}
