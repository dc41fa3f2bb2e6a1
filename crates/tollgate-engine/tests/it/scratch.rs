//! A scratch repository, driven with plain git, and reviews of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tollgate_core::change::Change;
use tollgate_engine::config::Settings;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{FetchOptions, Local, Trigger};
use tollgate_engine::pipeline::{self, Memory, ModelOptions, ReviewContext, ReviewRequest, Reviewed, Runtime};

/// A folder with a repository in it, and a home beside it.
pub(crate) struct Scratch {
    folder: TempDir,
    pub(crate) dir: PathBuf,
}

impl Scratch {
    /// An empty repository on branch `main`.
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    /// The same with another kind of object names.
    pub(crate) fn with_format(format: &str) -> Self {
        let scratch = Self::without_repository();
        scratch.git(&["init", "-q", "-b", "main", "--object-format", format]);
        scratch
    }

    /// A folder without a repository.
    pub(crate) fn without_repository() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("repo");
        std::fs::create_dir(&dir).unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder, dir }
    }

    /// A repository with one commit on `main` that holds `a.txt`.
    pub(crate) fn with_commit() -> Self {
        let scratch = Self::new();
        scratch.commit("a.txt", "one\n");
        scratch
    }

    /// A place beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, path: &str, text: impl AsRef<[u8]>) {
        self.write(path, text);
        self.git(&["add", "--", path]);
        self.git(&["commit", "-q", "-m", path]);
    }

    /// Runs git here and returns its output.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.dir, args)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.command(dir, args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Plain git with fixed dates and names, so that commits have the same names in every run.
    pub(crate) fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(dir).args(args).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.beside("home"));
        command.envs([
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            // Submodules and clones of folders are asked for here, by ourselves.
            ("GIT_ALLOW_PROTOCOL", "file"),
        ]);
        command
    }

    pub(crate) fn environment(&self) -> Environment {
        Environment { path: std::env::var_os("PATH"), home: Some(self.beside("home").into()), ..Environment::default() }
    }

    /// What a trigger means here.
    pub(crate) fn fetch(&self, trigger: Trigger) -> Result<Change, Failure> {
        self.fetch_in(&self.dir, trigger)
    }

    pub(crate) fn fetch_in(&self, dir: &Path, trigger: Trigger) -> Result<Change, Failure> {
        self.fetch_with(dir, trigger, self.environment(), None)
    }

    pub(crate) fn fetch_with(
        &self,
        dir: &Path,
        trigger: Trigger,
        environment: Environment,
        base: Option<&str>,
    ) -> Result<Change, Failure> {
        let mut local = Local::open(dir, trigger, environment)?;
        local.fetch(&FetchOptions { base: base.map(str::to_owned), max_diff_bytes: 1_000_000 })
    }

    /// Reviews a change of files that no code rule looks at, so that no child is needed.
    pub(crate) fn review(&self, trigger: Trigger, settings: &Settings) -> Result<Reviewed, Failure> {
        self.review_with(trigger, settings, Path::new("/nonexistent"))
    }

    /// Reviews a change with this program as scanning child.
    pub(crate) fn review_with(
        &self,
        trigger: Trigger,
        settings: &Settings,
        executable: &Path,
    ) -> Result<Reviewed, Failure> {
        self.review_as(trigger, settings, executable, None, ReviewContext::Local)
    }

    /// Reviews a change under a title, in a trust context.
    pub(crate) fn review_in_context<'a>(
        &self,
        trigger: Trigger,
        settings: &'a Settings,
        title: &'a str,
        context: ReviewContext,
    ) -> Result<Reviewed, Failure> {
        self.review_as(trigger, settings, Path::new("/nonexistent"), Some(title), context)
    }

    fn review_as<'a>(
        &self,
        trigger: Trigger,
        settings: &'a Settings,
        executable: &Path,
        title: Option<&'a str>,
        context: ReviewContext,
    ) -> Result<Reviewed, Failure> {
        self.review_in(trigger, settings, |request| {
            request.runtime.executable = executable.to_owned();
            request.title = title;
            request.context = context;
        })
    }

    /// Reviews a change by the default request for a branch, after `change` has edited it.
    pub(crate) fn review_in<'a>(
        &self,
        trigger: Trigger,
        settings: &'a Settings,
        change: impl FnOnce(&mut ReviewRequest<'a>),
    ) -> Result<Reviewed, Failure> {
        let forge = Local::open(&self.dir, trigger, self.environment())?;
        let runtime = Runtime { executable: "/nonexistent".into(), memory: Memory::Off, clock: &|| 0, events: &|_| {} };
        let mut request = ReviewRequest::for_branch(settings, forge, ModelOptions::without_models(), runtime);
        change(&mut request);
        pipeline::review_change(&mut request)
    }
}

pub(crate) fn range(text: &str) -> Trigger {
    Trigger::Range(text.to_owned())
}
