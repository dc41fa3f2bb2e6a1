//! Agents that write: real processes in a real folder, which stays, behind a guard that leaves nothing else.
//!
//! `TOLLGATE_CHAOS=50 cargo test -p tollgate --test it implementer::killing_the_parent -- --nocapture` kills the program
//! fifty times in either mode and prints how long the agent's processes were there afterwards.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_engine::agent::{
    Agent, Implement, ImplementLimits, Implemented, Key, Output, Preset, Program, PromptBy, TranscriptText, implement,
};
use tollgate_engine::call::CallFailure;
use tollgate_engine::process::guard::{ProcessMark, end_survivors, has_namespace};
use tollgate_engine::process::sandbox::Layers;

use crate::agents::{HIDERS, LONG, OF_THE_SHELL, marked};
use crate::scratch::program;
use crate::wait::wait_until;

/// A scripted agent, its work tree and its limits.
struct Work {
    folder: tempfile::TempDir,
    agent: Agent,
    limits: ImplementLimits,
    cancel: CancellationToken,
}

impl Work {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(folder.path().join("tree")).unwrap();
        let agent = Agent::command("play", vec![path.to_string_lossy().into_owned()]);
        let limits =
            ImplementLimits { wall: LONG, idle: LONG, grace: Duration::from_millis(100), ..ImplementLimits::default() };
        Self { folder, agent, limits, cancel: CancellationToken::new() }
    }

    /// The same script in the role of a preset.
    fn preset(mut self, preset: Preset) -> Self {
        self.agent.path = Some(self.folder.path().join("agent"));
        self.agent.program = Program::Preset(preset);
        self.agent.output = Output::OfPreset;
        self
    }

    /// A marker in the arguments of every process of the work, because it is in its path.
    fn mark(&self) -> String {
        self.folder.path().file_name().unwrap().to_string_lossy().into_owned()
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.tree().join(name)).ok()
    }

    fn run(&self) -> Result<Implemented, CallFailure> {
        self.run_and_hear(&|_| {}, &|_| {})
    }

    fn run_and_hear(
        &self,
        started: &dyn Fn(&ProcessMark),
        heard: &(dyn Fn(TranscriptText<'_>) + Sync),
    ) -> Result<Implemented, CallFailure> {
        implement(&Implement {
            agent: &self.agent,
            folder: &self.tree(),
            prompt: "The task.\n",
            session: None,
            images: &[],
            binds: &[],
            state: None,
            limits: self.limits,
            executable: &program(),
            cancel: &self.cancel,
            started,
            heard,
            noted: &|_| {},
        })
    }

    /// The result in one line.
    fn outcome(&self) -> String {
        let folder = self.folder.path().to_string_lossy().into_owned();
        match self.run() {
            Ok(done) => format!("done: {}", done.text),
            Err(failure) => format!("{:?}: {}", failure.why, failure.message.replace(&folder, "FOLDER")),
        }
    }
}

#[track_caller]
fn check(work: &Work, expected: &str) {
    assert_eq!(work.outcome(), expected);
    assert_eq!(marked(&work.mark()), Vec::<String>::new(), "processes are left");
    let areas = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let mut areas = areas.filter(|area| area.path().join("tmp").join(work.mark()).exists());
    assert!(areas.next().is_none(), "a folder is left");
}

/// Checks with a namespace of its own, where that can be had, and without.
#[track_caller]
fn check_both(work: &mut Work, expected: &str) {
    for namespace in [true, false] {
        work.agent.namespace = namespace;
        check(work, expected);
    }
}

#[test]
fn files_written_by_an_agent_stay_in_its_folder() {
    let mut work = Work::new("touch \"$TMPDIR/$(basename $(dirname $0))\"; mkdir -p src; cat > src/task; echo done");
    check_both(&mut work, "done: done");
    assert_eq!(work.file("src/task").as_deref(), Some("The task.\n"));
}

#[test]
fn the_task_can_come_as_a_file() {
    let mut work = Work::new("cat; cp \"$1\" task; echo \"$2\"");
    let Program::Command(command) = &mut work.agent.program else { unreachable!() };
    command.extend(["{prompt}", "--model={model}"].map(str::to_owned));
    work.agent.prompt = PromptBy::File;
    work.agent.model = Some("small".to_owned());
    check(&work, "done: --model=small");
    assert_eq!(work.file("task").as_deref(), Some("The task.\n"));
}

#[test]
fn an_agent_need_not_say_anything() {
    let mut work = Work::new("touch x");
    for output in [Output::Text, Output::Json, Output::JsonLines] {
        work.agent.output = output;
        check(&work, "done: ");
    }
}

#[test]
fn a_bad_ending_or_an_error_in_a_good_one_is_a_failure_and_the_work_stays() {
    let mut work = Work::new("echo x > x; echo done; echo 'no luck' >&2; exit 7");
    check_both(&mut work, "Unavailable: `play` ended with exit code 7: no luck");
    assert_eq!(work.file("x").as_deref(), Some("x\n"));
    let not_logged_in = r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"Please run /login"}'"#;
    check(&Work::new(not_logged_in).preset(Preset::Claude), "Setup: `play` reports an error: Please run /login");
    check(&Work::new("kill -SEGV $$"), "Unavailable: `play` was ended by signal 11: it gave no reason");
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let work = Work::new("");
    std::fs::remove_dir(work.tree()).unwrap();
    check(&work, "Setup: there is no folder `FOLDER/tree` for `play` to work in");
    let mut work = Work::new("");
    work.agent.program = Program::Command(vec!["/no/such/agent".to_owned()]);
    check(&work, "Setup: there is no program `/no/such/agent` that can be run");
}

