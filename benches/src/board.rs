//! A board as an operator has it: a project with features in files, and the program that serves it.
//!
//! The folder is beside this program, where there is a disk; temporary files may be in memory, where nothing is durable.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene;

/// How long the server has to listen, and to answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most bytes of a diff that stand in a feature's file.
const INLINE: usize = 64 * 1024;

/// A project, and the folders of an operator.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    /// A project with one commit and no features.
    pub(crate) fn new() -> io::Result<Self> {
        let beside = std::env::current_exe()?;
        let desk = Self { folder: tempfile::tempdir_in(beside.parent().unwrap_or(Path::new(".")))? };
        for name in ["home", "config/tollgate", "data/tollgate", "project"] {
            fs::create_dir_all(desk.path(name))?;
        }
        fs::write(desk.path("project/a.js"), "export const one = 1;\n")?;
        desk.git(&["init", "-q", "-b", "main"])?;
        desk.git(&["config", "user.name", "a"])?;
        desk.git(&["config", "user.email", "a@example.com"])?;
        desk.git(&["add", "a.js"])?;
        desk.git(&["commit", "-q", "-m", "first"])?;
        Ok(desk)
    }

    /// A folder or file of it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs git in the project.
    pub(crate) fn git(&self, args: &[&str]) -> io::Result<String> {
        scene::git(&self.path("project"), args)
    }

    /// Where the files of features are.
    pub(crate) fn features(&self) -> PathBuf {
        self.path("project/.automaker/features")
    }

    /// Writes so many features with three reviews each, every one with a diff of so many bytes.
    pub(crate) fn fill(&self, n_features: usize, diff_bytes: usize) -> io::Result<()> {
        for index in 0..n_features {
            let id = format!("feature-{}-bench", 1_767_960_000_000 + index as u64);
            let folder = self.features().join(&id);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("feature.json"), format!("{:#}", feature(&id, index, diff_bytes)))?;
        }
        Ok(())
    }

    /// The program as the operator runs it.
    pub(crate) fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path("project")).stdin(Stdio::null());
        command.env("HOME", self.path("home"));
        command.env("XDG_CONFIG_HOME", self.path("config")).env("XDG_DATA_HOME", self.path("data"));
        command
    }

    /// Runs the program to its end; returns its output and duration.
    pub(crate) fn run(&self, program: &Path, args: &[&str]) -> io::Result<(String, Duration)> {
        let begun = Instant::now();
        let output = self.command(program, args).output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("`tollgate {}` failed: {}", args.join(" "), why.trim())));
        }
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), begun.elapsed()))
    }

    /// Puts the project on the board; says how long that took.
    pub(crate) fn add_project(&self, program: &Path) -> io::Result<Duration> {
        Ok(self.run(program, &["project", "add", "."])?.1)
    }
}

fn feature(id: &str, index: usize, diff_bytes: usize) -> Value {
    let line = "+    const answer = await service.ask(question, { retries: 3, timeout: 5000 });\n";
    let diff: String = line.chars().cycle().take(diff_bytes.min(INLINE)).collect();
    let is_cut = diff_bytes > INLINE;
    let iteration = |number: u32| {
        let mut iteration = json!({
            "iterationNumber": number, "reviewedAt": "2026-01-09T14:22:00.000Z", "reviewedByModel": "claude-opus-4-5",
            "reviewedByProvider": "anthropic", "status": "rejected",
            "gitCommitHash": "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4", "gitDiff": diff,
            "findings": [{
                "category": "code", "severity": "error", "title": "The answer is used before it is checked",
                "description": "What the service says may be empty.", "file": "src/ask.ts", "line": 45,
            }],
            "overallSummary": "Implementation lacks error handling.", "rejectionReason": "Errors are not handled.",
            "reviewFile": format!("code-review-iteration-{number}.md"),
        });
        if is_cut {
            iteration["gitDiffTruncated"] = json!(true);
            iteration["gitDiffFile"] = json!(format!("code-review-iteration-{number}.diff"));
            iteration["gitDiffBytes"] = json!(diff_bytes);
        }
        iteration
    };
    json!({
        "category": "Uncategorized",
        "description": format!("Feature {index} does what somebody asked for.\n\n- it must not fail\n- it should be fast"),
        "title": format!("Feature {index} does what somebody asked for"), "images": [], "skipTests": true,
        "priority": 2, "status": "waiting_approval", "dependencies": [], "id": id,
        "createdAt": "2026-01-09T14:00:00.000Z", "updatedAt": "2026-01-09T14:30:00.000Z",
        "codeReviewSpec": {
            "status": "approved", "currentIteration": 3, "maxIterations": 3,
            "iterations": [iteration(1), iteration(2), iteration(3)],
        },
    })
}

