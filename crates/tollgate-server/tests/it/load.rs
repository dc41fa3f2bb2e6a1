//! Many clients, slow ones, and the end.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tollgate_server::Limits;

use crate::client::{self, PATIENCE};
use crate::listen::next_seq;
use crate::world::{TOKEN, World, story};

/// Bytes of memory that the process has now.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn clients_that_send_a_byte_at_a_time_hinder_nobody() {
    story(|| async {
        let world = World::with(Limits { head: Duration::from_secs(3), ..Limits::default() });
        let host = world.host();
        let n_open = AtomicU32::new(0);
        let send_slowly = async |_: usize| {
            let mut tcp = client::connect(world.address).await;
            n_open.fetch_add(1, Ordering::SeqCst);
            for byte in client::request("GET", "/healthz", &[("host", &host), ("x-padding", &"x".repeat(400))], "") {
                if tcp.write_all(&[byte]).await.is_err() {
                    break;
                }
                let mut answer = [0; 64];
                match tokio::time::timeout(Duration::from_millis(1000), tcp.read(&mut answer)).await {
                    // Cut off before the head was whole.
                    Ok(Ok(0) | Err(_)) => return true,
                    Ok(Ok(_)) => return false,
                    Err(_) => {}
                }
            }
            false
        };
        let slow = async |number: usize| {
            let is_cut_off = send_slowly(number).await;
            n_open.fetch_sub(1, Ordering::SeqCst);
            is_cut_off
        };
        // Requests are answered while slow clients are connected, not only when those are cut off.
        let normal = async {
            let mut n_beside = 0;
            for _ in 0..200 {
                assert_eq!(world.get("/api/projects").await.status, 200);
                n_beside += u32::from(n_open.load(Ordering::SeqCst) > 0);
            }
            n_beside
        };
        let (cut_off, n_beside) = tokio::join!(futures_util::future::join_all((0..200).map(slow)), normal);
        assert_eq!(cut_off.iter().filter(|cut_off| **cut_off).count(), 200);
        assert!(n_beside > 0);
    });
}

#[test]
fn a_body_that_comes_too_slowly_is_given_up() {
    story(|| async {
        let world = World::with(Limits { body: Duration::from_millis(200), ..Limits::default() });
        let bearer = format!("Bearer {TOKEN}");
        let (host, json) = (world.host(), ("content-type", "application/json"));
        let headers = [("host", host.as_str()), ("authorization", &bearer), json, ("content-length", "1000")];
        let mut tcp = client::connect(world.address).await;
        tcp.write_all(&client::request("POST", "/api/projects", &headers, "")).await.unwrap();
        tcp.write_all(b"{\"path\"").await.unwrap();
        assert_eq!(client::read(&mut tcp).await.unwrap().status, 408);
    });
}

/// The file limit of the process allows both ends of this many.
const MANY: usize = 9_500;

#[test]
fn ten_thousand_idle_connections_neither_starve_a_request_nor_cost_much() {
    story(|| async {
        let world = World::with(Limits { head: PATIENCE, ..Limits::default() });
        let before = resident();
        let mut idle = Vec::with_capacity(MANY);
        while idle.len() < MANY {
            match TcpStream::connect(world.address).await {
                Ok(tcp) => idle.push(tcp),
                Err(_) => break,
            }
        }
        assert!(idle.len() >= 400, "{} connections", idle.len());
        for _ in 0..20 {
            assert_eq!(world.get("/api/projects").await.status, 200);
        }
        let n_bytes = resident().saturating_sub(before);
        println!("{} idle connections, {} MB", idle.len(), n_bytes >> 20);
        // Requests did not wait until idle connections were closed: all of them are still open.
        let is_open =
            |tcp: &TcpStream| tcp.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(idle.iter().all(is_open));
        assert!(n_bytes < 150 << 20, "{n_bytes} bytes");
    });
}

#[test]
fn when_there_is_no_room_those_who_do_nothing_go_first() {
    story(|| async {
        let world = World::with(Limits { connections: 20, head: PATIENCE, ..Limits::default() });
        let mut listener = world.open(world.socket("")).await.unwrap();
        let mut idle = Vec::new();
        for _ in 0..100 {
            idle.push(client::connect(world.address).await);
        }
        assert_eq!(world.get("/api/projects").await.status, 200);
        // The oldest connections are closed, listeners are not.
        let mut byte = [0; 1];
        assert!(matches!(idle[0].read(&mut byte).await, Ok(0) | Err(_)));
        world.log.push(None, "server:note", "{}".to_owned());
        assert_eq!(next_seq(&mut listener).await, Some(1));
    });
}

