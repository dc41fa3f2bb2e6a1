//! The audit trail of a review: transcripts of its reviewers, dismissals of its findings, exports.
//!
//! Everything here is about finished reviews. Dismissing a finding changes none of them: the next review withholds it,
//! and says so.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use tollgate_core::board::agent_prompt::{self, History, PriorWork, Task};
use tollgate_core::board::feature_event::FeatureEvent;
use tollgate_core::board::{Document, FeatureId, Iteration, Remark, criteria};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::suppress::Dismissal;
use tollgate_core::visible::grouped;
use tollgate_rules::text::mask;

use super::work::{self, boundary};
use super::{Board, Part, Refused, announce};
use crate::failure::Failure;
use crate::history::{self, Export};
use crate::party::Party;
use crate::reviewer::recording::{self, RecordedExchange};
use crate::store::board::{IterationRow, ProjectRow};
use crate::store::{DismissalRow, NewDismissal, Run};

/// The maximum number of attempts shown, the last ones.
const MAX_TRIES: usize = 3;
/// The maximum number of exchanges per attempt.
const MAX_TOLD: usize = 50;
/// The maximum size of a transcript that is read.
const MAX_RECORD: u64 = 16 * 1024 * 1024;
/// The maximum size of a text in a transcript.
const MAX_TEXT: usize = 256 * 1024;

/// The transcripts of an iteration's reviewers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Audit {
    /// The attempts at the review, oldest first.
    pub tries: Vec<ReviewAttempt>,
    /// The number of older attempts.
    pub n_older: usize,
}

/// The transcript of one attempt at a review.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewAttempt {
    /// The file of the transcript.
    pub file: PathBuf,
    /// The exchanges, in order.
    pub told: Vec<RecordedExchange>,
    /// The number of omitted exchanges.
    pub n_more: usize,
    /// The error that prevented reading it.
    pub problem: Option<String>,
}

/// A request to dismiss a finding of a review.
#[derive(Debug, Clone)]
pub struct DismissRequest<'a> {
    /// The iteration of the review.
    pub iteration: u32,
    /// The id of the finding in it, e.g. `F003`.
    pub finding: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// The party that asks; the dismissal of an agent is only proposed.
    pub party: Party,
    /// True when it is to hold for the whole repository, not only for the feature.
    pub everywhere: bool,
}

impl Board {
    /// The stored run of a review; `None` for a failed or empty one.
    pub fn run_of(&self, project: i64, id: &FeatureId, number: u32) -> Result<Option<Run>, Refused> {
        let row = self.iteration(project, id, number)?;
        Ok(row.run.map(|run| self.database().review_run(run)).transpose()?.flatten())
    }

    /// The transcripts of an iteration's reviewers. Empty when only rules ran.
    pub fn audit(&self, project: i64, id: &FeatureId, number: u32) -> Result<Audit, Refused> {
        self.iteration(project, id, number)?;
        let mut files = records(&self.records(project, id), number);
        files.sort_unstable();
        let n_older = files.len().saturating_sub(MAX_TRIES);
        let tries = files.into_iter().skip(n_older).map(|(_, file)| read_try(file)).collect();
        Ok(Audit { tries, n_older })
    }

    /// The dismissals of a project, oldest first, then the ones that agents propose.
    pub fn dismissals(&self, project: i64) -> Result<Vec<DismissalRow>, Refused> {
        let repository = repository(&self.project(project)?);
        let mut rows = self.database().dismissals(&repository)?;
        rows.extend(self.database().proposals(&repository)?);
        Ok(rows)
    }

    /// The dismissals that hold for a feature, and the ones that agents propose for it.
    pub fn dismissals_of(&self, project: i64, id: &FeatureId) -> Result<Vec<DismissalRow>, Refused> {
        let subject = work::subject(&self.project(project)?, id);
        Ok(self.dismissals(project)?.into_iter().filter(|row| row.is_for(&subject.name)).collect())
    }

    /// Dismisses a finding for as long as its code stays the same. The dismissal of an agent is only proposed.
    pub fn dismiss(&self, project: i64, id: &FeatureId, request: &DismissRequest<'_>) -> Result<DismissalRow, Refused> {
        let row = self.iteration(project, id, request.iteration)?;
        let remark = find(&row, request.finding).ok_or_else(|| Refused::NoFinding(request.finding.to_owned()))?;
        let dismissal = dismissal(remark, request.reason).map_err(Refused::Invalid)?;
        self.store_dismissal(project, id, dismissal, &request.party, request.everywhere)
    }

