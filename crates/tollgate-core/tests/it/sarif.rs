//! SARIF: export to GitHub code scanning and import from any tool.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Category, Fix, LineRange, Severity};
use tollgate_core::path::FilePath;
use tollgate_core::report::sarif::{self, Options};
use tollgate_core::report::{Read, Strictness};
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};

use crate::arbitrary;
use crate::sample;

fn validator() -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_str(include_str!("schemas/sarif-2.1.0.json")).unwrap();
    // The published pattern of both fields has an extra bracket; we never write these fields.
    for name in ["run", "toolComponent"] {
        schema["definitions"][name]["properties"]["language"] = json!({ "type": "string" });
    }
    jsonschema::draft7::new(&schema).unwrap()
}

fn document(review: &Review) -> Value {
    serde_json::from_str(&sarif::write(review, Options { version: Some("1.2.3"), ..Options::default() })).unwrap()
}

#[track_caller]
fn assert_accepted(validator: &jsonschema::Validator, document: &Value) {
    let errors: Vec<_> =
        validator.iter_errors(document).map(|error| format!("{} {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    no_empty_text(document, "");
}

fn no_empty_text(value: &Value, at: &str) {
    match value {
        Value::String(text) => assert!(!text.is_empty(), "empty text at {at}"),
        Value::Array(list) => list.iter().for_each(|value| no_empty_text(value, at)),
        Value::Object(map) => map.iter().for_each(|(key, value)| no_empty_text(value, &format!("{at}/{key}"))),
        _ => {}
    }
}

/// Parses a run with these results and rules.
fn read(rules: Value, results: Value) -> Read {
    let run = json!({
        "tool": { "driver": { "name": "Linter", "rules": rules } },
        "originalUriBaseIds": {
            "SRC": { "uri": "file:///home/me/repo/" },
            "SUB": { "uri": "sub%20dir/", "uriBaseId": "SRC" },
        },
        "results": results,
    });
    let document = json!({ "version": "2.1.0", "runs": [run] });
    sarif::read(document.to_string().as_bytes(), Strictness::Lenient, None).unwrap()
}

fn at(uri: &str, region: Value) -> Value {
    json!([{ "physicalLocation": { "artifactLocation": { "uri": uri }, "region": region } }])
}

fn line(number: u32) -> Value {
    at("a.c", json!({ "startLine": number }))
}

/// The findings of one result, one per line.
fn shown(read: Read) -> String {
    let notes: Vec<_> = read.notes.iter().map(ToString::to_string).collect();
    let (findings, withheld) = read.into_findings();
    let line = |finding: &tollgate_core::finding::Finding| {
        format!(
            "{}/{} {}:{} {}",
            finding.severity, finding.category, finding.location.file, finding.location.lines, finding.summary
        )
    };
    let counted = findings.iter().map(line);
    let withheld = withheld.iter().map(|withheld| format!("({:?}) {}", withheld.why, line(&withheld.finding)));
    counted.chain(withheld).chain(notes).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_review_is_written_for_code_scanning() {
    let mut finding = sample::finding(Severity::High, "src/a b.rs:2", "Query is built from input");
    finding.category = Category::Security;
    finding.origin.rule = Some("sql-injection".to_owned());
    finding.origin.rule_url = Some("https://example.org/sql".to_owned());
    finding.fix = Some(Fix { lines: LineRange::new(2, 3).unwrap(), replacement: String::new() });
    let mut review = sample::with(vec![finding]);
    let by = "tollgate:ignore at line 9".to_owned();
    let why = Withheld::Suppressed { by, reason: Some("a test".to_owned()), kind: Suppressor::Comment };
    review.withheld.push(WithheldFinding { finding: sample::finding(Severity::Low, "b.rs:9", "Quiet"), why });
    let hunk = |status| CoveredHunk { file: FilePath::parse("c.rs").unwrap(), lines: Some(LineRange::line(1)), status };
    review.coverage = Some(Coverage {
        hunks: vec![hunk(HunkStatus::Reviewed), hunk(HunkStatus::NotReviewed("time limit".to_owned()))],
    });
    let sources = HashMap::from([(FilePath::parse("src/a b.rs").unwrap(), " a\nb\n  \t\tc\n d".to_owned())]);
    let text = sarif::write(&review, Options { sources: Some(&sources), ..Options::default() });
    assert_accepted(&validator(), &serde_json::from_str(&text).unwrap());
    insta::assert_snapshot!(text, @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "tollgate",
              "rules": [
                {
                  "id": "review-logic",
                  "name": "review-logic",
                  "shortDescription": {
                    "text": "Remarks on logic"
                  },
                  "fullDescription": {
                    "text": "Remarks on logic"
                  },
                  "help": {
                    "text": "Remarks on logic"
                  },
                  "defaultConfiguration": {
                    "level": "note"
                  },
                  "properties": {
                    "tags": [
                      "logic"
                    ],
                    "problem.severity": "recommendation"
                  }
                },
                {
                  "id": "sql-injection",
                  "name": "sql-injection",
                  "shortDescription": {
                    "text": "Query is built from input"
                  },
                  "fullDescription": {
                    "text": "It matters."
                  },
                  "help": {
                    "text": "It matters."
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  },
                  "properties": {
                    "tags": [
                      "security"
                    ],
                    "problem.severity": "error",
                    "security-severity": "8.0"
                  },
                  "helpUri": "https://example.org/sql"
                }
              ]
            }
          },
          "automationDetails": {
            "id": "tollgate/"
          },
          "invocations": [
            {
              "executionSuccessful": true,
              "toolExecutionNotifications": [
                {
                  "level": "warning",
                  "message": {
                    "text": "not reviewed: time limit"
                  },
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "c.rs"
                        },
                        "region": {
                          "startLine": 1
                        }
                      }
                    }
                  ]
                }
              ]
            }
          ],
          "results": [
            {
              "ruleId": "sql-injection",
              "ruleIndex": 1,
              "level": "error",
              "message": {
                "text": "Query is built from input\n\nIt matters."
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "src/a%20b.rs"
                    },
                    "region": {
                      "startLine": 2,
                      "startColumn": 1,
                      "endLine": 2,
                      "snippet": {
                        "text": "code"
                      },
                      "endColumn": 2
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "tollgate/v1": "fp-015d3e128dd1ecba",
                "primaryLocationLineHash": "54703d4cd895b18:1"
              },
              "properties": {
                "severity": "High",
                "category": "Security"
              },
              "fixes": [
                {
                  "description": {
                    "text": "Suggested fix"
                  },
                  "artifactChanges": [
                    {
                      "artifactLocation": {
                        "uri": "src/a%20b.rs"
                      },
                      "replacements": [
                        {
                          "deletedRegion": {
                            "startLine": 2,
                            "startColumn": 1,
                            "endLine": 4,
                            "endColumn": 1
                          }
                        }
                      ]
                    }
                  ]
                }
              ]
            },
            {
              "ruleId": "review-logic",
              "ruleIndex": 0,
              "level": "note",
              "message": {
                "text": "Quiet"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "b.rs"
                    },
                    "region": {
                      "startLine": 9,
                      "startColumn": 1,
                      "endLine": 9,
                      "snippet": {
                        "text": "code"
                      }
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "tollgate/v1": "fp-fd92061af53fe9d4"
              },
              "properties": {
                "severity": "Low",
                "category": "Logic"
              },
              "suppressions": [
                {
                  "kind": "inSource",
                  "status": "accepted",
                  "justification": "tollgate:ignore at line 9: a test"
                }
              ]
            }
          ],
          "columnKind": "utf16CodeUnits",
          "properties": {
            "verdict": "CHANGES_REQUESTED",
            "reviewedSha": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "baseSha": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
          }
        }
      ]
    }
    "#);
}

