//! Boards with something of everything, made once for all tests that only look.
//!
//! They are made as people make them: cards are files in a project's folder, agents are scripts, a model on this machine
//! reports findings, and the rest goes over the API. A feature is scripted by its name ([`agent`]) or its title
//! ([`model`]). Tests that change something have a [`Site`](crate::pages::site::Site) of their own.
//!
//! A board outlives the test that made it, so a keeper process ends its server and children with the test program.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::fake_model::FakeModel;
use crate::pages::browser::Browser;
use crate::robustness::server::Server;
use crate::wait::wait_until;

pub(crate) mod agent;
pub(crate) mod cards;
pub(crate) mod hostile;
pub(crate) mod model;

/// Waits until standard input ends, which is when we are gone, however that came; then ends a process and, when it is no
/// more, removes its folder.
const KEEPER: &str = r#"
read -r _
kill -TERM "$1"
for _ in $(seq 100); do
  readlink "/proc/$1/exe" || break
  sleep 0.1
done
rm -rf "$2"
"#;

/// A server with several projects.
pub(crate) struct Scene {
    pub(crate) server: Server,
    /// A shop with a feature in every state.
    pub(crate) shop: u64,
    /// No feature at all.
    pub(crate) empty: u64,
    /// One feature.
    pub(crate) single: u64,
    _stub: FakeModel,
    _keeper: Child,
}

/// A server with a project in which every field has hostile text.
pub(crate) struct Hostile {
    pub(crate) server: Server,
    pub(crate) project: u64,
    _stub: FakeModel,
    _keeper: Child,
}

/// A server with a project of a thousand features, one of which changes twenty thousand lines.
pub(crate) struct Large {
    pub(crate) server: Server,
    pub(crate) project: u64,
    _keeper: Child,
}

/// The feature of [`Large`] with the large change.
pub(crate) const LARGE: &str = "large-change";

impl Scene {
    /// The shared board of this run, created on first use.
    #[track_caller]
    pub(crate) fn get() -> &'static Self {
        static SCENE: OnceLock<Scene> = OnceLock::new();
        SCENE.get_or_init(Self::make)
    }

    fn make() -> Self {
        let stub = FakeModel::answering(model::answer);
        let settings = format!("[review]\nreviewers = ['reader']\n{}", stub.table("reader"));
        let desk = desk(&settings);
        for (name, cards) in [("shop", cards::shop()), ("single", cards::single()), ("empty", Vec::new())] {
            repository(&desk, name, &cards);
        }
        let shop = desk.path("shop/.automaker");
        std::fs::write(shop.join("features/broken-card/feature.json"), "{\"title\": \"Broken\", \"status\": ").unwrap();
        let steps = json!([{ "id": "docs", "name": "Documentation", "order": 1, "instructions": agent::DOCUMENT }]);
        std::fs::write(shop.join("pipeline.json"), json!({ "version": 1, "steps": steps }).to_string()).unwrap();
        let (server, keeper, desk) = start(desk);
        let add = |folder: &str, name: &str| add_project(&server, &desk.join(folder), name);
        let scene = Self {
            shop: add("shop", "Harbour Shop"),
            empty: add("empty", "Nothing yet"),
            single: add("single", "One thing"),
            server,
            _stub: stub,
            _keeper: keeper,
        };
        play(&scene.server, scene.shop, &cards::shop());
        // One that could be read before is still known.
        let file = desk.join("shop/.automaker/features/broken-later/feature.json");
        std::fs::write(file, "{\"title\": \"Pay by invoice\", ").unwrap();
        wait_until("a broken file is noticed", || {
            !scene.server.feature(scene.shop, "broken-later")["broken"].is_null()
        });
        scene
    }

    /// A signed-in browser.
    #[track_caller]
    pub(crate) fn open(&self) -> Browser {
        Browser::signed_in(self.server.address, &self.server.token)
    }

    /// The number of the stored review of an iteration.
    #[track_caller]
    pub(crate) fn run_of(&self, feature: &str, iteration: u64) -> u64 {
        let runs = self.server.get("/api/reviews?limit=500").json();
        let of = |run: &&Value| run["feature"]["id"] == feature && run["feature"]["iteration"] == iteration;
        let run = runs["reviews"].as_array().unwrap().iter().find(of);
        run.unwrap_or_else(|| panic!("there is no review of {feature}: {runs:#}"))["run"].as_u64().unwrap()
    }

    /// The page of a feature of the shop.
    pub(crate) fn page_of(&self, feature: &str) -> String {
        format!("/projects/{}/features/{feature}", self.shop)
    }
}

