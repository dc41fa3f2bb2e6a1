//! Parses a reviewer's answers to acceptance criteria, from JSON or text.
//!
//! ```text
//! {"criteria": [{"id": "C1", "met": "yes", "evidence": "src/form.ts:12"}]}
//!
//! - **C1**: met – src/form.ts:12
//! - C2 (Passwords have 8 characters): not met – nothing checks the length
//! ```
//!
//! Only statements that begin with the id of a criterion and state explicitly whether it is met are accepted.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::answer::draft::{Problems, one_line};
use crate::answer::json_fields::{find, key, text};
use crate::answer::lenient_json::{Node, Object};
use crate::answer::markdown_lines::marker;
use crate::answer::vocabulary;
use crate::board::criteria::number;
use crate::board::{Criterion, Met};

/// The most parts of a line.
const MAX_PARTS: usize = 8;

const MET: &[&str] = &["met", "status", "answer", "result", "satisfied", "state", "verdict", "fulfilled", "passed"];
const EVIDENCE: &[&str] = &["evidence", "reason", "where", "explanation", "note", "notes", "details", "comment"];

/// The answers so far, by the number of the criterion.
#[derive(Debug, Default)]
pub(super) struct CriteriaAnswers(BTreeMap<u32, Met>);

impl CriteriaAnswers {
    /// Adds an answer. Of two answers to one criterion the worse one counts.
    pub(super) fn take(&mut self, (id, met): (u32, Met), problems: &mut Problems) {
        match self.0.entry(id) {
            Entry::Occupied(known) if rank(known.get()) == rank(&met) => {}
            Entry::Occupied(mut known) => {
                problems.add(format!("it answers `C{id}` in two ways; the worse one counts"));
                if rank(&met) > rank(known.get()) {
                    known.insert(met);
                }
            }
            Entry::Vacant(free) => {
                free.insert(met);
            }
        }
    }

    pub(super) fn append(&mut self, other: Self, problems: &mut Problems) {
        for answer in other.0 {
            self.take(answer, problems);
        }
    }

    pub(super) fn finish(self) -> Vec<(String, Met)> {
        self.0.into_iter().map(|(id, met)| (format!("C{id}"), met)).collect()
    }
}

/// Orders answers, worst first.
fn rank(met: &Met) -> u8 {
    match met {
        Met::Yes { .. } => 0,
        Met::Unclear { .. } => 1,
        Met::No { .. } => 2,
    }
}

/// Parses an object about one criterion: `{"id": "C1", "met": "yes", "evidence": "…"}`.
pub(super) fn of_object(object: &Object) -> Option<(u32, Met)> {
    let id = find(object, &["id", "criterion", "criterionid"]).and_then(text)?;
    let id = name(&id)?;
    let status = find(object, MET).and_then(text).and_then(|word| Status::of(&word))?;
    let evidence = find(object, EVIDENCE).and_then(text).unwrap_or_default();
    Some((id, status.met(&evidence)))
}

/// Parses an object keyed by criterion ids: `{"C1": "met", "C2": {"met": false}}`.
pub(super) fn of_map(object: &Object) -> Option<Vec<(u32, Met)>> {
    let named = |(field, value): &(String, Node)| {
        let id = name(field)?;
        let (status, evidence) = match value {
            Node::Object(inner) => (find(inner, MET).and_then(text)?, find(inner, EVIDENCE).and_then(text)),
            value => {
                let said = text(value)?;
                let (word, rest) = said.split_once([':', '–', '—', '(']).unwrap_or((&said, ""));
                (word.to_owned(), Some(rest.trim_end_matches(')').to_owned()))
            }
        };
        Some((id, Status::of(&status)?.met(&evidence.unwrap_or_default())))
    };
    let found: Option<Vec<(u32, Met)>> = object.fields.iter().map(named).collect();
    found.filter(|found| !found.is_empty())
}

/// True for keys that hold the list of criteria.
pub(super) fn is_list(name: &str) -> bool {
    matches!(key(name).as_str(), "criteria" | "acceptancecriteria" | "criteriaresults" | "compliance" | "requirements")
}

/// Parses a line of text about one of the criteria in the prompt.
pub(super) fn of_line(line: &str, criteria: &[Criterion]) -> Option<(u32, Met)> {
    if criteria.is_empty() {
        return None;
    }
    parse_line(line).filter(|(id, _)| criteria.iter().any(|criterion| number(&criterion.id) == Some(*id)))
}

