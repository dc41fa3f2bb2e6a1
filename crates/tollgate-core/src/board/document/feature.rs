//! Typed access to the keys of `feature.json`. A missing value or one of another type reads as its default.

use super::{Document, DocumentError, unquote};
use crate::board::FeatureId;
use crate::board::machine::Status;

impl Document {
    /// The id of the feature.
    pub fn id(&self) -> Result<FeatureId, DocumentError> {
        let id = self.text("id").ok_or(DocumentError::NoId)?;
        FeatureId::parse(&id).map_err(DocumentError::BadId)
    }

    /// The title, unless it is blank.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.text("title").filter(|title| !title.trim().is_empty())
    }

    /// The description; empty when it is missing.
    #[must_use]
    pub fn description(&self) -> String {
        self.text("description").unwrap_or_default()
    }

    /// The status; the backlog when it is missing.
    #[must_use]
    pub fn status(&self) -> Status {
        self.text("status").map_or(Status::Backlog, |word| Status::parse(&word))
    }

    /// The specification, unless it is blank.
    #[must_use]
    pub fn spec(&self) -> Option<String> {
        self.text("spec").filter(|spec| !spec.trim().is_empty())
    }

    /// The branch of the feature, if it has one of its own.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        self.text("branchName").filter(|name| !name.is_empty())
    }

    /// The features this one depends on, unparsed: an invalid id is a dependency that is never met.
    #[must_use]
    pub fn dependencies(&self) -> Vec<String> {
        self.texts("dependencies")
    }

    /// True when the feature requires manual approval, which is the default.
    #[must_use]
    pub fn skip_tests(&self) -> bool {
        self.flag("skipTests").unwrap_or(true)
    }

    /// The model of the coding agent.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        self.text("model").filter(|model| !model.is_empty())
    }

    /// The priority: 1 is high, 3 is low, 2 is the default.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.number("priority")
            .and_then(|number| u8::try_from(number).ok())
            .filter(|n| (1..=3).contains(n))
            .unwrap_or(2)
    }

    /// The paths of the images that belong to the description, as they are written.
    #[must_use]
    pub fn image_paths(&self) -> Vec<String> {
        let path = |item: &&str| match item.as_bytes().first() {
            Some(b'{') => Self::parse(item.as_bytes()).ok()?.text("path"),
            _ => unquote(item),
        };
        let paths = self.items("imagePaths");
        paths.iter().filter_map(path).filter(|path| !path.trim().is_empty()).collect()
    }

    /// The category on the board.
    #[must_use]
    pub fn category(&self) -> Option<String> {
        self.text("category").filter(|category| !category.is_empty())
    }
}
