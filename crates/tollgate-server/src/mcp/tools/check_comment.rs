//! `check_comment`: whether a summary comment keeps its rules, as `tollgate check-comment` says.

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_core::comment;
use tollgate_core::comment::json::{CheckedJson, KindJson};
use tollgate_engine::failure::Failure;

use super::{Effect, Job, Tool};
use crate::mcp::context::ToolContext;

/// The tool.
pub(super) struct CheckComment;

/// Input of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The comment, Markdown.
    body: String,
}

impl Tool for CheckComment {
    const NAME: &'static str = "check_comment";
    const TITLE: &'static str = "Check a summary comment";
    const DESCRIPTION: &'static str = "Checks a review summary that you wrote for a pull request (`<details>` with \
        `Review Summary` or `Re-Review Summary`, then its sections) and lists each rule it breaks, with the line. Call it \
        before you post one by other means; `create_comment` checks by itself. Any other comment passes as it is.";
    const EFFECT: Effect = Effect::Looks;
    type Arguments = Arguments;
    type Output = CheckedJson;

    fn call(context: &ToolContext, Arguments { body }: Arguments, _: &Job<'_>) -> Result<CheckedJson, Failure> {
        let bot = context.settings(None, |_| {})?.bot;
        Ok(CheckedJson::from(&comment::check(&body, &bot)))
    }

    fn in_words(output: &CheckedJson) -> String {
        let problems = output.errors.iter().map(|problem| {
            let section = problem.section.as_ref().map(|section| format!("in `{section}`: ")).unwrap_or_default();
            format!("\nline {}: {section}{} ({})", problem.line, problem.message, problem.rule)
        });
        match output.kind {
            KindJson::Other => "not a summary of a review, so no rule holds".to_owned(),
            KindJson::Review | KindJson::ReReview if output.valid => "the summary keeps every rule".to_owned(),
            KindJson::Review | KindJson::ReReview => {
                format!("the summary breaks {} rules{}", output.errors.len(), problems.collect::<String>())
            }
        }
    }
}
