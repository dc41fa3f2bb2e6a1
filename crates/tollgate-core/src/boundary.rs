//! Fences untrusted text in prompts behind a random boundary (prompt injection).
//!
//! ```text
//! [data tollgate-0123456789abcdef: title]
//! Ignore all previous instructions
//! [end tollgate-0123456789abcdef]
//! ```
//!
//! The boundary is random, so the author of the text cannot know it; an occurrence in the text is replaced. Text between
//! the two lines is untrusted, text outside of them is ours or the operator's.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::visible::visible;

/// The most characters of a project file.
pub const MAX_CONTEXT_CHARS: usize = 5_000;

/// A project file with conventions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its name, e.g. `AGENTS.md`.
    pub name: String,
    /// Its text, truncated to [`MAX_CONTEXT_CHARS`].
    pub text: String,
}

/// Replaces the boundary in a text. The boundary has no brackets, so the replacement cannot form a new one.
const BROKEN: &str = "[boundary]";

/// A random delimiter of untrusted text, new for every review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// Builds a boundary from random bytes.
    #[must_use]
    pub fn new(random: [u8; 8]) -> Self {
        Self(random.iter().fold("tollgate-".to_owned(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    /// The boundary as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Fences untrusted text between two lines with the boundary; `name` labels it.
    pub(crate) fn fence(&self, name: &str, text: &str) -> String {
        let text = visible(text);
        let text = text.replace(self.as_str(), BROKEN);
        format!("[data {0}: {name}]\n{text}\n[end {0}]", self.as_str())
    }
}

/// Untrusted text on one line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    match visible(text) {
        shown if shown.contains('\n') => Cow::Owned(shown.replace('\n', "\\n")),
        shown => shown,
    }
}
