//! Pull requests at the fake GitHub, as they are read.

use serde_json::{Value, json};

use super::git::git;
use super::http::{Answer, Request};
use super::json::iso;
use super::lines::Lines;
use super::route::{Call, not_found, page, said};
use super::state::{Pull, Repository, State};

/// The most commits and files that are listed.
const MAX_COMMITS: usize = 250;
const MAX_FILES: usize = 3_000;

/// How many commits and files a pull request has.
pub(crate) fn counts(repo: &Repository, pull: &Pull) -> (usize, usize) {
    let range = format!("{}..{}", pull.base, pull.head);
    let n_commits = git(&repo.git, &["rev-list", "--count", &range]).parse().unwrap_or(0);
    (n_commits, Lines::names_of(&repo.git, &pull.base, &pull.head).len())
}

/// The permission of a user. Public repositories are readable by all.
pub(crate) fn permission(state: &State, call: &Call<'_>) -> Answer {
    let Some(repo) = state.repo(&call.full) else { return not_found() };
    let login = call.rest[0].replace("%5B", "[").replace("%5D", "]");
    let rest = if repo.is_private { "none" } else { "read" };
    let has = repo.people.get(&login.to_ascii_lowercase()).copied().unwrap_or(rest);
    let mut user = state.user(&login);
    user["role_name"] = json!(has);
    said(200, &json!({ "permission": has, "role_name": has, "user": user }))
}

pub(crate) fn answer(state: &State, request: &Request, call: &Call<'_>) -> Answer {
    let Some(repo) = state.repo(&call.full) else { return not_found() };
    if call.name == "pulls.list" {
        return list(state, repo, request);
    }
    let Some(pull) = repo.pulls.get(&call.number(0)) else { return not_found() };
    match call.name {
        "pulls.get" => said(200, &state.pull_request(repo, pull)),
        "pulls.commits" => page(request, &state.url, commits(state, repo, pull)),
        _ => page(request, &state.url, files(state, repo, pull)),
    }
}

fn list(state: &State, repo: &Repository, request: &Request) -> Answer {
    let wanted = request.asked("state").unwrap_or("open");
    let is_wanted = |pull: &&Pull| wanted == "all" || pull.is_open == (wanted == "open");
    let mut pulls: Vec<&Pull> = repo.pulls.values().filter(is_wanted).collect();
    if request.asked("sort") == Some("updated") {
        pulls.sort_by_key(|pull| pull.updated_ms);
    }
    if request.asked("direction") != Some("asc") {
        pulls.reverse();
    }
    page(request, &state.url, pulls.into_iter().map(|pull| state.pull_request(repo, pull)).collect())
}

fn commits(state: &State, repo: &Repository, pull: &Pull) -> Vec<Value> {
    let range = format!("{}..{}", pull.base, pull.head);
    let log = git(&repo.git, &["log", "--reverse", "--topo-order", "--format=%H%x00%P%x00%B%x01", &range]);
    let url = format!("{}/repos/{}", state.url, repo.full());
    let entries = log.split('\u{1}').map(str::trim_start).filter(|entry| !entry.is_empty()).take(MAX_COMMITS);
    let shown = entries.map(|entry| {
        let parts: Vec<&str> = entry.split('\0').collect();
        let [sha, parents, message] = parts[..] else { return Value::Null };
        let parents: Vec<Value> = parents
            .split(' ')
            .filter(|sha| !sha.is_empty())
            .map(|sha| json!({ "sha": sha, "url": format!("{url}/commits/{sha}") }))
            .collect();
        let who = json!({ "name": "Ada", "email": "ada@example.com", "date": iso(0) });
        json!({
            "sha": sha, "node_id": format!("C_{sha}"), "url": format!("{url}/commits/{sha}"),
            "html_url": format!("{}/{}/commit/{sha}", state.url, repo.full()),
            "comments_url": format!("{url}/commits/{sha}/comments"), "author": null, "committer": null,
            "parents": parents,
            "commit": {
                "url": format!("{url}/git/commits/{sha}"), "author": who, "committer": who, "comment_count": 0,
                "message": message.trim_end(), "tree": { "sha": sha, "url": format!("{url}/git/trees/{sha}") },
            },
        })
    });
    shown.collect()
}

fn files(state: &State, repo: &Repository, pull: &Pull) -> Vec<Value> {
    let shown = Lines::names_of(&repo.git, &pull.base, &pull.head).into_iter().take(MAX_FILES).map(|name| {
        let url = format!("{}/repos/{}/contents/{}", state.url, repo.full(), name.len());
        json!({
            "sha": null, "filename": name, "status": "modified", "additions": 1, "deletions": 0, "changes": 1,
            "blob_url": url, "raw_url": url, "contents_url": url,
        })
    });
    shown.collect()
}
