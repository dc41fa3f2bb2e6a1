//! Validates a directory that is to be a project.
//!
//! Nothing is searched for: the directory must be the root of a checkout, and its `.git` a directory, or a file that
//! points to a worktree entry which points back.

use std::path::{Path, PathBuf};

use super::{GitPaths, failure, pointer};
use crate::failure::{self as shared, Failure};
use crate::forge::git::{Environment, Git, path_of};

pub(super) fn look(path: &Path, environment: Environment) -> Result<GitPaths, Failure> {
    let root = path.canonicalize().map_err(|error| failure::no_folder(path, &error))?;
    let git_dir = git_dir(&root)?;
    let common = common_dir(&root, &git_dir)?;
    if common.join("reftable").exists() {
        return Err(failure::reftable(&root));
    }
    let environment = Environment { repository: Vec::new(), ..environment };
    let git = Git::new(&root, environment.clone()).at_git_dir(&git_dir).with_variable("GIT_WORK_TREE", &root);
    // Git checks the ownership only when it finds the repository itself.
    let mut asking = Git::new(&root, environment.clone());
    let args = ["rev-parse", "--show-object-format"];
    let mut answer = asking.ask(&args)?;
    if answer.stderr.contains("dubious ownership") {
        let folders = asking.trusted_folders()?;
        asking.trust(folders);
        answer = asking.ask(&args)?;
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let sha256 = match text.lines().collect::<Vec<_>>()[..] {
        [format @ ("sha1" | "sha256")] if answer.ok => format == "sha256",
        _ if answer.ok => return Err(shared::git_unreadable("rev-parse")),
        _ => return Err(asking.explain(&args, &answer.stderr)),
    };
    Ok(GitPaths { root, git_dir, common, sha256, environment, git })
}

/// The git directory of a checkout.
fn git_dir(root: &Path) -> Result<PathBuf, Failure> {
    let dot_git = root.join(".git");
    let Ok(metadata) = std::fs::symlink_metadata(&dot_git) else {
        return Err(no_git_dir(root));
    };
    if metadata.is_dir() {
        // A `commondir` would make git read everything but `HEAD` and the index from elsewhere.
        return if dot_git.join("commondir").exists() { Err(failure::redirected(&dot_git)) } else { Ok(dot_git) };
    }
    if !metadata.is_file() {
        return Err(failure::linked_git(&dot_git));
    }
    let unreadable = |error: std::io::Error| failure::no_folder(&dot_git, &error);
    let Some(named) = pointer::git_dir_of(root).map_err(unreadable)? else {
        return Err(failure::redirected(&dot_git));
    };
    let named = named.canonicalize().map_err(unreadable)?;
    if named.components().any(|step| step.as_os_str() == "modules") && !named.join("commondir").exists() {
        return Err(failure::submodule(root));
    }
    Ok(named)
}

/// The git directory that all worktrees share.
fn common_dir(root: &Path, git_dir: &Path) -> Result<PathBuf, Failure> {
    if git_dir == root.join(".git") {
        return Ok(git_dir.to_owned());
    }
    let redirected = || failure::redirected(&root.join(".git"));
    let above = git_dir.parent().filter(|above| above.file_name().is_some_and(|name| name == "worktrees"));
    let common = above.and_then(Path::parent).ok_or_else(redirected)?;
    check_entry(common, git_dir, root).map_err(|_| redirected())?;
    Ok(common.to_owned())
}

/// Verifies that a worktree entry belongs to this repository and points back to the checkout.
pub(in crate::forge) fn check_entry(common: &Path, entry: &Path, checkout: &Path) -> Result<(), String> {
    let read = |name: &str| pointer::read(entry, name).map_err(|error| format!("its `{name}` cannot be read: {error}"));
    let shares = read("commondir")?.is_some_and(|text| pointer::is_same(&entry.join(path_of(&text)), common));
    if !shares {
        return Err("its entry belongs to another repository".to_owned());
    }
    let back = pointer::checkout_of(entry).map_err(|error| format!("its `gitdir` cannot be read: {error}"))?;
    if !back.is_some_and(|back| pointer::is_same(&back, checkout)) {
        return Err("its entry leads to another folder".to_owned());
    }
    Ok(())
}

fn no_git_dir(root: &Path) -> Failure {
    if root.join("HEAD").is_file() && root.join("objects").is_dir() {
        return failure::bare(root);
    }
    match root.ancestors().skip(1).find(|above| above.join(".git").exists()) {
        Some(top) => failure::not_the_top(root, top),
        None => failure::not_a_project(root),
    }
}
