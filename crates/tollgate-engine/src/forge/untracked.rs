//! Writes a diff of untracked files.
//!
//! `git diff` omits untracked files, so their diff is written here as git would write it after `git add`.

use std::path::Path;

use tollgate_core::coverage::{CoveredHunk, HunkStatus};
use tollgate_core::path::{FilePath, RepoPath};

use crate::tree::{self, Entry};

/// More untracked files than this mean a missing line in `.gitignore`.
const MAX_FILES: usize = 5_000;
/// The number of bytes that git searches for a NUL to detect binary files.
const SNIFFED: usize = 8_000;

/// The diff of untracked files, and the omitted ones.
#[derive(Debug, Default)]
pub(crate) struct Untracked {
    pub(crate) diff: Vec<u8>,
    pub(crate) left_out: Vec<CoveredHunk>,
    pub(crate) notes: Vec<String>,
}

/// Writes the diff of untracked files, at most `max_bytes` of it.
pub(crate) fn as_diff(root: &Path, paths: &[Vec<u8>], max_bytes: usize) -> Untracked {
    let mut untracked = Untracked::default();
    for path in paths.iter().take(MAX_FILES) {
        let left = max_bytes.saturating_sub(untracked.diff.len());
        if let Err(reason) = add(&mut untracked, root, path, left) {
            untracked.left_out.push(not_reviewed(path, reason));
        }
    }
    if paths.len() > MAX_FILES {
        let n_more = paths.len() - MAX_FILES;
        untracked.notes.push(format!("{n_more} of {} untracked files were not looked at", paths.len()));
        let reason = format!("one of more than {MAX_FILES} untracked files");
        untracked.left_out.extend(paths[MAX_FILES..].iter().map(|path| not_reviewed(path, reason.clone())));
    }
    untracked
}

fn not_reviewed(path: &[u8], reason: String) -> CoveredHunk {
    let file = FilePath::of_repo_path(&RepoPath::from_bytes(path));
    CoveredHunk { file, lines: None, status: HunkStatus::NotReviewed(reason) }
}

fn add(untracked: &mut Untracked, root: &Path, path: &[u8], max_bytes: usize) -> Result<(), String> {
    if let Some(folder) = path.strip_suffix(b"/") {
        let name = String::from_utf8_lossy(folder);
        untracked.notes.push(format!("`{name}` is a git repository of its own and was not looked at"));
        return Ok(());
    }
    let (mode, content) = match tree::read(root, path, max_bytes as u64) {
        Ok(Entry::File { content, executable }) => (if executable { 0o100_755 } else { 0o100_644 }, content),
        Ok(Entry::Link(target)) => (0o120_000, target),
        Ok(Entry::TooLarge(_)) => return Err("the change is larger than the limit for diffs".to_owned()),
        // Deleted since git listed it, or a special file.
        Ok(Entry::Other) => return Ok(()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let before = untracked.diff.len();
    write(&mut untracked.diff, path, mode, &content);
    if untracked.diff.len() - before > max_bytes {
        untracked.diff.truncate(before);
        return Err("the change is larger than the limit for diffs".to_owned());
    }
    Ok(())
}

/// Writes a new file as git does.
fn write(diff: &mut Vec<u8>, path: &[u8], mode: u32, content: &[u8]) {
    let (old, new) = (quoted(b"a/", path), quoted(b"b/", path));
    let mut line = |parts: &[&[u8]]| {
        diff.extend(parts.concat());
        diff.push(b'\n');
    };
    line(&[b"diff --git ", &old, b" ", &new]);
    line(&[format!("new file mode {mode:o}").as_bytes()]);
    if content.is_empty() {
        return;
    }
    if is_binary(content) {
        line(&[b"Binary files /dev/null and ", &new, b" differ"]);
        return;
    }
    let n_lines = content.split_inclusive(|&byte| byte == b'\n').count();
    let span = if n_lines == 1 { "1".to_owned() } else { format!("1,{n_lines}") };
    // Git ends a name with a space by a tab, for programs that split at spaces.
    let tab: &[u8] = if path.contains(&b' ') { b"\t" } else { b"" };
    line(&[b"--- /dev/null"]);
    line(&[b"+++ ", &new, tab]);
    line(&[format!("@@ -0,0 +{span} @@").as_bytes()]);
    for text in content.split_inclusive(|&byte| byte == b'\n') {
        diff.push(b'+');
        diff.extend_from_slice(text);
    }
    if !content.ends_with(b"\n") {
        diff.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// True for binary files by git's heuristic.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(SNIFFED)].contains(&0)
}

/// A path in git's C-style quoting.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    if path.iter().all(plain) {
        return [prefix, path].concat();
    }
    let mut text = [b"\"", prefix].concat();
    for &byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            b'\t' => text.extend(b"\\t"),
            b'\n' => text.extend(b"\\n"),
            b'\r' => text.extend(b"\\r"),
            0x07 => text.extend(b"\\a"),
            0x08 => text.extend(b"\\b"),
            0x0b => text.extend(b"\\v"),
            0x0c => text.extend(b"\\f"),
            byte if plain(&byte) => text.push(byte),
            byte => text.extend(format!("\\{byte:03o}").as_bytes()),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, content: &[u8], expected: &str) {
        let mut diff = Vec::new();
        write(&mut diff, path.as_bytes(), 0o100_644, content);
        assert_eq!(String::from_utf8(diff).unwrap(), expected);
    }

    #[test]
    fn a_new_file_reads_as_git_would_write_it() {
        check(
            "a b",
            b"x\ny",
            "diff --git a/a b b/a b\nnew file mode 100644\n--- /dev/null\n+++ b/a b\t\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n",
        );
        check("e", b"", "diff --git a/e b/e\nnew file mode 100644\n");
        check("z", b"\0", "diff --git a/z b/z\nnew file mode 100644\nBinary files /dev/null and b/z differ\n");
    }

    #[test]
    fn unusual_names_are_quoted_as_git_quotes_them() {
        assert_eq!(quoted(b"b/", "ü\"\t\u{1}".as_bytes()), br#""b/\303\274\"\t\001""#);
    }

    #[test]
    fn files_beyond_the_limit_are_listed_by_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("large"), "x\n".repeat(500)).unwrap();
        std::fs::write(root.path().join("small"), "x\n").unwrap();
        let untracked = as_diff(root.path(), &[b"large".to_vec(), b"small".to_vec()], 200);
        assert!(untracked.diff.starts_with(b"diff --git a/small b/small\n"));
        assert_eq!(untracked.left_out.len(), 1);
        assert_eq!(untracked.left_out[0].file.as_str(), "large");
    }
}
