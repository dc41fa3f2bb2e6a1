//! Parses a reviewer's answers about the findings of the last review, from JSON or text.
//!
//! ```text
//! {"prior": [{"id": "P1", "state": "fixed", "evidence": "src/form.ts:12 if (!name) return;"}]}
//!
//! - **P1**: fixed – src/form.ts:12 if (!name) return;
//! - P2 (No check of the length): open – nothing checks it
//! ```
//!
//! Only statements that begin with the name of a finding in the prompt and state explicitly what became of it are accepted.
//! The evidence is kept as it was written, because code in it is searched in the change.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::answer::draft::{Problems, one_line};
use crate::answer::json_fields::{find, key, text};
use crate::answer::lenient_json::{Node, Object};
use crate::answer::markdown_lines::marker;
use crate::answer::vocabulary;

/// The most characters of evidence that are kept.
const MAX_EVIDENCE: usize = 1_000;
/// The most places of a line in which a state is searched.
const MAX_PLACES: usize = 4;

const STATE: &[&str] = &["state", "status", "answer", "result", "resolution", "verdict", "fixed", "resolved"];
const EVIDENCE: &[&str] =
    &["evidence", "quote", "code", "reason", "where", "explanation", "note", "notes", "details", "comment"];
const FILE: &[&str] = &["file", "path", "filename"];
const LINE: &[&str] = &["line", "linestart", "startline", "lines"];

/// What a reviewer says about a finding of the last review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorAnswer {
    /// The name of the finding in the prompt: `P1`.
    pub id: String,
    /// What became of it.
    pub state: PriorState,
    /// The code or the words that show it; may be empty.
    pub evidence: String,
}

/// What became of a finding of the last review, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PriorState {
    /// The change deals with it now.
    Fixed,
    /// The reviewer cannot tell.
    Unknown,
    /// It is still there.
    Open,
}

impl PriorState {
    /// The word of the answer schema.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Unknown => "unknown",
            Self::Open => "open",
        }
    }
}

/// The name in the prompt of the finding at an index counted from 0.
#[must_use]
pub fn prior_id(index: usize) -> String {
    format!("P{}", index.saturating_add(1))
}

/// The index, counted from 0, of the finding with a name in the prompt.
#[must_use]
pub fn prior_index(id: &str) -> Option<usize> {
    let number = name(id)?;
    usize::try_from(number).ok()?.checked_sub(1)
}

/// The answers so far, by the number of the finding.
#[derive(Debug, Default)]
pub(super) struct PriorAnswers(BTreeMap<u32, (PriorState, String)>);

impl PriorAnswers {
    /// Adds an answer. Of two answers about one finding the worse one counts.
    pub(super) fn take(&mut self, (id, answer): Stated, problems: &mut Problems) {
        match self.0.entry(id) {
            Entry::Occupied(known) if known.get().0 == answer.0 => {}
            Entry::Occupied(mut known) => {
                problems.add(format!("it answers `P{id}` in two ways; the worse one counts"));
                if answer.0 > known.get().0 {
                    known.insert(answer);
                }
            }
            Entry::Vacant(free) => {
                free.insert(answer);
            }
        }
    }

    pub(super) fn append(&mut self, other: Self, problems: &mut Problems) {
        for answer in other.0 {
            self.take(answer, problems);
        }
    }

    pub(super) fn finish(self) -> Vec<PriorAnswer> {
        let answer = |(id, (state, evidence))| PriorAnswer { id: format!("P{id}"), state, evidence };
        self.0.into_iter().map(answer).collect()
    }
}

/// The number of a finding, its state and the evidence.
type Stated = (u32, (PriorState, String));

/// True for keys that hold the list of answers.
pub(super) fn is_list(name: &str) -> bool {
    matches!(
        key(name).as_str(),
        "prior" | "priorfindings" | "earlier" | "earlierfindings" | "previous" | "previousfindings" | "lastreview"
    )
}

/// Parses an object about one finding: `{"id": "P1", "state": "fixed", "evidence": "…"}`.
pub(super) fn of_object(object: &Object) -> Option<Stated> {
    let id = find(object, &["id", "name", "finding", "prior"]).and_then(text)?;
    Some((name(&id)?, of_fields(object)?))
}

/// Parses an object keyed by names: `{"P1": "fixed", "P2": {"state": "open"}}`.
pub(super) fn of_map(object: &Object) -> Option<Vec<Stated>> {
    let named = |(field, value): &(String, Node)| {
        let id = name(field)?;
        let said = match value {
            Node::Object(inner) => of_fields(inner)?,
            value => of_text(&text(value)?)?,
        };
        Some((id, said))
    };
    let found: Option<Vec<Stated>> = object.fields.iter().map(named).collect();
    found.filter(|found| !found.is_empty())
}

