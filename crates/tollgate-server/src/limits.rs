//! Limits of the server: connections, bodies, time.

use std::time::Duration;

/// Limits of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Open connections. Beyond them the oldest idle connection is closed.
    pub connections: usize,
    /// Open sockets and event streams.
    pub listeners: usize,
    /// Concurrent calls to the board.
    pub calls: usize,
    /// The time limit of a request head, and of an idle connection.
    pub head: Duration,
    /// The time limit of a request body.
    pub body: Duration,
    /// The most bytes of a request body.
    pub body_bytes: usize,
    /// Concurrent webhook deliveries.
    pub deliveries: usize,
    /// The most bytes of a delivery.
    pub delivery_bytes: usize,
    /// The most bytes of all deliveries in memory.
    pub deliveries_bytes: usize,
    /// The time limit of a response.
    pub answer: Duration,
    /// The time limit of a response that waits for a review.
    pub review: Duration,
    /// The time limit of a client that reads nothing.
    pub stall: Duration,
    /// The interval of heartbeats to listeners.
    pub heartbeat: Duration,
    /// The time limit of running requests at shutdown.
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
            // The limit of GitHub.
            delivery_bytes: 25 * 1024 * 1024,
            deliveries_bytes: 128 * 1024 * 1024,
            answer: Duration::from_secs(30),
            review: Duration::from_secs(30 * 60),
            // A client that reads nothing fills the buffers within two heartbeats and then stalls.
            stall: Duration::from_secs(10),
            heartbeat: Duration::from_secs(10),
            goodbye: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_client_is_closed_within_half_a_minute() {
        let Limits { stall, heartbeat, .. } = Limits::default();
        assert!(stall + 2 * heartbeat <= Duration::from_secs(30));
    }
}
