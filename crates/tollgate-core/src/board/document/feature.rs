//! The few keys of `feature.json` that mean something here. What is missing or of another kind has a harmless meaning.

use super::{Document, DocumentError};
use crate::board::FeatureId;
use crate::board::machine::Status;

impl Document {
    /// The feature's name.
    pub fn id(&self) -> Result<FeatureId, DocumentError> {
        let id = self.text("id").ok_or(DocumentError::NoId)?;
        FeatureId::parse(&id).map_err(DocumentError::BadId)
    }

    /// What people call it, if there is something to call it by.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.text("title").filter(|title| !title.trim().is_empty())
    }

    /// What it is about; empty when nobody said.
    #[must_use]
    pub fn description(&self) -> String {
        self.text("description").unwrap_or_default()
    }

    /// Its column; one without is in the backlog.
    #[must_use]
    pub fn status(&self) -> Status {
        self.text("status").map_or(Status::Backlog, |word| Status::parse(&word))
    }

    /// What it has to satisfy.
    #[must_use]
    pub fn spec(&self) -> Option<String> {
        self.text("spec").filter(|spec| !spec.trim().is_empty())
    }

    /// The branch it is built on, if it has one of its own.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        self.text("branchName").filter(|name| !name.is_empty())
    }

    /// The features that must be done before, as they are written: what is no name of a feature is never done.
    #[must_use]
    pub fn dependencies(&self) -> Vec<String> {
        self.texts("dependencies")
    }

    /// True when a person looks at it in the end, which is so unless the file says otherwise.
    #[must_use]
    pub fn skip_tests(&self) -> bool {
        self.flag("skipTests").unwrap_or(true)
    }

    /// The model that works on it.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        self.text("model").filter(|model| !model.is_empty())
    }

    /// How much it matters: 1 is high, 3 is low, 2 what is not said.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.number("priority")
            .and_then(|number| u8::try_from(number).ok())
            .filter(|n| (1..=3).contains(n))
            .unwrap_or(2)
    }

    /// Where it belongs.
    #[must_use]
    pub fn category(&self) -> Option<String> {
        self.text("category").filter(|category| !category.is_empty())
    }
}
