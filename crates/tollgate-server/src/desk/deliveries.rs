//! What the webhook asks for: whose deliveries are taken, and that they are kept.

use std::sync::Arc;

use hmac::{Hmac, KeyInit as _};
use sha2::Sha256;
use tollgate_core::pull::webhook_event::WebhookEvent;

use crate::desk::Answer;

/// The end of GitHub's wire at this server: who signs what comes in, and whom people speak to.
#[derive(Clone)]
pub struct Hook {
    /// One for each secret, two while they change places; never shown.
    keys: Vec<Hmac<Sha256>>,
    /// The name that people put behind `@`.
    mention: String,
}

impl Hook {
    /// A hook for deliveries that are signed with one of these secrets; `None` without a secret.
    #[must_use]
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>, mention: &str) -> Option<Self> {
        let secrets = secrets.into_iter().filter(|secret| !secret.is_empty());
        let key = |secret: &str| Hmac::new_from_slice(secret.as_bytes()).ok();
        let keys: Vec<Hmac<Sha256>> = secrets.filter_map(key).collect();
        (!keys.is_empty()).then(|| Self { keys, mention: mention.to_owned() })
    }

    /// The name that people put behind `@`.
    #[must_use]
    pub fn mention(&self) -> &str {
        &self.mention
    }

    /// A hash for each secret, to be fed with the body.
    pub(crate) fn hashes(&self) -> Vec<Hmac<Sha256>> {
        self.keys.clone()
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").field("mention", &self.mention).finish_non_exhaustive()
    }
}

/// Something that GitHub delivered, signed and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// GitHub's own name for it, which it keeps when it is delivered once more.
    pub guid: String,
    /// What happened: `pull_request`.
    pub event: String,
    /// What that asks of us.
    pub ask: WebhookEvent,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is kept, and will be worked on.
    New,
    /// It was there already.
    Known,
}

/// Whoever waits to hear what became of a delivery.
pub type Done = Box<dyn FnOnce(Answer<Accepted>) + Send>;

/// Whether GitHub can deliver here.
#[derive(Debug, Clone)]
pub enum Wire {
    /// No app is set up.
    None,
    /// An app is set up, and it is not known yet what it is called.
    NotYet,
    /// Deliveries are taken.
    Open(Arc<Hook>),
}

/// What the webhook asks for.
pub trait Deliveries {
    /// Whether GitHub can deliver here. Asked for each delivery, so it comes back at once.
    fn wire(&self) -> Wire;
    /// Reads what a delivery asks of us, if anything; what is wrong with it otherwise.
    fn read(&self, hook: &Hook, event: &str, body: &[u8]) -> Result<Option<WebhookEvent>, String>;
    /// Has a delivery kept and comes back at once; `done` is told, on another thread, when it is on the disk.
    fn accept(&self, delivery: Delivery, done: Done);
}
