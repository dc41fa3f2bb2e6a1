//! Failures of the project folder.

use std::io;
use std::path::Path;

use super::edit::EditError;
use crate::failure::{Failure, Kind};

pub(super) fn bad_name(name: &str) -> Failure {
    Failure::new(Kind::Config, format!("`{name}` cannot be the name of a project folder"))
        .hint("Set `pipeline.dir` to one name without slashes, as in `.automaker`.")
}

pub(super) fn no_folder(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("there is no folder `{}`", path.display()))
        .hint("Run `tollgate project add PATH` to make the project's folders.")
}

pub(super) fn is_link(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is a symbolic link, which is not followed", path.display()))
        .hint("Put the folder itself there; a link could lead anywhere.")
}

pub(super) fn not_a_folder(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not a folder", path.display()))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    crate::failure::unreadable(path, error)
}

pub(super) fn no_feature(id: &str) -> Failure {
    Failure::new(Kind::User, format!("there is no feature `{id}`")).hint("`tollgate feature list` lists the features.")
}

pub(super) fn feature_exists(id: &str) -> Failure {
    Failure::new(Kind::User, format!("there is a feature `{id}` already"))
}

pub(super) fn held(path: &Path, pid: &str) -> Failure {
    let who = if pid.is_empty() { "another process".to_owned() } else { format!("process {pid}") };
    Failure::new(Kind::User, format!("{who} already works on the features of `{}`", path.display()))
        .hint("One server works on a project at a time: end the other one, or use it.")
}

pub(super) fn full_trash(path: &Path) -> Failure {
    Failure::new(Kind::External, format!("`{}` has no room for another feature of that name", path.display()))
        .hint("Empty it.")
}

pub(super) fn cannot_watch(error: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot watch the features: {error}"))
        .hint("The machine is short of threads; end other programs and try again.")
}

/// The file is broken.
pub(super) fn broken(path: &Path, why: &str) -> Failure {
    Failure::new(Kind::User, format!("`{}` cannot be read: {why}", path.display()))
        .hint("Fix the file by hand; it was not changed.")
}

/// The file cannot be edited or written.
pub(super) fn unwritable(path: &Path, error: &EditError) -> Failure {
    let path = path.display();
    let failure = |kind| Failure::new(kind, format!("cannot write `{path}`: {error}"));
    match error {
        EditError::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
            failure(Kind::External).hint("Free some disk space; the old file is unchanged.")
        }
        EditError::Io(_) => failure(Kind::External).hint("The old file is unchanged."),
        EditError::Contended | EditError::Busy => failure(Kind::External).hint("Try again; the old file is unchanged."),
        EditError::Refused(_) => failure(Kind::User),
        EditError::Missing
        | EditError::Link
        | EditError::NotAFile
        | EditError::TooLarge(_)
        | EditError::Broken(_)
        | EditError::OtherId(_) => failure(Kind::User).hint("Fix the file by hand; it was not changed."),
    }
}
