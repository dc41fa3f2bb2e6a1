//! The projection of the database into the feature folders.
//!
//! Review files are written first, then `feature.json`, which names them. A file newer than the row is left alone, so
//! concurrent writers do no harm.

use tollgate_core::board::code_review_spec::{self, CodeReviewSpec, DiffRef};
use tollgate_core::board::machine::{Status, Work};
use tollgate_core::board::{Document, DocumentError, FeatureId, Iteration};
use tollgate_core::report;

use super::folder::{Attachment, Folder};
use super::{Board, import, iso};
use crate::failure::Failure;
use crate::store::board::{FeatureRow, IterationRow, ProjectRow, Projected};

impl Board {
    /// Writes a feature's row into its folder, if the file is behind.
    pub(super) fn write_files(&self, project: &ProjectRow, id: &FeatureId) -> Result<(), Failure> {
        let Some(row) = self.database().feature(project.id, id)? else { return Ok(()) };
        if row.projected_rev >= row.rev || row.broken.is_some() {
            return Ok(());
        }
        let folder = self.folder(project)?;
        let iterations = self.standing_iterations(project.id, id)?;
        let mut shown = Vec::new();
        for stored in iterations {
            let diff = self.write_review(&folder, &row, &stored)?;
            shown.push((stored.iteration, diff));
        }
        let written = self.review_json(&row, &shown);
        let at = iso(self.now());
        let held = folder.update(id, &|document| {
            if import::rev(document).is_some_and(|rev| rev > row.rev) {
                return Ok(());
            }
            put(document, &row, written.as_deref(), &at)
        })?;
        let projected = Projected { document: held.document.to_bytes(), hash: held.hash };
        self.database().mark_projected(project.id, id, row.rev, Some(projected))
    }

    /// The valid reviews of a feature: the last one of each iteration, without outdated ones.
    pub(super) fn standing_iterations(&self, project: i64, id: &FeatureId) -> Result<Vec<IterationRow>, Failure> {
        let mut standing: Vec<IterationRow> = Vec::new();
        for row in self.database().iterations(project, id)? {
            standing.retain(|earlier| earlier.iteration.number != row.iteration.number);
            if !row.iteration.outdated {
                standing.push(row);
            }
        }
        Ok(standing)
    }

    /// Writes the files of one review and returns its diff reference for `feature.json`.
    fn write_review(&self, folder: &Folder, row: &FeatureRow, stored: &IterationRow) -> Result<DiffRef, Failure> {
        let number = stored.iteration.number;
        let title = row.facts.display_title();
        let text = report::iteration::render(title, &stored.iteration, self.settings().pipeline.rounds);
        write_changed(folder, &row.id, Attachment::Review(number), text.as_bytes())?;
        let diff = match &stored.diff {
            Some(hash) => self.database().diff(hash)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let shown = DiffRef::of(&diff, number);
        if shown.file.is_some() {
            write_changed(folder, &row.id, Attachment::Diff(number), &diff)?;
        }
        Ok(shown)
    }

    fn review_json(&self, row: &FeatureRow, iterations: &[(Iteration, DiffRef)]) -> Option<String> {
        let at = iso(row.updated_ms);
        let spec = CodeReviewSpec {
            state: &row.state,
            max: self.settings().pipeline.rounds,
            iterations,
            paused_at: row.state.pause.is_some().then_some(&*at),
            review_started_at: (row.state.work == Work::Reviewing).then_some(&*at),
            rev: row.rev,
        };
        code_review_spec::write(&spec).map(|value| value.to_string())
    }
}

/// Writes a file if its content differs.
fn write_changed(folder: &Folder, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
    match folder.head(id, what, bytes.len() + 1) {
        Ok(Some(present)) if present == bytes => Ok(()),
        _ => folder.write(id, what, bytes),
    }
}

/// Writes the state of a feature into its document, and nothing else.
fn put(document: &mut Document, row: &FeatureRow, written: Option<&str>, at: &str) -> Result<(), DocumentError> {
    let state = &row.state;
    if let Some(branch) = row.branch.as_deref().filter(|_| document.branch().is_none()) {
        document.set_text("branchName", branch)?;
    }
    let was_waiting = document.status() == Status::WaitingApproval;
    if document.status() != state.status {
        document.set_text("status", &state.status.to_string())?;
    }
    if state.status == Status::WaitingApproval && !was_waiting {
        document.set_text("justFinishedAt", at)?;
    } else if state.status != Status::WaitingApproval {
        document.remove("justFinishedAt");
    }
    if let Some(written) = written {
        document.set_raw("codeReviewSpec", written)?;
    }
    document.set_text("updatedAt", at)
}
