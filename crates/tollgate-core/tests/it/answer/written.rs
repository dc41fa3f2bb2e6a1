//! Round trips: answers written in each form and parsed back, intact and damaged.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use tollgate_core::answer::{self, Answer, Claim, Decision, Form};
use tollgate_core::finding::{Category, LineRange, Severity, Side};

/// Fragments that are hard to parse inside JSON strings.
const ANY: &[&str] = &[
    "a",
    "word",
    " ",
    "\n",
    "\"",
    "'",
    "\\",
    "\\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "```",
    "\n```\n",
    "```json\n{",
    "// x",
    "/* x",
    "**[APPROVED]**",
    "\n[APPROVED]\n",
    "{\"decision\": \"approved\"}",
    "\", \"title\": \"x\"",
    "ü",
    "😀",
    "“",
    "\u{2028}",
    "- **[CODE]** - High: x",
    "### F001: [High/Error] x",
    "<!--",
    "-->",
    "\t",
    "\u{0}",
    "null",
    "12",
    "# x",
    "> x",
];

/// Words of a line in prose.
const WORDS: &[&str] = &[
    "the",
    "lock",
    "is",
    "never",
    "released",
    "when",
    "`close()`",
    "fails",
    "and",
    "users",
    "see",
    "größe",
    "a < b",
    "x == y",
    "(again)",
    "it's",
    "\"quoted\"",
    "50%",
    "**kwargs",
    "e.g. zero",
    "item[0]",
    "{braces}",
    "#4",
    "@home",
];

fn any_text() -> BoxedStrategy<String> {
    vec(select(ANY), 0..12).prop_map(|pieces| format!("x{}y", pieces.concat())).boxed()
}

fn any_title() -> impl Strategy<Value = String> {
    any_text().prop_map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn line() -> BoxedStrategy<String> {
    vec(select(WORDS), 1..10).prop_map(|words| format!("Here {} ends", words.join(" "))).boxed()
}

fn file() -> impl Strategy<Value = String> {
    select(&["src/a.rs", "lib/größe.py", "Dockerfile", "a/b-c/d_e.test.ts", "x.c"][..]).prop_map(str::to_owned)
}

fn lines() -> impl Strategy<Value = LineRange> {
    (1_u32..5_000, 0_u32..50).prop_map(|(start, more)| LineRange::new(start, start + more).unwrap())
}

fn claim(text: BoxedStrategy<String>, title: impl Strategy<Value = String>) -> impl Strategy<Value = Claim> {
    let kind = (select(&Severity::ALL[..]), select(&Category::ALL[..]));
    let side = select(&[Side::Left, Side::Right][..]).prop_map(Some);
    let texts = (title, text.clone(), text.clone(), of(text.clone()), of(text));
    (kind, file(), lines(), side, texts).prop_map(|((severity, category), file, lines, side, texts)| Claim {
        severity,
        category,
        file: Some(file),
        lines: Some(lines),
        side,
        title: texts.0,
        reason: Some(texts.1),
        evidence: Some(texts.2),
        quotes: Vec::new(),
        suggestion: texts.3,
        replacement: texts.4,
    })
}

fn answers(
    claim: impl Strategy<Value = Claim>,
    summary: impl Strategy<Value = String>,
) -> impl Strategy<Value = Answer> {
    let decision = select(&[Decision::Approved, Decision::Rejected][..]);
    (decision, vec(claim, 0..5), summary).prop_map(|(decision, claims, summary)| Answer {
        decision: Some(decision),
        form: Form::Structured,
        truncated: false,
        claims,
        summary: Some(summary),
        criteria: Vec::new(),
        prior: Vec::new(),
        losses: Vec::new(),
        problems: Vec::new(),
    })
}

/// Answers with arbitrary texts.
fn any_answer() -> impl Strategy<Value = Answer> {
    answers(claim(any_text(), any_title()), any_text())
}

/// Answers with texts of plain prose.
fn plain_answer() -> impl Strategy<Value = Answer> {
    answers(claim(line(), line()), line())
}

fn word(decision: Option<Decision>) -> &'static str {
    match decision {
        Some(Decision::Approved) => "approved",
        _ => "rejected",
    }
}

fn as_json(answer: &Answer) -> Value {
    let findings = answer.claims.iter().map(|claim| {
        let lines = claim.lines.unwrap();
        json!({
            "severity": claim.severity.as_str(),
            "category": claim.category.as_str(),
            "file": claim.file,
            "line_start": lines.start(),
            "line_end": lines.end(),
            "side": claim.side.map(Side::as_str),
            "title": claim.title,
            "reason": claim.reason,
            "evidence": claim.evidence,
            "suggestion": claim.suggestion,
            "replacement": claim.replacement,
        })
    });
    json!({ "decision": word(answer.decision), "summary": answer.summary, "findings": findings.collect::<Vec<_>>() })
}

