//! Process marks, by which the processes of a run are found after a crash.
//!
//! A [`ProcessMark`] is stored before an agent starts. When the server restarts, [`end_survivors`] kills the remaining
//! processes of the run, and no others: a process belongs to the run only when its start time and the boot id match the
//! mark, or when its environment contains the random id of the run.
//!
//! ```json
//! {"pid": 4711, "started": 123456, "boot": "0b6d…", "run": "Xk29…"}
//! ```

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
mod survivors;

/// The environment variable with the id of the run.
pub const RUN_VARIABLE: &str = "TOLLGATE_RUN";

/// Identifies the processes of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessMark {
    /// The first process: the guard, or the `unshare` around it. It leads its process group.
    pub pid: u32,
    /// Its start time, in ticks since boot.
    pub started: u64,
    /// The boot id of the machine.
    pub boot: String,
    /// The random id of the run.
    pub run: String,
}

impl ProcessMark {
    /// The mark of a process, and of the run that it is the first of; fails when the process has ended.
    pub fn of(pid: u32, run: &str) -> io::Result<Self> {
        // Without a boot id, survivors are found by the id of the run alone.
        Ok(Self { pid, started: start_time(pid)?, boot: boot().unwrap_or_default(), run: run.to_owned() })
    }

    /// The mark as it is stored.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"pid": self.pid, "started": self.started, "boot": self.boot, "run": self.run})
    }

    /// A mark as it was stored.
    #[must_use]
    pub fn of_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        Some(Self {
            pid: u32::try_from(value.get("pid")?.as_u64()?).ok()?,
            started: value.get("started")?.as_u64()?,
            boot: text("boot")?,
            run: text("run")?,
        })
    }
}

/// Kills the remaining processes of a run, waits for their end, removes the scratch folder, and returns how many processes
/// there were.
///
/// Leaves processes with a reused id alone. Fails when a process cannot be killed.
pub fn end_survivors(mark: &ProcessMark) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    let ended = survivors::end(mark);
    #[cfg(not(target_os = "linux"))]
    let ended = Ok(0);
    // The guard does that, unless it was killed with us.
    if let Some(folder) = folder_of(&mark.run) {
        let _ = super::remove(&folder);
    }
    ended
}

/// The path of the scratch folder of a run.
fn folder_of(run: &str) -> Option<PathBuf> {
    let is_word = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let temp = std::env::temp_dir().canonicalize().ok()?;
    is_word.then(|| temp.join(format!("{}{run}", super::FOLDER_PREFIX)))
}

#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> io::Result<u64> {
    let process = i32::try_from(pid).ok().and_then(super::table::Process::of);
    process
        .filter(|process| !process.has_ended)
        .map(|process| process.started)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Outside Linux a reused process id cannot be detected, so no process is killed.
#[cfg(not(target_os = "linux"))]
fn start_time(_pid: u32) -> io::Result<u64> {
    Ok(0)
}

#[cfg(target_os = "linux")]
fn boot() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[cfg(not(target_os = "linux"))]
fn boot() -> io::Result<String> {
    Ok(String::new())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that has printed `ready`; its output ends when the last of its processes does.
    fn shell(script: &str, run: Option<&str>) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).env_remove(RUN_VARIABLE);
        command.envs(run.map(|run| (RUN_VARIABLE, run)));
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        child
    }

    #[track_caller]
    fn check_gone(mut child: Child) {
        let mut rest = String::new();
        child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        child.wait().unwrap();
    }

    fn word() -> String {
        let folder = tempfile::tempdir().unwrap();
        folder.path().file_name().unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn a_mark_comes_back_from_where_it_was_stored() {
        let mark = ProcessMark::of(std::process::id(), "w").unwrap();
        assert_eq!(ProcessMark::of_json(&mark.to_json()), Some(mark.clone()));
        for broken in [json!({}), json!({"pid": -1, "started": 1, "boot": "", "run": ""}), json!([1])] {
            assert_eq!(ProcessMark::of_json(&broken), None);
        }
        assert!(mark.started > 0 && mark.boot.len() == 36, "{mark:?}");
    }

    #[test]
    fn a_process_that_has_ended_has_no_mark() {
        let mut child = shell("echo ready; exec sleep 1000", None);
        assert!(ProcessMark::of(child.id(), "").is_ok());
        child.kill().unwrap();
        // Its output ends with it, and it is not waited for yet.
        child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        while ProcessMark::of(child.id(), "").is_ok() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn the_first_process_and_all_below_it_are_ended() {
        let child = shell("sh -c 'sleep 1000 & sleep 1000 & echo ready; wait' & wait", None);
        let mark = ProcessMark::of(child.id(), "").unwrap();
        assert_eq!(end_survivors(&mark).unwrap(), 4);
        assert_eq!(end_survivors(&mark).unwrap(), 0);
        check_gone(child);
    }

    #[test]
    fn a_process_outside_the_session_is_found_by_the_run_id() {
        let word = word();
        let hides = "(setsid sh -c 'sleep 1000 & sleep 1000 & echo ready; wait' &); exec sleep 1000";
        let mut first = shell(hides, Some(&word));
        let mark = ProcessMark::of(first.id(), &word).unwrap();
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(end_survivors(&mark).unwrap(), 3);
        check_gone(first);
    }

    #[test]
    fn another_process_that_got_the_number_lives_on() {
        let mut child = shell("echo ready; exec sleep 1000", None);
        let mark = ProcessMark::of(child.id(), "no-such-run").unwrap();
        let other_time = ProcessMark { started: mark.started + 1, ..mark.clone() };
        let other_boot = ProcessMark { boot: "another".to_owned(), ..mark };
        for reused in [other_time, other_boot] {
            assert_eq!(end_survivors(&reused).unwrap(), 0);
            assert!(child.try_wait().unwrap().is_none());
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_scratch_folder_of_a_run_is_removed_and_no_other() {
        let folder = tempfile::Builder::new().prefix(super::super::FOLDER_PREFIX).tempdir().unwrap();
        let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        let word = name.strip_prefix(super::super::FOLDER_PREFIX).unwrap();
        let mark = |run: &str| ProcessMark { pid: 0, started: 0, boot: "another".to_owned(), run: run.to_owned() };
        for other in ["", "..", &format!("x/../{name}"), &word[1..]] {
            end_survivors(&mark(other)).unwrap();
            assert!(folder.path().exists(), "{other}");
        }
        end_survivors(&mark(word)).unwrap();
        assert!(!folder.path().exists());
    }

    #[test]
    fn a_word_must_be_the_whole_word() {
        let word = word();
        let mut child = shell("echo ready; exec sleep 1000", Some(&format!("{word}x")));
        let nobody = ProcessMark { pid: 0, started: 0, boot: boot().unwrap(), run: word };
        assert_eq!(end_survivors(&nobody).unwrap(), 0);
        assert_eq!(end_survivors(&ProcessMark { run: String::new(), ..nobody }).unwrap(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
