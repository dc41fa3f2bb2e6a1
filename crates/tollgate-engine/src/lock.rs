//! A file or folder that one process keeps from others.
//!
//! The system lets go of it when the process ends, however it ends. While it lives, closing the file is not enough:
//! what another thread has just forked has it open as well until it runs its program, and for as long whoever asks
//! would be told that somebody keeps it. So a lock is given back by word.

use std::fs::{File, TryLockError};
use std::io;

/// Keeps a file until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Keeps a file for ourselves; gives it back when somebody else keeps it.
    pub(crate) fn exclusive(file: File) -> io::Result<Result<Self, File>> {
        Self::by(file, File::try_lock)
    }

    /// Keeps a file together with others who do the same; gives it back when somebody keeps it alone.
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

    /// The file that is kept.
    #[must_use]
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing it does the same, only later.
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
    fn several_may_keep_it_together_and_nobody_beside_them_alone() {
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
