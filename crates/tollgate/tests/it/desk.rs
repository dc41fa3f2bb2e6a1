//! A board with a project and a scripted agent, in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Work;
use tollgate_engine::board::{Board, Home};
use tollgate_engine::config::Layer;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::store::board::FeatureRow;
use tollgate_engine::store::{Database, Location};

use crate::place::{Place, server};
use crate::wait::wait_for;

pub(crate) const BAD: &str = "export const f = (text) => eval(text);";
pub(crate) const GOOD: &str = "export const f = (text) => JSON.parse(text);";

/// An agent that writes what a rule objects to, and puts it right when it is told.
pub(crate) fn learns() -> String {
    let told = "echo \"$TASK\" | grep -q 'Code Review Findings'";
    format!("if {told}; then echo '{GOOD}' > b.js; echo fixed; else echo '{BAD}' > b.js; echo written; fi")
}

/// An agent that implements the feature at once.
pub(crate) fn works() -> String {
    format!("echo '{GOOD}' > b.js; echo done")
}

/// A project with one commit, an agent that is a shell script, and a board.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
    /// A database on the server beside which the tests run, where there is one.
    place: Option<Place>,
}

impl Desk {
    /// `script` is the agent: it finds its task in `$TASK` and works in the current folder.
    pub(crate) fn new(script: &str) -> Self {
        Self::configured(script, "")
    }

    /// The same, with a file even where there is a server.
    pub(crate) fn in_file(script: &str) -> Self {
        Self::at(script, "", None)
    }

    /// The same with more settings of the operator's.
    pub(crate) fn configured(script: &str, settings: &str) -> Self {
        Self::at(script, settings, server().map(|_| Place::on_server()))
    }

    fn at(script: &str, settings: &str, place: Option<Place>) -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap(), place };
        for name in ["home", "config/tollgate", "data/tollgate", "project"] {
            std::fs::create_dir_all(desk.path(name)).unwrap();
        }
        desk.git(&["init", "-q", "-b", "main"]);
        std::fs::write(desk.path("project/a.js"), "export const one = 1;\n").unwrap();
        desk.git(&["add", "a.js"]);
        desk.git(&["commit", "-q", "-m", "first"]);
        let agent = desk.path("agent.sh");
        std::fs::write(&agent, format!("#!/bin/sh\nset -e\nTASK=$(cat)\n{script}\n")).unwrap();
        let pipeline = "[pipeline]\nagent = 'script'\n[reviewer.script]\n";
        // Scripts leave marks beside themselves. Tests of the sandbox, or of what an agent could do without, set it.
        let is_set = settings.contains("sandbox");
        let sandbox =
            if is_set { String::new() } else { format!("[sandbox]\nwrite = ['{}']\n", desk.path("").display()) };
        let config = format!("{settings}\n{sandbox}{pipeline}command = ['sh', '{}']\n", agent.display());
        std::fs::write(desk.path("config/tollgate/config.toml"), config).unwrap();
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The address of the database, where it is not a file.
    pub(crate) fn address(&self) -> Option<String> {
        self.place.as_ref().map(Place::address)
    }

    /// Where the database is.
    pub(crate) fn location(&self) -> Location {
        match self.address() {
            Some(address) => Location::parse(&address).unwrap(),
            None => Location::File(self.path("data/tollgate/tollgate.db")),
        }
    }

    /// The database.
    pub(crate) fn database(&self) -> Database {
        Database::open_at(&self.location()).unwrap()
    }

    /// Releases the folder to the caller, who removes it.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.path("project"), args)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(dir)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn board(&self) -> Board {
        let database = self.database();
        let git = Environment {
            path: std::env::var_os("PATH"),
            home: Some(self.path("home").into()),
            ..Environment::default()
        };
        let home = Home {
            executable: env!("CARGO_BIN_EXE_tollgate").into(),
            config_dir: Some(self.path("config")),
            variables: Vec::new(),
            flags: Layer::default(),
            data: self.path("data/tollgate"),
            git,
            clock: now,
        };
        Board::open(database, home).unwrap()
    }

    pub(crate) fn features(&self, id: &FeatureId) -> PathBuf {
        self.path("project/.automaker/features").join(id.as_str())
    }
}

fn now() -> u64 {
    u64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Waits until a feature has no queued work and its file is up to date.
#[track_caller]
pub(crate) fn settled(board: &Board, project: i64, id: &FeatureId) -> FeatureRow {
    wait_for("the feature settles", || {
        let row = board.feature(project, id).unwrap();
        (row.state.work == Work::Nothing && row.projected_rev == row.rev).then_some(row)
    })
}
