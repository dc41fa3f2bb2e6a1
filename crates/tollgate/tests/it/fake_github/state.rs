//! What the fake GitHub knows. Everything is here, behind one lock; nothing here speaks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use serde_json::Value;

use super::fault::{Faults, Lag};
use super::hooks::Delivery;

/// Everything.
pub(crate) struct State {
    /// Where it can be reached: `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    /// How far its clock is ahead of the machine's.
    pub(crate) ahead_ms: i64,
    pub(crate) next_id: u64,
    /// By `owner/name` in lower case.
    pub(crate) repos: BTreeMap<String, Repository>,
    pub(crate) app: App,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) log: Vec<Entry>,
    pub(crate) faults: Faults,
    pub(crate) lag: Lag,
    /// The times of writes by actor, for the secondary rate limits.
    pub(crate) written: BTreeMap<String, VecDeque<u64>>,
    /// The times of requests by actor, with their points.
    pub(crate) points: BTreeMap<String, VecDeque<(u64, u32)>>,
    pub(crate) n_limited: usize,
    pub(crate) deliveries: Vec<Delivery>,
    /// Where deliveries go, and the secret that signs them.
    pub(crate) hook: Option<(String, String)>,
    /// True while deliveries are held back until a test sends them.
    pub(crate) holds: bool,
    /// True when what the app itself writes is delivered, too.
    pub(crate) echoes: bool,
    /// Whether apps may resolve threads, which on GitHub needs write access to contents.
    pub(crate) lets_resolve: bool,
}

/// The app that is under test.
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) slug: &'static str,
    pub(crate) installation: u64,
    pub(crate) public_key: Vec<u8>,
    /// Codes of the manifest flow that were not used yet, with the secret that the new app gets.
    pub(crate) codes: BTreeMap<String, String>,
    /// The key that a new app gets.
    pub(crate) pem: String,
}

/// A token, and whose it is.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) actor: Actor,
    /// The repositories it is good for; all when there are none.
    pub(crate) repos: Vec<String>,
    /// Its permissions: `checks` → `write`.
    pub(crate) may: BTreeMap<String, String>,
    pub(crate) expires_ms: u64,
}

/// The authenticated actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) login: String,
    pub(crate) app: Option<u64>,
}

impl Actor {
    pub(crate) fn person(login: &str) -> Self {
        Self { login: login.to_owned(), app: None }
    }

    pub(crate) fn is_bot(&self) -> bool {
        self.login.ends_with("[bot]")
    }
}

/// A request that was made, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Our name of the operation: `reviews.create`.
    pub(crate) name: &'static str,
    pub(crate) path: String,
    /// The response status; 0 for none.
    pub(crate) status: u16,
    pub(crate) at_ms: u64,
    pub(crate) body: Value,
}

/// A repository with everything in it.
pub(crate) struct Repository {
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) is_private: bool,
    pub(crate) is_fork: bool,
    pub(crate) git: PathBuf,
    /// The permissions of users: `admin`, `write`, `read`.
    pub(crate) people: BTreeMap<String, &'static str>,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) checks: Vec<Check>,
}

impl Repository {
    pub(crate) fn full(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// A pull request.
#[derive(Clone)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) author: String,
    pub(crate) is_open: bool,
    pub(crate) is_draft: bool,
    pub(crate) head: String,
    /// All commits that were its head some time.
    pub(crate) heads: BTreeSet<String>,
    pub(crate) head_ref: String,
    /// The repository that its commits come from.
    pub(crate) from: Option<String>,
    pub(crate) base: String,
    pub(crate) base_ref: String,
    pub(crate) created_ms: u64,
    pub(crate) updated_ms: u64,
    pub(crate) comments: Vec<Comment>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) at_lines: Vec<LineComment>,
}

/// When something is seen in lists.
#[derive(Clone, Copy, Default)]
pub(crate) struct Veil {
    pub(crate) until_ms: u64,
    pub(crate) n_lists: u32,
}

/// A comment of the conversation.
#[derive(Clone)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) by: Actor,
    pub(crate) body: String,
    pub(crate) created_ms: u64,
    pub(crate) n_edits: u32,
    pub(crate) veil: Veil,
}

/// A review.
#[derive(Clone)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) by: Actor,
    pub(crate) body: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`.
    pub(crate) state: &'static str,
    pub(crate) commit: String,
    pub(crate) at_ms: u64,
    pub(crate) veil: Veil,
}

/// A comment on lines or a file; one without a parent starts a thread.
#[derive(Clone)]
pub(crate) struct LineComment {
    pub(crate) id: u64,
    pub(crate) review: u64,
    pub(crate) by: Actor,
    pub(crate) body: String,
    pub(crate) path: String,
    pub(crate) commit: String,
    /// The last line; none for the file as a whole.
    pub(crate) line: Option<u64>,
    pub(crate) start_line: Option<u64>,
    pub(crate) side: String,
    pub(crate) hunk: String,
    pub(crate) answers: Option<u64>,
    pub(crate) is_resolved: bool,
    pub(crate) created_ms: u64,
    pub(crate) veil: Veil,
}

/// A check of a commit.
#[derive(Clone)]
pub(crate) struct Check {
    pub(crate) id: u64,
    pub(crate) app: u64,
    pub(crate) name: String,
    pub(crate) head: String,
    pub(crate) external_id: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) annotations: Vec<Value>,
    pub(crate) started_ms: u64,
    pub(crate) completed_ms: Option<u64>,
    pub(crate) veil: Veil,
}

impl State {
    /// The time here, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap().saturating_add_signed(self.ahead_ms)
    }

    pub(crate) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(crate) fn veil(&self) -> Veil {
        Veil { until_ms: self.now_ms() + self.lag.ms, n_lists: self.lag.n_lists }
    }

    pub(crate) fn repo(&self, full: &str) -> Option<&Repository> {
        self.repos.get(&full.to_ascii_lowercase())
    }

    pub(crate) fn repo_mut(&mut self, full: &str) -> Option<&mut Repository> {
        self.repos.get_mut(&full.to_ascii_lowercase())
    }

    pub(crate) fn pull(&self, full: &str, number: u64) -> Option<&Pull> {
        self.repo(full)?.pulls.get(&number)
    }

    pub(crate) fn pull_mut(&mut self, full: &str, number: u64) -> Option<&mut Pull> {
        self.repo_mut(full)?.pulls.get_mut(&number)
    }
}

impl Veil {
    /// True when a list that is made now shows it; each list lifts the veil a little.
    pub(crate) fn is_lifted(&mut self, now_ms: u64) -> bool {
        if self.n_lists > 0 {
            self.n_lists -= 1;
            return false;
        }
        now_ms >= self.until_ms
    }
}
