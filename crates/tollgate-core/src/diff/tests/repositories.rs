//! Properties on the output of git for random repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::*;

/// One change to the files of a repository.
#[derive(Debug, Clone)]
enum Edit {
    Write(usize, Vec<u8>),
    Remove(usize),
    Rename(usize, usize),
    Copy(usize, usize),
    Executable(usize),
    Link(usize),
    Commit,
}

/// Names that are ambiguous in a `diff --git` line, or need quotes.
const NAMES: &[&str] = &[
    "plain.rs",
    "two words",
    "x b/x",
    "x",
    "a/b",
    "b/b",
    "ä ö.txt",
    "quote\"d",
    "tab\there",
    "line\nfeed",
    "back\\slash",
    " leading",
    "trailing ",
    "deep/er/file",
    "-- a",
    "dev/null",
];

fn content() -> impl Strategy<Value = Vec<u8>> {
    let lines: &[&[u8]] = &[
        b"a\n",
        b"b\n",
        b"c\n",
        b"\n",
        b"-- a/x\n",
        b"++ b/x\n",
        b"@@ -1 +1 @@\n",
        b"diff --git a/x b/x\n",
        b"crlf\r\n",
        b"in\rside\n",
        b"\\ No newline at end of file\n",
        b"\xff\xfe\n",
        b" \n",
        b"\t\n",
        b"no end",
        b"-- \n",
        b"\r\n",
    ];
    prop_oneof![
        9 => prop::collection::vec(prop::sample::select(lines), 0..40).prop_map(|lines| lines.concat()),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let name = 0..NAMES.len();
    prop_oneof![
        8 => (name.clone(), content()).prop_map(|(name, content)| Edit::Write(name, content)),
        1 => name.clone().prop_map(Edit::Remove),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Edit::Copy(from, to)),
        1 => name.clone().prop_map(Edit::Executable),
        1 => name.prop_map(Edit::Link),
        2 => Just(Edit::Commit),
    ]
}

fn git(dir: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", dir)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .output()
        .expect("the tests need git");
    output.stdout
}

fn apply(dir: &Path, edit: &Edit) {
    let path = |index: usize| dir.join(NAMES[index]);
    let make_room = |index: usize| {
        if let Some(parent) = path(index).parent() {
            let _ = fs::create_dir_all(parent);
        }
    };
    // Inapplicable edits (a missing file, or a folder) are skipped.
    match edit {
        Edit::Write(index, content) => {
            make_room(*index);
            let _ = fs::write(path(*index), content);
        }
        Edit::Remove(index) => drop(fs::remove_file(path(*index))),
        Edit::Rename(from, to) => {
            make_room(*to);
            let _ = fs::rename(path(*from), path(*to));
        }
        Edit::Copy(from, to) => {
            make_room(*to);
            let _ = fs::copy(path(*from), path(*to));
        }
        Edit::Executable(index) => set_executable(&path(*index)),
        Edit::Link(index) => link(&path(*index)),
        Edit::Commit => {
            git(dir, &["add", "-A"]);
            git(dir, &["commit", "-qm", "@@ -1 +1 @@", "--allow-empty"]);
        }
    }
}

#[cfg(unix)]
fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
}

#[cfg(unix)]
fn link(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = std::os::unix::fs::symlink("somewhere", path);
}

#[cfg(not(unix))]
fn set_executable(_: &Path) {}

#[cfg(not(unix))]
fn link(_: &Path) {}

/// Parses the output of git: nothing is refused, it prints unchanged, and the paths match.
fn check(dir: &Path, arguments: &[&str]) {
    let text = git(dir, arguments);
    let (files, refused) = parse(text.clone());
    let shown = String::from_utf8_lossy(&text);
    assert_eq!(refused, [], "{arguments:?}\n{shown}");
    if !files.is_empty() {
        assert_eq!(String::from_utf8_lossy(&print(&files)), shown, "{arguments:?}");
        assert!(print(&files) == text);
    }
}

