//! The state of a reviewed head: colour, label, explanation and counts, computed once for every surface.
//!
//! ```text
//! review ─┐
//! gate ───┼─► HeadState ─► summary comment, verdict update, check run, terminal, HTML, history, pages, MCP
//! delta ──┘
//! ```
//!
//! A first review is described by its worst finding, a re-review by its blockers since the last review, and a review at the
//! gate of the board by the result of that gate ([`GATE_RESULT`]), which also knows acceptance criteria, findings about the
//! whole change, and a person's approval against the review. Whatever keeps a state from being plain (unreviewed hunks, suppressed blockers, blockers without consensus) is part of the explanation.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::board::{Iteration, Outcome, Override};
use crate::comment::Label;
use crate::finding::{FindingId, Severity};
use crate::gate::{self, FailOn, Gate};
use crate::markdown::escape::{literal, shown};
use crate::report::summary::phrases::{in_words, plural};
use crate::review::Review;
use crate::verdict::{
    self, BLOCKERS_DISMISSED, Colour, CommentVerdict, GATE_CLOSED, MildFindings, PARTLY_REVIEWED, VerdictUpdate,
};

/// The extension field of a review with the delta to the last one.
pub const SINCE_LAST: &str = "x_since_last";

/// The extension field of a review at the gate of the board, with the result of that gate.
///
/// ```json
/// {"outcome": "approved", "counts": [0, 0, 1, 2], "criteria": "1 of 2 acceptance criteria is met, 1 is unclear.",
///  "unclear": 1}
/// ```
pub const GATE_RESULT: &str = "x_gate_result";

/// The most characters of an explanation on one line.
const MAX_EXPLANATION: usize = 700;

/// The label of an approval at the gate of the board that left an acceptance criterion unclear.
pub const NOT_CHECKED: &str = "Approved, requirements not checked";

/// The label of an approval by a person against the review.
pub const BY_HAND: &str = "Approved by hand";

/// The most suppressions that are named.
const MAX_NAMED: usize = 3;

/// The number of findings by label. Every finding that counts is counted once; praise is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LabelCounts([usize; 4]);

impl LabelCounts {
    /// Counts findings by their severities.
    #[must_use]
    pub fn of(severities: impl IntoIterator<Item = Severity>) -> Self {
        let mut counts = [0; 4];
        for label in severities.into_iter().filter_map(Label::of) {
            counts[label as usize] += 1;
        }
        Self(counts)
    }

    /// `0 critical, 2 major, 1 medium, 0 minor`.
    #[must_use]
    pub fn in_words(self) -> String {
        self.labelled().map(|(label, n)| format!("{n} {}", label.heading().to_lowercase())).join(", ")
    }

    /// The number of blockers.
    #[must_use]
    pub fn blocking(self) -> usize {
        self.0[0] + self.0[1]
    }

    /// The number of all findings.
    #[must_use]
    pub fn total(self) -> usize {
        self.0.iter().sum()
    }

    fn has_medium(self) -> bool {
        self.0[Label::Medium as usize] > 0
    }

    fn of_json(value: &Value) -> Self {
        let count = |index: usize| value[index].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        Self(std::array::from_fn(count))
    }

    /// The number of findings of each label, by the worst severity of the label: Low stands for Low and Nit.
    #[must_use]
    pub fn by_severity(self) -> [(Severity, usize); 4] {
        let [critical, major, medium, minor] = self.0;
        [(Severity::Critical, critical), (Severity::High, major), (Severity::Medium, medium), (Severity::Low, minor)]
    }

    fn labelled(self) -> [(Label, usize); 4] {
        Label::ALL.map(|label| (label, self.0[label as usize]))
    }
}

/// The blockers since the last review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockerDelta {
    /// New blockers.
    pub n_new: usize,
    /// Blockers of the last review that are resolved.
    pub n_resolved: usize,
    /// Blockers of the last review that are suppressed now.
    pub n_dismissed: usize,
    /// Blockers of the last review that are still open.
    pub n_open: usize,
    /// True when there are new findings of any severity.
    pub has_new: bool,
    /// True when new or still open findings are of severity Medium.
    pub has_medium: bool,
    /// True when the last review had findings of severity Medium.
    pub had_medium: bool,
}

