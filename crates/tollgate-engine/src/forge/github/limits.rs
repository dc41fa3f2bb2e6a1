//! How often we may ask, so that GitHub never has to tell us.
//!
//! GitHub counts for each installation or token, beside the hourly allowance that its answers tell: 900 points a
//! minute (a read is 1, a write 5), and 80 requests a minute and 500 an hour that make content. Whoever asks [`Limits`]
//! first is let through at once, waits a moment, or is told how long it will be. What GitHub asks for in an answer
//! (`Retry-After`) holds for all.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::clock::Clock;

/// GitHub counts what arrives, and one request is longer on its way than another: our minutes are longer than its own.
const SLACK: u64 = 1_000;
const MINUTE: u64 = 60_000 + SLACK;
const HOUR: u64 = 60 * 60_000 + SLACK;
const POINTS_A_MINUTE: u64 = 900;
const CONTENT_A_MINUTE: usize = 80;
const CONTENT_AN_HOUR: usize = 500;
/// From so many in a minute on, content keeps its distance.
const NEAR: usize = 60;
const DISTANCE: u64 = 1_000;
/// Nobody waits longer here; who has to comes back later.
const MAX_WAIT: u64 = 10_000;
/// No answer of GitHub stops us for longer: its own allowance is by the hour.
pub(super) const MAX_HOLD: Duration = Duration::from_millis(MAX_HOLD_MS);
const MAX_HOLD_MS: u64 = 61 * 60_000;

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// Reads.
    Read,
    /// Changes something that is there.
    Change,
    /// Writes something that people see.
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

/// The limits of one installation or token.
#[derive(Debug, Default)]
pub(super) struct Limits(Mutex<Past>);

#[derive(Debug, Default)]
struct Past {
    /// What was asked in the last minute: when, and the points.
    asked: VecDeque<(u64, u64)>,
    points: u64,
    /// When content was made in the last hour.
    content: VecDeque<u64>,
    not_before: u64,
}

impl Limits {
    /// Waits until a request may be made, and counts it; or says in how many milliseconds it may be.
    pub(super) fn enter(&self, cost: Cost, clock: &dyn Clock) -> Result<(), u64> {
        let begun = clock.steady_ms();
        loop {
            let now = clock.steady_ms();
            let Err(wait) = self.past().take(cost, now) else { return Ok(()) };
            if now.saturating_sub(begun).saturating_add(wait) > MAX_WAIT {
                return Err(wait);
            }
            clock.wait(Duration::from_millis(wait));
        }
    }

    /// Nobody asks anything for a while.
    pub(super) fn hold(&self, wait_ms: u64, clock: &dyn Clock) {
        let until = clock.steady_ms().saturating_add(wait_ms.min(MAX_HOLD_MS));
        let mut past = self.past();
        past.not_before = past.not_before.max(until);
    }

    fn past(&self) -> std::sync::MutexGuard<'_, Past> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Past {
    /// Counts a request that may be made now, or says how long to wait.
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

    /// The first moment at which nothing speaks against it.
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
        // The last one is that close to the limit when so many lie within a minute of it.
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

    /// How many of these go through at once, and how long the next one would wait.
    #[track_caller]
    fn check(cost: Cost, n_at_once: usize, wait_ms: u64) {
        let mut past = Past::default();
        for index in 0..n_at_once {
            assert_eq!(past.take(cost, 5_000), Ok(()), "the {index}th");
        }
        assert_eq!(past.take(cost, 5_000), Err(wait_ms));
    }

    #[test]
    fn nine_hundred_points_go_through_in_a_minute() {
        check(Cost::Read, 900, MINUTE);
        check(Cost::Change, 180, MINUTE);
    }

    #[test]
    fn content_keeps_its_distance_near_the_limit() {
        check(Cost::Content, 60, DISTANCE);
        let mut past = Past::default();
        for at in 0..60 {
            past.take(Cost::Content, at * 900).unwrap();
        }
        assert_eq!(past.take(Cost::Content, 53_100), Err(1_000));
        assert_eq!(past.take(Cost::Read, 53_100), Ok(()), "reading is not held up");
    }

    #[test]
    fn who_would_wait_too_long_is_told_how_long() {
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
    fn what_github_asks_for_holds_for_all_and_for_an_hour_at_most() {
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
            let (mut past, mut now, mut taken) = (Past::default(), 0, Vec::new());
            for (step, cost) in steps {
                now += step;
                let cost = [Cost::Read, Cost::Change, Cost::Content][cost];
                match past.take(cost, now) {
                    Ok(()) => taken.push((now, cost)),
                    // What was said holds: nothing goes through before, and it does then.
                    Err(wait) => {
                        prop_assert!(wait > 0);
                        prop_assert!(past.take(cost, now + wait - 1).is_err());
                        now += wait;
                        prop_assert_eq!(past.take(cost, now), Ok(()));
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