#[test]
fn the_mark_is_handed_out_before_the_agent_does_anything() {
    let mut work = Work::new("touch began; echo done");
    for namespace in [true, false] {
        work.agent.namespace = namespace;
        let mut n_marks = 0;
        let marks = Mutex::new(&mut n_marks);
        let started = |mark: &ProcessMark| {
            **marks.lock().unwrap() += 1;
            assert_eq!(ProcessMark::of(mark.pid, &mark.run).unwrap(), *mark);
            assert_eq!(work.file("began"), None);
        };
        work.run_and_hear(&started, &|_| {}).unwrap();
        assert_eq!(n_marks, 1);
        std::fs::remove_file(work.tree().join("began")).unwrap();
    }
}

#[test]
fn an_agent_whose_mark_cannot_be_stored_never_runs() {
    let mut work = Work::new("touch began");
    for namespace in [true, false] {
        work.agent.namespace = namespace;
        work.cancel = CancellationToken::new();
        let failure = work.run_and_hear(&|_| work.cancel.cancel(), &|_| {}).unwrap_err();
        assert_eq!(failure.message, "`play` was stopped");
        assert_eq!((work.file("began"), marked(&work.mark())), (None, Vec::new()));
    }
}

/// Writes a file, hides others, hears nothing, and never ends.
fn deaf(rest: &str) -> String {
    format!("trap '' INT TERM HUP\necho x > kept\n{HIDERS}\n{rest}")
}

#[track_caller]
fn check_stopped(work: &mut Work, expected: &str) {
    check_both(work, expected);
    assert_eq!(work.file("kept").as_deref(), Some("x\n"), "the work is kept");
}

#[test]
fn a_limit_on_time_ends_everything_and_keeps_the_work() {
    let mut work = Work::new(&deaf("while :; do echo alive; sleep 0.02; done"));
    work.limits.wall = Duration::from_secs(3);
    check_stopped(&mut work, "TooSlow: `play` did not finish in time and was stopped");
}

#[test]
fn a_limit_on_silence_ends_everything_whatever_the_agent_prints() {
    for (output, namespace) in [(Output::Text, true), (Output::JsonLines, false)] {
        let mut work = Work::new(&deaf("echo '{}'; while :; do sleep 1000; done"));
        work.agent.output = output;
        work.agent.namespace = namespace;
        work.limits.idle = Duration::from_secs(3);
        check(&work, "TooSlow: `play` printed nothing for 3 s and was stopped");
        assert_eq!(work.file("kept").as_deref(), Some("x\n"));
    }
}

#[test]
fn a_stopped_agent_reports_that_nothing_is_lost() {
    let mut work = Work::new("yes");
    work.limits.output_bytes = 1000;
    let hint = work.run().unwrap_err().hint.unwrap();
    assert_eq!(hint, "What it wrote is kept. Give it more room in the settings, or ask for less at once.");
}

#[test]
fn a_limit_on_output_ends_everything() {
    for endless in ["yes", "yes >&2", "tr '\\0' x < /dev/zero"] {
        let mut work = Work::new(&deaf(endless));
        work.limits.output_bytes = 1 << 20;
        check_stopped(&mut work, "Garbled: `play` printed more than is read and was stopped");
    }
}

#[test]
fn a_limit_on_growth_ends_everything() {
    let mut work = Work::new(&deaf("while :; do head -c 1000000 /dev/zero >> big; done"));
    work.limits.disk_growth_bytes = Some(20 << 20);
    check_stopped(&mut work, "Misbehaved: `play` wrote more than 20 MiB and was stopped");
}

