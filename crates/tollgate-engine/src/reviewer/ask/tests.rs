//! What becomes of questions, with backends that do as they are told.

use super::*;
use serde_json::json;

/// A backend that gives what a function gives.
struct Scripted<F>(F);

impl<F: Fn(&Question, &CallControl<'_>) -> Result<Reply, CallFailure> + Send + Sync> Backend for Scripted<F> {
    fn ask(&self, question: &Question, watch: &CallControl<'_>) -> Result<Reply, CallFailure> {
        (self.0)(question, watch)
    }
}

fn member<F>(name: &str, script: F) -> Member
where
    F: Fn(&Question, &CallControl<'_>) -> Result<Reply, CallFailure> + Send + Sync + 'static,
{
    Member { name: name.to_owned(), backend: Box::new(Scripted(script)), price: None }
}

fn job(member: usize, call: usize) -> CallJob {
    let question = Question {
        system: "system".to_owned(),
        shared: "shared".to_owned(),
        part: format!("part {call}"),
        schema: json!({}),
        repair: None,
    };
    CallJob { member, pass: 1, call, question, n_tokens: 1_000, about: "a.rs".to_owned() }
}

fn reply(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

const CLEAN: &str = r#"{"decision": "approved", "summary": "fine", "findings": []}"#;

fn run(members: &[Member], jobs: &[CallJob], recording: &Recording, usd: Option<f64>) -> Vec<CallResult> {
    let (redactor, cancel) = (Redactor::new(vec!["sk-redactor-0123456789".to_owned()]), CancellationToken::new());
    let terms = AskOptions {
        members,
        recording,
        redactor: &redactor,
        deadline: Instant::now() + Duration::from_secs(60),
        idle: Duration::from_secs(60),
        parallel: 2,
        usd,
        criteria: &[],
        n_prior: 0,
        cancel: &cancel,
    };
    let mut signs = Vec::new();
    let done = all(jobs, &terms, &mut |sign| signs.push(sign));
    let ended = signs.iter().filter(|sign| matches!(sign, JobEvent::Ended { .. })).count();
    assert_eq!((done.len(), ended), (jobs.len(), jobs.len()));
    done
}

/// The outcome in a few words.
fn words(done: &CallResult) -> String {
    match &done.outcome {
        Ok(said) => {
            format!("{:?}, {} claims, cut {}", said.answer.decision, said.answer.claims.len(), said.answer.truncated)
        }
        Err(AskError::Failed(failure)) => format!("{:?}: {}", failure.why, failure.message),
        Err(AskError::NoReview(why)) => format!("no review: {why}"),
        Err(AskError::OverBudget(why)) => why.clone(),
    }
}

#[test]
fn results_are_in_the_order_of_the_jobs_however_they_end() {
    let members = [member("m", |question: &Question, _: &CallControl<'_>| {
        let number: u64 = question.part.trim_start_matches("part ").parse().unwrap();
        let finding = json!({"severity": "Low", "file": "a.rs", "line_start": 1, "title": "x", "evidence": "y"});
        let findings: Vec<_> = (0..number).map(|_| finding.clone()).collect();
        Ok(reply(&json!({"decision": "rejected", "summary": "s", "findings": findings}).to_string()))
    })];
    let jobs: Vec<CallJob> = (1..9).map(|call| job(0, call)).collect();
    let done = run(&members, &jobs, &Recording::Off, None);
    let counts: Vec<usize> = done.iter().map(|done| done.outcome.as_ref().unwrap().answer.claims.len()).collect();
    assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_wrong_configuration_is_tried_once() {
    let failure = || CallFailure { why: FailureCause::Setup, message: "no key".to_owned(), hint: None, n_tries: 0 };
    let asked = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&asked);
    let members = [member("m", move |_: &Question, _: &CallControl<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        Err(failure())
    })];
    let jobs: Vec<CallJob> = (0..20).map(|call| job(0, call)).collect();
    let done = run(&members, &jobs, &Recording::Off, None);
    assert!(asked.load(Ordering::Relaxed) <= 2, "both workers may have begun");
    assert!(done.iter().all(|done| done.outcome.is_err()));
    assert_eq!(words(&done[0]), "Setup: no key");
}

