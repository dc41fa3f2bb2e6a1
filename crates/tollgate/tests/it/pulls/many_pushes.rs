//! Rapid pushes: debouncing limits the paid model calls, and the last push is reviewed.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::clock::Time;
use super::steps::Steps;
use super::test_server::{BAD, GOOD, TestServer};
use crate::fake_github::{FakeGithub, Opening, PullRequest, deliver};
use crate::fake_model::{FakeModel, answer};
use crate::wait::wait_until;

/// Pushes in a minute; `TOLLGATE_CHAOS` has all five hundred of them.
fn n_pushes() -> u64 {
    if std::env::var_os("TOLLGATE_CHAOS").is_some() { 500 } else { 60 }
}

fn asking(model: &FakeModel, more: &str) -> String {
    format!("[review]\nreviewers = ['stub']\n{}{more}", model.table("stub"))
}

fn open<'a>(github: &'a FakeGithub, author: &'a str) -> PullRequest<'a> {
    github.open("octo/app", &Opening { files: &[("a.js", GOOD)], author, ..Opening::default() })
}

fn push(pull: &PullRequest<'_>, n: u64) -> String {
    pull.push(&format!("push {n}"), &[("a.js", GOOD), ("n.js", &format!("export const n{n} = {n};\n"))])
}

#[test]
fn five_hundred_pushes_in_a_minute_ask_models_three_times_and_the_last_is_reviewed() {
    let (github, model) = (FakeGithub::start(), FakeModel::saying(answer("APPROVED", &[])));
    let steps = Steps::at(&github, &asking(&model, ""), Time::new(&github, true));
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let pull = open(&github, "ada");
    let mut last = String::new();
    for n in 1..n_pushes() {
        steps.wait(60_000 / n_pushes());
        last = push(&pull, n);
        while steps.step() {}
    }
    steps.finish();
    let seen = pull.seen();
    assert_eq!(seen.problems(), [""; 0]);
    assert_eq!((seen.head.as_str(), seen.conclusion()), (last.as_str(), Some("success")));
    let n_asked = model.asked().len();
    assert!((1..=3).contains(&n_asked), "{n_asked} times");
    assert!(model.heard().contains(&format!("n{} = ", n_pushes() - 1)), "the last one was looked at");
    println!("{} pushes in a minute: models were asked {n_asked} times", n_pushes());
}

#[test]
fn an_author_over_the_daily_quota_gets_only_the_rules_and_no_approval() {
    let (github, model) = (FakeGithub::start(), FakeModel::saying(answer("APPROVED", &[])));
    let steps =
        Steps::at(&github, &asking(&model, "[github]\nmodel_reviews_per_author = 2\n"), Time::new(&github, true));
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let pulls = ["ada", "ada", "ada", "bob"].map(|author| open(&github, author));
    steps.finish();
    assert_eq!(model.asked().len(), 3);
    let conclusions = pulls.each_ref().map(|pull| pull.seen().conclusion().unwrap_or_default().to_owned());
    assert_eq!(conclusions, ["success", "success", "action_required", "success"]);
    let said = pulls[2].seen().summaries.pop().unwrap().body;
    let why = "the author had 2 reviews with models in 24 hours, which is the limit, so models were not asked; \
               `@tollgate review` asks them nevertheless";
    assert!(said.contains(why), "{said}");

    pulls[2].retitle("ada", "feat: n");
    steps.finish();
    assert_eq!((model.asked().len(), pulls[2].seen().reviews.len()), (3, 0), "nothing is new");
    pulls[2].say("ada", "@tollgate review");
    steps.finish();
    assert_eq!((model.asked().len(), pulls[2].seen().conclusion()), (4, Some("success")));
    push(&pulls[0], 1);
    steps.wait(24 * 60 * 60_000);
    steps.finish();
    assert_eq!((model.asked().len(), pulls[0].seen().conclusion()), (5, Some("success")), "it is another day");
}

/// A delivery as the hub makes them.
fn a_delivery(github: &FakeGithub) -> Vec<u8> {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let taking = Arc::clone(&taken);
    github.hook_by(move |_, _, body| {
        *taking.lock().unwrap() = body.to_vec();
        202
    });
    open(github, "ada");
    taken.lock().unwrap().clone()
}

/// How long an answer takes is printed; `cargo test --release` has the program as it is shipped.
#[test]
fn deliveries_are_taken_while_reviews_run() {
    let github = FakeGithub::start();
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let body = a_delivery(&github);
    let mut server = TestServer::new(&github, "");
    server.launch(None);
    let (code, names) = (BAD.repeat(200), Vec::from_iter((0..150).map(|n| format!("f{n}.js"))));
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), code.as_str())).collect();
    let large = [(); 3].map(|()| github.open("octo/app", &Opening { files: &files, ..Opening::default() }));
    wait_until("a review that runs", || !github.requests("checks.create").is_empty());
    let mut times_ms = Vec::new();
    while times_ms.len() < 300 && large.iter().any(|pull| pull.seen().conclusion().is_none()) {
        let (at, guid) = (Instant::now(), format!("beef-{:x}", times_ms.len()));
        assert_eq!(deliver(&server.hook(), TestServer::SECRET, "pull_request", &guid, &body), 202);
        times_ms.push(at.elapsed().as_secs_f64() * 1e3);
    }
    assert!(!times_ms.is_empty(), "reviews were over at once");
    times_ms.sort_by(f64::total_cmp);
    let (n, median, p99) = (times_ms.len(), times_ms[times_ms.len() / 2], times_ms[times_ms.len() * 99 / 100]);
    println!("{n} deliveries while reviews run: answered in {median:.1} ms, 99 of 100 within {p99:.1} ms");
    for pull in &large {
        assert_eq!(server.settled(pull).problems(), [""; 0]);
    }
}
