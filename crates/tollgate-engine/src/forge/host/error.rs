//! Errors of a code host, classified by whether a retry makes sense.

use std::fmt;

use crate::failure::{Failure, Kind};

/// An error of a code host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    /// The class of the error.
    pub kind: HostErrorKind,
    /// The failed call and its cause, for people; secrets are redacted.
    pub message: String,
}

/// The classes of errors, by the possible remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostErrorKind {
    /// Not found, or not visible to us.
    NotFound,
    /// Permission denied.
    Forbidden,
    /// The token is invalid or expired.
    Unauthorized,
    /// The request was rejected: the host's messages.
    Invalid(Vec<String>),
    /// The rate limit was reached.
    Limited {
        /// How long to back off.
        wait_ms: u64,
    },
    /// The outcome is unknown: the response did not arrive, or failed after the write. Look before a retry.
    Unclear,
    /// The request had no effect and may succeed later.
    Unavailable,
    /// The response cannot be understood.
    Nonsense,
}

impl HostError {
    /// An error of a class.
    pub fn new(kind: HostErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// True for transient errors, after which a retry may succeed.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.kind,
            HostErrorKind::Unauthorized
                | HostErrorKind::Limited { .. }
                | HostErrorKind::Unclear
                | HostErrorKind::Unavailable
                | HostErrorKind::Nonsense
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
    /// Converts the error into a failure with a hint.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        let failure = Failure::new(Kind::External, self.message);
        match self.kind {
            HostErrorKind::Unauthorized => failure.hint("Check the token or key: it may be wrong or expired."),
            HostErrorKind::Forbidden => failure.hint("Check the permissions of the token or app in this repository."),
            HostErrorKind::NotFound => failure.hint("Check the address, and that the token can read the repository."),
            HostErrorKind::Limited { .. } | HostErrorKind::Unclear | HostErrorKind::Unavailable => {
                failure.hint("Try again later.")
            }
            HostErrorKind::Invalid(_) | HostErrorKind::Nonsense => failure,
        }
    }
}
