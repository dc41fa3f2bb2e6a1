//! Routing of requests to the fake GitHub: authentication, permissions, injected faults.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::fault::Fault;
use super::http::{Answer, Reply, Request};
use super::json::http_date;
use super::state::{Entry, State, Token};
use super::{app, checks, comments, git, graphql, limits, pulls};

/// What a request asks for.
pub(crate) struct Call<'a> {
    pub(crate) name: &'static str,
    /// The repository, as `owner/name`, if the route is in one.
    pub(crate) full: String,
    /// The other variable parts of the path.
    pub(crate) rest: Vec<&'a str>,
}

impl Call<'_> {
    /// A numeric path parameter; anything else is not found.
    pub(crate) fn number(&self, position: usize) -> u64 {
        self.rest.get(position).and_then(|part| part.parse().ok()).unwrap_or(0)
    }

    fn creates(&self) -> bool {
        matches!(self.name, "comments.create" | "reviews.create" | "lines.create" | "lines.reply")
    }
}

/// Every way that can be asked for: method, path, name.
const ROUTES: &[(&str, &str, &str)] = &[
    ("GET", "/app", "app.get"),
    ("GET", "/app/hook/deliveries", "deliveries.list"),
    ("POST", "/app/hook/deliveries/*/attempts", "deliveries.again"),
    ("POST", "/app/installations/*/access_tokens", "tokens.create"),
    ("POST", "/app-manifests/*/conversions", "manifests.convert"),
    ("POST", "/graphql", "graphql"),
    ("GET", "/user", "user.get"),
    ("GET", "/repos/@/@", "repos.get"),
    ("GET", "/repos/@/@/installation", "repos.installation"),
    ("GET", "/repos/@/@/collaborators/*/permission", "people.permission"),
    ("GET", "/repos/@/@/pulls", "pulls.list"),
    ("GET", "/repos/@/@/pulls/*", "pulls.get"),
    ("GET", "/repos/@/@/pulls/*/commits", "pulls.commits"),
    ("GET", "/repos/@/@/pulls/*/files", "pulls.files"),
    ("GET", "/repos/@/@/pulls/*/reviews", "reviews.list"),
    ("POST", "/repos/@/@/pulls/*/reviews", "reviews.create"),
    ("GET", "/repos/@/@/pulls/*/comments", "lines.list"),
    ("POST", "/repos/@/@/pulls/*/comments", "lines.create"),
    ("POST", "/repos/@/@/pulls/*/comments/*/replies", "lines.reply"),
    ("DELETE", "/repos/@/@/pulls/comments/*", "lines.delete"),
    ("GET", "/repos/@/@/issues/*/comments", "comments.list"),
    ("POST", "/repos/@/@/issues/*/comments", "comments.create"),
    ("PATCH", "/repos/@/@/issues/comments/*", "comments.edit"),
    ("DELETE", "/repos/@/@/issues/comments/*", "comments.delete"),
    ("GET", "/repos/@/@/commits/*/check-runs", "checks.list"),
    ("POST", "/repos/@/@/check-runs", "checks.create"),
    ("GET", "/repos/@/@/check-runs/*", "checks.get"),
    ("PATCH", "/repos/@/@/check-runs/*", "checks.update"),
];

fn find<'a>(method: &str, path: &'a str) -> Option<Call<'a>> {
    ROUTES.iter().filter(|route| route.0 == method).find_map(|(_, pattern, name)| {
        let (pattern, parts) = (pattern.split('/').collect::<Vec<_>>(), path.split('/').collect::<Vec<_>>());
        let fits = |(wanted, found): (&&str, &&str)| ["*", "@"].contains(wanted) || wanted == found;
        if pattern.len() != parts.len() || !pattern.iter().zip(&parts).all(fits) {
            return None;
        }
        let of = |mark: &str| -> Vec<&'a str> {
            pattern.iter().zip(&parts).filter(|(wanted, _)| **wanted == mark).map(|(_, part)| *part).collect()
        };
        Some(Call { name, full: of("@").join("/"), rest: of("*") })
    })
}

/// An answer in JSON.
pub(crate) fn said(status: u16, value: &Value) -> Answer {
    let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
    let body = if status == 204 { Vec::new() } else { value.to_string().into_bytes() };
    Answer { status, headers, body }
}

/// A refusal in GitHub's form.
pub(crate) fn refused(status: u16, message: &str) -> Answer {
    let documentation = "https://docs.github.com/rest";
    said(status, &json!({ "message": message, "documentation_url": documentation, "status": status.to_string() }))
}

