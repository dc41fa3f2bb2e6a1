//! One process at a time changes the worktrees of a repository.

use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::forge::project::{Place, failure};
use crate::lock::Lock;

/// Longer than the longest checkout that is waited for.
const PATIENCE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the right to change worktrees.
pub(super) fn take(place: &Place) -> Result<Lock, Failure> {
    take_within(place, PATIENCE)
}

fn take_within(place: &Place, patience: Duration) -> Result<Lock, Failure> {
    let path = place.common.join("tollgate-worktrees.lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // An agent can put a link here.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    let mut file = options.open(&path).map_err(|error| failure::no_worktree(&path, &error))?;
    let deadline = Instant::now() + patience;
    loop {
        file = match Lock::alone(file).map_err(|error| failure::no_worktree(&path, &error))? {
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
    fn who_comes_second_waits_until_the_first_is_done() {
        let (_folder, project) = project();
        let first = take(project.place()).unwrap();
        let failure = take_within(project.place(), Duration::ZERO).unwrap_err();
        assert!(failure.message.contains("another process has held"), "{failure}");
        drop(first);
        take_within(project.place(), Duration::ZERO).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let (folder, project) = project();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, project.place().common.join("tollgate-worktrees.lock")).unwrap();
        assert!(take(project.place()).is_err());
        assert!(!target.exists());
    }
}
