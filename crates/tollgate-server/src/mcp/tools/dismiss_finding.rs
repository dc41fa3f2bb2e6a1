//! `dismiss_finding`: an agent proposes that a finding is not to be heard again while its code is the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::finding::{self, FindingId};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::review::Review;
use tollgate_core::suppress::{self, Dismissal};
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::party::Party;
use tollgate_engine::store::NewDismissal;

use super::stored::{self, Which};
use super::{Effect, Job, Tool};
use crate::mcp::arguments::name;
use crate::mcp::context::ToolContext;
use crate::mcp::failure;
use crate::mcp::shape::{Finding, Severity};

/// The proposing party, for the records.
pub(super) const WHO: &str = "an agent over MCP";
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
    /// Why it is wrong or harmless here, in words. The person who decides reads it, and all readers of the review.
    #[schemars(length(min = 1))]
    reason: String,
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
    /// proposed: a person has to confirm it. dismissed: a person dismissed it before.
    state: &'static str,
    /// True when the next review leaves the finding out. False for a proposal: the finding counts until a person
    /// confirms.
    dismissed: bool,
    /// The number of the review it was found in.
    review: i64,
    /// The reason that was kept.
    reason: String,
    /// How a person confirms it.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
    /// The finding.
    finding: Finding,
}

impl Tool for DismissFinding {
    const NAME: &'static str = "dismiss_finding";
    const TITLE: &'static str = "Propose to dismiss a finding";
    const DESCRIPTION: &'static str = "Proposes to dismiss a finding that is wrong or harmless here. It counts until a \
        person confirms the proposal; then later reviews of the same change leave it out while its code is the same. \
        Call it only after you looked at the code and can say why; never to get a change through. The reason is \
        required. Tell the person that you proposed it, and go on with the other findings.";
    const EFFECT: Effect = Effect::Hides;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, _: &Job<'_>) -> Result<Output, Failure> {
        let named = name("finding", &arguments.finding)?;
        let which = Which { repository: arguments.repository.as_deref(), review: arguments.review, branch: None };
        let (run, review) = stored::find(context, which)?;
        let finding = look(&review, named).ok_or_else(|| failure::no_such_finding(named, run.id))?;
        let said = suppress::reason(&arguments.reason).map_err(|_| failure::needs_reason(&finding.id.to_string()))?;
        let reason: String = said.chars().take(MAX_REASON).collect();
        let dismissal = Dismissal::of_finding(finding, &reason).map_err(|problem| Failure::new(Kind::User, problem))?;
        // The finding came from the database, so there is one.
        let board = context.board()?.ok_or_else(|| failure::no_reviews(None))?;
        let known = board.database().dismissals(&run.subject.repository)?;
        let is_known = known.iter().any(|row| row.is_for(&run.subject.name) && row.dismissal.is_of(finding));
        if is_known {
            let (state, dismissed, confirm) = ("dismissed", true, None);
            return Ok(Output { state, dismissed, review: run.id, reason, confirm, finding: Finding::from(finding) });
        }
        let (party, now) = (Party::Agent(WHO.to_owned()), (context.home().clock)());
        let new = NewDismissal { dismissal, party, subject: run.subject, everywhere: false };
        let row = board.database().dismiss(new, now, Vec::new())?;
        let confirm = format!("tollgate history confirm {}", row.dismissal.fingerprint);
        let (state, dismissed, confirm) = ("proposed", false, Some(confirm));
        Ok(Output { state, dismissed, review: run.id, reason, confirm, finding: Finding::from(finding) })
    }

    fn in_words(output: &Output) -> String {
        let Finding { id, title, file, severity, .. } = &output.finding;
        let blocks = if *severity >= Severity::High { ", a blocker" } else { "" };
        let done = match &output.confirm {
            Some(confirm) => format!("it counts until a person confirms that on the board or with `{confirm}`"),
            None => "a person has dismissed it already".to_owned(),
        };
        format!("{} {id}{blocks}: {title} in {file}\nreason: {}\n{done}", output.state, output.reason)
    }
}

/// The finding that is meant, counting or not.
fn look<'a>(review: &'a Review, named: &str) -> Option<&'a finding::Finding> {
    let (id, print) = (FindingId::parse(named), Fingerprint::parse(named));
    let mut all = review.findings.iter().chain(review.withheld.iter().map(|withheld| &withheld.finding));
    all.find(|finding| Some(finding.id) == id || Some(Fingerprint::of(finding)) == print)
}
