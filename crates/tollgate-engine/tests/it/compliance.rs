//! Acceptance criteria through a whole review: asked, answered, and weighed.
//!
//! The questions are planned first, and then replayed with the answers of a test.

use serde_json::json;
use tollgate_core::answer::Decision;
use tollgate_core::board::{Criterion, Met};
use tollgate_core::coverage::HunkStatus;
use tollgate_core::gate::Gate;
use tollgate_engine::config::{self, Layer, Settings};
use tollgate_engine::forge::local::Trigger;
use tollgate_engine::pipeline::{ModelOptions, ReviewContext, Reviewed};
use tollgate_engine::reviewer::recording::{self, Recording};

use crate::scratch::Scratch;

fn options(recording: Recording, only_print: bool) -> ModelOptions<'static> {
    ModelOptions { recording, boundary: 1, only_print, ..ModelOptions::without_models() }
}

fn criteria() -> Vec<Criterion> {
    let criterion = |id: &str, text: &str| Criterion { id: id.to_owned(), text: text.to_owned() };
    vec![criterion("C1", "The words are there"), criterion("C2", "It reads ftp://bob:kX9mQ2vLp@files.acme.io/")]
}

/// Two files of 60 kB, so that a call takes one of them.
fn scratch() -> (Scratch, Settings) {
    let scratch = Scratch::with_commit();
    for name in ["b.txt", "c.txt"] {
        let text: String = (0..1_500).map(|number| format!("{name} has a line with the number {number}\n")).collect();
        scratch.write(name, text);
    }
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.git(&["add", "."]);
    scratch.git(&["commit", "-q", "-m", "words"]);
    let folder = scratch.beside("config");
    std::fs::create_dir_all(folder.join("tollgate")).unwrap();
    let table = |name: &str| {
        format!("[reviewer.{name}]\nbase_url = \"http://127.0.0.1:9/v1\"\nprotocol = \"openai\"\nmodel = \"m\"\n")
    };
    let text = format!(
        "{}{}structured = \"none\"\n[review]\nreviewers = [\"one\", \"two\"]\n[budget]\ncall_tokens = 40000\n",
        table("one"),
        table("two")
    );
    std::fs::write(folder.join("tollgate/config.toml"), text).unwrap();
    let settings = config::load(None, Some(&folder), &[], Layer::default()).unwrap();
    (scratch, settings)
}

/// Reviews the change; `said` gives the answer of a reviewer to a call.
fn review(asked: &[Criterion], context: ReviewContext, said: &dyn Fn(&str, usize) -> String) -> Reviewed {
    let (scratch, settings) = scratch();
    let range = || Trigger::Range("main..work".to_owned());
    let planned = scratch.review_in(range(), &settings, |request| {
        (request.criteria, request.spec, request.context) = (asked, Some("Write words."), context);
        request.models = options(Recording::Off, true);
    });
    let sent = planned.unwrap().sent;
    let mut record = format!("{}\n", json!({ "tollgate_record": 1, "version": "0", "boundary": 1 }));
    for call in &sent {
        let question = json!({ "system": call.system, "shared": call.shared, "part": call.part });
        let text = said(&call.reviewer, call.call);
        let reply = json!({ "text": text, "stop": "finished", "input": 1, "cached": 0, "output": 1 });
        let place = json!({ "reviewer": call.reviewer, "pass": 1, "call": call.call, "round": 1 });
        let mut exchange = place;
        exchange["question"] = question;
        exchange["reply"] = reply;
        record.push_str(&format!("{exchange}\n"));
    }
    let (recording, _) = recording::read("r", record.as_bytes()).unwrap();
    let reviewed = scratch.review_in(range(), &settings, |request| {
        (request.criteria, request.spec, request.context) = (asked, Some("Write words."), context);
        request.models = options(recording, false);
    });
    let mut reviewed = reviewed.unwrap();
    reviewed.sent = sent;
    reviewed
}

fn answers(decision: &str, criteria: &[(&str, &str, &str)]) -> String {
    let criteria: Vec<_> =
        criteria.iter().map(|(id, met, evidence)| json!({ "id": id, "met": met, "evidence": evidence })).collect();
    json!({ "criteria": criteria, "decision": decision, "summary": "As seen.", "findings": [] }).to_string()
}

