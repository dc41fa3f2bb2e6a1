//! The intent as text for people.
//!
//! ```text
//! Keywords: [WIP] in title, breaking change in commit abc1234
//! ```

use crate::intent::{Conventional, DeclaredIn, Intent, Keyword, Tag};

/// The most items listed before the rest is counted.
const MAX_NAMED: usize = 5;
/// The longest quoted word of the author, in characters.
const MAX_CHARS: usize = 40;

impl Intent {
    /// One line for the summary; `None` without keywords and breaking changes.
    #[must_use]
    pub fn brief(&self) -> Option<String> {
        let tags = self.tags.iter().filter(|tag| tag.keyword.is_some()).map(tag_with_source);
        let places: Vec<String> = self.breaking.iter().map(|breaking| place(&breaking.place)).collect();
        let breaking = (!places.is_empty()).then(|| format!("breaking change in {}", named(&places)));
        let found: Vec<String> = tags.chain(breaking).collect();
        (!found.is_empty()).then(|| format!("Keywords: {}", found.join(", ")))
    }

    /// Hints for the author: probable typos in tags, and input that was not parsed.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let meant = self.unrecognized().filter(|tag| tag.suggestion.is_some());
        meant.take(MAX_NAMED).map(ignored).chain(self.problem.clone()).collect()
    }

    /// All declarations with their sources, for the details of a review.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        // There are eight keywords, so this list is never long.
        let known: Vec<String> = self.tags.iter().filter(|tag| tag.keyword.is_some()).map(tag_with_source).collect();
        if !known.is_empty() {
            lines.push(format!("Keywords: {}", known.join(", ")));
        }
        lines.extend(self.unrecognized().take(MAX_NAMED).map(ignored));
        match self.unrecognized().count().saturating_sub(MAX_NAMED) {
            0 => {}
            n_more => lines.push(format!("ignored {n_more} more tags")),
        }
        lines.extend(self.conventional.as_ref().map(declared_type));
        let breaking = |breaking: &crate::intent::Breaking| {
            format!("Breaking change in {}: {}", place(&breaking.place), cut(&breaking.excerpt, 2 * MAX_CHARS))
        };
        lines.extend(self.breaking.iter().take(MAX_NAMED).map(breaking));
        match self.breaking.len().saturating_sub(MAX_NAMED) {
            0 => {}
            n_more => lines.push(format!("Breaking change in {n_more} more commits")),
        }
        if !self.references.is_empty() {
            let references: Vec<String> = self.references.iter().map(|name| cut(name, MAX_CHARS)).collect();
            lines.push(format!("References: {}", named(&references)));
        }
        let found = !lines.is_empty();
        if !found {
            lines.push("Keyword parsing: No keywords detected".to_owned());
        }
        if self.n_commits > 0 && (found || self.n_scanned < self.n_commits) {
            lines.push(format!("Commits scanned: {} of {}", self.n_scanned, self.n_commits));
        }
        lines.extend(self.problem.as_ref().map(|problem| format!("Keyword parsing: {problem}")));
        lines
    }
}

/// The name of a source in a sentence.
pub(crate) fn place(place: &DeclaredIn) -> String {
    match place {
        DeclaredIn::Title => "title".to_owned(),
        DeclaredIn::Body => "body".to_owned(),
        DeclaredIn::Commit(sha) => format!("commit {sha}"),
    }
}

/// A tag in brackets, with its source.
pub(crate) fn tag_with_source(tag: &Tag) -> String {
    format!("{} in {}", shown(tag), place(&tag.place))
}

/// A type with its source.
pub(crate) fn type_with_source(conventional: &Conventional) -> String {
    let scope = conventional.scope.as_ref().map(|scope| format!("({})", cut(scope, MAX_CHARS))).unwrap_or_default();
    let breaking = if conventional.is_breaking { "!" } else { "" };
    format!("{}{scope}{breaking} in {}", conventional.kind.as_str(), place(&conventional.place))
}

fn declared_type(conventional: &Conventional) -> String {
    format!("Conventional type: {}", type_with_source(conventional))
}

fn ignored(tag: &Tag) -> String {
    let meant = tag.suggestion.map(|keyword| format!(", did you mean [{}]?", keyword.shown())).unwrap_or_default();
    format!("ignored {}{meant}", shown(tag))
}

fn shown(tag: &Tag) -> String {
    let name = tag.keyword.map_or_else(|| cut(&tag.name, MAX_CHARS), |keyword| Keyword::shown(keyword).to_owned());
    format!("[{name}]")
}

/// A comma-separated list; long lists end with a count.
fn named(list: &[String]) -> String {
    let shown = list[..list.len().min(MAX_NAMED)].join(", ");
    match list.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        n_more => format!("{shown} and {n_more} more"),
    }
}

/// Shortens a text to one line.
fn cut(text: &str, max_chars: usize) -> String {
    let line: Vec<&str> = text.split_whitespace().take(max_chars).collect();
    let line = line.join(" ");
    match line.char_indices().nth(max_chars) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}
