//! What goes wrong with pull requests, said to a person.

use crate::failure::{Failure, Kind};

/// A pull request that has nothing in common with what it is to be merged into.
pub(super) fn no_merge_base(branch: &str) -> Failure {
    Failure::new(Kind::User, format!("the pull request and `{branch}` have no commit in common"))
        .hint("Rebase it onto the branch that it is to be merged into.")
}

/// The system gives no thread.
pub(super) fn no_thread(error: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("no thread could be started: {error}"))
}

/// A part of the program gave up.
pub(super) fn mistake() -> Failure {
    Failure::new(Kind::Internal, "the program made a mistake").hint("The server's log says where; please report it.")
}

/// The repository's own settings are too much to be settings.
pub(super) fn large_settings(file: &str) -> Failure {
    crate::failure::bad_config(file, "the file is larger than 1 MiB")
}

/// What was stored cannot be read.
pub(super) fn unreadable_post(why: &str) -> Failure {
    Failure::new(Kind::Internal, format!("what was to be posted cannot be read: {why}"))
}
