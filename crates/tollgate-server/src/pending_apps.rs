//! GitHub Apps whose registration was begun, by a random name that is valid for ten minutes and one use.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::app_registration::{AppRequest, ExistingApp};

/// The most pending apps; the oldest is dropped for a new one.
const MAX: usize = 32;
/// How long a name is valid.
const VALID_FOR: Duration = Duration::from_secs(10 * 60);

/// An app whose registration was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingApp {
    pub(crate) wish: AppRequest,
    /// The fate of an existing app: kept, or put aside.
    pub(crate) earlier: ExistingApp,
    /// The origin by which the browser reaches this server.
    pub(crate) from: String,
}

/// Pending apps by name.
#[derive(Debug, Default)]
pub(crate) struct PendingApps(Mutex<HashMap<String, (PendingApp, Instant)>>);

impl PendingApps {
    /// Adds an app and returns its name.
    pub(crate) fn begin(&self, setup: PendingApp) -> Result<String, Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|problem| {
            Failure::new(Kind::External, format!("the system gives no random numbers: {problem}"))
        })?;
        let name = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        self.begin_as(name.clone(), setup, Instant::now());
        Ok(name)
    }

    fn begin_as(&self, name: String, setup: PendingApp, now: Instant) {
        let mut all = self.lock();
        all.retain(|_, (_, until)| *until > now);
        let oldest = all.iter().min_by_key(|(_, (_, until))| *until).map(|(name, _)| name.clone());
        if let Some(oldest) = oldest.filter(|_| all.len() >= MAX) {
            all.remove(&oldest);
        }
        all.insert(name, (setup, now + VALID_FOR));
    }

    pub(crate) fn get(&self, name: &str) -> Option<PendingApp> {
        self.lock().get(name).filter(|(_, until)| *until > Instant::now()).map(|(setup, _)| setup.clone())
    }

    /// Removes the app of this name.
    pub(crate) fn take(&self, name: &str) -> Option<PendingApp> {
        self.take_at(name, Instant::now())
    }

    fn take_at(&self, name: &str, now: Instant) -> Option<PendingApp> {
        self.lock().remove(name).filter(|(_, until)| *until > now).map(|(setup, _)| setup)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (PendingApp, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> PendingApp {
        let wish = AppRequest::parse("https://github.com", "https://tollgate.example", None).unwrap();
        PendingApp { wish, earlier: ExistingApp::Keep, from: "http://127.0.0.1:7420".to_owned() }
    }

    #[test]
    fn a_name_is_valid_for_one_use_and_ten_minutes() {
        let (pending, now) = (PendingApps::default(), Instant::now());
        pending.begin_as("a".to_owned(), setup(), now);
        pending.begin_as("b".to_owned(), setup(), now);
        assert_eq!(pending.get("a"), Some(setup()));
        assert_eq!(pending.take_at("a", now + VALID_FOR - Duration::from_secs(1)), Some(setup()));
        assert_eq!(pending.take_at("a", now), None);
        assert_eq!(pending.take_at("b", now + VALID_FOR), None);
        assert_eq!(pending.take_at("c", now), None);
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let (pending, now) = (PendingApps::default(), Instant::now());
        for number in 0..=MAX as u64 {
            pending.begin_as(number.to_string(), setup(), now + Duration::from_millis(number));
        }
        let is_there = |name: usize| pending.get(&name.to_string()).is_some();
        assert!(!is_there(0) && is_there(1) && is_there(MAX));
    }

    #[test]
    fn names_are_32_random_bytes() {
        let pending = PendingApps::default();
        let names: Vec<String> = (0..200).map(|_| pending.begin(setup()).unwrap()).collect();
        // 43 characters of base64. In a counter, a time or a hash of little state, some of them would hardly change.
        for at in 0..42 {
            let seen: std::collections::HashSet<u8> = names.iter().map(|name| name.as_bytes()[at]).collect();
            assert!(seen.len() > 40, "character {at} takes only {} values", seen.len());
        }
        assert!(names.iter().all(|name| name.len() == 43));
    }
}
