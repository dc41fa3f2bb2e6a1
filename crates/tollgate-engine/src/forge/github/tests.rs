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
use super::hosted::{Hosted, Role};
use super::limits::Limits;
use crate::forge::host::{Hidden, Me};

/// A token that must not be seen anywhere.
const TOKEN: &str = "ghp_Zq7x9Lm2Rw4t";

/// A clock that moves only when somebody waits or moves it.
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

    /// How long was waited in all.
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

/// 2023-11-14T22:13:20Z, where our tests happen.
const NOW_MS: u64 = 1_700_000_000_000;

fn repo() -> Repo {
    Repo::parse("octo/hello").unwrap()
}

/// Somebody with a token, before a GitHub that answers as it is told.
struct Scene {
    peer: Peer,
    clock: Arc<StillClock>,
    host: Hosted,
}

fn scene(replies: Vec<Reply>) -> Scene {
    let me = Me { login: "ann".to_owned(), mention: "ann".to_owned(), app: None };
    scene_of(replies, Some(TOKEN), Some(me))
}

fn scene_of(replies: Vec<Reply>, token: Option<&str>, me: Option<Me>) -> Scene {
    let (peer, clock) = (Peer::playing(replies), Arc::new(StillClock::at(NOW_MS)));
    let client = Client { patience: Duration::from_secs(20), ..Client::new(peer.address(), clock.clone()) };
    let role = Role::Holder {
        token: token.map(|token| Hidden::new(token.to_owned())),
        me: me.map(OnceLock::from).unwrap_or_default(),
    };
    Scene { host: Hosted::new(client, Arc::new(Limits::default()), role), peer, clock }
}
