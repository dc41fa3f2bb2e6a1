//! Artifacts of a feature: reviewed diffs, review texts and agent transcripts.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::PoisonError;

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Work;
use tollgate_core::report;

use super::folder::{Attachment, Broken};
use super::{Board, Refused};
use crate::failure::Failure;
use crate::lock::Lock;
use crate::store::board::{IterationRow, ProjectRow};

/// The maximum size of one chunk of a transcript.
const MAX_OUTPUT: usize = 1024 * 1024;

/// The diff of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole feature.
    Whole,
    /// The changes since the prior review.
    Delta,
}

/// A chunk of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The text from the requested offset on.
    pub text: String,
    /// The offset after the text, in bytes.
    pub next: u64,
    /// True when there is more, or the agent still runs.
    pub is_open: bool,
}

impl Board {
    /// The valid review of an iteration.
    pub fn iteration(&self, project: i64, id: &FeatureId, number: u32) -> Result<IterationRow, Refused> {
        self.feature(project, id)?;
        let standing = self.standing_iterations(project, id)?;
        standing.into_iter().find(|row| row.iteration.number == number).ok_or(Refused::NoReview(number))
    }

    /// The reviewed diff.
    pub fn diff(&self, project: i64, id: &FeatureId, number: u32, part: Part) -> Result<Vec<u8>, Refused> {
        let row = self.iteration(project, id, number)?;
        let diff = row.change(part).map(|hash| self.database().diff(&hash)).transpose()?;
        Ok(diff.flatten().unwrap_or_default())
    }

    /// The Markdown text of a review.
    pub fn review_text(&self, project: i64, id: &FeatureId, number: u32) -> Result<String, Refused> {
        let (feature, row) = (self.feature(project, id)?, self.iteration(project, id, number)?);
        let title = feature.facts.display_title();
        Ok(report::iteration::render(title, &row.iteration, self.settings().pipeline.rounds))
    }

    /// The transcript of an iteration from an offset on.
    pub fn output(&self, project: i64, id: &FeatureId, number: u32, from: u64) -> Result<Output, Refused> {
        let row = self.feature(project, id)?;
        let folder = self.folder(&self.project(project)?)?;
        let is_running = row.state.iteration == number && matches!(row.state.work, Work::Implementing | Work::Stepping);
        let Some(bytes) = folder.after(id, Attachment::Output(number), from, MAX_OUTPUT)? else {
            return Ok(Output { text: String::new(), next: from, is_open: is_running });
        };
        let n_whole = whole_characters(&bytes);
        let next = from.saturating_add(n_whole as u64);
        let is_open = is_running || bytes.len() == MAX_OUTPUT;
        Ok(Output { text: String::from_utf8_lossy(&bytes[..n_whole]).into_owned(), next, is_open })
    }

    /// The end of a transcript from the start of a line on, and its offset.
    pub fn last_output(
        &self,
        project: i64,
        id: &FeatureId,
        number: u32,
        max_bytes: usize,
    ) -> Result<(u64, Output), Refused> {
        let row = self.feature(project, id)?;
        let folder = self.folder(&self.project(project)?)?;
        let is_open = row.state.iteration == number && matches!(row.state.work, Work::Implementing | Work::Stepping);
        let (start, bytes) = folder.end(id, Attachment::Output(number), max_bytes)?.unwrap_or_default();
        let next = start.saturating_add(whole_characters(&bytes) as u64);
        let n_cut = if start == 0 { 0 } else { bytes.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1) };
        let text = bytes.get(n_cut..whole_characters(&bytes)).unwrap_or_default();
        let text = String::from_utf8_lossy(text).into_owned();
        Ok((start.saturating_add(n_cut as u64), Output { text, next, is_open }))
    }

    /// True when a worker of this machine runs the jobs of the board, so that it takes over a project added just now.
    pub fn has_worker(&self) -> bool {
        let Ok(file) = File::options().read(true).write(true).open(self.worker_file()) else { return false };
        matches!(Lock::exclusive(file), Ok(Err(_)))
    }

    /// Marks this process as a worker of the board for as long as the lock is held; several processes can be.
    pub(super) fn announce_worker(&self) -> io::Result<Option<Lock>> {
        let file = File::options().create(true).truncate(false).read(true).write(true).open(self.worker_file())?;
        Ok(Lock::shared(file)?.ok())
    }

    /// The file that workers lock: beside the SQLite file, or in the data directory for a database elsewhere.
    fn worker_file(&self) -> PathBuf {
        match self.database().place().file() {
            Some(file) => file.with_extension("worker"),
            None => self.home().data.join("tollgate.worker"),
        }
    }

    /// True when a worker runs the jobs of the project.
    pub fn is_kept(&self, project: &ProjectRow) -> Result<bool, Failure> {
        // Only the other machine itself can tell.
        if self.is_here(project) { Ok(self.folder(project)?.is_kept()) } else { Ok(true) }
    }

    /// The feature folders of a project that could not be read, by name.
    pub fn broken(&self, project: i64) -> Vec<Broken> {
        let known = self.inner.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_project = known.iter().filter(|((of, _), _)| *of == project);
        let mut broken: Vec<Broken> =
            of_project.map(|((_, name), why)| Broken { name: name.clone(), why: why.clone() }).collect();
        broken.sort_by(|one, other| one.name.cmp(&other.name));
        broken
    }

    /// Records or clears the error of a feature folder.
    pub(super) fn note_broken(&self, project: i64, name: &str, why: Option<&str>) {
        let mut known = self.inner.broken.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => known.insert((project, name.to_owned()), why.to_owned()),
            None => known.remove(&(project, name.to_owned())),
        };
    }
}

impl IterationRow {
    /// The hash of a diff of this iteration.
    pub(super) fn change(&self, part: Part) -> Option<[u8; 32]> {
        match part {
            Part::Whole => self.diff,
            // The first review has no prior one, so its delta is the whole diff.
            Part::Delta => self.delta.or(self.diff),
        }
    }
}

/// The number of bytes before an incomplete UTF-8 character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let is_start = |&byte: &u8| byte & 0b1100_0000 != 0b1000_0000;
    let tail = bytes.iter().rev().take(4).position(is_start).map_or(0, |position| position + 1);
    let start = bytes.len() - tail;
    match std::str::from_utf8(&bytes[start..]) {
        Err(error) if error.error_len().is_none() => start,
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: usize) {
        assert_eq!(whole_characters(bytes), expected, "{bytes:x?}");
    }

    #[test]
    fn a_character_that_is_cut_off_waits_for_its_rest() {
        check(b"", 0);
        check(b"abc", 3);
        check("aé".as_bytes(), 3);
        check(&"aé".as_bytes()[..2], 1);
        check(&"a🦀".as_bytes()[..4], 1);
        check("a🦀".as_bytes(), 5);
    }

    #[test]
    fn invalid_utf8_is_not_held_back() {
        check(b"a\xff", 2);
        check(b"a\x80\x80\x80\x80\x80", 6);
    }
}
