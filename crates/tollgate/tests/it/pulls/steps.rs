//! The work on pull requests, one step at a time and by a clock that a test moves: nothing happens by itself.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_engine::board::Home;
use tollgate_engine::config::Layer;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::github::{Address, AppSettings, delivery};
use tollgate_engine::forge::host::Hidden;
use tollgate_engine::pulls::{Hosts, Pulls, Site, Stepped};
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::NewDelivery;

use super::mortal::{Dead, Death, MortalHosts};
use crate::desk::Desk;
use crate::hub::Hub;

thread_local! {
    /// How far the clock of this thread, which does all the work, is ahead.
    static AHEAD_MS: Cell<u64> = const { Cell::new(0) };
}

fn clock() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap() + AHEAD_MS.get()
}

/// The work, with a database of its own; deliveries of the hub are taken in at once.
pub(crate) struct Steps<'a> {
    hub: &'a Hub,
    hosts: Arc<MortalHosts>,
    _desk: Desk,
    pulls: Pulls,
    pub(crate) death: Death,
    /// The same for the thread that takes deliveries.
    ahead: Arc<AtomicU64>,
    n_dead: Cell<u32>,
    troubles: RefCell<Vec<String>>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(hub: &'a Hub) -> Self {
        AHEAD_MS.set(0);
        let desk = Desk::new("true");
        std::fs::write(desk.path("config/tollgate/config.toml"), "").unwrap();
        let database = Database::open(&desk.path("data/tollgate/tollgate.db")).unwrap();
        let ahead = Arc::new(AtomicU64::new(0));
        let (taking, told) = (database.clone(), Arc::clone(&ahead));
        hub.hook_by(move |event, guid, body| {
            let Ok(ask) = delivery::read(event, body, "tollgate") else { return 422 };
            let at_ms = clock() + told.load(Ordering::SeqCst);
            let new = NewDelivery { guid: guid.to_owned(), event: event.to_owned(), ask, at_ms };
            taking.accept(new).map_or(503, |_| 202)
        });
        let git = Environment {
            path: std::env::var_os("PATH"),
            home: Some(desk.path("home").into()),
            ..Environment::default()
        };
        let home = Home {
            executable: env!("CARGO_BIN_EXE_tollgate").into(),
            config_dir: Some(desk.path("config")),
            variables: Vec::new(),
            flags: Layer::default(),
            data: desk.path("data/tollgate"),
            git,
            clock,
        };
        let settings = AppSettings {
            address: Address::parse(&hub.url(), None).unwrap(),
            app_id: hub.app_id(),
            key_pem: Hidden::new(hub.private_key().to_owned()),
            key_from: "a test".to_owned(),
            resolves_threads: false,
        };
        let death = Death::default();
        let hosts = Arc::new(MortalHosts::new(settings, death.clone()));
        let site = Site { url: hub.url(), check_name: "kodiai".to_owned(), public_url: None, concurrency: 1 };
        let pulls = Pulls::open(database, home, Arc::clone(&hosts) as Arc<dyn Hosts>, site).unwrap();
        Self { hub, hosts, _desk: desk, pulls, death, ahead, n_dead: Cell::new(0), troubles: RefCell::default() }
    }

    /// Lets time pass, here and at the host.
    pub(crate) fn wait(&self, ms: u64) {
        AHEAD_MS.set(AHEAD_MS.get() + ms);
        self.ahead.store(AHEAD_MS.get(), Ordering::SeqCst);
        self.hub.step_clock(i64::try_from(ms).unwrap());
        self.hosts.renew();
    }

    /// Takes one step; false when there is nothing to do now. A worker that dies leaves everything as it is.
    pub(crate) fn step(&self) -> bool {
        let owner = format!("worker {}", self.n_dead.get());
        let stepped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.pulls.step(&owner)));
        match stepped {
            Ok(Ok(Stepped::Idle)) => false,
            Ok(Ok(Stepped::Worked(_))) => true,
            // Trouble with the host is told, and the step is taken again later.
            Ok(Err(failure)) => {
                self.troubles.borrow_mut().push(failure.message);
                true
            }
            Err(payload) if payload.is::<Dead>() => {
                self.n_dead.set(self.n_dead.get() + 1);
                true
            }
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }

    /// How many workers died.
    pub(crate) fn n_dead(&self) -> u32 {
        self.n_dead.get()
    }

    /// Finds out what no delivery told.
    pub(crate) fn reconcile(&self) {
        self.pulls.reconcile(None).unwrap();
    }

    /// Works until nothing is owed any more, and waits for what has to wait. Gives back how many steps it took.
    #[track_caller]
    pub(crate) fn finish(&self) -> usize {
        let forever = u64::try_from(i64::MAX).unwrap();
        for n_steps in 0..2_000 {
            if self.step() {
                continue;
            }
            if self.pulls.database().n_pulls_owed(forever).unwrap() == 0 {
                return n_steps;
            }
            self.wait(5_000);
        }
        let troubles = self.troubles.borrow();
        panic!("it comes to no end: {:#?}", troubles.iter().rev().take(5).collect::<Vec<_>>());
    }
}
