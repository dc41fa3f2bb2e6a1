//! Deletes temporary files of killed processes from a feature folder.
//!
//! A temporary file holds our new version or the old one, and is deleted; or it holds a version that another program
//! wrote at the moment of the crash: then that is restored, or moved to the trash if the file was written since.

use std::io;

use tollgate_core::board::Document;

use super::edit::{self, PREFIX};
use crate::tree::dir_handle::{DirHandle, EntryKind};

/// The maximum number of names in a folder.
const MAX_NAMES: usize = 10_000;

/// The content of a temporary file.
#[derive(Debug, PartialEq, Eq)]
enum TempContent {
    /// Our version or the old one, which is worthless.
    Rest,
    /// Another program's version, covered by ours.
    Covered,
    /// Another program's version, and the file was written since.
    Outdated,
}

/// Deletes the temporary files of the file `name`; `keep` receives those worth keeping.
///
/// Does nothing while another of our writers holds the folder.
pub(super) fn clean_up(handle: &DirHandle, name: &str, keep: &dyn Fn(&str) -> io::Result<()>) -> io::Result<usize> {
    // Folders are many and leftovers few, so the lock is taken only if there are some.
    if left(handle)?.is_empty() {
        return Ok(0);
    }
    let Some(_guard) = handle.hold(std::time::Duration::ZERO)? else {
        return Ok(0);
    };
    let left = left(handle)?;
    for temp in &left {
        match look(handle, name, temp) {
            TempContent::Rest => handle.remove(temp)?,
            TempContent::Covered if put_back(handle, name, temp)? => handle.remove(temp)?,
            TempContent::Covered | TempContent::Outdated => keep(temp)?,
        }
    }
    handle.sync()?;
    Ok(left.len())
}

fn left(handle: &DirHandle) -> io::Result<Vec<String>> {
    let (names, _) = handle.list(MAX_NAMES)?;
    let is_left = |(name, kind): &(String, EntryKind)| *kind == EntryKind::File && name.starts_with(PREFIX);
    Ok(names.into_iter().filter(is_left).map(|(name, _)| name).collect())
}

/// Restores the content of a temporary file; false after another concurrent write.
fn put_back(handle: &DirHandle, name: &str, temp: &str) -> io::Result<bool> {
    if !handle.exchange(temp, name)? {
        return Ok(false);
    }
    let is_done = look(handle, name, temp) == TempContent::Rest;
    if !is_done {
        handle.exchange(temp, name)?;
    }
    Ok(is_done)
}

fn look(handle: &DirHandle, name: &str, temp: &str) -> TempContent {
    let mut parts = temp.trim_start_matches(PREFIX).split('-');
    let (Some(before), Some(after)) = (parts.next(), parts.next()) else {
        return TempContent::Rest;
    };
    let hash_of = |name: &str| edit::content(handle, name).ok().map(|content| (edit::hash(&content.bytes), content));
    let Some((hash, content)) = hash_of(temp) else {
        return TempContent::Rest;
    };
    let hash = edit::short(&hash);
    // An incomplete write of ours is not a document.
    if before == "file" || hash == before || hash == after || Document::parse(&content.bytes).is_err() {
        return TempContent::Rest;
    }
    match hash_of(name) {
        Some((hash, _)) if edit::short(&hash) == after => TempContent::Covered,
        _ => TempContent::Outdated,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::*;

    const BASE: &str = "{\"a\":1}";
    const OURS: &str = "{\"a\":2}";
    const THEIRS: &str = "{\"a\":3}";

    /// Checks the folder after cleaning up a temporary file with this content.
    #[track_caller]
    fn check(file: &str, left: &str, expected: &[(&str, &str)]) {
        let dir = tempfile::tempdir().unwrap();
        let hash = |text: &str| edit::short(&edit::hash(text.as_bytes()));
        let temp = format!("{PREFIX}{}-{}-1f-0", hash(BASE), hash(OURS));
        fs::write(dir.path().join("file"), file).unwrap();
        fs::write(dir.path().join(&temp), left).unwrap();
        fs::write(dir.path().join(".tollgate-file-1f-1"), "half").unwrap();
        let (handle, kept) = (DirHandle::open(dir.path()).unwrap(), RefCell::new(Vec::new()));
        let keep = |name: &str| {
            kept.borrow_mut().push(name.to_owned());
            handle.rename(name, "kept")
        };
        assert_eq!(clean_up(&handle, "file", &keep).unwrap(), 2);
        let mut found: Vec<(String, String)> = Vec::new();
        for entry in fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
        found.sort();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_unfinished_write_is_deleted() {
        check(BASE, OURS, &[("file", BASE)]);
        check(BASE, "{\"a\":", &[("file", BASE)]);
        check(BASE, "", &[("file", BASE)]);
    }

    #[test]
    fn an_old_version_is_deleted() {
        check(OURS, BASE, &[("file", OURS)]);
        check(THEIRS, BASE, &[("file", THEIRS)]);
    }

    #[test]
    fn a_version_written_at_the_moment_of_the_crash_is_restored() {
        check(OURS, THEIRS, &[("file", THEIRS)]);
    }

    #[test]
    fn a_version_overwritten_since_the_crash_is_kept_in_the_trash() {
        check("{\"a\":4}", THEIRS, &[("file", "{\"a\":4}"), ("kept", THEIRS)]);
    }

    #[test]
    fn a_locked_folder_is_not_cleaned_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".tollgate-file-1f-1"), "half").unwrap();
        let (ours, other) = (DirHandle::open(dir.path()).unwrap(), DirHandle::open(dir.path()).unwrap());
        let guard = other.hold(std::time::Duration::ZERO).unwrap();
        assert_eq!(clean_up(&ours, "file", &|_| Ok(())).unwrap(), 0);
        drop(guard);
        assert_eq!(clean_up(&ours, "file", &|_| Ok(())).unwrap(), 1);
    }
}
