//! Bot commands in comments.
//!
//! ```text
//! @tollgate review
//! @tollgate dismiss F003 the input is a constant
//! ```
//!
//! The mention stands at the beginning of a line of plain text: not in code, quotes, lists or HTML, and not in the middle
//! of a sentence. The first such line is the command. Permissions are checked by the caller.

mod mention;
mod parse;

/// The most characters of a reason and of an unknown command.
const MAX_REASON: usize = 1000;
const MAX_WORDS: usize = 200;

/// A bot command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Review the commits since the last review.
    Review,
    /// Review the whole change again.
    FullReview,
    /// Pause automatic reviews.
    Pause,
    /// Resume automatic reviews.
    Resume,
    /// Dismiss a finding.
    Dismiss {
        /// The finding, `F003` or a fingerprint; `None` means the finding of the thread.
        finding: Option<String>,
        /// The reason.
        reason: String,
        /// True when it holds for the whole repository: `--everywhere`.
        everywhere: bool,
    },
    /// Confirm a dismissal that an agent proposed.
    Confirm {
        /// The finding, as above.
        finding: Option<String>,
    },
    /// Reject a dismissal that an agent proposed.
    Reject {
        /// The finding, as above.
        finding: Option<String>,
    },
    /// Explain a finding.
    Explain {
        /// The finding, as above.
        finding: Option<String>,
    },
    /// List the commands.
    Help,
    /// The bot was mentioned with an unknown command.
    Unknown {
        /// The text behind the mention.
        words: String,
    },
}

impl Command {
    /// True for commands that need write access to the repository.
    #[must_use]
    pub fn needs_write(&self) -> bool {
        match self {
            Self::Review
            | Self::FullReview
            | Self::Pause
            | Self::Resume
            | Self::Dismiss { .. }
            | Self::Confirm { .. }
            | Self::Reject { .. } => true,
            Self::Explain { .. } | Self::Help | Self::Unknown { .. } => false,
        }
    }
}

/// Parses the command of a comment; `None` when it does not mention the bot. `mention` is the name behind the `@`.
#[must_use]
pub fn parse(body: &str, mention: &str) -> Option<Command> {
    let mention = mention.strip_suffix("[bot]").unwrap_or(mention);
    mention::addressed(body, mention).map(|words| parse::command(&words))
}

#[cfg(test)]
mod tests;
