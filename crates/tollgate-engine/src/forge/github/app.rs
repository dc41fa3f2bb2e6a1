//! The GitHub App: its identity, installation tokens, and failed deliveries.
//!
//! A JWT signed with the private key is exchanged for a token that lasts an hour, for one repository and with the
//! fewest permissions. Tokens are cached until five minutes before they expire. When a JWT is rejected, our clock may
//! be wrong: the `Date` header of the response corrects the next JWT.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Method;
use serde::{Deserialize, Serialize};
use tollgate_core::pull::Repo;

use super::address::Address;
use super::client::{Client, Credentials, decode};
use super::clock::{Clock, MachineClock};
use super::host::{AuthMode, GithubHost};
use super::key::SigningKey;
use super::limits::Limits;
use super::request::Request;
use super::{MAX_PAGES, date, wire};
use crate::failure::Failure;
use crate::forge::host::{BotIdentity, FailedDelivery, FenceCheck, Host, HostError, HostErrorKind, HostResult, Secret};
use crate::redaction::hold_temporary;

/// A cached token is renewed this long before it expires.
const SPARE_MS: u64 = 5 * 60_000;
/// The assumed lifetime of a token whose expiry cannot be parsed.
const UNSAID_MS: u64 = 10 * 60_000;
/// A smaller clock skew does not explain a rejected JWT.
const SKEW_MS: i64 = 5_000;
/// From this size on, unused cache entries are evicted.
const MAX_KEPT: usize = 1_000;

/// The settings of a GitHub App.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// The GitHub server.
    pub address: Address,
    /// The number of the app.
    pub app_id: u64,
    /// Its private key.
    pub key_pem: Secret,
    /// The source of the key, for messages.
    pub key_from: String,
    /// Requests the permission to resolve threads, which is write access to the repository.
    pub resolves_threads: bool,
}

/// A GitHub App. Clones share the token cache.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    client: Client,
    id: u64,
    key: SigningKey,
    resolves_threads: bool,
    /// How far GitHub's clock is ahead of ours.
    skew_ms: AtomicI64,
    /// The rate limit of the app itself; each installation has its own.
    limits: Limits,
    installations: Mutex<BTreeMap<u64, Arc<Limits>>>,
    /// The token cache, by installation and repository.
    tokens: Mutex<BTreeMap<(u64, String), Slot>>,
    about: Mutex<Option<AboutApp>>,
}

/// A cache entry; its lock is held while the token is fetched.
type Slot = Arc<Mutex<Option<Token>>>;

struct Token {
    token: Secret,
    /// The expiry by GitHub's clock.
    end_ms: u64,
}

/// GitHub's description of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutApp {
    /// Its identity.
    pub me: BotIdentity,
    /// Its display name.
    pub name: String,
    /// Its page.
    pub html_url: String,
    /// Its permissions: `checks` to `write`.
    pub permissions: BTreeMap<String, String>,
    /// Its webhook events.
    pub events: Vec<String>,
}

#[derive(Deserialize)]
struct AboutWire {
    id: u64,
    slug: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Serialize)]
struct TokenBody<'a> {
    repositories: [&'a str; 1],
    permissions: BTreeMap<&'static str, &'static str>,
}

#[derive(Deserialize)]
struct TokenWire {
    token: String,
    expires_at: String,
}

impl App {
    /// Creates the app without any request.
    pub fn new(settings: AppSettings) -> Result<Self, Failure> {
        Self::with_clock(settings, Arc::new(MachineClock::new()))
    }

    /// Creates the app with another clock.
    pub fn with_clock(settings: AppSettings, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let key = SigningKey::parse(&settings.key_pem, &settings.key_from)?;
        Ok(Self(Arc::new(Inner {
            client: Client::new(settings.address, clock),
            id: settings.app_id,
            key,
            resolves_threads: settings.resolves_threads,
            skew_ms: AtomicI64::new(0),
            limits: Limits::default(),
            installations: Mutex::default(),
            tokens: Mutex::default(),
            about: Mutex::default(),
        })))
    }

