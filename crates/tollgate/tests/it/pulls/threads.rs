//! The threads of findings: resolved with them where we may, and left to people where they took them up.

use super::test_server::{BAD, GOOD, TestServer};
use crate::fake_github::{FakeGithub, Fault, Opening, PullRequest, Seen};

const RESOLVES: &str = "[github]\nresolve_threads = true\n";

/// A pull request with a finding in each of some files, after its first review.
fn reviewed<'a>(github: &'a FakeGithub, settings: &str, names: &[&str]) -> (TestServer<'a>, PullRequest<'a>) {
    let mut server = TestServer::new(github, settings);
    server.launch(None);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, BAD)).collect();
    let pull = github.open("octo/app", &Opening { files: &files, ..Opening::default() });
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.inline.len()), (Some("failure"), names.len()));
    (server, pull)
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
fn n_tries(github: &FakeGithub) -> usize {
    let asked = github.requests("graphql");
    asked.iter().filter(|entry| entry.body["query"].as_str().unwrap().contains("resolveReviewThread")).count()
}

#[track_caller]
fn concluded(server: &TestServer<'_>, pull: &PullRequest<'_>, expected: &str) {
    let what = format!("a check that ends with {expected}");
    crate::wait::wait_until(&what, || pull.seen().conclusion() == Some(expected) && server.n_owed() == 0);
    assert_eq!(pull.seen().problems(), [""; 0]);
}

#[test]
fn a_push_that_fixes_a_finding_resolves_its_thread_and_no_other() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let (server, pull) = reviewed(&github, RESOLVES, &["a.js", "b.js", "c.js", "d.js"]);
    // A thread with a reply of a person is left to people; replies of bots do not count.
    pull.answer("mallory", root_of(&pull, "c.js"), "why not?");
    pull.answer("other[bot]", root_of(&pull, "d.js"), "seen");
    pull.push("fix", &[("a.js", GOOD), ("c.js", GOOD), ("d.js", GOOD)]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.problems()), (Some("failure"), Vec::new()));
    assert_eq!((resolved(&seen), n_tries(&github)), (vec!["a.js", "d.js"], 2));
    // A resolved thread stays resolved, and is not resolved again.
    pull.push("more", &[("e.js", GOOD), ("b.js", GOOD)]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.summaries.len(), seen.inline.len()), (Some("success"), 1, 4));
    assert_eq!((resolved(&seen), n_tries(&github)), (vec!["a.js", "b.js", "d.js"], 3));
}

/// A push that fixes one of two findings, where threads cannot be resolved. Nothing else is lost.
#[track_caller]
fn check_without(github: &FakeGithub, settings: &str, expected_tries: usize) {
    let (server, pull) = reviewed(github, settings, &["a.js", "b.js"]);
    pull.push("fix", &[("a.js", GOOD)]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.problems()), (Some("failure"), Vec::new()));
    let says = "## Resolved Findings\n:white_check_mark: [MAJOR] a.js: dynamic code execution -- resolved";
    assert!(seen.summaries[0].body.contains(says), "{}", seen.summaries[0].body);
    assert_eq!((resolved(&seen), n_tries(github)), (Vec::new(), expected_tries));
    let n_asked = github.requests("graphql").len();
    pull.push("more", &[("c.js", BAD)]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.inline.len(), seen.problems()), (Some("failure"), 3, Vec::new()));
    assert_eq!(github.requests("graphql").len(), n_asked, "it is not tried again");
}

#[test]
fn threads_stay_open_where_nobody_wants_them_resolved() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    check_without(&github, "", 0);
    assert!(github.requests("tokens.create").iter().all(|entry| entry.body["permissions"]["contents"] == "read"));
}

#[test]
fn an_app_without_the_right_to_resolve_threads_does_all_else() {
    let github = FakeGithub::start();
    check_without(&github, RESOLVES, 0);
    let tokens: Vec<u16> = github.requests("tokens.create").iter().map(|entry| entry.status).collect();
    assert_eq!(tokens, [422, 201]);
}

#[test]
fn a_host_that_forbids_it_in_the_end_is_not_asked_for_ever() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    // The threads are listed with the permission to resolve, which is then withdrawn.
    github.fault("graphql", 1, u32::MAX, Fault::Forbidden);
    check_without(&github, RESOLVES, 1);
}

#[test]
fn resolving_a_thread_dismisses_its_finding_and_reopening_withdraws_that() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let (server, pull) = reviewed(&github, RESOLVES, &["a.js"]);
    let root = root_of(&pull, "a.js");
    pull.resolve("mallory", root);
    concluded(&server, &pull, "failure");
    pull.resolve("ada", root);
    concluded(&server, &pull, "success");
    pull.push("more", &[("b.js", GOOD)]);
    concluded(&server, &pull, "success");
    pull.open_again("ada", root);
    concluded(&server, &pull, "failure");
    assert_eq!((resolved(&pull.seen()), pull.seen().inline.len()), (Vec::new(), 1));
    // A thread that a person resolved is theirs, also when its finding goes.
    pull.resolve("ada", root);
    concluded(&server, &pull, "success");
    pull.push("fix", &[("a.js", GOOD)]);
    concluded(&server, &pull, "success");
    assert_eq!((resolved(&pull.seen()), n_tries(&github)), (vec!["a.js"], 0));
}
