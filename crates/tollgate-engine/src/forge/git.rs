//! The hardened wrapper around every git command.
//!
//! A repository can name programs in a dozen places (hooks, filters, diff drivers, a file system monitor, a pager …),
//! and the author of a change may have written those too. So every call goes through here: arguments as a list, a
//! clean environment, no global or system configuration, no hooks, no filters, no external diffs, no prompts, no
//! network, and limits on time, memory, files and output. Only [`super::remote`] may use the network, by one protocol and under a
//! watchdog.
//!
//! Variables that locate the repository (`GIT_DIR` and the like, which git itself sets for hooks) are passed on; of
//! the operator's own configuration only a few plain values are (`Git::adopt_settings`).

use std::ffi::{OsStr, OsString};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{self, Failure};
use crate::process::Group;
use crate::process::pipes::{self, ReadEnd};

mod blobs;
mod bounds;
mod log;
mod settings;
mod tree_size;
mod watch;

pub use blobs::{Blob, Blobs};
pub use bounds::{GIT_ARGUMENT, end_git_with_us, git_main};
pub use log::Commits;
pub(crate) use settings::Value;
pub(in crate::forge) use watch::{Watched, Watching};

/// The time limit of one git command.
const WALL: Duration = Duration::from_secs(120);
/// The maximum size of a buffered output.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The maximum size of a kept error output.
const MAX_STDERR: usize = 16 * 1024;

/// Variables that locate the repository, set by the operator or by git for hooks.
const WHERE: [&str; 5] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"];
/// The quarantine of a push that is not accepted yet; passed on only inside such a hook.
const QUARANTINE: [&str; 3] = ["GIT_QUARANTINE_PATH", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];

/// Proxy and certificate variables of the operator.
const NETWORK: [&str; 11] = [
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Settings that override the repository's configuration.
const FIXED: [&str; 19] = [
    // Larger files are not loaded to be compared; [`super::local`] lists them as not reviewed.
    "core.bigFileThreshold=32m",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.askPass=",
    "core.editor=false",
    "core.quotePath=true",
    "credential.helper=",
    "gpg.program=false",
    "diff.external=",
    "diff.orderFile=/dev/null",
    "diff.suppressBlankEmpty=false",
    "diff.autoRefreshIndex=true",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
];

/// The parts of the process environment that git needs, as data.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `PATH`.
    pub path: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<OsString>,
    /// Variables that locate the repository.
    pub repository: Vec<(&'static str, OsString)>,
    /// Network variables, for calls that may use the network.
    pub network: Vec<(&'static str, OsString)>,
}

impl Environment {
    /// Reads the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let get = |name: &'static str| std::env::var_os(name).map(|value| (name, value));
        let mut repository: Vec<_> = WHERE.into_iter().filter_map(get).collect();
        if std::env::var_os("GIT_QUARANTINE_PATH").is_some() {
            repository.extend(QUARANTINE.into_iter().filter_map(get));
        }
        let network = NETWORK.into_iter().filter_map(get).collect();
        let plain = |name| std::env::var_os(name);
        Self { path: plain("PATH"), home: plain("HOME"), config_home: plain("XDG_CONFIG_HOME"), repository, network }
    }
}

/// Git in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    environment: Environment,
    /// Configuration known only at run time, as pairs: keys may hold any character.
    overrides: Vec<(String, String)>,
    config_files: ConfigFiles,
    /// The only allowed network protocol; `None` for almost every call.
    protocol: Option<&'static str>,
}

/// Which of the operator's configuration files a call may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigFiles {
    RepositoryOnly,
    Operators,
}

/// The output of a finished command.
#[derive(Debug)]
pub struct GitOutput {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: String,
    /// True when the exit code was 0.
    pub ok: bool,
}

impl Git {
    /// Git in a folder.
    #[must_use]
    pub fn new(dir: &Path, environment: Environment) -> Self {
        Self {
            dir: dir.to_owned(),
            environment,
            overrides: Vec::new(),
            config_files: ConfigFiles::RepositoryOnly,
            protocol: None,
        }
    }

    /// Names the git directory instead of searching for it.
    #[must_use]
    pub(crate) fn at_git_dir(mut self, git_dir: &Path) -> Self {
        self.environment.repository.retain(|(name, _)| *name != "GIT_DIR");
        self.environment.repository.push(("GIT_DIR", git_dir.into()));
        self
    }

    /// Runs git in another directory.
    #[must_use]
    pub(crate) fn in_folder(mut self, dir: &Path) -> Self {
        dir.clone_into(&mut self.dir);
        self
    }

