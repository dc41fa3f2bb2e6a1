//! The server is killed at every point that matters, and at random ones; afterwards everything is as if it had not been.
//!
//! `TOLLGATE_CHAOS=25` kills 25 times at each point and 200 times at random; without it there are a few of each. What
//! was done is printed. The points are those of the reliability contract, from the end of an agent to the next status:
//! a program under test dies at the one that `TOLLGATE_CRASH_AT` names.
//! The same on PostgreSQL: `TOLLGATE_CHAOS=25 scripts/with-postgres` before the binary of these tests, `crash::`.

use std::path::Path;
use std::process::{Child, Stdio};

use tollgate_core::board::machine::{Pause, State, Status, Work};
use tollgate_core::board::{Document, FeatureId, Outcome};
use tollgate_engine::board::{Board, NewFeature};

use crate::desk::{BAD, Desk, learns, settled};
use crate::server_process::command;
use crate::wait::wait_until;

/// The server of a desk, as a process of its own.
struct Server {
    child: Child,
}

impl Server {
    /// Starts it; it dies at a point, if one is named.
    fn start(desk: &Desk, crash_at: Option<&str>) -> Self {
        let mut command = command(desk, &["serve", "--listen", "127.0.0.1:0"]);
        command.envs(crash_at.map(|point| ("TOLLGATE_CRASH_AT", point)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap() }
    }

    fn is_dead(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Processes that have something to do with a folder.
pub(crate) fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let place = std::fs::read_link(entry.path().join("cwd")).ok().map(|place| place.display().to_string());
        let is_near = line.contains(&folder) || place.is_some_and(|place| place.starts_with(&folder));
        (is_near && pid != std::process::id()).then_some(format!("{pid} {line}"))
    });
    lines.collect()
}

/// The required final state of a feature, regardless of crashes.
#[derive(Clone, Copy)]
enum End {
    /// Rejected once, then approved.
    Approved,
    /// Rejected three times.
    Paused,
}

impl End {
    fn agent(self) -> String {
        match self {
            Self::Approved => learns(),
            Self::Paused => format!("rm -f b*.js; echo '{BAD}' > b$(git rev-list --count HEAD).js; echo done"),
        }
    }

    fn n_iterations(self) -> usize {
        match self {
            Self::Approved => 2,
            Self::Paused => 3,
        }
    }
}

/// Checks all invariants of a finished feature and its files.
#[track_caller]
fn check(desk: &Desk, board: &Board, project: i64, id: &FeatureId, end: End, when: &str) {
    let row = settled(board, project, id);
    let n = end.n_iterations();
    let State { status, pause, iteration, .. } = row.state.clone();
    let expected = match end {
        End::Approved => (Status::WaitingApproval, None),
        End::Paused => (Status::InProgress, Some(Pause::MaxIterations)),
    };
    assert_eq!((status, pause), expected, "{when}: {:?}", row.problem);
    assert_eq!(iteration as usize, n, "{when}");

    let rows = board.iterations(project, id).unwrap();
    let outcomes: Vec<Outcome> = rows.iter().map(|row| row.iteration.outcome).collect();
    let mut wanted = vec![Outcome::Rejected; n];
    if matches!(end, End::Approved) {
        wanted[n - 1] = Outcome::Approved;
    }
    assert_eq!(outcomes, wanted, "{when}: one review for each iteration");
    let commits = desk.git(&["rev-list", "--reverse", &format!("main..feature/{id}")]);
    let commits: Vec<&str> = commits.lines().collect();
    let reviewed: Vec<&str> = rows.iter().filter_map(|row| row.iteration.commit.as_deref()).collect();
    assert_eq!(commits, reviewed, "{when}: one commit for each iteration");
    assert_eq!(row.state.commit.as_deref(), commits.last().copied(), "{when}");

    let events = board.database().events_after(0, 100_000, Some(project)).unwrap();
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq), "{when}");
    let of = |kind: &str| {
        let is_it = |row: &&tollgate_engine::store::board::EventRow| {
            row.event.kind == format!("feature:code-review-{kind}") && row.event.feature.as_ref() == Some(id)
        };
        events.iter().filter(is_it).count()
    };
    assert_eq!((of("completed"), of("rejected") + of("approved")), (n, n), "{when}: each end is announced once");

    let folder = desk.features(id);
    let names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.starts_with(".tollgate")), "{when}: {names:?}");
    let document = Document::parse(&std::fs::read(folder.join("feature.json")).unwrap()).unwrap();
    assert_eq!(document.status(), row.state.status, "{when}");
    for number in 1..=n {
        let text = std::fs::read_to_string(folder.join(format!("code-review-iteration-{number}.md"))).unwrap();
        assert!(text.starts_with("# Code Review") && text.contains("## Action Required"), "{when}: {text}");
        assert!(folder.join(format!("agent-output-iteration-{number}.md")).exists(), "{when}");
    }
}

