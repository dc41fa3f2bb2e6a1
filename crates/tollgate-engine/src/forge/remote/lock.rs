//! Reader and fetcher locks of the cache.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::failure;
use crate::failure::Failure;
use crate::lock::Lock;

/// Longer than the deletion of a repository.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// Takes the shared lock of a reader.
pub(super) fn hold(path: &Path) -> Result<Lock, Failure> {
    let lock = wait(path, Instant::now() + PATIENCE, Lock::shared, || false)?;
    // The mtime records the last use; a failure only affects eviction.
    let _ = lock.file().set_modified(SystemTime::now());
    Ok(lock)
}

/// Waits for the exclusive lock.
pub(super) fn take(path: &Path, deadline: Instant, cancel: &CancellationToken) -> Result<Lock, Failure> {
    wait(path, deadline, Lock::exclusive, || cancel.is_cancelled())
}

/// Takes the exclusive lock if it is free.
pub(super) fn try_take(path: &Path) -> Result<Option<Lock>, Failure> {
    let taken = Lock::exclusive(open(path)?).map_err(|error| failure::no_cache(path, &error))?;
    Ok(taken.ok())
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    file.map_err(|error| failure::no_cache(path, &error))
}

fn wait(
    path: &Path,
    deadline: Instant,
    attempt: impl Fn(File) -> io::Result<Result<Lock, File>>,
    is_cancelled: impl Fn() -> bool,
) -> Result<Lock, Failure> {
    let mut file = open(path)?;
    loop {
        file = match attempt(file).map_err(|error| failure::no_cache(path, &error))? {
            Ok(lock) => return Ok(lock),
            Err(_) if is_cancelled() => return Err(failure::cancelled()),
            Err(_) if Instant::now() >= deadline => return Err(failure::busy(path)),
            Err(file) => file,
        };
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_the_lock_and_waiting_can_be_cancelled() {
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
