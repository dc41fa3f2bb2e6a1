//! The review pipeline: one change, from trigger to finished review.
//!
//! The stages are types: `Fetched` → `Planned` → `Observed` → `Accepted` → [`Reviewed`]. Stages that only enrich a
//! review (the author's declarations, past reviews) fail open and leave a note. The review itself fails closed: a
//! reviewer without an answer never counts as an approval.

use tollgate_core::board::Compliance;
use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::gate::{self, Gate};
use tollgate_core::intent::Intent;
use tollgate_core::path::FilePath;
use tollgate_core::policy::Policy;
use tollgate_core::report::head_state::{HeadState, SINCE_LAST};
use tollgate_core::report::summary::purpose::{self, Told};
use tollgate_core::review::Review;
use tollgate_core::visible::grouped;

use crate::failure::{self, Failure, Kind};
use crate::process;
use crate::store::{CompletedRun, RunRecord};

mod accept;
mod branch_settings;
mod cache;
mod comment;
mod fetch;
mod models;
mod observe;
mod plan;
mod preview;
mod prior;
mod request;
mod scopes;

use accept::Accepted;
use fetch::{FetchScope, Fetched};
use plan::{Plan, Planned};

pub use branch_settings::{BranchConfig, BranchSettings, branch_settings};
pub(crate) use comment::with_remembered_summary;
pub use comment::{stored_summary_text, summary_text};
pub(crate) use models::board_context;
pub use models::{ModelOptions, ReviewerRun, ReviewerStatement, SentPrompt};
pub use preview::{Preview, preview};
pub(crate) use prior::MovedDelta;
pub use prior::SinceLast;
pub use request::{GatedFeature, ImportedFindings, Memory, PullRequest, ReviewContext, ReviewRequest, Runtime};

/// Reviews one change, from trigger to finished review, and stores the review of a local change.
pub fn review_change(request: &mut ReviewRequest<'_>) -> Result<Reviewed, Failure> {
    let started = (request.runtime.clock)();
    let result = review_as_needed(request);
    process::wait_if_stopping();
    let stored = record(request, started, &result);
    let mut reviewed = result?;
    if let Err(failure) = stored {
        reviewed.add_note(&format!("this review was not stored: {}", failure.message));
    }
    Ok(reviewed)
}

/// Reviews only the files that the prior review has not seen, and all of the change where that is not enough.
fn review_as_needed(request: &mut ReviewRequest<'_>) -> Result<Reviewed, Failure> {
    // Findings of another tool are about the whole change, so all of it is needed to place them.
    if request.since_last
        && request.imported.findings.is_empty()
        && let Some(reviewed) = review(request, FetchScope::UnseenFiles)?
    {
        return Ok(reviewed);
    }
    review(request, FetchScope::AllFiles)?.ok_or_else(failure::nothing_reviewed)
}

/// Runs the stages. `None` when a rule about the change as a whole needs more files than the scope fetched.
fn review(request: &mut ReviewRequest<'_>, scope: FetchScope) -> Result<Option<Reviewed>, Failure> {
    let fetched = Fetched::fetch(request, scope)?;
    let Change { compared, files, .. } = &fetched.change;
    (request.runtime.events)(ReviewProgress::Fetched { compared, n_files: files.len() });

    let planned = match plan::plan(request, fetched)? {
        Plan::Skip(reviewed) => return Ok(Some(*reviewed)),
        Plan::Review(planned) => *planned,
    };
    let Some(observed) = observe::observe(request, &planned)? else {
        return Ok(None);
    };
    let accepted = accept::accept(request, &planned, observed);
    Ok(Some(Reviewed::new(request, planned, accepted)))
}

/// A progress event of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewProgress<'a> {
    /// The change was read.
    Fetched {
        /// Both sides of the comparison, for people.
        compared: &'a str,
        /// How many files it has.
        n_files: usize,
    },
    /// The rules scanned another file.
    Scanned {
        /// How many files are done.
        n_done: usize,
        /// How many files there are.
        n_files: usize,
    },
    /// A call to a model or agent made progress.
    ModelProgress {
        /// The name of the model or agent.
        reviewer: &'a str,
        /// What the call does now, such as `answers`.
        stage: &'a str,
        /// A file that the call is about.
        about: &'a str,
        /// How many calls are done.
        n_done: usize,
        /// How many calls there are.
        n_calls: usize,
        /// About how many tokens the models have written.
        n_tokens: u64,
    },
    /// A model or agent wrote more of its answer.
    Output {
        /// The name of the model or agent.
        reviewer: &'a str,
        /// The text, redacted.
        text: &'a str,
    },
}