fn in_prose(answer: &Answer) -> String {
    format!("Here is my review.\n\n```json\n{:#}\n```\n\nThat is all.\n", as_json(answer))
}

fn in_envelope(answer: &Answer) -> String {
    json!({ "type": "result", "is_error": false, "result": as_json(answer).to_string() }).to_string()
}

/// Writes the text form, which has no code and no sides, and few categories.
fn as_text(answer: &mut Answer) -> String {
    answer.form = Form::Text;
    let mut text = format!("**[{}]**\n\n### Issues Found\n", word(answer.decision).to_uppercase());
    for claim in &mut answer.claims {
        (claim.side, claim.evidence, claim.replacement) = (None, None, None);
        let _ =
            writeln!(text, "- **[{}]** - {}: {}", claim.category.as_str().to_uppercase(), claim.severity, claim.title);
        let _ = writeln!(text, "  - Description: {}", claim.reason.as_deref().unwrap());
        let _ = writeln!(text, "  - File: {}\n  - Line: {}", claim.file.as_deref().unwrap(), claim.lines.unwrap());
        if let Some(suggestion) = &claim.suggestion {
            let _ = writeln!(text, "  - Suggestion: {suggestion}");
        }
    }
    if answer.claims.is_empty() {
        text.push_str("None.\n");
    }
    let _ = writeln!(text, "\n### Summary\n{}", answer.summary.as_deref().unwrap());
    text
}

fn as_markdown(answer: &mut Answer) -> String {
    answer.form = Form::Markdown;
    let verdict = if answer.decision == Some(Decision::Approved) { "APPROVED" } else { "CHANGES_REQUESTED" };
    let mut text = format!(
        "# Code Review: x\n\n**Verdict:** {verdict}\n\n---\n\n## Files Reviewed\n\n- `a.rs`\n\n---\n\n## Findings\n"
    );
    for (index, claim) in answer.claims.iter_mut().enumerate() {
        (claim.replacement, claim.side) = (None, claim.side.filter(|side| *side == Side::Left));
        let _ = write!(text, "\n### F{:03}: [{}/{}] {}\n", index + 1, claim.severity, claim.category, claim.title);
        let _ = write!(text, "\n**File:** `{}:{}`\n", claim.file.as_deref().unwrap(), claim.lines.unwrap());
        if claim.side.is_some() {
            text.push_str("**Side:** LEFT\n");
        }
        let _ = write!(text, "\n{}\n", claim.reason.as_deref().unwrap());
        let _ = write!(text, "\n**Evidence:**\n```rust\n{}\n```\n", claim.evidence.as_deref().unwrap());
        if let Some(suggestion) = &claim.suggestion {
            let _ = write!(text, "\n**Suggested Fix:**\n```rust\n{suggestion}\n```\n");
        }
        text.push_str("\n---\n");
    }
    let _ = write!(text, "\n## Reviewer Notes\n\n{}\n", answer.summary.as_deref().unwrap());
    text
}

/// Writes a comment, which has four severities and no categories.
fn as_comment(answer: &mut Answer) -> String {
    answer.form = Form::Comment;
    let mut text = "## What Changed\nThings.\n\n## Observations\n".to_owned();
    for claim in &mut answer.claims {
        let (severity, label) = match claim.severity {
            Severity::Critical => (Severity::Critical, "Critical"),
            Severity::High => (Severity::High, "Major"),
            Severity::Medium => (Severity::Medium, "Medium"),
            Severity::Low | Severity::Nit | Severity::Praise => (Severity::Low, "Minor"),
        };
        (claim.severity, claim.category) = (severity, Category::Logic);
        (claim.side, claim.evidence, claim.suggestion, claim.replacement) = (None, None, None, None);
        let lines = claim.lines.unwrap();
        let place = format!("{} ({}, {})", claim.file.as_deref().unwrap(), lines.start(), lines.end());
        let _ = write!(text, "\n### {label}\n{place}: {}\n{}\n", claim.title, claim.reason.as_deref().unwrap());
    }
    let verdict = if answer.decision == Some(Decision::Approved) {
        ":green_circle: **Approve**"
    } else {
        ":red_circle: **Block**"
    };
    let _ = write!(text, "\n## Verdict\n{verdict} -- {}\n", answer.summary.as_deref().unwrap());
    text
}

