//! The server is killed on the way from a delivery to a comment: at every point that matters, and at random ones.
//!
//! `TOLLGATE_CHAOS=25` kills 25 times at each point and 200 times at random; without it there are a few of each. What
//! was done is printed. Every delivery ends in a review of the newest head, exactly once.
//! The same on PostgreSQL: `TOLLGATE_CHAOS=25 scripts/with-postgres` before the binary of these tests, `pulls::killed`.

use std::sync::Mutex;

use super::test_server::{BAD, GOOD, TestServer};
use crate::fake_github::{FakeGithub, Fault, Opening, PullRequest};
use crate::fake_model::{FakeModel, answer, finding};
use crate::wait::wait_until;

const START: &[(&str, &str)] = &[("README.md", "# app\n")];

/// Crash points from the first byte of a delivery to the last cleanup.
const POINTS: [&str; 21] = [
    "delivery-body-frame",
    "delivery-signature-verified",
    "delivery-before-commit",
    "delivery-before-response",
    "delivery-after-response",
    "pull-claimed",
    "pull-fetched",
    "pull-review-skipped",
    "pull-commits-fetched",
    "review-change-fetched",
    "review-files-scanned",
    "review-model-asked",
    "review-before-commit",
    "review-stored",
    "post-head-checked",
    "post-sent",
    "post-before-ack",
    "check-before-conclusion",
    "pull-before-release",
    "pull-released",
    "mirror-half-deleted",
];
/// Repositories that were being deleted when a server died; the next one dies after some of them.
const N_LITTER: usize = 3;

