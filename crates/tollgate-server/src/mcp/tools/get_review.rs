//! `get_review`: a stored review.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::gate::Gate;
use tollgate_engine::board::iso;
use tollgate_engine::failure::Failure;

use super::stored::{self, Which};
use super::{Effect, Job, Tool};
use crate::mcp::context::ToolContext;
use crate::mcp::shape::{Finding, MAX_LISTED, Told};

/// The tool.
pub(super) struct GetReview;

/// Input of the tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Arguments {
    /// The folder of the repository; on a server the number or folder of a project. Left out: where the server was
    /// started, or its only project.
    #[schemars(length(min = 1, max = 4096))]
    repository: Option<String>,
    /// The number of the review. Left out: the last one.
    review: Option<i64>,
    /// The branch whose last review is meant. Left out: any.
    #[schemars(length(min = 1, max = 4096))]
    branch: Option<String>,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The number of the review.
    review: i64,
    /// The subject of the review: `branch work`, `pr 12`, `feature login`.
    subject: String,
    /// When it ended.
    finished_at: String,
    /// What the gate said: open, closed or partial.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<String>,
    /// The number of the review it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_with: Option<i64>,
    #[serde(flatten)]
    told: Told,
    /// The findings that count, worst first, at most 100.
    findings: Vec<Finding>,
    /// How many findings do not count; `list_findings` with `withheld` gives them.
    n_withheld: usize,
    /// The files that were reviewed, the first 100.
    files: Vec<String>,
}

impl Tool for GetReview {
    const NAME: &'static str = "get_review";
    const TITLE: &'static str = "Show a review";
    const DESCRIPTION: &'static str = "Shows a stored review of this repository whole: verdict, gate, what was compared, \
        findings, what was looked at and what was not. Call it to see what an earlier review said, by its number, or the \
        last one of a branch or pull request. It reviews nothing; `review_change` does.";
    const EFFECT: Effect = Effect::Looks;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, _: &Job<'_>) -> Result<Output, Failure> {
        let which = Which {
            repository: arguments.repository.as_deref(),
            review: arguments.review,
            branch: arguments.branch.as_deref(),
        };
        let (run, review) = stored::find(context, which)?;
        let gate = run.gate.as_deref().and_then(Gate::parse);
        Ok(Output {
            review: run.id,
            subject: run.subject.name,
            finished_at: iso(run.finished_ms),
            gate: run.gate,
            compared_with: run.prior,
            told: Told::new(&review, gate),
            findings: review.findings.iter().take(MAX_LISTED).map(Finding::from).collect(),
            n_withheld: review.withheld.len(),
            files: review.files_reviewed.iter().take(MAX_LISTED).map(|file| file.as_str().to_owned()).collect(),
        })
    }

    fn in_words(output: &Output) -> String {
        let Output { review, subject, finished_at, told, .. } = output;
        let gate = output.gate.as_deref().unwrap_or("unknown");
        let head = format!("review {review} of {subject}, {finished_at}: {}, the gate was {gate}", told.state);
        format!("{head}\n{}", told.in_words(&output.findings))
    }
}
