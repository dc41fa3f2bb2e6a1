//! `list_findings`: what a stored review found, filtered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::DismissalRow;

use super::stored::{self, Which};
use super::{Effect, Job, Tool};
use crate::mcp::context::ToolContext;
use crate::mcp::shape::{Finding, MAX_LISTED, Severity};

/// The tool.
pub(super) struct ListFindings;

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
    /// Only findings of this severity or worse.
    at_least: Option<Severity>,
    /// Only findings in files whose path begins so.
    file: Option<String>,
    /// Also findings that do not count (suppressed, dismissed, not verified, milder than the floor), with the reason.
    withheld: bool,
    /// How many to leave out at the beginning, as `next` of the last answer says.
    offset: usize,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The number of the review.
    review: i64,
    /// How many findings fit.
    total: usize,
    /// They, worst first, at most 100.
    findings: Vec<Finding>,
    /// The `offset` for more, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

impl Tool for ListFindings {
    const NAME: &'static str = "list_findings";
    const TITLE: &'static str = "List findings";
    const DESCRIPTION: &'static str = "Lists what a stored review found: the last one of this repository, of a branch, or \
        the one with a number. Call it to see again what is open without reviewing again, to page through many findings, \
        or with `withheld` to see what does not count and why. It reviews nothing; `review_change` does.";
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
        let withheld = review.withheld.iter().filter(|_| arguments.withheld).map(Finding::from);
        let proposals = match context.board()? {
            Some(board) => board.database().proposals(&run.subject.repository)?,
            None => Vec::new(),
        };
        let counted = review.findings.iter().map(|finding| {
            let is_it = |row: &&DismissalRow| row.is_for(&run.subject.name) && row.dismissal.is_of(finding);
            let proposal = proposals.iter().find(is_it);
            let words =
                |row: &DismissalRow| format!("{}: {}", row.who.as_deref().unwrap_or_default(), row.dismissal.reason);
            Finding { proposed_dismissal: proposal.map(words), ..Finding::from(finding) }
        });
        let all = counted.chain(withheld);
        let fits = |finding: &Finding| {
            arguments.at_least.is_none_or(|least| finding.severity >= least)
                && arguments.file.as_ref().is_none_or(|file| finding.file.starts_with(file))
        };
        let fitting: Vec<Finding> = all.filter(fits).collect();
        let total = fitting.len();
        let end = arguments.offset.saturating_add(MAX_LISTED);
        let findings = fitting.into_iter().skip(arguments.offset).take(MAX_LISTED).collect();
        Ok(Output { review: run.id, total, findings, next: (end < total).then_some(end) })
    }

    fn in_words(output: &Output) -> String {
        let listed: Vec<String> = output.findings.iter().map(Finding::in_words).collect();
        let more = output.next.map(|next| format!("\nmore with `offset: {next}`")).unwrap_or_default();
        format!("review {}: {} findings fit\n{}{more}", output.review, output.total, listed.join("\n"))
    }
}
