//! What a model or an agent said of a change, before anything of it is believed.
//!
//! An [`Answer`] is read from whatever came back: structured output, JSON in prose, or one of three text forms. Its
//! [`Claim`]s become findings only when their place and evidence are found in the change; its decision never becomes
//! the verdict.

use crate::finding::{Category, LineRange, Severity, Side};

/// What a reviewer said of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it would let the change pass, if it said so.
    pub decision: Option<Decision>,
    /// The form that was recognised.
    pub form: Form,
    /// True when the answer was cut off; the claims are those that came whole.
    pub truncated: bool,
    /// What it remarks, in its order.
    pub claims: Vec<Claim>,
    /// What it says in general.
    pub summary: Option<String>,
    /// What was odd about the answer and how it was taken, for people.
    pub problems: Vec<String>,
}

/// Whether a reviewer would let a change pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It would.
    Approved,
    /// It would not.
    Rejected,
}

/// The forms in which answers come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A tool call or structured output in the answer schema.
    Structured,
    /// JSON somewhere in a text.
    Json,
    /// A decision in brackets and a list of issues.
    Text,
    /// The Markdown of a review.
    Markdown,
    /// A comment on a pull request.
    Comment,
}

/// One remark as it was made: nothing of it is checked against the change yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// How much it matters; an unknown word counts as Medium.
    pub severity: Severity,
    /// What it is about; an unknown word counts as Logic.
    pub category: Category,
    /// The file as it was named, which may be no path of the change.
    pub file: Option<String>,
    /// The lines as they were named.
    pub lines: Option<LineRange>,
    /// Before or after the change, if it says so.
    pub side: Option<Side>,
    /// What is wrong, in the reviewer's words, not empty.
    pub title: String,
    /// Why it matters.
    pub reason: Option<String>,
    /// The code it quotes.
    pub evidence: Option<String>,
    /// What to do instead, for people.
    pub suggestion: Option<String>,
    /// What to write in place of the named lines, ready to apply.
    pub replacement: Option<String>,
}