/// What a process has used and has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) cpu_ms: f64,
    pub(crate) memory_mb: f64,
}

/// `tollgate serve`, ended when this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    /// From the start of the process to its first answer that it is ready.
    pub(crate) ready: Duration,
}

impl Server {
    /// Starts the program, and waits until it says that it is ready.
    pub(crate) fn start(desk: &Desk, program: &Path) -> io::Result<Self> {
        Self::start_with(desk, program, &[])
    }

    /// The same, with more on the command line.
    pub(crate) fn start_with(desk: &Desk, program: &Path, more: &[&str]) -> io::Result<Self> {
        let begun = Instant::now();
        let mut command = desk.command(program, &[&["serve", "--listen", "127.0.0.1:0"], more].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or_else(|| io::Error::other("nothing to read"))?;
        let mut lines = BufReader::new(stderr).lines();
        let address = loop {
            let Some(line) = lines.next() else { return Err(io::Error::other("the server ended")) };
            if let Some(address) = line?.strip_prefix("listening on http://") {
                break address.parse().map_err(|_| io::Error::other("the server said no address"))?;
            }
        };
        // Read on, so that the program never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let mut server = Self { child, address, token: String::new(), ready: Duration::ZERO };
        while server.client()?.get("/readyz")?.status != 200 {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("the server did not become ready"));
            }
        }
        server.ready = begun.elapsed();
        server.token = fs::read_to_string(desk.path("data/tollgate/token"))?.trim().to_owned();
        Ok(server)
    }

    /// A connection to it.
    pub(crate) fn client(&self) -> io::Result<Client> {
        let tcp = TcpStream::connect(self.address)?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        let head = format!("host: {}\r\nauthorization: Bearer {}\r\n", self.address, self.token);
        Ok(Client { stream: BufReader::new(tcp), head })
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its CPU time and memory.
    pub(crate) fn figures(&self) -> io::Result<Figures> {
        figures(self.child.id())
    }

    /// How many times its threads have gone to sleep by themselves: as many wake-ups.
    pub(crate) fn n_wakes(&self) -> io::Result<u64> {
        let mut n_wakes = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let status = fs::read_to_string(thread?.path().join("status"))?;
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            n_wakes += count.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(n_wakes)
    }

    /// The same once its start is over and its CPU time stands still.
    pub(crate) fn at_rest(&self) -> io::Result<Figures> {
        let begun = Instant::now();
        let mut last = self.figures()?;
        loop {
            std::thread::sleep(Duration::from_secs(2));
            let now = self.figures()?;
            if now.cpu_ms - last.cpu_ms < 60.0 || begun.elapsed() > PATIENCE {
                return Ok(now);
            }
            last = now;
        }
    }

    /// A figure of `/metrics`.
    pub(crate) fn metric(&self, name: &str) -> io::Result<f64> {
        let body = self.client()?.get("/metrics")?.body;
        let text = String::from_utf8_lossy(&body);
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.ok_or_else(|| io::Error::other(format!("there is no `{name}` in the metrics")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process has used and has.
pub(crate) fn figures(id: u32) -> io::Result<Figures> {
    let odd = || io::Error::other("cannot read what the server uses");
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // After the name in brackets, user and system time are the 12th and 13th, in hundredths of a second.
    let times = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(11).take(2));
    let ticks: f64 = times.ok_or_else(odd)?.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or_else(odd)?;
    let kilobytes: f64 = resident.trim().trim_end_matches(" kB").parse().map_err(|_| odd())?;
    Ok(Figures { cpu_ms: ticks * 10.0, memory_mb: kilobytes / 1024.0 })
}

/// A connection that is kept.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

/// An HTTP response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> io::Result<Value> {
        serde_json::from_slice(&self.body).map_err(io::Error::other)
    }
}

impl Client {
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask("GET", path, None)
    }

    /// Asks, and reads the whole answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> io::Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}",
            self.head
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no answer"))?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            is_chunked |= line.starts_with("transfer-encoding:");
        }
        let body = if is_chunked { self.chunks()? } else { self.bytes(length)? };
        Ok(Answer { status, body })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).map_err(io::Error::other)?;
            body.extend(self.bytes(length)?);
            self.line()?;
            if length == 0 {
                return Ok(body);
            }
        }
    }
}