#[test]
fn an_agent_can_be_cancelled() {
    for namespace in [true, false] {
        let mut work = Work::new(&deaf("echo ready; while :; do sleep 1000; done"));
        work.agent.namespace = namespace;
        let failure = work.run_and_hear(&|_| {}, &|_| work.cancel.cancel()).unwrap_err();
        assert_eq!(failure.message, "`play` was stopped");
        assert_eq!(marked(&work.mark()), Vec::<String>::new());
        assert_eq!(work.file("kept").as_deref(), Some("x\n"));
    }
}

#[test]
fn processes_left_by_an_agent_are_ended() {
    check_both(&mut Work::new(&format!("{HIDERS}\necho done")), "done: done");
}

#[test]
fn an_agent_that_kills_its_guard_leaves_nothing_all_the_same() {
    let mut work = Work::new(&deaf("kill -9 $PPID; while :; do sleep 1000; done"));
    work.agent.namespace = false;
    work.agent.sandbox.layers.landlock = false;
    check(&work, "Unavailable: `play` was lost with its guard: it gave no reason");
}

#[test]
fn below_landlock_the_guard_cannot_be_killed() {
    let mut work = Work::new("kill -9 $PPID; kill -STOP $PPID; echo still here");
    work.agent.namespace = false;
    if Layers::available().landlock {
        check(&work, "done: still here");
    }
}

#[test]
fn in_a_namespace_the_guard_cannot_be_killed() {
    if has_namespace() {
        let stop_and_kill = "kill -9 $PPID; kill -STOP $PPID; kill -9 1; kill -9 -1; echo still here";
        check(&Work::new(stop_and_kill), "done: still here");
    }
}

#[test]
fn agent_output_and_activity_are_reported_as_they_happen() {
    let script = r#"echo '{"type":"system","subtype":"init","model":"claude-x","session_id":"5e55-10n"}'
echo '{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"I will "}}}'
echo '{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"look."}}}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I will look."}]}}'
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"file_path":"a.rs"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","content":"fn a() {}"}]}}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":5}}'"#;
    let work = Work::new(script).preset(Preset::Claude);
    let told = Mutex::new(String::new());
    let done = work.run_and_hear(&|_| {}, &|spoken| told.lock().unwrap().push_str(spoken.text())).unwrap();
    let told = told.into_inner().unwrap();
    insta::assert_snapshot!(told, @"
    I will look.

    🔧 Tool: Read a.rs

    Done.
    ");
    assert_eq!((done.text.as_str(), done.cost, done.transcript_bytes), ("Done.", Some(0.5), told.len() as u64));
    assert_eq!((done.model.as_deref(), done.session.as_deref()), (Some("claude-x"), Some("5e55-10n")));
    assert_eq!((done.usage.input, done.usage.output), (3, 5));
}

#[test]
fn a_key_is_told_nowhere() {
    const KEY: &str = "sk-play-0123456789abcdefghij";
    let run = |script: &str| {
        let mut work = Work::new(script);
        work.agent.key = Some(Key::new("PLAY_KEY", KEY));
        let told = Mutex::new(String::new());
        let done = work.run_and_hear(&|_| {}, &|spoken| told.lock().unwrap().push_str(spoken.text()));
        let done = done.map_or_else(|failure| failure.message, |done| done.text);
        format!("{}| {done}", told.into_inner().unwrap())
    };
    assert_eq!(run("printf 'it is '; printf %s \"$PLAY_KEY\""), "it is [hidden key]\n| it is [hidden key]");
    let exit = run("echo \"$PLAY_KEY\" >&2; exit 1");
    assert_eq!(exit, "| `play` ended with exit code 1: [hidden key]");
    assert_eq!(run("ps axww 2>/dev/null | grep -c 'sk-pla[y]-0'; true"), "0\n| 0");
}

