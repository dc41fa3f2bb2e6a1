//! Failures of the demo.

use std::io;
use std::path::Path;

use crate::failure::{Failure, Kind};

/// A file cannot be written.
pub(super) fn cannot_write(path: &Path, problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{}`: {problem}", path.display()))
}

/// The directory is not empty.
pub(super) fn folder_in_use(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not empty", path.display()))
        .hint("The demonstration needs a folder of its own: name a new one with `--demo-dir`.")
}
