//! Who may ask: the server's token, the cookies made from it, and tickets for sockets.
//!
//! There is one secret, the token in a file that only its owner can read. A program sends it with each request; a
//! browser sends it once and keeps a cookie, which is signed with the token, so that the server holds no sessions and a
//! new token ends them all. A page opens a socket with a ticket that is good once. The token is never in an address.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

pub mod attempts;
pub mod session;
pub mod ticket;
pub mod token;

use attempts::Attempts;
use ticket::Tickets;
use token::Token;

/// What stands before the ticket in `Sec-WebSocket-Protocol`.
pub(crate) const TICKET_PROTOCOL: &str = "tollgate.ticket.";

/// Everything that decides who may ask.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) token: Token,
    pub(crate) tickets: Tickets,
    pub(crate) attempts: Attempts,
    /// The name of the cookie. Cookies know no ports, so each server on a machine needs its own.
    pub(crate) cookie: String,
}

/// How a request showed who asks.
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
    pub(crate) fn new(token: Token, port: u16) -> Self {
        Self {
            token,
            tickets: Tickets::new(Duration::from_secs(30)),
            attempts: Attempts::new(10, Duration::from_secs(60)),
            cookie: format!("tollgate_session_{port}"),
        }
    }

    /// Looks for a proof in the headers. `now` is in seconds of Unix time. A wrong proof is none.
    pub(crate) fn proof(&self, headers: &HeaderMap, now: u64) -> Option<Proof> {
        if let Some(bearer) = bearer(headers) {
            return self.token.matches(bearer).then_some(Proof::Bearer);
        }
        let signed = self.cookies(headers).any(|value| session::is_valid(&self.token, value, now));
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
        let access = Access::new(Token::parse(TOKEN).unwrap(), 7420);
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
}