#[test]
fn an_agent_that_writes_sees_only_what_it_is_given() {
    let work = Work::new("env | cut -d= -f1 | sort | tr '\\n' ' '");
    let names = work.run().unwrap().text;
    let allowed = ["GIT_EDITOR", "GIT_TERMINAL_PROMPT", "HOME", "LANG", "LANGUAGE", "LOGNAME", "NO_COLOR", "PATH"];
    let more = [
        "SHELL",
        "TERM",
        "TMPDIR",
        "TOLLGATE_AGENT",
        "TOLLGATE_RUN",
        "TZ",
        "USER",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "PYENV_ROOT",
    ];
    for name in names.split_whitespace().filter(|name| !OF_THE_SHELL.contains(name)) {
        let is_known = name.starts_with("LC_") || name.starts_with("XDG_") || name.to_uppercase().ends_with("_PROXY");
        let is_allowed = allowed.contains(&name) || more.contains(&name) || name.contains("CERT");
        assert!(is_known || is_allowed, "{name} is in the environment");
    }
    assert!(names.contains("HOME") && !names.contains("CARGO_MANIFEST_DIR"), "{names}");
}

const PARENT: &str = "TOLLGATE_TEST_IMPLEMENTER";
const CANARY: &str = "canary-7f3a9c";

/// In a child process that [`parent_of`] started, runs an agent and returns true.
fn is_child() -> bool {
    std::env::var_os(PARENT).map(|folder| run_agent(Path::new(&folder))).is_some()
}

fn run_agent(folder: &Path) {
    let mut work = Work::new("");
    work.agent.program = Program::Command(vec![folder.join("agent").to_string_lossy().into_owned()]);
    work.agent.namespace = folder.join("namespace").exists();
    if folder.join("patient").exists() {
        work.limits.grace = 10 * LONG;
    }
    let tree = folder.join("tree");
    let store = |mark: &ProcessMark| {
        std::fs::write(folder.join("mark"), mark.to_json().to_string()).unwrap();
        while folder.join("hangs").exists() {
            std::thread::park();
        }
    };
    let _ = implement(&Implement {
        agent: &work.agent,
        folder: &tree,
        prompt: "",
        session: None,
        images: &[],
        binds: &[],
        state: None,
        limits: work.limits,
        executable: &program(),
        cancel: &work.cancel,
        started: &store,
        heard: &|_| {},
        noted: &|_| {},
    });
}

