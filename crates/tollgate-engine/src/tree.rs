//! Reads files of a working tree without ever leaving it.
//!
//! A change can turn any component of a path into a symbolic link that points
//! elsewhere, so links are not followed and only regular files are read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

pub(crate) mod dir_handle;

/// An entry of a working tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A regular file and its content.
    File { content: Vec<u8>, executable: bool },
    /// A regular file beyond the size limit; its size.
    TooLarge(u64),
    /// A symbolic link and its target.
    Link(Vec<u8>),
    /// Something else, or nothing.
    Other,
}

/// Reads the entry at a git path below `root`.
pub(crate) fn read(root: &Path, path: &[u8], max_bytes: u64) -> io::Result<Entry> {
    let steps: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    if steps.iter().any(|step| matches!(*step, b"" | b"." | b"..") || step.contains(&0)) {
        return Ok(Entry::Other);
    }
    open(root, &steps).and_then(|opened| match opened {
        Opened::File(file) => read_file(file, max_bytes),
        Opened::Link(target) => Ok(Entry::Link(target)),
        Opened::Other => Ok(Entry::Other),
    })
}

/// Reads a file of the operator's own, links followed.
pub(crate) fn read_own(path: &Path, max_bytes: u64) -> io::Result<Entry> {
    read_file(File::open(path)?, max_bytes)
}

fn read_file(file: File, max_bytes: u64) -> io::Result<Entry> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Entry::Other);
    }
    let mut content = Vec::new();
    // The file can grow while it is read, so its size is not trusted.
    file.take(max_bytes + 1).read_to_end(&mut content)?;
    if content.len() as u64 > max_bytes {
        return Ok(Entry::TooLarge(metadata.len()));
    }
    Ok(Entry::File { content, executable: is_executable(&metadata) })
}

enum Opened {
    File(File),
    Link(Vec<u8>),
    Other,
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &std::fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
fn open(root: &Path, steps: &[&[u8]]) -> io::Result<Opened> {
    use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
    use rustix::io::Errno;

    let Some((last, folders)) = steps.split_last() else {
        return Ok(Opened::Other);
    };
    let folder_flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let mut folder = openat(CWD, root, folder_flags, Mode::empty())?;
    for step in folders {
        folder = match openat(&folder, *step, folder_flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Ok(Opened::Other),
            Err(error) => return Err(error.into()),
        };
    }
    // Without NONBLOCK, opening a named pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    match openat(&folder, *last, flags, Mode::empty()) {
        Ok(file) => Ok(Opened::File(file.into())),
        Err(Errno::LOOP | Errno::MLINK) => Ok(Opened::Link(readlinkat(&folder, *last, Vec::new())?.into_bytes())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NXIO) => Ok(Opened::Other),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn open(root: &Path, steps: &[&[u8]]) -> io::Result<Opened> {
    let mut path = root.to_owned();
    for (index, step) in steps.iter().enumerate() {
        path.push(String::from_utf8_lossy(step).as_ref());
        let Ok(metadata) = std::fs::symlink_metadata(&path) else {
            return Ok(Opened::Other);
        };
        if metadata.is_symlink() {
            let is_last = index + 1 == steps.len();
            let target = std::fs::read_link(&path)?.to_string_lossy().into_owned().into_bytes();
            return Ok(if is_last { Opened::Link(target) } else { Opened::Other });
        }
    }
    Ok(if path.is_file() { Opened::File(File::open(path)?) } else { Opened::Other })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[track_caller]
    fn check(path: &str, expected: Entry) {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "canary").unwrap();
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        std::fs::write(root.path().join("sub/file"), "text").unwrap();
        symlink(outside.path(), root.path().join("folder-link")).unwrap();
        symlink("/target", root.path().join("file-link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(read(root.path(), path.as_bytes(), 4).unwrap(), expected, "{path}");
    }

    #[test]
    fn plain_files_are_read_up_to_the_limit() {
        check("sub/file", Entry::File { content: b"text".to_vec(), executable: false });
        check("nowhere/file", Entry::Other);
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("large"), "12345").unwrap();
        assert_eq!(read(root.path(), b"large", 4).unwrap(), Entry::TooLarge(5));
    }

    #[test]
    fn nothing_outside_is_reached_by_links_or_steps_upward() {
        check("folder-link/secret", Entry::Other);
        check("file-link", Entry::Link(b"/target".to_vec()));
        check("../secret", Entry::Other);
        check("sub/../sub/file", Entry::Other);
        check("/etc/passwd", Entry::Other);
    }

    #[test]
    fn folders_and_pipes_are_not_read_and_do_not_block() {
        check("sub", Entry::Other);
        check("pipe", Entry::Other);
    }
}
