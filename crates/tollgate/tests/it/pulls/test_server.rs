//! The program as the back end of an app at the fake GitHub: a real server with real files, killed and started again.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_engine::store::Database;

use crate::desk::Desk;
use crate::fake_github::{FakeGithub, PullRequest, Seen};
use crate::robustness::server::{Answer, Launch, Server};
use crate::wait::{pause, wait_until};

/// What a rule finds a blocker in, and what none finds anything in.
pub(crate) const BAD: &str = "export const f = (text) => eval(text);\n";
pub(crate) const GOOD: &str = "export const f = (text) => JSON.parse(text);\n";

/// Longer than anything takes: a review waits for more pushes, and after trouble for the host.
const PATIENCE: Duration = Duration::from_secs(180);

/// Makes the programs of a desk an app at the fake GitHub.
pub(crate) fn set_up(desk: &Desk, github: &FakeGithub) {
    let folder = desk.path("data/tollgate/github");
    std::fs::create_dir_all(&folder).unwrap();
    let card = json!({ "id": github.app_id(), "slug": "tollgate", "url": github.url() }).to_string();
    let files =
        [("app.json", &*card), ("webhook-secret", TestServer::SECRET), ("private-key.pem", github.private_key())];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// The program, set up as an app.
pub(crate) struct TestServer<'a> {
    github: &'a FakeGithub,
    desk: Desk,
    server: Option<Server>,
    database: Database,
}

impl<'a> TestServer<'a> {
    pub(crate) const SECRET: &'static str = "It's a Secret to Everybody";

    /// Sets it up without starting it, with more settings of the operator's.
    pub(crate) fn new(github: &'a FakeGithub, settings: &str) -> Self {
        let desk = Desk::new("true");
        std::fs::write(desk.path("config/tollgate/config.toml"), settings).unwrap();
        set_up(&desk, github);
        let database = desk.database();
        Self { github, desk, server: None, database }
    }

    /// Sets it up and starts it.
    pub(crate) fn start(github: &'a FakeGithub) -> Self {
        let mut server = Self::new(github, "");
        server.launch(None);
        server
    }

    /// Starts it and waits until deliveries are taken; it dies at a point, if one is named.
    pub(crate) fn launch(&mut self, crash_at: Option<&str>) {
        let variables: Vec<(&str, &str)> = crash_at.map(|point| ("TOLLGATE_CRASH_AT", point)).into_iter().collect();
        let mut server = Server::launch(&self.desk, &Launch { variables: &variables, ..Launch::default() });
        wait_until("the webhook is ready", || server.log().contains("@tollgate") || !server.is_running());
        self.server = Some(server);
        self.github.hook_to(&self.hook(), Self::SECRET);
    }

    /// Where deliveries go.
    pub(crate) fn hook(&self) -> String {
        format!("http://{}/webhooks/github", self.server.as_ref().unwrap().address)
    }

    /// What the server answers at a path.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.server.as_ref().unwrap().get(path)
    }

    pub(crate) fn is_dead(&mut self) -> bool {
        self.server.as_mut().is_none_or(|server| !server.is_running())
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill();
        }
    }

    /// The most memory that the server had at any time, in MB.
    pub(crate) fn peak_mb(&self) -> u64 {
        let pid = self.server.as_ref().unwrap().pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Leaves in the cache of git data what a server leaves that dies while it deletes repositories.
    pub(crate) fn litter(&self, n_folders: usize) {
        for n in 0..n_folders {
            let folder = self.cache().join(format!("old-{n}/x/objects/pack"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("pack-1.pack"), vec![0; 100_000]).unwrap();
        }
    }

    /// Files in the git cache besides repositories and their locks.
    pub(crate) fn litter_left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.cache()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| ![".git", ".use", ".fetch"].iter().any(|end| name.ends_with(end))).collect()
    }

    fn cache(&self) -> std::path::PathBuf {
        self.desk.path("data/tollgate/remotes")
    }

    fn log(&self) -> String {
        self.server.as_ref().map(Server::log).unwrap_or_default()
    }

    /// The number of pull requests with queued or delayed jobs.
    pub(crate) fn n_owed(&self) -> usize {
        self.database.n_due_pulls(u64::try_from(i64::MAX).unwrap()).unwrap()
    }

    /// Waits until the head of a pull request has its check and the queue is empty; returns the visible state.
    #[track_caller]
    pub(crate) fn settled(&self, pull: &PullRequest<'_>) -> Seen {
        let begun = Instant::now();
        loop {
            // The queue is read first: a later delivery then counts as unfinished.
            let n_owed = self.n_owed();
            let seen = pull.seen();
            if n_owed == 0 && seen.conclusion().is_some() {
                return seen;
            }
            if begun.elapsed() > PATIENCE {
                let asked: Vec<String> = self
                    .github
                    .requests("")
                    .iter()
                    .rev()
                    .take(12)
                    .map(|one| format!("{} {}", one.name, one.status))
                    .collect();
                panic!("{n_owed} owed, {:?}\n{}\n{asked:#?}", seen.problems(), self.log());
            }
            pause();
        }
    }

    /// Waits until a comment is answered, and returns the answer.
    #[track_caller]
    pub(crate) fn answered(&self, pull: &PullRequest<'_>, comment: u64) -> String {
        wait_until(&format!("an answer to {comment}"), || !pull.seen().replies_to(comment).is_empty());
        pull.seen().replies_to(comment)[0].to_owned()
    }
}
