//! The HTTP client of GitHub: requests with size limits, timeouts, rate limits, and retries where they are idempotent.
//!
//! A token from [`Credentials`] is sent in one header. Redirects and URLs in responses are not followed, because their
//! server would receive the token.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest::header::{self, HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;

use super::address::Address;
use super::clock::Clock;
use super::limits::{Cost, Limits};
use super::request::{Repeat, Request};
use super::{error, metrics};
use crate::forge::host::{HostErrorKind, HostResult, Secret};
use crate::net::{Net, backoff};

/// The timeout of a request, up to the end of its response.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The maximum size of a response.
const MAX_ANSWER: usize = 10 << 20;

/// The maximum number of attempts of an idempotent request.
const MAX_TRIES: u32 = 3;

/// The backoff before the first retry, at most.
const BACK_OFF: Duration = Duration::from_secs(1);

/// The API version.
const VERSION: &str = "2022-11-28";

/// The HTTP client.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) net: Net,
    pub(super) address: Address,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) patience: Duration,
}

/// Authenticates requests.
pub(super) trait Credentials {
    /// The token; `None` for anonymous requests.
    fn token(&self) -> HostResult<Option<Secret>>;
    /// Called when a token was rejected, with GitHub's time. True when another token is available.
    fn token_refused(&self, token: &Secret, date_ms: Option<u64>) -> bool;
    /// The fence of writes: false once the lease was lost.
    fn may_write(&self) -> bool {
        true
    }
}

#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// True when the body exceeded the size limit.
    pub(super) is_cut: bool,
    pub(super) headers: HeaderMap,
}

impl Client {
    pub(super) fn new(address: Address, clock: Arc<dyn Clock>) -> Self {
        Self { net: Net::new(), address, clock, patience: PATIENCE }
    }

    /// Sends a request and decodes the response.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        request: &Request,
        credentials: &dyn Credentials,
        limits: &Limits,
    ) -> HostResult<T> {
        decode(request, &self.ask(request, credentials, limits)?)
    }

    /// Sends a request: again with another token when the first was rejected, and up to three times when it is
    /// idempotent.
    pub(super) fn ask(
        &self,
        request: &Request,
        credentials: &dyn Credentials,
        limits: &Limits,
    ) -> HostResult<HttpResponse> {
        let (mut is_renewed, mut n_tries) = (false, 0);
        loop {
            let token = credentials.token()?;
            limits.enter(request.cost, &*self.clock).map_err(|wait| error::held_back(request, wait))?;
            // Checked last: waiting for the token or the rate limit may have outlived the lease.
            if request.cost != Cost::Read && !credentials.may_write() {
                return Err(error::not_ours(request));
            }
            n_tries += 1;
            let answer = self.once(request, token.as_ref());
            let refused = answer.as_ref().ok().filter(|answer| answer.status == 401);
            if let (false, Some(answer), Some(token)) = (is_renewed, refused, &token)
                && credentials.token_refused(token, answer.date_ms())
            {
                is_renewed = true;
                continue;
            }
            let judged =
                answer.and_then(|answer| error::check_status(request, answer, token.as_ref(), self.clock.now_ms()));
            let Err(error) = &judged else { return judged };
            match error.kind {
                HostErrorKind::Limited { wait_ms } => limits.hold(wait_ms, &*self.clock),
                HostErrorKind::Unavailable if request.repeat == Repeat::Harmless && n_tries < MAX_TRIES => {
                    self.clock.wait(backoff::delay(BACK_OFF, n_tries));
                    continue;
                }
                _ => {}
            }
            return judged;
        }
    }

    /// Sends a request once. A response of any status is returned.
    fn once(&self, request: &Request, token: Option<&Secret>) -> HostResult<HttpResponse> {
        let call = self.call(request, token)?;
        let runtime = self.net.runtime().map_err(|error| error::no_way_out(request, &error))?;
        let answer = runtime
            .block_on(async { tokio::time::timeout(self.patience, async { whole(call.send().await?).await }).await });
        let answered = answer.as_ref().ok().and_then(|answer| answer.as_ref().ok());
        metrics::count(answered.map(|answer| (answer.status, answer.remaining())));
        match answer {
            Ok(answer) => answer.map_err(|error| error::broken(request, &self.address, &error)),
            Err(_) => Err(error::too_slow(request, self.patience)),
        }
    }

    fn call(&self, request: &Request, token: Option<&Secret>) -> HostResult<reqwest::RequestBuilder> {
        let wrong = |error: &str| error::no_way_out(request, error);
        let url = request.url(&self.address).map_err(|error| wrong(&error))?;
        let client = self.net.client(&url).map_err(|error| wrong(&error))?;
        let mut call = client
            .request(request.method.clone(), url)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header("x-github-api-version", VERSION);
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
            let mut value = value.map_err(|_| error::no_token(request))?;
            value.set_sensitive(true);
            call = call.header(header::AUTHORIZATION, value);
        }
        if let Some(body) = &request.body {
            call = call.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        Ok(call)
    }
}

/// Reads a response up to the size limit.
async fn whole(mut response: Response) -> reqwest::Result<HttpResponse> {
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut answer = HttpResponse { status, body: Vec::new(), is_cut: false, headers };
    while let Some(piece) = response.chunk().await? {
        let room = MAX_ANSWER - answer.body.len();
        answer.body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            answer.is_cut = true;
            break;
        }
    }
    Ok(answer)
}

pub(super) fn decode<T: DeserializeOwned>(request: &Request, answer: &HttpResponse) -> HostResult<T> {
    if answer.is_cut {
        return Err(error::too_long(request, MAX_ANSWER));
    }
    serde_json::from_slice(&answer.body).map_err(|error| error::garbled(request, &error))
}

impl HttpResponse {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// The remaining requests of the rate limit.
    fn remaining(&self) -> Option<u64> {
        self.header("x-ratelimit-remaining")?.parse().ok()
    }

    /// GitHub's time.
    pub(super) fn date_ms(&self) -> Option<u64> {
        let date = self.header("date").and_then(backoff::http_date)?;
        let since = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }

    /// The backoff that GitHub demands, if any.
    ///
    /// `now_ms` is our time, used when the response has none.
    pub(super) fn asked_for(&self, now_ms: u64) -> Option<Duration> {
        let now_ms = self.date_ms().unwrap_or(now_ms);
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms);
        if let Some(wait) = backoff::retry_after(&self.headers, now) {
            return Some(wait);
        }
        if self.header("x-ratelimit-remaining") != Some("0") {
            return None;
        }
        let reset: u64 = self.header("x-ratelimit-reset")?.parse().ok()?;
        Some(Duration::from_millis(reset.saturating_mul(1000).saturating_sub(now_ms)))
    }

    /// True when the list has a next page.
    pub(super) fn has_next(&self) -> bool {
        self.next_link().is_some()
    }

    /// The cursor of the next page. Only the cursor is taken from the URL.
    pub(super) fn next_cursor(&self) -> Option<String> {
        let link = self.next_link()?;
        let cursor = link.split(['?', '&']).find_map(|part| part.strip_prefix("cursor="))?;
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        ((1..=200).contains(&cursor.len()) && cursor.chars().all(is_plain)).then(|| cursor.to_owned())
    }

    /// The URL in `link: <https://…>; rel="next", <…>; rel="last"`.
    fn next_link(&self) -> Option<&str> {
        let next = self.header("link")?.split(',').find(|part| part.contains("rel=\"next\""))?;
        next.trim().strip_prefix('<')?.split('>').next()
    }
}
