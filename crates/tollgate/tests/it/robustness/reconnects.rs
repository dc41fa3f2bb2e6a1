//! F14: clients lose their connections while features run, and miss nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::rounds;
use super::server::{PATIENCE, Server};
use crate::desk::{Desk, learns};

/// A WebSocket that only listens.
struct Socket(TcpStream);

impl Socket {
    fn open(address: SocketAddr, token: &str, since: u64) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "GET /api/events?since={since} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Self(stream)
    }

    /// The next message; pings are passed over.
    fn next(&mut self) -> Value {
        loop {
            let [first, second] = self.bytes::<2>();
            let length = match second & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.bytes())),
                127 => u64::from_be_bytes(self.bytes()),
                short => u64::from(short),
            };
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            self.0.read_exact(&mut payload).unwrap();
            match first & 0x0f {
                1 => return serde_json::from_slice(&payload).unwrap(),
                9 => {}
                other => panic!("a frame of kind {other}: {}", String::from_utf8_lossy(&payload)),
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }
}

/// Reads events up to a given one, with repeated reconnects.
fn listen(address: SocketAddr, token: &str, n_drops: usize, end: &AtomicU64) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    let mut dropped = 0;
    loop {
        let last = seen.last().copied().unwrap_or(0);
        if dropped >= n_drops && last >= end.load(Ordering::SeqCst) {
            return seen;
        }
        let mut socket = Socket::open(address, token, last);
        assert_eq!(socket.next()["type"], "hello");
        // Some hang up before they have read anything.
        let n_wanted = if dropped < n_drops { dropped % 4 } else { usize::MAX };
        for _ in 0..n_wanted {
            if seen.last().copied().unwrap_or(0) >= end.load(Ordering::SeqCst) {
                break;
            }
            let message = socket.next();
            assert_ne!(message["type"], "resync", "{message}");
            seen.push(message["seq"].as_u64().unwrap());
        }
        dropped += 1;
    }
}

#[test]
fn clients_that_lose_their_connection_miss_nothing_and_get_nothing_twice() {
    let n_clients = 5;
    let n_drops = rounds(30, 200) / n_clients;
    let desk = Desk::new(&format!("for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done; {}", learns()));
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let ids: Vec<String> = (0..4).map(|number| server.begin(project, &format!("Feature {number}"))).collect();
    let end = Arc::new(AtomicU64::new(u64::MAX));
    let clients: Vec<_> = (0..n_clients)
        .map(|_| {
            let (address, token, end) = (server.address, server.token.clone(), Arc::clone(&end));
            std::thread::spawn(move || listen(address, &token, n_drops, &end))
        })
        .collect();
    for id in &ids {
        assert_eq!(server.settled(project, id)["status"], "waiting_approval");
    }
    // One more event wakes the waiting clients.
    end.store(server.last_seq() + 1, Ordering::SeqCst);
    server.post(&format!("/api/projects/{project}/features"), &serde_json::json!({"description": "the last one"}));
    let last = server.last_seq();
    for client in clients {
        let seen = client.join().unwrap();
        let expected: Vec<u64> = (1..=*seen.last().unwrap()).collect();
        assert_eq!(seen, expected);
    }
    println!("F14: {} connections dropped, {n_clients} clients, {last} events, each once", n_clients * n_drops);
}
