//! `tollgate mcp`, and `/mcp` of the server, driven by the client of the official SDK.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam, ServerResult,
    Tool,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RoleClient, RunningService};
use rmcp::{ClientHandler, ErrorData, ServiceError};
use serde_json::Value;

mod allowed_roots;
mod app;
mod create_comment;
mod hostile;
mod http;
mod official;
mod raw_protocol;
mod stdio;

/// How long anything may take before a test gives up. Nothing depends on it but the end of a broken test.
const PATIENCE: Duration = Duration::from_secs(120);

/// Code to which a rule objects.
const BAD: &str = "export const f = (text) => eval(text);\n";
/// The same, put right.
const GOOD: &str = "export const f = (text) => JSON.parse(text);\n";

/// A summary that keeps every rule.
const SUMMARY: &str = "<details>\n<summary>Kodiai Review Summary</summary>\n\n## What Changed\nRetries.\n\n\
    Reviewed: core logic\n\n## Observations\n\n### Major\nsrc/a.ts (3): The delay is never reset\nIt waits for ever.\n\n\
    ## Verdict\n:yellow_circle: **Needs changes** -- 1 major finding\n\n</details>\n";

/// A client that listens.
#[derive(Clone, Default)]
struct Listener {
    steps: Arc<Mutex<Vec<(f64, String)>>>,
}

impl ClientHandler for Listener {
    async fn on_progress(&self, step: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.steps.lock().unwrap().push((step.progress, step.message.unwrap_or_default()));
    }
}

/// A connected client and the listed tools.
struct Agent {
    client: RunningService<RoleClient, Listener>,
    tools: Vec<Tool>,
}

impl Agent {
    async fn new(client: RunningService<RoleClient, Listener>) -> Self {
        let tools = client.list_all_tools().await.unwrap();
        Self { client, tools }
    }

    /// Calls a tool and checks its result against its schema.
    async fn call(&self, name: &str, arguments: Value) -> CallToolResult {
        let request = CallToolRequestParams::new(name.to_owned()).with_arguments(object(arguments));
        let result = self.client.call_tool(request).await.unwrap();
        let tool = self.tools.iter().find(|tool| tool.name == name).unwrap();
        check_promised(tool, &result);
        result
    }

    /// What a tool answers, as data.
    async fn data(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        assert_ne!(result.is_error, Some(true), "{}", text(&result));
        result.structured_content.unwrap()
    }

    /// The error message of a failed tool call.
    async fn refusal(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert_eq!(result.is_error, Some(true), "{}", text(&result));
        text(&result)
    }

    /// Calls a tool and leaves the answer to come.
    async fn begin(&self, name: &str, arguments: Value) -> RequestHandle<RoleClient> {
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(object(arguments));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
    }

    fn steps(&self) -> Vec<(f64, String)> {
        self.client.service().steps.lock().unwrap().clone()
    }
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

/// Checks that a result has the promised schema and an error a message.
#[track_caller]
fn check_promised(tool: &Tool, result: &CallToolResult) {
    assert!(!text(result).is_empty());
    if result.is_error == Some(true) {
        assert_eq!(result.structured_content, None, "{}", tool.name);
        return;
    }
    let schema = Value::Object(tool.output_schema.as_deref().unwrap().clone());
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let data = result.structured_content.as_ref().unwrap();
    let problems: Vec<String> = validator.iter_errors(data).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{}: {problems:?} in {data:#}", tool.name);
}

/// A mistake in the protocol, which is no answer of a tool.
#[track_caller]
fn protocol_error<T: std::fmt::Debug>(result: Result<T, ServiceError>) -> ErrorData {
    match result {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("not an error of the protocol: {other:?}"),
    }
}

/// The answer to a call that was begun.
#[track_caller]
fn answered(result: Result<ServerResult, ServiceError>) -> CallToolResult {
    match result {
        Ok(ServerResult::CallToolResult(result)) => result,
        other => panic!("not an answer of a tool: {other:?}"),
    }
}

/// Runs a test on a runtime of its own, within a bound.
fn story<F: Future<Output = ()>>(story: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, story).await.expect("the story in time") });
    runtime.shutdown_background();
}
