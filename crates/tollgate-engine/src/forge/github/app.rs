//! The app that we are: who it is, the tokens it gets for its installations, and the deliveries it missed.
//!
//! A note signed with the private key buys a token for an hour, for one repository and no more rights than we use. Tokens
//! are kept until five minutes before their end. When a note is refused, our clock may be wrong: the answer says what time
//! it is at GitHub, and the next note goes by that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Method;
use serde::{Deserialize, Serialize};
use tollgate_core::pull::Repo;

use super::address::Address;
use super::client::{Badge, Client, decode};
use super::clock::{Clock, MachineClock};
use super::hosted::{Hosted, Role};
use super::key::SigningKey;
use super::limits::Limits;
use super::request::Request;
use super::{MAX_PAGES, date, wire};
use crate::failure::Failure;
use crate::forge::host::{Asked, FailedDelivery, Hidden, Host, HostError, Me, Trouble};

/// A token is not used any more so long before its end.
const SPARE_MS: u64 = 5 * 60_000;
/// How long a token is believed to be good when GitHub says it in words that we do not know.
const UNSAID_MS: u64 = 10 * 60_000;
/// A difference of clocks below this explains no refusal.
const SKEW_MS: i64 = 5_000;
/// From so many on, what nobody uses is forgotten.
const MAX_KEPT: usize = 1_000;

/// What makes us an app.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// Where GitHub is.
    pub address: Address,
    /// The number of the app.
    pub app_id: u64,
    /// Its private key.
    pub key_pem: Hidden,
    /// Where the key was found, for people.
    pub key_from: String,
    /// True to ask for the right to resolve threads, which is the right to write to the repository.
    pub resolves_threads: bool,
}

/// An app of GitHub that we are. Copies are the same app.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    client: Client,
    id: u64,
    key: SigningKey,
    resolves_threads: bool,
    /// How much GitHub's clock is ahead of ours.
    skew_ms: AtomicI64,
    /// Of the app itself; each installation has its own.
    limits: Limits,
    installations: Mutex<BTreeMap<u64, Arc<Limits>>>,
    /// By installation and repository.
    tokens: Mutex<BTreeMap<(u64, String), Slot>>,
    about: Mutex<Option<AboutApp>>,
}

/// Where a token is kept; whoever fetches it holds the lock.
type Slot = Arc<Mutex<Option<Token>>>;

struct Token {
    token: Hidden,
    /// By GitHub's clock.
    end_ms: u64,
}

