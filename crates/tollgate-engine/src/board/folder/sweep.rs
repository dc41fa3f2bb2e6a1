//! What a process that was killed left in a feature's folder.
//!
//! A name of ours holds what we wanted to write, or what was there before, and goes; or it holds what somebody else
//! wrote just when we were killed: then that is put back, or kept in the trash when somebody wrote since.

use std::io;

use tollgate_core::board::Document;

use super::edit::{self, PREFIX};
use super::place::{Kind, Place};

/// The most names that are looked at in one folder.
const MAX_NAMES: usize = 10_000;

/// What was found at a name of ours.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    /// Ours, or there before; nobody misses it.
    Rest,
    /// Somebody else's, and ours is where it should be.
    Covered,
    /// Somebody else's, and somebody wrote since.
    Outdated,
}

/// Clears one folder of what was left in it beside the file `name`; `keep` takes what is of value to somebody.
///
/// Does nothing while a writer of ours is at work there.
pub(super) fn sweep(place: &Place, name: &str, keep: &dyn Fn(&str) -> io::Result<()>) -> io::Result<usize> {
    // Folders are many and left-overs few, so that only these are worth a hold.
    if left(place)?.is_empty() {
        return Ok(0);
    }
    let Some(_guard) = place.hold(std::time::Duration::ZERO)? else {
        return Ok(0);
    };
    let left = left(place)?;
    for temp in &left {
        match look(place, name, temp) {
            Left::Rest => place.remove(temp)?,
            Left::Covered if put_back(place, name, temp)? => place.remove(temp)?,
            Left::Covered | Left::Outdated => keep(temp)?,
        }
    }
    place.sync()?;
    Ok(left.len())
}

fn left(place: &Place) -> io::Result<Vec<String>> {
    let (names, _) = place.list(MAX_NAMES)?;
    let is_left = |(name, kind): &(String, Kind)| *kind == Kind::File && name.starts_with(PREFIX);
    Ok(names.into_iter().filter(is_left).map(|(name, _)| name).collect())
}

/// Puts back what lies at a name of ours; false when somebody wrote again just now.
fn put_back(place: &Place, name: &str, temp: &str) -> io::Result<bool> {
    if !place.exchange(temp, name)? {
        return Ok(false);
    }
    let is_done = look(place, name, temp) == Left::Rest;
    if !is_done {
        place.exchange(temp, name)?;
    }
    Ok(is_done)
}

fn look(place: &Place, name: &str, temp: &str) -> Left {
    let mut parts = temp.trim_start_matches(PREFIX).split('-');
    let (Some(before), Some(after)) = (parts.next(), parts.next()) else {
        return Left::Rest;
    };
    let hash_of = |name: &str| edit::content(place, name).ok().map(|content| (edit::hash(&content.bytes), content));
    let Some((hash, content)) = hash_of(temp) else {
        return Left::Rest;
    };
    let hash = edit::short(&hash);
    // What we had not finished writing is no document.
    if before == "file" || hash == before || hash == after || Document::parse(&content.bytes).is_err() {
        return Left::Rest;
    }
    match hash_of(name) {
        Some((hash, _)) if edit::short(&hash) == after => Left::Covered,
        _ => Left::Outdated,
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

    /// Leaves a name of ours with some content beside a file, and says what is there after sweeping.
    #[track_caller]
    fn check(file: &str, left: &str, expected: &[(&str, &str)]) {
        let dir = tempfile::tempdir().unwrap();
        let hash = |text: &str| edit::short(&edit::hash(text.as_bytes()));
        let temp = format!("{PREFIX}{}-{}-1f-0", hash(BASE), hash(OURS));
        fs::write(dir.path().join("file"), file).unwrap();
        fs::write(dir.path().join(&temp), left).unwrap();
        fs::write(dir.path().join(".tollgate-file-1f-1"), "half").unwrap();
        let (place, kept) = (Place::open(dir.path()).unwrap(), RefCell::new(Vec::new()));
        let keep = |name: &str| {
            kept.borrow_mut().push(name.to_owned());
            place.rename(name, "kept")
        };
        assert_eq!(sweep(&place, "file", &keep).unwrap(), 2);
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
    fn what_was_being_written_goes_whether_it_was_whole_or_not() {
        check(BASE, OURS, &[("file", BASE)]);
        check(BASE, "{\"a\":", &[("file", BASE)]);
        check(BASE, "", &[("file", BASE)]);
    }

    #[test]
    fn what_was_there_before_goes() {
        check(OURS, BASE, &[("file", OURS)]);
        check(THEIRS, BASE, &[("file", THEIRS)]);
    }

    #[test]
    fn what_somebody_wrote_when_we_were_killed_is_put_back() {
        check(OURS, THEIRS, &[("file", THEIRS)]);
    }

    #[test]
    fn what_somebody_wrote_and_wrote_over_is_kept_elsewhere() {
        check("{\"a\":4}", THEIRS, &[("file", "{\"a\":4}"), ("kept", THEIRS)]);
    }

    #[test]
    fn nothing_is_swept_while_somebody_of_us_writes() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".tollgate-file-1f-1"), "half").unwrap();
        let (ours, other) = (Place::open(dir.path()).unwrap(), Place::open(dir.path()).unwrap());
        let guard = other.hold(std::time::Duration::ZERO).unwrap();
        assert_eq!(sweep(&ours, "file", &|_| Ok(())).unwrap(), 0);
        drop(guard);
        assert_eq!(sweep(&ours, "file", &|_| Ok(())).unwrap(), 1);
    }
}
