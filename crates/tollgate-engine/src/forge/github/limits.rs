//! Client-side rate limits, so that GitHub's are never reached.
//!
//! Beside the hourly quota in its response headers, GitHub limits each installation or token to 900 points a minute (a
//! read is 1, a write 5), and to 80 content-creating requests a minute and 500 an hour. [`Limits`] admits a request at
//! once, delays it a moment, or returns the time to wait. A `Retry-After` of GitHub holds for all requests.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::clock::Clock;

/// GitHub counts arrivals, and latencies differ: our windows are longer by this slack.
const SLACK: u64 = 1_000;
const MINUTE: u64 = 60_000 + SLACK;
const HOUR: u64 = 60 * 60_000 + SLACK;
const POINTS_A_MINUTE: u64 = 900;
const CONTENT_A_MINUTE: usize = 80;
const CONTENT_AN_HOUR: usize = 500;
/// From this many a minute on, content-creating requests are spaced.
const NEAR: usize = 60;
const DISTANCE: u64 = 1_000;
/// The longest delay inside the client; callers reschedule after a longer one.
const MAX_WAIT: u64 = 10_000;
/// The longest backoff that a response can impose: GitHub's quota is hourly.
pub(super) const MAX_HOLD: Duration = Duration::from_millis(MAX_HOLD_MS);
const MAX_HOLD_MS: u64 = 61 * 60_000;

/// The rate limit class of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    Read,
    /// A write without content.
    Change,
    /// A write that creates content.
    Content,
}

impl Cost {
    fn points(self) -> u64 {
        match self {
            Self::Read => 1,
            Self::Change | Self::Content => 5,
        }
    }
}

/// The rate limiter of one installation or token.
#[derive(Debug, Default)]
pub(super) struct Limits(Mutex<RequestWindow>);

#[derive(Debug, Default)]
struct RequestWindow {
    /// The requests of the last minute: time and points.
    asked: VecDeque<(u64, u64)>,
    points: u64,
    /// The times of content-creating requests in the last hour.
    content: VecDeque<u64>,
    not_before: u64,
}

impl Limits {
    /// Waits until a request is admitted and counts it, or returns the milliseconds until it would be.
    pub(super) fn enter(&self, cost: Cost, clock: &dyn Clock) -> Result<(), u64> {
        let begun = clock.steady_ms();
        loop {
            let now = clock.steady_ms();
            let Err(wait) = self.window().take(cost, now) else { return Ok(()) };
            if now.saturating_sub(begun).saturating_add(wait) > MAX_WAIT {
                return Err(wait);
            }
            clock.wait(Duration::from_millis(wait));
        }
    }

    /// Blocks all requests for a while.
    pub(super) fn hold(&self, wait_ms: u64, clock: &dyn Clock) {
        let until = clock.steady_ms().saturating_add(wait_ms.min(MAX_HOLD_MS));
        let mut window = self.window();
        window.not_before = window.not_before.max(until);
    }

    fn window(&self) -> std::sync::MutexGuard<'_, RequestWindow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestWindow {
    /// Counts a request that is admitted now, or returns the time to wait.
    fn take(&mut self, cost: Cost, now: u64) -> Result<(), u64> {
        self.forget(now);
        let free = self.free_at(cost);
        if free > now {
            return Err(free - now);
        }
        self.points += cost.points();
        self.asked.push_back((now, cost.points()));
        if cost == Cost::Content {
            self.content.push_back(now);
        }
        Ok(())
    }

    fn forget(&mut self, now: u64) {
        while let Some((_, points)) = self.asked.pop_front_if(|(then, _)| *then + MINUTE <= now) {
            self.points -= points;
        }
        while self.content.pop_front_if(|then| *then + HOUR <= now).is_some() {}
    }

