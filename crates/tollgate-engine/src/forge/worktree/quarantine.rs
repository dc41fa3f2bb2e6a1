//! Copies the objects that an agent left into a directory of ours.
//!
//! The agent could put anything in their place: a link to the objects of another repository, a pipe, a file without end.
//! Every folder is opened from the one around it without following links, and of the files in it only regular ones with
//! the names that git gives them are copied, up to a number and a size. Nothing of the agent's is moved or changed.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use crate::tree::dir_handle::{DirHandle, Found};

/// The limits of what an agent leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The number of files with objects.
    pub(super) n_files: usize,
    /// The size of all of them.
    pub(super) n_bytes: u64,
}

impl Limits {
    /// Those of a run.
    pub(super) const RUN: Self = Self { n_files: 1_000_000, n_bytes: 4 << 30 };
}

/// Copies loose objects and packs of a git directory that an agent wrote to an object directory of ours.
pub(super) fn take_objects(lent: &Path, to: &Path, limits: Limits) -> io::Result<()> {
    let mut left = limits;
    let Found::Is(objects) = DirHandle::open(lent)?.folder("objects")? else { return Ok(()) };
    for name in names(&objects, limits)? {
        let is_loose = name.len() == 2 && is_hexadecimal(&name);
        if !(is_loose || name == "pack") {
            continue;
        }
        let Found::Is(folder) = objects.folder(&name)? else { continue };
        std::fs::create_dir_all(to.join(&name))?;
        let is_object = |own: &String| if is_loose { is_hexadecimal(own) } else { is_pack(own) };
        for own in names(&folder, limits)?.into_iter().filter(is_object) {
            if let Found::Is(file) = folder.file(&own)? {
                take(&file, &to.join(&name).join(own), &mut left)?;
            }
        }
    }
    Ok(())
}

/// Copies one file, unless it has another name elsewhere.
fn take(file: &File, to: &Path, left: &mut Limits) -> io::Result<()> {
    if !has_one_name(&file.metadata()?) {
        return Ok(());
    }
    left.n_files = left.n_files.checked_sub(1).ok_or_else(too_much)?;
    let mut copy = File::options().write(true).create_new(true).open(to)?;
    // The size is counted while it is copied, because that of the metadata may be outdated.
    let n_bytes = io::copy(&mut file.take(left.n_bytes.saturating_add(1)), &mut copy)?;
    left.n_bytes = left.n_bytes.checked_sub(n_bytes).ok_or_else(too_much)?;
    Ok(())
}

fn names(folder: &DirHandle, limits: Limits) -> io::Result<Vec<String>> {
    let (entries, has_more) = folder.list(limits.n_files.saturating_add(1024))?;
    if has_more { Err(too_much()) } else { Ok(entries.into_iter().map(|(name, _)| name).collect()) }
}

fn too_much() -> io::Error {
    io::Error::other("the agent left more git objects than are taken over")
}

#[cfg(unix)]
fn has_one_name(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 1
}

#[cfg(not(unix))]
fn has_one_name(_metadata: &Metadata) -> bool {
    true
}

fn is_hexadecimal(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True for `pack-<name>.pack` and its index.
fn is_pack(name: &str) -> bool {
    let rest = name.strip_prefix("pack-").unwrap_or_default();
    rest.strip_suffix(".pack").or_else(|| rest.strip_suffix(".idx")).is_some_and(is_hexadecimal)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const NAME: &str = "0123456789abcdef0123456789abcdef012345";

    /// The files that are taken from a directory, which `fill` fills beside one that is not the agent's.
    fn taken(limits: Limits, fill: impl FnOnce(&Path, &Path)) -> io::Result<Vec<String>> {
        let temp = tempfile::tempdir().unwrap();
        let (lent, other, to) = (temp.path().join("lent"), temp.path().join("other"), temp.path().join("to"));
        for folder in [lent.join("objects/pack"), other.join("aa"), other.join("pack"), to.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(other.join("aa").join(NAME), "secret").unwrap();
        std::fs::write(other.join(format!("pack/pack-{NAME}.pack")), "secret").unwrap();
        fill(&lent, &other);
        let result = take_objects(&lent, &to, limits);
        assert!(other.join("aa").join(NAME).exists() && other.join(format!("pack/pack-{NAME}.pack")).exists());
        let mut found = Vec::new();
        for folder in std::fs::read_dir(&to).unwrap().flatten() {
            let files = std::fs::read_dir(folder.path()).unwrap().flatten();
            found.extend(files.map(|file| file.path().strip_prefix(&to).unwrap().display().to_string()));
        }
        found.sort();
        result.map(|()| found)
    }

    #[test]
    fn objects_and_packs_are_taken_and_other_files_are_not() {
        let found = taken(Limits::RUN, |lent, _| {
            std::fs::create_dir_all(lent.join("objects/ab")).unwrap();
            for name in [format!("ab/{NAME}"), format!("pack/pack-{NAME}.idx"), "pack/x".into(), "ab/tmp_obj".into()] {
                std::fs::write(lent.join("objects").join(name), "x").unwrap();
            }
        });
        assert_eq!(found.unwrap(), [format!("ab/{NAME}"), format!("pack/pack-{NAME}.idx")]);
    }

    #[test]
    fn no_link_in_the_place_of_objects_is_followed() {
        let whole = taken(Limits::RUN, |lent, other| {
            std::fs::remove_dir_all(lent.join("objects")).unwrap();
            symlink(other, lent.join("objects")).unwrap();
        });
        let folder = taken(Limits::RUN, |lent, other| symlink(other.join("aa"), lent.join("objects/aa")).unwrap());
        let pack = taken(Limits::RUN, |lent, other| {
            std::fs::remove_dir(lent.join("objects/pack")).unwrap();
            symlink(other.join("pack"), lent.join("objects/pack")).unwrap();
        });
        let file = taken(Limits::RUN, |lent, other| {
            std::fs::create_dir(lent.join("objects/ab")).unwrap();
            symlink(other.join("aa").join(NAME), lent.join("objects/ab").join(NAME)).unwrap();
            std::fs::hard_link(other.join("aa").join(NAME), lent.join("objects/ab/00")).unwrap();
        });
        for found in [whole, folder, pack, file] {
            assert_eq!(found.unwrap(), [""; 0]);
        }
    }

    #[test]
    fn more_objects_than_the_limits_allow_are_refused() {
        let fill = |lent: &Path, _: &Path| {
            std::fs::create_dir(lent.join("objects/ab")).unwrap();
            for name in ["00", "01", "02"] {
                std::fs::write(lent.join("objects/ab").join(name), "1234").unwrap();
            }
        };
        assert_eq!(taken(Limits { n_files: 3, n_bytes: 12 }, fill).unwrap().len(), 3);
        for limits in [Limits { n_files: 2, n_bytes: 12 }, Limits { n_files: 3, n_bytes: 11 }] {
            assert!(taken(limits, fill).unwrap_err().to_string().contains("more git objects"));
        }
    }
}
