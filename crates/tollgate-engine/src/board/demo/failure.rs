//! What goes wrong with a demonstration, said to a person.

use std::io;
use std::path::Path;

use crate::failure::{Failure, Kind};

/// Something of it cannot be written.
pub(super) fn cannot_write(path: &Path, problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{}`: {problem}", path.display()))
}

/// The folder holds something already.
pub(super) fn folder_in_use(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not empty", path.display()))
        .hint("The demonstration needs a folder of its own: name a new one with `--demo-dir`.")
}
