//! Several servers and workers on one PostgreSQL: events reach all servers, and no crash loses or repeats work.
//!
//! `TOLLGATE_CHAOS=1 cargo test -p tollgate --test it cluster::killed_nodes -- --nocapture` does more than 2,000 pieces of
//! work; without it there are some dozens. The figures are printed.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::board::machine::Status;
use tollgate_core::board::{FeatureId, Outcome};
use tollgate_engine::board::{Board, NewFeature};
use tollgate_engine::store::board::CardFilter;

use crate::desk::{Desk, works};
use crate::fake_github::{FakeGithub, Opening, PullRequest, deliver};
use crate::place::{again_on_a_server, carry_out, server};
use crate::pulls::test_server::{GOOD, TestServer, set_up};
use crate::server_process::{Server, add_project, command};
use crate::wait::{pause, wait_until};

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(1_500);

/// So many repositories have pull requests.
const N_REPOSITORIES: usize = 5;

#[test]
fn the_program_does_the_same_on_a_server() {
    let all = ["serve::", "feature::", "worker::", "jobs::", "webhook::", "crash::", "pulls::flow", "pulls::threads"];
    let killed = "pulls::crash_points::a_server_that_is_killed_at_random";
    again_on_a_server(&[&all[..], &[killed]].concat(), &["pages::", "makes_no_board", "keeps_to_its_own_folder"]);
}

/// Runs a test of this file with its own PostgreSQL, which it may stop and start; returns the printed figures.
fn alone(name: &str, test: impl FnOnce()) -> String {
    const RUNS: &str = "TOLLGATE_TEST_CLUSTER";
    let name = format!("cluster::{name}");
    if std::env::var(RUNS).is_ok_and(|running| running == name) {
        test();
        return String::new();
    }
    if server().is_some() {
        return String::new();
    }
    let mut again = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres"));
    again.arg(std::env::current_exe().unwrap()).args([&name, "--exact", "--nocapture"]).env(RUNS, &name);
    let output = again.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
    said.lines().filter(|line| line.starts_with("figure: ")).collect()
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A process of the cluster, which may be killed and comes back.
struct Node {
    child: Child,
    /// Where it listens, if it does.
    address: Option<String>,
}

impl Node {
    fn start(desk: &Desk, is_server: bool) -> Self {
        let args: &[&str] = if is_server { &["serve", "--listen", "127.0.0.1:0"] } else { &["worker"] };
        Self::of(command(desk, args), is_server)
    }

    /// A worker that has another clock.
    fn start_at(desk: &Desk, library: &str, time: &str) -> Self {
        Self::of(at(command(desk, &["worker"]), library, time), false)
    }

    fn of(mut command: Command, is_server: bool) -> Self {
        let mut child = command.env("TOLLGATE_LEASE_MS", "3000").spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (found, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on http://") {
                    let _ = found.send(address.to_owned());
                }
            }
        });
        // One that starts while the database is away ends, and is started again.
        let address = is_server.then(|| address.recv_timeout(Duration::from_secs(20)).unwrap_or_default());
        Self { child, address }
    }

    fn signal(&self, name: &str) {
        let _ = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An event client that reconnects to any server and resumes; fails on a missing or repeated event.
struct Follower {
    last: u64,
    n_connections: u64,
    n_events: u64,
}

impl Follower {
    /// Reads until the connection is gone, or it is over.
    fn follow(&mut self, address: &str, token: &str, is_over: &dyn Fn(u64) -> bool) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        let since = self.last;
        write!(
            stream,
            "GET /api/events?since={since} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             accept: text/event-stream\r\n\r\n"
        )?;
        self.n_connections += 1;
        let (mut text, mut part) = (Vec::new(), [0; 16_384]);
        // Reconnects after this many events, or when the stream is quiet for this many reads.
        let (last, mut n_quiet) = (self.last + 60, 0);
        while !is_over(self.last) && self.last < last && n_quiet < 8 {
            let n = match stream.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                    n_quiet += 1;
                    0
                }
                Err(error) => return Err(error),
            };
            text.extend_from_slice(part.get(..n).unwrap());
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                let Some(seq) = std::str::from_utf8(&line).ok().and_then(|line| line.trim().strip_prefix("id: "))
                else {
                    continue;
                };
                let seq: u64 = seq.parse().unwrap();
                assert_eq!(seq, self.last + 1, "an event is missing or came twice");
                self.last = seq;
                self.n_events += 1;
            }
        }
        Ok(())
    }
}