/// What GitHub knows about an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutApp {
    /// Who it is.
    pub me: Me,
    /// Its name for people.
    pub name: String,
    /// Its page.
    pub html_url: String,
    /// What it may do: `checks` to `write`.
    pub permissions: BTreeMap<String, String>,
    /// What it is told about.
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
    /// The app with this key. Nothing is asked yet.
    pub fn new(settings: AppSettings) -> Result<Self, Failure> {
        Self::with_clock(settings, Arc::new(MachineClock::new()))
    }

    /// The same, by another clock.
    pub(super) fn with_clock(settings: AppSettings, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
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

    /// GitHub, in the name of an installation and for one repository.
    #[must_use]
    pub fn host(&self, installation: u64, repo: &Repo) -> Arc<dyn Host> {
        let limits = self.limits_of(installation);
        let role = Role::Installed { app: self.clone(), installation, repo: repo.clone() };
        Arc::new(Hosted::new(self.0.client.clone(), limits, role))
    }

    /// Who the app is.
    pub fn me(&self) -> Asked<Me> {
        if let Some(about) = lock(&self.0.about).as_ref() {
            return Ok(about.me.clone());
        }
        self.about().map(|about| about.me)
    }

    /// What GitHub knows about the app now.
    pub fn about(&self) -> Asked<AboutApp> {
        let wire: AboutWire = self.0.client.read(&Request::get("/app"), self, &self.0.limits)?;
        let me = Me { login: format!("{}[bot]", wire.slug), mention: wire.slug, app: Some(wire.id) };
        let AboutWire { name, html_url, permissions, events, .. } = wire;
        let about = AboutApp { me, name, html_url, permissions, events };
        *lock(&self.0.about) = Some(about.clone());
        Ok(about)
    }

    /// The installation through which the app may act in a repository.
    pub fn installation_of(&self, repo: &Repo) -> Asked<u64> {
        let request = Request::get(format!("/repos/{repo}/installation"));
        let found: wire::Numbered = self.0.client.read(&request, self, &self.0.limits)?;
        Ok(found.id)
    }

    /// Deliveries that did not arrive, newest first, back to a time in milliseconds since 1970.
    ///
    /// What arrived at a later try is not among them, so GitHub is not asked for its failures alone.
    pub fn failed_deliveries(&self, since_ms: u64) -> Asked<Vec<FailedDelivery>> {
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
                // The newest try of each stands first and decides.
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

    /// Asks GitHub to deliver once more. Twice does no harm: a delivery is known by its name.
    pub fn redeliver(&self, id: u64) -> Asked<()> {
        let request = Request::change(Method::POST, format!("/app/hook/deliveries/{id}/attempts")).harmless();
        self.0.client.ask(&request, self, &self.0.limits).map(drop)
    }

    /// A token for one repository, kept as long as it is good.
    pub(super) fn token(&self, installation: u64, repo: &Repo) -> Asked<Hidden> {
        let slot = self.slot(installation, repo);
        // Whoever comes while one is on its way waits for it.
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

    /// Forgets a token that was refused.
    pub(super) fn drop_token(&self, installation: u64, repo: &Repo, refused: &Hidden) {
        let slot = self.slot(installation, repo);
        let mut slot = lock(&slot);
        if slot.as_ref().is_some_and(|token| token.token.expose() == refused.expose()) {
            *slot = None;
        }
    }

    fn new_token(&self, installation: u64, repo: &Repo) -> Asked<Token> {
        let token = if self.0.resolves_threads {
            match self.token_with("write", installation, repo) {
                // Threads stay as they are then; all else goes on. Who lets us write later is asked for the next token.
                Err(error) if is_ungranted(&error) => self.token_with("read", installation, repo),
                token => token,
            }
        } else {
            self.token_with("read", installation, repo)
        };
        token.map_err(|error| removed(error, repo))
    }

    fn token_with(&self, contents: &'static str, installation: u64, repo: &Repo) -> Asked<Token> {
        let permissions = BTreeMap::from([
            ("checks", "write"),
            ("contents", contents),
            ("issues", "write"),
            ("metadata", "read"),
            ("pull_requests", "write"),
        ]);
        let path = format!("/app/installations/{installation}/access_tokens");
        // A token too many is seen by nobody and ends by itself.
        let request = Request::change(Method::POST, path)
            .harmless()
            .with_body(&TokenBody { repositories: [repo.name()], permissions })?;
        let wire: TokenWire = self.0.client.read(&request, self, &self.0.limits)?;
        let end_ms = date::parse_ms(&wire.expires_at).unwrap_or_else(|| self.now_ms() + SPARE_MS + UNSAID_MS);
        Ok(Token { token: Hidden::new(wire.token), end_ms })
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

    /// What time it is at GitHub, as far as we know.
    fn now_ms(&self) -> u64 {
        self.0.client.clock.now_ms().saturating_add_signed(self.0.skew_ms.load(Ordering::Relaxed))
    }
}

impl Badge for App {
    fn show(&self) -> Asked<Option<Hidden>> {
        let now = i64::try_from(self.now_ms() / 1000).unwrap_or(i64::MAX);
        self.0.key.sign(self.0.id, now).map(Some)
    }

    fn refused(&self, _note: &Hidden, date_ms: Option<u64>) -> bool {
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

/// True when somebody asked for more rights than an installation has.
fn is_ungranted(error: &HostError) -> bool {
    matches!(&error.trouble, Trouble::Invalid(words)
        if words.iter().any(|word| word.contains("permissions requested are not granted")))
}

/// What it means that an installation cannot have a token for a repository.
fn removed(error: HostError, repo: &Repo) -> HostError {
    let is_gone = matches!(&error.trouble, Trouble::Invalid(words)
        if words.iter().any(|word| word.contains("repository that does not exist or is not accessible")));
    if is_gone {
        let message = format!("the app is not installed in `{repo}` any more: {}", error.message);
        return HostError::new(Trouble::NotFound, message);
    }
    error
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
