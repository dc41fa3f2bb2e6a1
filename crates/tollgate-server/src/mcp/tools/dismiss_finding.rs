//! `dismiss_finding`: a finding is not to be heard again while its code is the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::finding::{self, FindingId};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::review::Review;
use tollgate_core::suppress::Dismissal;
use tollgate_engine::failure::{Failure, Kind};

use super::stored::{self, Which};
use super::{Effect, Job, Tool};
use crate::mcp::arguments::name;
use crate::mcp::context::ToolContext;
use crate::mcp::failure;
use crate::mcp::shape::{Finding, Severity};

/// In whose name, for the records.
const WHO: &str = "an agent over MCP";
/// The default reason, which is enough for findings below Critical.
const NO_REASON: &str = "dismissed by an agent, which gave no reason";
/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 2000;

/// The tool.
pub(super) struct DismissFinding;

/// Input of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The finding: its id in the review (`F002`) or its fingerprint (`fp-…`).
    #[schemars(length(min = 1, max = 4096))]
    finding: String,
    /// Why it is wrong or harmless here. Required for Critical findings; shown to all readers of the review.
    reason: Option<String>,
    /// The folder of the repository; on a server the number or folder of a project. Left out: where the server was
    /// started, or its only project.
    #[schemars(length(min = 1, max = 4096))]
    repository: Option<String>,
    /// The number of the review that has the finding. Left out: the last one.
    review: Option<i64>,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True: the next review leaves it out while its code is the same, and lists it as withheld.
    dismissed: bool,
    /// The number of the review it was found in.
    review: i64,
    /// The reason that was kept.
    reason: String,
    /// The finding.
    finding: Finding,
}

impl Tool for DismissFinding {
    const NAME: &'static str = "dismiss_finding";
    const TITLE: &'static str = "Dismiss a finding";
    const DESCRIPTION: &'static str = "Says that a finding is wrong or harmless here, so that later reviews leave it out \
        while its code is the same. Call it only after you looked at the code and can say why; never to get a change \
        through. It is recorded as an agent's, with the reason, and people can take it back. Critical findings need a \
        reason. The review that found it stays as it is.";
    const EFFECT: Effect = Effect::Hides;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, _: &Job<'_>) -> Result<Output, Failure> {
        let named = name("finding", &arguments.finding)?;
        let which = Which { repository: arguments.repository.as_deref(), review: arguments.review, branch: None };
        let (run, review) = stored::find(context, which)?;
        let finding = look(&review, named).ok_or_else(|| failure::no_such_finding(named, run.id))?;
        let said: String = arguments.reason.unwrap_or_default().trim().chars().take(MAX_REASON).collect();
        let reason = match said.is_empty() {
            true if finding.severity == finding::Severity::Critical => {
                return Err(failure::needs_reason(&finding.id.to_string()));
            }
            true => NO_REASON.to_owned(),
            false => said,
        };
        let (file, title) = (finding.location.file.as_str(), finding.summary.as_str());
        let dismissal = Dismissal::parse(file, title, finding.evidence.clone(), reason.clone(), "")
            .map_err(|problem| Failure::new(Kind::User, problem))?;
        // The finding came from the database, so there is one.
        let board = context.board()?.ok_or_else(|| failure::no_reviews(None))?;
        let now = (context.home().clock)();
        board.database().dismiss(&run.subject.repository, dismissal, WHO, now, Vec::new())?;
        Ok(Output { dismissed: true, review: run.id, reason, finding: Finding::from(finding) })
    }

    fn in_words(output: &Output) -> String {
        let Finding { id, title, file, severity, .. } = &output.finding;
        let blocks = if *severity >= Severity::High { ", a blocker" } else { "" };
        format!("dismissed {id}{blocks}: {title} in {file}\nreason: {}", output.reason)
    }
}

/// The finding that is meant, counting or not.
fn look<'a>(review: &'a Review, named: &str) -> Option<&'a finding::Finding> {
    let (id, print) = (FindingId::parse(named), Fingerprint::parse(named));
    let mut all = review.findings.iter().chain(review.withheld.iter().map(|withheld| &withheld.finding));
    all.find(|finding| Some(finding.id) == id || Some(Fingerprint::of(finding)) == print)
}
