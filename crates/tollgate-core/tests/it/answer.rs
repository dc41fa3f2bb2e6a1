//! Parses 150 real answers of models and agents and compares each with its expected result.
//!
//! `answers/expected.txt` has the result of every sample. `TOLLGATE_BLESS=1 cargo test -p tollgate-core --test it
//! answer` updates it; review the difference before committing it.

mod claims;
mod criteria;
mod cuts;
mod growth;
mod prior;
mod written;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tollgate_core::answer::{self, Answer, Asks, Claim, Decision, NoAnswer};

/// The samples by name.
pub(crate) fn samples() -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    let texts = texts.filter(|path| path.file_name().is_some_and(|name| name != "expected.txt"));
    texts
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/answers")
}

/// A claim in one line: `High/Logic src/a.rs:3-5 title`.
pub(crate) fn shown(claim: &Claim) -> String {
    let mut line = format!("{}/{}", claim.severity, claim.category);
    let lines = claim.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    let _ = write!(line, " {}{lines} {}", claim.file.as_deref().unwrap_or("-"), claim.title);
    let parts = [
        ("reason", &claim.reason),
        ("evidence", &claim.evidence),
        ("suggestion", &claim.suggestion),
        ("replacement", &claim.replacement),
    ];
    if let Some(side) = claim.side {
        let _ = write!(line, "\n    side: {}", side.as_str());
    }
    for (name, text) in parts {
        if let Some(text) = text {
            let _ = write!(line, "\n    {name}: {}", text.replace('\n', "\\n"));
        }
    }
    line
}

fn told(read: &Result<Answer, NoAnswer>) -> String {
    match read {
        Err(none) => format!("{none}\n"),
        Ok(answer) => {
            let decision = match answer.decision {
                Some(Decision::Approved) => "APPROVED",
                Some(Decision::Rejected) => "REJECTED",
                None => "no decision",
            };
            let truncated = if answer.truncated { ", truncated" } else { "" };
            let mut text = format!("{decision}, {:?}{truncated}\n", answer.form);
            for claim in &answer.claims {
                let _ = writeln!(text, "  {}", shown(claim));
            }
            if let Some(summary) = &answer.summary {
                let _ = writeln!(text, "  summary: {}", summary.replace('\n', "\\n"));
            }
            for problem in &answer.problems {
                let _ = writeln!(text, "  problem: {problem}");
            }
            text
        }
    }
}

#[test]
fn every_sample_is_parsed_as_expected() {
    let samples = samples();
    let mut page = String::new();
    for (name, text) in &samples {
        let _ = write!(page, "== {name}\n{}\n", told(&answer::read(text)));
    }
    let path = folder().join("expected.txt");
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (found, expected) in page.split("\n== ").zip(expected.split("\n== ")) {
        assert_eq!(found, expected);
    }
    assert_eq!(page, expected);
}

#[test]
fn a_repeated_schema_is_not_an_answer() {
    let schema = answer::schema(Asks::default());
    for text in [schema.to_string(), format!("{schema:#}"), format!("Here it is:\n```json\n{schema:#}\n```\n")] {
        assert!(matches!(answer::read(&text), Err(NoAnswer::Unparsable(_))), "{text}");
    }
    assert!(answer::read_structured(&schema).is_err());
    // With values in place of the types, it is an answer.
    let filled = r#"{"type":"object","properties":{"decision":"rejected","findings":[{"title":"Bug","file":"a.rs"}]}}"#;
    assert_eq!(answer::read(filled).unwrap().claims.len(), 1);
}