impl BlockerDelta {
    /// Counts the blockers of new, resolved and still open findings.
    #[must_use]
    pub fn of(
        new: impl IntoIterator<Item = Severity>,
        resolved: impl IntoIterator<Item = Severity>,
        still_open: impl IntoIterator<Item = Severity>,
    ) -> Self {
        let (new, resolved) = (LabelCounts::of(new), LabelCounts::of(resolved));
        let still_open = LabelCounts::of(still_open);
        Self {
            n_new: new.blocking(),
            n_resolved: resolved.blocking(),
            n_dismissed: 0,
            n_open: still_open.blocking(),
            has_new: new.total() > 0,
            has_medium: new.has_medium() || still_open.has_medium(),
            had_medium: resolved.has_medium() || still_open.has_medium(),
        }
    }

    /// The delta with these findings of the last review suppressed now.
    #[must_use]
    pub fn dismissing(self, dismissed: impl IntoIterator<Item = Severity>) -> Self {
        let dismissed = LabelCounts::of(dismissed);
        Self { n_dismissed: dismissed.blocking(), had_medium: self.had_medium || dismissed.has_medium(), ..self }
    }

    /// The name of the verdict update in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self.is_dismissed() { verdict::BLOCKERS_DISMISSED_NAME } else { self.update().as_str() }
    }

    /// True when no blocker is left because some were dismissed, and none was resolved.
    fn is_dismissed(self) -> bool {
        self.update() == VerdictUpdate::StillReady && self.n_dismissed > 0
    }

    /// The delta that a review carries in [`SINCE_LAST`]; `None` when the last review had no findings.
    #[must_use]
    pub fn stored(review: &Review) -> Option<Self> {
        let since = review.extra.get(SINCE_LAST)?;
        let list = |name: &str| since[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let by_id = |name: &str| -> Vec<Severity> {
            let ids: HashSet<FindingId> = list(name).iter().filter_map(|id| FindingId::parse(id.as_str()?)).collect();
            let named = review.findings.iter().filter(|finding| ids.contains(&finding.id));
            named.map(|finding| finding.severity).collect()
        };
        let by_value =
            |name: &str| list(name).iter().filter_map(|finding| Severity::parse_exact(finding["severity"].as_str()?));
        let has = |name: &str| !list(name).is_empty();
        let had_findings = has("resolved")
            || has("dismissed")
            || has("still_open")
            || since["withheld"].as_u64().is_some_and(|n| n > 0);
        let delta = || Self::of(by_id("new"), by_value("resolved"), by_id("still_open"));
        had_findings.then(|| delta().dismissing(by_value("dismissed")))
    }

    fn update(self) -> VerdictUpdate {
        verdict::update_of_counts(self.n_new, self.n_resolved, self.n_open)
    }
}

/// The state of a reviewed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadState {
    colour: Colour,
    label: &'static str,
    explanation: String,
    counts: LabelCounts,
    gate: Gate,
}

impl HeadState {
    /// Computes the state of a review, with the delta if it is a re-review.
    #[must_use]
    pub fn of(review: &Review, gate: Gate, delta: Option<BlockerDelta>) -> Self {
        let facts = Facts::of(review, gate);
        let (colour, label, said) = match delta {
            Some(delta) => facts.since_last(delta),
            None => facts.first_review(),
        };
        let caveats = [suppressed(review), not_agreed(review)];
        let explanation = [vec![said], caveats.into_iter().flatten().collect()].concat().join("; ");
        Self { colour, label, explanation, counts: facts.counts, gate }
    }

    /// The state of a stored review, which carries its delta. Without a gate, the default gate decides.
    #[must_use]
    pub fn stored(review: &Review, gate: Option<Gate>) -> Self {
        let gate = gate.unwrap_or_else(|| gate::check(review, FailOn::default()));
        let at_gate = review.extra.get(GATE_RESULT).and_then(|result| Self::of_gate_result(review, gate, result));
        at_gate.unwrap_or_else(|| Self::of(review, gate, BlockerDelta::stored(review)))
    }

    /// The result of the gate of the board, as a review carries it in [`GATE_RESULT`].
    #[must_use]
    pub fn gate_result(iteration: &Iteration) -> Value {
        json!({
            "outcome": iteration.outcome.as_str(),
            "counts": LabelCounts::of(iteration.findings.iter().map(|remark| remark.severity)).0,
            "criteria": iteration.compliance.in_words(),
            "unclear": iteration.compliance.n_unclear(),
        })
    }

