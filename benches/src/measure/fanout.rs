//! An event to 5,000 clients: what the server's process spends on each message it delivers, and the memory it has then.
//!
//! The clients are plain connections in this process that read frames and count them. Events come one at a time, each
//! from a change of a feature, so that none is sent together with the next.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::board::{Desk, Server};
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::socket::{self, Socket};

pub(super) const MEASURE: Measure = Measure { name: "fanout", take };

const N_CLIENTS: usize = 5_000;
const N_EVENTS: u64 = 100;
/// How long all clients have for one event.
const PATIENCE: Duration = Duration::from_secs(30);

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let desk = Desk::new()?;
    desk.fill(1, 0)?;
    desk.add_project(&program)?;
    let server = Server::start(&desk, &program)?;
    let feature = socket::features(&server)?.pop().ok_or_else(|| io::Error::other("there is no feature"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let n_got = Arc::new(AtomicU64::new(0));
    let idle = server.at_rest()?;
    runtime.block_on(async {
        for _ in 0..N_CLIENTS {
            let socket = Socket::open(&server, None).await?;
            tokio::spawn(count(socket, Arc::clone(&n_got)));
        }
        // Each has been told hello.
        reach(&n_got, N_CLIENTS as u64).await
    })?;
    let before = server.figures()?;
    let mut client = server.client()?;
    for number in 1..=N_EVENTS {
        let answer = client.ask("PATCH", &feature, Some(&json!({ "priority": 1 + number % 3 })))?;
        if answer.status != 200 {
            return Err(io::Error::other("the feature was not changed"));
        }
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

async fn count(mut socket: Socket, n_got: Arc<AtomicU64>) {
    while socket.text().await.is_some() {
        n_got.fetch_add(1, Ordering::Relaxed);
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
