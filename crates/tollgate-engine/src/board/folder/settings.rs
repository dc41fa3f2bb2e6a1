//! Reads and edits `settings.json` and `pipeline.json` of a project, preserving foreign keys.

use std::path::Path;

use tollgate_core::board::document::{self, Step};
use tollgate_core::board::{Document, DocumentError};

use super::edit::{self, EditError, ReplaceMode};
use super::{Folder, failure};
use crate::failure::Failure;
use crate::tree::dir_handle::DirHandle;

pub(super) const SETTINGS: &str = "settings.json";
const PIPELINE: &str = "pipeline.json";

impl Folder {
    /// The pipeline steps after the gate, in order, and the errors of `pipeline.json`.
    pub fn steps(&self) -> (Vec<Step>, Vec<String>) {
        match self.root().map(|root| edit::load(&root, PIPELINE, edit::HALF_WRITTEN)) {
            Ok(Ok(loaded)) => document::steps(&loaded.document),
            Ok(Err(EditError::Missing)) => (Vec::new(), Vec::new()),
            Ok(Err(error)) => (Vec::new(), vec![format!("`{PIPELINE}` cannot be read: {error}")]),
            Err(failure) => (Vec::new(), vec![failure.message]),
        }
    }

    /// Reads the project's `settings.json`, if it exists.
    pub fn settings(&self) -> Result<Option<Document>, Failure> {
        let root = self.root()?;
        match edit::load(&root, SETTINGS, edit::HALF_WRITTEN) {
            Ok(loaded) => Ok(Some(loaded.document)),
            Err(EditError::Missing) => Ok(None),
            Err(error) => Err(failure::broken(&root.path().join(SETTINGS), &error.to_string())),
        }
    }

    /// Edits the project's `settings.json`, which is created if missing.
    pub fn update_settings(
        &self,
        edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
    ) -> Result<Document, Failure> {
        update_in(&self.root()?, SETTINGS, edit)
    }
}

/// Edits a JSON file in another directory, such as `settings.json` of the data directory; created if missing.
pub(crate) fn update_file(
    folder: &Path,
    name: &str,
    edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
) -> Result<Document, Failure> {
    let handle = DirHandle::open(folder).map_err(|error| failure::unreadable(folder, &error))?;
    update_in(&handle, name, edit)
}

fn update_in(
    handle: &DirHandle,
    name: &str,
    edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
) -> Result<Document, Failure> {
    let unwritable = |error: EditError| failure::unwritable(&handle.path().join(name), &error);
    let refused = |document: &mut Document| edit(document).map_err(EditError::Refused);
    // Repeated once, in case another process created the file meanwhile.
    for _ in 0..2 {
        match edit::update(handle, name, &refused, ReplaceMode::Exchange) {
            Err(EditError::Missing) => {}
            other => return other.map(|loaded| loaded.document).map_err(unwritable),
        }
        let mut document = Document::new([("version", "1")]).map_err(|error| unwritable(EditError::Refused(error)))?;
        refused(&mut document).map_err(unwritable)?;
        if edit::create(handle, name, &document).map_err(unwritable)? {
            return Ok(document);
        }
    }
    Err(unwritable(EditError::Contended))
}