fn of_fields(object: &Object) -> Option<(PriorState, String)> {
    let (field, value) = STATE.iter().find_map(|name| Some((*name, find(object, &[name]).and_then(text)?)))?;
    // `"fixed": true`
    let state = match (field, value.as_str()) {
        ("fixed" | "resolved", "true") => PriorState::Fixed,
        ("fixed" | "resolved", "false") => PriorState::Open,
        (_, word) => state_of(word)?,
    };
    let said = find(object, EVIDENCE).and_then(text).unwrap_or_default();
    let file = find(object, FILE).and_then(text).filter(|file| !said.contains(file.as_str()));
    let place = file.map(|file| match find(object, LINE).and_then(text) {
        Some(line) => format!("{file}:{line} "),
        None => format!("{file} "),
    });
    Some((state, evidence(&format!("{}{said}", place.unwrap_or_default()))))
}

/// Parses a line of text about a finding of the prompt, which has `n_asked` of them; any number when that is not known.
pub(super) fn of_line(line: &str, n_asked: Option<usize>) -> Option<Stated> {
    let is_asked = |id: u32| n_asked.is_none_or(|n_asked| id as usize <= n_asked);
    parse_line(line).filter(|(id, _)| is_asked(*id))
}

fn parse_line(line: &str) -> Option<Stated> {
    let text = marker(line).unwrap_or(line).trim_start_matches(['|', ' ']);
    let ticks = ["[x]", "[X]", "[ ]", "✅", "✓", "❌", "✗", "❓", "⚠️", ":white_check_mark:"];
    let text = ticks.iter().find_map(|tick| text.strip_prefix(tick)).unwrap_or(text).trim_start();
    let text = text.trim_start_matches(['*', '_', '`', '[', ' ']);
    let n_digits = text.strip_prefix('P')?.bytes().take_while(u8::is_ascii_digit).count();
    let (id, rest) = text.split_at_checked(1 + n_digits)?;
    let id = name(id)?;
    let rest = rest.trim_start_matches(['*', '_', '`', ']']);
    if !rest.starts_with([':', '-', '–', '—', '.', ')', '(', '|', ' ']) {
        return None;
    }
    of_text(rest).map(|said| (id, said))
}

/// Parses a state and the evidence after it: `fixed – …`, `(title): fixed in …`, `title – open – …`.
fn of_text(text: &str) -> Option<(PriorState, String)> {
    let mut rest = text;
    for place in 0..MAX_PLACES {
        rest = rest.trim_start_matches([':', '-', '–', '—', '.', ')', '|', '*', '_', '`', ' ', '\t']);
        if let Some((state, after)) = begins(rest, place == 0) {
            return Some((state, evidence(after)));
        }
        // `(The title of the finding): fixed`
        if let Some((_, behind)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            rest = behind;
            continue;
        }
        let separators = [": ", " – ", " — ", " - ", " -- ", " | ", ":** ", "** "];
        let next = separators.iter().filter_map(|mark| Some((rest.find(mark)?, mark.len()))).min()?;
        rest = &rest[next.0 + next.1..];
    }
    None
}

const STATES: &[(&str, PriorState)] = &[
    ("fixed", PriorState::Fixed),
    ("resolved", PriorState::Fixed),
    ("addressed", PriorState::Fixed),
    ("open", PriorState::Open),
    ("still open", PriorState::Open),
    ("still present", PriorState::Open),
    ("not fixed", PriorState::Open),
    ("not resolved", PriorState::Open),
    ("partially fixed", PriorState::Open),
    ("partly fixed", PriorState::Open),
    ("unresolved", PriorState::Open),
    ("unknown", PriorState::Unknown),
    ("cannot tell", PriorState::Unknown),
    ("can't tell", PriorState::Unknown),
    ("unclear", PriorState::Unknown),
    ("unsure", PriorState::Unknown),
];

/// Parses a text that is only a state.
fn state_of(word: &str) -> Option<PriorState> {
    let word = vocabulary::plain(word);
    let known = STATES.iter().find(|(phrase, _)| vocabulary::plain(phrase) == word);
    known.map(|(_, state)| *state).or(match word.as_str() {
        "no" | "not addressed" | "still true" | "remains" => Some(PriorState::Open),
        "cannot say" | "not shown" | "not clear" => Some(PriorState::Unknown),
        "done" | "closed" => Some(PriorState::Fixed),
        _ => None,
    })
}

/// Parses the state at the beginning of a text; returns the text after it. A sentence may follow only where the state can
/// hardly begin the title of a finding: `open redirect` and `fixed buffer` are titles.
fn begins(text: &str, may_go_on: bool) -> Option<(PriorState, &str)> {
    STATES.iter().find_map(|(phrase, state)| {
        let head = text.get(..phrase.len()).filter(|head| head.eq_ignore_ascii_case(phrase))?;
        let after = text[head.len()..].trim_start_matches(['*', '_', '`']);
        let separated = after.trim_start().starts_with(['–', '—', '|', '(', ':']) || after.starts_with(" -");
        let ends = after.trim().is_empty() || after.starts_with([',', '.', ';']) || separated;
        let is_sentence = [" in ", " by ", " at ", " with "].iter().any(|word| after.starts_with(word));
        let goes_on = may_go_on && is_sentence && *phrase != "open";
        (ends || goes_on).then_some((*state, after))
    })
}