    /// Confirms the dismissal of a finding that an agent proposed.
    pub fn confirm(
        &self,
        project: i64,
        id: &FeatureId,
        fingerprint: Fingerprint,
        who: &str,
    ) -> Result<DismissalRow, Refused> {
        let proposals = self.dismissals_of(project, id)?.into_iter().filter(|row| row.is_proposal);
        let mut named = proposals.filter(|row| row.dismissal.fingerprint == fingerprint);
        let proposal = named.next().ok_or_else(|| no_proposal(fingerprint))?;
        let everywhere = proposal.subject.is_none();
        self.store_dismissal(project, id, proposal.dismissal, &Party::Person(who.to_owned()), everywhere)
    }

    /// Rejects the dismissal of a finding that an agent proposed.
    pub fn reject_proposal(
        &self,
        project: i64,
        id: &FeatureId,
        fingerprint: Fingerprint,
        who: &str,
    ) -> Result<(), Refused> {
        self.feature(project, id)?;
        let project = self.project(project)?;
        let (subject, events) = (work::subject(&project, id), vec![self.changed(&project, id)]);
        let was_there = self.database().reject_proposal(&subject, fingerprint, (who, self.now()), events)?;
        if was_there { Ok(()) } else { Err(no_proposal(fingerprint)) }
    }

    fn store_dismissal(
        &self,
        project: i64,
        id: &FeatureId,
        dismissal: Dismissal,
        party: &Party,
        everywhere: bool,
    ) -> Result<DismissalRow, Refused> {
        let project = self.project(project)?;
        let (subject, events) = (work::subject(&project, id), vec![self.changed(&project, id)]);
        let new = NewDismissal { dismissal, party: party.clone(), subject, everywhere };
        Ok(self.database().dismiss(new, self.now(), events)?)
    }

    /// Withdraws a dismissal; false when there is none.
    pub fn withdraw(&self, project: i64, id: &FeatureId, fingerprint: Fingerprint) -> Result<bool, Refused> {
        self.feature(project, id)?;
        let project = self.project(project)?;
        let (subject, events) = (work::subject(&project, id), vec![self.changed(&project, id)]);
        Ok(self.database().withdraw(&subject, fingerprint, self.now(), events)?)
    }

    /// Exports a review in a format.
    pub fn export(&self, project: i64, id: &FeatureId, number: u32, form: Export) -> Result<String, Refused> {
        let run = self.run_of(project, id, number)?;
        let Some((review, gate)) = run.and_then(|run| Some((run.review?, run.gate))) else {
            return Err(Refused::Invalid(format!("iteration {number} ended without a review that could be exported")));
        };
        let gate = gate.as_deref().and_then(Gate::parse);
        let files = match form {
            Export::Html => tollgate_core::diff::parse(self.diff(project, id, number, Part::Whole)?).0,
            Export::Markdown | Export::Json | Export::Sarif => Vec::new(),
        };
        Ok(history::export(&review, &mask::mask_files(&files), gate, form))
    }

    /// The findings of a review as a prompt for an agent: all that are not dismissed, or one of them.
    pub fn prompt(&self, project: i64, id: &FeatureId, number: u32, finding: Option<&str>) -> Result<String, Refused> {
        let (feature, row) = (self.feature(project, id)?, self.iteration(project, id, number)?);
        if let Some(finding) = finding
            && find(&row, finding).is_none()
        {
            return Err(Refused::NoFinding(finding.to_owned()));
        }
        let mut dismissals = self.dismissals_of(project, id)?;
        dismissals.retain(|row| !row.is_proposal);
        let is_wanted = |remark: &Remark| match finding {
            Some(finding) => is_called(remark, finding),
            None => !dismissals.iter().any(|row| is_dismissed(&row.dismissal, remark)),
        };
        let earlier = self.standing_iterations(project, id)?.into_iter().map(|row| row.iteration);
        let mut reviews: Vec<Iteration> = earlier.filter(|review| review.number <= number).collect();
        for review in &mut reviews {
            review.findings.retain(|remark| is_wanted(remark));
            review.late.retain(|remark| is_wanted(remark));
        }
        if finding.is_some()
            && let Some(current) = reviews.pop()
        {
            reviews = vec![alone(current)];
        }
        let document = Document::parse(&feature.document).ok();
        let text = |read: fn(&Document) -> Option<String>| document.as_ref().and_then(read).unwrap_or_default();
        let (description, spec) = (text(|document| Some(document.description())), text(Document::spec));
        let criteria = if finding.is_some() { Vec::new() } else { criteria::read(&description, &spec) };
        let title = feature.facts.display_title();
        let boundary = boundary();
        let (note, hook, prior_work) = (None, None, PriorWork::Nothing);
        let (description, spec) = (&*description, &*spec);
        let images = document.as_ref().map(Document::image_paths).unwrap_or_default();
        let task = Task {
            title,
            description,
            spec,
            criteria: &criteria,
            // A person pastes this into a session in the project, where the agent reads the guidance itself.
            context: &[],
            images: &images,
            note,
            hook,
            prior_work,
            boundary: &boundary,
        };
        Ok(agent_prompt::fix(&task, &History { reviews: &reviews, agent_output: "" }))
    }

