//! Resolves a file name written by a reviewer to a file of the change.
//!
//! `./src/a.rs`, `b/src/a.rs`, `src\a.rs`, `/srv/me/repo/src/a.rs`, `file:///repo/src/a.rs#L3`, `src/a.rs:12` and, when
//! the name is unique, `a.rs` and `SRC/A.rs` all resolve to `src/a.rs`.

use std::collections::HashMap;

use crate::diff::FileDiff;
use crate::path::{FilePath, RepoPath};

/// An index of the files of a change by path and file name.
pub(super) struct FileIndex {
    by_path: HashMap<String, FileMatch>,
    by_lower: HashMap<String, FileMatch>,
    /// The paths that end in a file name.
    by_name: HashMap<String, Vec<(String, usize)>>,
}

/// The result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileMatch {
    /// This file of the change.
    One(usize),
    /// More than one file of the change.
    Several,
}

/// The most files of one name that are distinguished by their folders.
const MAX_NAMESAKES: usize = 4096;

impl FileIndex {
    pub(super) fn new(files: &[FileDiff]) -> Self {
        let mut names = Self { by_path: HashMap::new(), by_lower: HashMap::new(), by_name: HashMap::new() };
        // New paths win over old ones: after `a → b` and `c → a`, `a` is the former `c`.
        let new = files.iter().enumerate().filter_map(|(index, file)| Some((index, file.new_path.as_ref()?)));
        let old = files.iter().enumerate().filter_map(|(index, file)| Some((index, file.old_path.as_ref()?)));
        for (is_new, (index, path)) in new.map(|file| (true, file)).chain(old.map(|file| (false, file))) {
            names.add(index, path, is_new);
        }
        names
    }

    fn add(&mut self, index: usize, path: &RepoPath, is_new: bool) {
        let path = FilePath::of_repo_path(path).as_str().to_owned();
        if !is_new && self.by_path.contains_key(&path) {
            return;
        }
        let join = |known: &mut FileMatch| {
            if *known != FileMatch::One(index) {
                *known = FileMatch::Several;
            }
        };
        self.by_lower.entry(path.to_lowercase()).and_modify(join).or_insert(FileMatch::One(index));
        let name = path.rsplit('/').next().unwrap_or(&path).to_lowercase();
        let namesakes = self.by_name.entry(name).or_default();
        if namesakes.len() < MAX_NAMESAKES {
            namesakes.push((path.clone(), index));
        }
        self.by_path.entry(path).and_modify(join).or_insert(FileMatch::One(index));
    }

    /// Looks up a name.
    pub(super) fn find(&self, name: &str) -> Option<FileMatch> {
        let name = cleaned(name);
        let whole = [name.as_str(), without_line(&name)];
        let exact = |name: &str| self.by_path.get(name).copied();
        whole.into_iter().find_map(exact).or_else(|| whole.into_iter().find_map(|name| self.by_part(name)))
    }

    fn by_part(&self, name: &str) -> Option<FileMatch> {
        // Longer than the path: `b/…`, or an absolute path.
        let tails = |name: &str| -> Vec<String> {
            name.match_indices('/').take(MAX_STEPS).map(|(at, _)| name[at + 1..].to_owned()).collect()
        };
        let longer = tails(name).iter().find_map(|tail| self.by_path.get(tail)).copied();
        longer.or_else(|| self.by_end(name)).or_else(|| self.by_lower.get(&name.to_lowercase()).copied())
    }

    /// Shorter than the path: `a.rs` for `src/a.rs`.
    fn by_end(&self, name: &str) -> Option<FileMatch> {
        let name = name.trim_start_matches('/');
        let namesakes = self.by_name.get(&name.rsplit('/').next().unwrap_or(name).to_lowercase())?;
        let ends =
            |path: &str| path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        let mut found: Option<FileMatch> = None;
        for (_, index) in namesakes.iter().filter(|(path, _)| ends(path)) {
            match found {
                Some(FileMatch::One(known)) if known != *index => return Some(FileMatch::Several),
                _ => found = Some(FileMatch::One(*index)),
            }
        }
        found
    }
}

/// The most path components that are compared.
const MAX_STEPS: usize = 64;
/// Most characters of a name that are kept.
const MAX_NAME: usize = 1024;

