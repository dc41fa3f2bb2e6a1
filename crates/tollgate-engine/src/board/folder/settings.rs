//! `settings.json` and `pipeline.json` of a project, in which little is ours.

use std::path::Path;

use tollgate_core::board::document::{self, Step};
use tollgate_core::board::{Document, DocumentError};

use super::edit::{self, Trouble, Way};
use super::place::Place;
use super::{Folder, failure};
use crate::failure::Failure;

pub(super) const SETTINGS: &str = "settings.json";
const PIPELINE: &str = "pipeline.json";

impl Folder {
    /// The steps behind the gate, in order, and what of `pipeline.json` could not be read.
    #[must_use]
    pub fn steps(&self) -> (Vec<Step>, Vec<String>) {
        match self.root().map(|root| edit::load(&root, PIPELINE, edit::HALF_WRITTEN)) {
            Ok(Ok(loaded)) => document::steps(&loaded.document),
            Ok(Err(Trouble::Missing)) => (Vec::new(), Vec::new()),
            Ok(Err(trouble)) => (Vec::new(), vec![format!("`{PIPELINE}` cannot be read: {trouble}")]),
            Err(failure) => (Vec::new(), vec![failure.message]),
        }
    }

    /// The project's `settings.json`; none when there is none.
    pub fn settings(&self) -> Result<Option<Document>, Failure> {
        let root = self.root()?;
        match edit::load(&root, SETTINGS, edit::HALF_WRITTEN) {
            Ok(loaded) => Ok(Some(loaded.document)),
            Err(Trouble::Missing) => Ok(None),
            Err(trouble) => Err(failure::broken(&root.path().join(SETTINGS), &trouble.to_string())),
        }
    }

    /// Edits the project's `settings.json`, which is made if it is missing.
    pub fn update_settings(
        &self,
        edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
    ) -> Result<Document, Failure> {
        update_in(&self.root()?, SETTINGS, edit)
    }
}

/// Edits a JSON file of the operator's own folder, as `settings.json` of the server's data; made if it is missing.
pub fn update_file(
    folder: &Path,
    name: &str,
    edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
) -> Result<Document, Failure> {
    let place = Place::open(folder).map_err(|error| failure::unreadable(folder, &error))?;
    update_in(&place, name, edit)
}

fn update_in(
    place: &Place,
    name: &str,
    edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
) -> Result<Document, Failure> {
    let unwritable = |trouble: Trouble| failure::unwritable(&place.path().join(name), &trouble);
    let refused = |document: &mut Document| edit(document).map_err(Trouble::Refused);
    // Once more, for the case that somebody made the file meanwhile.
    for _ in 0..2 {
        match edit::update(place, name, &refused, Way::Exchange) {
            Err(Trouble::Missing) => {}
            other => return other.map(|loaded| loaded.document).map_err(unwritable),
        }
        let mut document = Document::new([("version", "1")]).map_err(|error| unwritable(Trouble::Refused(error)))?;
        refused(&mut document).map_err(unwritable)?;
        if edit::create(place, name, &document).map_err(unwritable)? {
            return Ok(document);
        }
    }
    Err(unwritable(Trouble::Contended))
}
