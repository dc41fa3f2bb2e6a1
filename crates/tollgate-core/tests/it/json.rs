//! Findings and reviews as JSON, and the schema that describes them.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::finding::{Category, Severity, Side};
use tollgate_core::gate::Gate;
use tollgate_core::report::json::{self, Form, Options, schema};
use tollgate_core::report::{Content, Strictness};
use tollgate_core::review::Review;

use crate::arbitrary;
use crate::sample;

/// The problems of a document as `pointer rule`, one per line.
fn problems(document: &Value) -> String {
    match json::read(document.to_string().as_bytes(), Strictness::Strict) {
        Ok(_) => String::new(),
        Err(error) => {
            let lines = error.problems.iter().map(|problem| format!("{} {}", problem.place, problem.rule));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Changes the example review at a pointer; `null` removes the field.
#[track_caller]
fn check(pointer: &str, value: Value, expected: &str) {
    let mut document: Value = serde_json::from_str(sample::REVIEW).unwrap();
    set(&mut document, pointer, value);
    assert_eq!(problems(&document), expected, "{document}");
}

fn set(document: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        parent.shift_remove(key)
    } else {
        parent.insert(key.to_owned(), value)
    };
}

fn lenient(document: &Value) -> (Review, Vec<String>) {
    let read = json::read(document.to_string().as_bytes(), Strictness::Lenient).unwrap();
    let notes = read.notes.iter().map(|note| format!("{} {}", note.place, note.rule)).collect();
    (read.into_review(), notes)
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::draft202012::new(schema).unwrap()
}

#[track_caller]
fn assert_valid(validator: &jsonschema::Validator, document: &Value) {
    let errors: Vec<_> =
        validator.iter_errors(document).map(|error| format!("{} {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
}

#[test]
fn the_examples_of_the_description_are_read() {
    let review = json::read_strict(sample::REVIEW.as_bytes()).unwrap();
    assert_eq!(review.findings.len(), 3);
    let read = json::read(sample::FINDING.as_bytes(), Strictness::Strict).unwrap();
    let Content::Findings(findings, _) = read.content else { panic!("a finding is not a review") };
    assert_eq!(findings[0].id.to_string(), "F003");
    assert_eq!(findings[0].location.lines.to_string(), "42-45");
}

#[test]
fn the_full_form_writes_the_example_back() {
    let review = json::read_strict(sample::REVIEW.as_bytes()).unwrap();
    let mut written = json::review_value(&review, Options { form: Form::Full, gate: None });
    for finding in written["findings"].as_array_mut().unwrap() {
        finding.as_object_mut().unwrap().shift_remove("x_fingerprint");
    }
    assert_eq!(format!("{written:#}"), format!("{:#}", serde_json::from_str::<Value>(sample::REVIEW).unwrap()));
}

#[test]
fn the_short_form_omits_defaults() {
    let mut finding = sample::finding(Severity::High, "a.rs:3", "Wrong");
    finding.category = Category::Compliance;
    insta::assert_snapshot!(json::write_finding(&finding, Form::Short), @r#"
    {
      "id": "F001",
      "severity": "High",
      "category": "Logic",
      "location": {
        "file": "a.rs",
        "line_start": 3
      },
      "summary": "Wrong",
      "reason": "It matters.",
      "evidence": "code",
      "x_category": "Compliance",
      "x_fingerprint": "fp-df17521142d7e2a6"
    }
    "#);
    finding.location.side = Side::Left;
    assert_eq!(json::finding_value(&finding, Form::Short)["location"]["side"], "LEFT");
}

#[test]
fn each_violation_has_its_pointer() {
    check("/findings/0/id", json!("F1"), "/findings/0/id id");
    check("/findings/1/id", json!("F001"), "/findings/1/id unique-id");
    check("/findings/1/id", json!("F009"), "/findings/1/id id-order");
    check("/findings/1/severity", json!("medium"), "/findings/1/severity severity");
    check("/findings/1/category", json!("Compliance"), "/findings/1/category category");
    check("/findings/1/x_category", json!("Architecture"), "/findings/1/x_category category");
    check("/findings/1/location/file", json!("/etc/passwd"), "/findings/1/location/file file");
    check("/findings/1/location/file", json!("a/../b"), "/findings/1/location/file file");
    check("/findings/1/location/line_start", json!(0), "/findings/1/location/line_start line-start");
    check("/findings/1/location/line_start", json!("15"), "/findings/1/location/line_start type");
    check("/findings/1/location/line_start", json!(1.5), "/findings/1/location/line_start type");
    check("/findings/1/location/line_start", json!(4_294_967_296_u64), "/findings/1/location/line_start line-start");
    check("/findings/1/location/line_end", json!(3), "/findings/1/location/line_end line-end");
    check("/findings/1/location/side", json!("left"), "/findings/1/location/side side");
    check("/findings/1/summary", json!("x".repeat(81)), "/findings/1/summary summary");
    check("/findings/1/summary", json!("a\nb"), "/findings/1/summary summary");
    check("/findings/0/reason", Value::Null, "/findings/0/reason reason");
    check("/findings/0/reason", json!(" "), "/findings/0/reason reason");
    check("/findings/1/evidence", Value::Null, "/findings/1/evidence required");
    check("/findings/1/evidence", json!(""), "/findings/1/evidence evidence");
    check("/findings/1/evidence", json!("a\0b"), "/findings/1/evidence nul");
    check("/findings/1/x_other", json!({ "deep": ["\0"] }), "/findings/1/x_other/deep/0 nul");
    check("/findings/1/x_fingerprint", json!("fp-0000000000000000"), "/findings/1/x_fingerprint fingerprint");
    check("/findings/1/x_fix", json!({ "line_start": 1 }), "/findings/1/x_fix/replacement required");
    check("/reviewed_sha", json!("abc1234"), "/reviewed_sha sha");
    check("/base_sha", Value::Null, "/base_sha required");
    check("/blocking_count/high", json!(0), "/blocking_count/high blocking-count");
    check("/blocking_count/critical", Value::Null, "/blocking_count/critical required");
    check("/verdict", json!("APPROVED"), "/verdict verdict");
    check("/re_review_required", json!("yes"), "/re_review_required type");
    check("/reviewer_notes", json!(7), "/reviewer_notes type");
    check("/x_gate", json!("ajar"), "/x_gate gate");
    check("/x_withheld", json!([{ "why": "below-floor" }]), "/x_withheld/0/finding required");
    let one_voice = json!([{ "why": "no-consensus", "voices": 1 }]);
    check("/x_withheld", one_voice, "/x_withheld/0/why withheld\n/x_withheld/0/finding required");
}

#[test]
fn all_violations_are_reported_at_once() {
    let document = json!({ "findings": [{ "severity": "huge", "location": { "file": "a" } }] });
    insta::assert_snapshot!(problems(&document), @r"
    /reviewed_sha required
    /base_sha required
    /files_reviewed required
    /findings/0/id required
    /findings/0/severity severity
    /findings/0/category required
    /findings/0/location/line_start required
    /findings/0/summary required
    /findings/0/evidence required
    /verdict required
    /blocking_count required
    /re_review_required required
    ");
}

#[test]
fn a_partial_review_is_never_approved() {
    let hunk = json!({ "file": "a.rs", "lines": "1-3", "state": "not_reviewed", "reason": "time limit" });
    let coverage = json!({ "complete": false, "reviewed": 0, "skipped": 0, "not_reviewed": 1, "hunks": [hunk] });
    let mut document = json::review_value(&sample::clean(), Options::default());
    assert_eq!(document["verdict"], "APPROVED");
    document["x_coverage"] = coverage;
    assert_eq!(problems(&document), "/verdict verdict");
    document["verdict"] = json!("COMMENTED");
    assert_eq!(problems(&document), "");
    // The counts alone make the review fail closed.
    document["x_coverage"]["hunks"] = json!([]);
    let (review, _) = lenient(&document);
    assert!(!review.is_complete());
}

#[test]
fn duplicate_keys_are_refused() {
    let text = sample::REVIEW.replacen("\"severity\": \"High\"", "\"severity\": \"Low\", \"severity\": \"High\"", 1);
    let error = json::read(text.as_bytes(), Strictness::Strict).unwrap_err();
    assert_eq!(error.problems[0].to_string(), "/findings/0/severity: duplicate key (duplicate-key)");
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    let text = "[".repeat(1_000_000);
    let error = json::read(text.as_bytes(), Strictness::Lenient).unwrap_err();
    assert_eq!(error.problems[0].rule, "depth");
}

#[test]
fn lenient_parsing_loses_no_finding_and_reports_its_changes() {
    let document = json!({ "findings": [
        { "severity": "MAJOR", "category": "error handling", "location": "src\\a.rs:3-4", "summary": "x ".repeat(60) },
        { "severity": "?", "category": "?", "file": "/abs/b.rs", "line": "7", "title": "b", "description": "d" },
        { "id": "F002", "severity": "blocker", "category": "Compliance", "summary": "c", "evidence": "e",
          "location": { "file": "c.rs", "line_start": 9, "line_end": 2 } },
    ]});
    let (review, notes) = lenient(&document);
    let shown = review.findings.iter().map(|finding| {
        format!(
            "{} {}/{} {}:{} {}",
            finding.id,
            finding.severity,
            finding.category,
            finding.location.file,
            finding.location.lines,
            finding.summary
        )
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r"
    F001 High/Error src/a.rs:3-4 x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x…
    F002 Medium/Logic abs/b.rs:7 b
    F003 Critical/Compliance c.rs:2-9 c
    ");
    assert_eq!(review.findings[0].reason.as_deref(), Some(["x"; 60].join(" ").as_str()));
    assert!(notes.contains(&"/findings/2/id id-order".to_owned()), "{notes:?}");
    // The repaired review is valid.
    assert_eq!(problems(&json::review_value(&review, Options::default())), "");
}

#[test]
fn a_finding_without_a_file_is_refused_alone() {
    let document =
        json!([{ "summary": "lost", "evidence": "e" }, { "file": "a", "summary": "kept", "severity": "Low" }]);
    let (review, notes) = lenient(&document);
    assert_eq!(review.findings.len(), 1);
    assert!(notes.contains(&"/0 refused".to_owned()), "{notes:?}");
}

#[test]
fn fields_of_other_tools_come_out_where_they_went_in() {
    let mut document = json::review_value(&sample::review(), Options::default());
    set(&mut document, "/findings/0/confidence", json!(0.5));
    set(&mut document, "/findings/0/location/column", json!(7));
    set(&mut document, "/blocking_count/medium", json!(1));
    set(&mut document, "/x_gate", json!("closed"));
    let review = json::read_strict(document.to_string().as_bytes()).unwrap();
    assert_eq!(json::review_value(&review, Options::default()), document);
    let gated = json::review_value(&review, Options { gate: Some(Gate::Partial), ..Options::default() });
    assert_eq!(gated["x_gate"], "partial");
}

#[test]
fn the_schema_accepts_the_examples_and_refuses_what_the_reader_refuses() {
    let (finding, review) = (validator(&schema::finding()), validator(&schema::review()));
    assert_valid(&finding, &serde_json::from_str(sample::FINDING).unwrap());
    let example: Value = serde_json::from_str(sample::REVIEW).unwrap();
    assert_valid(&review, &example);
    let wrong = [
        ("/findings/0/id", json!("F1")),
        ("/findings/0/severity", json!("high")),
        ("/findings/0/category", json!("Compliance")),
        ("/findings/0/x_category", json!("Architecture")),
        ("/findings/0/location/file", json!("/etc/passwd")),
        ("/findings/0/location/file", json!("a/../b")),
        ("/findings/0/location/line_start", json!(0)),
        ("/findings/0/location/side", json!("left")),
        ("/findings/0/summary", json!("x".repeat(81))),
        ("/findings/0/summary", json!("a\nb")),
        ("/findings/0/summary", json!(" a")),
        ("/findings/0/reason", Value::Null),
        ("/findings/0/evidence", json!(" \n")),
        ("/findings/0/evidence", json!("a\0")),
        ("/verdict", json!("APPROVED")),
        ("/base_sha", json!("abc")),
        ("/blocking_count/high", Value::Null),
        ("/x_coverage", json!({})),
    ];
    for (pointer, value) in wrong {
        let mut document = example.clone();
        set(&mut document, pointer, value);
        assert!(!review.is_valid(&document), "{pointer}");
        assert_ne!(problems(&document), "", "{pointer}");
    }
}

proptest! {
    #[test]
    fn every_review_round_trips(review in arbitrary::review(), full in any::<bool>()) {
        let form = if full { Form::Full } else { Form::Short };
        let written = json::write(&review, Options { form, gate: None });
        prop_assert_eq!(json::read_strict(written.as_bytes()).unwrap(), review);
    }

    #[test]
    fn everything_written_matches_the_schema(review in arbitrary::review()) {
        static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| validator(&schema::review()));
        assert_valid(&VALIDATOR, &json::review_value(&review, Options { form: Form::Full, gate: Some(Gate::Open) }));
    }

    #[test]
    fn lenient_parsing_gives_a_valid_review(document in arbitrary::junk()) {
        let Ok(read) = json::read(document.to_string().as_bytes(), Strictness::Lenient) else { return Ok(()) };
        let written = json::write(&read.into_review(), Options::default());
        let again = json::read_strict(written.as_bytes());
        prop_assert!(again.is_ok(), "{:#?}\n{}", again, document);
    }

    #[test]
    fn every_single_finding_matches_the_schema(finding in arbitrary::finding()) {
        static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| validator(&schema::finding()));
        assert_valid(&VALIDATOR, &json::finding_value(&finding, Form::Short));
        let written = json::write_finding(&finding, Form::Full);
        let read = json::read(written.as_bytes(), Strictness::Strict).unwrap();
        prop_assert_eq!(read.into_findings().0, [finding]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = json::read(&bytes, Strictness::Lenient);
    }
}
