//! The sidebar of a review: description, history, coverage.

use std::collections::BTreeMap;

use tollgate_core::board::{Met, criteria};
use tollgate_core::coverage::HunkStatus;

use super::Loaded;
use crate::pages::words::{self, count, sentence};
use crate::view::record::{HistoryEntry, ReviewerUsage, RunDetails};

/// The most that is listed of what happened, and of hunks.
const AT_ONCE: usize = 50;
/// Longer texts are folded.
const SHORT: usize = 1_200;

/// Something that was asked for.
pub(super) struct Criterion {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) kind: &'static str,
    pub(super) icon: &'static str,
    pub(super) answer: &'static str,
    pub(super) evidence: String,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) at: String,
    pub(super) words: String,
    pub(super) by: String,
    pub(super) note: String,
    pub(super) kind: &'static str,
}

impl Moment {
    /// When, to people.
    pub(super) fn when(&self) -> String {
        words::moment(&self.at)
    }
}

pub(super) struct Coverage {
    pub(super) n_reviewed: usize,
    pub(super) n_skipped: usize,
    pub(super) n_missed: usize,
    /// Hunks that were not reviewed, with the reason.
    pub(super) missed: Vec<(String, String)>,
    /// Hunks that a rule skips or that an earlier review has seen, with the reason, and their number in words.
    pub(super) skipped: Vec<(String, String)>,
    skipped_in_words: String,
    /// Files that were looked at, each with how many hunks.
    pub(super) files: Vec<(String, String)>,
    pub(super) n_more_files: usize,
    pub(super) reviewers: Vec<ReviewerUsage>,
    pub(super) compared: String,
    pub(super) run: i64,
}

impl Coverage {
    /// How much of it, in a sentence.
    pub(super) fn in_words(&self) -> String {
        let all = self.n_reviewed + self.n_skipped + self.n_missed;
        if self.n_missed > 0 {
            format!("{} of {} not looked at", self.n_missed, count(all as u64, "hunk"))
        } else if self.n_skipped > 0 {
            format!("{} looked at, {}", count(self.n_reviewed as u64, "hunk"), self.skipped_in_words)
        } else {
            let all_of = if all == 1 { "" } else { "all " };
            format!("{all_of}{} looked at", count(all as u64, "hunk"))
        }
    }

    pub(super) fn cost(&self, asked: &ReviewerUsage) -> String {
        asked.cost_usd.map(words::cost).unwrap_or_default()
    }
}

/// A text of the feature.
pub(super) struct Text {
    pub(super) title: &'static str,
    pub(super) text: String,
    pub(super) is_long: bool,
}

/// What the agent said last.
pub(super) struct Output {
    pub(super) iteration: u32,
    pub(super) text: String,
    /// Where in all of it this begins and ends, in bytes.
    pub(super) from: u64,
    pub(super) next: u64,
    pub(super) is_running: bool,
}

/// Everything beside the review.
pub(super) struct About {
    pub(super) criteria: Vec<Criterion>,
    /// True when a review answered them.
    pub(super) is_checked: bool,
    pub(super) timeline: Vec<Moment>,
    pub(super) n_earlier: usize,
    pub(super) coverage: Option<Coverage>,
    pub(super) texts: Vec<Text>,
    pub(super) notes: Vec<String>,
    pub(super) output: Option<Output>,
    /// The review that has an audit; there is none before the first.
    pub(super) audit: Option<u32>,
}

impl About {
    pub(super) fn new(loaded: &Loaded, is_all: bool) -> Self {
        let shown = loaded.shown();
        let mut timeline = timeline(loaded);
        let n_earlier = if is_all { 0 } else { timeline.len().saturating_sub(AT_ONCE) };
        timeline.truncate(timeline.len() - n_earlier);
        let feature = &loaded.feature;
        let text = |title, text: &str| Text { title, text: text.to_owned(), is_long: text.len() > SHORT };
        let texts = [
            Some(text("Description", &feature.description)),
            feature.spec.as_ref().map(|it| text("Specification", it)),
        ];
        Self {
            criteria: criteria_of(loaded),
            is_checked: shown.is_some_and(|review| !review.compliance.criteria.is_empty()),
            timeline,
            n_earlier,
            coverage: loaded.run.as_ref().map(coverage),
            texts: texts.into_iter().flatten().filter(|text| !text.text.trim().is_empty()).collect(),
            notes: shown.map(|review| review.notes.clone()).unwrap_or_default(),
            output: output(loaded),
            audit: shown.map(|review| review.number),
        }
    }
}

