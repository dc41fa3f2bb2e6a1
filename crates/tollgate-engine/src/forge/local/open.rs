//! Finds the repository and resolves the given revisions with one git process.

use std::path::{Path, PathBuf};

use tollgate_core::sha::Sha;

use super::{Range, Repository};
use crate::failure::{self, Failure};
use crate::forge::git::{Git, GitOutput, path_of};

/// The queries of `rev-parse`, each answered by one line; the last has none without a working tree.
const ASKED: [&str; 7] = [
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-object-format",
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--is-shallow-repository",
    "--show-cdup",
];

/// Finds the repository of `dir`.
pub(super) fn look(git: &mut Git, dir: &Path, range: Option<&Range>) -> Result<Repository, Failure> {
    let args = arguments(range);
    let mut answer = git.ask(&args)?;
    if answer.stderr.contains("cannot use bare repository") {
        *git = git.clone().at_git_dir(&bare_repository(dir)?);
        answer = git.ask(&args)?;
    }
    if answer.stderr.contains("dubious ownership") {
        let folders = git.trusted_folders()?;
        git.trust(folders);
        answer = git.ask(&args)?;
    }
    let repository = read(git, dir, &answer, range)?;
    git.adopt_settings(&[&repository.git_dir, &repository.common_dir])?;
    Ok(repository)
}

fn arguments(range: Option<&Range>) -> Vec<String> {
    let mut args: Vec<String> = ["rev-parse"].into_iter().chain(ASKED).map(str::to_owned).collect();
    // `^{}` verifies that the object exists, and peels tags.
    let peeled = |side: &str| format!("{side}^{{}}");
    args.extend(range.iter().flat_map(|range| range.sides()).map(peeled));
    if let Some(Range::SinceFork(a, b)) = range {
        args.push(format!("{}...{}", peeled(a), peeled(b)));
    }
    args.extend([peeled("HEAD"), "--symbolic-full-name".to_owned(), "HEAD".to_owned()]);
    args
}

/// The bare repository that contains `dir`, unless it lies inside another repository: it could have been planted there
/// so that its configuration is read.
fn bare_repository(dir: &Path) -> Result<PathBuf, Failure> {
    let dir = dir.canonicalize().map_err(|error| failure::unreadable(dir, &error))?;
    if dir.ancestors().any(|above| above.join(".git").exists()) {
        return Err(failure::embedded_bare_repository(&dir));
    }
    let is_bare = |dir: &&Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir();
    dir.ancestors().find(is_bare).map(Path::to_owned).ok_or_else(|| failure::not_a_repository(&dir))
}

fn read(git: &mut Git, dir: &Path, answer: &GitOutput, range: Option<&Range>) -> Result<Repository, Failure> {
    let bytes: Vec<&[u8]> = answer.stdout.split(|&byte| byte == b'\n').collect();
    let texts: Vec<_> = bytes.iter().map(|line| String::from_utf8_lossy(line)).collect();
    // The text after the last line break is empty.
    let lines: Vec<&str> = texts[..texts.len() - 1].iter().map(AsRef::as_ref).collect();
    let [_, _, format, bare, in_tree, shallow, ..] = lines[..] else {
        return Err(git.explain(&["rev-parse"], &answer.stderr));
    };
    if !matches!(format, "sha1" | "sha256") {
        return Err(failure::git_unreadable("rev-parse"));
    }
    let n_answers = if bare == "true" { ASKED.len() - 1 } else { ASKED.len() };
    let names = lines.get(n_answers..).unwrap_or_default();
    let shas: Vec<Sha> = names.iter().map_while(|name| Sha::parse(name.trim_start_matches('^')).ok()).collect();
    let n_sides = range.map_or(0, |range| range.sides().len());
    if let Some(range) = range.filter(|_| shas.len() < n_sides) {
        return Err(failure::no_such_revision(range.sides()[shas.len()]));
    }
    let (head, branch) = match names.last().filter(|_| answer.ok) {
        Some(name) => (shas.last().cloned(), branch_name(name)),
        None => (None, branch_name(&String::from_utf8_lossy(&git.ask(&["symbolic-ref", "HEAD"])?.stdout))),
    };
    let n_revisions = if head.is_some() { shas.len() - 1 } else { shas.len() };
    let root = bytes.get(ASKED.len() - 1).filter(|_| in_tree == "true").map(|up| dir.join(path_of(up)));
    Ok(Repository {
        root: root.map(|root| root.canonicalize().unwrap_or(root)),
        git_dir: dir.join(path_of(bytes[0])),
        common_dir: dir.join(path_of(bytes[1])),
        shallow: shallow == "true",
        sha256: format == "sha256",
        head,
        branch,
        revisions: shas[..n_revisions].to_vec(),
    })
}

fn branch_name(reference: &str) -> Option<String> {
    reference.trim_end().strip_prefix("refs/heads/").map(str::to_owned)
}
