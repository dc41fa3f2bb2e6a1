//! The GitHub client; no other module talks to GitHub.
//!
//! ```text
//! address            URLs of github.com or a self-hosted server
//! request, client    requests with size limits, timeouts and retries
//! limits, clock      rate limits
//! error              classification of error responses
//! key, app           app authentication and installation tokens
//! wire, graphql      request and response bodies of REST and GraphQL
//! host               the [`Host`] implementation
//! manifest           app creation from a manifest
//! delivery           webhook deliveries
//! ```
//!
//! Commits are not fetched from here but by git. The only state is a cache of tokens and the rate limit counters.

mod address;
mod app;
mod client;
mod clock;
mod date;
pub mod delivery;
mod error;
mod graphql;
mod host;
mod key;
mod limits;
mod manifest;
pub mod metrics;
mod request;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::{Arc, OnceLock};

use client::Client;
use clock::MachineClock;
use host::{AuthMode, GithubHost};
use limits::Limits;

use super::host::{BotIdentity, Host, Secret};

pub use address::Address;
pub use app::{AboutApp, App, AppSettings};
pub use clock::Clock;
pub use manifest::{NewApp, convert_manifest};

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 30;
/// The maximum number of items of a list.
const MAX_ITEMS: usize = MAX_PAGES * 100;

/// GitHub with a token of a person or a workflow, or anonymously without one.
pub fn with_token(address: Address, token: Option<Secret>, me: Option<BotIdentity>) -> Arc<dyn Host> {
    let client = Client::new(address, Arc::new(MachineClock::new()));
    let me = me.map(OnceLock::from).unwrap_or_default();
    Arc::new(GithubHost::new(client, Arc::new(Limits::default()), AuthMode::Holder { token, me }))
}
