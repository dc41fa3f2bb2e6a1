//! Somebody pushes as often as a machine can. Models cost money, so they are asked a few times, and last about the last.

use super::station::GOOD;
use super::steps::Steps;
use super::time::Time;
use crate::hub::{Hub, Opening, PullRequest};
use crate::stub::{Stub, answer};

/// Pushes in a minute; `TOLLGATE_CHAOS` has all five hundred of them.
fn n_pushes() -> u64 {
    if std::env::var_os("TOLLGATE_CHAOS").is_some() { 500 } else { 60 }
}

fn asking(model: &Stub, more: &str) -> String {
    format!("[review]\nreviewers = ['stub']\n{}{more}", model.table("stub"))
}

fn open<'a>(hub: &'a Hub, author: &'a str) -> PullRequest<'a> {
    hub.open("octo/app", &Opening { files: &[("a.js", GOOD)], author, ..Opening::default() })
}

fn push(pull: &PullRequest<'_>, n: u64) -> String {
    pull.push(&format!("push {n}"), &[("a.js", GOOD), ("n.js", &format!("export const n{n} = {n};\n"))])
}

#[test]
fn five_hundred_pushes_in_a_minute_ask_models_three_times_and_the_last_is_reviewed() {
    let (hub, model) = (Hub::start(), Stub::saying(answer("APPROVED", &[])));
    let steps = Steps::at(&hub, &asking(&model, ""), Time::new(&hub, true));
    hub.repository("octo/app", &[("README.md", "# app\n")]);
    let pull = open(&hub, "ada");
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
fn who_has_had_all_reviews_of_the_day_gets_the_rules_and_no_approval() {
    let (hub, model) = (Hub::start(), Stub::saying(answer("APPROVED", &[])));
    let steps = Steps::at(&hub, &asking(&model, "[github]\nmodel_reviews_per_author = 2\n"), Time::new(&hub, true));
    hub.repository("octo/app", &[("README.md", "# app\n")]);
    let pulls = ["ada", "ada", "ada", "bob"].map(|author| open(&hub, author));
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
