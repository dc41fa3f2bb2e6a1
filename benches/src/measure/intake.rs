//! Deliveries of GitHub that are kept on PostgreSQL, beside a bare server on axum with one insert for each.
//!
//! The same clients bring the same bodies to both, and both answer once it is on the disk, over as many connections to the
//! same server. The bare one reads the body and looks at nothing; ours checks the signature, reads 22 kB into types, stores
//! the delivery and the queued job, in one transaction.

use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio_postgres::{Client, Statement};

use super::webhook::{self, Load, load};
use crate::board::Desk;
use crate::measure::{Measure, Setting};
use crate::postgres::{Host, client, median};
use crate::row::{PER_SECOND, Row};

pub(super) const MEASURE: Measure = Measure { name: "intake", take };

/// The word that makes this program the bare server.
pub(crate) const BARE: &str = "__bare";

/// How many bring deliveries at once, how many, and what part of the bare server's rate is wanted.
const CLIENTS: [(usize, usize, f64); 3] = [(1, 200, 0.4), (16, 1_600, 0.4), (64, 3_200, 0.4)];
/// The deliveries are about so many pull requests.
const N_PULLS: u64 = 200;
/// So many connections write for our server; the bare one has as many.
const N_CONNECTIONS: usize = 3;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let host = Host::find("intake")?;
    let program = setting.program()?;
    let bodies: Vec<_> = (1..=N_PULLS).map(|number| webhook::body("synchronize", number)).collect();
    let mut all: [[Vec<Load>; 2]; 3] = Default::default();
    for round in 0..setting.n_runs.clamp(1, 5) {
        // In turns, and each is first at times.
        for place in 0..2 {
            let is_ours = (round + place) % 2 == 0;
            let loads = if is_ours { ours(&host, &program, &bodies)? } else { bare(&host, &bodies)? };
            for (all, load) in all.iter_mut().zip(loads) {
                all[usize::from(!is_ours)].push(load);
            }
        }
    }
    let mut rows = Vec::new();
    for ((n_clients, _, bar), loads) in CLIENTS.into_iter().zip(all) {
        let mut row = |what: &str, of: fn(&Load) -> f64, unit, bar| {
            let [ours, peer] = loads.each_ref().map(|loads| median(loads.iter().map(of).collect()));
            rows.push(Row { measure: format!("intake, {n_clients}{what}"), ours, peer, unit, bar });
        };
        row(" at once", |load| load.rate, PER_SECOND, bar);
        row(", median", |load| load.p50_ms, "ms", f64::INFINITY);
        row(", p99", |load| load.p99_ms, "ms", f64::INFINITY);
    }
    Ok(rows)
}

/// What our server does under each number of clients.
fn ours(host: &Host, program: &Path, bodies: &[Vec<u8>]) -> io::Result<Vec<Load>> {
    let (scratch, desk) = (host.scratch()?, Desk::new()?);
    let server = webhook::start(&desk, program, &["--database", &scratch.address])?;
    loads(server.address, bodies)
}

/// What the bare server does.
fn bare(host: &Host, bodies: &[Vec<u8>]) -> io::Result<Vec<Load>> {
    let scratch = host.scratch()?;
    scratch.batch("CREATE TABLE delivery (guid TEXT PRIMARY KEY, event TEXT NOT NULL, n_bytes BIGINT NOT NULL)")?;
    let server = Bare::start(&scratch.address)?;
    loads(server.address, bodies)
}

fn loads(address: SocketAddr, bodies: &[Vec<u8>]) -> io::Result<Vec<Load>> {
    // So that connections and statements are there.
    load(address, 64, 16, bodies)?;
    CLIENTS.iter().map(|(n_clients, n, _)| load(address, *n, *n_clients, bodies)).collect()
}

/// The bare server in a process of its own, ended when this is dropped.
struct Bare {
    child: Child,
    address: SocketAddr,
}

impl Bare {
    fn start(database: &str) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args([BARE, database]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("nothing to read"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        match line.trim().parse() {
            Ok(address) => Ok(Self { child, address }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(io::Error::other("the bare server said no address"))
            }
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the bare server has: connections, each with its statement.
struct Pool {
    connections: Vec<(Client, Statement)>,
    next: AtomicUsize,
}

/// The bare server; prints where it listens.
pub(crate) fn serve(database: &str) -> ExitCode {
    let served = tokio::runtime::Runtime::new().and_then(|runtime| runtime.block_on(serve_at(database)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

async fn serve_at(database: &str) -> io::Result<()> {
    let mut connections = Vec::new();
    for _ in 0..N_CONNECTIONS {
        let client = client(database).await?;
        let sql = "INSERT INTO delivery (guid, event, n_bytes) VALUES ($1, $2, $3)";
        let statement = client.prepare(sql).await.map_err(io::Error::other)?;
        connections.push((client, statement));
    }
    let pool = Arc::new(Pool { connections, next: AtomicUsize::new(0) });
    let app = Router::new().route("/webhooks/github", post(keep)).with_state(pool);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    axum::serve(listener, app).await
}

async fn keep(State(pool): State<Arc<Pool>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (client, insert) = &pool.connections[pool.next.fetch_add(1, Ordering::Relaxed) % pool.connections.len()];
    let (guid, event) = (header("x-github-delivery"), header("x-github-event"));
    match client.execute(insert, &[&guid, &event, &(body.len() as i64)]).await {
        Ok(_) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
