//! Lists changed files of a worktree with a private index.
//!
//! Uses plumbing instead of `git add` and `git status`: gitlinks stay as they are, a nested repository is reported
//! instead of becoming a gitlink, and no git runs in submodules.

use std::path::Path;

use tollgate_core::sha::Sha;

use super::Worktree;
use crate::failure::{self as shared, Failure};
use crate::forge::git::{Git, path_of};
use crate::forge::project::{failure, pointer};

/// The maximum size of a commit's new files.
const MAX_BYTES: u64 = 1 << 30;

/// Files that differ from a commit, by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::forge) struct Changed {
    /// Deleted, or replaced by a directory.
    pub(in crate::forge) removed: Vec<Vec<u8>>,
    /// Changed or new.
    pub(in crate::forge) written: Vec<Vec<u8>>,
    /// Nested repositories.
    pub(in crate::forge) nested: Vec<Vec<u8>>,
}

/// Loads a commit into the index, and marks the files that a sparse checkout omits.
pub(in crate::forge) fn load(git: &Git, tip: Option<&Sha>, sparse: &[Vec<u8>]) -> Result<(), Failure> {
    match tip {
        // A merge keeps the cached file stats of unchanged entries, which saves reading them again.
        Some(tip) if git.ask(&["read-tree", "-m", tip.as_str()])?.ok => {}
        Some(tip) => drop(git.run(&["read-tree", "--reset", tip.as_str()])?),
        None => drop(git.run(&["read-tree", "--empty"])?),
    }
    if !sparse.is_empty() {
        let known = git.run(&["ls-files", "-z"])?;
        let known: std::collections::HashSet<&[u8]> = known.split(|&byte| byte == 0).collect();
        let sparse: Vec<Vec<u8>> = sparse.iter().filter(|path| known.contains(&path[..])).cloned().collect();
        feed(git, &["update-index", "--skip-worktree", "-z", "--stdin"], &sparse)?;
    }
    Ok(())
}

/// Compares the files with the index.
pub(in crate::forge) fn look(git: &Git) -> Result<Changed, Failure> {
    // The exit code 1 means that files differ; a real error shows in the next command.
    git.ask(&["update-index", "-q", "--ignore-submodules", "--unmerged", "--refresh"])?;
    let mut changed = Changed::default();
    let listed = git.run(&["diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=all"])?;
    let mut fields = listed.split(|&byte| byte == 0);
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let paths = if status == b"D" { &mut changed.removed } else { &mut changed.written };
        paths.push(path.to_vec());
    }
    let others = git.run(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    for path in others.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
        // Only a nested repository is listed as a directory.
        match path.strip_suffix(b"/") {
            Some(folder) => changed.nested.push(folder.to_vec()),
            None => changed.written.push(path.to_vec()),
        }
    }
    Ok(changed)
}

/// The files omitted by a sparse checkout, which would otherwise look deleted.
pub(in crate::forge) fn sparse(worktree: &Worktree) -> Result<Vec<Vec<u8>>, Failure> {
    if !worktree.git_dir().join("index").exists() {
        return Ok(Vec::new());
    }
    // A split index has its second file only in this directory.
    let git = worktree.paths().git_in(worktree.path(), worktree.git_dir());
    let listed = git.run(&["ls-files", "-t", "-z"])?;
    let left_out = listed.split(|&byte| byte == 0).filter_map(|line| line.strip_prefix(b"S "));
    let is_gone = |path: &&[u8]| std::fs::symlink_metadata(worktree.path().join(path_of(path))).is_err();
    Ok(left_out.filter(is_gone).map(<[u8]>::to_vec).collect())
}

/// The number of submodules with files, which may hold unpushed work.
pub(in crate::forge) fn n_submodules(worktree: &Worktree, git: &Git) -> Result<usize, Failure> {
    let listed = git.run(&["ls-files", "-s", "-z"])?;
    let has_files = |path: &&[u8]| {
        let folder = worktree.path().join(path_of(path));
        std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
    };
    Ok(gitlinks(&listed).filter(has_files).count())
}

/// The paths of submodules in the output of `ls-files -s` or `ls-tree -r`.
fn gitlinks(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = listed.split(|&byte| byte == 0).filter(|line| line.starts_with(b"160000 "));
    lines.filter_map(|line| line.iter().position(|&byte| byte == b'\t').map(|tab| &line[tab + 1..]))
}