/// Starts the given test again in a child process, which runs an agent and can be killed.
fn parent_of(test: &str, work: &Work, namespace: bool) -> std::process::Child {
    if namespace {
        std::fs::write(work.folder.path().join("namespace"), "").unwrap();
    }
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.args(["--exact", &format!("implementer::{test}"), "--nocapture"]);
    parent.env(PARENT, work.folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in ["TOLLGATE_TOKEN", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "X"] {
        parent.env(name, CANARY);
    }
    parent.spawn().unwrap()
}

fn has_mark(folder: &Path) -> bool {
    read_mark(folder).is_some()
}

fn read_mark(folder: &Path) -> Option<ProcessMark> {
    let text = std::fs::read_to_string(folder.join("mark")).ok()?;
    ProcessMark::of_json(&serde_json::from_str(&text).ok()?)
}

fn stored_mark(folder: &Path) -> ProcessMark {
    read_mark(folder).unwrap()
}

/// The number of processes of a program and its agent, including those identified only by the run's mark.
fn left(work: &Work) -> usize {
    marked(&work.mark()).len().max(marked(&stored_mark(work.folder.path()).run).len())
}

#[test]
fn none_of_our_secrets_reaches_an_agent() {
    const TEST: &str = "none_of_our_secrets_reaches_an_agent";
    if is_child() {
        return;
    }
    let look = "env > seen; cat /proc/self/environ >> seen; ps auxeww >> seen 2>/dev/null; echo end >> seen";
    let work = Work::new(look);
    parent_of(TEST, &work, false).wait().unwrap();
    let own = work.file("seen").unwrap();
    assert!(own.ends_with("end\n"));
    let n_own = own.lines().filter(|line| line.contains(CANARY) && !line.contains(PARENT)).count();
    // Without a namespace the agent can read the environments of other processes of this user, so only its own counts.
    assert_eq!(n_own, 0, "{own}");
    if has_namespace() {
        let work = Work::new(&format!("{look}; cat /proc/[0-9]*/environ >> seen 2>/dev/null"));
        parent_of(TEST, &work, true).wait().unwrap();
        let seen = std::fs::read(work.tree().join("seen")).unwrap();
        assert!(!seen.windows(CANARY.len()).any(|word| word == CANARY.as_bytes()));
    }
}

/// True while the first process of a run is there.
fn is_alive(mark: &ProcessMark) -> bool {
    ProcessMark::of(mark.pid, "").is_ok_and(|now| now.started == mark.started)
}

/// A process tree of three levels, and hiding processes.
fn three_levels() -> String {
    deaf("sh -c \"trap '' INT TERM; sh -c 'trap \\\"\\\" INT TERM; sleep 1000; true # $0'; true # $0\"; sleep 1000")
}

#[test]
fn killing_the_parent_ends_every_process_of_the_agent() {
    const TEST: &str = "killing_the_parent_ends_every_process_of_the_agent";
    if is_child() {
        return;
    }
    let n_kills = std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(5usize);
    for namespace in [true, false] {
        for _ in 0..n_kills {
            let work = Work::new(&three_levels());
            let mut parent = parent_of(TEST, &work, namespace);
            // The parent, its guard, and at least one sleeper of each kind.
            wait_until("the agent is at work", || marked(&work.mark()).len() > 9);
            parent.kill().unwrap();
            parent.wait().unwrap();
            let mark = stored_mark(work.folder.path());
            // The guard loses its marker a moment before it ends.
            let is_over = || left(&work) == 0 && !area_of(&mark).exists() && !is_alive(&mark);
            wait_until("nothing is left", is_over);
            assert_eq!(work.file("kept").as_deref(), Some("x\n"));
            assert_eq!(end_survivors(&mark).unwrap(), 0);
        }
    }
}

#[test]
fn an_agent_that_may_take_its_time_to_end_gets_little_of_it_when_we_are_gone() {
    const TEST: &str = "an_agent_that_may_take_its_time_to_end_gets_little_of_it_when_we_are_gone";
    if is_child() {
        return;
    }
    let work = Work::new(&three_levels());
    std::fs::write(work.folder.path().join("patient"), "").unwrap();
    let mut parent = parent_of(TEST, &work, false);
    wait_until("the agent is at work", || marked(&work.mark()).len() > 9);
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("nothing is left", || left(&work) == 0);
}

#[test]
fn when_we_are_killed_before_the_mark_is_stored_the_agent_never_runs() {
    const TEST: &str = "when_we_are_killed_before_the_mark_is_stored_the_agent_never_runs";
    if is_child() {
        return;
    }
    for namespace in [true, false] {
        let work = Work::new("touch began");
        std::fs::write(work.folder.path().join("hangs"), "").unwrap();
        let mut parent = parent_of(TEST, &work, namespace);
        wait_until("the guard is held", || has_mark(work.folder.path()));
        let mark = stored_mark(work.folder.path());
        assert!(ProcessMark::of(mark.pid, "").is_ok());
        parent.kill().unwrap();
        parent.wait().unwrap();
        wait_until("nothing is left", || left(&work) == 0 && !area_of(&mark).exists());
        assert_eq!(work.file("began"), None);
    }
}

/// The throw-away folder of a run.
fn area_of(mark: &ProcessMark) -> PathBuf {
    std::env::temp_dir().join(format!("tollgate-agent-{}", mark.run))
}

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

#[test]
fn when_the_guard_is_killed_too_survivors_are_found_and_ended() {
    const TEST: &str = "when_the_guard_is_killed_too_survivors_are_found_and_ended";
    if is_child() {
        return;
    }
    for namespace in [true, false] {
        let work = Work::new(&three_levels());
        let mut parent = parent_of(TEST, &work, namespace);
        wait_until("the agent is at work", || marked(&work.mark()).len() > 9);
        let mark = stored_mark(work.folder.path());
        // Stopped, the guard cannot notice that we are gone.
        signal("-STOP", mark.pid);
        parent.kill().unwrap();
        parent.wait().unwrap();
        signal("-KILL", mark.pid);
        wait_until("the guard is gone", || ProcessMark::of(mark.pid, "").is_err());
        let n_left = left(&work);
        assert!(namespace || n_left > 6, "{n_left}");
        let n_ended = end_survivors(&mark).unwrap();
        assert!(namespace || n_ended >= n_left, "{n_ended} of {n_left}");
        wait_until("nothing is left", || left(&work) == 0);
        assert_eq!(end_survivors(&mark).unwrap(), 0);
        assert!(!area_of(&mark).exists());
        assert_eq!(work.file("kept").as_deref(), Some("x\n"));
    }
}

#[test]
fn a_restart_ends_processes_that_the_guard_has_not_yet_ended() {
    const TEST: &str = "a_restart_ends_processes_that_the_guard_has_not_yet_ended";
    if is_child() {
        return;
    }
    let work = Work::new(&three_levels());
    let mut parent = parent_of(TEST, &work, false);
    wait_until("the agent is at work", || marked(&work.mark()).len() > 9);
    let mark = stored_mark(work.folder.path());
    parent.kill().unwrap();
    parent.wait().unwrap();
    end_survivors(&mark).unwrap();
    assert_eq!(left(&work), 0);
}
