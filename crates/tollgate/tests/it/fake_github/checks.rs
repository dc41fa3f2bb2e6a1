//! Checks at the fake GitHub: only apps write them, annotations come in parts, and the list shows the latest.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::git::holds;
use super::http::{Answer, Request};
use super::route::{Call, not_found, refused, said};
use super::state::{Check, State, Token};

const MAX_ANNOTATIONS: usize = 50;
const MAX_TEXT: usize = 65_535;

pub(crate) fn answer(state: &mut State, request: &Request, call: &Call<'_>, by: &Token, body: &Value) -> Answer {
    match call.name {
        "checks.list" => list(state, request, call),
        "checks.create" => create(state, call, by, body),
        _ => {
            let id = call.number(0);
            let repo = state.repo(&call.full).unwrap();
            let Some(check) = repo.checks.iter().find(|check| check.id == id) else { return not_found() };
            match call.name {
                "checks.get" => said(200, &state.check(&call.full, check)),
                _ if Some(check.app) != by.actor.app => {
                    refused(403, "Invalid app_id - check run can only be modified by the GitHub App that created it.")
                }
                _ => update(state, call, id, body),
            }
        }
    }
}

/// The checks of a commit. Unless all are asked for, only the latest of each name.
fn list(state: &mut State, request: &Request, call: &Call<'_>) -> Answer {
    let now_ms = state.now_ms();
    let head = call.rest[0].to_owned();
    let repo = state.repo_mut(&call.full).unwrap();
    let is_wanted = |check: &Check| {
        check.head == head
            && request.asked("check_name").is_none_or(|name| name.replace("%20", " ").replace('+', " ") == check.name)
            && request.number("app_id").is_none_or(|app| app as u64 == check.app)
            && request.asked("status").is_none_or(|status| status == check.status)
    };
    let mut found: Vec<Check> = Vec::new();
    for check in repo.checks.iter_mut().rev().filter(|check| is_wanted(check)) {
        if check.veil.is_lifted(now_ms) {
            found.push(check.clone());
        }
    }
    if request.asked("filter") != Some("all") {
        let mut names = BTreeSet::new();
        found.retain(|check| names.insert((check.app, check.name.clone())));
    }
    let per_page = request.number("per_page").unwrap_or(30).clamp(1, 100);
    let skipped = (request.number("page").unwrap_or(1).max(1) - 1) * per_page;
    let n_found = found.len();
    let shown: Vec<Value> =
        found.iter().skip(skipped).take(per_page).map(|check| state.check(&call.full, check)).collect();
    said(200, &json!({ "total_count": n_found, "check_runs": shown }))
}

/// The validation errors of a check.
fn refusal(body: &Value) -> Option<Answer> {
    let output = &body["output"];
    let n = output["annotations"].as_array().map_or(0, Vec::len);
    if n > MAX_ANNOTATIONS {
        let why = format!("Invalid request.\n\nNo more than {MAX_ANNOTATIONS} items are allowed; {n} were supplied.");
        return Some(refused(422, &why));
    }
    if output.is_object() && (!output["title"].is_string() || !output["summary"].is_string()) {
        return Some(refused(422, "Invalid request.\n\n\"title\", \"summary\" weren't supplied."));
    }
    let is_long = |name: &str| output[name].as_str().is_some_and(|text| text.chars().count() > MAX_TEXT);
    if ["summary", "text"].into_iter().any(is_long) {
        return Some(refused(422, "Invalid request.\n\nOnly 65535 characters are allowed."));
    }
    for annotation in output["annotations"].as_array().into_iter().flatten() {
        let length = |name: &str| annotation[name].as_str().map_or(0, str::len);
        let (start, end) = (annotation["start_line"].as_u64(), annotation["end_line"].as_u64());
        if length("message") == 0 || length("message") > 65_536 || length("title") > 255 || length("path") == 0 {
            return Some(refused(422, "Invalid request.\n\nAn annotation is too long or says nothing."));
        }
        if start.is_none() || end < start || start == Some(0) {
            return Some(refused(422, "Invalid request.\n\nAn annotation ends before it begins."));
        }
    }
    None
}

fn create(state: &mut State, call: &Call<'_>, by: &Token, body: &Value) -> Answer {
    let Some(app) = by.actor.app else {
        return refused(403, "You must authenticate via a GitHub App.");
    };
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let (Some(name), Some(head)) = (text("name"), text("head_sha")) else {
        return refused(422, "Invalid request.\n\n\"name\", \"head_sha\" weren't supplied.");
    };
    let repo = state.repo(&call.full).unwrap();
    if head.len() != 40 || !holds(&repo.git, &["cat-file", "-e", &format!("{head}^{{commit}}")]) {
        return refused(422, &format!("No commit found for SHA: {head}"));
    }
    if let Some(answer) = refusal(body) {
        return answer;
    }
    let (id, started_ms, veil) = (state.new_id(), state.now_ms(), state.veil());
    let (external_id, details_url) = (text("external_id"), text("details_url"));
    let check = Check {
        id,
        app,
        name,
        head,
        external_id,
        details_url,
        status: "queued".to_owned(),
        conclusion: None,
        title: None,
        summary: None,
        annotations: Vec::new(),
        started_ms,
        completed_ms: None,
        veil,
    };
    state.repo_mut(&call.full).unwrap().checks.push(check);
    let answer = update(state, call, id, body);
    Answer { status: 201, ..answer }
}

/// Updates the output; annotations are appended.
fn update(state: &mut State, call: &Call<'_>, id: u64, body: &Value) -> Answer {
    if let Some(answer) = refusal(body) {
        return answer;
    }
    if body["status"] == "completed" && !body["conclusion"].is_string() {
        return refused(422, "Invalid request.\n\n\"conclusion\" wasn't supplied.");
    }
    let now_ms = state.now_ms();
    let repo = state.repo_mut(&call.full).unwrap();
    let check = repo.checks.iter_mut().find(|check| check.id == id).unwrap();
    if let Some(status) = body["status"].as_str() {
        check.status = status.to_owned();
        if status != "completed" {
            (check.conclusion, check.completed_ms) = (None, None);
        }
    }
    if let Some(conclusion) = body["conclusion"].as_str() {
        check.conclusion = Some(conclusion.to_owned());
        check.status = "completed".to_owned();
        check.completed_ms = Some(now_ms);
    }
    for (field, name) in [(&mut check.external_id, "external_id"), (&mut check.details_url, "details_url")] {
        if let Some(text) = body[name].as_str() {
            *field = Some(text.to_owned());
        }
    }
    let output = &body["output"];
    for (field, name) in [(&mut check.title, "title"), (&mut check.summary, "summary")] {
        if let Some(text) = output[name].as_str() {
            *field = Some(text.to_owned());
        }
    }
    check.annotations.extend(output["annotations"].as_array().cloned().unwrap_or_default());
    let check = check.clone();
    said(200, &state.check(&call.full, &check))
}