impl ReviewProgress<'_> {
    /// The progress in a few words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Fetched { n_files: 0, .. } => "reading the change".to_owned(),
            Self::Fetched { n_files, .. } => format!("reviewed 0 of {n_files} files"),
            Self::Scanned { n_done, n_files } => format!("reviewed {n_done} of {n_files} files"),
            Self::ModelProgress { reviewer, stage, about, n_done, n_calls, n_tokens } => {
                let calls = if *n_calls == 1 { String::new() } else { format!(", {n_done} of {n_calls} calls done") };
                let tokens = if *n_tokens == 0 { String::new() } else { format!(", {} tokens", grouped(*n_tokens)) };
                format!("{reviewer} {stage}: {about}{calls}{tokens}")
            }
            Self::Output { reviewer, .. } => format!("{reviewer} answers"),
        }
    }
}

/// What a change is for, in a few sentences. Untrusted text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Purpose {
    /// The whole change.
    pub(crate) whole: Option<String>,
    /// The commits since the last reviewed head.
    pub(crate) since_last: Option<String>,
}

impl Purpose {
    fn of(request: &ReviewRequest<'_>, planned: &Planned, models: &models::ModelResults) -> Self {
        let summaries: Vec<&str> = models.stated.iter().filter_map(|stated| stated.summary.as_deref()).collect();
        let title = request.title.or(planned.change.title.as_deref());
        let whole = Told { title, body: request.body, commits: &planned.commit_subjects, reviewers: &summaries };
        let since = Told { commits: planned.commits_since_last(), reviewers: &summaries, ..Told::default() };
        let files = &planned.change.files;
        Self { whole: purpose::purpose(&whole, files), since_last: purpose::since_last(&since, files) }
    }
}

/// A change and its review. A change without files has a review without findings.
#[derive(Debug)]
pub struct Reviewed {
    /// The change.
    pub change: Change,
    /// The review.
    pub review: Review,
    /// Whether the change may pass.
    pub gate: Gate,
    /// The declarations of the author.
    pub intent: Intent,
    /// The policy that the review followed.
    pub policy: Policy,
    /// The delta to the prior review; `None` when there was none.
    pub since: Option<SinceLast>,
    /// What the change is for.
    pub(crate) purpose: Purpose,
    /// Calls, tokens and cost of each model and agent.
    pub runs: Vec<ReviewerRun>,
    /// Whether each acceptance criterion is met, as its reviewers say; unclear where none does.
    pub compliance: Compliance,
    /// Statements of models and agents about passing, in the order of their calls. The verdict does not follow from them.
    pub stated: Vec<ReviewerStatement>,
    /// The prompts that were sent, or would have been.
    pub sent: Vec<SentPrompt>,
    /// How many lines the change adds in all.
    n_added: usize,
    /// The snapshot of the change, for the next review to compare with.
    snapshot: Vec<u8>,
}

impl Reviewed {
    fn new(request: &ReviewRequest<'_>, planned: Planned, accepted: Accepted) -> Self {
        let purpose = Purpose::of(request, &planned, &accepted.models);
        let Planned { change, intent, policy, history, .. } = planned;
        let Accepted { findings, withheld, coverage, since, compliance, models, notes } = accepted;
        let mut review = Review {
            title: request.title.map(str::to_owned).or_else(|| change.title.clone()),
            reviewed: change.head.clone(),
            base: change.base.clone(),
            compared: Some(change.compared.clone()),
            files_reviewed: files_reviewed(&coverage),
            findings,
            withheld,
            coverage: Some(coverage),
            doubts: models.doubts,
            re_review_required: false,
            notes: (!notes.is_empty()).then(|| notes.join("\n")),
            extra: serde_json::Map::new(),
        };
        if let Some(since) = since.as_ref().filter(|since| request.since_last || since.had_findings()) {
            review.extra.insert(SINCE_LAST.to_owned(), since.to_json(&review));
        }
        if !models.runs.is_empty() {
            let runs = models.runs.iter().map(ReviewerRun::to_json).collect();
            review.extra.insert(prior::REVIEWERS.to_owned(), serde_json::Value::Array(runs));
        }
        let gate = gate::check(&review, request.settings.fail_on);
        Self {
            change,
            review,
            gate,
            intent,
            policy,
            since,
            purpose,
            runs: models.runs,
            compliance,
            stated: models.stated,
            sent: models.sent,
            n_added: history.snapshot.n_added(),
            snapshot: history.snapshot.to_bytes(),
        }
    }

