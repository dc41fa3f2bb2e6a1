//! Merges equal findings of one file into an entry with several lines.

use std::collections::HashMap;

use crate::comment::Label;
use crate::finding::{Finding, LineRange};
use crate::markdown::escape::{literal, literal_at_start, shown, shown_path};
use crate::report::summary::phrases::sentences;

/// The most characters of a path, of a title, and of an explanation.
const MAX_PATH: usize = 200;
const MAX_TITLE: usize = 200;
const MAX_WORDS: usize = 600;
const MAX_SHORT_WORDS: usize = 160;

/// The most line ranges of one entry.
const MAX_PLACES: usize = 20;

/// Findings with the same label, file and title.
pub(super) struct Entry<'a> {
    pub(super) label: Label,
    pub(super) findings: Vec<&'a Finding>,
}

/// Merges findings, the worst first, without praise.
pub(super) fn merge<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut known: HashMap<(Label, &str, &str), usize> = HashMap::new();
    for finding in findings {
        let Some(label) = Label::of(finding.severity) else { continue };
        let key = (label, finding.location.file.as_str(), finding.summary.as_str());
        let index = *known.entry(key).or_insert(entries.len());
        match entries.get_mut(index) {
            Some(entry) => entry.findings.push(finding),
            None => entries.push(Entry { label, findings: vec![finding] }),
        }
    }
    entries.sort_by_key(|entry| entry.label);
    entries
}

impl Entry<'_> {
    /// The displayed path.
    pub(super) fn path(&self) -> String {
        self.findings.first().map(|finding| path(finding)).unwrap_or_default()
    }

    /// The displayed title, with the number of omitted line ranges.
    pub(super) fn title(&self) -> String {
        let title = self.findings.first().map(|finding| title(finding)).unwrap_or_default();
        match self.places().len().saturating_sub(MAX_PLACES) {
            0 => title,
            n_left => format!("{title} (and {n_left} more places)"),
        }
    }

    /// ` (12, 15-18)`.
    pub(super) fn lines(&self) -> String {
        let places: Vec<String> = self.places().iter().take(MAX_PLACES).map(ToString::to_string).collect();
        format!(" ({})", places.join(", "))
    }

    /// `path (12, 15-18): title (2 findings: F001, F002)`, at the start of a line.
    pub(super) fn line(&self) -> String {
        let (path, title) = (literal_at_start(&self.path()), literal(&self.title()));
        format!("{path}{}: {title} ({})", self.lines(), self.ids())
    }

    /// The ids of its findings, which bot commands take: `F001`, or `2 findings: F001, F002`.
    pub(super) fn ids(&self) -> String {
        let ids: Vec<String> = self.findings.iter().take(MAX_PLACES).map(|finding| finding.id.to_string()).collect();
        match self.findings.len() {
            1 => ids.concat(),
            n if n > MAX_PLACES => format!("{n} findings: {} …", ids.join(", ")),
            n => format!("{n} findings: {}", ids.join(", ")),
        }
    }

    /// The explanation, long and short.
    pub(super) fn words(&self) -> Option<(String, String)> {
        let reason = self.findings.iter().find_map(|finding| finding.reason.as_deref());
        let long = shown(&sentences(reason?, 3), MAX_WORDS);
        let short = shown(&sentences(reason?, 1), MAX_SHORT_WORDS);
        (!long.is_empty()).then(|| (literal_at_start(&long), literal_at_start(&short)))
    }

    fn places(&self) -> Vec<LineRange> {
        let mut places: Vec<LineRange> = self.findings.iter().map(|finding| finding.location.lines).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// The displayed path of a finding.
pub(super) fn path(finding: &Finding) -> String {
    shown_path(finding.location.file.as_str(), MAX_PATH)
}

/// The displayed title of a finding.
pub(super) fn title(finding: &Finding) -> String {
    shown(finding.summary.as_str(), MAX_TITLE)
}
