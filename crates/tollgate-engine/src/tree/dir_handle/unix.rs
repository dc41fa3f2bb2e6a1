//! Directory handles by file descriptor: renaming the directory meanwhile does not matter.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{EntryKind, Found, NANOS, PAUSE, Stamp};
use crate::lock::Lock;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
// Without NONBLOCK, opening a named pipe would block until it has a writer.
const PLAIN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// An open directory.
#[derive(Debug)]
pub(crate) struct DirHandle {
    handle: OwnedFd,
    path: PathBuf,
}

/// The lock of one writer on a directory.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Locked by `flock`,
    _folder: Option<Lock>,
    /// or process-wide.
    _process: Option<MutexGuard<'static, ()>>,
}

impl DirHandle {
    /// Opens a directory by a path of the operator, following links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let handle = rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// The path at the time of opening, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a subdirectory.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Found<Self>> {
        match rustix::fs::openat(&self.handle, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => Ok(Found::Is(Self { handle, path: self.path.join(name) })),
            Err(Errno::NOENT) => Ok(Found::Missing),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(match self.kind(name)? {
                Some(EntryKind::Link) => Found::Link,
                Some(_) => Found::Other,
                None => Found::Missing,
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a subdirectory, if the name is free.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OFlags::RDONLY, Mode::empty())
    }

    /// Opens a regular file for reading and writing; created if missing.
    pub(crate) fn file_to_keep(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE, Mode::from_raw_mode(0o644))
    }

    /// Opens a regular file for appending; created if missing.
    pub(crate) fn file_to_append(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE, Mode::from_raw_mode(0o644))
    }

    /// Creates a new file.
    pub(crate) fn new_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | PLAIN;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o644))?))
    }

    fn open_file(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<Found<File>> {
        let file = match rustix::fs::openat(&self.handle, name, flags | PLAIN, mode) {
            Ok(handle) => File::from(handle),
            Err(Errno::NOENT) => return Ok(Found::Missing),
            Err(Errno::LOOP | Errno::MLINK) => return Ok(Found::Link),
            Err(Errno::NXIO | Errno::ISDIR) => return Ok(Found::Other),
            Err(error) => return Err(error.into()),
        };
        Ok(if file.metadata()?.is_file() { Found::Is(file) } else { Found::Other })
    }

    /// The stamp of a file, if it exists.
    pub(crate) fn stamp(&self, folder: Option<&str>, name: &str) -> Option<Stamp> {
        let path = folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"));
        let stat = rustix::fs::statat(&self.handle, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Stamp {
            modified: i128::from(stat.st_mtime) * NANOS + i128::from(stat.st_mtime_nsec),
            changed: i128::from(stat.st_ctime) * NANOS + i128::from(stat.st_ctime_nsec),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
        })
    }

    /// The entries with UTF-8 names, and whether there are more than `max`.
    pub(crate) fn list(&self, max: usize) -> io::Result<(Vec<(String, EntryKind)>, bool)> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            if names.len() == max {
                return Ok((names, true));
            }
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind(&name)?.unwrap_or(EntryKind::Other),
                known => kind(known),
            };
            names.push((name, kind));
        }
        Ok((names, false))
    }

    fn kind(&self, name: &str) -> io::Result<Option<EntryKind>> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind(FileType::from_raw_mode(stat.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges two files atomically; false where unsupported.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(crate) fn exchange(&self, one: &str, other: &str) -> io::Result<bool> {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        match rustix::fs::renameat_with(&self.handle, one, &self.handle, other, flags) {
            Ok(()) => Ok(true),
            Err(error) if is_unsupported(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges two files atomically; false where unsupported.
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(crate) fn exchange(&self, _one: &str, _other: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Renames a file, replacing an existing one.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Moves an entry to another directory, unless the name is taken there.
    pub(crate) fn move_new(&self, from: &str, target: &Self, to: &str) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&self.handle, from, &target.handle, to, flags) {
                Ok(()) => return Ok(true),
                Err(Errno::EXIST | Errno::NOTEMPTY) => return Ok(false),
                Err(error) if is_unsupported(error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if target.kind(to)?.is_some() {
            return Ok(false);
        }
        rustix::fs::renameat(&self.handle, from, &target.handle, to)?;
        Ok(true)
    }

    /// Deletes a file.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Deletes an empty directory.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// Syncs the directory entries.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.handle) {
            // Some file systems do not support it, and do not need it.
            Ok(()) | Err(Errno::INVAL | Errno::BADF) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the lock, against writers in this process and others.
    pub(crate) fn hold(&self, patience: Duration) -> io::Result<Option<Guard>> {
        // `flock` belongs to the open file description, and threads share ours; so a new one is opened.
        let mut handle = File::from(rustix::fs::openat(&self.handle, ".", FOLDER, Mode::empty())?);
        let start = std::time::Instant::now();
        loop {
            handle = match Lock::exclusive(handle) {
                Ok(Ok(lock)) => return Ok(Some(Guard { _folder: Some(lock), _process: None })),
                Ok(Err(handle)) if start.elapsed() < patience => handle,
                Ok(Err(_)) => return Ok(None),
                Err(error) if is_unknown(&error) => {
                    let process = super::alone(patience);
                    return Ok(process.map(|process| Guard { _folder: None, _process: Some(process) }));
                }
                Err(error) => return Err(error),
            };
            std::thread::sleep(PAUSE);
        }
    }
}

/// Copies permissions and, if permitted, the owner of the replaced file.
pub(crate) fn like(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may change the owner.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

/// True where directories cannot be locked, as on some network file systems.
fn is_unknown(error: &io::Error) -> bool {
    let error = Errno::from_io_error(error);
    matches!(error, Some(Errno::NOLCK | Errno::BADF | Errno::NOTSUP | Errno::INVAL))
}

fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}
