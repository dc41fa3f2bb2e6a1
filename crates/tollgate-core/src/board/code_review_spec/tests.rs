use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;
use crate::board::StepId;
use crate::board::iteration::{Criterion, Identity};
use crate::board::machine::{Pause, Status};
use crate::finding::Category;

fn remark() -> Remark {
    Remark {
        category: Category::Compliance,
        severity: Severity::High,
        title: "Missing password validation".to_owned(),
        description: "Empty passwords are accepted, violating spec requirement".to_owned(),
        suggestion: Some("Add validation for minimum 8 characters".to_owned()),
        file: Some("src/auth/validator.ts".to_owned()),
        line: Some(45),
        evidence: Some("return true;".to_owned()),
        identity: Some(Identity { id: "F001".to_owned(), fingerprint: "fp-0000000000000001".to_owned(), key: None }),
    }
}

fn rejected() -> Iteration {
    let criterion = |id: &str, text: &str| Criterion { id: id.to_owned(), text: text.to_owned() };
    let criteria = vec![
        (criterion("C1", "Registration"), Met::Yes { evidence: "src/a.ts:3".to_owned() }),
        (criterion("C2", "Validation"), Met::No { evidence: "nothing checks".to_owned() }),
        (criterion("C3", "Speed"), Met::Unclear { evidence: None }),
    ];
    Iteration {
        number: 1,
        outcome: Outcome::Rejected,
        reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
        model: "claude-opus-4-5-20251101".to_owned(),
        provider: "anthropic".to_owned(),
        commit: Some("a1b2c3d4".to_owned()),
        base: Some("00ff".to_owned()),
        findings: vec![remark()],
        late: Vec::new(),
        summary: "Implementation lacks error handling.".to_owned(),
        reason: Some("Empty password validation missing.".to_owned()),
        compliance: Compliance { criteria },
        notes: vec!["1 file was not looked at".to_owned()],
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    }
}

fn spec<'a>(state: &'a State, iterations: &'a [(Iteration, DiffRef)]) -> CodeReviewSpec<'a> {
    CodeReviewSpec { state, max: 3, iterations, paused_at: None, review_started_at: None, rev: 7 }
}

fn state(status: Status, work: Work, review: Review) -> State {
    State { status, work, review, iteration: 1, round: 1, commit: Some("a1b2c3d4".to_owned()), ..State::new() }
}

