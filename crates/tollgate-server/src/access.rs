//! Authentication: the server's token, session cookies made from it, and tickets for WebSockets.
//!
//! There is one secret, the token in a file that only its owner can read. A program sends it with each request; a
//! browser sends it once and keeps a cookie, which is signed with the token, so that the server holds no sessions and a
//! new token ends them all. A page opens a socket with a ticket that is good once. The token is never in an address.
//! An open WebSocket stays authorized until the token is rotated.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use tokio_util::sync::CancellationToken;
use tollgate_engine::failure::{Failure, Kind};

pub mod attempts;
pub mod session;
pub mod ticket;
pub mod token;

use attempts::Attempts;
use ticket::Tickets;
use token::Token;

/// The prefix of the ticket in `Sec-WebSocket-Protocol`.
pub(crate) const TICKET_PROTOCOL: &str = "tollgate.ticket.";

/// Authenticates requests by token, session cookie or ticket.
#[derive(Debug)]
pub(crate) struct Access {
    term: Mutex<Term>,
    /// The file of the token; `None` where the operator passed it in.
    file: Option<PathBuf>,
    /// Serializes token rotation, so that the file and the value in memory stay the same.
    rotating: Mutex<()>,
    pub(crate) tickets: Tickets,
    pub(crate) attempts: Attempts,
    /// The name of the cookie. Cookies know no ports, so each server on a machine needs its own.
    pub(crate) cookie: String,
}

/// A token, as long as it holds.
#[derive(Debug)]
struct Term {
    token: Token,
    /// Cancelled when it holds no more.
    over: CancellationToken,
}

/// The credential by which a request was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The token itself, which no other site can make a browser send.
    Bearer,
    /// The cookie of a browser.
    Cookie,
    /// A ticket, good once.
    Ticket,
}

impl Access {
    pub(crate) fn new(token: Token, file: Option<PathBuf>, port: u16) -> Self {
        Self {
            term: Mutex::new(Term { token, over: CancellationToken::new() }),
            file,
            rotating: Mutex::default(),
            tickets: Tickets::new(Duration::from_secs(30)),
            attempts: Attempts::new(10, Duration::from_secs(60)),
            cookie: format!("tollgate_session_{port}"),
        }
    }

    /// Where the token is kept.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// True for the token that holds.
    pub(crate) fn is_token(&self, text: &str) -> bool {
        self.term().token.matches(text)
    }

    /// The value of a cookie that is good until then.
    pub(crate) fn sign(&self, until: u64, nonce: [u8; 8]) -> String {
        session::sign(&self.term().token, until, nonce)
    }

    /// Cancelled when the token that holds now does so no more.
    pub(crate) fn over(&self) -> CancellationToken {
        self.term().over.clone()
    }

    /// Writes a new token to the file; all sessions and open WebSockets end.
    pub(crate) fn rotate(&self) -> Result<(), Failure> {
        let file = self.file.as_deref().ok_or_else(no_file)?;
        let _one_at_a_time = self.rotating.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Term { token: token::rotate(file)?, over: CancellationToken::new() };
        let last = std::mem::replace(&mut *self.term(), next);
        self.tickets.void();
        last.over.cancel();
        Ok(())
    }

    fn term(&self) -> MutexGuard<'_, Term> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for a proof in the headers. `now` is in seconds of Unix time. A wrong proof is none.
    pub(crate) fn proof(&self, headers: &HeaderMap, now: u64) -> Option<Proof> {
        let term = self.term();
        if let Some(bearer) = bearer(headers) {
            return term.token.matches(bearer).then_some(Proof::Bearer);
        }
        let signed = self.cookies(headers).any(|value| session::is_valid(&term.token, value, now));
        signed.then_some(Proof::Cookie)
    }

    /// Uses up a ticket among the protocols a socket asks for.
    pub(crate) fn redeem(&self, headers: &HeaderMap) -> Option<Proof> {
        let ticket = protocols(headers).find_map(|name| name.strip_prefix(TICKET_PROTOCOL))?;
        self.tickets.redeem(ticket, Instant::now()).then_some(Proof::Ticket)
    }

    fn cookies<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        pairs.flat_map(|line| line.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })
    }
}

fn no_file() -> Failure {
    Failure::new(Kind::Config, "the token of this server is not kept in a file")
        .hint("Start the server with another token.")
}

/// The protocols a socket asks for.
pub(crate) fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().unwrap_or_default();
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Some(token.trim()),
        // Another scheme is a wrong proof, not an invitation to look at cookies.
        _ => Some(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    #[track_caller]
    fn check(name: &str, value: &str, expected: Option<Proof>) {
        let access = Access::new(Token::parse(TOKEN).unwrap(), None, 7420);
        let mut headers = HeaderMap::new();
        headers.insert(header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        assert_eq!(access.proof(&headers, 1_000), expected, "{name}: {value}");
    }

    #[test]
    fn only_the_very_token_is_a_proof() {
        check("authorization", &format!("Bearer {TOKEN}"), Some(Proof::Bearer));
        check("authorization", &format!("bearer {TOKEN}"), Some(Proof::Bearer));
        for wrong in ["Bearer", "Bearer ", "Bearer x", "Basic eDp4", TOKEN, &format!("Bearer {TOKEN}A")] {
            check("authorization", wrong, None);
        }
    }

    #[test]
    fn a_cookie_counts_under_its_name_until_it_is_over() {
        let token = Token::parse(TOKEN).unwrap();
        let value = session::sign(&token, 2_000, [7; 8]);
        check("cookie", &format!("a=b; tollgate_session_7420={value}"), Some(Proof::Cookie));
        check("cookie", &format!("tollgate_session_7421={value}"), None);
        check("cookie", &format!("tollgate_session_7420={}", session::sign(&token, 999, [7; 8])), None);
    }

    #[test]
    fn a_new_token_ends_everything_that_the_old_one_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let old = token::load_or_create(&path).unwrap();
        let access = Access::new(old.clone(), Some(path.clone()), 7420);
        let cookie = access.sign(2_000, [7; 8]);
        let ticket = access.tickets.issue(Instant::now()).unwrap().unwrap();
        let over = access.over();
        access.rotate().unwrap();
        let new = token::load_or_create(&path).unwrap();
        assert!(access.is_token(new.expose()) && !access.is_token(old.expose()));
        assert!(!session::is_valid(&access.term().token, &cookie, 1_000));
        assert!(!access.tickets.redeem(&ticket, Instant::now()));
        assert!(over.is_cancelled() && !access.over().is_cancelled());
    }

    #[test]
    fn a_token_that_cannot_be_kept_stays_as_it_is() {
        let token = Token::parse(TOKEN).unwrap();
        for file in [None, Some(PathBuf::from("/nowhere/at/all/token"))] {
            let access = Access::new(token.clone(), file, 7420);
            assert!(access.rotate().is_err());
            assert!(access.is_token(TOKEN) && !access.over().is_cancelled());
        }
    }
}
