//! `get_feature`: a feature, its description and specification, and the results of its reviews.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::board::{Document, FeatureId, Iteration, Remark, criteria};
use tollgate_engine::board::Refused;
use tollgate_engine::failure::Failure;

use super::list_features::{Standing, project};
use super::{Effect, Job, Tool};
use crate::mcp::answer::cut;
use crate::mcp::arguments::name;
use crate::mcp::context::ToolContext;
use crate::mcp::failure;
use crate::mcp::shape::{MAX_LISTED, Severity};

/// The longest description or specification, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// The longest text of a remark.
const MAX_REMARK: usize = 4 * 1024;

/// The tool.
pub(super) struct GetFeature;

/// Input of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Its id, as `list_features` gives it.
    #[schemars(length(min = 1, max = 64))]
    feature: String,
    /// The folder of the project; on a server its number or folder. Left out: where the server was started, or its only
    /// project.
    #[schemars(length(min = 1, max = 4096))]
    repository: Option<String>,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Its id.
    id: String,
    /// Its title; may be empty.
    title: String,
    /// Its description.
    description: String,
    /// The specification, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<String>,
    /// What a review asks about, one by one.
    criteria: Vec<String>,
    /// Its state, and the event that it waits for.
    #[serde(flatten)]
    standing: Standing,
    /// Its work tree, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    /// Features that have to be done before it.
    dependencies: Vec<String>,
    /// Its reviews, oldest first; only the last has its findings.
    reviews: Vec<Reviewed>,
}

/// A review of a round.
#[derive(Debug, Serialize, JsonSchema)]
struct Reviewed {
    /// The round.
    iteration: u32,
    /// approved, rejected or failed; "approved, requirements not checked" when a criterion is unclear.
    outcome: String,
    /// When.
    reviewed_at: String,
    /// One or two sentences.
    summary: String,
    /// The required fixes, or why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How many findings count.
    n_findings: usize,
    /// They, of the last review, worst first, at most 100.
    findings: Vec<Said>,
}

/// A finding of a review.
#[derive(Debug, Serialize, JsonSchema)]
struct Said {
    /// Its number in the review, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// How much it matters.
    severity: Severity,
    /// Its category.
    category: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The defect, in one line.
    title: String,
    /// Why it matters.
    reason: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Tool for GetFeature {
    const NAME: &'static str = "get_feature";
    const TITLE: &'static str = "Show a feature";
    const DESCRIPTION: &'static str = "Shows a feature of the board: what is wanted, its acceptance criteria, where it is \
        on its way through the gate, and what its reviews said. Call it before you work on a feature, and to read the \
        findings that sent it back.";
    const EFFECT: Effect = Effect::Looks;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, _: &Job<'_>) -> Result<Output, Failure> {
        let named = name("feature", &arguments.feature)?;
        let id = FeatureId::parse(named).map_err(|_| failure::not_a_name("feature", named))?;
        let (board, project) = project(context, arguments.repository.as_deref())?;
        let row = board.feature(project.id, &id).map_err(Refused::into_failure)?;
        let reviews = board.iterations(project.id, &id).map_err(Refused::into_failure)?;
        let document = Document::parse(&row.document).ok();
        let description = document.as_ref().map(Document::description).unwrap_or_default();
        let spec = document.as_ref().and_then(Document::spec);
        let criteria = criteria::read(&description, spec.as_deref().unwrap_or_default());
        let last = reviews.len().saturating_sub(1);
        let reviews = reviews.into_iter().enumerate().map(|(index, row)| told(row.iteration, index == last));
        Ok(Output {
            id: row.id.to_string(),
            title: row.facts.title,
            description: cut(&description, MAX_TEXT),
            spec: spec.map(|spec| cut(&spec, MAX_TEXT)),
            criteria: criteria.iter().take(MAX_LISTED).map(|criterion| cut(&criterion.text, MAX_REMARK)).collect(),
            standing: Standing::new(&row.state, row.branch, row.problem.or(row.broken), row.updated_ms),
            worktree: row.worktree.map(|path| path.to_string_lossy().into_owned()),
            dependencies: row.facts.dependencies,
            reviews: reviews.collect(),
        })
    }

    fn in_words(output: &Output) -> String {
        let title = if output.title.is_empty() { "(no title)" } else { &output.title };
        let mut words = format!("{}: {title} ({})\n\n{}\n", output.id, output.standing.in_words(), output.description);
        for review in &output.reviews {
            let Reviewed { iteration, outcome, n_findings, summary, .. } = review;
            let _ = write!(words, "\nround {iteration}: {outcome}, {n_findings} findings: {summary}");
            for Said { severity, category, file, line, title, .. } in &review.findings {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let file = file.as_deref().unwrap_or("the change");
                let _ = write!(words, "\n- {severity:?}/{category} {file}{line}: {title}");
            }
        }
        words
    }
}

fn told(iteration: Iteration, is_last: bool) -> Reviewed {
    let n_findings = iteration.findings.len();
    let most = if is_last { MAX_LISTED } else { 0 };
    Reviewed {
        iteration: iteration.number,
        outcome: iteration.outcome_in_words().to_owned(),
        reviewed_at: iteration.reviewed_at,
        summary: cut(&iteration.summary, MAX_REMARK),
        reason: iteration.reason.map(|reason| cut(&reason, MAX_REMARK)),
        n_findings,
        findings: iteration.findings.into_iter().take(most).map(said).collect(),
    }
}

fn said(remark: Remark) -> Said {
    Said {
        id: remark.identity.map(|identity| identity.id),
        severity: remark.severity.into(),
        category: remark.category.to_string(),
        file: remark.file,
        line: remark.line,
        title: cut(&remark.title, MAX_REMARK),
        reason: cut(&remark.description, MAX_REMARK),
        fix: remark.suggestion.map(|fix| cut(&fix, MAX_REMARK)),
    }
}