    fn of_gate_result(review: &Review, gate: Gate, result: &Value) -> Option<Self> {
        let outcome = Outcome::parse(result["outcome"].as_str()?)?;
        let counts = LabelCounts::of_json(&result["counts"]);
        let is_unclear = result["unclear"].as_u64().is_some_and(|n| n > 0);
        let (colour, label) = at_gate(outcome, is_unclear);
        let found = in_words(&counts.labelled()).unwrap_or_else(|| "no findings".to_owned());
        let criteria = result["criteria"].as_str().map(|criteria| criteria.trim_end_matches('.').to_owned());
        let caveats = [criteria, suppressed(review), not_agreed(review)];
        let explanation = [vec![found], caveats.into_iter().flatten().collect()].concat().join("; ");
        Some(Self { colour, label, explanation, counts, gate })
    }

    /// The state after a person approved against the review.
    #[must_use]
    pub fn overridden(self, by: &Override) -> Self {
        let before = format!("{} before: {}", self.label, self.explanation);
        let explanation = format!("by {}: {}; {before}", by.who, by.reason.trim_end_matches('.'));
        Self { colour: Colour::Green, label: BY_HAND, explanation, gate: Gate::Open, ..self }
    }

    /// The colour.
    #[must_use]
    pub fn colour(&self) -> Colour {
        self.colour
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// The explanation. It quotes untrusted text (reasons of dismissals) and is not escaped.
    #[must_use]
    pub fn explanation(&self) -> &str {
        &self.explanation
    }

    /// The number of findings that count.
    #[must_use]
    pub fn counts(&self) -> LabelCounts {
        self.counts
    }

    /// The decision of the gate.
    #[must_use]
    pub fn gate(&self) -> Gate {
        self.gate
    }

    /// The line of comments and checks, escaped: `:yellow_circle: **Needs changes** -- 1 major finding …`.
    #[must_use]
    pub fn markdown(&self) -> String {
        let explanation = literal(&shown(&self.explanation, MAX_EXPLANATION));
        format!(":{}: **{}** -- {explanation}", self.colour.emoji(), self.label)
    }

    /// The line in plain text, not escaped: `Needs changes -- 1 major finding …`.
    #[must_use]
    pub fn plain(&self) -> String {
        format!("{} -- {}", self.label, self.explanation)
    }
}

/// The colour and the label of a review at the gate of the board.
#[must_use]
pub fn at_gate(outcome: Outcome, is_unclear: bool) -> (Colour, &'static str) {
    match outcome {
        Outcome::Approved if is_unclear => (Colour::Yellow, NOT_CHECKED),
        Outcome::Approved => (Colour::Green, "Approved"),
        Outcome::Rejected => (Colour::Red, "Rejected"),
        Outcome::Failed => (Colour::Yellow, "Review failed"),
    }
}

/// The facts behind a state.
struct Facts {
    counts: LabelCounts,
    gate: Gate,
    /// Why the review is partial.
    partial: Option<String>,
}

impl Facts {
    fn of(review: &Review, gate: Gate) -> Self {
        let counts = LabelCounts::of(review.findings.iter().map(|finding| finding.severity));
        Self { counts, gate, partial: partial(review, gate) }
    }

    fn blocking(&self) -> Option<String> {
        in_words(&self.counts.labelled()[..2])
    }

    fn mild(&self) -> Option<String> {
        in_words(&self.counts.labelled()[2..])
    }

    fn n_mild(&self) -> usize {
        self.counts.total() - self.counts.blocking()
    }

    fn first_review(&self) -> (Colour, &'static str, String) {
        let verdict = match self.counts.labelled().into_iter().find(|(_, n)| *n > 0) {
            Some((Label::Critical, _)) => CommentVerdict::Block,
            Some((Label::Major | Label::Medium, _)) => CommentVerdict::NeedsChanges,
            _ if self.gate == Gate::Closed => CommentVerdict::NeedsChanges,
            Some((Label::Minor, _)) => CommentVerdict::ApproveWithNotes,
            None => CommentVerdict::Approve,
        };
        let said = self.said(verdict);
        match &self.partial {
            None => (verdict.colour(), verdict.label(), said),
            Some(why) if verdict.colour() == Colour::Green => {
                (Colour::Yellow, PARTLY_REVIEWED, format!("{said}; {why}, so this is not an approval"))
            }
            Some(why) => (verdict.colour(), verdict.label(), format!("{said}; {why}")),
        }
    }

