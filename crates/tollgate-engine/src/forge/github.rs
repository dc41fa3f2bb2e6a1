//! GitHub: the only place that talks to it.
//!
//! ```text
//! address            where it is: github.com, or a server of one's own
//! request, client    what is asked, and asking it: size, time, tries
//! limits, clock      how often
//! trouble            what refusals mean
//! key, app           who we are, and tokens
//! wire, graph        what is sent and what comes, over REST and GraphQL
//! hosted             all of it as a [`Host`]
//! manifest           making an app
//! delivery           what GitHub tells us by itself
//! ```
//!
//! Changes never come from here: git fetches them. Nothing is remembered but tokens and how often we asked.

mod address;
mod app;
mod client;
mod clock;
mod date;
pub mod delivery;
mod graph;
mod hosted;
mod key;
mod limits;
mod manifest;
mod request;
pub mod tally;
#[cfg(test)]
mod tests;
mod trouble;
mod wire;

use std::sync::{Arc, OnceLock};

use client::Client;
use clock::MachineClock;
use hosted::{Hosted, Role};
use limits::Limits;

use super::host::{Hidden, Host, Me};

pub use address::Address;
pub use app::{AboutApp, App, AppSettings};
pub use clock::Clock;
pub use manifest::{NewApp, convert_manifest};

/// A list has at most so many pages.
const MAX_PAGES: usize = 30;
/// And so many items.
const MAX_ITEMS: usize = MAX_PAGES * 100;

/// GitHub, in the name of whoever has a token: a person, or a workflow. Without one, what everybody may see.
#[must_use]
pub fn with_token(address: Address, token: Option<Hidden>, me: Option<Me>) -> Arc<dyn Host> {
    let client = Client::new(address, Arc::new(MachineClock::new()));
    let me = me.map(OnceLock::from).unwrap_or_default();
    Arc::new(Hosted::new(client, Arc::new(Limits::default()), Role::Holder { token, me }))
}
