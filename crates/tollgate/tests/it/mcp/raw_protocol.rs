//! Protocol messages that no SDK client would send, and their responses.

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// Sends lines, closes the input, and returns the responses; every line must be a message.
#[track_caller]
fn answers(lines: &[String]) -> Vec<Value> {
    let scratch = Scratch::folder();
    let input = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let ran = scratch.tollgate_with(&["mcp"], input.as_bytes(), &[]);
    let said = ran.stderr.clone();
    let stdout = ran.expect(0);
    assert_eq!(said, "", "nothing to tell");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no message: {line}"))).collect()
}

fn hello() -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

fn check_comment(id: u64, body: &str) -> String {
    let params = json!({"name": "check_comment", "arguments": {"body": body}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn answer_to(answers: &[Value], id: u64) -> &Value {
    answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"))
}

#[test]
fn no_bad_message_ends_the_conversation() {
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let huge = check_comment(3, &"x".repeat(17 << 20));
    let deep = "[".repeat(100_000);
    let lines = [
        // Before initialization.
        initialized.clone(),
        "not json".to_owned(),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"}).to_string(),
        hello(),
        initialized,
        String::new(),
        "{\"jsonrpc\": \"2.0\", \"id\": 2".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        deep,
        huge,
        json!({"jsonrpc": "2.0", "id": 7, "method": "no/such/method", "params": {"a": 1}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": 1}}).to_string(),
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "check_comment", "arguments": []}})
            .to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}).to_string(),
        check_comment(10, "fine"),
    ];
    let answers = answers(&lines);
    assert_eq!(answer_to(&answers, 1)["result"]["serverInfo"]["name"], "tollgate");
    assert!(answer_to(&answers, 6)["error"].is_object(), "not before hello");
    assert_eq!(answer_to(&answers, 7)["error"]["code"], -32601);
    assert_eq!(answer_to(&answers, 10)["result"]["structuredContent"]["valid"], true);
    assert!(answers.iter().all(|answer| answer["id"] != 3), "what is too long is not heard");
    // Each line that is no message, or too long, has an answer.
    let codes: Vec<i64> = answers
        .iter()
        .filter(|answer| answer["id"].is_null())
        .map(|answer| answer["error"]["code"].as_i64().unwrap())
        .collect();
    assert_eq!(codes, [-32700, -32700, -32600, -32600, -32700, -32600]);
}

#[test]
fn it_ends_when_its_input_ends() {
    assert_eq!(answers(&[]), Vec::<Value>::new());
    assert_eq!(answers(&[hello()]).len(), 1);
}

#[test]
fn older_revisions_are_spoken_as_they_are_asked_for() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let answers = answers(&[hello().replace("2025-06-18", version)]);
        assert_eq!(answers[0]["result"]["protocolVersion"], version);
    }
}

#[test]
fn the_help_shows_how_agents_are_told() {
    let help = Scratch::folder().tollgate(&["mcp", "--help"]).expect(0);
    for words in ["claude mcp add tollgate", "codex mcp add", "gemini mcp add", "opencode.json", "/mcp", "--allow"] {
        assert!(help.contains(words), "{words} in {help}");
    }
}
