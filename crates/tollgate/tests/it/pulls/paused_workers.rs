//! Workers that are paused during a request to the forge, beyond the end of their lease, and then resume.
//!
//! Others have done their work by then. They are paused before and after each kind of write request; with
//! `TOLLGATE_CHAOS=1` 40 times more, at every moment of 400 jobs. Statistics are printed.

use std::time::Duration;

use tollgate_engine::pulls::{Pulls, Stepped};

use super::dying_worker::Death;
use super::steps::Steps;
use super::test_server::BAD;
use crate::fake_github::{FakeGithub, Opening, PullRequest};

const N_WORKERS: usize = 3;
/// Longer than a claim is good for.
const SLEEP_MS: u64 = 31_000;
/// Words that write; each has a moment before it and one after it.
const WRITES: [&str; 4] = ["comment", "review", "begin_check", "update_check"];

/// When a worker is paused: after a number of requests, of one kind or of all.
type When = (i64, Option<&'static str>);

struct Worker {
    name: String,
    pulls: Pulls,
    fate: Death,
}

impl Worker {
    /// Works until no job is due; returns whether there was one.
    fn work(&self) -> bool {
        let mut has_worked = false;
        // Trouble with the host is over some time.
        while !matches!(self.pulls.step(&self.name), Ok(Stepped::Idle)) {
            has_worked = true;
        }
        has_worked
    }
}

/// Runs all active workers until the queue is empty.
#[track_caller]
fn finish(steps: &Steps, awake: &[&Worker]) {
    for _ in 0..1_000 {
        if awake.iter().any(|worker| worker.work()) {
            continue;
        }
        if steps.pulls.database().n_due_pulls(u64::try_from(i64::MAX).unwrap()).unwrap() == 0 {
            return;
        }
        steps.wait(5_000);
    }
    panic!("it comes to no end");
}

/// Pauses a worker at a moment, lets the others empty the queue, and resumes it. False when it was done
/// before that moment came.
fn sleep_at(steps: &Steps, workers: &[Worker], sleeper: usize, (n_moments, word): When) -> bool {
    let awake: Vec<&Worker> = workers.iter().enumerate().filter(|(at, _)| *at != sleeper).map(|(_, it)| it).collect();
    let (stopped, wake) = workers[sleeper].fate.is_a_sleep_after(n_moments, word);
    let time = &steps.time;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            time.hold();
            workers[sleeper].work();
        });
        let is_asleep = loop {
            match stopped.recv_timeout(Duration::from_millis(5)) {
                Ok(()) => break true,
                Err(_) if thread.is_finished() => break false,
                Err(_) => {}
            }
        };
        if is_asleep {
            steps.wait(SLEEP_MS);
            finish(steps, &awake);
        }
        drop(wake);
        workers[sleeper].fate.is_called_off();
        is_asleep
    })
}

fn problems(pull: &PullRequest<'_>, asked: u64) -> Vec<String> {
    let seen = pull.seen();
    let mut problems = seen.problems();
    let found = (seen.conclusion(), seen.summaries.len(), seen.inline.len(), seen.replies_to(asked).len());
    if found != (Some("failure"), 1, 1, 1) {
        problems.push(format!("{found:?}"));
    }
    problems
}

#[test]
fn a_worker_that_sleeps_past_its_claim_loses_nothing_and_says_nothing_twice() {
    let is_full = std::env::var_os("TOLLGATE_CHAOS").is_some();
    let mut when: Vec<When> = WRITES.iter().flat_map(|word| [(0, Some(*word)), (1, Some(*word))]).collect();
    when.extend((0..40).filter(|_| is_full).map(|n_moments| (n_moments, None)));
    let n_each = if is_full { 10 } else { 2 };
    let github = FakeGithub::start();
    let steps = Steps::new(&github);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let workers: Vec<Worker> = (0..N_WORKERS)
        .map(|n| {
            let fate = Death::default();
            Worker { name: format!("worker {n}"), pulls: steps.another(fate.clone()), fate }
        })
        .collect();
    let (mut n_slept, mut n_jobs) = (0, 0);
    for (round, when) in when.into_iter().enumerate() {
        let open = |_| {
            let pull = github.open("octo/app", &Opening { files: &[("a.js", BAD)], ..Opening::default() });
            let asked = pull.say("ada", "@tollgate help");
            (pull, asked)
        };
        let pulls: Vec<(PullRequest<'_>, u64)> = (0..n_each).map(open).collect();
        n_jobs += pulls.len();
        // The rate limit of comments and the debouncing of pushes need time.
        steps.wait(5 * 60_000);
        assert!(sleep_at(&steps, &workers, round % N_WORKERS, when), "nobody was stopped at {when:?}");
        n_slept += 1;
        finish(&steps, &workers.iter().collect::<Vec<_>>());
        for (pull, asked) in &pulls {
            assert_eq!(problems(pull, *asked), [""; 0], "#{}, asleep at {when:?}", pull.number);
        }
    }
    println!("{N_WORKERS} workers, {n_jobs} pieces of work, {n_slept} times asleep past the claim: 0 lost, 0 doubled");
}