/// The first submodule that a commit adds, for people.
pub(in crate::forge) fn added_gitlink(
    git: &Git,
    before: Option<&Sha>,
    commit: &Sha,
) -> Result<Option<String>, Failure> {
    let shown = |path: &[u8]| tollgate_core::visible::visible(&String::from_utf8_lossy(path)).into_owned();
    let Some(before) = before else {
        let listed = git.run(&["ls-tree", "-r", "-z", "--full-tree", commit.as_str()])?;
        return Ok(gitlinks(&listed).next().map(shown));
    };
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none"];
    let listed = git.run(&[&args[..], &[before.as_str(), commit.as_str()]].concat())?;
    let mut fields = listed.split(|&byte| byte == 0);
    while let (Some(modes), Some(path)) = (fields.next(), fields.next()) {
        if modes.get(7..14).is_some_and(|mode| mode == b" 160000") && !modes.starts_with(b":160000") {
            return Ok(Some(shown(path)));
        }
    }
    Ok(None)
}

/// Refuses a submodule whose `.git` is not the repository's: the configuration in it names programs, which git would start
/// as soon as a person asks for the status of the worktree.
pub(in crate::forge) fn refuse_planted(worktree: &Worktree, git: &Git) -> Result<(), Failure> {
    let own = [worktree.paths().common.join("modules"), worktree.git_dir().join("modules")];
    let listed = git.run(&["ls-files", "-s", "-z"])?;
    for path in gitlinks(&listed) {
        let folder = worktree.path().join(path_of(path));
        if std::fs::symlink_metadata(folder.join(".git")).is_err() {
            continue;
        }
        let is_own = match pointer::git_dir_of(&folder) {
            // One that leads nowhere is left by an agent that cloned the submodule in its sandbox.
            Ok(Some(named)) => {
                named.canonicalize().map_or(true, |named| own.iter().any(|modules| named.starts_with(modules)))
            }
            Ok(None) | Err(_) => false,
        };
        if !is_own {
            let path = tollgate_core::visible::visible(&String::from_utf8_lossy(path)).into_owned();
            return Err(failure::planted_repository(&path));
        }
    }
    Ok(())
}

/// Refuses files of a nested repository, even one that covers tracked files.
pub(in crate::forge) fn refuse_nested(tree: &Path, changed: &Changed) -> Result<(), Failure> {
    let name = |path: &[u8]| tollgate_core::visible::visible(&String::from_utf8_lossy(path)).into_owned();
    if let Some(path) = changed.nested.first() {
        return Err(failure::nested_repository(&name(path)));
    }
    let mut looked_at = std::collections::HashSet::new();
    for path in &changed.written {
        let mut folder = &path[..];
        while let Some(slash) = folder.iter().rposition(|&byte| byte == b'/') {
            folder = &folder[..slash];
            if !looked_at.insert(folder) {
                break;
            }
            if std::fs::symlink_metadata(tree.join(path_of(folder)).join(".git")).is_ok() {
                return Err(failure::nested_repository(&name(folder)));
            }
        }
    }
    Ok(())
}

/// Refuses accidental content: a core dump, a disk image, a directory of data.
pub(in crate::forge) fn refuse_heaps(tree: &Path, changed: &Changed) -> Result<(), Failure> {
    let size = |path: &[u8]| std::fs::symlink_metadata(tree.join(path_of(path))).map_or(0, |found| found.len());
    let mut total = 0u64;
    let mut largest = (0, &[][..]);
    for path in &changed.written {
        let n_bytes = size(path);
        total = total.saturating_add(n_bytes);
        largest = largest.max((n_bytes, path));
    }
    if total <= MAX_BYTES {
        return Ok(());
    }
    let path = tollgate_core::visible::visible(&String::from_utf8_lossy(largest.1)).into_owned();
    Err(failure::too_much(total >> 20, MAX_BYTES >> 20, &path, largest.0 >> 20))
}

/// Runs a command that reads paths.
pub(in crate::forge) fn feed(git: &Git, args: &[&str], paths: &[Vec<u8>]) -> Result<Vec<u8>, Failure> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let answer = git.feed(args, &[paths.join(&0), vec![0]].concat())?;
    if answer.ok { Ok(answer.stdout) } else { Err(shared::git(args.first().unwrap_or(&""), &answer.stderr)) }
}
