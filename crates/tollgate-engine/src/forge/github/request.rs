//! Requests to the GitHub API.
//!
//! ```text
//! GET /repos/octo/hello/pulls/1/commits?per_page=100&page=2
//! POST /repos/octo/hello/issues/1/comments {"body":"…"}
//! ```

use reqwest::{Method, Url};
use serde::Serialize;

use super::address::Address;
use super::error;
use super::limits::Cost;
use crate::forge::host::HostResult;
use crate::redaction::Redactor;

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) to: RequestTarget,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) cost: Cost,
    pub(super) repeat: Repeat,
}

#[derive(Debug, Clone)]
pub(super) enum RequestTarget {
    /// A path of the REST API.
    Rest(String),
    /// A path with a secret in it, and how to show it.
    Redacted { path: String, shown: &'static str },
    /// The GraphQL API, with the name of the query for messages.
    Graphql(&'static str),
}

/// Whether a request is idempotent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// A retry does no harm.
    Harmless,
    /// A retry might take effect twice.
    Harmful,
}

impl Request {
    /// A read.
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            to: RequestTarget::Rest(path.into()),
            query: Vec::new(),
            body: None,
            cost: Cost::Read,
            repeat: Repeat::Harmless,
        }
    }

    /// A write without content.
    pub(super) fn change(method: Method, path: impl Into<String>) -> Self {
        Self { method, cost: Cost::Change, repeat: Repeat::Harmful, ..Self::get(path) }
    }

    /// A write that creates content, which everybody can read: the secrets that this process holds are redacted.
    pub(super) fn content(method: Method, path: impl Into<String>, body: &impl Serialize) -> HostResult<Self> {
        let request = Self { cost: Cost::Content, ..Self::change(method, path) };
        let body = serde_json::to_value(body).map_err(|error| error::unwritable(&request, &error))?;
        request.with_body(&Redactor::new(Vec::new()).redact_json(body))
    }

    pub(super) fn with_query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    pub(super) fn with_body(mut self, body: &impl Serialize) -> HostResult<Self> {
        self.body = Some(serde_json::to_vec(body).map_err(|error| error::unwritable(&self, &error))?);
        Ok(self)
    }

    pub(super) fn harmless(mut self) -> Self {
        self.repeat = Repeat::Harmless;
        self
    }

    /// The URL of the request.
    pub(super) fn url(&self, address: &Address) -> Result<Url, String> {
        let text = match &self.to {
            RequestTarget::Rest(path) | RequestTarget::Redacted { path, .. } => format!("{}{path}", address.api()),
            RequestTarget::Graphql(_) => address.graphql().to_owned(),
        };
        let mut url = Url::parse(&text).map_err(|error| error.to_string())?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }

    /// The request as messages show it.
    pub(super) fn shown(&self) -> String {
        match &self.to {
            RequestTarget::Rest(path) => format!("{} {path}", self.method),
            RequestTarget::Redacted { shown, .. } => format!("{} {shown}", self.method),
            RequestTarget::Graphql(name) => format!("{} {name}", self.method),
        }
    }
}
