//! Fairness with many pull requests: all are reviewed, and the rate limits of the forge are kept.

use super::steps::Steps;
use super::test_server::BAD;
use crate::fake_github::{FakeGithub, Opening, PullRequest};

#[test]
fn many_at_once_are_all_posted_and_no_limit_is_ever_reached() {
    // Each is a summary and a review: more than GitHub takes in a minute, and with `TOLLGATE_CHAOS` in an hour.
    let n_pulls: usize = if std::env::var_os("TOLLGATE_CHAOS").is_some() { 300 } else { 50 };
    let github = FakeGithub::start();
    let steps = Steps::new(&github);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let open = |_| github.open("octo/app", &Opening { files: &[("a.js", BAD)], ..Opening::default() });
    let pulls: Vec<PullRequest<'_>> = (0..n_pulls).map(open).collect();
    let begun_ms = steps.time.now();
    steps.finish();
    let minutes = (steps.time.now() - begun_ms) / 60_000;
    for pull in &pulls {
        let seen = pull.seen();
        assert_eq!(seen.problems(), [""; 0], "#{}", pull.number);
        assert_eq!((seen.conclusion(), seen.summaries.len(), seen.inline.len()), (Some("failure"), 1, 1));
    }
    let n_written = github.requests("comments.create").len() + github.requests("reviews.create").len();
    assert_eq!((n_written, github.n_limited()), (2 * n_pulls, 0));
    assert!(steps.time.waited_ms() > 0 || n_written <= 60, "nobody ever had to wait");
    println!("{n_pulls} pull requests at once: {n_written} comments and reviews in {minutes} min, none refused");
}
