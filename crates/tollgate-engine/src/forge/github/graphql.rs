//! The two operations that only GitHub's GraphQL API has: listing and resolving review threads.
//!
//! GraphQL errors have status 200:
//!
//! ```json
//! {"data": null, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}
//! ```

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tollgate_core::pull::Repo;

use super::MAX_PAGES;
use super::error::{self, tidy};
use super::host::GithubHost;
use super::limits::Cost;
use super::request::{Request, RequestTarget};
use crate::forge::host::{HostError, HostErrorKind, HostResult, Thread};

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { id isResolved viewerCanResolve viewerCanUnresolve comments(first: 1) { nodes { databaseId fullDatabaseId } } } } } } }";

/// A field of [`THREADS`] that old servers lack.
const LARGE: &str = "fullDatabaseId";

const RESOLVE: &str = "mutation($thread: ID!) { resolveReviewThread(input: { threadId: $thread }) { thread { id } } }";

const UNRESOLVE: &str =
    "mutation($thread: ID!) { unresolveReviewThread(input: { threadId: $thread }) { thread { id } } }";

/// The maximum length of an identifier or cursor.
const MAX_NAME: usize = 500;

#[derive(Serialize)]
struct GraphqlRequest<'a, V> {
    query: &'a str,
    variables: V,
}

#[derive(Serialize)]
struct PullVariables<'a> {
    owner: &'a str,
    name: &'a str,
    number: u64,
    after: Option<String>,
}

#[derive(Serialize)]
struct ThreadVariables<'a> {
    thread: &'a str,
}

#[derive(Deserialize)]
struct GraphqlResponse<T> {
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
    #[serde(default)]
    viewer_can_unresolve: bool,
    comments: Comments,
}

#[derive(Deserialize)]
struct Comments {
    #[serde(default)]
    nodes: Vec<Option<RootComment>>,
}

/// The first comment of a thread. Its number outgrew the 32 bits of `databaseId`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RootComment {
    database_id: Option<u64>,
    full_database_id: Option<String>,
}

impl Node {
    fn into_host(self) -> Option<Thread> {
        let began = self.comments.nodes.into_iter().flatten().next()?;
        let root = began.full_database_id.and_then(|text| text.parse().ok()).or(began.database_id)?;
        let (may_resolve, may_unresolve) = (self.viewer_can_resolve, self.viewer_can_unresolve);
        Some(Thread { id: self.id, root, is_resolved: self.is_resolved, may_resolve, may_unresolve })
    }
}

/// The review threads of a pull request.
pub(super) fn threads(host: &GithubHost, repo: &Repo, number: u64) -> HostResult<Vec<Thread>> {
    let mut query = Cow::Borrowed(THREADS);
    let mut variables = PullVariables { owner: repo.owner(), name: repo.name(), number, after: None };
    let mut threads = Vec::new();
    for _ in 0..MAX_PAGES {
        let request = request("reviewThreads", &query, &variables)?;
        let page = match ask::<Threads>(host, &request) {
            Ok(found) => found.into_page().ok_or_else(|| not_there(&request))?,
            // Self-host servers may be too old for this field, and then have no such numbers.
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
    Err(error::too_many(&request("reviewThreads", &query, &variables)?, threads.len()))
}

/// Resolves a review thread.
pub(super) fn resolve(host: &GithubHost, thread: &str) -> HostResult<()> {
    change(host, thread, ("resolveReviewThread", RESOLVE))
}

/// Opens a review thread again.
pub(super) fn unresolve(host: &GithubHost, thread: &str) -> HostResult<()> {
    change(host, thread, ("unresolveReviewThread", UNRESOLVE))
}

fn change(host: &GithubHost, thread: &str, (name, query): (&'static str, &str)) -> HostResult<()> {
    if thread.is_empty() || thread.len() > MAX_NAME {
        return Err(error::wont_do(format!("`{}` is not the name of a thread", tidy(thread))));
    }
    let mut request = request(name, query, ThreadVariables { thread })?;
    request.cost = Cost::Change;
    ask::<serde::de::IgnoredAny>(host, &request).map(drop)
}

/// Builds a GraphQL request. It is idempotent: resolving a resolved thread changes nothing.
fn request(name: &'static str, query: &str, variables: impl Serialize) -> HostResult<Request> {
    let mut request = Request::get("").with_body(&GraphqlRequest { query, variables })?;
    request.method = reqwest::Method::POST;
    request.to = RequestTarget::Graphql(name);
    Ok(request)
}

fn ask<T: DeserializeOwned>(host: &GithubHost, request: &Request) -> HostResult<T> {
    let reply: GraphqlResponse<T> = host.read(request)?;
    if let Some(error) = reply.errors.into_iter().next() {
        return Err(refusal(request, &error));
    }
    reply.data.ok_or_else(|| not_there(request))
}

fn not_there(request: &Request) -> HostError {
    HostError::new(HostErrorKind::NotFound, format!("`{}` is not there, or we may not see it", request.shown()))
}

/// Classifies a GraphQL error.
fn refusal(request: &Request, error: &GraphError) -> HostError {
    let said = tidy(&error.message);
    let (name, words) = (error.kind.to_ascii_uppercase(), said.to_lowercase());
    let kind = match name.as_str() {
        "RATE_LIMITED" | "RATE_LIMIT" => HostErrorKind::Limited { wait_ms: 60_000 },
        "NOT_FOUND" => HostErrorKind::NotFound,
        "FORBIDDEN" | "INSUFFICIENT_SCOPES" => HostErrorKind::Forbidden,
        _ if words.contains("rate limit") => HostErrorKind::Limited { wait_ms: 60_000 },
        _ if words.contains("not accessible") || words.contains("permission") => HostErrorKind::Forbidden,
        _ => HostErrorKind::Invalid(vec![said.clone()]),
    };
    HostError::new(kind, format!("`{}` was refused: “{said}”", request.shown()))
}
