//! Asking GitHub: one request and its answer, within limits on size and time, and again where that does no harm.
//!
//! Credentials come from a [`Badge`] and stand in one header. Redirects are not followed, and addresses in answers are
//! not used: whoever they name would get the token.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest::header::{self, HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;

use super::address::Address;
use super::clock::Clock;
use super::limits::{Cost, Limits};
use super::request::{Repeat, Request};
use super::{tally, trouble};
use crate::forge::host::{Asked, Hidden, Trouble};
use crate::net::{Net, patience};

/// So long may a request take from its beginning to the end of its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// No answer is longer.
const MAX_ANSWER: usize = 10 << 20;

/// So often is asked what may be asked again.
const MAX_TRIES: u32 = 3;

/// The first wait between two tries is at most so long.
const BACK_OFF: Duration = Duration::from_secs(1);

/// The version of the interface that we speak.
const VERSION: &str = "2022-11-28";

/// Whoever asks GitHub.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) net: Net,
    pub(super) address: Address,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) patience: Duration,
}

/// In whose name something is asked.
pub(super) trait Badge {
    /// The token; `None` for nobody.
    fn show(&self) -> Asked<Option<Hidden>>;
    /// A token was refused, at this time by GitHub's clock. True when there is another one now.
    fn refused(&self, token: &Hidden, date_ms: Option<u64>) -> bool;
    /// True while what is written is ours to write.
    fn may_write(&self) -> bool {
        true
    }
}

/// What GitHub answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// True when it was longer than we read.
    pub(super) is_cut: bool,
    pub(super) headers: HeaderMap,
}

impl Client {
    pub(super) fn new(address: Address, clock: Arc<dyn Clock>) -> Self {
        Self { net: Net::new(), address, clock, patience: PATIENCE }
    }

    /// Asks, and reads the answer.
    pub(super) fn read<T: DeserializeOwned>(&self, request: &Request, badge: &dyn Badge, limits: &Limits) -> Asked<T> {
        decode(request, &self.ask(request, badge, limits)?)
    }

    /// Asks: a second time with another token when the first is refused, and up to three times what does no harm.
    pub(super) fn ask(&self, request: &Request, badge: &dyn Badge, limits: &Limits) -> Asked<Answer> {
        let (mut is_renewed, mut n_tries) = (false, 0);
        loop {
            let token = badge.show()?;
            limits.enter(request.cost, &*self.clock).map_err(|wait| trouble::held_back(request, wait))?;
            // The last moment at which we know: waiting for the token or for the limits may have taken too long.
            if request.cost != Cost::Read && !badge.may_write() {
                return Err(trouble::not_ours(request));
            }
            n_tries += 1;
            let answer = self.once(request, token.as_ref());
            let refused = answer.as_ref().ok().filter(|answer| answer.status == 401);
            if let (false, Some(answer), Some(token)) = (is_renewed, refused, &token)
                && badge.refused(token, answer.date_ms())
            {
                is_renewed = true;
                continue;
            }
            let judged = answer.and_then(|answer| trouble::judge(request, answer, token.as_ref(), self.clock.now_ms()));
            let Err(error) = &judged else { return judged };
            match error.trouble {
                Trouble::Limited { wait_ms } => limits.hold(wait_ms, &*self.clock),
                Trouble::Unavailable if request.repeat == Repeat::Harmless && n_tries < MAX_TRIES => {
                    self.clock.wait(patience::back_off(BACK_OFF, n_tries));
                    continue;
                }
                _ => {}
            }
            return judged;
        }
    }

    /// Asks once. Any answer is one, whatever its status.
    fn once(&self, request: &Request, token: Option<&Hidden>) -> Asked<Answer> {
        let call = self.call(request, token)?;
        let runtime = self.net.runtime().map_err(|error| trouble::no_way_out(request, &error))?;
        let answer = runtime
            .block_on(async { tokio::time::timeout(self.patience, async { whole(call.send().await?).await }).await });
        let answered = answer.as_ref().ok().and_then(|answer| answer.as_ref().ok());
        tally::count(answered.map(|answer| (answer.status, answer.remaining())));
        match answer {
            Ok(answer) => answer.map_err(|error| trouble::broken(request, &self.address, &error)),
            Err(_) => Err(trouble::too_slow(request, self.patience)),
        }
    }

    fn call(&self, request: &Request, token: Option<&Hidden>) -> Asked<reqwest::RequestBuilder> {
        let wrong = |error: &str| trouble::no_way_out(request, error);
        let url = request.url(&self.address).map_err(|error| wrong(&error))?;
        let client = self.net.client(&url).map_err(|error| wrong(&error))?;
        let mut call = client
            .request(request.method.clone(), url)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header("x-github-api-version", VERSION);
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
            let mut value = value.map_err(|_| trouble::no_token(request))?;
            value.set_sensitive(true);
            call = call.header(header::AUTHORIZATION, value);
        }
        if let Some(body) = &request.body {
            call = call.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        Ok(call)
    }
}

/// Reads an answer as far as it may be long.
async fn whole(mut response: Response) -> reqwest::Result<Answer> {
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut answer = Answer { status, body: Vec::new(), is_cut: false, headers };
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

/// What an answer says.
pub(super) fn decode<T: DeserializeOwned>(request: &Request, answer: &Answer) -> Asked<T> {
    if answer.is_cut {
        return Err(trouble::too_long(request, MAX_ANSWER));
    }
    serde_json::from_slice(&answer.body).map_err(|error| trouble::garbled(request, &error))
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// How many requests are left before GitHub wants none for a while.
    fn remaining(&self) -> Option<u64> {
        self.header("x-ratelimit-remaining")?.parse().ok()
    }

    /// What time it is at GitHub.
    pub(super) fn date_ms(&self) -> Option<u64> {
        let date = self.header("date").and_then(patience::http_date)?;
        let since = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }

    /// How long GitHub asks to be left alone, and whether it says so at all.
    ///
    /// `now_ms` is our time of day, for want of GitHub's.
    pub(super) fn asked_for(&self, now_ms: u64) -> Option<Duration> {
        let now_ms = self.date_ms().unwrap_or(now_ms);
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms);
        if let Some(wait) = patience::asked_for(&self.headers, now) {
            return Some(wait);
        }
        if self.header("x-ratelimit-remaining") != Some("0") {
            return None;
        }
        let reset: u64 = self.header("x-ratelimit-reset")?.parse().ok()?;
        Some(Duration::from_millis(reset.saturating_mul(1000).saturating_sub(now_ms)))
    }

    /// True when GitHub says that there is more.
    pub(super) fn has_next(&self) -> bool {
        self.next_link().is_some()
    }

    /// The mark of the next part of a list that is not counted in pages. Only the mark is taken from the address.
    pub(super) fn next_cursor(&self) -> Option<String> {
        let link = self.next_link()?;
        let cursor = link.split(['?', '&']).find_map(|part| part.strip_prefix("cursor="))?;
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        ((1..=200).contains(&cursor.len()) && cursor.chars().all(is_plain)).then(|| cursor.to_owned())
    }

    /// The address in `link: <https://…>; rel="next", <…>; rel="last"`.
    fn next_link(&self) -> Option<&str> {
        let next = self.header("link")?.split(',').find(|part| part.contains("rel=\"next\""))?;
        next.trim().strip_prefix('<')?.split('>').next()
    }
}
