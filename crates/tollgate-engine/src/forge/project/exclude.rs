//! Edits `.git/info/exclude`, the ignore list outside of version control.

use std::io::{self, Write as _};
use std::path::Path;

use super::failure;
use crate::failure::Failure;
use crate::tree::{self, Entry};

/// A larger file is not edited.
const MAX_BYTES: u64 = 1024 * 1024;

/// Appends missing lines.
pub(super) fn add(common: &Path, lines: &[&str]) -> Result<(), Failure> {
    let path = common.join("info/exclude");
    let failed = |error: io::Error| failure::no_scratch(&path, &error);
    let mut content = match tree::read(common, b"info/exclude", MAX_BYTES).map_err(failed)? {
        Entry::File { content, .. } => content,
        Entry::Other if !path.exists() => Vec::new(),
        Entry::Link(_) | Entry::TooLarge(_) | Entry::Other => return Err(failure::linked_git(&path)),
    };
    let missing: Vec<&str> = lines.iter().filter(|line| !has(&content, line)).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    if content.last().is_some_and(|&byte| byte != b'\n') {
        content.push(b'\n');
    }
    for line in missing {
        content.extend([line.as_bytes(), b"\n"].concat());
    }
    write(common, &content).map_err(failed)
}

fn has(content: &[u8], line: &str) -> bool {
    content.split(|&byte| byte == b'\n').any(|found| found.trim_ascii() == line.as_bytes())
}

fn write(common: &Path, content: &[u8]) -> io::Result<()> {
    let info = common.join("info");
    std::fs::create_dir_all(&info)?;
    let mut file = tempfile::Builder::new().prefix("exclude").tempfile_in(&info)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(info.join("exclude"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, after: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("info/exclude");
        if let Some(before) = before {
            std::fs::create_dir(folder.path().join("info")).unwrap();
            std::fs::write(&path, before).unwrap();
        }
        for _ in 0..2 {
            add(folder.path(), &["/.automaker/", "/.worktrees/"]).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }

    #[test]
    fn lines_are_added_once_and_the_others_stay() {
        check(None, "/.automaker/\n/.worktrees/\n");
        check(Some("# mine\n*.log"), "# mine\n*.log\n/.automaker/\n/.worktrees/\n");
        check(Some("/.worktrees/\r\n/.automaker/ \n"), "/.worktrees/\r\n/.automaker/ \n");
    }
}
