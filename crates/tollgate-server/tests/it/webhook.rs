//! The webhook: deliveries of GitHub and of attackers.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::io::AsyncWriteExt as _;
use tollgate_engine::store::jobs::JobQuery;
use tollgate_server::Limits;

use crate::client::{self, Said};
use crate::world::{NOW, OLD_SECRET, SECRET, World, story};

const PATH: &str = "/webhooks/github";
const GUID: &str = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
const BODY: &str = concat!(
    r#"{"action":"opened","number":1,"#,
    r#""pull_request":{"number":1,"head":{"sha":"1111111111111111111111111111111111111111"},"title":"x"},"#,
    r#""repository":{"full_name":"octo/shop"},"installation":{"id":99},"sender":{"login":"ada","type":"User"}}"#,
);

/// The signature of a body, as GitHub writes it.
pub(crate) fn sign(secret: &str, body: &[u8]) -> String {
    let hash = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body).finalize();
    let digits: String = hash.into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={digits}")
}

/// The headers that GitHub sends with a body, signed.
fn head<'a>(signature: &'a str, event: &'a str, guid: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("host", "tollgate.example"),
        ("content-type", "application/json"),
        ("user-agent", "GitHub-Hookshot/044aadd"),
        ("x-github-event", event),
        ("x-github-delivery", guid),
        ("x-hub-signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"),
        ("x-hub-signature-256", signature),
    ]
}

/// Sends a body with these headers and nothing else.
async fn send(world: &World, headers: &[(&str, &str)], body: &str) -> Said {
    client::exchange(world.address, &client::request("POST", PATH, headers, body)).await
}

async fn deliver(world: &World, event: &str, guid: &str, body: &str) -> Said {
    send(world, &head(&sign(SECRET, body.as_bytes()), event, guid), body).await
}

/// The pull requests for which something is queued.
fn queued(world: &World) -> Vec<String> {
    let query = JobQuery { limit: 100, now_ms: NOW, ..JobQuery::default() };
    let jobs = world.board.database().jobs(&query).unwrap();
    jobs.into_iter().map(|job| format!("{}{}", job.place, job.subject)).collect()
}

/// True when a delivery was stored.
fn is_stored(world: &World, guid: &str) -> bool {
    world.board.database().knows_delivery(guid).unwrap()
}

/// The same headers with one of them changed, or without it.
fn spoilt<'a>(headers: &[(&'a str, &'a str)], name: &'a str, value: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let others = headers.iter().copied().filter(|(found, _)| *found != name);
    others.chain(value.map(|value| (name, value))).collect()
}