/// Normalizes a name: forward slashes, no surrounding quotes.
pub(super) fn cleaned(name: &str) -> String {
    let name: String = name.chars().filter(|character| !matches!(character, '\0'..='\u{1f}')).take(MAX_NAME).collect();
    let name = name.trim().trim_matches(['`', '"', '\'', '*', '<', '>']).trim();
    let name = name.strip_prefix("file://").unwrap_or(name).replace('\\', "/");
    let mut rest = name.as_str();
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter;
    }
    rest.to_owned()
}

/// Strips line numbers and notes after the path: `src/a.rs:12-14`, `src/a.rs#L3`, `src/a.rs (new)`.
pub(super) fn without_line(name: &str) -> &str {
    let name = name.split_once("#L").map_or(name, |(path, _)| path);
    let name = name.split_once(" (").map_or(name, |(path, _)| path);
    let is_line = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit() || c == 'L')
            && text.chars().all(|c| c.is_ascii_digit() || "-–,:L ".contains(c))
    };
    match name.find(':') {
        // `C:` is a drive, not a line.
        Some(at) if is_line(name[at + 1..].trim()) => &name[..at],
        _ => name,
    }
}

/// Converts any name to a valid path for a finding.
pub(super) fn as_path(name: &str) -> FilePath {
    let cleaned = cleaned(name);
    let path = without_line(&cleaned).trim_start_matches('/');
    FilePath::parse(path).unwrap_or_else(|_| match path {
        "" => unknown(),
        path => FilePath::of_repo_path(&RepoPath::from_bytes(path.as_bytes())),
    })
}

pub(super) use crate::finding::unknown_file as unknown;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Status;

    fn files(paths: &[(&str, &str)]) -> Vec<FileDiff> {
        let path = |path: &str| Some(RepoPath::from_bytes(path.as_bytes())).filter(|_| !path.is_empty());
        paths.iter().map(|(old, new)| FileDiff::named(path(old), path(new), Status::Modified)).collect()
    }

    const PATHS: &[(&str, &str)] = &[
        ("src/a.rs", "src/a.rs"),
        ("old/name.py", "new/name.py"),
        ("web/index.ts", "web/index.ts"),
        ("api/index.ts", "api/index.ts"),
        ("gone.c", ""),
        ("b/x.go", "b/x.go"),
        ("README.md", "README.md"),
    ];

    #[track_caller]
    fn check(name: &str, expected: Option<FileMatch>) {
        assert_eq!(FileIndex::new(&files(PATHS)).find(name), expected, "{name}");
    }

    #[test]
    fn common_spellings_of_a_path_resolve_to_the_file() {
        for name in [
            "src/a.rs",
            "./src/a.rs",
            "a/src/a.rs",
            "b/src/a.rs",
            "src\\a.rs",
            ".\\src\\a.rs",
            "/srv/me/repo/src/a.rs",
            "C:\\srv\\repo\\src\\a.rs",
            "file:///repo/src/a.rs",
            "file:///repo/src/a.rs#L3-L9",
            "src/a.rs:12",
            "src/a.rs:12-14",
            "src/a.rs:L12",
            "src/a.rs:12:5",
            "`src/a.rs`",
            "a.rs",
            "SRC/A.rs",
            "src/a.rs (new)",
        ] {
            check(name, Some(FileMatch::One(0)));
        }
        check("old/name.py", Some(FileMatch::One(1)));
        check("new/name.py", Some(FileMatch::One(1)));
        check("gone.c", Some(FileMatch::One(4)));
        check("b/x.go", Some(FileMatch::One(5)));
    }

    #[test]
    fn files_outside_the_change_do_not_resolve() {
        for name in ["src/b.rs", "", "/", "src", "xa.rs", "c/index.ts", "a.rs.bak", "../", "src/a"] {
            check(name, None);
        }
        check("index.ts", Some(FileMatch::Several));
    }

    #[test]
    fn a_new_name_goes_before_an_old_one() {
        let files = files(&[("a", "b"), ("c", "a")]);
        assert_eq!(FileIndex::new(&files).find("a"), Some(FileMatch::One(1)));
        assert_eq!(FileIndex::new(&files).find("c"), Some(FileMatch::One(1)));
    }

    #[test]
    fn any_name_becomes_a_path_that_a_finding_may_have() {
        for name in ["", "/etc/passwd", "..\\..\\x", "C:\\x", "a\nb", "\0", "file://", "x:1", "/"] {
            let path = as_path(name);
            assert_eq!(FilePath::parse(path.as_str()).as_ref(), Ok(&path), "{name:?}");
        }
        assert_eq!(as_path("/etc/passwd").as_str(), "etc/passwd");
        assert_eq!(as_path(" ").as_str(), "unknown");
    }
}
