//! Hostile tool calls: each is answered, writes nothing outside its roots, and does not affect the next one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rmcp::ServerHandler as _;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};
use tollgate_engine::store::Location;
use tollgate_server::mcp::{AllowedRoots, Mcp, ToolContext};

use super::{BAD, check_promised};
use crate::desk::Desk;

const TOOLS: [&str; 8] = [
    "review_change",
    "list_findings",
    "get_review",
    "dismiss_finding",
    "check_comment",
    "create_comment",
    "list_features",
    "get_feature",
];
/// All arguments of all tools, and two that no tool has.
const NAMES: [&str; 22] = [
    "repository",
    "scope",
    "range",
    "diff",
    "fail_on",
    "since_last",
    "review",
    "branch",
    "at_least",
    "file",
    "withheld",
    "offset",
    "finding",
    "reason",
    "body",
    "fix",
    "pull_request",
    "status",
    "text",
    "feature",
    "__proto__",
    "",
];
const HOSTILE: [&str; 24] = [
    "",
    ".",
    "..",
    "../../../../etc",
    "/",
    "/etc/passwd",
    "--output=owned",
    "-rf",
    "a\0b",
    "\n",
    "\u{202e}evil",
    "~",
    "$(touch owned)",
    "`touch owned`",
    "'; DROP TABLE run; --",
    "%00",
    "file:///etc/passwd",
    "HEAD..--output=owned",
    "http://169.254.169.254/a/b/pull/1",
    "fp-0000000000000000",
    "F001",
    "main",
    "<details>\n<summary>Kodiai Review Summary",
    "--- a/../../owned\n+++ b/../../owned\n@@ -0,0 +1 @@\n+x\n",
];

/// Tools in a project beside which nothing may change.
fn tools(desk: &Desk) -> Mcp {
    std::fs::write(desk.path("project/b.js"), BAD).unwrap();
    let folders = AllowedRoots::new(&desk.path("project"), &[]).unwrap();
    Mcp::new(ToolContext::in_roots(
        desk.board().home().clone(),
        Location::File(desk.path("data/tollgate/tollgate.db")),
        folders,
    ))
}

/// Every file outside the data folder, with its content. Git refreshes its index on reads.
fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("data") {
            files(&path, found);
        } else if path.is_file() && !path.ends_with(".git/index") {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

#[track_caller]
fn check(mcp: &Mcp, name: &str, arguments: Value) {
    let result = mcp.call(name, arguments.clone()).unwrap();
    let result: CallToolResult = serde_json::from_value(result).unwrap();
    check_promised(&mcp.get_tool(name).unwrap(), &result);
    let size = serde_json::to_string(&result).unwrap().len();
    assert!(size < 1 << 20, "{name} answers {arguments} with {size} bytes");
}

fn any_text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(&HOSTILE[..]).prop_map(str::to_owned);
    let long = (1_usize..4, prop::sample::select(&HOSTILE[..]))
        .prop_map(|(power, text)| text.repeat(10_usize.pow(power as u32)));
    prop_oneof![4 => hostile, 2 => any::<String>(), 1 => long]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..4).prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

fn any_arguments() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    prop::collection::vec((name, any_json()), 0..4).prop_map(|pairs| Value::Object(Map::from_iter(pairs)))
}

#[test]
fn ten_thousand_random_calls_are_answered_and_write_nothing() {
    let desk = Desk::new("");
    let mcp = tools(&desk);
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(&desk.path(""), &mut before);
    let mut runner = TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    // Valid input is covered by the next test, because each review starts processes.
    let calls = (prop::sample::select(&TOOLS[..]), prop_oneof![any_arguments(), any_json()]);
    let calls = calls.prop_filter("sound", |(name, arguments)| *name != "review_change" || *arguments != json!({}));
    runner
        .run(&calls, |(name, arguments)| {
            check(&mcp, name, arguments);
            Ok(())
        })
        .unwrap();
    files(&desk.path(""), &mut after);
    assert_eq!(before, after);
    check(&mcp, "review_change", json!({}));
}

#[test]
fn every_argument_with_every_hostile_text_is_harmless() {
    let desk = Desk::new("");
    let mcp = tools(&desk);
    mcp.call("review_change", json!({})).unwrap();
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(&desk.path(""), &mut before);
    for name in TOOLS {
        let schema = mcp.get_tool(name).unwrap().input_schema;
        let needed = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for argument in schema["properties"].as_object().unwrap().keys() {
            for text in HOSTILE {
                let others = needed.iter().map(|other| (other.as_str().unwrap().to_owned(), json!("F001")));
                let mut arguments: Map<String, Value> = others.collect();
                arguments.insert(argument.clone(), json!(text));
                check(&mcp, name, Value::Object(arguments));
            }
        }
    }
    files(&desk.path(""), &mut after);
    assert_eq!(before, after);
}

#[test]
fn there_is_no_other_tool() {
    let desk = Desk::new("");
    assert_eq!(tools(&desk).call("rm", json!({})), None);
}
