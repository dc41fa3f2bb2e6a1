//! A folder by its handle: what happens to its name meanwhile does not matter.

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

use super::{Found, Kind, NANOS, PAUSE, Stamp};
use crate::lock::Lock;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
// Without NONBLOCK, opening a named pipe would wait for somebody at its other end.
const PLAIN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A folder that is held open.
#[derive(Debug)]
pub(in super::super) struct Place {
    handle: OwnedFd,
    path: PathBuf,
}

/// Holds a folder for one writer, among those that ask.
#[derive(Debug)]
pub(in super::super) struct Guard {
    /// The folder is held,
    _folder: Option<Lock>,
    /// or all folders are, in this process.
    _process: Option<MutexGuard<'static, ()>>,
}

impl Place {
    /// Opens a folder by a path that the operator gave, links followed.
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        let handle = rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Where it was when it was opened, to speak of it.
    pub(in super::super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a name.
    pub(in super::super) fn folder(&self, name: &str) -> io::Result<Found<Self>> {
        match rustix::fs::openat(&self.handle, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => Ok(Found::Is(Self { handle, path: self.path.join(name) })),
            Err(Errno::NOENT) => Ok(Found::Missing),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(match self.kind(name)? {
                Some(Kind::Link) => Found::Link,
                Some(_) => Found::Other,
                None => Found::Missing,
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a folder, if there is nothing of that name.
    pub(in super::super) fn make_folder(&self, name: &str) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The plain file of a name, to be read.
    pub(in super::super) fn file(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OFlags::RDONLY, Mode::empty())
    }

    /// The plain file of a name, to be read and written; made if it is missing.
    pub(in super::super) fn file_to_keep(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE, Mode::from_raw_mode(0o644))
    }

    /// The plain file of a name, to be written at its end; made if it is missing.
    pub(in super::super) fn file_to_append(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE, Mode::from_raw_mode(0o644))
    }

    /// A new file, of a name that nothing has.
    pub(in super::super) fn new_file(&self, name: &str) -> io::Result<File> {
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

    /// What a file of a folder looks like from outside; none when there is no such file.
    pub(in super::super) fn stamp(&self, folder: Option<&str>, name: &str) -> Option<Stamp> {
        let path = folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"));
        let stat = rustix::fs::statat(&self.handle, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Stamp {
            modified: i128::from(stat.st_mtime) * NANOS + i128::from(stat.st_mtime_nsec),
            changed: i128::from(stat.st_ctime) * NANOS + i128::from(stat.st_ctime_nsec),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
        })
    }

    /// The names in it, as far as they are text, and whether there are more than `max`.
    pub(in super::super) fn list(&self, max: usize) -> io::Result<(Vec<(String, Kind)>, bool)> {
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
                FileType::Unknown => self.kind(&name)?.unwrap_or(Kind::Other),
                known => kind(known),
            };
            names.push((name, kind));
        }
        Ok((names, false))
    }

    fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind(FileType::from_raw_mode(stat.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges two files in one step; false where that cannot be done.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(in super::super) fn exchange(&self, one: &str, other: &str) -> io::Result<bool> {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        match rustix::fs::renameat_with(&self.handle, one, &self.handle, other, flags) {
            Ok(()) => Ok(true),
            Err(error) if is_unsupported(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges two files in one step; false where that cannot be done.
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(in super::super) fn exchange(&self, _one: &str, _other: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Renames a file; what has the new name is gone.
    pub(in super::super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Moves a name elsewhere, unless something has that name there.
    pub(in super::super) fn move_new(&self, from: &str, place: &Self, to: &str) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&self.handle, from, &place.handle, to, flags) {
                Ok(()) => return Ok(true),
                Err(Errno::EXIST | Errno::NOTEMPTY) => return Ok(false),
                Err(error) if is_unsupported(error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if place.kind(to)?.is_some() {
            return Ok(false);
        }
        rustix::fs::renameat(&self.handle, from, &place.handle, to)?;
        Ok(true)
    }

    /// Removes a file.
    pub(in super::super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Removes a folder, if it is empty.
    pub(in super::super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes sure that names survive a loss of power.
    pub(in super::super) fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.handle) {
            // Some file systems cannot, and keep names anyway.
            Ok(()) | Err(Errno::INVAL | Errno::BADF) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until no other writer of ours holds the folder, in this process or another.
    pub(in super::super) fn hold(&self, patience: Duration) -> io::Result<Option<Guard>> {
        // A handle of its own: a hold belongs to the handle, and threads share ours.
        let mut handle = File::from(rustix::fs::openat(&self.handle, ".", FOLDER, Mode::empty())?);
        let start = std::time::Instant::now();
        loop {
            handle = match Lock::alone(handle) {
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

/// Gives a new file the rights and, if we may, the owner of the one it replaces.
pub(in super::super) fn like(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only the superuser may; everybody else already is the owner of what they write.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

/// True where folders cannot be held, as on some network file systems.
fn is_unknown(error: &io::Error) -> bool {
    let error = Errno::from_io_error(error);
    matches!(error, Some(Errno::NOLCK | Errno::BADF | Errno::NOTSUP | Errno::INVAL))
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}
