//! Failures of storing the board.

use std::path::Path;

use crate::failure::{Failure, Kind};

/// The path of a project is not valid UTF-8.
pub(super) fn unwritable_path(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("the path `{}` is not valid UTF-8", path.display()))
        .hint("Rename the folder, or add it through a link with a plain name.")
}
