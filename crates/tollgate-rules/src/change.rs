//! Change rules: what no linter sees, because it looks at one version only.

use tollgate_core::diff::FileDiff;
use tollgate_core::path::FilePath;

use crate::hit::Hit;

/// What the change rules know beside the diff.
#[derive(Debug, Clone, Copy, Default)]
pub struct Declared {
    /// True when the author said that the change breaks its users.
    pub breaking: bool,
}

/// Everything the change rules say of a change, each with the file it is about.
///
/// `enabled` tells by a rule's name whether it may speak.
#[must_use]
pub fn scan(files: &[FileDiff], declared: Declared, enabled: &dyn Fn(&str) -> bool) -> Vec<(FilePath, Hit)> {
    let _ = (files, declared, enabled);
    Vec::new()
}
