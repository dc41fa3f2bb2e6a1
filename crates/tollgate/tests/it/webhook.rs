//! Webhook deliveries to the real program: an acknowledged delivery is durable, and no client can block others.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tollgate_core::pull::Repo;
use tollgate_engine::store::pulls::{ConcurrencyLimits, LeaseRequest, NextClaim};

use crate::desk::{Desk, works};
use crate::fake_app_setup::{CODE, FakeAppSetup, SECRET};
use crate::fake_github::{FakeGithub, sign};
use crate::robustness::server::{Answer, Launch, PATIENCE, Server, read_answer};
use crate::server_process::{command, tollgate};
use crate::wait::wait_until;

const PATH: &str = "/webhooks/github";
const OPENED: &str = r#"{"action":"opened","number":1,"pull_request":{"number":1,"draft":false,
    "head":{"sha":"1111111111111111111111111111111111111111","ref":"x"},"title":"x"},
    "repository":{"full_name":"octo/shop","name":"shop","owner":{"login":"octo"}},
    "installation":{"id":99},"sender":{"login":"ada","type":"User"}}"#;

/// A desk whose server is an app at a GitHub that is not there.
fn desk() -> Desk {
    let desk = Desk::new(&works());
    let folder = desk.path("data/tollgate/github");
    std::fs::create_dir_all(&folder).unwrap();
    let card = json!({ "id": 815, "slug": "kodiai-test", "url": "http://127.0.0.1:9" });
    for (name, text) in [
        ("app.json", &*card.to_string()),
        ("webhook-secret", SECRET),
        ("private-key.pem", FakeGithub::start().private_key()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
        make_private(&folder.join(name));
    }
    desk
}

fn make_private(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Starts the server, which only takes deliveries, and waits until it does.
fn start(desk: &Desk, variables: &[(&str, &str)]) -> Server {
    let server = Server::launch(desk, &Launch { variables, ..Launch::default() });
    wait_until("deliveries are taken", || server.log().contains("@kodiai-test"));
    server
}

fn request(server: &Server, guid: &str, body: &str) -> Vec<u8> {
    let signature = sign(SECRET, body.as_bytes());
    let headers = [
        ("authorization", ""),
        ("host", "tollgate.example"),
        ("x-github-event", "pull_request"),
        ("x-github-delivery", guid),
        ("x-hub-signature-256", &signature),
    ];
    server.bytes("POST", PATH, &headers, body)
}

fn deliver(server: &Server, guid: &str, body: &str) -> Result<Answer, String> {
    server.exchange(&request(server, guid, body))
}

/// The delivery metrics.
fn counted(server: &Server) -> String {
    let said = server.get("/metrics").body;
    let lines = said.lines().filter_map(|line| line.strip_prefix("tollgate_deliveries_total"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Bytes of memory that a process has now.
fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn the_same_delivery_is_one_also_after_the_server_was_killed() {
    let desk = desk();
    let mut server = start(&desk, &[]);
    let threads: Vec<u16> = std::thread::scope(|scope| {
        let some = || (0..5).map(|_| deliver(&server, "aa-1", OPENED).unwrap().status).collect::<Vec<_>>();
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(threads, [202; 100]);
    assert_snapshot!(counted(&server), @r#"
    {event="pull_request",outcome="accepted"} 1
    {event="pull_request",outcome="known"} 99
    "#);
    server.kill();
    let server = start(&desk, &[]);
    assert_eq!(deliver(&server, "aa-1", OPENED).unwrap().json()["known"], true);
}

#[test]
fn acknowledged_deliveries_are_durable_and_others_can_be_sent_again() {
    for (point, is_kept) in [
        ("delivery-body-frame", false),
        ("delivery-signature-verified", false),
        ("delivery-before-commit", false),
        ("delivery-before-response", true),
        ("delivery-after-response", true),
    ] {
        let desk = desk();
        let mut server = start(&desk, &[("TOLLGATE_CRASH_AT", point)]);
        let answer = deliver(&server, "bb-1", OPENED);
        assert_eq!(answer.is_ok_and(|answer| answer.status == 202), point == "delivery-after-response", "{point}");
        server.ended(Instant::now());
        let server = start(&desk, &[]);
        let known = deliver(&server, "bb-1", OPENED).unwrap().json()["known"] == true;
        assert_eq!(known, is_kept, "{point}");
    }
}

#[test]
fn too_much_too_slow_and_too_deep_cost_nothing() {
    let desk = desk();
    let mut server = start(&desk, &[]);
    let pid = server.pid();
    deliver(&server, "cc-1", OPENED).unwrap();
    let before = resident(pid);
    let deep = format!("{}{}", "[".repeat(3_000), "]".repeat(3_000));
    assert_eq!(deliver(&server, "cc-2", &deep).unwrap().status, 422);
    assert_eq!(deliver(&server, "cc-3", &format!("\"{}\"", "x".repeat(26 << 20))).unwrap().status, 413);
    // In parts that do not say how much there will be.
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = String::from_utf8(request(&server, "cc-4", "x")).unwrap();
    let head = head.replace("content-length: 1\r\n", "transfer-encoding: chunked\r\n");
    stream.write_all(head.trim_end_matches('x').as_bytes()).unwrap();
    let part = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let _ = (0..26).try_for_each(|_| stream.write_all(part.as_bytes()));
    assert_eq!(read_answer(&mut stream).unwrap().status, 413);
    let grown = resident(pid).saturating_sub(before);
    assert!(grown < 30 << 20, "{} MiB", grown >> 20);

    // Two hundred who send a byte at a time, and do not get to the end.
    let bytes = request(&server, "cc-5", &format!("\"{}\"", "x".repeat(1000)));
    let mut slow: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let head = bytes.len() - 900;
    slow.iter_mut().for_each(|stream| stream.write_all(&bytes[..head]).unwrap());
    assert_eq!(deliver(&server, "dd-0", OPENED).unwrap().status, 202);
    // The delivery did not wait for the slow requests: none of them is answered yet.
    for stream in &mut slow {
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        stream.set_nonblocking(false).unwrap();
    }
    for number in 1..10 {
        slow.iter_mut().for_each(|stream| _ = stream.write_all(b"x"));
        assert_eq!(deliver(&server, &format!("dd-{number}"), OPENED).unwrap().status, 202);
    }
    assert!(server.is_running() && server.pid() == pid);
}

#[test]
fn a_server_without_its_apps_secret_or_key_does_not_start() {
    for (missing, said) in [
        ("webhook-secret", "the GitHub App has no webhook secret"),
        ("private-key.pem", "the private key of the GitHub App is not in"),
    ] {
        let desk = desk();
        std::fs::remove_file(desk.path("data/tollgate/github").join(missing)).unwrap();
        let refused = tollgate(&desk, &["serve", "--listen", "127.0.0.1:0"]).expect_refused(2);
        assert!(refused.contains(said), "{refused}");
        assert!(tollgate(&desk, &["github", "status"]).expect_refused(2).contains(said));
    }
}

#[test]
fn status_names_pull_requests_in_trouble() {
    let desk = desk();
    let database = desk.database();
    let repo = Repo::parse("octo/app").unwrap();
    database.request_pull(&repo, 7, Some(1), 1_700_000_000_000).unwrap();
    let lease = LeaseRequest { owner: "me".to_owned(), now_ms: 1_700_000_060_000, lease_ms: 1_000 };
    let next = NextClaim { lease, limits: ConcurrencyLimits::default(), except: Vec::new() };
    let claim = database.claim_next(&next).unwrap().unwrap();
    database.release_after_failure(claim.token, "GitHub is down\u{1b}[2J", 1_700_000_120_000).unwrap().unwrap();
    let status = tollgate(&desk, &["github", "status"]).expect(0);
    let line = status.lines().find(|line| line.starts_with("trouble")).unwrap();
    assert!(line.starts_with("trouble  octo/app#7: GitHub is down") && line.contains("(since 2023-11-1"), "{line}");
    assert!(!line.contains('\u{1b}'), "{line}");
    let status = tollgate(&desk, &["github", "status", "--format", "json"]).expect(0);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["troubles"][0]["since"], "2023-11-14T22:13:20Z");
    assert_eq!(status["troubles"][0]["next"], "2023-11-14T22:15:20Z");
    assert_eq!(status["troubles"][0]["number"], 7);
}

#[test]
fn doctor_and_status_say_how_it_stands() {
    let none = Desk::new(&works());
    let refused = tollgate(&none, &["github", "status"]);
    assert_eq!(
        (refused.code, refused.stderr.trim()),
        (1, "no GitHub App is set up; `tollgate github setup` creates one")
    );
    let desk = desk();
    let data = desk.path("data/tollgate").display().to_string();
    let status = tollgate(&desk, &["github", "status"]).expect(0).replace(&data, "DATA");
    assert_snapshot!(status, @"
    app      815 at http://127.0.0.1:9
    name     @kodiai-test
    check    kodiai
    key      DATA/github/private-key.pem
    secret   DATA/github/webhook-secret
    ");
    let checks = |args: &[&str]| {
        let ran = tollgate(&desk, &[&["doctor", "--format", "json"], args].concat());
        let value: Value = serde_json::from_str(&ran.stdout).unwrap();
        let checks = value["github"].as_array().unwrap().iter();
        let line = |check: &Value| {
            let said = [&check["found"], &check["problem"]].into_iter().find_map(Value::as_str).unwrap();
            format!("{} {}: {}", check["ok"], check["check"].as_str().unwrap(), said.replace(&data, "DATA"))
        };
        checks.map(line).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(checks(&[]), @"
    true app: ID 815 @kodiai-test at http://127.0.0.1:9
    true private key: DATA/github/private-key.pem
    true webhook secret: DATA/github/webhook-secret
    ");
    let key = desk.path("data/tollgate/github/private-key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(checks(&[]).contains("false private key: `DATA/github/private-key.pem` is readable by other users"));
    make_private(&key);
    // Asked of a GitHub that knows the app, and may not let it do everything.
    let github = FakeGithub::start();
    let card = json!({ "id": github.app_id(), "url": github.url() }).to_string();
    std::fs::write(desk.path("data/tollgate/github/app.json"), card).unwrap();
    let said = checks(&["--online"]);
    assert!(said.contains("true permissions: authenticated as @tollgate, with all permissions"), "{said}");
}

#[test]
fn an_app_that_is_made_while_the_server_runs_is_noticed() {
    let (desk, registrar) = (Desk::new(&works()), FakeAppSetup::start());
    let server = Server::start(&desk);
    assert_eq!(deliver(&server, "ee-1", OPENED).unwrap().status, 404);
    let url = registrar.url();
    let mut setup = command(&desk, &["github", "setup", "--github-url", &url, "--public-url", "http://127.0.0.1:1"]);
    let mut child = setup.stdout(Stdio::null()).spawn().unwrap();
    let (mut line, mut address) = (String::new(), String::new());
    let mut lines = std::io::BufReader::new(child.stderr.take().unwrap());
    while address.is_empty() {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut lines, &mut line).unwrap(), 0);
        let page = line.trim().strip_prefix("open http://").and_then(|rest| rest.strip_suffix("/settings/github"));
        address = page.unwrap_or_default().to_owned();
    }
    let own = Client { address: address.parse().unwrap(), token: &server.token };
    let shown = own.ask("GET", "/settings/github", "");
    assert!(shown.body.contains(&format!("value=\"{url}\"")), "what was said on the command line is there already");
    let begun = own.ask(
        "POST",
        "/api/github/setup",
        &json!({ "publicUrl": "http://127.0.0.1:1", "githubUrl": url }).to_string(),
    );
    let page = begun.json()["page"].as_str().unwrap().to_owned();
    let state = page.rsplit('/').next().unwrap();
    let back = own.ask("GET", &format!("/github/callback?code={CODE}&state={state}"), "");
    assert_eq!(back.status, 303, "{back:?}");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut lines, &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    assert!(said.contains("created the app `kodiai-test` (ID 815)"), "{said}");
    assert!(said.contains(&format!("install it in repositories: {url}/apps/kodiai-test/installations/new")), "{said}");
    // The other server takes deliveries without being started again.
    wait_until("the app is noticed", || deliver(&server, "ee-2", OPENED).unwrap().status == 202);
    let folder = desk.path("data/tollgate/github");
    for name in ["app.json", "private-key.pem", "webhook-secret"] {
        let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        assert!(!std::fs::read_to_string(folder.join(name)).unwrap().contains("never-kept"), "{name}");
    }
}

/// A client with the token.
struct Client<'a> {
    address: std::net::SocketAddr,
    token: &'a str,
}

impl Client<'_> {
    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let (address, token, length) = (self.address, self.token, body.len());
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        crate::robustness::server::exchange(address, text.as_bytes()).unwrap()
    }
}