fn parse_line(line: &str) -> Option<(u32, Met)> {
    let text = marker(line).unwrap_or(line).trim_start_matches(['|', ' ']);
    let (ticked, text) = tick(text);
    let text = text.trim_start_matches(['*', '_', '`', '[', ' ']);
    let n_digits = text.strip_prefix('C')?.bytes().take_while(u8::is_ascii_digit).count();
    let (id, rest) = text.split_at_checked(1 + n_digits)?;
    let id = name(id)?;
    let rest = rest.trim_start_matches(['*', '_', '`', ']']);
    if !rest.starts_with([':', '-', '–', '—', '.', ')', '(', '|', ' ']) {
        return None;
    }
    let parts = parts(rest);
    let exact = parts.iter().enumerate().find_map(|(index, part)| Some((index, Status::of(part)?)));
    if let Some((index, status)) = exact {
        let evidence = parts[index + 1..].join(" – ");
        return Some((id, status.met(&evidence)));
    }
    let first = parts.first()?;
    if let Some((status, evidence)) = Status::begins(first) {
        let more = parts[1..].iter().map(|part| format!(" – {part}")).collect::<String>();
        return Some((id, status.met(&format!("{evidence}{more}"))));
    }
    ticked.map(|status| (id, status.met(&parts.join(" – "))))
}

/// The number in the id of a criterion.
fn name(text: &str) -> Option<u32> {
    number(text.trim_matches(['*', '`', '[', ']', ' ', ':'])).filter(|number| *number > 0)
}

/// Parses a checkbox or emoji before the id; returns the text after it.
fn tick(text: &str) -> (Option<Status>, &str) {
    let boxes = [
        ("[x]", Some(Status::Yes)),
        ("[X]", Some(Status::Yes)),
        ("[ ]", Some(Status::No)),
        ("✅", Some(Status::Yes)),
        ("✓", Some(Status::Yes)),
        ("❌", Some(Status::No)),
        ("✗", Some(Status::No)),
        ("❓", Some(Status::Unclear)),
        ("⚠️", Some(Status::Unclear)),
    ];
    let found = boxes.iter().find_map(|(mark, status)| Some((*status, text.strip_prefix(mark)?.trim_start())));
    found.unwrap_or((None, text))
}

/// Splits a line at colons, dashes, bars and brackets, without emphasis.
fn parts(text: &str) -> Vec<String> {
    let spaced = text.replace(" -- ", "\u{1}").replace(" - ", "\u{1}").replace(": ", "\u{1}").replace("** ", "\u{1}");
    let is_between = |part: char| matches!(part, '\u{1}' | '–' | '—' | '|');
    let pieces = spaced.splitn(MAX_PARTS, is_between).flat_map(|piece| {
        // `(The text of the criterion): met`
        let piece = piece.trim();
        let inner = piece.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(piece);
        [inner.to_owned()]
    });
    let trimmed = pieces.map(|piece| one_line(trimmed(&piece, &['*', '_', ':', '.', ' ', '\t'])));
    trimmed.filter(|piece| !piece.is_empty()).collect()
}

/// A text without these characters around it, and without brackets at its end that it does not open.
fn trimmed<'a>(text: &'a str, around: &[char]) -> &'a str {
    let text = text.trim_start_matches(')').trim_matches(around);
    let n_open = text.matches('(').count();
    match text.strip_suffix(')').filter(|_| text.matches(')').count() > n_open) {
        Some(rest) => trimmed(rest, around),
        None => text,
    }
}

/// The status word of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Yes,
    No,
    Unclear,
}

impl Status {
    /// Parses a text that is only a status.
    fn of(text: &str) -> Option<Self> {
        Some(match vocabulary::plain(text).as_str() {
            "met" | "yes" | "true" | "satisfied" | "fulfilled" | "pass" | "passed" | "done" | "implemented"
            | "compliant" | "fully met" | "is met" => Self::Yes,
            "not met" | "no" | "false" | "unmet" | "missing" | "fail" | "failed" | "not satisfied"
            | "not implemented" | "not fulfilled" | "incomplete" | "non compliant" | "not compliant" | "partial"
            | "partially met" | "partly met" | "partially" | "is not met" => Self::No,
            "unclear" | "unknown" | "cannot tell" | "not clear" | "unsure" | "cannot verify" | "not verifiable"
            | "unverified" => Self::Unclear,
            _ => return None,
        })
    }

    /// Parses a status at the beginning of a text, if it can hardly begin a criterion: `met in src/a.rs`.
    fn begins(text: &str) -> Option<(Self, &str)> {
        let phrases = [
            ("not met", Self::No),
            ("unmet", Self::No),
            ("partially met", Self::No),
            ("met", Self::Yes),
            ("unclear", Self::Unclear),
            ("yes,", Self::Yes),
            ("no,", Self::No),
        ];
        phrases.iter().find_map(|(phrase, status)| {
            let head = text.get(..phrase.len()).filter(|head| head.eq_ignore_ascii_case(phrase))?;
            let rest = &text[head.len()..];
            let ends = rest.starts_with([' ', ',', '.', ';', '(']);
            ends.then(|| {
                (*status, trimmed(rest.trim_start_matches([' ', ',', '.', ';', '(', '*']), &[' ', ',', '.', ';', '*']))
            })
        })
    }

