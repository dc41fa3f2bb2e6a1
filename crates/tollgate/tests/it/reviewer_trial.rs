//! The trial of a reviewer over the API of the settings page.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::fake_model::FakeModel;
use crate::robustness::server::Server;

/// The result of a trial of a scripted agent.
#[track_caller]
fn tried(script: &str) -> Value {
    let desk = Desk::configured(script, "");
    let server = Server::start(&desk);
    let said = server.post("/api/agents/script/test", &json!({ "trial": "ask" }));
    assert_eq!(said.status, 200, "{said:?}");
    said.json()
}

#[test]
fn an_agent_that_answers_passes() {
    let tried = tried("echo '{\"ready\": true}'");
    assert_eq!(tried["passed"], true, "{tried}");
    assert!(tried["words"].as_str().unwrap().starts_with("it answered"), "{tried}");
}

#[test]
fn an_agent_that_fails_does_not_and_says_why() {
    let tried = tried("echo no key >&2; exit 3");
    assert_eq!(tried["passed"], false, "{tried}");
    let words = tried["words"].as_str().unwrap();
    assert!(words.contains("exit code 3") && words.contains("no key"), "{tried}");
}

#[test]
fn a_service_is_asked_and_one_that_is_not_there_is_said() {
    let stub = FakeModel::saying("{}");
    let gone = "[reviewer.gone]\nbase_url = \"http://127.0.0.1:1/v1\"\nprotocol = \"openai\"\nmodel = \"stub\"\n";
    let desk = Desk::configured("true", &format!("{}{gone}", stub.table("there")));
    let server = Server::start(&desk);
    let tried = |name: &str| server.post(&format!("/api/agents/{name}/test"), &json!({})).json();
    let (there, gone) = (tried("there"), tried("gone"));
    assert_eq!((&there["passed"], &gone["passed"]), (&json!(true), &json!(false)), "{there} {gone}");
    assert!(gone["words"].as_str().unwrap().contains("127.0.0.1:1"), "{gone}");
    assert_eq!(server.post("/api/agents/nobody/test", &json!({})).status, 404);
}