impl About {
    /// How many criteria are met, in words.
    pub(super) fn criteria_in_words(&self) -> String {
        let n = |answer: &str| self.criteria.iter().filter(|criterion| criterion.answer == answer).count();
        match self.criteria.len() {
            0 => "none".to_owned(),
            all if !self.is_checked => format!("{all}, not checked yet"),
            all => {
                let rest = ["not met", "unclear"].into_iter().filter(|answer| n(answer) > 0);
                let rest: String = rest.map(|answer| format!(", {} {answer}", n(answer))).collect();
                format!("{} of {all} met{rest}", n("met"))
            }
        }
    }

    pub(super) fn coverage_in_words(&self) -> String {
        self.coverage.as_ref().map_or_else(|| "nothing yet".to_owned(), Coverage::in_words)
    }

    pub(super) fn timeline_in_words(&self) -> String {
        count((self.timeline.len() + self.n_earlier) as u64, "event")
    }

    /// True when something was not looked at.
    pub(super) fn has_gaps(&self) -> bool {
        self.coverage.as_ref().is_some_and(|coverage| coverage.n_missed > 0)
    }
}

fn criteria_of(loaded: &Loaded) -> Vec<Criterion> {
    let feature = &loaded.feature;
    if let Some(review) = loaded.shown().filter(|review| !review.compliance.criteria.is_empty()) {
        let view = |(criterion, met): &(tollgate_core::board::Criterion, Met)| {
            let (kind, icon, answer, evidence) = match met {
                Met::Yes { evidence } => ("ok", "✔", "met", Some(evidence)),
                Met::No { evidence } => ("bad", "✖", "not met", Some(evidence)),
                Met::Unclear { evidence } => ("muted", "?", "unclear", evidence.as_ref()),
            };
            let (id, text) = (criterion.id.clone(), criterion.text.clone());
            Criterion { id, text, kind, icon, answer, evidence: evidence.cloned().unwrap_or_default() }
        };
        return review.compliance.criteria.iter().map(view).collect();
    }
    let asked = criteria::read(&feature.description, feature.spec.as_deref().unwrap_or_default());
    let view = |criterion: tollgate_core::board::Criterion| Criterion {
        id: criterion.id,
        text: criterion.text,
        kind: "muted",
        icon: "○",
        answer: "not checked yet",
        evidence: String::new(),
    };
    asked.into_iter().map(view).collect()
}

/// The history of the feature, newest first, with the decisions about its findings.
fn timeline(loaded: &Loaded) -> Vec<Moment> {
    let of_step = |step: &HistoryEntry| Moment {
        at: step.at.clone(),
        words: happened(step),
        by: if ["tollgate", "file"].contains(&step.by.as_str()) { String::new() } else { step.by.clone() },
        note: step.note.clone().unwrap_or_default(),
        kind: kind(&step.event),
    };
    let mut moments: Vec<Moment> = loaded.history.iter().map(of_step).collect();
    let found = loaded.reviews.iter().flat_map(|review| review.findings.iter().chain(&review.late));
    let found: Vec<_> = found.collect();
    let ours = loaded.dismissals.iter().filter(|dismissed| found.iter().any(|remark| dismissed.covers(remark)));
    moments.extend(ours.map(|dismissed| Moment {
        at: dismissed.at.clone(),
        words: match dismissed.is_proposal() {
            true => format!("an agent proposed to dismiss a finding: {}", dismissed.title),
            false => format!("a finding was dismissed: {}", dismissed.title),
        },
        by: dismissed.by.clone().unwrap_or_default(),
        note: dismissed.reason.clone(),
        kind: "muted",
    }));
    // Times as the API writes them are in the order of their texts.
    moments.sort_by(|one, other| one.at.cmp(&other.at));
    moments.reverse();
    moments
}

