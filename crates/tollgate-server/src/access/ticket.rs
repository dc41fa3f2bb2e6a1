//! Tickets for sockets, good once and for half a minute.
//!
//! A page cannot set headers on a WebSocket, only a list of protocols. Those may end up in logs, so the value
//! there must be worth nothing afterwards.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tollgate_engine::failure::{Failure, Kind};

/// How many tickets may be out at once.
const MAX: usize = 10_000;

/// The tickets that are out.
#[derive(Debug)]
pub struct Tickets {
    good_for: Duration,
    // By the ticket itself: a look-up in a hash map does not tell by its time where two texts differ.
    until: Mutex<HashMap<String, Instant>>,
}

impl Tickets {
    /// No tickets, each good for so long.
    pub fn new(good_for: Duration) -> Self {
        Self { good_for, until: Mutex::new(HashMap::new()) }
    }

    /// How long a ticket is good.
    pub fn good_for(&self) -> Duration {
        self.good_for
    }

    /// Gives out a ticket; none when too many are out.
    pub fn issue(&self, now: Instant) -> Result<Option<String>, Failure> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|problem| {
            Failure::new(Kind::External, format!("the system gives no random numbers: {problem}"))
        })?;
        let ticket = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut until = self.lock();
        if until.len() >= MAX {
            until.retain(|_, until| *until > now);
        }
        if until.len() >= MAX {
            return Ok(None);
        }
        until.insert(ticket.clone(), now + self.good_for);
        Ok(Some(ticket))
    }

    /// True once for a ticket that is still good.
    pub fn redeem(&self, ticket: &str, now: Instant) -> bool {
        self.lock().remove(ticket).is_some_and(|until| until > now)
    }

    /// Makes all that are out worth nothing.
    pub fn void(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_not_for_long() {
        let (tickets, now) = (Tickets::new(Duration::from_secs(30)), Instant::now());
        let ticket = tickets.issue(now).unwrap().unwrap();
        assert!(tickets.redeem(&ticket, now));
        assert!(!tickets.redeem(&ticket, now));
        let late = tickets.issue(now).unwrap().unwrap();
        assert!(!tickets.redeem(&late, now + Duration::from_secs(30)));
        assert!(!tickets.redeem("", now));
    }

    #[test]
    fn only_so_many_are_out_at_once() {
        let (tickets, now) = (Tickets::new(Duration::from_secs(30)), Instant::now());
        for _ in 0..MAX {
            assert!(tickets.issue(now).unwrap().is_some());
        }
        assert!(tickets.issue(now).unwrap().is_none());
        assert!(tickets.issue(now + Duration::from_secs(31)).unwrap().is_some());
    }
}
