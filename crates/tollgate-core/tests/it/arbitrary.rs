//! Proptest strategies for arbitrary reviews with hostile text.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Category, Finding, FindingId, Fix, LineRange, Location, Origin, Severity, Side, Summary};
use tollgate_core::path::FilePath;
use tollgate_core::review::{Doubt, DoubtKind, Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;

/// Fragments that are special in one of the formats.
const PIECES: [&str; 74] = [
    "a",
    "word",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "#",
    "# x",
    "## Findings",
    "## Reviewer Notes",
    "## Files Reviewed",
    "### F001: [High/Error] x",
    "### F002: ",
    "---",
    "--",
    "-",
    "===",
    "***",
    "- ",
    "> ",
    "1. ",
    "\\",
    "\\\\",
    "\\#",
    "\\<",
    "**File:** `a.rs:1`",
    "**Side:** LEFT",
    "**Evidence:**",
    "**Suggested Fix:**",
    "**Verdict:** APPROVED",
    "**Reviewed SHA:** `x`",
    "**Re-review Required:** true",
    "<!--",
    "-->",
    "<!-- tollgate: {\"severity\":\"Nit\"} -->",
    "<script>",
    "</details>",
    "<b",
    "<",
    ">",
    "&",
    "&lt;",
    "\"",
    "'",
    "{",
    "}",
    "%",
    "::",
    ",",
    "]]>",
    "\u{1b}[31m",
    "\u{7}",
    "\u{ffff}",
    "é",
    "漢",
    "🙂",
    "e\u{301}",
    "[High/Error]",
    "    indented",
    "_No findings._",
];

/// Any text without NUL, mostly hostile, possibly empty.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => vec(select(&PIECES[..]), 0..8).prop_map(|pieces| pieces.concat()),
        1 => "\\PC{0,20}",
        1 => any::<String>().prop_map(|text| text.replace('\0', "")),
    ]
}

fn not_blank() -> impl Strategy<Value = String> {
    text().prop_map(|text| if text.trim().is_empty() { format!("{text}x") } else { text })
}

fn summary() -> impl Strategy<Value = Summary> {
    text().prop_map(|text| Summary::shorten(&text).0)
}

fn path() -> impl Strategy<Value = FilePath> {
    let hostile = vec(
        select(
            &[
                "a", "src/", "b.rs", ".ts", "`", "``", " ", ":", "3", "-4", "<!--", "-->", "#", "\u{202e}", "é", "%20",
                "[", "~", "'", "\t",
            ][..],
        ),
        1..6,
    );
    let hostile = hostile.prop_map(|pieces| FilePath::parse(&pieces.concat()).unwrap_or_else(|_| plain_path()));
    prop_oneof![1 => Just(plain_path()), 3 => hostile]
}

fn plain_path() -> FilePath {
    FilePath::parse("src/api/client.ts").unwrap()
}

fn lines() -> impl Strategy<Value = LineRange> {
    prop_oneof![
        (1_u32..2000, 0_u32..9).prop_map(|(start, more)| LineRange::new(start, start + more).unwrap()),
        Just(LineRange::line(u32::MAX)),
    ]
}

fn extra() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![vec(inner.clone(), 0..3).prop_map(Value::Array), inner.prop_map(|inner| json!({ "k/~": inner }))]
    });
    let odd = select(&["-->", "x_<", "note", "a/b~c", "title", "line", ""][..]).prop_map(str::to_owned);
    let key = prop_oneof![4 => "x_[a-d]{1,3}", 1 => odd];
    vec((key, value), 0..3).prop_map(|fields| fields.into_iter().collect())
}

/// Any finding, with the number 1.
pub(crate) fn finding() -> impl Strategy<Value = Finding> {
    let place = (path(), lines(), select(&[Side::Left, Side::Right][..]));
    let place = place.prop_map(|(file, lines, side)| Location { file, lines, side });
    let fix = (lines(), text()).prop_map(|(lines, replacement)| Fix { lines, replacement });
    let origin = (of(text()), of(text()), of(text()));
    let origin = origin.prop_map(|(reviewer, rule, rule_url)| Origin { reviewer, rule, rule_url });
    let words = (summary(), of(text()), not_blank(), of(text()));
    let kind = (select(&Severity::ALL[..]), select(&Category::ALL[..]));
    (kind, place, words, of(fix), origin, extra()).prop_map(|(kind, location, words, fix, origin, extra)| {
        let (severity, category) = kind;
        let (summary, mut reason, evidence, suggestion) = words;
        if severity.blocks() && reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
            reason = Some("because".to_owned());
        }
        let id = FindingId::at(0);
        Finding { id, severity, category, location, summary, reason, evidence, suggestion, fix, origin, extra }
    })
}