/// The number of faults injected into the cluster.
#[derive(Debug, Default)]
struct Done {
    kills: usize,
    pauses: usize,
    cuts: usize,
    restarts: usize,
}

#[test]
fn killed_nodes_lose_nothing_and_repeat_nothing() {
    let figures = alone("killed_nodes_lose_nothing_and_repeat_nothing", || {
        let is_full = std::env::var_os("TOLLGATE_CHAOS").is_some();
        // A feature is implemented, committed and reviewed, which is three pieces of work; a pull request is one.
        let (n_features, n_pulls, n_kills) = if is_full { (600, 200, 40) } else { (12, 8, 4) };
        println!("{}", chaos(n_features, n_pulls, n_kills));
    });
    println!("{figures}");
}

fn chaos(n_features: usize, n_pulls: usize, n_kills: usize) -> String {
    let begun = Instant::now();
    let desk = Desk::new(&works());
    add_project(&desk);
    let github = FakeGithub::start();
    set_up(&desk, &github);
    (0..N_REPOSITORIES).for_each(|at| github.repository(&format!("octo/app{at}"), &[("README.md", "# app\n")]));
    let board = desk.board();
    let project = board.projects().unwrap().remove(0).id;
    let first = Node::start(&desk, true);
    let token = std::fs::read_to_string(desk.path("data/tollgate/token")).unwrap().trim().to_owned();
    let mut nodes: Vec<Node> = vec![first];
    nodes.extend((0..2).map(|_| Node::start(&desk, true)));
    nodes.extend((0..3).map(|_| Node::start(&desk, false)));
    let addresses = Arc::new(Mutex::new(addresses(&nodes)));
    let end = Arc::new(AtomicU64::new(u64::MAX));
    let taking = Arc::clone(&addresses);
    github.hook_by(move |event, guid, body| deliver_somewhere(&taking, event, guid, body));
    let followers: Vec<_> = (0..2)
        .map(|number| {
            let (addresses, token, end) = (Arc::clone(&addresses), token.clone(), Arc::clone(&end));
            std::thread::spawn(move || follow(&addresses, &token, &end, number))
        })
        .collect();
    let maker = {
        let (board, folder) = (board.clone(), desk.path("project/.automaker/features"));
        std::thread::spawn(move || (0..n_features).for_each(|number| make(&board, project, &folder, number)))
    };
    let opening = Opening { title: "feat: parse", files: &[("a.js", GOOD)], ..Opening::default() };
    let pulls: Vec<PullRequest<'_>> =
        (0..n_pulls).map(|at| github.open(&format!("octo/app{}", at % N_REPOSITORIES), &opening)).collect();
    let done = torment(&desk, &mut nodes, &addresses, n_kills, &board, project, n_features);
    maker.join().unwrap();
    while n_settled(&board, project) < n_features || pulls.iter().any(|pull| pull.seen().conclusion().is_none()) {
        assert!(begun.elapsed() < PATIENCE, "it does not end: {:?}", statuses(&board, project));
        revive(&desk, &mut nodes, &addresses);
        pause();
    }
    end.store(board.database().last_seq().unwrap(), Ordering::SeqCst);
    let followed: Vec<Follower> = followers.into_iter().map(|follower| follower.join().unwrap()).collect();
    let n_refused: u64 = addresses.lock().unwrap().iter().map(|address| lost_claims(address, &token)).sum();
    nodes.iter_mut().for_each(Node::kill);
    check(&desk, &board, project, n_features);
    let n_pieces = 3 * n_features + n_pulls;
    for pull in &pulls {
        let seen = pull.seen();
        assert_eq!((seen.problems(), seen.checks.len(), seen.conclusion()), (Vec::new(), 1, Some("success")));
    }
    let last = board.database().last_seq().unwrap();
    for follower in &followed {
        assert!(follower.last >= end.load(Ordering::SeqCst) && follower.n_events == follower.last);
    }
    let n_connections: u64 = followed.iter().map(|follower| follower.n_connections).sum();
    format!(
        "figure: 3 servers and 3 workers, {n_pieces} pieces of work ({n_features} features, {n_pulls} pull requests), \
         {done:?}, {n_refused} late words refused that living servers know of, {last} events followed twice over \
         {n_connections} connections: 0 lost, 0 doubled, {} s",
        begun.elapsed().as_secs()
    )
}

