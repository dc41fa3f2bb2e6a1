//! A real git repository in a temporary folder, and the program run in it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository that is gone when the test ends, and a data folder beside it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    data: tempfile::TempDir,
}

/// What a run of the program gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output, when the run ended with this code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> String {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Standard error, when the run ended with this code and printed no data.
    #[track_caller]
    pub(crate) fn expect_refused(self, code: i32) -> String {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "data on standard output");
        self.stderr
    }
}

impl Scratch {
    /// A folder without a repository.
    pub(crate) fn folder() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), data: tempfile::tempdir().unwrap() }
    }

    /// A repository without commits, on the branch `main`.
    pub(crate) fn empty() -> Self {
        let scratch = Self::folder();
        scratch.git(&["init", "-q", "-b", "main"]);
        scratch
    }

    /// A repository with one commit on `main`, on a new branch `work`.
    pub(crate) fn on_a_branch() -> Self {
        let scratch = Self::empty();
        scratch.write("README.md", "# scratch\n");
        scratch.commit("start");
        scratch.git(&["switch", "-q", "-c", "work"]);
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where past reviews are kept.
    pub(crate) fn store(&self) -> PathBuf {
        self.data.path().join("tollgate/tollgate.db")
    }

    /// Writes the user's own configuration.
    pub(crate) fn configure(&self, text: &str) -> &Self {
        let folder = self.data.path().join("config/tollgate");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs plain git with a fixed identity.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = git_command(self.path()).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the program here.
    pub(crate) fn tollgate(&self, args: &[&str]) -> Ran {
        self.tollgate_with(args, b"", &[])
    }

    /// Runs the program here with something on standard input and in the environment.
    pub(crate) fn tollgate_with(&self, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Ran {
        let mut child = self.command(args).envs(env.iter().copied()).spawn().unwrap();
        // The program may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The program, ready to run here, with the environment a test can rely on.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("GIT_") || name.starts_with("TOLLGATE_") || name.starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.path()).env("XDG_DATA_HOME", self.data.path()).env("LC_ALL", "C.UTF-8");
        command.env("XDG_CONFIG_HOME", self.data.path().join("config"));
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"] {
            command.env_remove(name);
        }
        // The tests may be run by a coding agent, and are about people unless they say so.
        for name in [
            "AI_AGENT",
            "AUGMENT_AGENT",
            "CLAUDECODE",
            "CLAUDE_CODE_CHILD_SESSION",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLINE_ACTIVE",
            "CODEX_CI",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CODEX_THREAD_ID",
            "COPILOT_CLI",
            "CRUSH",
            "CURSOR_AGENT",
            "GEMINI_CLI",
            "GOOSE_TERMINAL",
            "OPENCODE",
            "OR_APP_NAME",
            "QWEN_CODE",
        ] {
            command.env_remove(name);
        }
        command.env("USER", "ada");
        command
    }
}

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tollgate"))
}

/// Git with nothing of the machine's configuration.
pub(crate) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.com");
        command.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
    }
    command
}
