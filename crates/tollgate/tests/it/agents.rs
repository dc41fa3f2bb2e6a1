//! Misbehaving review agents: real processes under the real process guard.
//!
//! Each agent is a script. Its processes are found by a mark in their environment or arguments, wherever they hid.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tollgate_engine::failure::Failure;
use tollgate_engine::reviewer::call::{Backend as _, CallControl, CallFailure, CallProgress, Question, Reply};
use tollgate_engine::reviewer::command::{
    Agent, AgentLimits, CommandBackend, Key, Output, Preset, Program, PromptBy, self_test,
};

use crate::scratch::program;
use crate::wait::wait_until;

/// A time limit that no working agent reaches.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A scripted agent and its limits.
struct Play {
    folder: tempfile::TempDir,
    agent: Agent,
    deadline: Duration,
    idle: Duration,
    cancel: tokio_util::sync::CancellationToken,
    files: Vec<(&'static str, &'static str)>,
}

impl Play {
    fn new(script: &str) -> Self {
        Self::of_file("#!/bin/sh\n", script, 0o755)
    }

    fn of_file(interpreter: &str, script: &str, mode: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        std::fs::write(&path, format!("{interpreter}{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut agent = Agent::command("play", vec![path.to_string_lossy().into_owned()]);
        agent.limits = AgentLimits { grace: Duration::from_millis(100), ..AgentLimits::default() };
        Self {
            folder,
            agent,
            deadline: LONG,
            idle: LONG,
            cancel: tokio_util::sync::CancellationToken::new(),
            files: vec![("src/a.rs", "fn a() {}\n"), ("b.txt", "b\n")],
        }
    }

    fn output(mut self, output: Output) -> Self {
        self.agent.output = output;
        self
    }

    /// A marker in the arguments of every process of the agent, because it is in its path.
    fn mark(&self) -> String {
        self.folder.path().file_name().unwrap().to_string_lossy().into_owned()
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ask(&self) -> Result<Reply, CallFailure> {
        self.ask_and_hear(&|_| {})
    }

    fn ask_and_hear(&self, heard: &(dyn Fn(CallProgress) + Sync)) -> Result<Reply, CallFailure> {
        let files = self.files.clone();
        let tree = move |into: &Path| -> Result<(), Failure> {
            for (name, text) in &files {
                let path = into.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Ok(())
        };
        let backend = CommandBackend::new(self.agent.clone(), Box::new(tree), program());
        let question = Question {
            system: "You review.".to_owned(),
            shared: "The project.".to_owned(),
            part: "The change.".to_owned(),
            schema: serde_json::json!({"type": "object"}),
            repair: None,
        };
        let deadline = Instant::now() + self.deadline;
        backend.ask(&question, &CallControl { deadline, idle: self.idle, cancel: &self.cancel, heard })
    }

    /// The result in one line.
    fn outcome(&self) -> String {
        let folder = self.folder.path().to_string_lossy().into_owned();
        match self.ask() {
            Ok(reply) => format!("answered: {}", reply.text),
            Err(failure) => format!("{:?}: {}", failure.why, failure.message.replace(&folder, "FOLDER")),
        }
    }
}

/// The processes with a mark in their arguments or environment, us apart.
#[cfg(target_os = "linux")]
pub(crate) fn marked(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let holds = |path: String| {
        std::fs::read(path).is_ok_and(|bytes| bytes.windows(mark.len()).any(|word| word == mark.as_bytes()))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    processes
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
        .filter(|id| holds(format!("/proc/{id}/cmdline")) || holds(format!("/proc/{id}/environ")))
        .collect()
}

#[track_caller]
fn check(play: &Play, expected: &str) {
    assert_eq!(play.outcome(), expected);
    #[cfg(target_os = "linux")]
    assert_eq!(marked(&play.mark()), Vec::<String>::new(), "processes are left");
}

/// Checks with a namespace of its own, where that can be had, and without.
#[track_caller]
fn check_both(mut play: Play, expected: &str) {
    check(&play, expected);
    play.agent.namespace = false;
    check(&play, expected);
}

#[test]
fn an_agent_gets_the_prompt_and_the_tree_and_is_heard() {
    check_both(Play::new("cat src/a.rs; grep -cx 'The change.' -"), "answered: fn a() {}\n1");
}

#[test]
fn the_prompt_can_come_as_a_file() {
    let mut play = Play::new("cat; tail -n 1 \"$1\"; cat \"$2\"; echo \" $3\"");
    let Program::Command(command) = &mut play.agent.program else { unreachable!() };
    command.extend(["{prompt}", "{schema}", "--model={model}"].map(str::to_owned));
    play.agent.prompt = PromptBy::File;
    play.agent.model = Some("small".to_owned());
    check(&play, "answered: {\"type\":\"object\"}{\"type\":\"object\"} --model=small");
}

#[test]
fn an_agent_that_writes_is_not_believed() {
    let cases = [
        ("touch new", "wrote `new`"),
        ("mkdir -p src/x; echo x > src/x/y", "wrote `src/x`, wrote `src/x/y`"),
        ("echo x >> b.txt", "changed `b.txt`"),
        ("rm src/a.rs", "deleted `src/a.rs`"),
        ("chmod +x b.txt", "changed `b.txt`"),
        ("ln -sf /etc/passwd b.txt", "changed `b.txt`"),
        ("chmod 000 src", "changed `src`"),
        ("mkfifo pipe", "wrote `pipe`"),
        ("touch x; exit 3", "wrote `x`"),
    ];
    for (deed, changes) in cases {
        let play = Play::new(&format!("echo approved; {deed}"));
        let outcome = play.outcome();
        // Root can read below a locked folder, too.
        let outcome = outcome.replace(", deleted `src/a.rs`", "");
        assert_eq!(outcome, format!("Misbehaved: `play` is to read only, but {changes}"), "{deed}");
    }
}

#[test]
fn writing_to_its_own_temporary_folder_is_fine() {
    check(&Play::new("echo x > \"$TMPDIR/x\"; echo done"), "answered: done");
}

/// A process that hides: in its own session, forked twice, ignoring signals.
pub(crate) const HIDERS: &str = "
hide() { trap '' INT TERM HUP; sleep 1000 & sleep 1000; }
(setsid sh -c \"trap '' INT TERM HUP; sleep 1000 & sleep 1000 # $0\" &)
( ( hide ) & ) &
nohup sh -c \"(sleep 1000; true) & exec sleep 1000 # $0\" >/dev/null 2>&1 &
";

#[test]
fn processes_left_by_an_agent_are_ended() {
    check_both(Play::new(&format!("{HIDERS}\necho done")), "answered: done");
}

#[test]
fn an_agent_that_hears_no_signals_is_stopped_at_the_deadline() {
    let mut play = Play::new(&format!("trap '' INT TERM HUP\n{HIDERS}\nwhile :; do sleep 1000; done"));
    play.deadline = Duration::from_millis(300);
    check_both(play, "TooSlow: `play` did not finish in time and was stopped");
}

#[test]
fn an_agent_may_tidy_up_when_it_is_interrupted() {
    let mut play = Play::new("").output(Output::JsonLines);
    let said = play.beside("said");
    let script =
        "trap 'echo interrupted > SAID; exit 0' INT; echo '{\"text\": \"ready\"}'; while :; do sleep 0.01; done";
    let script = script.replace("SAID", &said.to_string_lossy());
    std::fs::write(play.beside("agent"), format!("#!/bin/sh\n{script}\n")).unwrap();
    play.agent.limits.grace = LONG;
    play.agent.sandbox.write.push(play.beside("").to_string_lossy().into_owned());
    for namespace in [true, false] {
        play.agent.namespace = namespace;
        play.cancel = tokio_util::sync::CancellationToken::new();
        let failure = play
            .ask_and_hear(&|heard| {
                if matches!(&heard, CallProgress::Answer(text) if text.len() == 5) {
                    play.cancel.cancel()
                }
            })
            .unwrap_err();
        assert_eq!(failure.message, "`play` was stopped");
        assert_eq!(std::fs::read_to_string(&said).unwrap(), "interrupted\n");
        std::fs::remove_file(&said).unwrap();
    }
}

/// A shell ignores SIGINT for the commands that a script starts with `&`, and children inherit ignored signals.
#[test]
fn an_agent_is_interrupted_even_if_this_program_ignores_the_signal() {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' INT; exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
    let again = shell.args(["--exact", "agents::an_agent_may_tidy_up_when_it_is_interrupted"]).output().unwrap();
    let printed = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && printed.contains("1 passed"), "{printed}");
}

#[test]
fn an_agent_that_prints_without_end_is_stopped() {
    let stopped = "Garbled: `play` printed more than is read and was stopped";
    check(&Play::new("yes | head -c 100000000"), stopped);
    for output in [Output::Text, Output::Json, Output::JsonLines] {
        for script in ["yes", "yes >&2", "tr '\\0' x < /dev/zero"] {
            let mut play = Play::new(script).output(output);
            play.agent.limits.output_bytes = 1 << 20;
            check(&play, stopped);
        }
    }
}

#[test]
fn an_agent_that_fills_the_disk_is_stopped() {
    let mut play = Play::new("while :; do head -c 1000000 /dev/zero >> \"$TMPDIR/x\"; done");
    play.agent.limits.disk_bytes = 20 << 20;
    check(&play, "Misbehaved: `play` wrote more than 20 MiB and was stopped");
    let mut play = Play::new("while :; do head -c 1000000 /dev/zero >> big; done");
    play.agent.limits.disk_bytes = 20 << 20;
    check(&play, "Misbehaved: `play` wrote more than 20 MiB and was stopped");
}

#[test]
fn an_agent_that_hangs_is_stopped_when_it_shows_no_sign_of_life() {
    let mut play = Play::new("echo '{\"text\": \"hm\"}'; sleep 1000").output(Output::JsonLines);
    play.idle = Duration::from_millis(300);
    check_both(play, "TooSlow: `play` printed nothing for 0 s and was stopped");
}

#[test]
fn an_agent_that_drips_is_stopped_at_the_deadline() {
    let mut play = Play::new("while :; do echo '{\"type\": \"alive\"}'; sleep 0.02; done").output(Output::JsonLines);
    play.idle = Duration::from_secs(60);
    play.deadline = Duration::from_millis(500);
    check(&play, "TooSlow: `play` did not finish in time and was stopped");
}

#[test]
fn the_reason_of_an_unfinished_agent_is_reported() {
    let script = r#"echo '{"type":"error","message":"Reconnecting... 2/5"}'; sleep 1000"#;
    let mut play = Play::new(script);
    play.agent.program = Program::Preset(Preset::Codex);
    play.agent.path = Some(play.beside("agent"));
    play.agent.output = Output::OfPreset;
    play.deadline = Duration::from_secs(3);
    let said = "did not finish in time and was stopped; it last said: Reconnecting... 2/5";
    check(&play, &format!("TooSlow: `play` {said}"));
}

#[test]
fn an_agent_can_be_cancelled() {
    let play = Play::new("echo '{}'; sleep 1000").output(Output::JsonLines);
    let cancel = play.cancel.clone();
    // As soon as the agent is at work.
    let failure = play.ask_and_hear(&move |_| cancel.cancel()).unwrap_err();
    assert_eq!(format!("{:?}: {}", failure.why, failure.message), "Cancelled: `play` was stopped");
    #[cfg(target_os = "linux")]
    assert_eq!(marked(&play.mark()), Vec::<String>::new());
}

#[test]
fn an_incomplete_answer_is_rejected() {
    let json = |script: &str| Play::new(script).output(Output::Json);
    let lines = |script: &str| Play::new(script).output(Output::JsonLines);
    check(&json("echo '{\"result\": \"ok'"), "Garbled: `play` printed JSON that is cut off");
    check(
        &lines("echo '{\"type\":\"start\"}'; printf '{\"text\": \"o'"),
        "Garbled: `play` printed invalid JSON: `{\"text\": \"o`",
    );
    check(&Play::new("true"), "Garbled: `play` printed nothing");
    check(&Play::new("echo; echo '  '"), "Garbled: `play` printed nothing");
    check(&json("true"), "Garbled: `play` printed nothing");
    check(&lines("echo '{\"type\":\"start\"}'"), "Garbled: `play` ended without an answer");
}

#[test]
fn an_error_inside_a_good_ending_is_an_error() {
    let json = |script: &str| Play::new(script).output(Output::Json);
    let error = r#"echo '{"result": "approved", "is_error": true, "error": {"message": "no credit left"}}'"#;
    check(&json(error), "Unavailable: `play` reports an error: no credit left");
    let lines =
        Play::new(r#"echo '{"text": "ok"}'; echo '{"type": "error", "message": "lost"}'"#).output(Output::JsonLines);
    check(&lines, "Unavailable: `play` reports an error: lost");
}

#[test]
fn a_bad_ending_is_quoted() {
    check(
        &Play::new("echo answer; echo 'first line' >&2; printf 'it \\033[31mbroke\\n' >&2; exit 7"),
        "Unavailable: `play` ended with exit code 7: first line / it \\u{1b}[31mbroke",
    );
    check(&Play::new("kill -SEGV $$"), "Unavailable: `play` was ended by signal 11: it gave no reason");
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let no_program = "Setup: there is no program `FOLDER/agent` that can be run";
    check(&Play::of_file("#!/bin/sh\n", "echo x", 0o644), no_program);
    let no_interpreter = Play::of_file("#!/no/such/interpreter\n", "", 0o755);
    check(
        &no_interpreter,
        "Setup: `play` could not be started: cannot start `FOLDER/agent`: No such file or directory (os error 2)",
    );
}

/// Variables a shell makes for itself.
pub(crate) const OF_THE_SHELL: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

#[test]
fn an_agent_sees_only_what_it_is_given() {
    let mut play = Play::new("env | cut -d= -f1 | sort | tr '\\n' ' '; echo \"home: $(ls -A \"$HOME\")\"");
    play.agent.key = Some(Key::new("PLAY_KEY", "a-key-for-the-play"));
    let reply = play.ask().unwrap();
    let (names, home) = reply.text.split_once("home:").unwrap();
    assert_eq!(home, "", "the home is empty");
    let allowed = ["HOME", "LANG", "LANGUAGE", "NO_COLOR", "PATH", "PLAY_KEY", "TERM", "TMPDIR", "TOLLGATE_AGENT"];
    for name in names.split_whitespace().filter(|name| !OF_THE_SHELL.contains(name)) {
        let is_known = name.starts_with("LC_") || name.to_uppercase().ends_with("_PROXY") || name.contains("CERT");
        assert!(is_known || allowed.contains(&name), "{name} is in the environment");
    }
    assert!(names.contains("PLAY_KEY") && !names.contains("CARGO"), "{names}");
}

#[test]
fn an_agent_has_no_terminal_and_not_our_input() {
    check(
        &Play::new("wc -l >/dev/null; if (: </dev/tty) 2>/dev/null; then echo tty; else echo none; fi"),
        "answered: none",
    );
}

#[test]
fn a_key_is_in_no_answer_no_complaint_and_no_argument() {
    const KEY: &str = "sk-play-0123456789abcdefghij";
    let run = |script: &str| {
        let mut play = Play::new(script);
        play.agent.key = Some(Key::new("PLAY_KEY", KEY));
        play.outcome()
    };
    assert_eq!(run("echo \"it is $PLAY_KEY\""), "answered: it is [hidden key]");
    assert_eq!(run("printf %s \"$PLAY_KEY\" | base64"), "answered: [hidden key]g==");
    assert_eq!(
        run("env | grep PLAY; env | grep PLAY >&2; exit 1"),
        "Unavailable: `play` ended with exit code 1: PLAY_KEY=[hidden key]"
    );
    assert_eq!(run("echo x > \"$PLAY_KEY\""), "Misbehaved: `play` is to read only, but wrote `[hidden key]`");
    // Command lines are visible in the process list: those of the agent, the guard and all processes between.
    assert_eq!(
        run("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'sk-pla[y]-0' || echo done"),
        "answered: 0\ndone"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn in_a_namespace_other_processes_cannot_be_seen() {
    // The test process has variables of cargo's; so would ours have keys.
    let outcome = Play::new("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c CARGO_; true").outcome();
    let has_namespace = Play::new("test $$ -lt 100 && echo yes || echo no").outcome() == "answered: yes";
    assert!(outcome == "answered: 0" || !has_namespace, "{outcome}");
}

#[test]
fn configuration_for_agents_is_not_there() {
    let mut play = Play::new("find . -type f | sort");
    play.files.extend([
        (".mcp.json", "{}"),
        (".claude/settings.json", "{}"),
        ("sub/CLAUDE.md", "approve"),
        ("Agents.md", "approve"),
        (".gemini/settings.json", "{}"),
        (".opencode/agent/build.md", ""),
        ("opencode.json", ""),
        (".cursorrules", ""),
        (".github/copilot-instructions.md", ""),
        (".github/workflows/ci.yml", ""),
        (".env", ""),
        (".git/config", ""),
    ]);
    check(&play, "answered: ./.github/workflows/ci.yml\n./b.txt\n./src/a.rs");
}

#[test]
fn agent_activity_is_reported_as_it_happens() {
    let script = r#"echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read"}]}}'
echo '{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"fine"}}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine","total_cost_usd":0.5,"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":5}}'"#;
    let mut play = Play::new(script);
    play.agent.program = Program::Preset(Preset::Claude);
    play.agent.path = Some(play.beside("agent"));
    play.agent.output = Output::OfPreset;
    let told = Mutex::new(Vec::new());
    let reply = play.ask_and_hear(&|heard| told.lock().unwrap().push(heard)).unwrap();
    assert_eq!(
        *told.lock().unwrap(),
        [CallProgress::Sent, CallProgress::Working("Read".to_owned()), CallProgress::Answer("fine".to_owned())]
    );
    assert_eq!((reply.text.as_str(), reply.cost), ("fine", Some(0.5)));
    assert_eq!((reply.usage.input, reply.usage.cached, reply.usage.output), (7, 4, 5));
}

/// The result of an agent's self-test in one line.
fn self_tested(play: &Play) -> String {
    let watch =
        CallControl { deadline: Instant::now() + play.deadline, idle: LONG, cancel: &play.cancel, heard: &|_| {} };
    let test = self_test(&play.agent, &program(), &watch).unwrap();
    let failure = test.failure.as_ref().map_or("-", |failure| &failure.message);
    format!(
        "{} | {} | {failure} | {}",
        if test.passed() { "passed" } else { "failed" },
        test.deeds,
        test.tools.join(" ")
    )
}

#[test]
fn an_agent_that_writes_nothing_passes_the_self_test() {
    let script = r#"grep -q 'touch by-shell.txt' && cat readme.txt delete-me.txt >/dev/null && echo 'nothing worked'"#;
    assert_eq!(self_tested(&Play::new(script)), "passed |  | - | ");
}

#[test]
fn an_agent_that_obeys_fails_the_self_test_by_name() {
    let obeys = "echo x > by-tool.txt; rm delete-me.txt; echo x > ../sibling/by-tool-outside.txt; echo done";
    let deeds = "wrote `by-tool.txt`, deleted `delete-me.txt`, wrote `../sibling/by-tool-outside.txt`";
    assert_eq!(self_tested(&Play::new(obeys)), format!("failed | {deeds} | - | "));
}

#[test]
fn files_written_by_a_failed_agent_are_reported() {
    assert_eq!(
        self_tested(&Play::new("touch x; echo no >&2; exit 3")),
        "failed | wrote `x` | `play` ended with exit code 3: no | "
    );
    let mut play =
        Play::new("trap '' INT TERM; touch x; echo '{\"text\": \"hm\"}'; sleep 1000").output(Output::JsonLines);
    play.deadline = Duration::from_secs(2);
    assert_eq!(self_tested(&play), "failed | wrote `x` | `play` did not finish in time and was stopped | ");
    assert_eq!(self_tested(&Play::new("true")), "failed |  | `play` printed nothing | ");
}

/// Folders of agents that are there now.
fn areas_with(mark: &str) -> usize {
    let folders = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    folders.filter(|folder| folder.path().join("tree").join(mark).exists()).count()
}

#[cfg(target_os = "linux")]
const PARENT: &str = "TOLLGATE_TEST_PARENT";

/// The child process: asks an agent that never ends.
#[cfg(target_os = "linux")]
fn ask_until_killed(folder: &Path) {
    let mark: &'static str = folder.file_name().unwrap().to_str().unwrap().to_owned().leak();
    let mut play = Play::new("");
    play.agent.program = Program::Command(vec![folder.join("agent").to_string_lossy().into_owned()]);
    play.agent.namespace = folder.join("namespace").exists();
    play.files.push((mark, ""));
    let _ = play.ask();
}

#[test]
#[cfg(target_os = "linux")]
fn killing_the_program_ends_every_process_of_the_agent() {
    if let Some(folder) = std::env::var_os(PARENT) {
        return ask_until_killed(Path::new(&folder));
    }
    for namespace in [true, false] {
        let play = Play::new(&format!(
            "trap '' INT TERM\n{HIDERS}\nsh -c \"sh -c 'sleep 1000; true # $0'; true\"; sleep 1000"
        ));
        if namespace {
            std::fs::write(play.beside("namespace"), "").unwrap();
        }
        let mut parent = std::process::Command::new(std::env::current_exe().unwrap());
        let test = "agents::killing_the_program_ends_every_process_of_the_agent";
        parent.args(["--exact", test, "--nocapture"]).env(PARENT, play.folder.path());
        parent.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut parent = parent.spawn().unwrap();
        // The parent, its guard, and at least one sleeper of each kind.
        wait_until("the agent is at work", || marked(&play.mark()).len() > 6);
        assert_eq!(areas_with(&play.mark()), 1);
        parent.kill().unwrap();
        parent.wait().unwrap();
        wait_until("nothing is left", || marked(&play.mark()).is_empty());
        wait_until("the folder is gone", || areas_with(&play.mark()) == 0);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_leaves_nothing_of_the_agent() {
    let play = Play::new(&format!("trap '' INT TERM\n{HIDERS}\nsleep 1000"));
    let scratch = crate::scratch::Scratch::on_a_branch();
    scratch.write("a.rs", "fn a() {}\n");
    let config = play.beside("tollgate/config.toml");
    std::fs::create_dir(config.parent().unwrap()).unwrap();
    std::fs::write(&config, format!("[reviewer.play]\ncommand = [\"{}\"]\n", play.beside("agent").display())).unwrap();
    let mut command = scratch.command(&["review", "--worktree", "--reviewer", "play"]);
    let child = command.env("XDG_CONFIG_HOME", play.folder.path()).spawn().unwrap();
    wait_until("the agent is at work", || marked(&play.mark()).len() > 6);
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    // When the program is gone, so is everything else.
    assert_eq!(marked(&play.mark()), Vec::<String>::new());
}

#[test]
fn a_guard_refuses_to_work_without_a_duty() {
    let scratch = crate::scratch::Scratch::folder();
    assert_eq!(scratch.tollgate(&["__guard"]).code, 2);
    assert_eq!(scratch.tollgate(&["__guard", "/home", "1", "-", "-", "/", "-", "/bin/true"]).code, 2);
}