/// A 422 response with reasons.
pub(crate) fn invalid(message: &str, errors: &Value) -> Answer {
    let documentation = "https://docs.github.com/rest";
    said(422, &json!({ "message": message, "errors": errors, "documentation_url": documentation, "status": "422" }))
}

/// A page of a list, with the address of the next.
pub(crate) fn page(request: &Request, url: &str, items: Vec<Value>) -> Answer {
    let per_page = request.number("per_page").unwrap_or(30).clamp(1, 100);
    let number = request.number("page").unwrap_or(1).max(1);
    let n_items = items.len();
    let shown: Vec<Value> = items.into_iter().skip((number - 1) * per_page).take(per_page).collect();
    let mut answer = said(200, &Value::Array(shown));
    if n_items > number * per_page {
        let next = format!("<{url}{}?per_page={per_page}&page={}>; rel=\"next\"", request.path, number + 1);
        answer.headers.push(("link".to_owned(), next));
    }
    answer
}

/// Answers a request.
pub(crate) fn answer(state: &Arc<Mutex<State>>, root: &std::path::Path, request: &Request) -> Reply {
    let path = request.path.strip_prefix("/api/v3").or(request.path.strip_prefix("/api")).unwrap_or(&request.path);
    let Some(call) = find(&request.method, path) else {
        if path.contains("/info/refs") || path.ends_with("/git-upload-pack") {
            return fetch(state, root, request);
        }
        state.lock().unwrap().remember("unknown", request, 404);
        return Reply::Send(refused(404, "Not Found"));
    };
    let mut state = state.lock().unwrap();
    let fault = state.faults.next(call.name);
    let mut reply = match fault {
        Some(fault) => stumble(&mut state, fault, request, &call),
        None => Reply::Send(carry_out(&mut state, request, &call)),
    };
    let mut status = 0;
    if let Reply::Send(answer) = &mut reply {
        status = answer.status;
        let now_ms = state.now_ms();
        answer.headers.push(("date".to_owned(), http_date(now_ms)));
        limits::tell(&state, request, answer);
    }
    state.remember(call.name, request, status);
    reply
}

fn stumble(state: &mut State, fault: Fault, request: &Request, call: &Call<'_>) -> Reply {
    Reply::Send(match fault {
        Fault::Unauthorized => {
            state.tokens.retain(|token, _| Some(token.as_str()) != bearer(request));
            refused(401, "Bad credentials")
        }
        Fault::Secondary(seconds) => limits::too_much(seconds),
        Fault::NotFound => refused(404, "Not Found"),
        Fault::Forbidden if call.name == "graphql" => graphql::forbidden(),
        Fault::Forbidden => refused(403, "Resource not accessible by integration"),
        Fault::Conflict => refused(409, "Conflict"),
        Fault::Invalid => invalid("Unprocessable Entity", &json!(["Line could not be resolved"])),
        Fault::Broken(status) => refused(status, "Server Error"),
        Fault::DoneButBroken => {
            carry_out(state, request, call);
            refused(502, "Server Error")
        }
        Fault::DoneButClosed => {
            carry_out(state, request, call);
            return Reply::Hang(std::time::Duration::ZERO);
        }
        Fault::Silent(for_long) => return Reply::Hang(for_long),
    })
}

/// The token of a request, from either way to say it.
pub(crate) fn bearer(request: &Request) -> Option<&str> {
    let value = request.header("authorization")?;
    let (scheme, token) = value.split_once(' ')?;
    ["bearer", "token"].contains(&scheme.to_ascii_lowercase().as_str()).then_some(token)
}

fn carry_out(state: &mut State, request: &Request, call: &Call<'_>) -> Answer {
    if request.header("user-agent").is_none() {
        return refused(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
        );
    }
    match call.name {
        "app.get" | "deliveries.list" | "deliveries.again" | "tokens.create" | "repos.installation" => {
            return match app::of_the_app(state, request) {
                Ok(()) => app::answer(state, request, call),
                Err(why) => refused(401, &why),
            };
        }
        "manifests.convert" => return app::convert(state, call),
        _ => {}
    }
    let token = match authenticate(state, request) {
        Ok(token) => token,
        Err(answer) => return answer,
    };
    if let Some(answer) = limits::check(state, &token.actor.login, &request.method, call.creates()) {
        return answer;
    }
    if let Some(answer) = may(state, &token, call) {
        return answer;
    }
    let body: Value = match request.body.is_empty() {
        true => Value::Null,
        false => match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(_) => return refused(400, "Problems parsing JSON"),
        },
    };
    let part = call.name.split('.').next().unwrap_or_default();
    match part {
        "user" if token.actor.is_bot() => refused(403, "Resource not accessible by integration"),
        "user" => said(200, &state.own_user(&token.actor.login)),
        "repos" => state.repo(&call.full).map_or_else(not_found, |repo| said(200, &state.repository(repo))),
        "people" => pulls::permission(state, call),
        "pulls" => pulls::answer(state, request, call),
        "comments" | "reviews" | "lines" => comments::answer(state, request, call, &token.actor, &body),
        "checks" => checks::answer(state, request, call, &token, &body),
        _ => graphql::answer(state, &token, &body),
    }
}

