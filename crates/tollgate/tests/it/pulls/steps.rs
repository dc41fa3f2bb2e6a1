//! The pull request worker, stepped by hand with a manual clock: there is no background work.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tollgate_engine::board::Home;
use tollgate_engine::config::Layer;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::github::{Address, App, AppSettings, delivery};
use tollgate_engine::forge::host::Secret;
use tollgate_engine::pulls::{Hosts, Pulls, Site, Stepped};
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::{ConcurrencyLimits, NewDelivery};

use super::clock::{Time, clock};
use super::dying_worker::{Dead, Death, MortalHosts};
use crate::desk::Desk;
use crate::fake_github::FakeGithub;

/// The worker with its own database; deliveries of the fake GitHub are received immediately.
pub(crate) struct Steps {
    desk: Desk,
    pub(crate) pulls: Pulls,
    pub(crate) death: Death,
    pub(crate) time: Arc<Time>,
    app: App,
    n_dead: Cell<u32>,
    troubles: RefCell<Vec<String>>,
}

impl Steps {
    pub(crate) fn new(github: &FakeGithub) -> Self {
        Self::at(github, "", Time::new(github, false))
    }

    /// The same with settings of the operator's, by a time.
    pub(crate) fn at(github: &FakeGithub, settings: &str, time: Arc<Time>) -> Self {
        time.hold();
        let desk = Desk::new("true");
        std::fs::write(desk.path("config/tollgate/config.toml"), settings).unwrap();
        let database = desk.database();
        let (taking, when) = (database.clone(), Arc::clone(&time));
        github.hook_by(move |event, guid, body| {
            let ask = match delivery::read(event, body, "tollgate") {
                Ok(Some(ask)) => ask,
                Ok(None) => return 202,
                Err(_) => return 422,
            };
            let new = NewDelivery { guid: guid.to_owned(), event: event.to_owned(), ask, at_ms: when.now() };
            taking.accept(new).map_or(503, |_| 202)
        });
        let settings = AppSettings {
            address: Address::parse(&github.url(), None).unwrap(),
            app_id: github.app_id(),
            key_pem: Secret::new(github.private_key().to_owned()),
            key_from: "a test".to_owned(),
            resolves_threads: false,
        };
        let app = App::with_clock(settings, Arc::clone(&time) as _).unwrap();
        let death = Death::default();
        let pulls = pulls(&desk, database, &app, death.clone(), &github.url());
        Self { desk, pulls, death, time, app, n_dead: Cell::new(0), troubles: RefCell::default() }
    }

    /// Another worker on the same data, with a fate of its own.
    pub(crate) fn another(&self, death: Death) -> Pulls {
        let database = self.desk.database();
        pulls(&self.desk, database, &self.app, death, &self.pulls.site().url)
    }

    /// Lets time pass, here and at the host.
    pub(crate) fn wait(&self, ms: u64) {
        self.time.pass(ms);
    }

    /// Takes one step; false when there is nothing to do now. A worker that dies leaves everything as it is.
    pub(crate) fn step(&self) -> bool {
        let owner = format!("worker {}", self.n_dead.get());
        let stepped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.pulls.step(&owner)));
        match stepped {
            Ok(Ok(Stepped::Idle)) => false,
            Ok(Ok(Stepped::Worked(_))) => true,
            // A forge error is recorded, and the step is retried later.
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

    /// Reconciles missed deliveries.
    pub(crate) fn reconcile(&self) {
        self.pulls.reconcile(None).unwrap();
    }

    /// Works until the queue is empty, advancing the clock to delayed jobs; returns the number of steps.
    #[track_caller]
    pub(crate) fn finish(&self) -> usize {
        let forever = u64::try_from(i64::MAX).unwrap();
        for n_steps in 0..4_000 {
            if self.step() {
                continue;
            }
            if self.pulls.database().n_due_pulls(forever).unwrap() == 0 {
                return n_steps;
            }
            self.wait(5_000);
        }
        let troubles = self.troubles.borrow();
        panic!("it comes to no end: {:#?}", troubles.iter().rev().take(5).collect::<Vec<_>>());
    }
}

fn pulls(desk: &Desk, database: Database, app: &App, death: Death, url: &str) -> Pulls {
    let git =
        Environment { path: std::env::var_os("PATH"), home: Some(desk.path("home").into()), ..Environment::default() };
    let home = Home {
        executable: env!("CARGO_BIN_EXE_tollgate").into(),
        config_dir: Some(desk.path("config")),
        variables: Vec::new(),
        flags: Layer::default(),
        data: desk.path("data/tollgate"),
        git,
        clock,
    };
    let hosts: Arc<dyn Hosts> = Arc::new(MortalHosts { app: app.clone(), death });
    let (url, check_name, limits) = (url.to_owned(), "kodiai".to_owned(), ConcurrencyLimits::default());
    let site = Site { url, check_name, public_url: None, concurrency: 1, limits };
    Pulls::open(database, home, hosts, site).unwrap()
}