fn n_kills() -> u32 {
    std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// How often a point is passed in one review, as far as each pass is another place.
fn n_passes(point: &str) -> u32 {
    match point {
        // The check begins, the review, the summary; after these the check ends.
        "post-sent" => 3,
        "post-before-ack" => 4,
        "mirror-half-deleted" => 3,
        _ => 1,
    }
}

/// Kills a server at a pass of a point, starts another, and sees to it that all is as if nothing had been.
fn kill_at(point: &str, pass: u32) -> Result<(), String> {
    let at = format!("{point}#{pass}");
    let github = FakeGithub::start();
    let model = FakeModel::saying(answer("REJECTED", &[finding("high", "a.js", 1, "Evaluates text", BAD.trim_end())]));
    let asks = format!("[review]\nreviewers = ['stub']\n{}", model.table("stub"));
    let settings = if point == "review-model-asked" { asks } else { String::new() };
    let mut server = TestServer::new(&github, &settings);
    github.repository("octo/app", START);
    if point == "mirror-half-deleted" {
        server.litter(N_LITTER);
    }
    server.launch(Some(&at));
    let is_skipped = point == "pull-review-skipped";
    let title = if is_skipped { "[no-review] parse" } else { "feat: parse" };
    let pull = github.open("octo/app", &Opening { title, files: &[("a.js", BAD)], ..Opening::default() });
    wait_until(&format!("the server dies at {at}"), || server.is_dead());
    let n_left = server.litter_left().len();
    if point == "mirror-half-deleted" && n_left != N_LITTER - pass as usize {
        return Err(format!("{at}: it did not die half way, {n_left} are left"));
    }
    server.launch(None);
    let seen = server.settled(&pull);
    wait_until("a cache in order", || server.litter_left().is_empty());
    let found = (seen.conclusion(), seen.summaries.len(), seen.inline.len().min(1), seen.others.len());
    let expected = if is_skipped { (Some("neutral"), 0, 0, 1) } else { (Some("failure"), 1, 1, 0) };
    match seen.problems() {
        problems if !problems.is_empty() => Err(format!("{at}: {problems:?}")),
        _ if found != expected => Err(format!("{at}: {found:?}")),
        _ => Ok(()),
    }
}

#[test]
fn a_server_that_dies_at_any_point_is_as_good_as_one_that_does_not() {
    let n_each = n_kills().max(1);
    let of =
        |point: &'static str| (0..n_each.max(n_passes(point))).map(move |round| (point, round % n_passes(point) + 1));
    let todo: Mutex<Vec<(&str, u32)>> = Mutex::new(POINTS.into_iter().flat_map(of).rev().collect());
    let (n_all, problems) = (todo.lock().unwrap().len(), Mutex::new(Vec::new()));
    // Most of the time is spent waiting, so several run concurrently.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((point, pass)) = todo.lock().unwrap().pop() else { return };
                    if let Err(problem) = kill_at(point, pass) {
                        problems.lock().unwrap().push(problem);
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{} of {n_all}:\n{}", problems.len(), problems.join("\n"));
    println!("killed at {} points, {n_all} times, each time as if nothing had been", POINTS.len());
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A pull request, how it must end, and which comments must be answered.
struct Told<'a> {
    pull: PullRequest<'a>,
    is_good: bool,
    asked: Vec<u64>,
}

impl<'a> Told<'a> {
    fn open(github: &'a FakeGithub) -> Self {
        let pull = github.open("octo/app", &Opening { files: &[("a.js", BAD)], ..Opening::default() });
        Self { pull, is_good: false, asked: Vec::new() }
    }

    /// Pushes several times, and then pushes again or comments.
    fn act(&mut self, random: &mut Random, n: u32) {
        for _ in 0..2 {
            self.push(random, n);
        }
        match random.below(3) {
            0 => self.asked.push(self.pull.say("mallory", "@tollgate help")),
            _ => self.push(random, n),
        }
    }

    fn push(&mut self, random: &mut Random, n: u32) {
        self.is_good = random.below(2) == 0;
        let text = if self.is_good { GOOD } else { BAD };
        let n = format!("{n} {}", random.below(1 << 30));
        self.pull.push("more", &[("a.js", text), ("n.txt", &n)]);
    }

    #[track_caller]
    fn check(&self, server: &TestServer<'_>, when: &str) {
        let seen = server.settled(&self.pull);
        assert_eq!(seen.problems(), [""; 0], "{when}");
        assert_eq!(seen.conclusion(), Some(if self.is_good { "success" } else { "failure" }), "{when}");
        for comment in &self.asked {
            assert_eq!(seen.replies_to(*comment).len(), 1, "{when}: answers to {comment}");
        }
    }
}

#[test]
fn a_server_that_is_killed_at_random_loses_nothing_and_says_nothing_twice() {
    let wanted = (8 * n_kills()).max(6);
    let mut random = Random(0x5eed_0007 + u64::from(n_kills()));
    let (mut n_killed, mut n_acked, mut n_twice, mut n_faults) = (0, 0, 0, 0);
    while n_killed < wanted {
        // GitHub's hourly comment limit has room for some kills per instance only.
        let github = FakeGithub::start();
        let mut server = TestServer::new(&github, "");
        github.repository("octo/app", START);
        server.launch(None);
        github.faults_at_random(random.below(1 << 30), 100, &[Fault::DoneButBroken, Fault::DoneButClosed]);
        let mut pulls: Vec<Told<'_>> = (0..3).map(|_| Told::open(&github)).collect();
        let mut n_seen = 0;
        for round in 0..wanted.min(25) {
            for pull in &mut pulls {
                pull.act(&mut random, round);
            }
            let sent = github.taken();
            for again in &sent[n_seen..] {
                if random.below(5) == 0 || n_twice == 0 {
                    github.send(*again);
                    n_twice += 1;
                }
            }
            n_seen = sent.len();
            let n_requests = github.requests("").len() + 1 + usize::try_from(random.below(40)).unwrap();
            wait_until("the next kill is due", || github.requests("").len() >= n_requests || server.n_owed() == 0);
            server.kill();
            n_killed += 1;
            server.launch(None);
        }
        n_faults += github.end_faults();
        for pull in &pulls {
            pull.check(&server, &format!("kill {n_killed}"));
        }
        n_acked += github.taken().len();
    }
    println!(
        "killed at random {n_killed} times: {n_acked} deliveries acknowledged, {n_twice} sent twice, {n_faults} faults"
    );
}
