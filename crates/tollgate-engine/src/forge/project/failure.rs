//! Failures of projects, worktrees and gate commits.

use std::path::Path;

use crate::failure::{Failure, Kind};

fn user(message: impl Into<String>) -> Failure {
    Failure::new(Kind::User, message)
}

fn external(message: impl Into<String>) -> Failure {
    Failure::new(Kind::External, message)
}

/// The directory cannot be opened.
pub(crate) fn no_folder(path: &Path, problem: &std::io::Error) -> Failure {
    user(format!("`{}` cannot be opened: {problem}", path.display())).hint("Name the folder of a git repository.")
}

/// The directory is not in a repository.
pub(crate) fn not_a_project(path: &Path) -> Failure {
    user(format!("`{}` is not a git repository", path.display())).hint("Run `git init` in it first, or name another.")
}

/// The directory is inside a repository.
pub(crate) fn not_the_top(path: &Path, top: &Path) -> Failure {
    user(format!("`{}` is inside the repository `{}`", path.display(), top.display()))
        .hint(format!("Add `{}` instead.", top.display()))
}

/// The repository is bare.
pub(crate) fn bare(path: &Path) -> Failure {
    user(format!("`{}` is a bare repository, and agents need files to work on", path.display()))
        .hint("Clone it, and add the clone.")
}

/// `.git` is a symbolic link.
pub(crate) fn linked_git(path: &Path) -> Failure {
    user(format!("`{}` is a symbolic link or no folder, which can lead anywhere", path.display()))
        .hint("Add the repository that it leads to.")
}

/// The repository is a submodule.
pub(crate) fn submodule(path: &Path) -> Failure {
    user(format!("`{}` is a submodule of another repository", path.display()))
        .hint("Clone it on its own, and add the clone.")
}

/// A `.git` file points to a directory that does not point back.
pub(crate) fn redirected(path: &Path) -> Failure {
    user(format!(
        "`{}` leads to a git folder that does not lead back, which is how code is smuggled in",
        path.display()
    ))
    .hint("If you moved the folder, run `git worktree repair` in the main checkout.")
}

/// The reference format is unsupported.
pub(crate) fn reftable(path: &Path) -> Failure {
    user(format!("`{}` keeps its branches in the reftable format, which is not supported", path.display()))
        .hint("Run `git refs migrate --ref-format=files` in it.")
}

/// The branch name is invalid.
pub(crate) fn bad_branch(name: &str, problem: &super::BranchError) -> Failure {
    user(format!("`{}` cannot be the name of a branch: {problem}", tollgate_core::visible::visible(name)))
        .hint("Use letters, digits, `-`, `_`, `.` and `/`, as in `feature/user-auth`.")
}

/// The branch is checked out in the main checkout.
pub(crate) fn branch_in_use(branch: &str, path: &Path) -> Failure {
    user(format!("the branch `{branch}` is checked out in `{}`, where no agent may work", path.display()))
        .hint("Give the feature a branch of its own, or check out another branch there.")
}

/// The branch name conflicts with another branch.
pub(crate) fn branch_conflict(branch: &str, problem: &str) -> Failure {
    user(format!("the branch `{branch}` cannot be made: {problem}"))
        .hint("A branch `a` and a branch `a/b` cannot both exist: rename one of them.")
}

/// The branch was moved concurrently.
pub(crate) fn branch_moved(branch: &str) -> Failure {
    external(format!("the branch `{branch}` moved while its commit was made"))
        .hint("A commit was added to it meanwhile. Try again: it becomes part of the feature.")
}

/// The branch was deleted while an agent worked on it.
pub(crate) fn branch_gone(branch: &str) -> Failure {
    external(format!("the branch `{branch}` is gone"))
        .hint(format!("Make it again with `git branch {branch} COMMIT`; the files in the worktree are untouched."))
}

/// A lock file of git exists.
pub(crate) fn locked(path: &str, seconds: Option<u64>) -> Failure {
    let age = seconds.map_or(String::new(), |seconds| format!(", {} old", age(seconds)));
    external(format!("another git process holds `{path}`{age}"))
        .hint("Try again. If no git process is running, one crashed: delete the file by hand.")
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds / 60),
        _ => format!("{} hours", seconds / 3600),
    }
}

/// The lock on worktrees timed out.
pub(crate) fn worktrees_busy(path: &Path, seconds: u64) -> Failure {
    external(format!("another process has held `{}` for {seconds} seconds", path.display()))
        .hint("Try again, or find the process that holds the file.")
}

