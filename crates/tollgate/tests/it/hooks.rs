//! The hooks of a project: real hooks in a real repository, behind a guard.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_engine::agent::{Agent, HookLimits, HookResult, HookRun, Key, run_hooks};
use tollgate_engine::process::guard::ProcessMark;

use crate::agents::{LONG, marked};
use crate::scratch::{git_command, program};

const MESSAGE: &str = "feat: a thing\n\nImplemented by Automaker auto-mode\n";

/// A repository with staged work in an index of its own.
struct Project {
    folder: tempfile::TempDir,
    agent: Agent,
    limits: HookLimits,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::command("play", vec!["true".to_owned()]);
        let limits = HookLimits { wall: LONG, grace: Duration::from_millis(100), ..HookLimits::default() };
        let project = Self { folder, agent, limits };
        project.git(&["init", "--quiet", "--template=", "."]);
        std::fs::write(project.tree().join("staged.txt"), "staged\n").unwrap();
        let mut add = git_command(&project.tree());
        add.args(["add", "staged.txt"]).env("GIT_INDEX_FILE", project.index());
        assert!(add.status().unwrap().success());
        project
    }

    fn with(self, hook: &str, script: &str) -> Self {
        let path = self.tree().join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn index(&self) -> PathBuf {
        self.folder.path().join(".git/index-of-the-gate")
    }

    fn git(&self, args: &[&str]) {
        assert!(git_command(&self.tree()).args(args).status().unwrap().success());
    }

    fn run(&self, started: &dyn Fn(&ProcessMark)) -> String {
        let ran = run_hooks(&HookRun {
            agent: &self.agent,
            folder: &self.tree(),
            index: &self.index(),
            message: MESSAGE,
            binds: &[],
            state: None,
            limits: self.limits,
            executable: &program(),
            cancel: &CancellationToken::new(),
            started,
        });
        let mark = self.folder.path().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(marked(&mark), Vec::<String>::new(), "processes are left");
        match ran {
            Ok(HookResult::Passed { message }) if message == MESSAGE => "passed".to_owned(),
            Ok(HookResult::Passed { message }) => format!("passed with {:?}", message.strip_prefix(MESSAGE)),
            Ok(HookResult::Refused { hook, output }) => format!("{hook} refused: {output}"),
            Err(failure) => format!("{:?}: {}", failure.why, failure.message),
        }
    }
}

#[track_caller]
fn check(project: &Project, expected: &str) {
    assert_eq!(project.run(&|_| {}), expected);
}

#[test]
fn without_hooks_a_commit_passes() {
    check(&Project::new(), "passed");
    check(&Project::new().with("pre-push", "exit 1"), "passed");
}

#[test]
fn hooks_see_what_is_staged_and_let_it_pass() {
    let project = Project::new()
        .with("pre-commit", "git diff --cached --name-only > seen; test \"$(cat seen)\" = staged.txt")
        .with("commit-msg", "grep -q '^feat: a thing$' \"$1\"");
    check(&project, "passed");
    assert_eq!(std::fs::read_to_string(project.tree().join("seen")).unwrap(), "staged.txt\n");
}

#[test]
fn a_hook_that_refuses_says_why() {
    let refuses = Project::new().with("pre-commit", "echo checking; printf 'lint: \\033[31mbad\\n' >&2; exit 3");
    check(&refuses, "pre-commit refused: checking\nlint: \\u{1b}[31mbad");
    let refuses = Project::new().with("pre-commit", "true").with("commit-msg", "echo 'no scope'; exit 1");
    check(&refuses, "commit-msg refused: no scope");
    let silent = Project::new().with("pre-commit", "exit 1").with("commit-msg", "touch ran");
    check(&silent, "pre-commit refused: ");
    assert!(!silent.tree().join("ran").exists());
}

#[test]
fn hooks_of_another_folder_are_run_where_the_project_says_so() {
    let project = Project::new();
    std::fs::create_dir(project.tree().join(".husky")).unwrap();
    let hook = project.tree().join(".husky/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho from husky\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.git(&["config", "core.hooksPath", ".husky"]);
    check(&project, "pre-commit refused: from husky");
}

#[test]
fn lines_that_a_hook_puts_after_the_message_are_kept() {
    let adds = Project::new().with("commit-msg", "echo 'Change-Id: I77' >> \"$1\"");
    check(&adds, "passed with Some(\"Change-Id: I77\\n\")");
    check(&Project::new().with("commit-msg", "echo other > \"$1\""), "passed");
    check(&Project::new().with("commit-msg", "rm \"$1\"; ln -s /etc/passwd \"$1\""), "passed");
    check(&Project::new().with("commit-msg", "rm \"$1\"; mkfifo \"$1\""), "passed");
    check(&Project::new().with("commit-msg", "yes | head -c 1000000 >> \"$1\""), "passed");
}

impl Project {
    /// With little time, for hooks that do not end.
    fn limited(mut self) -> Self {
        self.limits.wall = Duration::from_secs(2);
        self
    }
}

#[test]
fn a_hook_that_does_not_end_is_ended_with_all_it_started() {
    let script = "trap '' INT TERM HUP; (setsid sh -c \"sleep 1000 # $PWD\" &) ; sleep 1000";
    for namespace in [true, false] {
        let mut project = Project::new().with("pre-commit", script).limited();
        project.agent.namespace = namespace;
        check(&project, "TooSlow: `pre-commit` did not finish in time and was stopped");
    }
}

#[test]
fn of_a_long_output_the_end_is_kept() {
    let mut project = Project::new().with("pre-commit", "yes line | head -n 100000; echo the error; exit 1");
    project.limits.output_bytes = 100;
    let said = project.run(&|_| {});
    assert!(said.ends_with("line\nthe error") && said.len() < 150, "{said}");
}

#[test]
fn hooks_get_neither_our_environment_nor_the_key_nor_a_terminal() {
    let mut project = Project::new().with(
        "pre-commit",
        "env | cut -d= -f1 > names; test \"$GIT_EDITOR\" = true; (: </dev/tty) 2>/dev/null && exit 1; wc -c",
    );
    project.agent.key = Some(Key::new("PLAY_KEY", "sk-play-0123456789"));
    check(&project, "passed");
    let names = std::fs::read_to_string(project.tree().join("names")).unwrap();
    assert!(!names.contains("PLAY_KEY") && !names.contains("CARGO_MANIFEST_DIR"), "{names}");
    assert!(names.contains("TOLLGATE_RUN") && names.contains("GIT_INDEX_FILE"), "{names}");
}

#[test]
fn each_hook_is_marked_before_it_runs() {
    let project = Project::new().with("pre-commit", "touch ran");
    let n_marks = std::cell::Cell::new(0);
    project.run(&|_| {
        assert_eq!(project.tree().join("ran").exists(), n_marks.get() == 1);
        n_marks.set(n_marks.get() + 1);
    });
    assert_eq!(n_marks.get(), 2);
}
