//! Over HTTP, with the real server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rmcp::ServiceExt as _;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;

use super::{Agent, BAD, Listener, answered, check_promised, story};
use crate::desk::{Desk, works};
use crate::fake_model::FakeModel;
use crate::server_process::{Server, add, add_project, tollgate};

/// A server with a project on whose branch something is wrong.
pub(super) fn begin() -> (Desk, Server) {
    begin_with("")
}

/// The same with more settings of the operator's.
fn begin_with(settings: &str) -> (Desk, Server) {
    let desk = Desk::configured(&works(), settings);
    add_project(&desk);
    desk.git(&["switch", "-q", "-c", "work"]);
    std::fs::write(desk.path("project/b.js"), BAD).unwrap();
    let server = Server::start_with(&desk, &["--no-work"]);
    (desk, server)
}

pub(super) fn token(desk: &Desk) -> String {
    std::fs::read_to_string(desk.path("data/tollgate/token")).unwrap().trim().to_owned()
}

pub(super) fn way(desk: &Desk, server: &Server) -> StreamableHttpClientTransport<reqwest::Client> {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", server.address));
    StreamableHttpClientTransport::from_config(config.auth_header(token(desk)))
}

#[test]
fn every_tool_answers_over_http_as_it_promised() {
    story(async {
        let (desk, server) = begin();
        let feature = add(&desk, "Read JSON", &[]);
        let agent = Agent::new(Listener::default().serve(way(&desk, &server)).await.unwrap()).await;
        let names: Vec<&str> = agent.tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names.len(), 8, "{names:?}");

        let reviewed = agent.data("review_change", json!({})).await;
        assert_eq!((&reviewed["gate"], &reviewed["n_findings"]), (&json!("closed"), &json!(1)), "{reviewed:#}");
        assert_eq!(agent.data("list_findings", json!({"repository": "1"})).await["total"], 1);
        let shown = agent.data("get_review", json!({"review": reviewed["review"]})).await;
        assert_eq!(shown["findings"], reviewed["findings"]);
        let dismissed = agent.data("dismiss_finding", json!({"finding": "F001", "reason": "it is ours"})).await;
        assert_eq!((&dismissed["dismissed"], &dismissed["state"]), (&json!(false), &json!("proposed")));
        assert_eq!(agent.data("review_change", json!({})).await["may_pass"], false, "an agent only proposes");
        let print = dismissed["finding"]["fingerprint"].as_str().unwrap().to_owned();
        tollgate(&desk, &["history", "confirm", &print]).expect(0);
        let passed = agent.data("review_change", json!({})).await;
        assert_eq!(passed["may_pass"], true);
        let why = passed["suppressed_blockers"][0].as_str().unwrap();
        assert!(why.ends_with("suppressed by a dismissal by ada, proposed by an agent over MCP: it is ours"), "{why}");
        assert_eq!(agent.data("check_comment", json!({"body": "x"})).await["kind"], "other");
        assert_eq!(agent.data("create_comment", json!({"body": "x"})).await["posted"], false);
        assert_eq!(agent.data("list_features", json!({})).await["features"][0]["id"], json!(feature));
        assert_eq!(agent.data("get_feature", json!({"feature": feature})).await["title"], "Read JSON");
        agent.client.cancel().await.unwrap();
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn a_review_that_is_cancelled_over_http_ends_and_is_not_stored() {
    let (stub, was_asked, free) = FakeModel::hanging(1);
    story(async move {
        let settings = format!("[review]\nreviewers = ['stub']\n{}", stub.table("stub"));
        let (desk, server) = begin_with(&settings);
        let agent = Agent::new(Listener::default().serve(way(&desk, &server)).await.unwrap()).await;
        let hanging = agent.begin("review_change", json!({})).await;
        tokio::task::spawn_blocking(move || was_asked.recv().unwrap()).await.unwrap();
        hanging.cancel(None).await.unwrap();
        let done = agent.data("review_change", json!({})).await;
        assert_eq!(done["review"], 1, "{done:#}");
        drop(free);
    });
}

#[test]
fn only_projects_are_in_reach_of_a_server() {
    story(async {
        let (desk, server) = begin();
        let agent = Agent::new(Listener::default().serve(way(&desk, &server)).await.unwrap()).await;
        let project = desk.path("project").display().to_string();
        assert_eq!(agent.data("review_change", json!({"repository": project})).await["n_findings"], 1);
        let home = desk.path("home").display().to_string();
        for named in [home.as_str(), "/", "2", "relative", "..", "project"] {
            let refusal = agent.refusal("review_change", json!({"repository": named})).await;
            assert!(refusal.contains("is no project of the board"), "{named}: {refusal}");
        }
    });
}

#[test]
fn a_client_of_the_newest_revision_is_told_how_it_goes() {
    story(async {
        let (desk, server) = begin();
        let newest = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let client = Listener::default().serve_with_lifecycle(way(&desk, &server), newest).await.unwrap();
        let agent = Agent::new(client).await;
        let handle = agent.begin("review_change", json!({})).await;
        let result = answered(handle.await_response().await);
        check_promised(&agent.tools[0], &result);
        assert!(!agent.steps().is_empty());
    });
}

/// Sends a request as it is, and returns the status.
fn status(server: &Server, method: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    let mut request = format!("{method} /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(super::PATIENCE)).unwrap();
    // A server that refuses need not read all of it.
    let _ = stream.write_all(format!("{request}\r\n{body}").as_bytes());
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head[9..]).parse().unwrap()
}

#[test]
fn token_and_origin_are_checked_as_for_all_routes() {
    let (desk, server) = begin();
    let (host, bearer) = (server.address.clone(), format!("Bearer {}", token(&desk)));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let plain = [
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let known = [&plain[..], &[("authorization", bearer.as_str())]].concat();
    let with = |more: (&'static str, &'static str)| {
        let others = known.iter().copied().filter(|(name, _)| *name != more.0);
        others.chain([more]).collect::<Vec<_>>()
    };
    assert_eq!(status(&server, "POST", &plain, &list), 401);
    assert_eq!(status(&server, "POST", &with(("authorization", "Bearer wrong")), &list), 401);
    assert_eq!(status(&server, "POST", &with(("host", "evil.example")), &list), 421);
    assert_eq!(status(&server, "POST", &with(("origin", "http://evil.example")), &list), 403);
    assert_eq!(status(&server, "POST", &with(("sec-fetch-site", "cross-site")), &list), 403);
    assert_eq!(status(&server, "POST", &with(("content-type", "text/plain")), &list), 415);
    assert_eq!(status(&server, "POST", &known, &format!("{list}{}", " ".repeat(2 << 20))), 413);
    assert_eq!(status(&server, "GET", &known, ""), 405);
    assert_eq!(status(&server, "PUT", &known, &list), 405);
    assert_eq!(status(&server, "POST", &with(("mcp-session-id", "no-such-session")), &list), 404);
    // No session, and no revision that needs none.
    assert_eq!(status(&server, "POST", &known, &list), 400);
}
