//! How much may be asked of the fake GitHub: GitHub's secondary limits, enforced.

use std::collections::VecDeque;

use super::http::{Answer, Request};
use super::route::{bearer, refused};
use super::state::State;

/// The most comments and reviews of a minute and of an hour, and the most points of a minute.
const A_MINUTE: usize = 80;
const AN_HOUR: usize = 500;
const POINTS: u32 = 900;

/// Enforces the limit, and counts accepted requests.
pub(crate) fn check(state: &mut State, who: &str, method: &str, creates: bool) -> Option<Answer> {
    let now_ms = state.now_ms();
    let points = state.points.entry(who.to_owned()).or_default();
    while points.front().is_some_and(|(at, _)| at + 60_000 < now_ms) {
        points.pop_front();
    }
    let mut is_too_much = points.iter().map(|(_, points)| points).sum::<u32>() >= POINTS;
    points.push_back((now_ms, if method == "GET" { 1 } else { 5 }));
    if creates {
        let written: &mut VecDeque<u64> = state.written.entry(who.to_owned()).or_default();
        while written.front().is_some_and(|at| at + 3_600_000 < now_ms) {
            written.pop_front();
        }
        let of_a_minute = written.iter().filter(|at| **at + 60_000 >= now_ms).count();
        is_too_much |= of_a_minute >= A_MINUTE || written.len() >= AN_HOUR;
        if !is_too_much {
            written.push_back(now_ms);
        }
    }
    state.n_limited += usize::from(is_too_much);
    is_too_much.then(|| too_much(60))
}

/// The response of an exceeded limit.
pub(crate) fn too_much(seconds: u32) -> Answer {
    let mut answer =
        refused(403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.");
    answer.headers.push(("retry-after".to_owned(), seconds.to_string()));
    answer
}

/// Says how much is left of the primary limit.
pub(crate) fn tell(state: &State, request: &Request, answer: &mut Answer) {
    let used = bearer(request)
        .and_then(|token| state.tokens.get(token))
        .map_or(1, |token| state.points.get(&token.actor.login).map_or(1, VecDeque::len));
    let reset = state.now_ms() / 1000 + 3_600;
    let values = [("limit", 5_000), ("remaining", 5_000_usize.saturating_sub(used)), ("used", used)];
    for (name, value) in values {
        answer.headers.push((format!("x-ratelimit-{name}"), value.to_string()));
    }
    answer.headers.push(("x-ratelimit-reset".to_owned(), reset.to_string()));
}