#[test]
fn when_all_are_busy_a_new_one_is_told_so() {
    story(|| async {
        let world = World::with(Limits { connections: 4, listeners: 4, ..Limits::default() });
        let mut sockets = Vec::new();
        for _ in 0..3 {
            sockets.push(world.open(world.socket("")).await.unwrap());
        }
        // A quarter of the room is kept for connections that do not listen.
        assert!(world.open(world.socket("")).await.is_err());
        assert_eq!(world.get("/api/projects").await.status, 200);
        for socket in &mut sockets {
            world.log.push(None, "server:note", "{}".to_owned());
            assert!(next_seq(socket).await.is_some());
        }
    });
}

#[test]
fn clients_that_take_nothing_are_cut_off_and_cost_little() {
    const N_STALLED: usize = 50;
    story(|| async {
        let world = World::with(Limits { stall: Duration::from_millis(500), ..Limits::default() });
        let mut stalled = Vec::new();
        for _ in 0..N_STALLED {
            stalled.push(world.open(world.socket("?since=0")).await.unwrap());
        }
        let mut reader = world.open(world.socket("?since=0")).await.unwrap();
        let before = resident();
        let payload = format!("\"{}\"", "x".repeat(8_000));
        let mut n_sent = 0;
        // Until the stalled clients are closed; the reading client gets everything meanwhile.
        loop {
            for _ in 0..20 {
                n_sent += 1;
                world.log.push(None, "server:note", payload.clone());
                assert_eq!(next_seq(&mut reader).await, Some(n_sent));
            }
            let metrics = world.get("/metrics").await.body;
            if metrics.contains("tollgate_listeners 1\n") {
                break;
            }
        }
        world.log.prune(1);
        let grown = resident().saturating_sub(before);
        println!("{N_STALLED} stalled clients, {n_sent} events of 8 kB, {} MB more", grown >> 20);
        assert!(n_sent * 8_000 + (64 << 20) > grown, "{grown} bytes after {n_sent} events");
    });
}

/// F12: requests that have begun are answered.
#[test]
fn at_the_end_everything_that_has_begun_is_answered() {
    const N_CLIENTS: usize = 50;
    story(|| async {
        for _ in 0..20 {
            let world = World::start();
            let (project, _) = world.project_with_feature().await;
            let path = format!("/api/projects/{project}/features");
            let (host, bearer) = (world.host(), format!("Bearer {TOKEN}"));
            let headers =
                [("host", host.as_str()), ("authorization", bearer.as_str()), ("content-type", "application/json")];
            let bytes = client::request("POST", &path, &headers, r#"{"title":"x","description":"y"}"#);
            let n_answered = AtomicU32::new(0);
            let load = async |_: usize| {
                let mut n_lost = 0;
                while let Ok(mut tcp) = TcpStream::connect(world.address).await {
                    if tcp.write_all(&bytes).await.is_err() {
                        break;
                    }
                    match client::read(&mut tcp).await {
                        Some(said) => {
                            assert_eq!(said.status, 201);
                            n_answered.fetch_add(1, Ordering::Relaxed);
                        }
                        None => n_lost += 1,
                    }
                    if world.shutdown.is_cancelled() {
                        break;
                    }
                }
                n_lost
            };
            let end = async {
                while n_answered.load(Ordering::Relaxed) < 100 {
                    tokio::task::yield_now().await;
                }
                world.shutdown.cancel();
            };
            let (lost, ()) = tokio::join!(futures_util::future::join_all((0..N_CLIENTS).map(load)), end);
            assert_eq!(lost.iter().sum::<u32>(), 0);
            world.running.await.unwrap();
        }
    });
}

#[test]
fn the_end_comes_even_if_a_client_does_not_let_go() {
    story(|| async {
        let world = World::with(Limits { goodbye: Duration::from_millis(300), ..Limits::default() });
        // Half a request, and nothing more.
        let mut tcp = client::connect(world.address).await;
        tcp.write_all(b"GET /healthz HT").await.unwrap();
        world.get("/api/projects").await;
        world.shutdown.cancel();
        tokio::time::timeout(PATIENCE, world.running).await.expect("the end in time").unwrap();
    });
}
