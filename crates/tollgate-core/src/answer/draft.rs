//! A claim under construction, and the problems noted while parsing an answer.

use crate::answer::vocabulary::{self, is_placeholder};
use crate::answer::{Claim, MAX_CLAIMS, location};
use crate::finding::{Category, LineRange, Severity, Side};

/// The most characters of a title.
const MAX_TITLE: usize = 500;
/// The most characters of a file's name.
const MAX_FILE: usize = 1_000;
/// The most characters of any other text.
const MAX_TEXT: usize = 20_000;
/// The most problems that are listed.
const MAX_PROBLEMS: usize = 200;

/// Irregularities of an answer, for the log and the report.
#[derive(Debug, Default)]
pub(super) struct Problems {
    listed: Vec<String>,
    n_more: usize,
}

impl Problems {
    pub(super) fn add(&mut self, problem: impl Into<String>) {
        let problem = problem.into();
        if self.listed.contains(&problem) {
            return;
        }
        if self.listed.len() < MAX_PROBLEMS { self.listed.push(problem) } else { self.n_more += 1 }
    }

    pub(super) fn append(&mut self, other: Self) {
        for problem in other.listed {
            self.add(problem);
        }
        self.n_more += other.n_more;
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if self.n_more > 0 {
            self.listed.push(format!("and {} more", self.n_more));
        }
        self.listed
    }
}

/// The parts of a claim as found in the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Draft {
    pub(super) severity: Option<String>,
    pub(super) category: Option<String>,
    pub(super) file: Option<String>,
    pub(super) lines: Option<LineRange>,
    pub(super) side: Option<Side>,
    pub(super) title: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) quotes: Vec<String>,
    pub(super) suggestion: Option<String>,
    pub(super) replacement: Option<String>,
}

impl Draft {
    /// Sets the file, and the lines if the text names them.
    pub(super) fn set_place(&mut self, text: &str) {
        let place = location::parse(text);
        if place.file.is_some() && self.file.is_none() {
            self.file = place.file;
        }
        self.lines = self.lines.or(place.lines);
    }

    /// Appends a paragraph to a field.
    pub(super) fn join(field: &mut Option<String>, text: &str, between: &str) {
        match field {
            Some(before) if !before.is_empty() => {
                before.push_str(between);
                before.push_str(text);
            }
            _ => *field = Some(text.to_owned()),
        }
    }
}

/// The claims of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Claims {
    n_before: usize,
    claims: Vec<Claim>,
    n_dropped: usize,
    n_echoes: usize,
}

impl Claims {
    /// An empty list that continues the numbering of another one.
    pub(super) fn after(others: &Self) -> Self {
        Self { n_before: others.n_before + others.claims.len(), ..Self::default() }
    }

    /// Adds the claims of another part of the answer, without exact duplicates.
    pub(super) fn append(&mut self, other: Self) {
        let n_before = self.claims.len();
        for claim in other.claims {
            if !self.claims[..n_before].contains(&claim) {
                self.claims.push(claim);
            }
        }
        self.n_dropped += other.n_dropped;
        while self.claims.len() > MAX_CLAIMS && self.make_room() {}
        self.n_dropped += self.claims.len().saturating_sub(MAX_CLAIMS);
        self.claims.truncate(MAX_CLAIMS);
        self.n_echoes += other.n_echoes;
    }

    /// Adds a claim unless it repeats the template of the prompt; false when it is empty.
    pub(super) fn take(&mut self, draft: Draft, problems: &mut Problems) -> bool {
        if is_echo(&draft) {
            self.n_echoes += 1;
            return true;
        }
        let is_full = self.claims.len() >= MAX_CLAIMS;
        let number = self.n_before + self.claims.len() + self.n_dropped + 1;
        let mut note = |what: String| problems.add(format!("finding {number}: {what}"));
        let Some(claim) = finish(draft, &mut note) else { return is_full };
        if !is_full || claim.severity.blocks() && self.make_room() {
            self.claims.push(claim);
        } else if is_full {
            self.n_dropped += 1;
        }
        true
    }

    /// Drops the last claim that does not block; false when all of them block.
    fn make_room(&mut self) -> bool {
        let mild = self.claims.iter().rposition(|claim| !claim.severity.blocks());
        if let Some(index) = mild {
            self.claims.remove(index);
            self.n_dropped += 1;
        }
        mild.is_some()
    }

    /// The number of findings so far, with those that were left out.
    pub(super) fn n_taken(&self) -> usize {
        self.claims.len() + self.n_dropped + self.n_echoes
    }

