//! Other tools, where they are installed.

use std::io;
use std::path::PathBuf;

/// A program on the `PATH`; without it the measure cannot be taken.
pub(crate) fn find(name: &str, install: &str) -> io::Result<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("`{name}` is not installed: {install}")))
}

/// ast-grep's own program.
pub(crate) fn ast_grep() -> io::Result<PathBuf> {
    find("ast-grep", "`pip install ast-grep-cli`")
}
