//! The retention of stored data.
//!
//! ```toml
//! [retention]
//! reviews = 365
//! events = 7
//! ```
//!
//! In days; 0 keeps data forever. Only the operator may set it: a repository's own file cannot have data deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::within;

/// The retention of stored data, in days. Never set in a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionPart {
    /// Reviews with their findings, unless an open pull request or feature needs them.
    #[serde(deserialize_with = "within::<_, 0, 36_500>")]
    #[schemars(range(max = 36_500))]
    pub reviews: Option<u64>,
    /// The diffs of finished features.
    #[serde(deserialize_with = "within::<_, 0, 36_500>")]
    #[schemars(range(max = 36_500))]
    pub diffs: Option<u64>,
    /// Deliveries of GitHub, and outbox entries that were published.
    // GitHub redelivers for three days, so the ids of deliveries must be kept as long for deduplication.
    #[serde(deserialize_with = "within::<_, 3, 36_500>")]
    #[schemars(range(min = 3, max = 36_500))]
    pub deliveries: Option<u64>,
    /// Events of the event log.
    #[serde(deserialize_with = "within::<_, 0, 36_500>")]
    #[schemars(range(max = 36_500))]
    pub events: Option<u64>,
    /// Closed pull requests.
    #[serde(deserialize_with = "within::<_, 0, 36_500>")]
    #[schemars(range(max = 36_500))]
    pub pulls: Option<u64>,
}

/// The retention of stored data, in days; 0 for forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Reviews with their findings, unless an open pull request or feature needs them.
    pub reviews: u64,
    /// The diffs of finished features.
    pub diffs: u64,
    /// Deliveries of GitHub, and outbox entries that were published.
    pub deliveries: u64,
    /// Events of the event log.
    pub events: u64,
    /// Closed pull requests.
    pub pulls: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { reviews: 0, diffs: 0, deliveries: 30, events: 7, pulls: 0 }
    }
}

impl Retention {
    pub(super) fn take(&mut self, part: &RetentionPart) {
        self.reviews = part.reviews.unwrap_or(self.reviews);
        self.diffs = part.diffs.unwrap_or(self.diffs);
        self.deliveries = part.deliveries.unwrap_or(self.deliveries);
        self.events = part.events.unwrap_or(self.events);
        self.pulls = part.pulls.unwrap_or(self.pulls);
    }

    pub(super) fn shown(&self) -> [(&'static str, String); 5] {
        [
            ("retention.reviews", self.reviews.to_string()),
            ("retention.diffs", self.diffs.to_string()),
            ("retention.deliveries", self.deliveries.to_string()),
            ("retention.events", self.events.to_string()),
            ("retention.pulls", self.pulls.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, load_at};

    fn own(text: &str) -> Result<Retention, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tollgate")).unwrap();
        std::fs::write(folder.path().join("tollgate/config.toml"), text).unwrap();
        let settings = load_at(None, Some(folder.path()), &[], Layer::default());
        settings.map(|settings| settings.retention).map_err(|failure| failure.message)
    }

    #[test]
    fn reviews_are_kept_for_ever_unless_somebody_says_otherwise() {
        assert_eq!(own("").unwrap(), Retention::default());
        assert_eq!(Retention::default().reviews, 0);
        let set = own("[retention]\nreviews = 365\ndeliveries = 3\npulls = 90\n").unwrap();
        assert_eq!(set, Retention { reviews: 365, deliveries: 3, pulls: 90, ..Retention::default() });
        for wrong in ["reviews = -1", "events = 36501", "deliveries = 0", "deliveries = 2", "runs = 1"] {
            assert!(own(&format!("[retention]\n{wrong}\n")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_repository_cannot_have_anything_forgotten() {
        let failure = load_at(Some(b"[retention]\nreviews = 1\n".into()), None, &[], Layer::default()).unwrap_err();
        assert!(failure.message.contains("`retention` cannot be set in a repository"), "{}", failure.message);
    }
}