#[test]
fn a_signed_delivery_is_kept_whatever_name_it_came_by() {
    story(|| async {
        let world = World::start();
        let said = deliver(&world, "pull_request", GUID, BODY).await;
        assert_eq!((said.status, said.body.as_str()), (202, r#"{"accepted":true}"#));
        let said = deliver(&world, "pull_request", GUID, BODY).await;
        assert_eq!((said.status, said.body.as_str()), (202, r#"{"accepted":true,"known":true}"#));
        assert_eq!(queued(&world), ["octo/shop#1"]);
        assert!(is_stored(&world, GUID));
        // While the secrets change places both are good.
        let signature = sign(OLD_SECRET, BODY.as_bytes());
        assert_eq!(send(&world, &head(&signature, "pull_request", "a-1"), BODY).await.status, 202);
    });
}

#[test]
fn ignored_deliveries_are_not_stored() {
    story(|| async {
        let world = World::start();
        let labeled = BODY.replace("opened", "labeled");
        assert_ne!(labeled, BODY);
        for (event, body) in [("pull_request", labeled.as_str()), ("star", BODY)] {
            let said = deliver(&world, event, GUID, body).await;
            assert_eq!((said.status, said.body.as_str()), (202, r#"{"accepted":true,"ignored":true}"#), "{event}");
        }
        assert!(queued(&world).is_empty() && !is_stored(&world, GUID));
    });
}

#[test]
fn githubs_own_example_fits_and_nine_spoilt_ones_leave_no_row() {
    story(|| async {
        let world = World::start();
        let body = "Hello, World!";
        let good = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let headers = head(good, "pull_request", GUID);
        // It is signed, and then it is no JSON.
        assert_eq!(send(&world, &headers, body).await.status, 422);
        let (sha1, half, non_hex) = (good.replace("sha256=", "sha1="), &good[..39], good.replace('7', "x"));
        let (signed, name) = (good.trim_start_matches("sha256="), "x-hub-signature-256");
        let cases = [
            ("none", spoilt(&headers, name, None), body),
            ("SHA-1 only", spoilt(&spoilt(&headers, name, None), "x-hub-signature", Some(&sha1)), body),
            ("wrong prefix", spoilt(&headers, name, Some(&sha1)), body),
            ("no prefix", spoilt(&headers, name, Some(signed)), body),
            ("half", spoilt(&headers, name, Some(half)), body),
            ("empty", spoilt(&headers, name, Some("")), body),
            ("odd", spoilt(&headers, name, Some(&good[..good.len() - 1])), body),
            ("not hex", spoilt(&headers, name, Some(&non_hex)), body),
            ("a space more", headers.clone(), "Hello, World! "),
        ];
        for (what, headers, body) in cases {
            assert_eq!(send(&world, &headers, body).await.status, 401, "{what}");
        }
        let other = sign("another secret", body.as_bytes());
        assert_eq!(send(&world, &head(&other, "pull_request", GUID), body).await.status, 401);
        assert!(queued(&world).is_empty() && !is_stored(&world, GUID));
    });
}

#[test]
fn the_same_delivery_a_hundred_times_is_one() {
    story(|| async {
        let world = World::start();
        let signature = sign(SECRET, BODY.as_bytes());
        let bytes = client::request("POST", PATH, &head(&signature, "pull_request", GUID), BODY);
        let some = async |_: usize| {
            let mut tcp = client::connect(world.address).await;
            let mut n_new = 0;
            for _ in 0..5 {
                tcp.write_all(&bytes).await.unwrap();
                let said = client::read(&mut tcp).await.unwrap();
                assert_eq!(said.status, 202);
                n_new += usize::from(said.json()["known"].is_null());
            }
            n_new
        };
        let n_new: usize = futures_util::future::join_all((0..20).map(some)).await.iter().sum();
        assert_eq!((n_new, queued(&world).len()), (1, 1));
    });
}

#[test]
fn a_signed_request_still_has_to_be_a_delivery() {
    story(|| async {
        let world = World::start();
        let signature = sign(SECRET, BODY.as_bytes());
        let headers = head(&signature, "pull_request", GUID);
        let (long, deep) = ("a".repeat(65), "[".repeat(3_000));
        for (name, value, status) in [
            ("x-github-delivery", None, 400),
            ("x-github-delivery", Some("not one"), 400),
            ("x-github-delivery", Some(long.as_str()), 400),
            ("x-github-event", None, 400),
            ("x-github-event", Some("Pull Request"), 400),
            ("content-type", Some("application/x-www-form-urlencoded"), 415),
            ("content-type", None, 415),
        ] {
            let said = send(&world, &spoilt(&headers, name, value), BODY).await;
            assert_eq!(said.status, status, "{name} {value:?}: {}", said.body);
        }
        assert_eq!(deliver(&world, "pull_request", "a-2", &deep).await.status, 422);
        assert!(queued(&world).is_empty() && !is_stored(&world, GUID));
        let said = deliver(&world, "ping", GUID, BODY).await;
        assert_eq!((said.status, queued(&world).len()), (200, 0));
        // Other methods have no business here, and pages of other sites no say.
        assert_eq!(world.raw("GET", PATH, &[], "").await.status, 405);
        let foreign = spoilt(&headers, "origin", Some("https://evil.example"));
        assert_eq!(send(&world, &foreign, BODY).await.status, 202);
    });
}

#[test]
fn without_an_app_nothing_is_taken() {
    story(|| async {
        let world = World::start();
        world.webhook.set(tollgate_server::webhook::WebhookState::None);
        let said = deliver(&world, "pull_request", GUID, BODY).await;
        assert_eq!((said.status, said.header("content-type")), (404, Some("application/problem+json")));
    });
}

#[test]
fn a_database_that_takes_nothing_is_no_success() {
    story(|| async {
        let world = World::start();
        let _locked = world.lock_database();
        let said = deliver(&world, "pull_request", GUID, BODY).await;
        assert_eq!((said.status, said.header("retry-after")), (503, Some("1")));
    });
}

#[test]
fn too_much_is_refused_before_it_is_there() {
    story(|| async {
        let world = World::start();
        let body = "x".repeat(1024 * 1024);
        let (signature, length) = (sign(SECRET, b""), (26 * 1024 * 1024).to_string());
        // Once with its length said, once in parts that do not say how many there are.
        for framing in [("content-length", length.as_str()), ("transfer-encoding", "chunked")] {
            let mut headers = head(&signature, "pull_request", GUID);
            headers.push(framing);
            let mut tcp = client::connect(world.address).await;
            tcp.write_all(&client::request("POST", PATH, &headers, "")).await.unwrap();
            for _ in 0..26 {
                let part = if framing.0 == "content-length" { body.clone() } else { format!("100000\r\n{body}\r\n") };
                if tcp.write_all(part.as_bytes()).await.is_err() {
                    break;
                }
            }
            assert_eq!(client::read(&mut tcp).await.unwrap().status, 413, "{}", framing.0);
        }
    });
}

#[test]
fn slow_clients_do_not_block_a_delivery() {
    story(|| async {
        let world = World::with(Limits { body: Duration::from_secs(20), ..Limits::default() });
        let signature = sign(SECRET, BODY.as_bytes());
        let mut headers = head(&signature, "pull_request", GUID);
        headers.push(("content-length", "1000"));
        let bytes = client::request("POST", PATH, &headers, "");
        let mut slow = Vec::new();
        for _ in 0..200 {
            let mut tcp = client::connect(world.address).await;
            tcp.write_all(&bytes).await.unwrap();
            tcp.write_all(b"{").await.unwrap();
            slow.push(tcp);
        }
        let said = deliver(&world, "pull_request", "b-1", BODY).await;
        assert_eq!(said.status, 202);
        assert_eq!(queued(&world).len(), 1);
    });
}

#[test]
fn a_body_that_comes_too_slowly_is_given_up() {
    story(|| async {
        let world = World::with(Limits { body: Duration::from_millis(200), ..Limits::default() });
        let signature = sign(SECRET, BODY.as_bytes());
        let mut headers = head(&signature, "pull_request", GUID);
        headers.push(("content-length", "1000"));
        let mut tcp = client::connect(world.address).await;
        tcp.write_all(&client::request("POST", PATH, &headers, "")).await.unwrap();
        tcp.write_all(b"{").await.unwrap();
        assert_eq!(client::read(&mut tcp).await.unwrap().status, 408);
    });
}

#[test]
fn unauthenticated_deliveries_are_bounded_in_memory() {
    story(|| async {
        let world = World::with(Limits { deliveries: 3, deliveries_bytes: 256 * 1024, ..Limits::default() });
        let signature = sign(SECRET, BODY.as_bytes());
        let mut headers = head(&signature, "pull_request", GUID);
        headers.push(("content-length", "1000000"));
        let bytes = client::request("POST", PATH, &headers, "");
        let (part, mut strangers) = ("x".repeat(60_000), Vec::new());
        // Two clients occupy their share, and a third exceeds the rest.
        for n_parts in [1, 1, 4] {
            let mut tcp = client::connect(world.address).await;
            tcp.write_all(&bytes).await.unwrap();
            for _ in 0..n_parts {
                let _ = tcp.write_all(part.as_bytes()).await;
            }
            strangers.push(tcp);
        }
        let said = client::read(&mut strangers[2]).await.unwrap();
        assert_eq!((said.status, said.header("retry-after")), (503, Some("1")));
        // Once it is gone there is room again.
        drop(strangers.remove(2));
        assert_eq!(deliver(&world, "pull_request", GUID, BODY).await.status, 202);
    });
}

#[test]
fn deliveries_are_counted_by_event_and_outcome() {
    story(|| async {
        let world = World::start();
        for event in ["pull_request", "pull_request", "ping", "no_such_event"] {
            deliver(&world, event, "c-1", BODY).await;
        }
        send(&world, &head("sha256=", "made_up_by_a_stranger", GUID), BODY).await;
        let said = world.get("/metrics").await.body;
        let counted: Vec<&str> = said.lines().filter(|line| line.starts_with("tollgate_deliveries_total")).collect();
        insta::assert_snapshot!(counted.join("\n"), @r#"
        tollgate_deliveries_total{event="other",outcome="ignored"} 1
        tollgate_deliveries_total{event="ping",outcome="ping"} 1
        tollgate_deliveries_total{event="pull_request",outcome="accepted"} 1
        tollgate_deliveries_total{event="pull_request",outcome="known"} 1
        tollgate_deliveries_total{event="unknown",outcome="unsigned"} 1
        "#);
    });
}