/// The server's metric of rejected stale writes.
fn lost_claims(address: &str, token: &str) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    let ask = "GET /metrics HTTP/1.1\r\nconnection: close";
    write!(stream, "{ask}\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let figure = text.lines().find_map(|line| line.strip_prefix("tollgate_lost_claims_total "));
    figure.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

fn addresses(nodes: &[Node]) -> Vec<String> {
    nodes.iter().filter_map(|node| node.address.clone()).filter(|address| !address.is_empty()).collect()
}

/// Makes a feature and starts it, however often that has to be tried.
fn make(board: &Board, project: i64, folder: &Path, number: usize) {
    let title = format!("Feature {number}");
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < PATIENCE, "{title} cannot be made");
        let new = NewFeature { title: title.clone(), ..NewFeature::default() };
        // A write with an unknown outcome may have succeeded, or only its file may exist and be imported later.
        let filter = CardFilter { limit: usize::MAX, ..CardFilter::default() };
        let found = board.features(project, &filter);
        let found = found.map(|cards| cards.into_iter().find(|card| card.facts.title == title));
        let id = match found {
            Ok(Some(card)) => Some(card.id),
            Ok(None) if !has_file(folder, &title) => board.create(project, &new).ok().map(|feature| feature.id),
            Ok(None) | Err(_) => None,
        };
        if let Some(id) = id
            && (board.start(project, &id, "me").is_ok()
                || board.feature(project, &id).is_ok_and(|feature| feature.state.status != Status::Backlog))
        {
            return;
        }
        pause();
    }
}

/// Whether a feature of this title has a file.
fn has_file(folder: &Path, title: &str) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut texts = files.filter_map(|entry| std::fs::read_to_string(entry.path().join("feature.json")).ok());
    texts.any(|text| serde_json::from_str::<Value>(&text).is_ok_and(|card| card["title"] == title))
}

fn follow(addresses: &Mutex<Vec<String>>, token: &str, end: &AtomicU64, number: u64) -> Follower {
    let mut follower = Follower { last: 0, n_connections: 0, n_events: 0 };
    let mut dice = Dice(number + 7);
    let is_over = |last: u64| last >= end.load(Ordering::SeqCst);
    let begun = Instant::now();
    while !is_over(follower.last) {
        assert!(begun.elapsed() < PATIENCE, "events do not come: {} of {}", follower.last, end.load(Ordering::SeqCst));
        let all = addresses.lock().unwrap().clone();
        let Some(address) = all.get(usize::try_from(dice.roll(all.len().max(1) as u64)).unwrap()) else { continue };
        // A server that is gone is no failure: there are others.
        if follower.follow(address, token, &is_over).is_err() {
            pause();
        }
    }
    follower
}

fn n_settled(board: &Board, project: i64) -> usize {
    let all = board.database().column_counts(project).unwrap_or_default();
    all.into_iter().filter(|(status, _)| *status == Status::WaitingApproval).map(|(_, n)| n).sum()
}

fn statuses(board: &Board, project: i64) -> BTreeMap<String, usize> {
    let all = board.database().column_counts(project).unwrap_or_default();
    all.into_iter().map(|(status, n)| (status.to_string(), n)).collect()
}

/// Restarts dead nodes.
fn revive(desk: &Desk, nodes: &mut [Node], known: &Mutex<Vec<String>>) {
    for node in nodes.iter_mut() {
        let is_deaf = node.address.as_deref() == Some("");
        if is_deaf || node.child.try_wait().unwrap().is_some() {
            node.kill();
            *node = Node::start(desk, node.address.is_some());
        }
    }
    *known.lock().unwrap() = addresses(nodes);
}

