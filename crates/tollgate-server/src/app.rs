//! What all routes share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::desk::{Answer, Desk};
use crate::events::Hub;
use crate::guard::Names;
use crate::mcp::Mcp;
use crate::metrics::Metrics;
use crate::problem::{self, Problem};
use crate::routes::{Pending, Room};

/// How much of everything there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. When they are used up, the oldest that does nothing has to go.
    pub connections: usize,
    /// Sockets and event streams at once.
    pub listeners: usize,
    /// Calls to the board at once.
    pub calls: usize,
    /// How long the head of a request may take, and how long a connection may do nothing.
    pub head: Duration,
    /// How long the body of a request may take.
    pub body: Duration,
    /// How many bytes the body of a request may have.
    pub body_bytes: usize,
    /// Deliveries of a code host that come in at once.
    pub deliveries: usize,
    /// How many bytes one of them may have.
    pub delivery_bytes: usize,
    /// How many bytes of them are held at once.
    pub deliveries_bytes: usize,
    /// How long an answer may take.
    pub answer: Duration,
    /// How long a client may wait for the end of a review.
    pub review: Duration,
    /// How long a client may take nothing of what it is sent.
    pub stall: Duration,
    /// How often a listener is asked whether it is still there.
    pub heartbeat: Duration,
    /// How long requests that have begun may take when the server ends.
    pub goodbye: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_240,
            listeners: 7_680,
            calls: 48,
            head: Duration::from_secs(10),
            body: Duration::from_secs(10),
            body_bytes: 1024 * 1024,
            deliveries: 256,
            // As much as GitHub sends.
            delivery_bytes: 25 * 1024 * 1024,
            deliveries_bytes: 128 * 1024 * 1024,
            answer: Duration::from_secs(30),
            review: Duration::from_secs(30 * 60),
            // Whoever takes nothing fills the buffers first, for two heartbeats at most, and then stalls.
            stall: Duration::from_secs(10),
            heartbeat: Duration::from_secs(10),
            goodbye: Duration::from_secs(10),
        }
    }
}

/// A request that was answered, for a log. The path is that of the route, so nothing a client wrote is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The method.
    pub method: String,
    /// The path of the route, e.g. `/api/projects/{project}`; empty when there is none.
    pub route: String,
    /// The status of the answer.
    pub status: u16,
    /// How long it took.
    pub duration: Duration,
}

/// Who is told of every request.
pub type Observer = Arc<dyn Fn(&Served) + Send + Sync>;

/// What all routes share.
pub(crate) struct App {
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) hub: Hub,
    pub(crate) access: Access,
    pub(crate) names: Names,
    /// Names it goes by besides the loopback ones.
    pub(crate) hosts: Vec<String>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) observer: Option<Observer>,
    /// Cancelled when the server is about to end.
    pub(crate) closing: CancellationToken,
    pub(crate) calls: Arc<Semaphore>,
    /// What is left for deliveries that come in.
    pub(crate) deliveries: Room,
    /// Apps that are about to be made.
    pub(crate) pending: Pending,
    /// The tools for agents, if they are offered.
    pub(crate) mcp: Option<Mcp>,
}

impl App {
    /// Asks the board, off the runtime, because it may take its time.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Desk) -> Answer<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let wait = tokio::time::timeout(self.limits.answer, Arc::clone(&self.calls).acquire_owned());
        let Ok(Ok(turn)) = wait.await else { return Err(problem::busy("too many requests at once")) };
        let desk = Arc::clone(&self.desk);
        let work = move || {
            let _turn = turn;
            question(&*desk)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(answer) => answer.map_err(Problem::from),
            Err(_) => Err(problem::internal()),
        }
    }
}

/// Seconds of Unix time.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_nothing_is_gone_within_half_a_minute() {
        let Limits { stall, heartbeat, .. } = Limits::default();
        assert!(stall + 2 * heartbeat <= Duration::from_secs(30));
    }
}
