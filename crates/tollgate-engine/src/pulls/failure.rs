//! Failures of pull requests.

use crate::failure::{Failure, Kind};

/// The pull request and its target branch have unrelated histories.
pub(super) fn no_merge_base(branch: &str) -> Failure {
    Failure::new(Kind::User, format!("the pull request and `{branch}` have no commit in common"))
        .hint("Rebase it onto its target branch.")
}

/// The repository's settings file is too large.
pub(super) fn large_settings(file: &str) -> Failure {
    crate::failure::bad_config(file, "the file is larger than 1 MiB")
}

/// A stored outbox entry cannot be parsed.
pub(super) fn unreadable_post(why: &str) -> Failure {
    Failure::new(Kind::Internal, format!("the outbox entry cannot be read: {why}"))
}