#[test]
fn results_of_any_tool_are_read() {
    let rules = json!([
        { "id": "R1", "fullDescription": { "text": "Because." }, "helpUri": "https://example.org/r1",
          "defaultConfiguration": { "level": "error" }, "messageStrings": { "m": { "text": "Uses {0} not {1}" } },
          "properties": { "tags": ["performance"] } },
        { "id": "S1", "properties": { "security-severity": "9.8" } },
    ]);
    let first = at("src/x%20y.c", json!({ "startLine": 3, "endLine": 6, "endColumn": 1 }));
    let absolute = at("file:///home/me/repo/z.c", json!({ "startLine": 1 }));
    let based = json!([{ "physicalLocation": { "artifactLocation": { "uri": "q.c", "uriBaseId": "SUB" } } }]);
    let (inside, rejected) =
        (json!([{ "kind": "inSource", "justification": "why" }]), json!([{ "status": "rejected" }]));
    let results = json!([
        { "ruleId": "R1/2", "message": { "id": "m", "arguments": ["a", "b"] }, "locations": first },
        { "ruleIndex": 1, "level": "note", "message": { "text": "Bad" }, "locations": absolute },
        { "level": "note", "message": { "text": "Mild" }, "locations": based },
        { "message": { "text": "Default" }, "locations": line(2) },
        { "message": { "text": "Quiet" }, "locations": line(3), "suppressions": inside },
        { "message": { "text": "Not quiet" }, "locations": line(4), "suppressions": rejected },
        { "kind": "pass", "message": { "text": "fine" }, "locations": line(5) },
        { "ruleId": "X", "message": { "text": "Nowhere" } },
    ]);
    let read = read(rules, results);
    let first = read.clone().into_findings().0.remove(0);
    assert_eq!(first.reason.as_deref(), Some("Because."));
    assert_eq!(first.origin.reviewer.as_deref(), Some("Linter"));
    assert_eq!(first.origin.rule_url.as_deref(), Some("https://example.org/r1"));
    insta::assert_snapshot!(shown(read), @r#"
    High/Perf src/x y.c:3-5 Uses a not b
    Critical/Security z.c:1 Bad
    Low/Logic sub dir/q.c:1 Mild
    Medium/Logic a.c:2 Default
    Medium/Logic a.c:4 Not quiet
    (Suppressed { by: "inSource suppression in Linter", reason: Some("why"), kind: Tool }) Medium/Logic a.c:3 Quiet
    /runs/0/results/7: this result names no file and was left out (no-location), found Linter: X: Nowhere
    "#);
}

#[test]
fn fixes_of_whole_lines_can_be_applied_and_others_are_shown() {
    let fix = |region: Value, text: Value| {
        let replacement = json!({ "deletedRegion": region, "insertedContent": text });
        let change = json!({ "artifactLocation": { "uri": "a.c" }, "replacements": [replacement] });
        let fixes = json!([{ "artifactChanges": [change] }]);
        let result = json!({ "message": { "text": "x" }, "locations": line(1), "fixes": fixes });
        let finding = read(json!([]), json!([result])).into_findings().0.remove(0);
        (finding.fix.map(|fix| format!("{} {:?}", fix.lines, fix.replacement)), finding.suggestion)
    };
    let text = |text: &str| json!({ "text": text });
    let whole = |lines: &str, suggestion: Option<&str>| (Some(lines.to_owned()), suggestion.map(str::to_owned));
    assert_eq!(fix(json!({ "startLine": 1, "endLine": 2 }), text("y")), whole("1-2 \"y\"", Some("y")));
    assert_eq!(
        fix(json!({ "startLine": 1, "endLine": 3, "endColumn": 1 }), text("y\n")),
        whole("1-2 \"y\"", Some("y"))
    );
    assert_eq!(fix(json!({ "startLine": 1, "endLine": 3, "endColumn": 1 }), Value::Null), whole("1-2 \"\"", None));
    assert_eq!(
        fix(json!({ "startLine": 1, "startColumn": 2, "endColumn": 3 }), text("y")),
        (None, Some("y".to_owned()))
    );
}

#[test]
fn an_absolute_path_is_made_relative_to_the_repository() {
    let place = at("file:///srv/a%C3%A4/src/z.js", json!({ "startLine": 1 }));
    let result = json!({ "message": { "text": "x" }, "locations": place });
    let document =
        json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": "ESLint" } }, "results": [result] }] });
    let read = sarif::read(document.to_string().as_bytes(), Strictness::Strict, Some("/srv/aä")).unwrap();
    assert_eq!(read.into_findings().0[0].location.file.as_str(), "src/z.js");
}

#[test]
fn findings_keep_their_main_fields_in_a_round_trip() {
    let review = sample::review();
    let text = sarif::write(&review, Options::default());
    let (findings, _) = sarif::read(text.as_bytes(), Strictness::Strict, None).unwrap().into_findings();
    assert_eq!(findings, review.findings);
}

#[test]
fn other_documents_are_refused() {
    for text in ["{}", "[]", "{\"runs\": 3}", "nothing"] {
        assert!(sarif::read(text.as_bytes(), Strictness::Lenient, None).is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn everything_written_is_valid(reviews in proptest::collection::vec(arbitrary::review(), 8)) {
        let validator = validator();
        for review in reviews {
            let document = document(&review);
            assert_accepted(&validator, &document);
            let read = sarif::read(document.to_string().as_bytes(), Strictness::Strict, None).unwrap();
            let (findings, withheld) = read.into_findings();
            prop_assert_eq!((findings.len(), withheld.len()), (review.findings.len(), review.withheld.len()));
        }
    }
}
