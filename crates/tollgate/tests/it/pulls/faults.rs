//! The forge fails in every way at every write request; nothing is lost and nothing is posted twice.
//!
//! `TOLLGATE_CHAOS=50` tries each fault fifty times, at the first, second and third request of each kind in turn; without
//! it each is tried once. Statistics are printed.

use std::time::Duration;

use super::steps::Steps;
use super::test_server::BAD;
use crate::fake_github::{FakeGithub, Fault, Opening};

const FAULTS: [Fault; 9] = [
    Fault::Unauthorized,
    Fault::Secondary(60),
    Fault::NotFound,
    Fault::Conflict,
    Fault::Invalid,
    Fault::Broken(503),
    Fault::DoneButBroken,
    Fault::DoneButClosed,
    Fault::Silent(Duration::ZERO),
];

/// Requests that write.
const SPOTS: [&str; 4] = ["comments.create", "reviews.create", "checks.create", "checks.update"];

/// A review with three findings, one of them at a line of each file.
const FILES: [(&str, &str); 3] = [("a.js", BAD), ("b.js", BAD), ("c.js", BAD)];

/// Runs a review with an injected fault; returns the violated invariants.
fn play(plan: impl FnOnce(&FakeGithub)) -> Vec<String> {
    let github = FakeGithub::start();
    let steps = Steps::new(&github);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    plan(&github);
    let pull = github.open("octo/app", &Opening { files: &FILES, ..Opening::default() });
    let asked = pull.say("ada", "@tollgate help");
    steps.finish();
    // Lists that lag behind have caught up.
    steps.wait(60_000);
    let seen = pull.seen();
    let mut problems = seen.problems();
    let found = (seen.conclusion(), seen.summaries.len(), seen.inline.len(), seen.replies_to(asked).len());
    if found != (Some("failure"), 1, 3, 1) {
        problems.push(format!("{found:?}"));
    }
    if github.n_limited() > 0 {
        problems.push(format!("asked too much {} times", github.n_limited()));
    }
    problems
}

#[test]
fn a_host_that_fails_costs_no_comment_and_doubles_none() {
    let rounds: u32 = std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut problems = Vec::new();
    let mut n_played = 0;
    for round in 0..rounds {
        for fault in FAULTS {
            let spots = if rounds == 1 { &SPOTS[..] } else { &SPOTS[round as usize % SPOTS.len()..][..1] };
            for spot in spots {
                n_played += 1;
                let found = play(|github| github.fault(spot, round % 3, 1, fault));
                problems.extend(found.into_iter().map(|problem| format!("{fault:?} at {spot} #{round}: {problem}")));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    println!("{} kinds of faults, {n_played} reviews, nothing lost, nothing doubled", FAULTS.len());
}

#[test]
fn lists_that_lag_behind_do_not_have_us_say_things_twice() {
    for spot in SPOTS {
        for fault in [Fault::DoneButBroken, Fault::DoneButClosed] {
            let found = play(|github| {
                github.lag(5_000, 0);
                github.fault(spot, 0, 1, fault);
            });
            assert_eq!(found, [""; 0], "{fault:?} at {spot}");
        }
    }
}
