//! The lock on the worktrees of a repository.

use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::forge::project::{GitPaths, failure};
use crate::lock::Lock;

/// Longer than the slowest checkout.
const PATIENCE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the lock.
pub(super) fn take(paths: &GitPaths) -> Result<Lock, Failure> {
    take_within(paths, PATIENCE)
}

fn take_within(paths: &GitPaths, patience: Duration) -> Result<Lock, Failure> {
    let path = paths.common.join("tollgate-worktrees.lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // An agent could have planted a symbolic link here.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    let mut file = options.open(&path).map_err(|error| failure::no_worktree(&path, &error))?;
    let deadline = Instant::now() + patience;
    loop {
        file = match Lock::exclusive(file).map_err(|error| failure::no_worktree(&path, &error))? {
            Ok(lock) => return Ok(lock),
            Err(file) if Instant::now() < deadline => file,
            Err(_) => return Err(failure::worktrees_busy(&path, patience.as_secs())),
        };
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::git::Environment;
    use crate::forge::project::Project;

    fn project() -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().unwrap();
        assert!(made.success());
        let environment = Environment { path: std::env::var_os("PATH"), ..Environment::default() };
        let project = Project::open(folder.path(), environment).unwrap();
        (folder, project)
    }

    #[test]
    fn a_second_process_waits_for_the_lock() {
        let (_folder, project) = project();
        let first = take(project.paths()).unwrap();
        let failure = take_within(project.paths(), Duration::ZERO).unwrap_err();
        assert!(failure.message.contains("another process has held"), "{failure}");
        drop(first);
        take_within(project.paths(), Duration::ZERO).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let (folder, project) = project();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, project.paths().common.join("tollgate-worktrees.lock")).unwrap();
        assert!(take(project.paths()).is_err());
        assert!(!target.exists());
    }
}
