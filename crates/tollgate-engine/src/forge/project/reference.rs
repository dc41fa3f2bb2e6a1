//! Detects obstacles to a branch update.

use std::path::Path;
use std::time::SystemTime;

use super::{Branch, failure};
use crate::failure::{self as shared, Failure};

/// Refuses to write a reference through a symbolic link, which an agent could have planted below `refs`.
pub(super) fn refuse_links(common: &Path, reference: &str) -> Result<(), Failure> {
    let mut path = common.to_owned();
    for step in reference.split('/') {
        path.push(step);
        if std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(failure::linked_git(&path));
        }
    }
    Ok(())
}

/// Explains git's error about a reference.
pub(super) fn explain(common: &Path, branch: &Branch, stderr: &str) -> Failure {
    let lock = [format!("{}.lock", branch.reference()), "packed-refs.lock".to_owned()];
    let lock = lock.iter().map(|name| common.join(name)).find(|path| path.exists());
    if let Some(path) = lock.filter(|_| stderr.contains("File exists")) {
        let modified = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
        return failure::locked(&path.display().to_string(), age.map(|age| age.as_secs()));
    }
    if stderr.contains("but expected") || stderr.contains("reference already exists") {
        return failure::branch_moved(branch.as_str());
    }
    if stderr.contains("cannot create") && stderr.contains("' exists") {
        let other = stderr.split('\'').find(|name| name.starts_with("refs/heads/") && *name != branch.reference());
        let other = other.and_then(|name| name.strip_prefix("refs/heads/")).unwrap_or_default();
        return failure::branch_conflict(branch.as_str(), &format!("there is a branch `{other}`"));
    }
    shared::git("update-ref", stderr)
}