fn told(reviewed: &Reviewed) -> Vec<String> {
    let line = |(criterion, met): &(Criterion, Met)| match met {
        Met::Yes { evidence } => format!("{} yes: {evidence}", criterion.id),
        Met::No { evidence } => format!("{} no: {evidence}", criterion.id),
        Met::Unclear { evidence } => format!("{} unclear: {}", criterion.id, evidence.as_deref().unwrap_or("-")),
    };
    reviewed.compliance.criteria.iter().map(line).collect()
}

fn n_missed(reviewed: &Reviewed) -> usize {
    let hunks = reviewed.review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    hunks.filter(|covered| matches!(covered.status, HunkStatus::NotReviewed(_))).count()
}

#[test]
fn reviewers_are_asked_for_each_criterion_and_for_the_specification() {
    let reviewed = review(&criteria(), ReviewContext::Gate, &|_, _| answers("approved", &[]));
    assert_eq!(reviewed.sent.len(), 4);
    for call in &reviewed.sent {
        assert!(call.system.contains("## Acceptance criteria come first"), "{}", call.system);
        let form = r#"{"criteria": [{"id": …, "met": …, "evidence": …}], "decision": …"#;
        // The other one is held to the schema.
        assert_eq!(call.system.contains(form), call.reviewer == "two", "{}", call.system);
        assert!(call.shared.contains("\nC1: The words are there\nC2: It reads ftp://bob:k…"), "{}", call.shared);
        assert!(call.shared.contains("Specification: [data "), "{}", call.shared);
        assert!(!call.shared.contains("kX9mQ2vLp"), "{}", call.shared);
    }
    assert_eq!(told(&reviewed), ["C1 unclear: -", "C2 unclear: -"]);
    assert_eq!((n_missed(&reviewed), reviewed.stated.len()), (0, 4));
}

#[test]
fn a_part_can_show_that_something_is_there_and_another_reviewer_that_it_is_not() {
    let reviewed = review(&criteria(), ReviewContext::Gate, &|name, call| match (name, call) {
        ("one", 1) => answers("approved", &[("C1", "no", "not here"), ("C2", "yes", "b.txt:2"), ("C9", "yes", "x")]),
        ("one", _) => answers("approved", &[("C1", "yes", "c.txt:1"), ("C2", "unclear", "")]),
        (_, 1) => answers("approved", &[("C1", "yes", ""), ("C2", "unclear", "")]),
        _ => "**[REJECTED]** - no key\n\nC1: unclear\nC2: not met – no key at all\n".to_owned(),
    });
    assert_eq!(told(&reviewed), ["C1 yes: c.txt:1", "C2 no: no key at all"]);
    let notes = reviewed.review.notes.as_deref().unwrap();
    assert!(notes.contains("one: it answers 1 criterion not asked for"), "{notes}");
    assert!(notes.contains("one: said APPROVED and that 1 criterion is not met; the criteria count"), "{notes}");
    assert_eq!(n_missed(&reviewed), 0);
}

#[test]
fn at_a_gate_a_rejection_with_a_reason_is_heard() {
    let said = |name: &str, _: usize| if name == "one" { answers("rejected", &[]) } else { answers("approved", &[]) };
    let at_gate = review(&criteria(), ReviewContext::Gate, &said);
    assert_eq!(n_missed(&at_gate), 0);
    let stated: Vec<(&str, Decision, Option<&str>)> = at_gate
        .stated
        .iter()
        .map(|stated| (stated.reviewer.as_str(), stated.decision, stated.summary.as_deref()))
        .collect();
    let (no, yes) = (("one", Decision::Rejected, Some("As seen.")), ("two", Decision::Approved, Some("As seen.")));
    assert_eq!(stated, [no, yes, no, yes]);
    // Elsewhere it is a doubt: without a finding nothing would come of it, so the review is not complete.
    let own = review(&[], ReviewContext::Local, &said);
    assert_eq!((n_missed(&own), own.review.is_complete(), own.gate), (0, false, Gate::Partial));
    assert!(own.review.doubts.iter().all(|doubt| doubt.to_string().starts_with("one says REJECTED")));
}

#[test]
fn without_criteria_reviewers_are_not_asked_for_any() {
    let reviewed = review(&[], ReviewContext::Gate, &|_, _| answers("approved", &[("C1", "yes", "b.txt:1")]));
    assert!(reviewed.sent.iter().all(|call| !call.system.contains("criteria") && !call.shared.contains("criteria")));
    assert_eq!(told(&reviewed), [""; 0]);
    assert_eq!(reviewed.review.notes, None);
}