/// Compares paths and counts with those of `git diff --numstat -z`.
fn check_numbers(dir: &Path, flags: &[&str]) {
    let text = git(dir, &[&["diff", "--binary", "HEAD~1", "HEAD"], flags].concat());
    let (files, _) = parse(text);
    // A file that becomes a symbolic link is two files in the diff, one in numstat.
    let mut figures = BTreeMap::<Vec<u8>, (bool, u32, u32)>::new();
    for file in &files {
        let (binary, n_added, n_removed) = figures.entry(file.path().as_bytes().to_vec()).or_default();
        (*binary, *n_added, *n_removed) =
            (*binary || file.binary, *n_added + file.n_added, *n_removed + file.n_removed);
    }
    let counts = |(binary, n_added, n_removed): (bool, u32, u32)| {
        if binary { "-\t-".to_owned() } else { format!("{n_added}\t{n_removed}") }
    };
    let ours: BTreeMap<_, _> = figures.into_iter().map(|(path, figures)| (path, counts(figures))).collect();
    let theirs = git(dir, &["diff", "--numstat", "-z", "--no-renames", "HEAD~1", "HEAD"]);
    let theirs: BTreeMap<_, _> = theirs
        .split(|&byte| byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let mut fields = entry.splitn(3, |&byte| byte == b'\t');
            let (added, removed) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            let counts = format!("{}\t{}", String::from_utf8_lossy(added), String::from_utf8_lossy(removed));
            (fields.next().unwrap_or_default().to_vec(), counts)
        })
        .collect();
    assert_eq!(ours, theirs, "{flags:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_output_of_git_is_printed_back_unchanged(edits in prop::collection::vec(edit(), 4..40)) {
        let dir = TempDir::new().expect("a temporary folder");
        let dir = dir.path();
        git(dir, &["init", "-q"]);
        for edit in edits.iter().chain([&Edit::Commit, &Edit::Link(3), &Edit::Commit]) {
            apply(dir, edit);
        }
        check(dir, &["log", "-p", "--binary", "-M", "-C"]);
        check(dir, &["log", "-p", "-R", "--no-prefix", "-U0", "--full-index"]);
        check(dir, &["-c", "core.quotePath=false", "-c", "diff.suppressBlankEmpty=true", "log", "-p", "--text"]);
        check(dir, &["-c", "diff.mnemonicPrefix=true", "log", "-p", "-B", "-M", "-W"]);
        check(dir, &["log", "-p", "--src-prefix=before/", "--dst-prefix=after/x/", "--patch-with-stat"]);
        check(dir, &["format-patch", "--root", "--stdout", "HEAD"]);
        for flags in [&["--no-renames"][..], &["--no-renames", "--no-prefix"], &["--no-renames", "--src-prefix=old/", "--dst-prefix=new/"]] {
            check_numbers(dir, flags);
        }
    }

    #[test]
    fn merges_are_printed_back_unchanged(ours in content(), theirs in content(), both in content(), base in content()) {
        let dir = TempDir::new().expect("a temporary folder");
        let dir = dir.path();
        let write = |content: &[u8], name: &str| {
            fs::write(dir.join(name), content).expect("a file in a temporary folder");
            git(dir, &["add", "-A"]);
        };
        git(dir, &["init", "-q", "-b", "main"]);
        write(&base, "x y");
        git(dir, &["commit", "-qm", "base"]);
        git(dir, &["checkout", "-qb", "side"]);
        write(&theirs, "x y");
        git(dir, &["commit", "-qm", "side"]);
        git(dir, &["checkout", "-q", "main"]);
        write(&ours, "x y");
        write(&ours, "only ours");
        git(dir, &["commit", "-qm", "main", "--allow-empty"]);
        git(dir, &["merge", "-q", "--no-commit", "side"]);
        check(dir, &["diff"]);
        write(&both, "x y");
        write(&both, "only ours");
        git(dir, &["commit", "-qm", "merge", "--allow-empty"]);
        check(dir, &["log", "-p", "--cc"]);
        check(dir, &["log", "-p", "-c", "--combined-all-paths", "-M"]);
        check(dir, &["log", "-p", "-m"]);
    }
}