/// Injects faults (kills, pauses, cut connections), spread over the work.
fn torment(
    desk: &Desk,
    nodes: &mut [Node],
    known: &Mutex<Vec<String>>,
    n_kills: usize,
    board: &Board,
    project: i64,
    n_features: usize,
) -> Done {
    let mut done = Done::default();
    let mut dice = Dice(1);
    let n_rounds = n_kills;
    for round in 0..n_rounds {
        // The next fault waits for progress, so that it hits a busy node.
        let wanted = round * n_features / n_rounds;
        wait_until("the work is far enough for the next kill", || {
            revive(desk, nodes, known);
            n_settled(board, project) >= wanted
        });
        let victim = usize::try_from(dice.roll(6)).unwrap();
        nodes[victim].kill();
        done.kills += 1;
        if n_rounds > 6 || round == 1 {
            // Longer than a claim is good for; it comes back and finds that it is another's by now.
            let sleeper = (victim + 3) % 6;
            nodes[sleeper].signal("STOP");
            // The killed node restarts; the paused one exists but does not answer.
            revive(desk, nodes, known);
            let leases_end = leases_of(nodes[sleeper].child.id());
            wait_until("the leases of the paused worker expire", || {
                carry_out(&desk.address().unwrap(), &leases_end).is_ok()
            });
            nodes[sleeper].signal("CONT");
            done.pauses += 1;
        }
        if round.is_multiple_of(2) {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate' \
                       AND pid <> pg_backend_pid() AND random() < 0.5";
            let _ = carry_out(&desk.address().unwrap(), cut);
            done.cuts += 1;
        }
        if round == n_rounds / 3 || round == 2 * n_rounds / 3 {
            let how = if done.restarts == 0 { ["kill", "start"] } else { ["stop", "start"] };
            for verb in how {
                let ctl = std::env::var("TOLLGATE_TEST_POSTGRES_CTL").unwrap();
                assert!(Command::new(&ctl).arg(verb).status().unwrap().success(), "{verb}");
            }
            done.restarts += 1;
        }
        revive(desk, nodes, known);
    }
    done
}

/// A statement that fails while a process holds a lease, by the clock of the database.
fn leases_of(process: u32) -> String {
    let held = |table: &str| {
        format!(
            "EXISTS (SELECT FROM {table} WHERE owner LIKE '%/{process}-%' \
             AND lease_until_ms >= extract(epoch FROM clock_timestamp()) * 1000)"
        )
    };
    format!("DO $$ BEGIN IF {} OR {} THEN RAISE 'leased'; END IF; END $$", held("work"), held("pull"))
}

/// Checks that every feature was done once and that its history has no gap.
fn check(desk: &Desk, board: &Board, project: i64, n_features: usize) {
    let cards = board.features(project, &CardFilter { limit: usize::MAX, ..CardFilter::default() }).unwrap();
    assert_eq!(cards.len(), n_features);
    for card in cards {
        let id: &FeatureId = &card.id;
        let history = board.history(project, id).unwrap();
        // Each transition starts in the state where the one before ended, so no stale write was accepted.
        for pair in history.windows(2) {
            assert_eq!((pair[1].rev, &pair[1].from), (pair[0].rev + 1, &Some(pair[0].to.clone())), "{id}");
        }
        let iterations = board.iterations(project, id).unwrap();
        let approved = iterations.iter().filter(|row| row.iteration.outcome == Outcome::Approved).count();
        assert_eq!(approved, 1, "{id}: {:?}", iterations.iter().map(|row| row.iteration.outcome).collect::<Vec<_>>());
        let branch = board.feature(project, id).unwrap().branch.unwrap();
        assert_eq!(desk.git(&["rev-list", "--count", &format!("main..{branch}")]), "1", "{id} was committed once");
    }
}

/// Delivers to the first server that accepts, as a load balancer does.
fn deliver_somewhere(known: &Mutex<Vec<String>>, event: &str, guid: &str, body: &[u8]) -> u16 {
    let begun = Instant::now();
    loop {
        let all = known.lock().unwrap().clone();
        for address in all {
            let status = deliver(&format!("http://{address}/webhooks/github"), TestServer::SECRET, event, guid, body);
            if (200..300).contains(&status) {
                return status;
            }
        }
        assert!(begun.elapsed() < PATIENCE, "no server accepts the delivery");
        pause();
    }
}