    /// The host of one repository of an installation.
    pub fn host(&self, installation: u64, repo: &Repo) -> Arc<dyn Host> {
        self.host_while(installation, repo, Arc::new(|| true))
    }

    /// The host with a fence: it refuses to write once `is_ours` returns false.
    pub(crate) fn host_while(&self, installation: u64, repo: &Repo, is_ours: FenceCheck) -> Arc<dyn Host> {
        let limits = self.limits_of(installation);
        let role = AuthMode::Installed { app: self.clone(), installation, repo: repo.clone(), is_ours };
        Arc::new(GithubHost::new(self.0.client.clone(), limits, role))
    }

    /// The identity of the app.
    pub fn me(&self) -> HostResult<BotIdentity> {
        if let Some(about) = lock(&self.0.about).as_ref() {
            return Ok(about.me.clone());
        }
        self.about().map(|about| about.me)
    }

    /// Fetches GitHub's description of the app.
    pub fn about(&self) -> HostResult<AboutApp> {
        let wire: AboutWire = self.0.client.read(&Request::get("/app"), self, &self.0.limits)?;
        let me = BotIdentity { login: format!("{}[bot]", wire.slug), mention: wire.slug, app: Some(wire.id) };
        let AboutWire { name, html_url, permissions, events, .. } = wire;
        let about = AboutApp { me, name, html_url, permissions, events };
        *lock(&self.0.about) = Some(about.clone());
        Ok(about)
    }

    /// The installation of the app in a repository.
    pub fn installation_of(&self, repo: &Repo) -> HostResult<u64> {
        let request = Request::get(format!("/repos/{repo}/installation"));
        let found: wire::Numbered = self.0.client.read(&request, self, &self.0.limits)?;
        Ok(found.id)
    }

