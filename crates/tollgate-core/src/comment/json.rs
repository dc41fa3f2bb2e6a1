//! The result of validating a comment as JSON. The field names are stable; see `tollgate schema check-comment`.
//!
//! ```json
//! { "kind": "review", "valid": false,
//!   "errors": [{"rule": "section-order", "section": "Verdict", "line": 14, "message": "…"}] }
//! ```

use schemars::JsonSchema;
use serde::Serialize;

use crate::comment::{CheckedComment, Kind, Problem};
use crate::json::mirror_enum;

/// The result of validating a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CheckedComment")]
pub struct CheckedJson {
    /// The kind of the comment.
    pub kind: KindJson,
    /// True when the comment satisfies every rule.
    pub valid: bool,
    /// The violations, in line order.
    pub errors: Vec<ProblemJson>,
}

mirror_enum! {
    /// The kind of the comment.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[schemars(rename = "CommentKind")]
    pub enum KindJson mirrors Kind {
        /// The summary of a first review.
        Review,
        /// The summary of a re-review.
        ReReview,
        /// Any other comment; no rule applies.
        Other,
    }
}

/// One rule that a comment breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CommentProblem")]
pub struct ProblemJson {
    /// The id of the rule.
    pub rule: String,
    /// The heading of the section; null when no section is concerned.
    pub section: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// A human-readable message.
    pub message: String,
}

/// Writes the result, indented, with a line break at the end.
#[must_use]
pub fn write(checked: &CheckedComment) -> String {
    let mut text = serde_json::to_string_pretty(&CheckedJson::from(checked)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the output of [`write()`].
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
