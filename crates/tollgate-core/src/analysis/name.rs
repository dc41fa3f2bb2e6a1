//! A path in lower case, taken apart once for all questions that are asked of it.

use crate::language::file_name;

/// A path, its folders and its last step.
pub(super) struct Name<'a> {
    path: &'a [u8],
    lower: Vec<u8>,
    n_folders: usize,
}

impl<'a> Name<'a> {
    /// Takes a path apart.
    pub(super) fn new(path: &'a [u8]) -> Self {
        Self { path, lower: path.to_ascii_lowercase(), n_folders: path.len() - file_name(path).len() }
    }

    /// The last step as written.
    pub(super) fn written(&self) -> &'a [u8] {
        &self.path[self.n_folders..]
    }

    /// The last step in lower case.
    pub(super) fn lower(&self) -> &[u8] {
        &self.lower[self.n_folders..]
    }

    /// The folders in lower case, with the last slash.
    pub(super) fn folders(&self) -> &[u8] {
        &self.lower[..self.n_folders]
    }

    /// The folders in lower case, outermost first.
    pub(super) fn steps(&self) -> impl Iterator<Item = &[u8]> {
        self.folders().split(|&byte| byte == b'/').filter(|step| !step.is_empty())
    }
}
