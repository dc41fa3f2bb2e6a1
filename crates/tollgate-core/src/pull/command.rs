//! What people tell the bot in comments.
//!
//! ```text
//! @tollgate review
//! @tollgate dismiss F003 the input is a constant
//! ```
//!
//! The name stands at the beginning of a line of plain text: not in code, quotes, lists or HTML, and not in the middle
//! of a sentence. The first such line is the command, the others are talk. Whether somebody may say it is not known
//! here.

mod line;
mod words;

/// The most characters of a reason, and of words that mean nothing, that are kept.
const MAX_REASON: usize = 1000;
const MAX_WORDS: usize = 200;

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

/// Reads the command in a comment; `None` when nobody spoke to the bot. `mention` is its name behind the `@`.
#[must_use]
pub fn parse(body: &str, mention: &str) -> Option<Command> {
    let mention = mention.strip_suffix("[bot]").unwrap_or(mention);
    line::addressed(body, mention).map(|words| words::understand(&words))
}

#[cfg(test)]
mod tests;
