//! How a review came about, what was decided about its findings, and what can be taken away from it.
//!
//! Everything here is about reviews that are over. Dismissing a finding changes none of them: the next review leaves it
//! out, and says so.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use tollgate_core::board::brief::{self, Begun, History, Task};
use tollgate_core::board::wire::Announced;
use tollgate_core::board::{Document, FeatureId, Iteration, Remark, criteria};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::suppress::Dismissal;
use tollgate_core::visible::grouped;
use tollgate_rules::text::mask;

use super::work::boundary;
use super::{Board, Part, Refused, announce};
use crate::failure::Failure;
use crate::history::{self, Export};
use crate::reviewer::tape::{self, Told};
use crate::store::board::{IterationRow, ProjectRow};
use crate::store::{DismissalRow, Run};

/// The most tries at a review that are shown, the last ones.
const MAX_TRIES: usize = 3;
/// The most exchanges of one try that are shown.
const MAX_TOLD: usize = 50;
/// A larger record is only named.
const MAX_RECORD: u64 = 16 * 1024 * 1024;
/// The most bytes of one text of a record that are shown.
const MAX_TEXT: usize = 256 * 1024;

/// What reviewers were asked in an iteration and what they said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Audit {
    /// The tries at the review, oldest first.
    pub tries: Vec<Try>,
    /// How many older ones there are.
    pub n_older: usize,
}

/// One try at a review.
#[derive(Debug, Clone, PartialEq)]
pub struct Try {
    /// The file with all of it.
    pub file: PathBuf,
    /// What was asked and said, in order.
    pub told: Vec<Told>,
    /// How many exchanges are left out.
    pub n_more: usize,
    /// Why it cannot be shown, if it cannot.
    pub problem: Option<String>,
}

impl Board {
    /// The stored run behind a review; `None` for one that brought no answer, or had nothing to look at.
    pub fn run_of(&self, project: i64, id: &FeatureId, number: u32) -> Result<Option<Run>, Refused> {
        let row = self.iteration(project, id, number)?;
        Ok(row.run.map(|run| self.database().review_run(run)).transpose()?.flatten())
    }

    /// What reviewers were asked in an iteration and what they said. Empty when nobody but the rules looked.
    pub fn audit(&self, project: i64, id: &FeatureId, number: u32) -> Result<Audit, Refused> {
        self.iteration(project, id, number)?;
        let mut files = records(&self.records(project, id), number);
        files.sort_unstable();
        let n_older = files.len().saturating_sub(MAX_TRIES);
        let tries = files.into_iter().skip(n_older).map(|(_, file)| read_try(file)).collect();
        Ok(Audit { tries, n_older })
    }

    /// What is dismissed in a project by its people, oldest first.
    pub fn dismissals(&self, project: i64) -> Result<Vec<DismissalRow>, Refused> {
        let project = self.project(project)?;
        Ok(self.database().dismissals(&repository(&project))?)
    }

    /// A person has looked at a finding, and it is not to count while its code is the same.
    pub fn dismiss(
        &self,
        project: i64,
        id: &FeatureId,
        place: (u32, &str),
        who: &str,
        reason: &str,
    ) -> Result<DismissalRow, Refused> {
        let (number, finding) = place;
        let row = self.iteration(project, id, number)?;
        let remark = find(&row, finding).ok_or_else(|| Refused::NoFinding(finding.to_owned()))?;
        let dismissal = dismissal(remark, reason.trim()).map_err(Refused::Invalid)?;
        let project = self.project(project)?;
        let (now, events) = (self.now(), vec![self.changed(&project, id)]);
        self.database().dismiss(&repository(&project), dismissal.clone(), who, now, events)?;
        Ok(DismissalRow { dismissal, who: Some(who.to_owned()), made_ms: now })
    }

    /// A person wants to hear again of what was dismissed; false when it was not.
    pub fn withdraw(&self, project: i64, id: &FeatureId, fingerprint: Fingerprint) -> Result<bool, Refused> {
        self.feature(project, id)?;
        let project = self.project(project)?;
        let events = vec![self.changed(&project, id)];
        Ok(self.database().withdraw(&repository(&project), fingerprint, self.now(), events)?)
    }

    /// A review in the form of a file.
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
        Ok(history::export(&review, &mask::files(&files), gate, form))
    }

    /// The findings of a review as a task for an agent: all that are not dismissed, or one of them.
    pub fn prompt(&self, project: i64, id: &FeatureId, number: u32, finding: Option<&str>) -> Result<String, Refused> {
        let (feature, row) = (self.feature(project, id)?, self.iteration(project, id, number)?);
        if let Some(finding) = finding
            && find(&row, finding).is_none()
        {
            return Err(Refused::NoFinding(finding.to_owned()));
        }
        let dismissals = self.dismissals(project)?;
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
        let title = if feature.facts.title.is_empty() { &feature.facts.first_line } else { &feature.facts.title };
        let boundary = boundary();
        let (note, hook, begun) = (None, None, Begun::No);
        let (description, spec) = (&*description, &*spec);
        let task = Task { title, description, spec, criteria: &criteria, note, hook, begun, boundary: &boundary };
        Ok(brief::fix(&task, &History { reviews: &reviews, agent_output: "" }))
    }

    fn changed(&self, project: &ProjectRow, id: &FeatureId) -> crate::store::board::NewEvent {
        announce::event(project.id, &project.path.to_string_lossy(), id, &Announced::Changed)
    }
}

/// True when a dismissal speaks of a remark, and of the code as it stands there.
fn is_dismissed(dismissal: &Dismissal, remark: &Remark) -> bool {
    let print = dismissal.fingerprint.to_string();
    let is_it = remark.identity.as_ref().is_some_and(|identity| identity.fingerprint == print);
    let evidence = remark.evidence.as_deref().unwrap_or_default();
    is_it && dismissal.evidence.split_whitespace().eq(evidence.split_whitespace())
}

/// What the gate calls the repository of a project.
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

/// A review that says nothing beside its findings.
fn alone(mut review: Iteration) -> Iteration {
    review.findings.append(&mut review.late);
    review.compliance.criteria.clear();
    review.reason = None;
    review.summary.clear();
    review
}

/// The records of an iteration, each with the number of its try.
fn records(folder: &Path, number: u32) -> Vec<(i64, PathBuf)> {
    // A folder that is not there holds no records; who looks learns that there are none.
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let of_it = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_prefix(&format!("review-{number}-"))?.strip_suffix(".jsonl")?;
        Some((name.parse().ok()?, entry.path()))
    };
    entries.flatten().filter_map(of_it).collect()
}

fn read_try(file: PathBuf) -> Try {
    match read_record(&file) {
        Ok(mut told) => {
            let n_more = told.len().saturating_sub(MAX_TOLD);
            told.truncate(MAX_TOLD);
            for one in &mut told {
                shorten(one);
            }
            Try { file, told, n_more, problem: None }
        }
        Err(problem) => Try { file, told: Vec::new(), n_more: 0, problem: Some(problem) },
    }
}

fn read_record(file: &Path) -> Result<Vec<Told>, String> {
    let mut bytes = Vec::new();
    let mut reading = File::open(file).map_err(|error| format!("the record cannot be read: {error}"))?;
    let read = reading.by_ref().take(MAX_RECORD + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the record cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_RECORD {
        return Err(format!("the record is larger than {} bytes", grouped(MAX_RECORD)));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (tape, _) = tape::read(&name, &bytes).map_err(|Failure { message, .. }| message)?;
    Ok(tape.told())
}

fn shorten(told: &mut Told) {
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
