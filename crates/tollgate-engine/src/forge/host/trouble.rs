//! Why a host did not do what it was asked, and whether asking again makes sense.

use std::fmt;

use crate::failure::{Failure, Kind};

/// Why a host did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    /// What kind of trouble it is.
    pub trouble: Trouble,
    /// What was tried and what came of it, for people; never with a secret.
    pub message: String,
}

/// The kinds of trouble, by what can be done about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It is not there, or we may not know.
    NotFound,
    /// We may not do this.
    Forbidden,
    /// Our token is not (or no longer) good.
    Unauthorized,
    /// The request was understood and refused: the host's own words.
    Invalid(Vec<String>),
    /// Too much was asked; not before this many milliseconds from now.
    Limited {
        /// How long to wait.
        wait_ms: u64,
    },
    /// It may have been done or not: the answer did not arrive, or was an error after the fact. Look before trying again.
    Unclear,
    /// It was surely not done, and may be later.
    Unavailable,
    /// The answer makes no sense.
    Nonsense,
}

impl HostError {
    /// An error of some kind.
    #[must_use]
    pub fn new(trouble: Trouble, message: impl Into<String>) -> Self {
        Self { trouble, message: message.into() }
    }

    /// True when the same may work a while later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self.trouble,
            Trouble::Unauthorized
                | Trouble::Limited { .. }
                | Trouble::Unclear
                | Trouble::Unavailable
                | Trouble::Nonsense
        )
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HostError {}

impl HostError {
    /// The same, said to a person.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        let failure = Failure::new(Kind::External, self.message);
        match self.trouble {
            Trouble::Unauthorized => failure.hint("Check the token or key: it may be wrong or no longer good."),
            Trouble::Forbidden => failure.hint("Check what the token or app may do in this repository."),
            Trouble::NotFound => failure.hint("Check the address, and that the token may see the repository."),
            Trouble::Limited { .. } | Trouble::Unclear | Trouble::Unavailable => failure.hint("Try again later."),
            Trouble::Invalid(_) | Trouble::Nonsense => failure,
        }
    }
}