    /// Adds a variable to the environment of git.
    #[must_use]
    pub(crate) fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.repository.retain(|(known, _)| *known != name);
        self.environment.repository.push((name, value.into()));
        self
    }

    /// Adds a setting that overrides all configuration files.
    #[must_use]
    pub(crate) fn with_setting(mut self, key: &str, value: &str) -> Self {
        self.overrides.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Allows the network by one protocol.
    #[must_use]
    pub(in crate::forge) fn over(mut self, protocol: &'static str) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// The environment of the calls.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Runs a command and returns its output, also when it failed.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<GitOutput, Failure> {
        self.answer(args, Stdio::null())
    }

    /// Runs a command with standard input.
    pub(crate) fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<GitOutput, Failure> {
        let file = input_file(input).map_err(|error| failure::git(&name_of(args), &error.to_string()))?;
        self.answer(args, file.into())
    }

    fn answer<S: AsRef<OsStr>>(&self, args: &[S], stdin: Stdio) -> Result<GitOutput, Failure> {
        let mut stdout = Vec::new();
        let mut too_much = false;
        let (ok, stderr) = self.stream(args, stdin, &mut |chunk| {
            too_much |= stdout.len() + chunk.len() > MAX_ANSWER;
            if !too_much {
                stdout.extend_from_slice(chunk);
            }
            !too_much
        })?;
        if too_much {
            return Err(failure::git_too_much(&name_of(args), MAX_ANSWER));
        }
        Ok(GitOutput { stdout, stderr, ok })
    }

    /// Runs a command that must succeed and returns its output.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, Failure> {
        let answer = self.ask(args)?;
        if answer.ok { Ok(answer.stdout) } else { Err(self.explain(args, &answer.stderr)) }
    }

    /// Runs a command that must succeed; `take` receives its output in chunks and returns whether to continue.
    pub(crate) fn run_into<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Failure> {
        let (ok, stderr) = self.stream(args, Stdio::null(), take)?;
        if ok { Ok(()) } else { Err(self.explain(args, &stderr)) }
    }

    /// Converts git's error output into a failure.
    pub fn explain<S: AsRef<OsStr>>(&self, args: &[S], stderr: &str) -> Failure {
        let said = |text: &str| stderr.contains(text);
        if said("dubious ownership") {
            failure::dubious_ownership(&self.dir)
        } else if said("not a git repository") {
            failure::not_a_repository(&self.dir)
        } else if said("ut of memory") || said("malloc failed") || said("Cannot allocate memory") {
            failure::git_too_large(&name_of(args), bounds::MAX_MEMORY >> 20)
        } else if said("promisor") || said("lazy fetching") {
            failure::missing_objects(stderr.lines().next().unwrap_or_default())
        } else {
            failure::git(&name_of(args), stderr)
        }
    }

    fn stream<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        stdin: Stdio,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(bool, String), Failure> {
        let mut group = self.spawn(args, stdin, Stdio::piped())?;
        let failed = |error: io::Error| failure::git(&name_of(args), &error.to_string());
        let (Some(stdout), Some(stderr)) = (group.child().stdout.take(), group.child().stderr.take()) else {
            return Err(failure::git_unreadable(&name_of(args)));
        };
        match pipes::read_both(stdout, stderr, Instant::now() + WALL, MAX_STDERR, take).map_err(failed)? {
            ReadEnd::Whole(stderr) => Ok((group.wait().map_err(failed)?.success(), stderr)),
            ReadEnd::Enough => {
                let _ = group.kill();
                Ok((true, String::new()))
            }
            ReadEnd::TooLate => Err(failure::git_too_slow(&name_of(args), WALL.as_secs())),
        }
    }

    fn spawn<S: AsRef<OsStr>>(&self, args: &[S], stdin: Stdio, stderr: Stdio) -> Result<Group, Failure> {
        let mut command = bounds::command();
        command.current_dir(&self.dir).env_clear().stdin(stdin).stdout(Stdio::piped()).stderr(stderr);
        self.set_environment(&mut command);
        command.args(["--no-pager", "--no-optional-locks"]);
        for setting in FIXED {
            command.args(["-c", setting]);
        }
        command.args(args);
        bounds::spawn(&mut command).map_err(|error| failure::no_git(&error))
    }

    fn set_environment(&self, command: &mut Command) {
        let ours = &self.environment;
        let path = ours.path.as_deref().and_then(absolute_folders);
        let kept = [("PATH", &path), ("HOME", &ours.home), ("XDG_CONFIG_HOME", &ours.config_home)];
        for (name, value) in kept {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.envs(ours.repository.iter().map(|(name, value)| (name, value)));
        command.envs([
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("GIT_ALLOW_PROTOCOL", self.protocol.unwrap_or("none")),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_GRAFT_FILE", null_device()),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ]);
        if self.protocol.is_some() {
            command.envs(ours.network.iter().map(|(name, value)| (name, value)));
        }
        if self.config_files == ConfigFiles::RepositoryOnly {
            command.envs([("GIT_CONFIG_GLOBAL", null_device()), ("GIT_CONFIG_NOSYSTEM", "1")]);
        }
        if !self.overrides.is_empty() {
            command.env("GIT_CONFIG_COUNT", self.overrides.len().to_string());
        }
        for (index, (key, value)) in self.overrides.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
    }
}

/// Removes relative directories from the search path: `.` would find a `git` that the repository contains.
fn absolute_folders(path: &OsStr) -> Option<OsString> {
    std::env::join_paths(std::env::split_paths(path).filter(|folder| folder.is_absolute())).ok()
}

pub(in crate::forge) fn null_device() -> &'static str {
    if cfg!(windows) { "NUL" } else { "/dev/null" }
}

/// Converts bytes into a path; they need not be UTF-8.
#[cfg(unix)]
pub(in crate::forge) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
pub(in crate::forge) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Standard input as a file instead of a pipe, so that neither side has to wait for the other.
fn input_file(input: &[u8]) -> io::Result<std::fs::File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}

/// The name of a command, for messages.
fn name_of<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.first().map(|name| name.as_ref().to_string_lossy().into_owned()).unwrap_or_default()
}
