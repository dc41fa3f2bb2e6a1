//! What is asked of GitHub, before anybody asks it.
//!
//! ```text
//! GET /repos/octo/hello/pulls/1/commits?per_page=100&page=2
//! POST /repos/octo/hello/issues/1/comments {"body":"…"}
//! ```

use reqwest::{Method, Url};
use serde::Serialize;

use super::address::Address;
use super::limits::Cost;
use super::trouble;
use crate::forge::host::Asked;

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) to: To,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) cost: Cost,
    pub(super) repeat: Repeat,
}

/// Where a request goes.
#[derive(Debug, Clone)]
pub(super) enum To {
    /// A path of the REST interface, made of what is safe in one.
    Rest(String),
    /// The same with something in it that is not shown.
    Hidden { path: String, shown: &'static str },
    /// The GraphQL interface; the name of the query for people.
    Graph(&'static str),
}

/// Whether a request may be made twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It changes nothing that anybody sees.
    Harmless,
    /// It might be done twice.
    Harmful,
}

impl Request {
    /// Reads something.
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            to: To::Rest(path.into()),
            query: Vec::new(),
            body: None,
            cost: Cost::Read,
            repeat: Repeat::Harmless,
        }
    }

    /// Changes something, without content for people.
    pub(super) fn change(method: Method, path: impl Into<String>) -> Self {
        Self { method, cost: Cost::Change, repeat: Repeat::Harmful, ..Self::get(path) }
    }

    /// Writes something that people see.
    pub(super) fn content(method: Method, path: impl Into<String>, body: &impl Serialize) -> Asked<Self> {
        Self { cost: Cost::Content, ..Self::change(method, path) }.with_body(body)
    }

    pub(super) fn with_query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    pub(super) fn with_body(mut self, body: &impl Serialize) -> Asked<Self> {
        self.body = Some(serde_json::to_vec(body).map_err(|error| trouble::unwritable(&self, &error))?);
        Ok(self)
    }

    pub(super) fn harmless(mut self) -> Self {
        self.repeat = Repeat::Harmless;
        self
    }

    /// The whole address.
    pub(super) fn url(&self, address: &Address) -> Result<Url, String> {
        let text = match &self.to {
            To::Rest(path) | To::Hidden { path, .. } => format!("{}{path}", address.api()),
            To::Graph(_) => address.graphql().to_owned(),
        };
        let mut url = Url::parse(&text).map_err(|error| error.to_string())?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }

    /// What people are told was asked.
    pub(super) fn shown(&self) -> String {
        match &self.to {
            To::Rest(path) => format!("{} {path}", self.method),
            To::Hidden { shown, .. } => format!("{} {shown}", self.method),
            To::Graph(name) => format!("{} {name}", self.method),
        }
    }
}