    fn changed(&self, project: &ProjectRow, id: &FeatureId) -> crate::store::board::NewEvent {
        announce::event(project.id, &project.path.to_string_lossy(), id, &FeatureEvent::Changed)
    }
}

fn no_proposal(fingerprint: Fingerprint) -> Refused {
    Refused::NoProposal(fingerprint.to_string())
}

/// True when a dismissal covers a remark and its current code.
fn is_dismissed(dismissal: &Dismissal, remark: &Remark) -> bool {
    let print = dismissal.fingerprint.to_string();
    let is_it = remark.identity.as_ref().is_some_and(|identity| identity.has(&print));
    let evidence = remark.evidence.as_deref().unwrap_or_default();
    is_it && dismissal.evidence.split_whitespace().eq(evidence.split_whitespace())
}

/// The name of the project's repository in stored reviews.
pub(super) fn repository(project: &ProjectRow) -> String {
    project.path.to_string_lossy().into_owned()
}

fn find<'a>(row: &'a IterationRow, finding: &str) -> Option<&'a Remark> {
    row.iteration.findings.iter().chain(&row.iteration.late).find(|remark| is_called(remark, finding))
}

fn is_called(remark: &Remark, finding: &str) -> bool {
    remark.identity.as_ref().is_some_and(|identity| identity.id == finding)
}

fn dismissal(remark: &Remark, reason: &str) -> Result<Dismissal, String> {
    let evidence = remark.evidence.clone().unwrap_or_default();
    Dismissal::parse(remark.file.as_deref().unwrap_or_default(), &remark.title, evidence, reason.to_owned(), "")
}

/// A review reduced to its findings.
fn alone(mut review: Iteration) -> Iteration {
    review.findings.append(&mut review.late);
    review.compliance.criteria.clear();
    review.reason = None;
    review.summary.clear();
    review
}

/// The transcripts of an iteration, each with its attempt number.
fn records(folder: &Path, number: u32) -> Vec<(i64, PathBuf)> {
    // A missing directory means that there are no transcripts.
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let of_it = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_prefix(&format!("review-{number}-"))?.strip_suffix(".jsonl")?;
        Some((name.parse().ok()?, entry.path()))
    };
    entries.flatten().filter_map(of_it).collect()
}

fn read_try(file: PathBuf) -> ReviewAttempt {
    match read_record(&file) {
        Ok(mut told) => {
            let n_more = told.len().saturating_sub(MAX_TOLD);
            told.truncate(MAX_TOLD);
            for one in &mut told {
                shorten(one);
            }
            ReviewAttempt { file, told, n_more, problem: None }
        }
        Err(problem) => ReviewAttempt { file, told: Vec::new(), n_more: 0, problem: Some(problem) },
    }
}

fn read_record(file: &Path) -> Result<Vec<RecordedExchange>, String> {
    let mut bytes = Vec::new();
    let mut reading = File::open(file).map_err(|error| format!("the record cannot be read: {error}"))?;
    let read = reading.by_ref().take(MAX_RECORD + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the record cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_RECORD {
        return Err(format!("the record is larger than {} bytes", grouped(MAX_RECORD)));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (recording, _) = recording::read(&name, &bytes).map_err(|Failure { message, .. }| message)?;
    Ok(recording.exchanges())
}

fn shorten(told: &mut RecordedExchange) {
    let texts = [&mut told.system, &mut told.question];
    let reply = match &mut told.reply {
        Ok(reply) => &mut reply.text,
        Err(problem) => problem,
    };
    for text in texts.into_iter().chain([reply]) {
        if text.len() > MAX_TEXT {
            let n_bytes = text.len();
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            let (kept, all) = (grouped(text.len() as u64), grouped(n_bytes as u64));
            text.push_str(&format!("\n[cut: {kept} of {all} bytes]"));
        }
    }
}

#[cfg(test)]
mod tests;
