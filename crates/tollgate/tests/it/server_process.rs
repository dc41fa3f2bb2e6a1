//! The program as an operator uses it: a server in a process of its own, commands beside it, and its API.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::Value;

use crate::desk::Desk;
use crate::scratch::{Ran, program};
use crate::wait::{DEADLINE, wait_for, wait_until};

/// The program, ready to run with what a desk has.
pub(crate) fn command(desk: &Desk, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).current_dir(desk.path("project")).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", desk.path("home")).env("USER", "ada");
    command.envs(desk.address().map(|address| ("TOLLGATE_STORE_DATABASE", address)));
    command.env("XDG_CONFIG_HOME", desk.path("config")).env("XDG_DATA_HOME", desk.path("data"));
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end, which must come.
#[track_caller]
pub(crate) fn tollgate(desk: &Desk, args: &[&str]) -> Ran {
    let mut child = command(desk, args).spawn().unwrap();
    let (stdout, stderr) = (gather(child.stdout.take().unwrap()), gather(child.stderr.take().unwrap()));
    let code = wait(&mut child);
    Ran { code: code.unwrap_or(-1), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Reads what a child says to its end, beside everything else.
fn gather(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a child; one that does not end is ended, and the test fails.
#[track_caller]
fn wait(child: &mut Child) -> Option<i32> {
    wait_for("the exit of a child process", || child.try_wait().unwrap()).code()
}

/// Waits until there is something in a file.
#[track_caller]
pub(crate) fn appears(path: &Path) {
    wait_until(&path.display().to_string(), || !std::fs::read(path).unwrap_or_default().is_empty());
}

/// The first line that a child says, within a while.
#[track_caller]
pub(crate) fn first_line(child: &mut Child) -> String {
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, line) = mpsc::channel();
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).for_each(|line| _ = sender.send(line)));
    let line = line.recv_timeout(DEADLINE);
    if line.is_err() {
        let _ = child.kill();
    }
    line.unwrap()
}

/// Puts the desk's project on the board.
pub(crate) fn add_project(desk: &Desk) {
    tollgate(desk, &["project", "add", ".", "--ignore"]).expect(0);
}

/// Adds a feature and returns its name.
#[track_caller]
pub(crate) fn add(desk: &Desk, title: &str, more: &[&str]) -> String {
    let args = [&["feature", "add", title, "--format", "json"], more].concat();
    let value: Value = serde_json::from_str(&tollgate(desk, &args).expect(0)).unwrap();
    value["id"].as_str().unwrap().to_owned()
}

/// A feature as `show` gives it to programs.
#[track_caller]
pub(crate) fn show(desk: &Desk, id: &str) -> Value {
    let shown = tollgate(desk, &["feature", "show", id, "--format", "json", "--history"]).expect(0);
    serde_json::from_str(&shown).unwrap()
}

/// Where a feature is, in one line: status, why it waits, how its reviews ended.
#[track_caller]
pub(crate) fn place(desk: &Desk, id: &str) -> String {
    let shown = show(desk, id);
    let outcomes = shown["iterations"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap());
    let outcomes = outcomes.collect::<Vec<_>>().join(" ");
    let paused = shown["paused"]["reason"].as_str().unwrap_or("-");
    format!("{} {paused} [{outcomes}]", shown["status"].as_str().unwrap())
}

/// A server that ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    /// All that it said.
    pub(crate) said: Vec<String>,
    pub(crate) address: String,
}

impl Server {
    /// Starts the server of a desk and waits until it listens.
    #[track_caller]
    pub(crate) fn start(desk: &Desk) -> Self {
        Self::start_with(desk, &[])
    }

    #[track_caller]
    pub(crate) fn start_with(desk: &Desk, more: &[&str]) -> Self {
        Self::of(command(desk, &[&["serve", "--listen", "127.0.0.1:0"], more].concat()))
    }

    /// Starts a server as it is given, and waits until it listens.
    #[track_caller]
    pub(crate) fn of(command: Command) -> Self {
        let mut server = Self::spawn(command);
        let line = server.hears("listening on http://");
        server.address = line.rsplit('/').next().unwrap().to_owned();
        server
    }

    /// Starts a worker, which listens nowhere, and waits until it works.
    #[track_caller]
    pub(crate) fn worker(desk: &Desk, more: &[&str]) -> Self {
        let mut worker = Self::spawn(command(desk, &[&["worker"], more].concat()));
        worker.hears("working on what ");
        worker
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        // Drained, so that the server never blocks on a full pipe.
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| _ = sender.send(line)));
        Self { child, lines, said: Vec::new(), address: String::new() }
    }

    /// Waits for a line that holds a text, and gives it back.
    #[track_caller]
    pub(crate) fn hears(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("`{text}` was not said; instead:\n{}", self.said.join("\n")),
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends SIGTERM and waits for the exit; returns the exit code and the log.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let code = self.wait();
        self.said.extend(self.lines.iter());
        (code, self.said.join("\n"))
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        wait(&mut self.child)
    }

    /// Kills it without a warning.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends an API request; returns the status and the body.
    #[track_caller]
    pub(crate) fn ask(&self, desk: &Desk, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect(desk, method, path, body);
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Asks the API for JSON that must come with this status.
    #[track_caller]
    pub(crate) fn json(&self, desk: &Desk, method: &str, path: &str, body: &str, status: u16) -> Value {
        let (found, text) = self.ask(desk, method, path, body);
        assert_eq!(found, status, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
    }

    /// Sends a request, and leaves the answer to be read.
    pub(crate) fn connect(&self, desk: &Desk, method: &str, path: &str, body: &str) -> TcpStream {
        let token = std::fs::read_to_string(desk.path("data/tollgate/token")).unwrap();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let host = &self.address;
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\nconnection: close\r\n{kind}\
             content-length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
