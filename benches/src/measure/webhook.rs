//! Deliveries of GitHub: what an answer costs beside the same endpoint on bun and hono, and how many are kept a second.
//!
//! Both check the signature and read 22 kB of JSON into types. Of a push, both keep the delivery in SQLite, on the disk
//! before they answer; of a label, which asks for nothing, neither keeps anything. The server is the real program, which
//! works on none of it meanwhile.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::board::{Desk, Server, figures};
use crate::measure::{Measure, Setting};
use crate::row::{PER_SECOND, Row};

pub(super) const MEASURE: Measure = Measure { name: "webhook", take };

const SECRET: &str = "of the bench";
/// Deliveries for one figure of cost, and connections that bring them.
const N_COST: usize = 20_000;
const N_CONNECTIONS: usize = 16;
/// Deliveries in one flood, and connections that bring them: GitHub has many.
const N_FLOOD: usize = 5_000;
const N_FLOOD_CONNECTIONS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let [push, label] = ["synchronize", "labeled"].map(|action| body(action, 12));
    let (mut ours, mut light, mut durable, mut nothing) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
    let (mut rate, mut p99, mut memory) = (0.0_f64, f64::MAX, f64::MAX);
    // In turns, so that a disturbance hits all.
    for _ in 0..setting.n_runs.clamp(1, 3) {
        let desk = Desk::new()?;
        let server = start(&desk, &program, &[])?;
        ours = ours.min(cost(server.address, server.id(), &push)?);
        light = light.min(cost(server.address, server.id(), &label)?);
        let flood = load(server.address, N_FLOOD, N_FLOOD_CONNECTIONS, &[push.as_slice()])?;
        rate = rate.max(flood.rate);
        p99 = p99.min(flood.p99_ms);
        memory = memory.min(server.figures()?.memory_mb);
        drop(server);
        let peer = Peer::start(Some(&desk.path("peer.db")))?;
        durable = durable.min(cost(peer.address, peer.child.id(), &push)?);
        drop(peer);
        let peer = Peer::start(None)?;
        nothing = nothing.min(cost(peer.address, peer.child.id(), &label)?);
    }
    let row = |measure: &str, ours, peer, unit, bar| Row { measure: measure.to_owned(), ours, peer, unit, bar };
    Ok(vec![
        row("webhook, CPU, both keep it", ours, durable, "µs", 0.7),
        row("webhook, CPU, neither keeps it", light, nothing, "µs", 0.7),
        row("webhook, durable", rate, 1_000.0, PER_SECOND, 1.0),
        row("webhook, durable, p99", p99, 100.0, "ms", 1.0),
        row("webhook, 5,000, memory", memory, 150.0, "MB", 1.0),
    ])
}

/// A server with a GitHub App that never calls GitHub.
pub(super) fn start(desk: &Desk, program: &Path, more: &[&str]) -> io::Result<Server> {
    let folder = desk.path("data/tollgate/github");
    fs::create_dir_all(&folder)?;
    let card = json!({ "id": 1, "slug": "bench", "url": "http://127.0.0.1:9" }).to_string();
    let key = key()?;
    for (name, text) in [("app.json", card.as_str()), ("webhook-secret", SECRET), ("private-key.pem", &key)] {
        fs::write(folder.join(name), text)?;
    }
    let server = Server::start_with(desk, program, &[&["--no-work"], more].concat())?;
    let begun = Instant::now();
    // It takes deliveries a moment after it listens.
    while deliver(&mut connect(server.address)?, b"{}", "a-0", "ping")? != 200 {
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::other("the server takes no deliveries"));
        }
    }
    Ok(server)
}

/// A key as GitHub makes them.
fn key() -> io::Result<String> {
    let output = Command::new("openssl").args(["genrsa", "2048"]).stderr(Stdio::null()).output()?;
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

/// Microseconds of processor for one delivery.
fn cost(address: SocketAddr, id: u32, body: &[u8]) -> io::Result<f64> {
    load(address, N_COST / 10, N_CONNECTIONS, &[body])?;
    let before = figures(id)?.cpu_ms;
    load(address, N_COST, N_CONNECTIONS, &[body])?;
    Ok((figures(id)?.cpu_ms - before) * 1e3 / N_COST as f64)
}

/// The result of many deliveries.
pub(super) struct Load {
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// Brings so many deliveries, each of its own and with the bodies in turn, and all of them must be taken.
pub(super) fn load<B: AsRef<[u8]> + Sync>(
    address: SocketAddr,
    n: usize,
    n_connections: usize,
    bodies: &[B],
) -> io::Result<Load> {
    let run = another_number();
    let begun = Instant::now();
    let mut delays = std::thread::scope(|scope| {
        let bring = |number: usize| {
            let mut stream = connect(address)?;
            let mut delays = Vec::with_capacity(n / n_connections);
            for index in 0..n / n_connections {
                let body = bodies[(number + index * n_connections) % bodies.len()].as_ref();
                let at = Instant::now();
                let status = deliver(&mut stream, body, &format!("{run:x}-{number:x}-{index:x}"), "pull_request")?;
                if status != 202 {
                    return Err(io::Error::other(format!("a delivery was answered with {status}")));
                }
                delays.push(at.elapsed().as_secs_f64() * 1e3);
            }
            Ok::<_, io::Error>(delays)
        };
        let threads: Vec<_> = (0..n_connections).map(|number| scope.spawn(move || bring(number))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| io::Error::other("a client gave up"))??);
        }
        Ok::<_, io::Error>(all)
    })?;
    let rate = delays.len() as f64 / begun.elapsed().as_secs_f64();
    delays.sort_by(f64::total_cmp);
    Ok(Load { rate, p50_ms: delays[delays.len() / 2], p99_ms: delays[delays.len() * 99 / 100] })
}

