//! The two things that only GitHub's GraphQL interface can do: list the threads of a pull request and resolve one.
//!
//! Its errors come with status 200:
//!
//! ```json
//! {"data": null, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}
//! ```

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tollgate_core::pull::Repo;

use super::MAX_PAGES;
use super::hosted::Hosted;
use super::limits::Cost;
use super::request::{Request, To};
use super::trouble::{self, tidy};
use crate::forge::host::{Asked, HostError, Thread, Trouble};

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { id isResolved viewerCanResolve comments(first: 1) { nodes { databaseId fullDatabaseId } } } } } } }";

/// The field of [`THREADS`] that is younger than the others.
const LARGE: &str = "fullDatabaseId";

const RESOLVE: &str = "mutation($thread: ID!) { resolveReviewThread(input: { threadId: $thread }) { thread { id } } }";

/// The longest name of a thread or place in a list that is sent back.
const MAX_NAME: usize = 500;

#[derive(Serialize)]
struct Question<'a, V> {
    query: &'a str,
    variables: V,
}

#[derive(Serialize)]
struct OfPull<'a> {
    owner: &'a str,
    name: &'a str,
    number: u64,
    after: Option<String>,
}

#[derive(Serialize)]
struct OfThread<'a> {
    thread: &'a str,
}

#[derive(Deserialize)]
struct Reply<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GraphError>,
}

#[derive(Deserialize)]
struct GraphError {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Threads {
    repository: Option<Repository>,
}

impl Threads {
    fn into_page(self) -> Option<Page> {
        self.repository?.pull_request.map(|pull| pull.review_threads)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repository {
    pull_request: Option<PullRequest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequest {
    review_threads: Page,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    page_info: PageInfo,
    #[serde(default)]
    nodes: Vec<Option<Node>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: String,
    is_resolved: bool,
    #[serde(default)]
    viewer_can_resolve: bool,
    comments: Comments,
}

#[derive(Deserialize)]
struct Comments {
    #[serde(default)]
    nodes: Vec<Option<Began>>,
}

/// The comment that began a thread. Its number outgrew the field that it had first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Began {
    database_id: Option<u64>,
    full_database_id: Option<String>,
}

impl Node {
    fn into_host(self) -> Option<Thread> {
        let began = self.comments.nodes.into_iter().flatten().next()?;
        let root = began.full_database_id.and_then(|text| text.parse().ok()).or(began.database_id)?;
        Some(Thread { id: self.id, root, is_resolved: self.is_resolved, may_resolve: self.viewer_can_resolve })
    }
}

/// The threads of a pull request.
pub(super) fn threads(hosted: &Hosted, repo: &Repo, number: u64) -> Asked<Vec<Thread>> {
    let mut query = Cow::Borrowed(THREADS);
    let mut variables = OfPull { owner: repo.owner(), name: repo.name(), number, after: None };
    let mut threads = Vec::new();
    for _ in 0..MAX_PAGES {
        let request = question("reviewThreads", &query, &variables)?;
        let page = match ask::<Threads>(hosted, &request) {
            Ok(found) => found.into_page().ok_or_else(|| not_there(&request))?,
            // Servers of one's own may be too old for numbers that large, and then have none.
            Err(error) if error.message.contains(LARGE) && matches!(query, Cow::Borrowed(_)) => {
                query = Cow::Owned(THREADS.replace(LARGE, ""));
                continue;
            }
            Err(error) => return Err(error),
        };
        threads.extend(page.nodes.into_iter().flatten().filter_map(Node::into_host));
        let PageInfo { has_next_page, end_cursor } = page.page_info;
        variables.after = end_cursor.filter(|cursor| has_next_page && cursor.len() <= MAX_NAME);
        if variables.after.is_none() {
            return Ok(threads);
        }
    }
    Err(trouble::too_many(&question("reviewThreads", &query, &variables)?, threads.len()))
}

/// Resolves a thread.
pub(super) fn resolve(hosted: &Hosted, thread: &str) -> Asked<()> {
    if thread.is_empty() || thread.len() > MAX_NAME {
        return Err(trouble::wont_do(format!("`{}` is not the name of a thread", tidy(thread))));
    }
    let mut request = question("resolveReviewThread", RESOLVE, OfThread { thread })?;
    request.cost = Cost::Change;
    ask::<serde::de::IgnoredAny>(hosted, &request).map(drop)
}

/// A question, which may be asked again: to resolve a thread twice is to resolve it.
fn question(name: &'static str, query: &str, variables: impl Serialize) -> Asked<Request> {
    let mut request = Request::get("").with_body(&Question { query, variables })?;
    request.method = reqwest::Method::POST;
    request.to = To::Graph(name);
    Ok(request)
}

fn ask<T: DeserializeOwned>(hosted: &Hosted, request: &Request) -> Asked<T> {
    let reply: Reply<T> = hosted.read(request)?;
    if let Some(error) = reply.errors.into_iter().next() {
        return Err(refusal(request, &error));
    }
    reply.data.ok_or_else(|| not_there(request))
}

fn not_there(request: &Request) -> HostError {
    HostError::new(Trouble::NotFound, format!("`{}` is not there, or we may not see it", request.shown()))
}

/// What an error in an answer means.
fn refusal(request: &Request, error: &GraphError) -> HostError {
    let said = tidy(&error.message);
    let (kind, words) = (error.kind.to_ascii_uppercase(), said.to_lowercase());
    let trouble = match kind.as_str() {
        "RATE_LIMITED" | "RATE_LIMIT" => Trouble::Limited { wait_ms: 60_000 },
        "NOT_FOUND" => Trouble::NotFound,
        "FORBIDDEN" | "INSUFFICIENT_SCOPES" => Trouble::Forbidden,
        _ if words.contains("rate limit") => Trouble::Limited { wait_ms: 60_000 },
        _ if words.contains("not accessible") || words.contains("permission") => Trouble::Forbidden,
        _ => Trouble::Invalid(vec![said.clone()]),
    };
    HostError::new(trouble, format!("`{}` was refused: “{said}”", request.shown()))
}