#[test]
fn events_reach_clients_of_other_servers() {
    let figures = alone("events_reach_clients_of_other_servers", || {
        let desk = Desk::new(&works());
        add_project(&desk);
        let (one, other) = (Server::start_with(&desk, &["--no-work"]), Server::start_with(&desk, &["--no-work"]));
        let events = other.connect(&desk, "GET", "/api/events?since=0", "");
        let mut lines = BufReader::new(events).lines().map_while(Result::ok);
        let mut took = Vec::new();
        for number in 0..30 {
            let title = format!("Feature {number}");
            let begun = Instant::now();
            let new = json!({ "title": title, "description": "x" });
            one.json(&desk, "POST", "/api/projects/1/features", &new.to_string(), 201);
            // The event comes from the other server.
            loop {
                let line = lines.next().expect("the stream goes on");
                let Some(frame) = line.strip_prefix("data:").and_then(|data| serde_json::from_str::<Value>(data).ok())
                else {
                    continue;
                };
                if frame["type"] != "hello" && frame.to_string().contains("feature") {
                    break;
                }
            }
            took.push(begun.elapsed());
        }
        took.sort();
        println!(
            "figure: from a request to one server to the event of another: median {} ms, most {} ms of {}",
            took[took.len() / 2].as_millis(),
            took[took.len() - 1].as_millis(),
            took.len()
        );
    });
    println!("{figures}");
}

/// Clocks that machines may have: an hour and a day off, and the two ends of time.
const CLOCKS: [&str; 6] = ["-1h", "+1h", "-1d", "+1d", "@1970-01-02 00:00:00", "@2038-01-19 03:13:00"];

#[test]
fn clocks_that_are_wrong_cost_nothing() {
    let figures = alone("clocks_that_are_wrong_cost_nothing", || {
        let n_rounds = if std::env::var_os("TOLLGATE_CHAOS").is_some() { 20 } else { 2 };
        println!("{}", wrong_clocks(n_rounds));
    });
    println!("{figures}");
}

/// Has a program run by another clock, as libfaketime says it: `-1d`, `@2038-01-19 03:14:00`.
fn at(mut command: Command, library: &str, time: &str) -> Command {
    command.env("LD_PRELOAD", library).env("FAKETIME", time).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    command
}

/// In each round every clock has a worker, and each worker is killed while it holds a lease.
fn wrong_clocks(n_rounds: usize) -> String {
    let begun = Instant::now();
    let found = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/cluster-setup")).output().unwrap();
    let said = String::from_utf8(found.stdout).unwrap();
    let library = said.trim().rsplit(": ").next().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let desk = Desk::new(&works());
    let github = FakeGithub::start();
    set_up(&desk, &github);
    github.repository("octo/app0", &[("README.md", "# app\n")]);
    let server =
        |time| Server::of(at(command(&desk, &["serve", "--listen", "127.0.0.1:0", "--no-work"]), library, time));
    let servers = ["-1d", "+1d"].map(server);
    let (addresses, turn) = (servers.each_ref().map(|server| server.address.clone()), AtomicU64::new(0));
    github.hook_by(move |event, guid, body| {
        let place = usize::try_from(turn.fetch_add(1, Ordering::SeqCst) % 2).unwrap();
        deliver_somewhere(&Mutex::new(vec![addresses[place].clone()]), event, guid, body)
    });
    let mut nodes: Vec<Node> = CLOCKS.iter().map(|time| Node::start_at(&desk, library, time)).collect();
    let mut pulls: Vec<PullRequest<'_>> = Vec::new();
    let opening = Opening { title: "feat: parse", files: &[("a.js", GOOD)], ..Opening::default() };
    let wait_for = |pulls: &[PullRequest<'_>], n: usize| {
        wait_until("the pull requests are reviewed", || {
            pulls.iter().filter(|pull| pull.seen().conclusion().is_some()).count() >= n
        });
    };
    for round in 0..n_rounds {
        pulls.extend((0..CLOCKS.len()).map(|_| github.open("octo/app0", &opening)));
        for at in 0..CLOCKS.len() {
            // The worker that takes over has another clock than the killed one.
            wait_for(&pulls, round * CLOCKS.len() + at);
            nodes[at].kill();
            nodes[at] = Node::start_at(&desk, library, CLOCKS[(at + round + 1) % CLOCKS.len()]);
        }
    }
    wait_for(&pulls, pulls.len());
    nodes.iter_mut().for_each(Node::kill);
    for pull in &pulls {
        let seen = pull.seen();
        assert_eq!((seen.problems(), seen.checks.len(), seen.conclusion()), (Vec::new(), 1, Some("success")));
    }
    format!(
        "figure: servers and workers at {} wrong clocks, {} killed, {} pull requests: 0 stuck, 0 doubled, {} s",
        CLOCKS.len(),
        n_rounds * CLOCKS.len(),
        pulls.len(),
        begun.elapsed().as_secs()
    )
}

