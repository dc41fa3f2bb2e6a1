//! What people tell the bot in comments.
//!
//! ```text
//! @tollgate review
//! @tollgate dismiss F003 the input is a constant
//! ```

/// What the bot is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Review what is new.
    Review,
    /// Review all of the change, as if for the first time.
    FullReview,
    /// No more reviews by themselves.
    Pause,
    /// Reviews by themselves again.
    Resume,
    /// A finding is not wanted.
    Dismiss {
        /// Which: `F003`, or a fingerprint; `None` in the thread of a finding, which is meant then.
        finding: Option<String>,
        /// Why.
        reason: String,
    },
    /// More about a finding.
    Explain {
        /// Which, as above.
        finding: Option<String>,
    },
    /// What can be said.
    Help,
    /// The bot was spoken to in words that mean nothing to it.
    Unknown {
        /// The words.
        words: String,
    },
}

impl Command {
    /// True for what changes something, which only those may do who may write to the repository.
    #[must_use]
    pub fn needs_write(&self) -> bool {
        match self {
            Self::Review | Self::FullReview | Self::Pause | Self::Resume | Self::Dismiss { .. } => true,
            Self::Explain { .. } | Self::Help | Self::Unknown { .. } => false,
        }
    }
}
