//! The event stream over WebSockets.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use insta::assert_snapshot;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use tollgate_server::Limits;

use crate::client::{self, PATIENCE};
use crate::world::{TOKEN, World, story};

pub(crate) type Socket = WebSocketStream<TcpStream>;

/// The next text; `None` at the end.
pub(crate) async fn next(socket: &mut Socket) -> Option<String> {
    loop {
        match tokio::time::timeout(PATIENCE, socket.next()).await.expect("a frame in time")? {
            Ok(Message::Text(text)) => return Some(text.to_string()),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// The number of the next event, passing over `hello`.
pub(crate) async fn next_seq(socket: &mut Socket) -> Option<u64> {
    loop {
        let frame: Value = serde_json::from_str(&next(socket).await?).unwrap();
        if frame["type"] != "hello" {
            return frame["seq"].as_u64();
        }
    }
}

fn push(world: &World, project: u64, n: u64) {
    for number in 0..n {
        world.log.push(Some(project), "feature:code-review-progress", format!(r#"{{"n":{number}}}"#));
    }
}

#[test]
fn a_socket_says_hello_and_then_what_happens() {
    story(|| async {
        let world = World::start();
        let mut socket = world.open(world.socket("")).await.unwrap();
        assert_snapshot!(next(&mut socket).await.unwrap(), @r#"{"type":"hello","seq":0}"#);
        let payload = r#"{"featureId":"login","iterationNumber":1}"#.to_owned();
        world.log.push(Some(1), "feature:code-review-started", payload);
        assert_snapshot!(next(&mut socket).await.unwrap(), @r#"{"type":"feature:code-review-started","payload":{"featureId":"login","iterationNumber":1},"seq":1,"timestamp":"2026-01-09T14:22:00.000Z"}"#);
    });
}

#[test]
fn a_client_that_comes_back_gets_what_it_missed() {
    story(|| async {
        let world = World::start();
        push(&world, 1, 5);
        let mut socket = world.open(world.socket("?since=2")).await.unwrap();
        for expected in 3..=5 {
            assert_eq!(next_seq(&mut socket).await, Some(expected));
        }
        push(&world, 1, 1);
        assert_eq!(next_seq(&mut socket).await, Some(6));
    });
}

#[test]
fn a_client_that_was_away_for_long_is_served_from_the_log() {
    story(|| async {
        let world = World::start();
        // More than the ring holds.
        push(&world, 1, 12_000);
        let mut socket = world.open(world.socket("?since=0")).await.unwrap();
        for expected in 1..=12_000 {
            assert_eq!(next_seq(&mut socket).await, Some(expected));
        }
    });
}

#[test]
fn a_client_that_asks_for_what_is_not_there_is_told_to_read_anew() {
    story(|| async {
        let world = World::start();
        push(&world, 1, 6_000);
        let mut first = world.open(world.socket("?since=5999")).await.unwrap();
        assert_eq!(next_seq(&mut first).await, Some(6_000));
        world.log.prune(10);
        for query in ["?since=6001", "?since=18446744073709551615", "?since=0", "?since=100"] {
            let mut socket = world.open(world.socket(query)).await.unwrap();
            next(&mut socket).await;
            assert_eq!(next(&mut socket).await.as_deref(), Some(r#"{"type":"resync","seq":6000}"#), "{query}");
            assert_eq!(next(&mut socket).await, None);
        }
    });
}

#[test]
fn a_listener_of_one_project_hears_nothing_of_another() {
    story(|| async {
        let world = World::start();
        let (project, _) = world.project_with_feature().await;
        let mut socket = world.open(world.socket(&format!("?project={project}&since=1"))).await.unwrap();
        push(&world, project + 1, 1_000);
        let last = world.log.push(Some(project), "feature:updated", "{}".to_owned());
        assert_eq!((next_seq(&mut socket).await, last), (Some(1_002), 1_002));
        assert!(world.open(world.socket("?project=99")).await.is_err());
    });
}

#[test]
fn a_ticket_opens_one_socket() {
    story(|| async {
        let world = World::start();
        let ticket = world.ask("POST", "/api/events/ticket", "").await.json()["ticket"].as_str().unwrap().to_owned();
        let request = |protocols: &str| {
            let mut request = world.socket("");
            request.headers_mut().remove("authorization");
            request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
            request
        };
        let protocols = format!("tollgate.events, tollgate.ticket.{ticket}");
        let mut socket = world.open(request(&protocols)).await.unwrap();
        assert!(next(&mut socket).await.unwrap().contains("hello"));
        assert!(world.open(request(&protocols)).await.is_err());
        assert!(world.open(request("tollgate.events, tollgate.ticket.x")).await.is_err());
        // A ticket is for sockets and nothing else.
        let ticket = world.ask("POST", "/api/events/ticket", "").await.json()["ticket"].as_str().unwrap().to_owned();
        let header = format!("tollgate.ticket.{ticket}");
        let protocol = ("sec-websocket-protocol", header.as_str());
        for (method, path) in [("GET", "/api/projects"), ("POST", "/api/auth/logout"), ("POST", "/api/events/ticket")] {
            for headers in [vec![protocol], vec![protocol, ("upgrade", "websocket")]] {
                assert_eq!(world.raw(method, path, &headers, "").await.status, 401, "{method} {path}");
            }
        }
        assert!(world.open(request(&header)).await.is_ok());
    });
}

/// Reads a stream of events until it has this text in it.
async fn read_until(tcp: &mut TcpStream, mark: &str) -> String {
    let mut text = String::new();
    while !text.contains(mark) {
        let mut part = [0; 4096];
        let n = tokio::time::timeout(PATIENCE, tcp.read(&mut part)).await.expect("more in time").unwrap();
        assert_ne!(n, 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&part[..n]));
    }
    text
}

async fn stream(world: &World, headers: &[(&str, &str)]) -> TcpStream {
    let (host, bearer) = (world.host(), format!("Bearer {TOKEN}"));
    let all = [&[("host", host.as_str()), ("authorization", bearer.as_str())], headers].concat();
    let mut tcp = client::connect(world.address).await;
    tcp.write_all(&client::request("GET", "/api/events", &all, "")).await.unwrap();
    tcp
}

#[test]
fn the_same_comes_as_a_stream_that_goes_on_where_it_broke_off() {
    story(|| async {
        let world = World::start();
        push(&world, 1, 3);
        let mut tcp = stream(&world, &[("last-event-id", "1")]).await;
        let text = read_until(&mut tcp, "\"seq\":3,").await;
        assert!(text.contains("content-type: text/event-stream"), "{text}");
        let is_event = |line: &&str| line.starts_with("id:") || line.contains("payload");
        assert_snapshot!(text.lines().filter(is_event).collect::<Vec<_>>().join("\n"), @r#"
        id: 2
        data: {"type":"feature:code-review-progress","payload":{"n":1},"seq":2,"timestamp":"2026-01-09T14:22:00.000Z"}
        id: 3
        data: {"type":"feature:code-review-progress","payload":{"n":2},"seq":3,"timestamp":"2026-01-09T14:22:00.000Z"}
        "#);
    });
}

#[test]
fn listeners_are_told_goodbye() {
    story(|| async {
        let world = World::start();
        push(&world, 1, 2);
        let mut socket = world.open(world.socket("?since=1")).await.unwrap();
        assert_eq!(next_seq(&mut socket).await, Some(2));
        let mut tcp = stream(&world, &[]).await;
        read_until(&mut tcp, "hello").await;
        world.shutdown.cancel();
        assert_eq!(next(&mut socket).await.as_deref(), Some(r#"{"type":"goodbye","seq":2}"#));
        assert_eq!(next(&mut socket).await, None);
        read_until(&mut tcp, "goodbye").await;
        world.running.await.unwrap();
    });
}

#[test]
fn a_client_that_does_not_answer_or_talks_too_much_is_let_go() {
    story(|| async {
        let world = World::with(Limits { heartbeat: Duration::from_millis(50), ..Limits::default() });
        // Pongs are sent when the client reads, so one that does not read is silent.
        let silent = world.open(world.socket("")).await.unwrap();
        let mut tcp = silent.into_inner();
        let mut bytes = Vec::new();
        tokio::time::timeout(PATIENCE, tcp.read_to_end(&mut bytes)).await.expect("the end in time").unwrap();
        let world = World::start();
        let mut chatty = world.open(world.socket("")).await.unwrap();
        for _ in 0..100 {
            if chatty.send(Message::text("hello?")).await.is_err() {
                break;
            }
        }
        assert!(next(&mut chatty).await.unwrap().contains("hello"));
        assert_eq!(next(&mut chatty).await, None);
    });
}

/// F14: 200 random drops, and each client ends with every number once.
#[test]
fn clients_that_are_dropped_end_with_every_event_once() {
    const N_EVENTS: u64 = 4_000;
    story(|| async {
        let world = World::start();
        let listen = async |client: u64| {
            let (mut seen, mut n_drops, mut random) = (Vec::new(), 0, client + 1);
            while seen.last() != Some(&N_EVENTS) {
                let since = seen.last().copied().unwrap_or(0);
                let mut socket = world.open(world.socket(&format!("?since={since}"))).await.unwrap();
                // As many as chance says until the connection breaks.
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                for _ in 0..=(random >> 33) % (N_EVENTS / 12) {
                    match next_seq(&mut socket).await {
                        Some(seq) => seen.push(seq),
                        None => break,
                    }
                    if seen.last() == Some(&N_EVENTS) {
                        break;
                    }
                }
                n_drops += 1;
            }
            (seen, n_drops - 1)
        };
        let speaking = async {
            for _ in 0..N_EVENTS / 10 {
                push(&world, 1, 10);
                tokio::task::yield_now().await;
            }
        };
        let (results, ()) = tokio::join!(futures_util::future::join_all((0..10).map(listen)), speaking);
        let n_drops: u64 = results.iter().map(|(_, n)| n).sum();
        assert!(n_drops >= 200, "{n_drops} drops");
        for (seen, _) in results {
            assert!(seen.iter().copied().eq(1..=N_EVENTS), "{} seen", seen.len());
        }
    });
}

#[test]
fn a_thousand_clients_get_every_event_in_order() {
    const N_CLIENTS: usize = 1_000;
    const N_EVENTS: u64 = 200;
    story(|| async {
        let world = World::start();
        let mut sockets = Vec::new();
        for _ in 0..N_CLIENTS {
            sockets.push(world.open(world.socket("?since=0")).await.unwrap());
        }
        let listen = async |mut socket: Socket| {
            for expected in 1..=N_EVENTS {
                assert_eq!(next_seq(&mut socket).await, Some(expected));
            }
        };
        let speaking = async {
            for _ in 0..N_EVENTS {
                push(&world, 1, 1);
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(futures_util::future::join_all(sockets.into_iter().map(listen)), speaking);
        let numbers: BTreeSet<u16> = world.served.lock().unwrap().iter().map(|served| served.status).collect();
        assert_eq!(numbers, BTreeSet::from([101]));
    });
}