fn happened(step: &HistoryEntry) -> String {
    let words = match step.event.as_str() {
        "start" => "started",
        "stop" => "stopped",
        "resume" => "resumed",
        "approve" => "approved by hand",
        "send_back" => "sent back to the agent",
        "retry" => "tried again",
        "shelve" => "put into the backlog",
        "complete" => "completed",
        "edited" => "moved by its file",
        "agent_started" => "an agent began",
        "agent_done" => "the agent was done",
        "agent_failed" => "the agent failed",
        "interrupted" => "the server ended while the agent was at work",
        "over_budget" => "the budget was used up",
        "committed" => "its work was committed",
        "nothing_changed" => "the agent had changed nothing",
        "hook_refused" => "a hook of the project refused the commit",
        "commit_failed" => "the commit failed",
        "approved" => "the review approved it",
        "rejected" => "the review sent it back",
        "review_failed" => "the review brought no answer",
        "review_refused" => "the review failed, and is not repeated by itself",
        "main_changed" => "the agent changed the main checkout",
        "head_moved" => "its branch was moved by a commit from outside",
        "step_done" => "a step was done",
        "step_failed" => "a step failed",
        "step_committed" => "what a step changed was committed",
        "added" | "created" => "added to the board",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}

fn kind(event: &str) -> &'static str {
    match event {
        "approve" | "approved" | "complete" => "ok",
        "rejected" | "agent_failed" | "commit_failed" | "step_failed" | "hook_refused" => "bad",
        "review_failed" | "over_budget" | "interrupted" | "nothing_changed" | "send_back" => "warn",
        _ => "muted",
    }
}

fn coverage(run: &RunDetails) -> Coverage {
    let mut skipped = Vec::new();
    let mut files: BTreeMap<&str, u64> = BTreeMap::new();
    let stored = tollgate_core::coverage::Coverage { hunks: run.hunks.clone().unwrap_or_default() };
    for hunk in &stored.hunks {
        let place = match hunk.lines {
            Some(lines) if lines.start() == lines.end() => format!("{}:{}", hunk.file, lines.start()),
            Some(lines) => format!("{}:{}–{}", hunk.file, lines.start(), lines.end()),
            None => hunk.file.to_string(),
        };
        match &hunk.status {
            HunkStatus::Reviewed => *files.entry(hunk.file.as_str()).or_default() += 1,
            HunkStatus::Skipped(rule) => skipped.push((place, rule.clone())),
            HunkStatus::NotReviewed(_) => {}
        }
    }
    // One reason for many files, such as a failed call, is said once.
    let mut missed: Vec<_> =
        stored.not_reviewed().iter().map(|group| (group.in_words(), sentence(group.why))).collect();
    let n_missed = stored.count().not_reviewed;
    let n_reviewed = usize::try_from(files.values().sum::<u64>()).unwrap_or(usize::MAX);
    let (n_skipped, n_files) = (skipped.len(), files.len());
    missed.truncate(AT_ONCE);
    skipped.truncate(AT_ONCE);
    let files = files.into_iter().take(AT_ONCE).map(|(file, n)| (file.to_owned(), count(n, "hunk")));
    Coverage {
        n_reviewed,
        n_skipped,
        n_missed,
        missed,
        skipped,
        skipped_in_words: stored.skipped_in_words().unwrap_or_default(),
        files: files.collect(),
        n_more_files: n_files.saturating_sub(AT_ONCE),
        reviewers: run.reviewers.clone(),
        compared: run.compared.clone(),
        run: run.run,
    }
}

fn output(loaded: &Loaded) -> Option<Output> {
    let (iteration, from, output) = loaded.output.as_ref()?;
    if output.text.is_empty() && !output.is_open {
        return None;
    }
    let (text, next) = (output.text.clone(), output.next);
    Some(Output { iteration: *iteration, text, from: *from, next, is_running: output.is_open })
}