fn add(board: &Board, project: i64, title: &str) -> FeatureId {
    let new = NewFeature { title: title.to_owned(), ..NewFeature::default() };
    let id = board.create(project, &new).unwrap().id;
    board.start(project, &id, "me").unwrap();
    id
}

fn n_kills() -> u32 {
    std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn a_server_that_dies_at_any_point_goes_on_where_it_was() {
    let points = [
        "implement-before-transition",
        "implement-before-output",
        "commit-before-ref-update",
        "commit-before-transition",
        "commit-recorded",
        "transition-before-files",
        "gate-reviewed",
        "gate-before-transition",
        "transition-files-written",
        "gate-rejected",
        "gate-paused",
        "gate-approved",
    ];
    let n_each = n_kills().max(1);
    let mut figures = Vec::new();
    for point in points {
        let mut n_died = 0;
        for round in 0..n_each {
            let end = if point == "gate-paused" { End::Paused } else { End::Approved };
            let desk = Desk::new(&end.agent());
            let board = desk.board();
            let project = board.add_project(&desk.path("project"), None).unwrap().id;
            let id = add(&board, project, "Feature");
            // Points that are passed in each iteration, or with each transition, are tried at several passes.
            let n_passes = match point {
                "transition-before-files" | "transition-files-written" => 8,
                "gate-rejected" | "gate-paused" | "gate-approved" => 1,
                _ => 2,
            };
            let at = format!("{point}#{}", round % n_passes + 1);
            let mut server = Server::start(&desk, Some(&at));
            wait_until(&format!("the server dies at {at}"), || server.is_dead());
            n_died += 1;
            server.kill();
            let again = Server::start(&desk, None);
            check(&desk, &board, project, &id, end, &at);
            drop(again);
            nothing_is_left(&desk, &at);
        }
        assert_eq!(n_died, n_each, "{point}: the server did not die there");
        figures.push(format!("{point}: {n_died} of {n_each}"));
    }
    println!("killed at points, each time as if nothing had been: {}", figures.join(", "));
}

#[track_caller]
fn nothing_is_left(desk: &Desk, when: &str) {
    wait_until(&format!("no process is left after {when}"), || processes_of(&desk.path("")).is_empty());
}

#[test]
fn a_server_that_is_killed_at_random_loses_nothing_and_does_nothing_twice() {
    let wanted = if n_kills() > 0 { 200 } else { 8 };
    let mut random = Random(0x5eed_0000 + u64::from(n_kills()));
    let (mut n_killed, mut n_features) = (0, 0);
    while n_killed < wanted {
        let desk = Desk::new(&format!("sleep 0.2; {}", End::Approved.agent()));
        let board = desk.board();
        let project = board.add_project(&desk.path("project"), None).unwrap().id;
        let ids: Vec<FeatureId> = (0..3).map(|n| add(&board, project, &format!("Feature {n}"))).collect();
        n_features += ids.len();
        let is_owed = |id: &FeatureId| board.feature(project, id).unwrap().state.work != Work::Nothing;
        while n_killed < wanted && ids.iter().any(is_owed) {
            let mut server = Server::start(&desk, None);
            let last = board.database().last_seq().unwrap() + 1 + random.below(12);
            wait_until("the next kill is due", || {
                board.database().last_seq().unwrap() >= last || !ids.iter().any(is_owed)
            });
            server.kill();
            n_killed += 1;
        }
        let server = Server::start(&desk, None);
        for id in &ids {
            check(&desk, &board, project, id, End::Approved, &format!("kill {n_killed}"));
        }
        drop(server);
        nothing_is_left(&desk, &format!("kill {n_killed}"));
    }
    println!("killed at random: {n_killed} times, {n_features} features, none lost, none twice");
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