    /// The earliest time at which a request is admitted.
    fn free_at(&self, cost: Cost) -> u64 {
        let mut free = self.not_before;
        let mut points = self.points + cost.points();
        for (then, its) in &self.asked {
            if points <= POINTS_A_MINUTE {
                break;
            }
            points -= its;
            free = free.max(then + MINUTE);
        }
        if cost != Cost::Content {
            return free;
        }
        let nth_last = |n: usize| self.content.iter().rev().nth(n - 1).copied();
        free = nth_last(CONTENT_A_MINUTE).map_or(free, |then| free.max(then + MINUTE));
        free = nth_last(CONTENT_AN_HOUR).map_or(free, |then| free.max(then + HOUR));
        // The last one was close to the limit when this many lie within a minute of it.
        match (nth_last(NEAR), self.content.back()) {
            (Some(then), Some(last)) if *last < then + MINUTE => free.max(last + DISTANCE),
            _ => free,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::forge::github::tests::StillClock;

    /// Checks how many requests are admitted at once, and the wait of the next one.
    #[track_caller]
    fn check(cost: Cost, n_at_once: usize, wait_ms: u64) {
        let mut window = RequestWindow::default();
        for index in 0..n_at_once {
            assert_eq!(window.take(cost, 5_000), Ok(()), "the {index}th");
        }
        assert_eq!(window.take(cost, 5_000), Err(wait_ms));
    }

    #[test]
    fn nine_hundred_points_go_through_in_a_minute() {
        check(Cost::Read, 900, MINUTE);
        check(Cost::Change, 180, MINUTE);
    }

    #[test]
    fn content_requests_are_spaced_near_the_limit() {
        check(Cost::Content, 60, DISTANCE);
        let mut window = RequestWindow::default();
        for at in 0..60 {
            window.take(Cost::Content, at * 900).unwrap();
        }
        assert_eq!(window.take(Cost::Content, 53_100), Err(1_000));
        assert_eq!(window.take(Cost::Read, 53_100), Ok(()), "reading is not held up");
    }

    #[test]
    fn a_long_wait_is_returned_instead_of_slept() {
        let (limits, clock) = (Limits::default(), StillClock::at(0));
        for _ in 0..60 {
            limits.enter(Cost::Content, &clock).unwrap();
        }
        assert_eq!(clock.waited(), 0);
        for _ in 0..20 {
            limits.enter(Cost::Content, &clock).unwrap();
        }
        assert_eq!(clock.waited(), 20_000, "a second before each");
        assert_eq!(limits.enter(Cost::Content, &clock), Err(41_000));
        clock.advance(31_000);
        assert_eq!(limits.enter(Cost::Content, &clock), Ok(()));
        assert_eq!(clock.waited(), 30_000, "ten seconds are waited for");
    }

    #[test]
    fn a_retry_after_of_github_holds_for_all_requests_and_at_most_an_hour() {
        let (limits, clock) = (Limits::default(), StillClock::at(0));
        limits.hold(70_000, &clock);
        limits.hold(1_000, &clock);
        assert_eq!(limits.enter(Cost::Read, &clock), Err(70_000));
        clock.advance(70_000);
        assert_eq!(limits.enter(Cost::Read, &clock), Ok(()));
        limits.hold(u64::MAX, &clock);
        assert_eq!(limits.enter(Cost::Read, &clock), Err(MAX_HOLD_MS));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_window_ever_holds_more_than_github_allows(
            steps in prop::collection::vec((0u64..4_000, 0usize..3), 1..1_500)
        ) {
            let (mut window, mut now, mut taken) = (RequestWindow::default(), 0, Vec::new());
            for (step, cost) in steps {
                now += step;
                let cost = [Cost::Read, Cost::Change, Cost::Content][cost];
                match window.take(cost, now) {
                    Ok(()) => taken.push((now, cost)),
                    // The returned wait is exact: a request is admitted after it and not before.
                    Err(wait) => {
                        prop_assert!(wait > 0);
                        prop_assert!(window.take(cost, now + wait - 1).is_err());
                        now += wait;
                        prop_assert_eq!(window.take(cost, now), Ok(()));
                        taken.push((now, cost));
                    }
                }
            }
            for (index, (end, _)) in taken.iter().enumerate() {
                let within = |time: u64| taken[..=index].iter().rev().take_while(move |(at, _)| at + time > *end);
                let content = |time: u64| within(time).filter(|(_, cost)| *cost == Cost::Content).count();
                prop_assert!(within(MINUTE).map(|(_, cost)| cost.points()).sum::<u64>() <= POINTS_A_MINUTE);
                prop_assert!(content(MINUTE) <= CONTENT_A_MINUTE && content(HOUR) <= CONTENT_AN_HOUR);
            }
        }
    }
}
