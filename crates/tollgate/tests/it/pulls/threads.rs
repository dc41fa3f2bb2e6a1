//! The threads of findings: resolved with them where we may, and left to people where they took them up.

use super::station::{BAD, GOOD, Station};
use crate::hub::{Fault, Hub, Opening, PullRequest, Seen};

const RESOLVES: &str = "[github]\nresolve_threads = true\n";

/// A pull request with a finding in each of some files, after its first review.
fn reviewed<'a>(hub: &'a Hub, settings: &str, names: &[&str]) -> (Station<'a>, PullRequest<'a>) {
    let mut station = Station::new(hub, settings);
    station.launch(None);
    hub.repository("octo/app", &[("README.md", "# app\n")]);
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, BAD)).collect();
    let pull = hub.open("octo/app", &Opening { files: &files, ..Opening::default() });
    let seen = station.settled(&pull);
    assert_eq!((seen.conclusion(), seen.inline.len()), (Some("failure"), names.len()));
    (station, pull)
}

/// The comment that began the thread of a file.
fn root_of(pull: &PullRequest<'_>, name: &str) -> u64 {
    pull.seen().inline.iter().find(|comment| comment.path == name).unwrap().id
}

/// The files whose threads are resolved.
fn resolved(seen: &Seen) -> Vec<&str> {
    seen.inline.iter().filter(|comment| comment.is_resolved).map(|comment| comment.path.as_str()).collect()
}

/// How often we tried to resolve a thread.
fn n_tries(hub: &Hub) -> usize {
    let asked = hub.requests("graphql");
    asked.iter().filter(|entry| entry.body["query"].as_str().unwrap().contains("resolveReviewThread")).count()
}

#[track_caller]
fn concluded(station: &Station<'_>, pull: &PullRequest<'_>, expected: &str) {
    let what = format!("a check that ends with {expected}");
    crate::wait::wait_until(&what, || pull.seen().conclusion() == Some(expected) && station.n_owed() == 0);
    assert_eq!(pull.seen().problems(), [""; 0]);
}

#[test]
fn a_push_that_fixes_a_finding_resolves_its_thread_and_no_other() {
    let hub = Hub::start();
    hub.let_apps_resolve();
    let (station, pull) = reviewed(&hub, RESOLVES, &["a.js", "b.js", "c.js", "d.js"]);
    // Where somebody speaks the thread is theirs; a program is nobody.
    pull.answer("mallory", root_of(&pull, "c.js"), "why not?");
    pull.answer("other[bot]", root_of(&pull, "d.js"), "seen");
    pull.push("fix", &[("a.js", GOOD), ("c.js", GOOD), ("d.js", GOOD)]);
    let seen = station.settled(&pull);
    assert_eq!((seen.conclusion(), seen.problems()), (Some("failure"), Vec::new()));
    assert_eq!((resolved(&seen), n_tries(&hub)), (vec!["a.js", "d.js"], 2));
    // What is resolved stays so, and is not resolved again.
    pull.push("more", &[("e.js", GOOD), ("b.js", GOOD)]);
    let seen = station.settled(&pull);
    assert_eq!((seen.conclusion(), seen.summaries.len(), seen.inline.len()), (Some("success"), 1, 4));
    assert_eq!((resolved(&seen), n_tries(&hub)), (vec!["a.js", "b.js", "d.js"], 3));
}

/// A push that fixes one of two findings, where threads cannot be resolved. Nothing else is lost.
#[track_caller]
fn check_without(hub: &Hub, settings: &str, expected_tries: usize) {
    let (station, pull) = reviewed(hub, settings, &["a.js", "b.js"]);
    pull.push("fix", &[("a.js", GOOD)]);
    let seen = station.settled(&pull);
    assert_eq!((seen.conclusion(), seen.problems()), (Some("failure"), Vec::new()));
    let says = "## Resolved Findings\n:white_check_mark: [MAJOR] a.js: dynamic code execution -- resolved";
    assert!(seen.summaries[0].body.contains(says), "{}", seen.summaries[0].body);
    assert_eq!((resolved(&seen), n_tries(hub)), (Vec::new(), expected_tries));
    let n_asked = hub.requests("graphql").len();
    pull.push("more", &[("c.js", BAD)]);
    let seen = station.settled(&pull);
    assert_eq!((seen.conclusion(), seen.inline.len(), seen.problems()), (Some("failure"), 3, Vec::new()));
    assert_eq!(hub.requests("graphql").len(), n_asked, "it is not tried again");
}

#[test]
fn threads_stay_open_where_nobody_wants_them_resolved() {
    let hub = Hub::start();
    hub.let_apps_resolve();
    check_without(&hub, "", 0);
    assert!(hub.requests("tokens.create").iter().all(|entry| entry.body["permissions"]["contents"] == "read"));
}

#[test]
fn an_app_without_the_right_to_resolve_threads_does_all_else() {
    let hub = Hub::start();
    check_without(&hub, RESOLVES, 0);
    let tokens: Vec<u16> = hub.requests("tokens.create").iter().map(|entry| entry.status).collect();
    assert_eq!(tokens, [422, 201]);
}

#[test]
fn a_host_that_forbids_it_in_the_end_is_not_asked_for_ever() {
    let hub = Hub::start();
    hub.let_apps_resolve();
    // The threads are told, and that we may resolve them; then we may not.
    hub.fault("graphql", 1, u32::MAX, Fault::Forbidden);
    check_without(&hub, RESOLVES, 1);
}

#[test]
fn who_resolves_a_thread_dismisses_its_finding_and_who_opens_it_again_takes_that_back() {
    let hub = Hub::start();
    hub.let_apps_resolve();
    let (station, pull) = reviewed(&hub, RESOLVES, &["a.js"]);
    let root = root_of(&pull, "a.js");
    pull.resolve("mallory", root);
    concluded(&station, &pull, "failure");
    pull.resolve("ada", root);
    concluded(&station, &pull, "success");
    pull.push("more", &[("b.js", GOOD)]);
    concluded(&station, &pull, "success");
    pull.open_again("ada", root);
    concluded(&station, &pull, "failure");
    assert_eq!((resolved(&pull.seen()), pull.seen().inline.len()), (Vec::new(), 1));
    // A thread that a person resolved is theirs, also when its finding goes.
    pull.resolve("ada", root);
    concluded(&station, &pull, "success");
    pull.push("fix", &[("a.js", GOOD)]);
    concluded(&station, &pull, "success");
    assert_eq!((resolved(&pull.seen()), n_tries(&hub)), (vec!["a.js"], 0));
}
