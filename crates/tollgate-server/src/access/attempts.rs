//! Rate limit for sign-in attempts with a wrong token.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Attempts within a window of time. All clients share it: behind a loopback address they all look alike.
#[derive(Debug)]
pub struct Attempts {
    most: usize,
    window: Duration,
    at: Mutex<VecDeque<Instant>>,
}

impl Attempts {
    /// Allows so many in so long a time.
    pub fn new(most: usize, window: Duration) -> Self {
        Self { most, window, at: Mutex::new(VecDeque::new()) }
    }

    /// Counts an attempt, or says after how long there may be another.
    pub fn count(&self, now: Instant) -> Result<(), Duration> {
        let mut at = self.lock();
        while at.front().is_some_and(|first| now.duration_since(*first) >= self.window) {
            at.pop_front();
        }
        match at.front() {
            Some(first) if at.len() >= self.most => Err(self.window.saturating_sub(now.duration_since(*first))),
            _ => {
                at.push_back(now);
                Ok(())
            }
        }
    }

    /// Takes the last one back, because it was right.
    pub fn forgive(&self) {
        self.lock().pop_back();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_some_attempts_one_has_to_wait() {
        let (attempts, start) = (Attempts::new(2, Duration::from_secs(60)), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(attempts.count(at(0)).is_ok());
        attempts.forgive();
        assert!(attempts.count(at(0)).is_ok());
        assert!(attempts.count(at(20)).is_ok());
        assert_eq!(attempts.count(at(20)), Err(Duration::from_secs(40)));
        assert!(attempts.count(at(60)).is_ok());
        assert!(attempts.count(at(60)).is_err());
    }
}