#[test]
fn money_is_not_spent_beyond_the_budget() {
    let price = Price { input: 100.0, cached: 100.0, output: 0.0 };
    let usage = Usage { input: 1_000, cached: 0, output: 10 };
    let mut members = [member("m", move |_: &Question, _: &CallControl<'_>| Ok(Reply { usage, ..reply(CLEAN) }))];
    members[0].price = Some(price);
    // Each call costs 0.10.
    let jobs: Vec<CallJob> = (0..5).map(|call| job(0, call)).collect();
    let done = run(&members, &jobs, &Recording::Off, Some(0.25));
    let spent: f64 = done.iter().filter_map(|done| done.cost).sum();
    assert!((0.19..0.26).contains(&spent), "{spent}");
    let over: Vec<String> = done.iter().map(words).filter(|words| words.contains("over the budget")).collect();
    assert_eq!(over.len(), 3);
    assert_eq!(over[0], "over the budget of $0.25: $0.05 are left, and the call costs about $0.10");
}

#[test]
fn figures_of_the_other_side_are_taken_for_what_they_are_worth() {
    let usage = Usage { input: u64::MAX, cached: 0, output: u64::MAX };
    let say = move |text: &str| Ok(Reply { usage, cost: Some(-100.0), ..reply(text) });
    let mut members = [member("m", move |question: &Question, _: &CallControl<'_>| {
        say(if question.repair.is_some() { CLEAN } else { "hm" })
    })];
    members[0].price = Some(Price { input: 0.0, cached: 0.0, output: 0.0 });
    let done = run(&members, &[job(0, 0), job(0, 1)], &Recording::Off, Some(0.25));
    assert_eq!((done[0].usage.input, done[1].usage.output), (u64::MAX, u64::MAX));
    assert_eq!(done[0].cost, Some(0.0));
}

#[test]
fn replies_that_are_no_review_fail() {
    let cases = [
        (Reply { stop: StopReason::Refused, ..reply(CLEAN) }, "no review: it would not answer"),
        (Reply { stop: StopReason::Length, ..reply(CLEAN) }, "Some(Approved), 0 claims, cut true"),
    ];
    for (given, expected) in cases {
        let members = [member("m", move |_: &Question, _: &CallControl<'_>| Ok(given.clone()))];
        assert_eq!(words(&run(&members, &[job(0, 0)], &Recording::Off, None)[0]), expected);
    }
}

#[test]
fn an_answer_is_asked_for_once_more_with_what_was_wrong() {
    let members = [member("m", |question: &Question, _: &CallControl<'_>| match &question.repair {
        None => Ok(reply("I looked at it.")),
        Some(repair) => {
            assert_eq!(repair.answer, "I looked at it.");
            Ok(reply(CLEAN))
        }
    })];
    let done = run(&members, &[job(0, 0)], &Recording::Off, None);
    let said = done[0].outcome.as_ref().unwrap();
    assert!(said.notes[0].starts_with("its first answer could not be read"), "{:?}", said.notes);
    // Both rounds were paid for.
    assert!(done[0].usage.input >= 4, "{:?}", done[0].usage);
}

#[test]
fn a_key_in_a_reply_or_a_failure_is_hidden_and_a_record_has_none() {
    let leaking = r#"{"decision": "rejected", "summary": "sk-redactor-0123456789", "findings": []}"#;
    let members = [
        member("says", move |_: &Question, _: &CallControl<'_>| Ok(reply(leaking))),
        member("fails", |_: &Question, _: &CallControl<'_>| {
            let message = "bad key sk-redactor-0123456789".to_owned();
            Err(CallFailure { why: FailureCause::Unavailable, message, hint: None, n_tries: 1 })
        }),
    ];
    let recording = Recording::start();
    let done = run(&members, &[job(0, 0), job(1, 0)], &recording, None);
    let record = recording.written(7).unwrap();
    assert!(!format!("{done:?}{record}").contains("sk-redactor"), "{done:?}\n{record}");
    assert!(record.contains("[hidden key]"), "{record}");
}

#[test]
fn a_record_gives_the_same_answers_without_anybody_being_asked() {
    let failure = || CallFailure {
        why: FailureCause::TooSlow,
        message: "late".to_owned(),
        hint: Some("h".to_owned()),
        n_tries: 3,
    };
    let usage = Usage { input: 5, cached: 2, output: 3 };
    let members = [member("one", move |question: &Question, _: &CallControl<'_>| match question.part.as_str() {
        "part 0" => Ok(Reply { usage, cost: Some(0.125), model: Some("m-1".to_owned()), ..reply(CLEAN) }),
        "part 1" => Ok(Reply { structured: serde_json::from_str(CLEAN).ok(), ..reply("") }),
        "part 2" if question.repair.is_none() => Ok(reply("hm")),
        "part 2" => Ok(reply(CLEAN)),
        _ => Err(failure()),
    })];
    let jobs: Vec<CallJob> = (0..4).map(|call| job(0, call)).collect();
    let recording = Recording::start();
    let first = run(&members, &jobs, &recording, None);
    let (recording, boundary) =
        crate::reviewer::recording::read("r", recording.written(u64::MAX).unwrap().as_bytes()).unwrap();
    assert_eq!(boundary, u64::MAX);
    let unused = [member("one", |_: &Question, _: &CallControl<'_>| panic!("a replay makes no calls"))];
    let second = run(&unused, &jobs, &recording, None);
    let said = |done: &[CallResult]| {
        done.iter()
            .map(|done| format!("{} {:?} {:?} {:?}", words(done), done.usage, done.cost, done.model))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&first), said(&second));
    let mut other = job(0, 0);
    other.question.part.push('!');
    assert_eq!(
        words(&run(&unused, &[other], &recording, None)[0]),
        "Setup: the record is of another change, or of other settings"
    );
    assert_eq!(
        words(&run(&unused, &[job(0, 9)], &recording, None)[0]),
        "Setup: the record has no answer of `one` to call 10 of pass 1"
    );
}