    /// Deliveries that failed, newest first, back to a time in milliseconds since 1970.
    ///
    /// Deliveries that succeeded at a later attempt are excluded, so the list is not filtered by GitHub.
    pub fn failed_deliveries(&self, since_ms: u64) -> HostResult<Vec<FailedDelivery>> {
        let (mut failed, mut seen) = (Vec::new(), BTreeSet::new());
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut request = Request::get("/app/hook/deliveries").with_query("per_page", 100);
            if let Some(cursor) = &cursor {
                request = request.with_query("cursor", cursor);
            }
            let answer = self.0.client.ask(&request, self, &self.0.limits)?;
            for delivery in decode::<Vec<wire::Delivery>>(&request, &answer)? {
                if date::parse_ms(&delivery.delivered_at).is_some_and(|then| then < since_ms) {
                    return Ok(failed);
                }
                // The newest attempt of a delivery comes first and decides.
                let is_newest = seen.insert(delivery.guid.clone());
                if is_newest && !(200..400).contains(&delivery.status_code) {
                    failed.push(FailedDelivery { id: delivery.id, guid: delivery.guid });
                }
            }
            cursor = answer.next_cursor();
            if cursor.is_none() {
                break;
            }
        }
        Ok(failed)
    }

    /// Requests a redelivery. It is idempotent: deliveries are deduplicated by their GUID.
    pub fn redeliver(&self, id: u64) -> HostResult<()> {
        let request = Request::change(Method::POST, format!("/app/hook/deliveries/{id}/attempts")).harmless();
        self.0.client.ask(&request, self, &self.0.limits).map(drop)
    }

    /// Returns a cached or new token for one repository.
    pub(super) fn token(&self, installation: u64, repo: &Repo) -> HostResult<Secret> {
        let slot = self.slot(installation, repo);
        // Concurrent callers wait for the one that fetches the token.
        let mut slot = lock(&slot);
        let now_ms = self.now_ms();
        if let Some(token) = slot.as_ref().filter(|token| token.end_ms > now_ms.saturating_add(SPARE_MS)) {
            return Ok(token.token.clone());
        }
        let token = self.new_token(installation, repo)?;
        let shown = token.token.clone();
        *slot = Some(token);
        Ok(shown)
    }

    /// Evicts a rejected token.
    pub(super) fn drop_token(&self, installation: u64, repo: &Repo, refused: &Secret) {
        let slot = self.slot(installation, repo);
        let mut slot = lock(&slot);
        if slot.as_ref().is_some_and(|token| token.token.expose() == refused.expose()) {
            *slot = None;
        }
    }

    fn new_token(&self, installation: u64, repo: &Repo) -> HostResult<Token> {
        let token = if self.0.resolves_threads {
            match self.token_with("write", installation, repo) {
                // Without the permission threads stay open. The next token asks for it again.
                Err(error) if is_ungranted(&error) => self.token_with("read", installation, repo),
                token => token,
            }
        } else {
            self.token_with("read", installation, repo)
        };
        token.map_err(|error| removed(error, repo))
    }

    fn token_with(&self, contents: &'static str, installation: u64, repo: &Repo) -> HostResult<Token> {
        let permissions = BTreeMap::from([
            ("checks", "write"),
            ("contents", contents),
            ("issues", "write"),
            ("metadata", "read"),
            ("pull_requests", "write"),
        ]);
        let path = format!("/app/installations/{installation}/access_tokens");
        // A superfluous token is harmless and expires by itself.
        let request = Request::change(Method::POST, path)
            .harmless()
            .with_body(&TokenBody { repositories: [repo.name()], permissions })?;
        let wire: TokenWire = self.0.client.read(&request, self, &self.0.limits)?;
        let end_ms = date::parse_ms(&wire.expires_at).unwrap_or_else(|| self.now_ms() + SPARE_MS + UNSAID_MS);
        hold_temporary(&wire.token);
        Ok(Token { token: Secret::new(wire.token), end_ms })
    }

    fn slot(&self, installation: u64, repo: &Repo) -> Slot {
        let mut tokens = lock(&self.0.tokens);
        if tokens.len() >= MAX_KEPT {
            tokens.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        tokens.entry((installation, repo.key())).or_default().clone()
    }

    fn limits_of(&self, installation: u64) -> Arc<Limits> {
        let mut installations = lock(&self.0.installations);
        if installations.len() >= MAX_KEPT {
            installations.retain(|_, limits| Arc::strong_count(limits) > 1);
        }
        installations.entry(installation).or_default().clone()
    }

    /// The time by GitHub's clock, as far as known.
    fn now_ms(&self) -> u64 {
        self.0.client.clock.now_ms().saturating_add_signed(self.0.skew_ms.load(Ordering::Relaxed))
    }
}

impl Credentials for App {
    fn token(&self) -> HostResult<Option<Secret>> {
        let now = i64::try_from(self.now_ms() / 1000).unwrap_or(i64::MAX);
        self.0.key.sign(self.0.id, now).map(Some)
    }

    fn token_refused(&self, _note: &Secret, date_ms: Option<u64>) -> bool {
        let Some(date_ms) = date_ms.and_then(|date| i64::try_from(date).ok()) else { return false };
        let ours_ms = i64::try_from(self.0.client.clock.now_ms()).unwrap_or(i64::MAX);
        let skew_ms = date_ms.saturating_sub(ours_ms);
        let before = self.0.skew_ms.swap(skew_ms, Ordering::Relaxed);
        before.abs_diff(skew_ms) >= SKEW_MS.unsigned_abs()
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("id", &self.0.id).field("address", &self.0.client.address).finish_non_exhaustive()
    }
}

/// True when an installation lacks the requested permissions.
fn is_ungranted(error: &HostError) -> bool {
    matches!(&error.kind, HostErrorKind::Invalid(words)
        if words.iter().any(|word| word.contains("permissions requested are not granted")))
}

/// Recognizes the error of a repository from which the app was removed.
fn removed(error: HostError, repo: &Repo) -> HostError {
    let is_gone = matches!(&error.kind, HostErrorKind::Invalid(words)
        if words.iter().any(|word| word.contains("repository that does not exist or is not accessible")));
    if is_gone {
        let message = format!("the app is not installed in `{repo}` any more: {}", error.message);
        return HostError::new(HostErrorKind::NotFound, message);
    }
    error
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