    /// Adds the evidence. Without evidence `met` counts as unclear.
    fn met(self, evidence: &str) -> Met {
        let evidence = one_line(evidence.trim_matches(['*', ' ', '|']));
        match self {
            Self::Yes if evidence.is_empty() => Met::Unclear { evidence: None },
            Self::Yes => Met::Yes { evidence },
            Self::No => Met::No { evidence },
            Self::Unclear => Met::Unclear { evidence: Some(evidence).filter(|evidence| !evidence.is_empty()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_words(id: impl std::fmt::Display, met: &Met) -> String {
        match met {
            Met::Yes { evidence } => format!("{id} yes: {evidence}"),
            Met::No { evidence } => format!("{id} no: {evidence}"),
            Met::Unclear { evidence } => format!("{id} unclear: {}", evidence.as_deref().unwrap_or("-")),
        }
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let found = parse_line(line).map(|(id, met)| in_words(format_args!("C{id}"), &met));
        assert_eq!(found.as_deref().unwrap_or("nothing"), expected, "{line}");
    }

    #[test]
    fn answers_are_read_in_their_usual_shapes() {
        for line in [
            "C1: met – src/a.ts:3",
            "- C1: met - src/a.ts:3",
            "* **C1**: Met — src/a.ts:3",
            "- **C1:** met (src/a.ts:3)",
            "1. C1: **met** -- src/a.ts:3",
            "- [x] C1: met: src/a.ts:3",
            "✅ C1: met – src/a.ts:3",
            "C1 (User registration endpoint): met – src/a.ts:3",
            "C1: No password is logged – met – src/a.ts:3",
            "`C1`: yes, src/a.ts:3",
            "| C1 | yes | src/a.ts:3 |",
            "C01. Satisfied: src/a.ts:3",
        ] {
            check(line, "C1 yes: src/a.ts:3");
        }
        check("C2: not met – nothing checks", "C2 no: nothing checks");
        check("- C12: partially met - only for mail", "C12 no: only for mail");
        check("C3: unclear", "C3 unclear: -");
        check("C3: unclear – the file is not shown", "C3 unclear: the file is not shown");
        check("C2: met in src/a.ts and src/b.ts", "C2 yes: in src/a.ts and src/b.ts");
        check("❌ C4: Passwords are hashed", "C4 no: Passwords are hashed");
        check("C1: met – src/a.ts:3 check(name)", "C1 yes: src/a.ts:3 check(name)");
        check("- **C1:** met (src/a.ts:3 check(name))", "C1 yes: src/a.ts:3 check(name)");
        check("C1: met – `log(f(x))` in src/a.ts.", "C1 yes: `log(f(x))` in src/a.ts");
        check("C2: not met (nothing calls check())", "C2 no: nothing calls check()");
    }

    #[test]
    fn met_without_evidence_is_unclear() {
        check("C1: met", "C1 unclear: -");
        check("- [x] C1", "nothing");
        check("C1: yes –", "C1 unclear: -");
    }

    #[test]
    fn other_lines_do_not_answer_criteria() {
        for line in [
            "C1",
            "C1: User registration endpoint",
            "C1: No password is logged",
            "C++: met",
            "CWE: no",
            "C0: met – a",
            "c1: met – a",
            "C99999: met – a",
            "CC1: met – a",
            "C1met – a",
            "The criterion C1: met",
            "",
            "Critical: no",
            "- **[CODE]** - High: met",
            "C1é: met",
        ] {
            check(line, "nothing");
        }
    }

    #[test]
    fn answers_to_unknown_criteria_are_ignored() {
        let criteria = [Criterion { id: "C2".to_owned(), text: "a".to_owned() }];
        assert!(of_line("C2: met – a", &criteria).is_some());
        assert_eq!(of_line("C1: incomplete – the handler", &criteria), None);
        assert_eq!(of_line("C2: met – a", &[]), None);
    }

    #[test]
    fn of_two_answers_the_worse_counts() {
        let mut problems = Problems::default();
        let mut answers = CriteriaAnswers::default();
        for line in ["C1: met – a", "C2: unclear", "C1: not met – b", "C1: met – c", "C2: unclear – d"] {
            answers.take(parse_line(line).unwrap(), &mut problems);
        }
        let found: Vec<String> = answers.finish().iter().map(|(id, met)| in_words(id, met)).collect();
        assert_eq!(found, ["C1 no: b", "C2 unclear: -"]);
        assert_eq!(problems.finish(), ["it answers `C1` in two ways; the worse one counts"]);
    }
}
