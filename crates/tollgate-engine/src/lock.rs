//! File locks between processes.
//!
//! The system releases a lock when the process ends. Within a process, closing the file is not enough: a child that
//! another thread has just forked holds the file open until its `exec`, and the lock would seem taken for as long. So a
//! lock is released explicitly.

use std::fs::{File, TryLockError};
use std::io;

/// A lock on a file, released when it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes an exclusive lock; returns the file when another process holds a lock.
    pub(crate) fn exclusive(file: File) -> io::Result<Result<Self, File>> {
        Self::by(file, File::try_lock)
    }

    /// Takes a shared lock; returns the file when another process holds an exclusive one.
    pub(crate) fn shared(file: File) -> io::Result<Result<Self, File>> {
        Self::by(file, File::try_lock_shared)
    }

    fn by(file: File, attempt: fn(&File) -> Result<(), TryLockError>) -> io::Result<Result<Self, File>> {
        loop {
            match attempt(&file) {
                Ok(()) => return Ok(Ok(Self { file })),
                Err(TryLockError::WouldBlock) => return Ok(Err(file)),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// The locked file.
    #[must_use]
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock later.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_free_at_once_even_if_a_child_still_has_the_file_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let keep = || Lock::exclusive(file.reopen().unwrap()).unwrap();
        let lock = keep().unwrap();
        let of_a_child = lock.file().try_clone().unwrap();
        assert!(keep().is_err());
        drop(lock);
        assert!(keep().is_ok());
        drop(of_a_child);
    }

    #[test]
    fn shared_locks_exclude_exclusive_ones() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || file.reopen().unwrap();
        let (first, second) = (Lock::shared(open()).unwrap(), Lock::shared(open()).unwrap());
        assert!(first.is_ok() && second.is_ok());
        assert!(Lock::exclusive(open()).unwrap().is_err());
        drop((first, second));
        let alone = Lock::exclusive(open()).unwrap();
        assert!(alone.is_ok() && Lock::shared(open()).unwrap().is_err());
    }
}