    fn said(&self, verdict: CommentVerdict) -> String {
        match (self.blocking(), self.mild()) {
            (Some(blocking), mild) => {
                let must = if self.gate == Gate::Closed {
                    " must be fixed before merging"
                } else {
                    ", which the configured gate lets pass"
                };
                let also = mild.map_or_else(String::new, |mild| format!("; also {mild}"));
                format!("{blocking}{must}{also}")
            }
            (None, Some(mild)) if self.gate == Gate::Closed => format!("{mild} must be fixed before merging"),
            (None, Some(mild)) if verdict == CommentVerdict::NeedsChanges => {
                format!("{mild} should be fixed before merging")
            }
            (None, Some(mild)) if self.partial.is_some() => format!("{mild} so far, none blocking"),
            (None, Some(mild)) => format!("{mild}, none blocking"),
            (None, None) if self.gate == Gate::Closed => "no findings, but the gate is closed".to_owned(),
            (None, None) => "no findings".to_owned(),
        }
    }

    fn since_last(&self, delta: BlockerDelta) -> (Colour, &'static str, String) {
        let update = delta.update();
        match (update, &self.partial) {
            (VerdictUpdate::NewBlockers(_) | VerdictUpdate::BlockersRemain(_), partial) => {
                let mut said = update.explanation();
                if delta.n_new > 0 && delta.n_open > 0 {
                    let _ = write!(said, "; {} blocking issue(s) still open", delta.n_open);
                }
                if self.gate != Gate::Closed {
                    said.push_str("; the configured gate lets them pass");
                }
                if let Some(why) = partial {
                    let _ = write!(said, "; {why}");
                }
                (update.colour(), update.label(), said)
            }
            (VerdictUpdate::BlockersResolved | VerdictUpdate::StillReady, _) if self.gate == Gate::Closed => {
                (Colour::Yellow, GATE_CLOSED, self.said(CommentVerdict::NeedsChanges))
            }
            (VerdictUpdate::BlockersResolved | VerdictUpdate::StillReady, Some(why)) => {
                let said = if delta.has_new { "no new blocking issues" } else { "no new issues" };
                (Colour::Yellow, PARTLY_REVIEWED, format!("{said} so far; {why}, so this is not an approval"))
            }
            (VerdictUpdate::StillReady, None) if delta.is_dismissed() => {
                let said = VerdictUpdate::BlockersResolved.explained(self.mild_findings(delta));
                (Colour::Green, BLOCKERS_DISMISSED, said)
            }
            (VerdictUpdate::BlockersResolved | VerdictUpdate::StillReady, None) => {
                update.said(self.mild_findings(delta))
            }
        }
    }

    fn mild_findings(&self, delta: BlockerDelta) -> MildFindings {
        MildFindings {
            n_mild: self.n_mild(),
            has_medium: delta.has_medium,
            has_new: delta.has_new,
            had_medium: delta.had_medium,
        }
    }
}

/// Why a review is partial: unreviewed hunks, or blocking claims without evidence.
fn partial(review: &Review, gate: Gate) -> Option<String> {
    match gate {
        Gate::Skipped => return Some("the review was skipped".to_owned()),
        Gate::Open | Gate::Closed if review.is_complete() => return None,
        Gate::Open | Gate::Closed | Gate::Partial => {}
    }
    // A reason may quote a whole sentence of a reviewer.
    let reasons: Vec<String> =
        review.incomplete_because().iter().map(|reason| reason.trim_end_matches(['.', ' ']).to_owned()).collect();
    Some(if reasons.is_empty() { "the review is incomplete".to_owned() } else { reasons.join("; ") })
}

/// `1 blocking finding suppressed by a dismissal by alice: a test fixture`.
fn suppressed(review: &Review) -> Option<String> {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for why in review.suppressed_blockers().map(|held| held.why.to_string()) {
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, n_blockers)) => *n_blockers += 1,
            None => groups.push((why, 1)),
        }
    }
    let n_more: usize = groups.iter().skip(MAX_NAMED).map(|(_, n)| n).sum();
    let mut named: Vec<String> = groups
        .iter()
        .take(MAX_NAMED)
        .map(|(why, n)| format!("{} {why}", plural(*n as u64, "blocking finding")))
        .collect();
    if n_more > 0 {
        named.push(format!("{n_more} more suppressed"));
    }
    (!named.is_empty()).then(|| named.join("; "))
}

/// `1 blocking finding not agreed`.
fn not_agreed(review: &Review) -> Option<String> {
    let n_alone = review.not_agreed_blockers().count();
    (n_alone > 0).then(|| format!("{} not agreed by enough reviewers", plural(n_alone as u64, "blocking finding")))
}