/// The number in the name of a finding.
fn name(text: &str) -> Option<u32> {
    let text = text.trim_matches(['*', '`', '[', ']', ' ', ':']);
    let digits = text.strip_prefix(['P', 'p'])?;
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten().filter(|number| *number > 0)
}

fn evidence(text: &str) -> String {
    let separators = [':', '–', '—', '-', '|', ',', ';', ' ', '\t', '\n'];
    let text = text.strip_prefix('.').unwrap_or(text);
    let text = text.trim_start_matches(separators).trim_end_matches(['|', ' ', '\t', '\n', '*']);
    // `fixed (src/a.rs:12)`
    let inner = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    let line = one_line(inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(text));
    line.char_indices().nth(MAX_EVIDENCE).map_or_else(|| line.clone(), |(end, _)| line[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let found = of_line(line, None).map(|(id, (state, evidence))| format!("P{id} {}: {evidence}", state.as_str()));
        assert_eq!(found.as_deref().unwrap_or("nothing"), expected, "{line}");
    }

    #[test]
    fn answers_are_read_in_their_usual_shapes() {
        for line in [
            "P1: fixed – src/a.ts:3 if (a) return;",
            "- P1: fixed - src/a.ts:3 if (a) return;",
            "* **P1**: Fixed — src/a.ts:3 if (a) return;",
            "- **P1:** fixed: src/a.ts:3 if (a) return;",
            "1. P1: **fixed** -- src/a.ts:3 if (a) return;",
            "- [x] P1: fixed: src/a.ts:3 if (a) return;",
            "✅ P1: resolved – src/a.ts:3 if (a) return;",
            "P1 (No check of the length): fixed – src/a.ts:3 if (a) return;",
            "P1: No check of the length – fixed – src/a.ts:3 if (a) return;",
            "`P1`: fixed, src/a.ts:3 if (a) return;",
            "| P1 | fixed | src/a.ts:3 if (a) return; |",
            "P01. Addressed: src/a.ts:3 if (a) return;",
        ] {
            check(line, "P1 fixed: src/a.ts:3 if (a) return;");
        }
        check("P2: open – nothing checks it", "P2 open: nothing checks it");
        check("- P12: still open", "P12 open: ");
        check("P2: not fixed - only for mail", "P2 open: only for mail");
        check("P3: unknown", "P3 unknown: ");
        check("P3: cannot tell – the file is not shown", "P3 unknown: the file is not shown");
        check("P1: fixed in src/a.ts:3 `if (a) return;`", "P1 fixed: in src/a.ts:3 `if (a) return;`");
        check("P1: fixed (src/a.ts:3)", "P1 fixed: src/a.ts:3");
    }

    #[test]
    fn code_in_the_evidence_is_kept_as_it_is() {
        check("P1: fixed – src/a.ts:3 `x = a - b: c | d`", "P1 fixed: src/a.ts:3 `x = a - b: c | d`");
    }

    #[test]
    fn other_lines_say_nothing_about_findings_of_the_last_review() {
        for line in [
            "P1",
            "P1: No check of the length",
            "P1: Open redirect in the login",
            "P1: open redirect - the target is not checked",
            "P1: fixed buffer overflows",
            "[P1] Fixed-size buffer",
            "P0: fixed – a",
            "p1: fixed – a",
            "P99999: fixed – a",
            "PP1: fixed – a",
            "P1fixed – a",
            "The finding P1: fixed",
            "C1: fixed – a",
            "",
            "P1é: fixed",
        ] {
            check(line, "nothing");
        }
    }

    #[test]
    fn answers_about_findings_that_were_not_asked_about_are_ignored() {
        assert!(of_line("P2: open", Some(2)).is_some());
        assert_eq!(of_line("P3: open", Some(2)), None);
        assert_eq!(of_line("P1: open", Some(0)), None);
    }

    #[test]
    fn of_two_answers_the_worse_counts() {
        let mut problems = Problems::default();
        let mut answers = PriorAnswers::default();
        for line in ["P1: fixed – a", "P2: unknown", "P1: open – b", "P1: fixed – c", "P2: unknown – d"] {
            answers.take(parse_line(line).unwrap(), &mut problems);
        }
        let found: Vec<String> =
            answers.finish().iter().map(|it| format!("{} {} {}", it.id, it.state.as_str(), it.evidence)).collect();
        assert_eq!(found, ["P1 open b", "P2 unknown "]);
        assert_eq!(problems.finish(), ["it answers `P1` in two ways; the worse one counts"]);
    }

    #[test]
    fn names_and_indices_belong_together() {
        assert_eq!(
            (prior_id(0), prior_index("P1"), prior_index("P0"), prior_index("F001")),
            ("P1".to_owned(), Some(0), None, None)
        );
    }
}
