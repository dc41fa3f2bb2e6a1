//! The threads of findings: told and resolved with them where we may, and left to people where they took them up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::test_server::{BAD, GOOD, TestServer};
use crate::fake_github::{FakeGithub, Fault, Opening, PullRequest, Seen};
use crate::fake_model::{FakeModel, finding};

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

/// The lines that we wrote in the thread of a file, without their marks.
fn told(seen: &Seen, name: &str) -> Vec<String> {
    let root = seen.inline.iter().find(|comment| comment.path == name).unwrap().id;
    let answers = seen.answers.iter().filter(|answer| answer.answers == Some(root));
    answers.map(|answer| answer.body.lines().next().unwrap().to_owned()).collect()
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
    let line = format!("Resolved in {}", &seen.head[..7]);
    for (name, expected) in
        [("a.js", vec![line.clone()]), ("b.js", vec![]), ("c.js", vec![line.clone()]), ("d.js", vec![line])]
    {
        assert_eq!(told(&seen, name), expected, "{name}");
    }
    // A resolved thread stays resolved, and is not resolved again.
    pull.push("more", &[("e.js", GOOD), ("b.js", GOOD)]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.summaries.len(), seen.inline.len()), (Some("success"), 1, 4));
    assert_eq!((resolved(&seen), n_tries(&github)), (vec!["a.js", "b.js", "d.js"], 3));
    assert_eq!((seen.answers.len(), told(&seen, "a.js").len()), (4, 1), "each is told once");
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
    assert_eq!(
        told(&seen, "a.js"),
        [format!("Resolved in {}", &seen.head[..7])],
        "it is told where it is not resolved"
    );
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
    // A blocker is not dismissed by a click alone.
    pull.resolve("ada", root);
    server.answered(&pull, root);
    assert_eq!(pull.seen().conclusion(), Some("failure"));
    pull.open_again("ada", root);
    pull.answer("ada", root, "The text is a constant of ours.");
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

#[test]
fn only_the_words_of_the_person_who_resolves_a_thread_are_a_reason() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let (server, pull) = reviewed(&github, RESOLVES, &["a.js"]);
    let root = root_of(&pull, "a.js");
    pull.answer("mallory", root, "I disagree, this must be fixed.");
    pull.answer("mallory", root, "@tollgate dismiss it is fine");
    let explained = pull.answer("ada", root, "@tollgate explain");
    server.answered(&pull, explained);
    pull.resolve("ada", root);
    let said = server.answered(&pull, root);
    assert!(said.contains("The finding still counts"), "{said}");
    assert_eq!(pull.seen().conclusion(), Some("failure"));
    let n_answers = pull.seen().answers.len();
    // It is said once.
    pull.open_again("ada", root);
    pull.resolve("ada", root);
    concluded(&server, &pull, "failure");
    assert_eq!(pull.seen().answers.len(), n_answers);
    pull.open_again("ada", root);
    pull.answer("ada", root, "The text is a constant of ours.");
    pull.resolve("ada", root);
    concluded(&server, &pull, "success");
}

#[test]
fn reopening_a_thread_withdraws_the_dismissal_without_another_review() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let stub = FakeModel::answering(|_| json!({ "decision": "approved", "summary": "s", "findings": [] }).to_string());
    let settings = format!("{RESOLVES}[review]\nreviewers = ['m']\n{}", stub.table("m"));
    let (server, pull) = reviewed(&github, &settings, &["a.js"]);
    let root = root_of(&pull, "a.js");
    pull.answer("ada", root, "The text is a constant of ours.");
    pull.resolve("ada", root);
    concluded(&server, &pull, "success");
    let n_asked = stub.asked().len();
    pull.open_again("ada", root);
    concluded(&server, &pull, "failure");
    assert_eq!(stub.asked().len(), n_asked, "no model is asked");
    let seen = pull.seen();
    let title = seen.check_of(&seen.head).unwrap().title.clone().unwrap();
    assert!(!title.contains("suppressed"), "{title}");
}