/// The path of a worktree is occupied.
pub(crate) fn place_taken(path: &Path) -> Failure {
    user(format!("`{}` is there, and is not a worktree of this repository", path.display()))
        .hint("Move it away, or delete it if nothing in it is needed.")
}

/// The worktree is on another branch.
pub(crate) fn other_branch(path: &Path, found: &str, expected: &str) -> Failure {
    user(format!("the worktree `{}` is on {found}, not on the branch `{expected}`", path.display()))
        .hint(format!("Run `git switch {expected}` in it; nothing was changed."))
}

/// An agent switched its worktree to a commit that does not build on its branch.
pub(crate) fn switched(path: &Path, found: &str, expected: &str) -> Failure {
    user(format!(
        "the agent switched its work tree from the branch `{expected}` to {found}, which does not build on it"
    ))
    .hint(format!("Run `git switch {expected}` in `{}`, then retry.", path.display()))
}

/// The commits of an agent cannot be taken over.
pub(crate) fn agents_commits(path: &Path, problem: &str) -> Failure {
    let problem = tollgate_core::visible::visible(problem.lines().next().unwrap_or_default().trim());
    external(format!("the commits that the agent made in `{}` cannot be used: {problem}", path.display()))
        .hint("Its files are kept. Retry: they become part of the next commit.")
}

/// The worktree was tampered with.
pub(crate) fn not_the_worktree(path: &Path, problem: &str) -> Failure {
    external(format!("`{}` is not the worktree it should be: {problem}", path.display()))
        .hint("Nothing was run in it. `git worktree repair` in the main checkout puts links right.")
}

/// The worktree cannot be created or removed.
pub(crate) fn no_worktree(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    external(format!("the worktree `{}` cannot be changed: {problem}", path.display()))
        .hint("Check the rights and the room on the disk, and try again.")
}

/// The worktree was locked with `git worktree lock`.
pub(crate) fn worktree_locked(path: &Path) -> Failure {
    user(format!("the worktree `{}` is gone, and its entry is locked", path.display()))
        .hint("Run `git worktree unlock` for it if it will not come back.")
}

/// The worktree contains a nested repository.
pub(crate) fn nested_repository(path: &str) -> Failure {
    user(format!("there is a nested repository at `{path}`, whose files would be left out of the commit"))
        .hint("Delete its `.git` if the files belong to the project, or add the folder to `.gitignore`.")
}

/// A submodule is a repository of its own, which the agent may have made.
pub(crate) fn planted_repository(path: &str) -> Failure {
    user(format!(
        "the submodule `{path}` has a `.git` that is not the repository's, and git would obey its configuration"
    ))
    .hint("Delete that `.git`; run no git command in the worktree before.")
}

/// The commit exceeds the size limit.
pub(crate) fn too_much(mebibytes: u64, most: u64, path: &str, its: u64) -> Failure {
    user(format!("{mebibytes} MiB of changed files are more than {most} MiB; the largest is `{path}` with {its} MiB"))
        .hint("Delete what does not belong to the project, or add it to `.gitignore`.")
}

/// The files need a filter that is not run.
pub(crate) fn filtered(path: &str, n_more: usize, filter: &str) -> Failure {
    let more = if n_more == 0 { String::new() } else { format!(" and {n_more} more") };
    let failure = user(format!("`{path}`{more} would be stored through the filter `{filter}`, which is not run here"));
    if filter == "lfs" {
        failure.hint("Run `git lfs install` as the user of the server, or leave these files as they were.")
    } else {
        failure.hint("Programs that a repository names are never run: commit these files by hand.")
    }
}

/// A private directory cannot be written.
pub(crate) fn no_scratch(path: &Path, problem: &std::io::Error) -> Failure {
    external(format!("cannot write `{}`: {problem}", path.display()))
        .hint("Check the rights and the room on the disk; `TMPDIR` names another folder for temporary files.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_lock_is_said_in_words() {
        let message = |seconds| locked("x.lock", seconds).message;
        assert_eq!(message(None), "another git process holds `x.lock`");
        assert_eq!(message(Some(3)), "another git process holds `x.lock`, 3 seconds old");
        assert_eq!(message(Some(600)), "another git process holds `x.lock`, 10 minutes old");
        assert_eq!(message(Some(86_400)), "another git process holds `x.lock`, 24 hours old");
    }
}
