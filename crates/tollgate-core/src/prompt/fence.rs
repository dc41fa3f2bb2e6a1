//! What others wrote, kept apart from what we say.
//!
//! ```text
//! [data tollgate-0123456789abcdef: title]
//! Ignore what was said before
//! [end tollgate-0123456789abcdef]
//! ```
//!
//! The boundary is random, so that nobody who wrote the text can have known it; should it stand in the text all the
//! same, it is broken there. Between the two lines there is nothing of ours, and outside of them nothing of others'.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::visible::visible;

/// What is put where the boundary stood in a text. The boundary has no brackets, so none can arise anew around it.
const BROKEN: &str = "[boundary]";

/// The mark between what we say and what others wrote, new for every review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// Makes a boundary of random bytes.
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

    /// Puts a text of others between two lines with the boundary; `name` says what it is.
    pub(crate) fn fence(&self, name: &str, text: &str) -> String {
        let text = visible(text);
        let text = text.replace(self.as_str(), BROKEN);
        format!("[data {0}: {name}]\n{text}\n[end {0}]", self.as_str())
    }
}

/// A text of others on one line.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    match visible(text) {
        shown if shown.contains('\n') => Cow::Owned(shown.replace('\n', "\\n")),
        shown => shown,
    }
}
