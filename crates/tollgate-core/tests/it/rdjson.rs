//! rdjson and rdjsonl: export to reviewdog and import from any tool.

use serde_json::{Value, json};
use tollgate_core::finding::{Finding, Fix, LineRange, Severity, Side};
use tollgate_core::report::{Strictness, rdjson};

use crate::sample;

fn read(diagnostic: Value) -> Finding {
    let document = json!({ "source": { "name": "tool" }, "severity": "INFO", "diagnostics": [diagnostic] });
    let read = rdjson::read(document.to_string().as_bytes(), Strictness::Strict, Some("/repo")).unwrap();
    read.into_findings().0.remove(0)
}

#[test]
fn findings_are_written_with_reviewdogs_names() {
    let mut fixed = sample::finding(Severity::High, "src/a.rs:2", "Wrong");
    fixed.location.lines = LineRange::new(2, 4).unwrap();
    fixed.fix = Some(Fix { lines: LineRange::line(2), replacement: "right".to_owned() });
    fixed.origin.rule = Some("wrong".to_owned());
    fixed.origin.rule_url = Some("https://example.org/wrong".to_owned());
    let mut removed = sample::finding(Severity::Medium, "src/b.rs:7", "Check removed");
    removed.location.side = Side::Left;
    let review = sample::with(vec![fixed, removed, sample::finding(Severity::Praise, "c.rs:1", "Nice")]);
    insta::assert_snapshot!(rdjson::write(&review), @r#"
    {
      "source": {
        "name": "tollgate"
      },
      "diagnostics": [
        {
          "message": "Wrong\n\nIt matters.",
          "location": {
            "path": "src/a.rs",
            "range": {
              "start": {
                "line": 2
              },
              "end": {
                "line": 4
              }
            }
          },
          "severity": "ERROR",
          "source": {
            "name": "tollgate"
          },
          "code": {
            "value": "wrong",
            "url": "https://example.org/wrong"
          },
          "suggestions": [
            {
              "range": {
                "start": {
                  "line": 2
                },
                "end": {
                  "line": 2
                }
              },
              "text": "right"
            }
          ]
        },
        {
          "message": "Check removed\n\n(removed, was line 7)",
          "location": {
            "path": "src/b.rs"
          },
          "severity": "WARNING",
          "source": {
            "name": "tollgate"
          }
        }
      ]
    }
    "#);
    let lines = rdjson::write_lines(&review);
    assert_eq!(lines.lines().count(), 2);
    let read = rdjson::read_lines(lines.as_bytes(), Strictness::Strict, None).unwrap();
    assert_eq!(read.into_findings().0[0].fix, review.findings[0].fix);
}

#[test]
fn diagnostics_of_any_tool_are_read() {
    let finding = read(json!({
        "message": "Missing semicolon\nAdd one.",
        "location": { "path": "/repo/src/a.js", "range": { "start": { "line": 3, "column": 5 }, "end": { "line": 5, "column": 1 } } },
        "severity": "WARNING", "code": { "value": "semi", "url": "u" }, "original_output": "a.js:3: semi",
    }));
    let origin = finding.origin;
    assert_eq!((finding.severity, finding.location.file.as_str()), (Severity::Medium, "src/a.js"));
    assert_eq!(finding.location.lines.to_string(), "3-4");
    assert_eq!((finding.summary.as_str(), finding.reason.as_deref()), ("Missing semicolon", Some("Add one.")));
    assert_eq!((origin.reviewer.as_deref(), origin.rule.as_deref()), (Some("tool"), Some("semi")));
    assert_eq!(finding.evidence, "a.js:3: semi");
    assert_eq!(read(json!({ "message": "x", "location": { "path": "a" } })).severity, Severity::Low);
}

#[test]
fn suggestions_of_whole_lines_are_fixes() {
    let fix = |range: Value, text: &str| {
        let finding = read(
            json!({ "message": "x", "location": { "path": "a" }, "suggestions": [{ "range": range, "text": text }] }),
        );
        finding.fix.map(|fix| format!("{} {:?}", fix.lines, fix.replacement))
    };
    let position = |line: u32, column: u32| json!({ "line": line, "column": column });
    assert_eq!(fix(json!({ "start": { "line": 2 }, "end": { "line": 3 } }), "y").as_deref(), Some("2-3 \"y\""));
    assert_eq!(fix(json!({ "start": { "line": 2 } }), "").as_deref(), Some("2 \"\""));
    assert_eq!(fix(json!({ "start": position(2, 1), "end": position(4, 1) }), "y\n").as_deref(), Some("2-3 \"y\""));
    assert_eq!(fix(json!({ "start": position(2, 3), "end": position(2, 5) }), "y"), None);
}

#[test]
fn a_broken_line_does_not_lose_the_others() {
    let text = "{\"message\":\"a\",\"location\":{\"path\":\"a\"}}\n{broken\n\n{\"message\":\"b\"}\n";
    let read = rdjson::read_lines(text.as_bytes(), Strictness::Lenient, None).unwrap();
    let notes: Vec<_> = read.notes.iter().map(|note| format!("{} {}", note.place, note.rule)).collect();
    assert_eq!(notes, ["line 2 json", "line 4 no-location"]);
    assert_eq!(read.into_findings().0.len(), 1);
    assert!(rdjson::read_lines(text.as_bytes(), Strictness::Strict, None).is_err());
}
