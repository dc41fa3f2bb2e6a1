//! Directory handles by path, for systems without file descriptors of directories.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::time::Duration;

use super::{EntryKind, Found, Stamp};

/// A directory.
#[derive(Debug)]
pub(crate) struct DirHandle {
    path: PathBuf,
}

/// The process-wide lock of one writer.
#[derive(Debug)]
pub(crate) struct Guard {
    _process: MutexGuard<'static, ()>,
}

impl DirHandle {
    /// Opens a directory by a path of the operator, following links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a subdirectory.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Found<Self>> {
        Ok(match self.kind(name)? {
            Some(EntryKind::Folder) => Found::Is(Self { path: self.path.join(name) }),
            Some(EntryKind::Link) => Found::Link,
            Some(_) => Found::Other,
            None => Found::Missing,
        })
    }

    /// Creates a subdirectory, if the name is free.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        match std::fs::create_dir(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OpenOptions::new().read(true))
    }

    /// Opens a regular file for reading and writing; created if missing.
    pub(crate) fn file_to_keep(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OpenOptions::new().read(true).write(true).create(true))
    }

    /// Opens a regular file for appending; created if missing.
    pub(crate) fn file_to_append(&self, name: &str) -> io::Result<Found<File>> {
        self.open_file(name, OpenOptions::new().append(true).create(true))
    }

    /// Creates a new file.
    pub(crate) fn new_file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    fn open_file(&self, name: &str, options: &OpenOptions) -> io::Result<Found<File>> {
        match self.kind(name)? {
            Some(EntryKind::Link) => return Ok(Found::Link),
            Some(EntryKind::Folder | EntryKind::Other) => return Ok(Found::Other),
            Some(EntryKind::File) | None => {}
        }
        match options.open(self.path.join(name)) {
            Ok(file) => Ok(Found::Is(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Missing),
            Err(error) => Err(error),
        }
    }

    /// The stamp of a file, if it exists.
    pub(crate) fn stamp(&self, folder: Option<&str>, name: &str) -> Option<Stamp> {
        let path = folder.map_or_else(|| self.path.clone(), |folder| self.path.join(folder)).join(name);
        std::fs::symlink_metadata(path).ok().as_ref().map(Stamp::of)
    }

    /// The entries with UTF-8 names, and whether there are more than `max`.
    pub(crate) fn list(&self, max: usize) -> io::Result<(Vec<(String, EntryKind)>, bool)> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            if names.len() == max {
                return Ok((names, true));
            }
            let entry = entry?;
            names.push((entry.file_name().to_string_lossy().into_owned(), kind(entry.file_type()?)));
        }
        Ok((names, false))
    }

    fn kind(&self, name: &str) -> io::Result<Option<EntryKind>> {
        match std::fs::symlink_metadata(self.path.join(name)) {
            Ok(metadata) => Ok(Some(kind(metadata.file_type()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Exchanges two files atomically; false where unsupported.
    pub(crate) fn exchange(&self, _one: &str, _other: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Renames a file, replacing an existing one.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Moves an entry to another directory, unless the name is taken there.
    pub(crate) fn move_new(&self, from: &str, target: &Self, to: &str) -> io::Result<bool> {
        if target.kind(to)?.is_some() {
            return Ok(false);
        }
        std::fs::rename(self.path.join(from), target.path.join(to))?;
        Ok(true)
    }

    /// Deletes a file.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    /// Deletes an empty directory.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        std::fs::remove_dir(self.path.join(name))
    }

    /// Directories cannot be synced here.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Waits for the process-wide lock.
    pub(crate) fn hold(&self, patience: Duration) -> io::Result<Option<Guard>> {
        Ok(super::alone(patience).map(|process| Guard { _process: process }))
    }
}

/// Copies the permissions of the replaced file.
pub(crate) fn like(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

fn kind(file_type: std::fs::FileType) -> EntryKind {
    if file_type.is_symlink() {
        EntryKind::Link
    } else if file_type.is_dir() {
        EntryKind::Folder
    } else if file_type.is_file() {
        EntryKind::File
    } else {
        EntryKind::Other
    }
}