impl Hostile {
    /// The hostile board of this run, created on first use.
    #[track_caller]
    pub(crate) fn get() -> &'static Self {
        static HOSTILE: OnceLock<Hostile> = OnceLock::new();
        HOSTILE.get_or_init(Self::make)
    }

    fn make() -> Self {
        let stub = FakeModel::answering(model::answer);
        let desk = desk(&format!("[review]\nreviewers = ['reader']\n{}", stub.table("reader")));
        repository(&desk, "hostile", &hostile::cards());
        let (server, keeper, folder) = start(desk);
        let project = add_project(&server, &folder.join("hostile"), hostile::PROJECT);
        play(&server, project, &hostile::cards());
        let text = hostile::text();
        let of = |feature: &str, rest: &str| format!("/api/projects/{project}/features/{feature}/{rest}");
        let send = |method: &str, path: &str, body: &Value| {
            let answer = server.exchange(&server.bytes(method, path, &[], &body.to_string())).unwrap();
            assert!(answer.status < 300, "{path}: {answer:?}");
        };
        let finding = of(hostile::WORKED_ON, "iterations/1/findings/F001/dismiss");
        send("POST", &finding, &json!({ "reason": text }));
        send("POST", &of(hostile::WORKED_ON, "resume"), &json!({ "note": text }));
        let approval = json!({ "reason": text }).to_string();
        let approved = server.bytes_of_person("POST", &of(hostile::APPROVED, "approve"), &approval);
        assert_eq!(server.exchange(&approved).unwrap().status, 200);
        let prompt = |value: &str| json!({ "enabled": true, "value": value });
        let prompts = json!({
            "reviewSystemPrompt": prompt(&text),
            "reviewPromptTemplate": prompt(&format!("{text} {{gitDiff}} </textarea><b>")),
        });
        for path in [format!("/api/projects/{project}/settings/prompts"), "/api/settings/prompts".to_owned()] {
            send("PUT", &path, &prompts);
        }
        server.settled(project, hostile::WORKED_ON);
        Self { server, project, _stub: stub, _keeper: keeper }
    }

    /// A signed-in browser.
    #[track_caller]
    pub(crate) fn open(&self) -> Browser {
        Browser::signed_in(self.server.address, &self.server.token)
    }

    /// The page of a feature.
    pub(crate) fn page_of(&self, feature: &str) -> String {
        format!("/projects/{}/features/{feature}", self.project)
    }
}

impl Large {
    /// The large board of this run, created on first use.
    #[track_caller]
    pub(crate) fn get() -> &'static Self {
        static LARGE_ONE: OnceLock<Large> = OnceLock::new();
        LARGE_ONE.get_or_init(Self::make)
    }

    fn make() -> Self {
        let desk = desk("");
        repository(&desk, "large", &cards::large());
        let (server, keeper, folder) = start(desk);
        let project = add_project(&server, &folder.join("large"), "Large");
        let answer = server.post(&format!("/api/projects/{project}/features/{LARGE}/start"), &json!({}));
        assert!(answer.status < 300, "{answer:?}");
        server.settled(project, LARGE);
        Self { server, project, _keeper: keeper }
    }

    /// A signed-in browser.
    #[track_caller]
    pub(crate) fn open(&self) -> Browser {
        Browser::signed_in(self.server.address, &self.server.token)
    }
}

/// Starts the features that are to be started, and waits until all are where they should be.
fn play(server: &Server, project: u64, cards: &[cards::Card]) {
    let started = || cards.iter().filter_map(|card| Some((card, card.goal?)));
    for (card, _) in started() {
        let answer = server.post(&format!("/api/projects/{project}/features/{}/start", card.id), &json!({}));
        assert!(answer.status < 300, "{}: {answer:?}", card.id);
    }
    for (card, goal) in started() {
        wait_until(&format!("{} is where it should be", card.id), || {
            let now = server.feature(project, &card.id);
            let is_paused = !now["paused"].is_null();
            assert!(goal.is_paused || !is_paused, "{}: {now:#}", card.id);
            now["status"] == goal.status && now["work"] == goal.work && goal.is_paused == is_paused
        });
    }
}

/// A desk with the scripted agent and high concurrency.
fn desk(settings: &str) -> Desk {
    let desk = Desk::configured(agent::SCRIPT, settings);
    let path = desk.path("config/tollgate/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let pipeline = "[pipeline]\nat_once = 8\nreviews_at_once = 4\n";
    std::fs::write(&path, config.replace("[pipeline]\n", pipeline)).unwrap();
    desk
}

/// A repository with one commit, and cards in its folder.
fn repository(desk: &Desk, name: &str, cards: &[cards::Card]) {
    let folder = desk.path(name);
    std::fs::create_dir_all(folder.join("src")).unwrap();
    desk.git_in(&folder, &["init", "-q", "-b", "main"]);
    for (file, text) in
        [("src/shop.js", agent::SHOP), ("README.md", "# Shop\n"), (".gitignore", ".automaker\n.worktrees\n")]
    {
        std::fs::write(folder.join(file), text).unwrap();
    }
    desk.git_in(&folder, &["add", "-A"]);
    desk.git_in(&folder, &["commit", "-q", "-m", "first"]);
    for card in cards {
        let folder = folder.join(".automaker/features").join(&card.id);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("feature.json"), card.json.to_string()).unwrap();
    }
}

fn add_project(server: &Server, path: &Path, name: &str) -> u64 {
    let answer = server.post("/api/projects", &json!({ "path": path, "name": name }));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["id"].as_u64().unwrap()
}

/// Starts the server of a desk, whose folder now belongs to a keeper.
fn start(desk: Desk) -> (Server, Child, PathBuf) {
    let server = Server::start(&desk);
    let folder = desk.keep();
    let mut keeper = Command::new("sh");
    keeper.args(["-c", KEEPER, "sh", &server.pid().to_string()]).arg(&folder);
    let keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn();
    (server, keeper.unwrap(), folder)
}
