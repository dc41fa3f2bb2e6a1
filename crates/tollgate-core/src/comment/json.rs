//! What there is to say about a comment, as JSON. The names are promised; see `tollgate schema check-comment`.
//!
//! ```json
//! { "kind": "review", "valid": false,
//!   "errors": [{"rule": "section-order", "section": "Verdict", "line": 14, "message": "…"}] }
//! ```

use schemars::JsonSchema;
use serde::Serialize;

use crate::comment::{CheckedComment, Kind, Problem};

/// What there is to say about a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CheckedComment")]
pub struct CheckedJson {
    /// What kind of comment it is.
    pub kind: KindJson,
    /// True when it keeps every rule.
    pub valid: bool,
    /// The rules it breaks, in the order of its lines.
    pub errors: Vec<ProblemJson>,
}

/// What kind of comment it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CommentKind")]
pub enum KindJson {
    /// The summary of a first review.
    Review,
    /// The summary of a review of a change that was reviewed before.
    ReReview,
    /// Anything else; no rule holds for it.
    Other,
}

/// One rule that a comment breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CommentProblem")]
pub struct ProblemJson {
    /// The rule.
    pub rule: String,
    /// The section it is about, by its heading; null when it is about none.
    pub section: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, for people.
    pub message: String,
}

/// Writes it, indented, with a line break at the end.
#[must_use]
pub fn write(checked: &CheckedComment) -> String {
    let mut text = serde_json::to_string_pretty(&CheckedJson::from(checked)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of what [`write()`] writes.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(CheckedJson).into()
}

impl From<&CheckedComment> for CheckedJson {
    fn from(checked: &CheckedComment) -> Self {
        Self {
            kind: checked.kind.into(),
            valid: checked.is_valid(),
            errors: checked.errors.iter().map(ProblemJson::from).collect(),
        }
    }
}

impl From<Kind> for KindJson {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Review => Self::Review,
            Kind::ReReview => Self::ReReview,
            Kind::Other => Self::Other,
        }
    }
}

impl From<&Problem> for ProblemJson {
    fn from(problem: &Problem) -> Self {
        Self {
            rule: problem.rule.to_owned(),
            section: problem.section.clone(),
            line: problem.line,
            message: problem.message.clone(),
        }
    }
}