    /// True when the answer only repeats the template.
    pub(super) fn only_echoes(&self) -> bool {
        self.claims.is_empty() && self.n_echoes > 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// The claims, and what was lost of them.
    pub(super) fn finish(self, problems: &mut Problems) -> (Vec<Claim>, Option<String>) {
        if self.n_dropped > 0 {
            problems.add(format!("{} findings beyond the first {MAX_CLAIMS} were left out", self.n_dropped));
        }
        let dropped = || format!("has {} findings beyond the first {MAX_CLAIMS}, which were left out", self.n_dropped);
        let dropped = (self.n_dropped > 0).then(dropped);
        if self.n_echoes > 0 {
            problems.add("an example of the prompt was repeated and is not a finding");
        }
        (self.claims, dropped)
    }
}

fn is_echo(draft: &Draft) -> bool {
    let echo = |field: &Option<String>| field.as_deref().is_some_and(is_placeholder);
    echo(&draft.title) || echo(&draft.file) || (draft.title.is_none() && echo(&draft.reason))
}

fn finish(mut draft: Draft, note: &mut impl FnMut(String)) -> Option<Claim> {
    draft.reason = text(draft.reason);
    draft.evidence = code(draft.evidence);
    draft.suggestion = code(draft.suggestion);
    let title = title(&draft)?;
    let severity = match draft.severity.as_deref().map(|word| (word, vocabulary::severity(word))) {
        Some((word, Some(severity))) => {
            if vocabulary::is_unusual_severity(word) {
                note(format!("the severity `{}` is read as {severity}", shown(word)));
            }
            severity
        }
        Some((word, None)) => match vocabulary::loose_severity(word) {
            Some(severity) => {
                note(format!("the severity `{}` is read as {severity}", shown(word)));
                severity
            }
            None => {
                note(format!("the severity `{}` is unknown and treated as Medium", shown(word)));
                Severity::Medium
            }
        },
        None => {
            note("it names no severity and is treated as Medium".to_owned());
            Severity::Medium
        }
    };
    let category = match draft.category.as_deref().map(|word| (word, vocabulary::category(word))) {
        Some((_, Some(category))) => category,
        Some((word, None)) => {
            note(format!("the category `{}` is unknown and treated as Logic", shown(word)));
            Category::Logic
        }
        None => {
            note("it names no category and is treated as Logic".to_owned());
            Category::Logic
        }
    };
    // A truncated replacement must never be applied.
    let is_whole = |text: &String| text.chars().count() <= MAX_TEXT;
    if draft.replacement.as_ref().is_some_and(|text| !is_whole(text)) {
        note("its replacement is too long and was dropped".to_owned());
    }
    let replacement = draft.replacement.filter(is_whole);
    let mut cut = |field: Option<String>, limit: usize, name: &str| {
        field.map(|text| {
            cut(text, limit).unwrap_or_else(|text| {
                note(format!("its {name} is too long and was truncated"));
                text
            })
        })
    };
    Some(Claim {
        severity,
        category,
        file: cut(draft.file, MAX_FILE, "file name"),
        lines: draft.lines,
        side: draft.side,
        title: cut(Some(title), MAX_TITLE, "title")?,
        reason: cut(draft.reason, MAX_TEXT, "reason"),
        evidence: cut(draft.evidence, MAX_TEXT, "evidence"),
        quotes: draft.quotes,
        suggestion: cut(draft.suggestion, MAX_TEXT, "suggestion"),
        replacement,
    })
}

/// The title of a claim, or the first sentence of its text; `None` when it is empty.
fn title(draft: &Draft) -> Option<String> {
    let named = draft.title.as_deref().map(one_line).filter(|title| !title.is_empty());
    let note = || draft.reason.as_deref().map(first_sentence);
    let shown = || draft.evidence.as_deref().or(draft.suggestion.as_deref()).map(|text| one_line(first_line(text)));
    let placed = || draft.file.as_deref().map(|_| "(no title)".to_owned());
    named.or_else(note).or_else(shown).or_else(placed).filter(|title| !title.is_empty())
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// The text up to its first full stop, on one line.
fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").find(|part| !part.trim().is_empty()).unwrap_or_default();
    let line = one_line(paragraph);
    let end =
        line.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len()).find(|at| line[*at..].starts_with(' '));
    end.map_or(line.as_str(), |end| &line[..end]).trim_end_matches('.').to_owned()
}

/// Collapses whitespace and strips surrounding emphasis.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bold = line.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).filter(|inner| !inner.contains("**"));
    bold.map_or(line.as_str(), str::trim).to_owned()
}

/// Trims a text; `None` when it only says that there is none.
fn text(field: Option<String>) -> Option<String> {
    field.map(|text| text.trim().to_owned()).filter(|text| !is_nothing(text))
}

/// Code without empty lines around it, its indentation kept.
fn code(field: Option<String>) -> Option<String> {
    let field = field.filter(|text| !is_nothing(text))?;
    let code = field.trim_end();
    let start = code.len() - code.trim_start().len();
    let line_start = code[..start].rfind('\n').map_or(0, |feed| feed + 1);
    Some(code[line_start..].to_owned())
}

/// True for placeholders such as `none` and `n/a`.
pub(super) fn is_nothing(text: &str) -> bool {
    matches!(text.trim().to_lowercase().as_str(), "" | "null" | "none" | "n/a" | "na" | "undefined" | "nil")
}

fn cut(text: String, limit: usize) -> Result<String, String> {
    match text.char_indices().nth(limit) {
        None => Ok(text),
        Some((end, _)) => Err(format!("{}…", &text[..end])),
    }
}

/// Quotes a word of the reviewer for a message.
pub(super) fn shown(word: &str) -> String {
    cut(one_line(word), 60).unwrap_or_else(|cut| cut)
}
