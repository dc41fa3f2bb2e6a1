//! The questions of GraphQL that are asked of the fake GitHub: which threads there are, and to resolve one or to open it
//! again.

use serde_json::{Value, json};

use super::hooks::Event;
use super::http::Answer;
use super::route::said;
use super::state::{LineComment, State, Token};

pub(crate) fn answer(state: &mut State, by: &Token, body: &Value) -> Answer {
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    if query.contains("unresolveReviewThread") {
        mark(state, by, variables, false)
    } else if query.contains("resolveReviewThread") {
        mark(state, by, variables, true)
    } else if query.contains("reviewThreads") {
        threads(state, by, variables)
    } else {
        error("UNDEFINED_FIELD", "the question makes no sense here")
    }
}

/// GraphQL reports errors with status 200.
fn error(kind: &str, message: &str) -> Answer {
    said(200, &json!({ "data": null, "errors": [{ "type": kind, "message": message, "path": [] }] }))
}

/// The answer to an app that lacks a right.
pub(crate) fn forbidden() -> Answer {
    error("FORBIDDEN", "Resource not accessible by integration")
}

fn threads(state: &State, by: &Token, variables: &Value) -> Answer {
    let text = |names: &[&str]| names.iter().find_map(|name| variables[name].as_str()).unwrap_or_default().to_owned();
    let full = format!("{}/{}", text(&["owner"]), text(&["name", "repo"]));
    let number = ["number", "pull"].iter().find_map(|name| variables[name].as_u64()).unwrap_or(0);
    let Some(pull) = state.pull(&full, number) else {
        return error("NOT_FOUND", "Could not resolve to a PullRequest with the number.");
    };
    let after: usize = text(&["after", "cursor"]).parse().unwrap_or(0);
    let roots: Vec<_> = pull.at_lines.iter().filter(|comment| comment.answers.is_none()).collect();
    let nodes: Vec<Value> = roots
        .iter()
        .skip(after)
        .take(100)
        .map(|root| {
            let comment = json!({
                "databaseId": root.id, "fullDatabaseId": root.id.to_string(), "body": root.body,
                "author": { "login": root.by.login.trim_end_matches("[bot]") },
            });
            json!({
                "id": format!("PRRT_{}", root.id), "isResolved": root.is_resolved,
                "isOutdated": root.commit != pull.head, "viewerCanResolve": may_resolve(state, by),
                "viewerCanUnresolve": may_resolve(state, by),
                "comments": { "nodes": [comment], "totalCount": 1 },
            })
        })
        .collect();
    let end = after + nodes.len();
    let page = json!({ "hasNextPage": end < roots.len(), "endCursor": end.to_string() });
    let threads = json!({ "nodes": nodes, "pageInfo": page, "totalCount": roots.len() });
    said(200, &json!({ "data": { "repository": { "pullRequest": { "reviewThreads": threads } } } }))
}

fn may_resolve(state: &State, by: &Token) -> bool {
    state.lets_resolve && by.may.get("contents").is_some_and(|may| may == "write")
}

fn mark(state: &mut State, by: &Token, variables: &Value, is_resolved: bool) -> Answer {
    let named = |value: &Value| value.as_str().and_then(|text| text.strip_prefix("PRRT_")?.parse::<u64>().ok());
    let nested = variables.as_object().into_iter().flat_map(|object| object.values());
    let id = nested.flat_map(|value| [named(value), named(&value["threadId"])]).flatten().next().unwrap_or(0);
    if !may_resolve(state, by) {
        return forbidden();
    }
    let is_it = |comment: &LineComment| comment.id == id && comment.answers.is_none();
    let mut pulls = state.repos.values().flat_map(|repo| repo.pulls.values().map(|pull| (repo.full(), pull)));
    match pulls.find(|(_, pull)| pull.at_lines.iter().any(is_it)).map(|(full, pull)| (full, pull.number)) {
        Some((full, number)) => {
            let pull = state.pull_mut(&full, number).unwrap();
            pull.at_lines.iter_mut().find(|comment| is_it(comment)).unwrap().is_resolved = is_resolved;
            state.tell(&full, number, &Event::Thread { root: id, is_resolved }, &by.actor);
            let thread = json!({ "id": format!("PRRT_{id}"), "isResolved": is_resolved });
            let name = if is_resolved { "resolveReviewThread" } else { "unresolveReviewThread" };
            said(200, &json!({ "data": { name: { "thread": thread } } }))
        }
        None => error("NOT_FOUND", "Could not resolve to a node with the global id."),
    }
}