/// Another number for each run, so that no delivery is known.
fn another_number() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let tcp = TcpStream::connect(address)?;
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(tcp))
}

/// Sends one, and reads the response.
fn deliver(stream: &mut BufReader<TcpStream>, body: &[u8], guid: &str, event: &str) -> io::Result<u16> {
    let hash = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).map_err(io::Error::other)?;
    let hash = hash.chain_update(body).finalize().into_bytes();
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let head = format!(
        "POST /webhooks/github HTTP/1.1\r\nhost: tollgate.example\r\ncontent-type: application/json\r\n\
         user-agent: GitHub-Hookshot/044aadd\r\nx-github-event: {event}\r\nx-github-delivery: {guid}\r\n\
         x-hub-signature-256: sha256={hex}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let request = [head.as_bytes(), body].concat();
    stream.get_mut().write_all(&request)?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let mut length = 0;
    while line.trim_end() != "" {
        line.clear();
        stream.read_line(&mut line)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    status.ok_or_else(|| io::Error::other("no answer"))
}

/// The same endpoint on bun and hono, ended when this is dropped.
struct Peer {
    child: Child,
    address: SocketAddr,
}

impl Peer {
    fn start(file: Option<&Path>) -> io::Result<Self> {
        let folder = folder()?;
        let script = folder.join("tollgate-webhook.ts");
        fs::write(&script, include_str!("webhook/peer.ts"))?;
        let mut command = Command::new(folder.join("node_modules/.bin/bun"));
        command.arg("run").arg(&script).current_dir(&folder).env("SECRET", SECRET).env("NODE_ENV", "production");
        command.envs(file.map(|file| ("FILE", file)));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("nothing to read"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| io::Error::other("the peer said no address"))?;
        Ok(Self { child, address })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where bun and hono are.
fn folder() -> io::Result<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let folder = std::env::var_os("TOLLGATE_CACHE").map_or(home.join(".cache/tollgate"), PathBuf::from).join("bun");
    if folder.join("node_modules/.bin/bun").exists() && folder.join("node_modules/hono").exists() {
        return Ok(folder);
    }
    let install = format!("`npm install --prefix {} bun hono`", folder.display());
    Err(io::Error::new(io::ErrorKind::NotFound, format!("bun and hono are not installed: {install}")))
}

/// What GitHub sends, as it is on the wire.
pub(super) fn body(action: &str, number: u64) -> Vec<u8> {
    payload(action, number).to_string().into_bytes()
}

/// A delivery of GitHub about a pull request: 22 kB, most of them URLs.
fn payload(action: &str, number: u64) -> Value {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let user = json!({
        "login": "octocat", "id": 583_231, "node_id": "MDQ6VXNlcjU4MzIzMQ==", "type": "User", "site_admin": false,
        "avatar_url": "https://avatars.githubusercontent.com/u/583231?v=4", "gravatar_id": "",
        "urls": addresses("https://api.github.com/users/octocat", 13),
    });
    let repository = json!({
        "id": 1_296_269, "node_id": "MDEwOlJlcG9zaXRvcnkxMjk2MjY5", "name": "shop", "full_name": "octocat/shop",
        "private": false, "owner": user, "description": "A shop \u{1f6d2} with \"quotes\" and\nlines", "fork": false,
        "urls": addresses("https://api.github.com/repos/octocat/shop", 46), "default_branch": "main", "size": 108,
        "created_at": "2011-01-26T19:01:12Z", "topics": ["octocat", "atom"], "license": null, "forks": 9,
    });
    let side = |name: &str| json!({ "label": format!("octocat:{name}"), "ref": name, "sha": sha, "user": user, "repo": repository });
    json!({
        "action": action, "number": number, "before": sha, "after": sha,
        "pull_request": {
            "id": 1, "number": number, "state": "open", "locked": false, "title": "feat: carts", "user": user,
            "body": "Adds carts.\n\n- totals\n- taxes\n".repeat(20), "draft": false, "merged": false,
            "head": side("carts"), "base": side("main"), "commits": 3, "additions": 100, "changed_files": 5,
            "urls": addresses("https://api.github.com/repos/octocat/shop/pulls/12", 12),
        },
        "repository": repository, "sender": user, "installation": { "id": 99, "node_id": "MDIzOkluc3RhbGxhdGlvbjk5" },
    })
}

fn addresses(base: &str, n: usize) -> Value {
    let address = |index: usize| (format!("part_{index}_url"), Value::from(format!("{base}/part-{index}{{/number}}")));
    Value::Object((0..n).map(address).collect())
}