    /// A review that was not made, since the title says so. Nothing in it reads as an approval.
    fn skipped(change: Change, intent: Intent, policy: Policy) -> Self {
        let not_reviewed =
            |file: FilePath| CoveredHunk { file, lines: None, status: HunkStatus::NotReviewed(SKIPPED.to_owned()) };
        let hunks = change.files.iter().map(|file| not_reviewed(FilePath::of_repo_path(file.path()))).collect();
        let review = Review {
            title: change.title.clone(),
            reviewed: change.head.clone(),
            base: change.base.clone(),
            compared: Some(change.compared.clone()),
            files_reviewed: Vec::new(),
            findings: Vec::new(),
            withheld: Vec::new(),
            coverage: Some(Coverage { hunks }),
            doubts: Vec::new(),
            re_review_required: false,
            notes: Some(SKIPPED.to_owned()),
            extra: serde_json::Map::new(),
        };
        Self {
            change,
            review,
            gate: Gate::Skipped,
            intent,
            policy,
            since: None,
            purpose: Purpose::default(),
            runs: Vec::new(),
            compliance: Compliance::default(),
            stated: Vec::new(),
            sent: Vec::new(),
            n_added: 0,
            snapshot: Vec::new(),
        }
    }

    /// The review as the store takes it.
    pub fn completed(&self) -> CompletedRun {
        CompletedRun {
            review: self.review.clone(),
            gate: self.gate,
            n_added: self.n_added,
            snapshot: self.snapshot.clone(),
            prior: self.since.as_ref().map(|since| since.run),
            new: self.since.as_ref().map(|since| since.new.clone()),
        }
    }

    /// The state of the head.
    pub fn state(&self) -> HeadState {
        HeadState::stored(&self.review, Some(self.gate))
    }

    /// Appends a note for people.
    pub fn add_note(&mut self, note: &str) {
        let notes = self.review.notes.get_or_insert_default();
        if !notes.is_empty() {
            notes.push('\n');
        }
        notes.push_str(note);
    }

    /// True when there was nothing to review and the prior review had no findings to compare with.
    fn is_about_nothing(&self) -> bool {
        self.change.is_empty() && !self.since.as_ref().is_some_and(SinceLast::had_findings)
    }
}

/// The text of a review that was skipped because of the title of its change.
pub const SKIPPED: &str = "Review skipped per `[no-review]` in PR title.";

/// Stores the result of a local review. A skipped or empty review is not stored; gates and pull requests store their own.
fn record(request: &mut ReviewRequest<'_>, started: u64, result: &Result<Reviewed, Failure>) -> Result<(), Failure> {
    let (Memory::Open(store), Some(subject)) = (&mut request.runtime.memory, &request.subject) else {
        return Ok(());
    };
    if request.context != ReviewContext::Local || request.models.only_print {
        return Ok(());
    }
    let time = (started, (request.runtime.clock)());
    let record = match result {
        Ok(reviewed) if reviewed.gate == Gate::Skipped || reviewed.is_about_nothing() => return Ok(()),
        // A cancelled review is incomplete on purpose; stored, it would count as the prior review.
        Ok(_) if request.models.cancel.is_cancelled() => return Ok(()),
        Ok(reviewed) => RunRecord::completed(reviewed.completed(), subject.clone(), time),
        // The request itself was wrong, so no review took place.
        Err(failure) if matches!(failure.kind, Kind::User | Kind::Config) => return Ok(()),
        Err(failure) => RunRecord::failed(&failure.message, subject.clone(), time),
    };
    store.record(&record).map(drop)
}

fn files_reviewed(coverage: &Coverage) -> Vec<FilePath> {
    let reviewed = coverage.hunks.iter().filter(|covered| covered.status == HunkStatus::Reviewed);
    let mut files: Vec<FilePath> = reviewed.map(|covered| covered.file.clone()).collect();
    files.dedup();
    files
}