#[test]
fn a_review_has_the_original_keys_first() {
    let state = state(Status::InProgress, Work::Queued, Review::Rejected);
    let iterations = [(rejected(), DiffRef::of(b"+a\n", 1))];
    let written = serde_json::to_string_pretty(&write(&spec(&state, &iterations)).unwrap()).unwrap();
    insta::assert_snapshot!(written, @r#"
    {
      "status": "rejected",
      "currentIteration": 1,
      "maxIterations": 3,
      "iterations": [
        {
          "iterationNumber": 1,
          "reviewedAt": "2026-01-09T14:22:00.000Z",
          "reviewedByModel": "claude-opus-4-5-20251101",
          "reviewedByProvider": "anthropic",
          "status": "rejected",
          "gitCommitHash": "a1b2c3d4",
          "gitDiff": "+a\n",
          "findings": [
            {
              "category": "compliance",
              "severity": "error",
              "title": "Missing password validation",
              "description": "Empty passwords are accepted, violating spec requirement",
              "suggestion": "Add validation for minimum 8 characters",
              "file": "src/auth/validator.ts",
              "line": 45,
              "evidence": "return true;",
              "canonical": {
                "severity": "High",
                "category": "Compliance",
                "id": "F001",
                "fingerprint": "fp-0000000000000001"
              }
            }
          ],
          "overallSummary": "Implementation lacks error handling.",
          "rejectionReason": "Empty password validation missing.",
          "reviewFile": "code-review-iteration-1.md",
          "baseCommit": "00ff",
          "notes": [
            "1 file was not looked at"
          ],
          "compliance": {
            "met": [
              "C1: Registration — src/a.ts:3"
            ],
            "unmet": [
              "C2: Validation — nothing checks"
            ],
            "unclear": [
              "C3: Speed"
            ]
          }
        }
      ],
      "round": 1,
      "rev": 7
    }
    "#);
}

#[test]
fn a_review_under_way_is_pending() {
    let reviewing = state(Status::CodeReview, Work::Reviewing, Review::Reviewing);
    let given = CodeReviewSpec { review_started_at: Some("2026-01-09T14:20:00.000Z"), ..spec(&reviewing, &[]) };
    insta::assert_snapshot!(write(&given).unwrap(), @r#"{"status":"reviewing","currentIteration":1,"maxIterations":3,"iterations":[],"pending":{"iterationNumber":1,"gitCommitHash":"a1b2c3d4","startedAt":"2026-01-09T14:20:00.000Z"},"round":1,"rev":7}"#);
    let paused = State { pause: Some(Pause::AgentFailed), ..state(Status::InProgress, Work::Nothing, Review::Pending) };
    let given = CodeReviewSpec { paused_at: Some("2026-01-09T14:20:00.000Z"), ..spec(&paused, &[]) };
    insta::assert_snapshot!(write(&given).unwrap(), @r#"{"status":"pending","currentIteration":1,"maxIterations":3,"iterations":[],"paused":{"reason":"agent-failed","at":"2026-01-09T14:20:00.000Z"},"round":1,"rev":7}"#);
}

#[test]
fn a_feature_without_reviews_has_no_spec() {
    assert_eq!(write(&spec(&State::new(), &[])), None);
    assert_eq!(write(&spec(&state(Status::InProgress, Work::Implementing, Review::Pending), &[])), None);
}

#[test]
fn a_long_diff_is_cut_at_a_line_and_the_whole_is_named() {
    let line = format!("+{}\n", "ü".repeat(50));
    let long = line.repeat(1_000);
    let diff = DiffRef::of(long.as_bytes(), 2);
    assert!(diff.inline.len() <= MAX_INLINE_DIFF && diff.inline.len() > MAX_INLINE_DIFF - line.len());
    assert!(long.starts_with(&diff.inline) && diff.inline.ends_with('\n'));
    assert_eq!((diff.bytes, diff.file.as_deref()), (102_000, Some("code-review-iteration-2.diff")));
    let state = state(Status::InProgress, Work::Queued, Review::Rejected);
    let written = write(&spec(&state, &[(Iteration { number: 2, ..rejected() }, diff)])).unwrap();
    let iteration = &written["iterations"][0];
    assert_eq!(iteration["gitDiffTruncated"], json!(true));
    assert_eq!(iteration["gitDiffFile"], json!("code-review-iteration-2.diff"));
    assert_eq!(iteration["gitDiffBytes"], json!(102_000));
}

#[test]
fn a_diff_of_one_endless_line_or_of_no_text_is_cut_too() {
    let line = "ü".repeat(MAX_INLINE_DIFF);
    let diff = DiffRef::of(&line.as_bytes()[1..], 1);
    assert!(diff.inline.len() <= MAX_INLINE_DIFF && diff.file.is_some());
    let diff = DiffRef::of(line.as_bytes(), 1);
    assert!(line.starts_with(&diff.inline) && diff.inline.len() > MAX_INLINE_DIFF - 2);
    // A character that is cut in two is left out.
    let line = format!("a{}", "🙂".repeat(MAX_INLINE_DIFF));
    let diff = DiffRef::of(line.as_bytes(), 1);
    assert!(line.starts_with(&diff.inline) && diff.inline.len() == MAX_INLINE_DIFF - 3);
    let diff = DiffRef::of(&[0xff; MAX_INLINE_DIFF], 1);
    assert!(diff.inline.len() <= MAX_INLINE_DIFF && diff.file.is_some());
    assert_eq!(DiffRef::of(&[b'a'; MAX_INLINE_DIFF], 1).file, None);
}

#[test]
fn praise_is_no_finding_in_files() {
    let praise = Remark { severity: Severity::Praise, ..remark() };
    assert_eq!(findings(&[praise]), json!([]));
}

#[test]
fn edited_severity_and_category_win() {
    let mut value = finding(&remark());
    value["severity"] = json!("info");
    value["category"] = json!("performance");
    let read = read(&json!({ "iterations": [{ "findings": [value, 1, null] }] }));
    let found: Vec<(Severity, Category)> =
        read[0].findings.iter().map(|remark| (remark.severity, remark.category)).collect();
    assert_eq!(found, [(Severity::Low, Category::Perf)]);
}

#[test]
fn reviews_of_other_programs_are_read() {
    let seed = json!({
        "status": "rejected", "currentIteration": 1, "maxIterations": 3, "unknown": { "a": 1 },
        "iterations": [{
            "iterationNumber": 1, "reviewedAt": "2026-01-09T14:22:00Z", "status": "rejected", "gitCommitHash": "a1b2",
            "findings": [{ "category": "code", "severity": "error", "title": "No check", "description": "d" }],
            "overallSummary": "s", "rejectionReason": "r",
        }],
    });
    let iterations = read(&seed);
    assert_eq!(iterations.len(), 1);
    assert_eq!(iterations[0].reason.as_deref(), Some("r"));
    assert_eq!(iterations[0].findings[0].severity, Severity::High);
    assert_eq!(iterations[0].findings[0].category, Category::Logic);
    let state = read_state(&seed, &Status::InProgress);
    assert_eq!((state.iteration, state.review, state.pause), (1, Review::Rejected, Some(Pause::Interrupted)));
    assert_eq!(state.commit.as_deref(), Some("a1b2"));
}

#[test]
fn a_running_job_is_paused_after_reading() {
    let reviewing = state(Status::CodeReview, Work::Reviewing, Review::Reviewing);
    let read = |status| read_state(&write(&spec(&reviewing, &[])).unwrap(), &status);
    let found = read(Status::CodeReview);
    assert_eq!((found.work, found.pause, found.review), (Work::Nothing, Some(Pause::Interrupted), Review::Pending));
    assert_eq!(found.commit, reviewing.commit);
    assert_eq!(read(Status::Verified).pause, None);
    assert_eq!(read_state(&Value::Null, &Status::InProgress), State { status: Status::InProgress, ..State::new() });
}

#[test]
fn an_unknown_outcome_is_read_as_failed() {
    for value in [json!({}), json!({ "status": "APPROVED!" }), json!({ "status": true })] {
        assert_eq!(read(&json!({ "iterations": [value] }))[0].outcome, Outcome::Failed);
    }
    assert_eq!(read(&json!({ "iterations": [[]] })), []);
}

fn any_remark() -> impl Strategy<Value = Remark> {
    let words = (0usize..10, 0usize..6, ".{0,8}", ".{0,8}", of(".{0,8}"));
    let place = (
        of(".{0,8}"),
        of(any::<u32>()),
        of(".{0,8}"),
        of(("F00[1-9]", "fp-[0-9a-f]{16}", of("fp-[0-9a-f]{16}-[0-9a-f]{8}"))),
    );
    (words, place).prop_map(
        |((category, severity, title, description, suggestion), (file, line, evidence, identity))| Remark {
            category: Category::ALL[category],
            severity: Severity::ALL[severity],
            title,
            description,
            suggestion,
            file,
            line,
            evidence,
            identity: identity.map(|(id, fingerprint, key)| Identity { id, fingerprint, key }),
        },
    )
}

fn any_met() -> impl Strategy<Value = Met> {
    prop_oneof![
        ".{0,8}".prop_map(|evidence| Met::Yes { evidence }),
        ".{0,8}".prop_map(|evidence| Met::No { evidence }),
        of(".{0,8}").prop_map(|evidence| Met::Unclear { evidence }),
    ]
}

fn any_iteration() -> impl Strategy<Value = Iteration> {
    let outcome = prop_oneof![Just(Outcome::Approved), Just(Outcome::Rejected), Just(Outcome::Failed)];
    let head = (1u32.., outcome, "[0-9TZ:.-]{0,9}", ".{0,5}", of("[0-9a-f]{4}"), of("[0-9a-f]{4}"));
    let said = (vec(any_remark(), 0..3), vec(any_remark(), 0..3), ".{0,8}", of(".{0,8}"), vec(".{0,8}", 0..3));
    let asked = vec((".{0,8}", any_met()), 0..4);
    let rest = (any::<bool>(), of("[a-z]{1,4}"), of((".{0,5}", ".{0,5}", ".{0,5}")), of(".{0,5}"));
    (head, said, asked, rest).prop_map(|(head, said, asked, rest)| {
        let (number, outcome, reviewed_at, model, commit, base) = head;
        let (findings, late, summary, reason, notes) = said;
        let (outdated, step, given, note) = rest;
        let criterion = |index: usize, text: String| Criterion { id: format!("C{}", index + 1), text };
        let asked = asked.into_iter().enumerate();
        let criteria = asked.map(|(index, (text, met))| (criterion(index, text), met)).collect();
        Iteration {
            number,
            outcome,
            reviewed_at,
            provider: model.clone(),
            model,
            commit,
            base,
            findings,
            late,
            summary,
            reason,
            compliance: Compliance { criteria },
            notes,
            outdated,
            after_step: step.map(|step| StepId::parse(&step).unwrap()),
            overridden: given.map(|(who, reason, at)| Override { who, reason, at }),
            note,
        }
    })
}

/// An iteration without the parts that a file does not keep: praise.
fn as_in_file(mut iteration: Iteration) -> Iteration {
    for list in [&mut iteration.findings, &mut iteration.late] {
        list.retain(|remark| remark.severity != Severity::Praise);
    }
    iteration
}

proptest! {
    #[test]
    fn a_board_is_rebuilt_from_its_file(iteration in any_iteration()) {
        let state = state(Status::InProgress, Work::Nothing, Review::Rejected);
        let written = write(&spec(&state, &[(iteration.clone(), DiffRef::default())])).unwrap();
        prop_assert_eq!(read(&written), vec![as_in_file(iteration)]);
    }

    #[test]
    fn reading_any_json_never_approves(text in "[\\[\\]{}\":,a-z0-9]{0,40}", status in "[a-z_]{0,12}") {
        let iterations = json!([{ "iterationNumber": text, "findings": { "a": text }, "compliance": { "met": [text] } }]);
        for value in [serde_json::from_str(&text).unwrap_or(Value::Null), json!({ "iterations": iterations }), json!(text)] {
            let iterations = read(&value);
            prop_assert!(iterations.iter().all(|iteration| iteration.outcome == Outcome::Failed));
            let _ = read_state(&value, &Status::parse(&status));
        }
    }
}
