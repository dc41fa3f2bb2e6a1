//! The client against a scripted GitHub on this machine.

mod app;
mod calls;
mod errors;
mod peer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_core::pull::Repo;

use self::peer::{Peer, Reply};
use super::client::Client;
use super::clock::Clock;
use super::host::{AuthMode, GithubHost};
use super::limits::Limits;
use crate::forge::host::{BotIdentity, Secret};

/// A token that must not be seen anywhere.
const TOKEN: &str = "ghp_Zq7x9Lm2Rw4t";

/// A clock that moves only by sleeping or by hand.
pub(super) struct StillClock {
    now_ms: AtomicU64,
    waited_ms: AtomicU64,
}

impl StillClock {
    pub(super) fn at(now_ms: u64) -> Self {
        Self { now_ms: AtomicU64::new(now_ms), waited_ms: AtomicU64::new(0) }
    }

    pub(super) fn advance(&self, time_ms: u64) {
        self.now_ms.fetch_add(time_ms, Ordering::SeqCst);
    }

    /// The total time slept.
    pub(super) fn waited(&self) -> u64 {
        self.waited_ms.load(Ordering::SeqCst)
    }
}

impl Clock for StillClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> u64 {
        self.now_ms()
    }

    fn wait(&self, time: Duration) {
        let time_ms = time.as_millis() as u64;
        self.advance(time_ms);
        self.waited_ms.fetch_add(time_ms, Ordering::SeqCst);
    }
}

/// 2023-11-14T22:13:20Z, the time of these tests.
const NOW_MS: u64 = 1_700_000_000_000;

fn repo() -> Repo {
    Repo::parse("octo/hello").unwrap()
}

/// A client with a token, and a GitHub that plays a script.
struct Scene {
    peer: Peer,
    clock: Arc<StillClock>,
    host: GithubHost,
}

fn scene(replies: Vec<Reply>) -> Scene {
    let me = BotIdentity { login: "ann".to_owned(), mention: "ann".to_owned(), app: None };
    scene_of(replies, Some(TOKEN), Some(me))
}

fn scene_of(replies: Vec<Reply>, token: Option<&str>, me: Option<BotIdentity>) -> Scene {
    let (peer, clock) = (Peer::playing(replies), Arc::new(StillClock::at(NOW_MS)));
    let client = Client { patience: Duration::from_secs(20), ..Client::new(peer.address(), clock.clone()) };
    let role = AuthMode::Holder {
        token: token.map(|token| Secret::new(token.to_owned())),
        me: me.map(OnceLock::from).unwrap_or_default(),
    };
    Scene { host: GithubHost::new(client, Arc::new(Limits::default()), role), peer, clock }
}