fn suppressor() -> impl Strategy<Value = Suppressor> {
    let dismissal = (of(text()), of(text()), proptest::bool::ANY);
    prop_oneof![
        Just(Suppressor::Comment),
        Just(Suppressor::Configuration),
        dismissal.prop_map(|(who, at, everywhere)| Suppressor::Dismissal { who, at, everywhere }),
        Just(Suppressor::Tool),
    ]
}

fn withheld() -> impl Strategy<Value = WithheldFinding> {
    let why = prop_oneof![
        (text(), of(text()), suppressor()).prop_map(|(by, reason, kind)| Withheld::Suppressed { by, reason, kind }),
        Just(Withheld::OutsideChange),
        text().prop_map(Withheld::Unverified),
        Just(Withheld::BelowFloor),
        select(&Category::ALL[..]).prop_map(Withheld::IgnoredArea),
        text().prop_map(Withheld::HeldBack),
        (0_usize..9, 0_usize..9).prop_map(|(voices, needed)| Withheld::NoConsensus { voices, needed }),
    ];
    (finding(), why).prop_map(|(finding, why)| WithheldFinding { finding, why })
}

fn doubt() -> impl Strategy<Value = Doubt> {
    let doubt = (select(&DoubtKind::ALL[..]), text(), text());
    doubt.prop_map(|(kind, reviewer, reason)| Doubt { kind, reviewer, reason })
}

fn coverage() -> impl Strategy<Value = Coverage> {
    let status = prop_oneof![
        Just(HunkStatus::Reviewed),
        text().prop_map(HunkStatus::Skipped),
        text().prop_map(HunkStatus::NotReviewed)
    ];
    let covered = (path(), of(lines()), status).prop_map(|(file, lines, status)| CoveredHunk { file, lines, status });
    vec(covered, 0..4).prop_map(|hunks| Coverage { hunks })
}

/// Any valid review.
pub(crate) fn review() -> impl Strategy<Value = Review> {
    let shas = prop_oneof!["[0-9a-f]{40}", "[0-9a-f]{64}"].prop_map(|text| Sha::parse(&text).unwrap());
    let lists = (vec(path(), 0..4), vec(finding(), 0..4), vec(withheld(), 0..2), vec(doubt(), 0..2));
    let texts = (of(text()), of(text()), of(text()));
    (shas, lists, texts, of(coverage()), any::<bool>(), extra()).prop_map(
        |(sha, lists, texts, coverage, re_review_required, extra)| {
            let (files_reviewed, mut findings, withheld, doubts) = lists;
            for (index, finding) in findings.iter_mut().enumerate() {
                finding.id = FindingId::at(index);
            }
            let (title, compared, notes) = texts;
            Review {
                title,
                reviewed: sha.clone(),
                base: sha,
                compared,
                files_reviewed,
                findings,
                withheld,
                coverage,
                doubts,
                re_review_required,
                notes,
                extra,
            }
        },
    )
}

/// The keys of the format, and their variants in other tools.
const KEYS: [&str; 36] = [
    "id",
    "severity",
    "category",
    "location",
    "file",
    "line_start",
    "line_end",
    "side",
    "summary",
    "reason",
    "evidence",
    "suggestion",
    "x_fix",
    "replacement",
    "x_category",
    "x_rule",
    "x_fingerprint",
    "x_coverage",
    "hunks",
    "state",
    "lines",
    "complete",
    "not_reviewed",
    "x_withheld",
    "finding",
    "why",
    "by",
    "verdict",
    "blocking_count",
    "high",
    "reviewed_sha",
    "files_reviewed",
    "reviewer_notes",
    "title",
    "line",
    "x_gate",
];

/// A document with the keys of the format and arbitrary values.
pub(crate) fn junk() -> impl Strategy<Value = Value> {
    let words =
        select(&["High", "medium", "F001", "a.rs", "../x", "/", "LEFT", "skipped", "suppressed", "", "3", "x\0y"][..]);
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => (-1_i64..5).prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => (-2.0..1e12).prop_map(Value::from),
        6 => words.prop_map(Value::from),
        2 => text().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 40, 8, |inner| {
        let fields = vec((select(&KEYS[..]), inner.clone()), 0..8);
        let object = fields.prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        prop_oneof![1 => vec(inner, 0..3).prop_map(Value::Array), 4 => object.prop_map(Value::Object)]
    });
    let named = vec((select(&KEYS[..]), value.clone()), 0..10);
    (named, vec(value, 0..4)).prop_map(|(fields, findings)| {
        let mut map: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let findings = findings.into_iter().map(|mut finding| {
            // With a location, most findings are accepted.
            if let Value::Object(map) = &mut finding {
                map.entry("file").or_insert_with(|| json!("a.rs"));
            }
            finding
        });
        map.insert("findings".to_owned(), findings.collect());
        Value::Object(map)
    })
}