#[track_caller]
fn check(text: &str, expected: &Answer) {
    let read = answer::read(text).unwrap_or_else(|none| panic!("{none}\n{text}"));
    // Quotes are taken from the title and the reason, and only where a form has no field for evidence.
    assert!(read.form != Form::Structured || read.claims.iter().all(|claim| claim.quotes.is_empty()), "{text}");
    let claims: Vec<Claim> = read.claims.iter().map(|claim| Claim { quotes: Vec::new(), ..claim.clone() }).collect();
    assert_eq!(claims, expected.claims, "{text}");
    let rest = |answer: &Answer| (answer.decision, answer.form, answer.truncated, answer.summary.clone());
    assert_eq!(rest(&read), rest(expected), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn structured_answers_are_read_back(expected in any_answer()) {
        let value = as_json(&expected);
        check(&value.to_string(), &expected);
        check(&format!("{value:#}\n"), &expected);
        prop_assert_eq!(answer::read_structured(&value).unwrap(), expected);
    }

    #[test]
    fn json_in_prose_and_in_envelopes_is_read_back(mut expected in any_answer()) {
        expected.form = Form::Json;
        check(&in_prose(&expected), &expected);
        check(&in_envelope(&expected), &expected);
    }

    #[test]
    fn lists_of_issues_are_read_back(mut expected in plain_answer()) {
        check(&as_text(&mut expected), &expected);
    }

    #[test]
    fn the_markdown_of_a_review_is_read_back(mut expected in plain_answer()) {
        check(&as_markdown(&mut expected), &expected);
    }

    #[test]
    fn comments_are_read_back(mut expected in plain_answer()) {
        check(&as_comment(&mut expected), &expected);
    }
}

/// Kinds of damage after which an approval must not count.
#[derive(Debug, Clone, Copy)]
enum Spoil {
    Cut,
    Hole,
    Fence,
    Quote,
    Indent,
    Misspell,
    Contradict,
    Instruct,
}

const SPOILS: &[Spoil] = &[
    Spoil::Cut,
    Spoil::Hole,
    Spoil::Fence,
    Spoil::Quote,
    Spoil::Indent,
    Spoil::Misspell,
    Spoil::Contradict,
    Spoil::Instruct,
];

fn each_line(text: &str, prefix: &str) -> String {
    text.lines().map(|line| format!("{prefix}{line}\n")).collect()
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_json_never_approves(mut given in any_answer(), spoil in select(SPOILS), part in 0.0..1.0_f64) {
        given.decision = Some(Decision::Approved);
        let good = as_json(&given).to_string();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
        let at = boundary(&good, (good.len() as f64 * part) as usize);
        let approved = "\"decision\":\"approved\"";
        let bad = match spoil {
            Spoil::Cut => good[..at].to_owned(),
            // A gap that leaves unbalanced brackets or quotes.
            Spoil::Hole => format!("{}{}", &good[..at], &good[boundary(&good, at + 20)..]),
            Spoil::Misspell | Spoil::Indent => good.replacen(approved, "\"decision\":\"aproved\"", 1),
            Spoil::Contradict | Spoil::Quote => good.replacen(approved, "\"decision\":\"approved\",\"verdict\":\"rejected\"", 1),
            Spoil::Instruct | Spoil::Fence => good.replacen(approved, "\"decision\":\"approved|rejected\"", 1),
        };
        let Ok(read) = answer::read(&bad) else { return Ok(()) };
        if read.decision == Some(Decision::Approved) {
            // Only part of a string was lost, not a finding.
            prop_assert!(matches!(spoil, Spoil::Hole), "{spoil:?}: {bad}");
            prop_assert_eq!(read.claims.len(), given.claims.len(), "{}", bad);
        }
    }

    #[test]
    fn damaged_text_never_approves(mut given in plain_answer(), spoil in select(SPOILS)) {
        given.decision = Some(Decision::Approved);
        let good = as_text(&mut given);
        let mark = "**[APPROVED]**";
        let bad = match spoil {
            Spoil::Cut => good.replacen(mark, "**[APPROV", 1),
            Spoil::Hole => good.replacen(mark, "", 1),
            Spoil::Fence => format!("```\n{good}\n```\n"),
            Spoil::Quote => each_line(&good, "> "),
            Spoil::Indent => each_line(&good, "    "),
            Spoil::Misspell => good.replacen(mark, "**[APROVED]**", 1),
            Spoil::Contradict => format!("{good}\n**[REJECTED]**\n"),
            Spoil::Instruct => good.replacen(mark, "**[APPROVED]** - if it satisfies the requirements", 1),
        };
        let read = answer::read(&bad);
        prop_assert!(!matches!(&read, Ok(answer) if answer.decision == Some(Decision::Approved)), "{spoil:?}: {bad}");
    }
}