#[test]
fn a_number_that_named_another_finding_before_dismisses_nothing() {
    let github = FakeGithub::start();
    let (server, pull) = reviewed(&github, RESOLVES, &["b.js"]);
    let root = root_of(&pull, "b.js");
    let id = pull.seen().inline[0].body.lines().find_map(|line| line.strip_prefix("<sub>f-")).unwrap().to_owned();
    let id = format!("f-{}", id.split(' ').next().unwrap());
    pull.push("more", &[("a.js", BAD)]);
    server.settled(&pull);
    // The new finding is the first of the list now, and the number is that of the other one in the first review.
    let named = pull.say("ada", "@tollgate dismiss F001 it is only run on our own text");
    let said = server.answered(&pull, named);
    assert!(said.contains("`F001` named different findings") && said.contains(&format!("- `{id}`: ")), "{said}");
    assert_eq!(pull.seen().conclusion(), Some("failure"));
    // In a thread it is the finding of the thread, if it ever had that number.
    let explained = pull.answer("ada", root, "@tollgate explain F001");
    let said = server.answered(&pull, explained);
    assert!(said.contains("At b.js"), "{said}");
    let dismissed = pull.say("ada", &format!("@tollgate dismiss {id} it is only run on our own text"));
    let said = server.answered(&pull, dismissed);
    assert!(said.starts_with("Dismissed") && said.contains("at b.js"), "{said}");
    concluded(&server, &pull, "failure");
}

#[test]
fn a_finding_that_comes_back_is_told_in_its_thread_which_is_opened_again() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let (server, pull) = reviewed(&github, RESOLVES, &["a.js"]);
    let mut lines = Vec::new();
    for (word, code, expected) in
        [("Resolved", GOOD, "success"), ("Open again", BAD, "failure"), ("Resolved", GOOD, "success")]
    {
        pull.push(word, &[("a.js", code)]);
        let seen = server.settled(&pull);
        lines.push(format!("{word} in {}", &seen.head[..7]));
        assert_eq!((seen.conclusion(), seen.problems()), (Some(expected), Vec::new()));
        assert_eq!((told(&seen, "a.js"), seen.inline.len()), (lines.clone(), 1));
        assert_eq!(resolved(&seen).len(), usize::from(expected == "success"));
    }
    // Our own clicks are no dismissals: the finding counts each time it is back.
    pull.push("back", &[("a.js", BAD)]);
    assert_eq!(server.settled(&pull).conclusion(), Some("failure"));
}

#[test]
fn a_click_on_the_thread_of_a_resolved_finding_dismisses_no_other() {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, "");
    server.launch(None);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let two = format!("{BAD}export const g = (more) => eval(more);\n");
    let pull = github.open("octo/app", &Opening { files: &[("a.js", &two)], ..Opening::default() });
    assert_eq!(server.settled(&pull).inline.len(), 2);
    let root = pull.seen().inline.iter().find(|comment| comment.line == Some(1)).unwrap().id;
    pull.push("fix one", &[("a.js", &format!("{GOOD}export const g = (more) => eval(more);\n"))]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.answers.len(), seen.answers[0].answers), (Some("failure"), 1, Some(root)));
    pull.resolve("ada", root);
    pull.push("more", &[("b.js", GOOD)]);
    assert_eq!(server.settled(&pull).conclusion(), Some("failure"), "the other finding is not dismissed");
}

#[test]
fn a_full_review_resolves_a_finding_that_the_model_calls_fixed() {
    const CODE: &str = "export function mean(total, count) {\n  return total / count;\n}\n";
    const GUARD: &str = "  if (count === 0) return 0;";
    let knows = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&knows);
    let model = FakeModel::answering(move |asked| {
        let wrong = finding("High", "a.js", 2, "The count can be 0", "return total / count;");
        let is_first = !asked.contains("P1 High/");
        let fixed = json!([{ "id": "P1", "state": "fixed", "evidence": format!("a.js:2 {}", GUARD.trim()) }]);
        let prior = if answers.load(Ordering::SeqCst) { fixed } else { json!([]) };
        let (decision, findings) = if is_first { ("rejected", json!([wrong])) } else { ("approved", json!([])) };
        json!({ "prior": prior, "decision": decision, "summary": "s", "findings": findings }).to_string()
    });
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let settings = format!("{RESOLVES}[review]\nreviewers = ['stub']\n{}", model.table("stub"));
    let mut server = TestServer::new(&github, &settings);
    server.launch(None);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let pull = github.open("octo/app", &Opening { files: &[("a.js", CODE)], ..Opening::default() });
    assert_eq!(server.settled(&pull).conclusion(), Some("failure"));
    pull.push("guard", &[("a.js", &CODE.replace("  return", &format!("{GUARD}\n  return")))]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), told(&seen, "a.js").len()), (Some("failure"), 0), "silence resolves nothing");
    knows.store(true, Ordering::SeqCst);
    let asked = pull.say("ada", "@tollgate full review");
    server.answered(&pull, asked);
    concluded(&server, &pull, "success");
    let seen = pull.seen();
    assert_eq!(
        (told(&seen, "a.js"), resolved(&seen)),
        (vec![format!("Resolved in {}", &seen.head[..7])], vec!["a.js"])
    );
    assert!(seen.summaries[0].body.contains("**Blockers resolved** -- Ready to merge"), "{}", seen.summaries[0].body);
}
