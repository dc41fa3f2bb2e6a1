//! Who reads a repository of the cache, and who may change it.
//!
//! The system gives a lock back when its process ends in whatever way, so none is left behind.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::failure;
use crate::failure::Failure;

/// Deleting a repository takes less.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// Says that a repository is in use, as long as the file is open; together with others who do.
pub(super) fn hold(path: &Path) -> Result<File, Failure> {
    let file = open(path)?;
    let deadline = Instant::now() + PATIENCE;
    wait(path, deadline, || file.try_lock_shared(), || false)?;
    // Tells who has not been used for long; a cache goes without it.
    let _ = file.set_modified(SystemTime::now());
    Ok(file)
}

/// Waits until nobody else has it.
pub(super) fn take(path: &Path, deadline: Instant, cancel: &CancellationToken) -> Result<File, Failure> {
    let file = open(path)?;
    wait(path, deadline, || file.try_lock(), || cancel.is_cancelled())?;
    Ok(file)
}

/// Takes it if nobody else has it.
pub(super) fn try_take(path: &Path) -> Result<Option<File>, Failure> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failure::no_cache(path, &error)),
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    file.map_err(|error| failure::no_cache(path, &error))
}

fn wait(
    path: &Path,
    deadline: Instant,
    attempt: impl Fn() -> Result<(), TryLockError>,
    is_cancelled: impl Fn() -> bool,
) -> Result<(), Failure> {
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(failure::no_cache(path, &error)),
            Err(TryLockError::WouldBlock) if is_cancelled() => return Err(failure::cancelled()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(failure::busy(path)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_may_read_while_nobody_takes_it_and_a_wait_can_be_called_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.use");
        let (first, second) = (hold(&path).unwrap(), hold(&path).unwrap());
        assert!(try_take(&path).unwrap().is_none());
        drop(first);
        assert!(try_take(&path).unwrap().is_none());
        let cancel = CancellationToken::new();
        cancel.cancel();
        let failure = take(&path, Instant::now() + PATIENCE, &cancel).unwrap_err();
        assert_eq!(failure.message, "the fetch was cancelled");
        let failure = take(&path, Instant::now(), &CancellationToken::new()).unwrap_err();
        assert!(failure.message.contains("another process has held"), "{failure}");
        drop(second);
        assert!(try_take(&path).unwrap().is_some());
    }
}