/// A delivery as the fake GitHub sends it.
fn a_delivery(github: &FakeGithub) -> (String, Vec<u8>) {
    let (heard, told) = std::sync::mpsc::channel();
    github.hook_by(move |event, _, body| {
        let _ = heard.send((event.to_owned(), body.to_vec()));
        202
    });
    github.repository("octo/app", &[("README.md", "# app\n")]);
    github.open("octo/app", &Opening { title: "feat: parse", files: &[("a.js", GOOD)], ..Opening::default() });
    loop {
        let (event, body) = told.recv_timeout(Duration::from_secs(60)).unwrap();
        if event == "pull_request" {
            return (event, body);
        }
    }
}

#[test]
fn acknowledged_deliveries_survive_database_crashes() {
    let figures = alone("acknowledged_deliveries_survive_database_crashes", || {
        let n_deaths = if std::env::var_os("TOLLGATE_CHAOS").is_some() { 40 } else { 4 };
        println!("{}", deaths_of_the_database(n_deaths));
    });
    println!("{figures}");
}

fn deaths_of_the_database(n_deaths: usize) -> String {
    let desk = Desk::new("true");
    let github = FakeGithub::start();
    set_up(&desk, &github);
    let (event, body) = a_delivery(&github);
    let mut server = Server::start_with(&desk, &["--no-work"]);
    server.hears("@tollgate");
    let url = format!("http://{}/webhooks/github", server.address);
    let (is_over, acked) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let (refused, slowest_ms) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut recovered = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (url, event, body) = (&url, &event, &body);
            let (is_over, acked, refused, slowest_ms) = (&is_over, &acked, &refused, &slowest_ms);
            scope.spawn(move || {
                for number in 0_u64.. {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let guid = format!("{thread:08x}-0000-4000-8000-{number:012x}");
                    let begun = Instant::now();
                    let status = deliver(url, TestServer::SECRET, event, &guid, body);
                    match status {
                        200..300 => acked.lock().unwrap().push(guid),
                        503 => {
                            refused.fetch_add(1, Ordering::SeqCst);
                            let took = u64::try_from(begun.elapsed().as_millis()).unwrap();
                            slowest_ms.fetch_max(took, Ordering::SeqCst);
                            pause();
                        }
                        other => panic!("answered with {other}"),
                    }
                }
            });
        }
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for death in 0..n_deaths {
                recovered.push(die_and_wait(&desk, death, &acked));
            }
        }));
        is_over.store(true, Ordering::SeqCst);
        is_well.unwrap();
    });
    let (database, acked) = (desk.database(), acked.into_inner().unwrap());
    let n_lost = acked.iter().filter(|guid| !database.knows_delivery(guid).unwrap()).count();
    assert_eq!(n_lost, 0);
    format!(
        "figure: {n_deaths} deaths of PostgreSQL under load: {} taken, 0 lost, {} refused with 503, the slowest after {} ms; \
         taken again after {} ms at most",
        acked.len(),
        refused.into_inner(),
        slowest_ms.into_inner(),
        recovered.iter().max().unwrap().as_millis()
    )
}

/// Has the database die, and waits until something is taken again; how long that took after it was back.
fn die_and_wait(desk: &Desk, death: usize, acked: &Mutex<Vec<String>>) -> Duration {
    let n_before = acked.lock().unwrap().len();
    let waits_for = |n: usize| {
        let begun = Instant::now();
        wait_until("deliveries are accepted", || acked.lock().unwrap().len() >= n);
        begun.elapsed()
    };
    waits_for(n_before + 20);
    if death.is_multiple_of(2) {
        let ctl = std::env::var("TOLLGATE_TEST_POSTGRES_CTL").unwrap();
        for verb in ["kill", "start"] {
            assert!(Command::new(&ctl).arg(verb).status().unwrap().success(), "{verb}");
        }
    } else {
        // When a backend is killed, PostgreSQL closes all connections and restarts.
        let one = "COPY (SELECT 1) TO PROGRAM 'kill -9 $PPID'";
        let _ = carry_out(&desk.address().unwrap(), one);
    }
    let n_then = acked.lock().unwrap().len();
    waits_for(n_then + 20)
}