pub(crate) fn not_found() -> Answer {
    refused(404, "Not Found")
}

/// The authenticated actor. Public data can be read without one.
fn authenticate(state: &State, request: &Request) -> Result<Token, Answer> {
    let Some(token) = bearer(request) else {
        let is_reading = request.method == "GET" && request.header("authorization").is_none();
        return if is_reading { Ok(Token::anonymous()) } else { Err(refused(401, "Requires authentication")) };
    };
    match state.tokens.get(token) {
        Some(token) if token.expires_ms > state.now_ms() => Ok(token.clone()),
        _ => Err(refused(401, "Bad credentials")),
    }
}

/// GitHub's error for a missing permission.
fn may(state: &State, token: &Token, call: &Call<'_>) -> Option<Answer> {
    if call.full.is_empty() {
        return None;
    }
    let Some(repo) = state.repo(&call.full) else { return Some(not_found()) };
    let is_its_own = token.repos.is_empty() || token.repos.iter().any(|name| name.eq_ignore_ascii_case(&repo.name));
    if !is_its_own || (token.is_nobody() && repo.is_private) {
        return Some(not_found());
    }
    let (what, how) = match call.name {
        "comments.create" | "comments.edit" | "comments.delete" => (&["issues", "pull_requests"][..], "write"),
        "reviews.create" | "lines.create" | "lines.reply" | "lines.delete" => (&["pull_requests"][..], "write"),
        "checks.create" | "checks.update" => (&["checks"][..], "write"),
        "checks.list" | "checks.get" if !token.is_nobody() => (&["checks"][..], "read"),
        _ => return None,
    };
    let allows = |what: &&str| token.may.get(*what).is_some_and(|has| has == "write" || has == how);
    (!what.iter().any(allows)).then(|| refused(403, "Resource not accessible by integration"))
}

/// What git asks for. A token goes in as a password, as GitHub wants it.
fn fetch(state: &Arc<Mutex<State>>, root: &std::path::Path, request: &Request) -> Reply {
    let parts: Vec<&str> = request.path.trim_start_matches('/').splitn(3, '/').collect();
    let [owner, name, rest] = parts[..] else { return Reply::Send(refused(404, "Not Found")) };
    let name = name.trim_end_matches(".git");
    let (is_allowed, is_there, fault) = {
        let mut state = state.lock().unwrap();
        let repo = state.repo(&format!("{owner}/{name}"));
        let is_public = repo.is_some_and(|repo| !repo.is_private);
        let is_there = repo.is_some();
        let is_allowed = match request.header("authorization") {
            None => is_public,
            Some(value) => app::password(value)
                .and_then(|token| state.tokens.get(&token).cloned())
                .is_some_and(|token| token.expires_ms > state.now_ms() && token.may_read(name)),
        };
        let fault = state.faults.next("git.fetch");
        let status = if is_allowed { 200 } else { 401 };
        state.remember("git.fetch", request, status);
        (is_allowed, is_there, fault)
    };
    match fault {
        Some(Fault::Silent(for_long)) => return Reply::Hang(for_long),
        Some(_) => return Reply::Send(refused(502, "Server Error")),
        None => {}
    }
    if !is_allowed {
        let mut answer = refused(401, "Repository not found.");
        answer.headers.push(("www-authenticate".to_owned(), "Basic realm=\"GitHub\"".to_owned()));
        return Reply::Send(answer);
    }
    if !is_there {
        return Reply::Send(not_found());
    }
    let path = format!("/{}/{}.git/{rest}", owner.to_ascii_lowercase(), name.to_ascii_lowercase());
    Reply::Send(git::backend(root, &path, request))
}

impl State {
    fn remember(&mut self, name: &'static str, request: &Request, status: u16) {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let path = match request.query.as_str() {
            "" => request.path.clone(),
            query => format!("{}?{query}", request.path),
        };
        let at_ms = self.now_ms();
        self.log.push(Entry { name, path, status, at_ms, body });
    }
}
