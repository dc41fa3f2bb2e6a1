//! The state of the GitHub webhook: not configured, starting, or ready with the secrets that sign deliveries.
//!
//! With it comes the public address at which GitHub and people reach the server.

use std::sync::{Arc, PoisonError, RwLock};

use hmac::{Hmac, KeyInit as _};
use sha2::Sha256;

use crate::guard::PublicAddress;

/// The secrets that sign deliveries, and the name by which people mention the app.
#[derive(Clone)]
pub struct Hook {
    /// One for each secret, two during a rotation; never printed.
    keys: Vec<Hmac<Sha256>>,
    mention: String,
}

impl Hook {
    /// A hook for deliveries that are signed with one of these secrets; `None` without a secret.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>, mention: &str) -> Option<Self> {
        let secrets = secrets.into_iter().filter(|secret| !secret.is_empty());
        let key = |secret: &str| Hmac::new_from_slice(secret.as_bytes()).ok();
        let keys: Vec<Hmac<Sha256>> = secrets.filter_map(key).collect();
        (!keys.is_empty()).then(|| Self { keys, mention: mention.to_owned() })
    }

    /// The name by which people mention the app, without `@`.
    pub fn mention(&self) -> &str {
        &self.mention
    }

    /// A hash for each secret, to be fed with the body of a delivery.
    pub(crate) fn hashes(&self) -> Vec<Hmac<Sha256>> {
        self.keys.clone()
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").field("mention", &self.mention).finish_non_exhaustive()
    }
}

/// Whether deliveries of GitHub are accepted.
#[derive(Debug, Clone, Default)]
pub enum WebhookState {
    /// No app is configured.
    #[default]
    None,
    /// An app is configured; its name is still being fetched.
    Starting,
    /// Deliveries are accepted.
    Ready(Arc<Hook>),
}

/// The webhook state that a background task sets and the server reads for each delivery.
#[derive(Debug, Default)]
pub struct Webhook {
    state: RwLock<WebhookState>,
    public: Arc<PublicAddress>,
}

impl Webhook {
    /// The public address.
    pub fn public(&self) -> &Arc<PublicAddress> {
        &self.public
    }

    /// The current state.
    pub(crate) fn get(&self) -> WebhookState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the state.
    pub fn set(&self, state: WebhookState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
