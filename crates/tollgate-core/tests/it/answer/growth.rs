//! Hostile answers: slow to parse, or too large.

use tollgate_core::answer::{self, MAX_BYTES, MAX_CLAIMS, NoAnswer};
use tollgate_core::finding::Severity;

/// Texts that are repeated to make long ones.
const PIECES: &[&str] = &[
    "{",
    "[",
    "[{",
    "{\"a\":",
    "{\"a\":[",
    "{\"a\":\"",
    "\"",
    "\",",
    "\", \"",
    "{\"findings\":[{\"title\":\"",
    "```\n",
    "```json\n{\"a\":\"\n",
    "> ",
    "- ",
    "- **[CODE]** - High: x\n",
    "**",
    "[",
    "<!--",
    "<think>",
    "\\",
    "'",
    "{'a':'",
    "“",
    "# ",
    "|a|b|\n|-|-|\n",
    "a.rs:1: x\n",
    "### Critical\n",
    "{a:",
    "//",
    "/*",
    "{/*",
    "((((",
    "\u{2028}",
    "File: a\n",
    ": ",
    " - ",
    "/blob/",
    "#L",
    "{\"findings\":[{\"severity\":\"High\",\"title\":\"x\"},",
];

#[test]
fn long_texts_of_any_piece_are_read() {
    for piece in PIECES {
        let text = piece.repeat(20_000 / piece.len());
        let _ = answer::read(&text);
        let _ = answer::read(&format!("[REJECTED]\n\n{text}"));
        let _ = answer::read(&format!("{{\"decision\": \"rejected\", \"findings\": [{text}"));
    }
}

#[test]
fn deep_nesting_overflows_nothing() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"findings\":[", "]}"), ("{\"result\":", "}")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let _ = answer::read(&text);
        let _ = answer::read(&format!("{{\"decision\":\"rejected\",\"x\":{text}}}"));
    }
    // Envelopes inside envelopes.
    let mut text = "{\"decision\":\"rejected\",\"summary\":\"deep\",\"findings\":[]}".to_owned();
    for _ in 0..3 {
        text = serde_json::json!({ "result": text }).to_string();
    }
    assert_eq!(answer::read(&text).unwrap().summary.as_deref(), Some("deep"));
    for _ in 0..3 {
        text = serde_json::json!({ "result": text }).to_string();
    }
    assert!(matches!(answer::read(&text), Err(NoAnswer::Unparsable(_))));
}

#[test]
fn an_answer_beyond_the_limit_is_refused() {
    let text = format!("[APPROVED]\n{}", " ".repeat(MAX_BYTES));
    assert_eq!(
        answer::read(&text).unwrap_err().to_string(),
        "the answer cannot be read: it has more than 4194304 bytes"
    );
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let finding = |number: usize| format!("- **[CODE]** - High: Number {number}\n");
    let text: String = (0..MAX_CLAIMS + 7).map(finding).collect();
    let read = answer::read(&format!("[REJECTED]\n\n{text}")).unwrap();
    assert_eq!(read.claims.len(), MAX_CLAIMS);
    assert_eq!(read.problems, ["7 findings beyond the first 2000 were left out"]);
}

#[test]
fn a_blocker_beyond_the_limit_takes_the_place_of_a_mild_finding() {
    let mild = |number: usize| format!("- **[CODE]** - Low: Number {number}\n");
    let text: String = (0..MAX_CLAIMS).map(mild).collect();
    let text = format!("[REJECTED]\n\n{text}- **[CODE]** - Critical: The last one\n");
    let read = answer::read(&text).unwrap();
    assert_eq!(read.claims.len(), MAX_CLAIMS);
    let last = read.claims.last().unwrap();
    assert_eq!((last.title.as_str(), last.severity), ("The last one", Severity::Critical));
    assert_eq!(read.problems, ["1 findings beyond the first 2000 were left out"]);
}

#[test]
fn tag_characters_of_an_answer_are_made_visible() {
    let hidden = "\u{e0048}\u{e0049}";
    let text = serde_json::json!({ "decision": "rejected", "summary": format!("ok{hidden}"), "findings": [{
        "severity": "High", "category": "Logic", "title": format!("bad{hidden}"), "file": "a.rs", "line": 1,
        "reason": format!("r{hidden}"), "evidence": format!("let x{hidden} = 1;"), "replacement": format!("y{hidden}"),
    }] });
    for read in [answer::read(&text.to_string()).unwrap(), answer::read_structured(&text).unwrap()] {
        let summary = read.summary.as_deref().unwrap();
        assert_eq!(summary, "ok\\u{e0048}\\u{e0049}");
        assert_eq!(read.claims[0].title, "bad\\u{e0048}\\u{e0049}");
        assert_eq!(read.claims[0].evidence.as_deref(), Some("let x = 1;"));
        assert_eq!(read.claims[0].replacement, None);
    }
}

#[test]
fn very_long_texts_are_cut_and_truncated_replacements_dropped() {
    let long = "ü".repeat(30_000);
    let text = serde_json::json!({ "decision": "rejected", "findings": [{
        "severity": "High", "category": "Logic", "file": "a.rs", "line_start": 1, "title": &long, "reason": &long, "replacement": &long,
    }] });
    let read = answer::read_structured(&text).unwrap();
    let claim = &read.claims[0];
    assert_eq!(claim.title.chars().count(), 501);
    assert_eq!(claim.reason.as_ref().unwrap().chars().count(), 20_001);
    assert_eq!(claim.replacement, None);
    assert_eq!(
        read.problems,
        [
            "finding 1: its replacement is too long and was dropped",
            "finding 1: its title is too long and was truncated",
            "finding 1: its reason is too long and was truncated",
        ]
    );
}
