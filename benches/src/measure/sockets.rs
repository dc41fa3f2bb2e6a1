//! A busy board: 500 clients that listen while 50 changes a second are made through HTTP, for a minute; then 50 more
//! that read nothing.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::board::{Desk, Server};
use crate::measure::{Measure, Setting};
use crate::row::{PER_SECOND, Row};
use crate::socket::{self, Socket};

pub(super) const MEASURE: Measure = Measure { name: "sockets", take };

const N_CLIENTS: usize = 500;
const N_STALLED: usize = 50;
/// So many write at once, each every tenth of a second.
const N_WRITERS: usize = 5;
const WRITE_EVERY: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);
/// Bytes that the system keeps for a client that takes nothing.
const RECEIVE_BUFFER: u32 = 4096;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let desk = Desk::new()?;
    desk.fill(N_WRITERS, 0)?;
    desk.add_project(&program)?;
    let server = Server::start(&desk, &program)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let delays = Arc::new(Delays::default());
    for _ in 0..N_CLIENTS {
        let socket = runtime.block_on(Socket::open(&server, None))?;
        runtime.spawn(follow(socket, Arc::clone(&delays)));
    }
    let (writing, n_written) = (AtomicBool::new(true), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for path in socket::features(&server)? {
            let (server, writing, n_written) = (&server, &writing, &n_written);
            scope.spawn(move || write(server, &path, writing, n_written));
        }
        let measured = measure(&server, &runtime, &delays, &n_written);
        writing.store(false, Ordering::Relaxed);
        measured
    })
}

fn measure(
    server: &Server,
    runtime: &tokio::runtime::Runtime,
    delays: &Delays,
    n_written: &AtomicU64,
) -> io::Result<Vec<Row>> {
    let (before, begun) = (server.figures()?, Instant::now());
    std::thread::sleep(MINUTE);
    let after = server.figures()?;
    let seconds = begun.elapsed().as_secs_f64();
    let cores = (after.cpu_ms - before.cpu_ms) / 1e3 / seconds;
    let rate = n_written.load(Ordering::Relaxed) as f64 / seconds;
    let mut delays = std::mem::take(&mut *delays.0.lock().unwrap_or_else(PoisonError::into_inner));
    delays.sort_unstable();
    let n_expected = rate * seconds * N_CLIENTS as f64;
    let p99 = *delays.get(delays.len() * 99 / 100).ok_or_else(|| io::Error::other("no event came"))?;
    let (dropped, grown) = stall(server, runtime)?;
    let row = |measure: &str, ours, peer, unit, bar| Row { measure: measure.to_owned(), ours, peer, unit, bar };
    Ok(vec![
        row("sockets, 500, delay, p99", f64::from(p99), 250.0, "ms", 1.0),
        row("sockets, 500, processor", cores, 1.0, "cores", 1.0),
        // The last ones may still be on their way.
        row("sockets, 500, events missing", n_expected, delays.len() as f64, "", 1.02),
        row("sockets, 500, events too many", delays.len() as f64, n_expected, "", 1.02),
        row("sockets, changes", rate, 50.0, PER_SECOND, 0.9),
        row("sockets, 50 stalled, cut off", dropped, 30.0, "s", 1.0),
        row("sockets, 50 stalled, memory", grown, 64.0, "MB", 1.0),
    ])
}

/// Seconds until clients that read nothing are disconnected, and by how many megabytes the server grew at most.
fn stall(server: &Server, runtime: &tokio::runtime::Runtime) -> io::Result<(f64, f64)> {
    let before = server.figures()?.memory_mb;
    let mut stalled = Vec::new();
    for _ in 0..N_STALLED {
        stalled.push(runtime.block_on(Socket::open(server, Some(RECEIVE_BUFFER)))?);
    }
    let (begun, mut most) = (Instant::now(), before);
    while server.metric("tollgate_listeners ")? > N_CLIENTS as f64 && begun.elapsed() < 2 * MINUTE {
        most = most.max(server.figures()?.memory_mb);
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok((begun.elapsed().as_secs_f64(), most - before))
}

/// Changes a feature again and again, as long as it is to.
fn write(server: &Server, path: &str, writing: &AtomicBool, n_written: &AtomicU64) {
    let Ok(mut client) = server.client() else { return };
    let mut next = Instant::now();
    for number in 0_u64.. {
        if !writing.load(Ordering::Relaxed) {
            return;
        }
        match client.ask("PATCH", path, Some(&json!({ "priority": 1 + number % 3 }))) {
            Ok(answer) if answer.status == 200 => n_written.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
        next += WRITE_EVERY;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Milliseconds from each event to each client.
#[derive(Default)]
struct Delays(Mutex<Vec<u32>>);

/// Notes how late each event comes.
async fn follow(mut socket: Socket, delays: Arc<Delays>) {
    while let Some(text) = socket.text().await {
        if let Some(late) = delay(text) {
            delays.0.lock().unwrap_or_else(PoisonError::into_inner).push(late);
        }
    }
}

/// Milliseconds since the time that an event ends with: `…T14:22:00.000Z"}`.
fn delay(frame: &[u8]) -> Option<u32> {
    let time = frame.strip_suffix(b"Z\"}")?;
    let time = std::str::from_utf8(time.get(time.len().checked_sub(12)?..)?).ok()?;
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<u64>().ok();
    let seconds = (part(0, 2)? * 60 + part(3, 5)?) * 60 + part(6, 8)?;
    let at_ms = seconds * 1000 + part(9, 12)?;
    let now_ms = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()? % DAY_MS;
    u32::try_from((now_ms + DAY_MS - at_ms) % DAY_MS).ok()
}
