//! Random schedules: any order of events and faults converges to the fault-free result.
//!
//! `TOLLGATE_CHAOS=1000 cargo test -p tollgate --test it schedule -- --nocapture` tries a thousand; without it there are a
//! few. People push, retitle and talk; deliveries come twice, late, in another order or not at all; the host fails in
//! every way that [`Fault`] knows, and workers die between any two requests to it.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::steps::Steps;
use super::test_server::{BAD, GOOD};
use crate::fake_github::{FakeGithub, Fault, Opening, PullRequest};

/// Something that happens.
#[derive(Debug, Clone)]
enum Act {
    Push {
        pull: usize,
        is_good: bool,
    },
    ForcePush {
        pull: usize,
        is_good: bool,
    },
    Retitle {
        pull: usize,
        title: &'static str,
    },
    Help {
        pull: usize,
    },
    CloseAndReopen {
        pull: usize,
    },
    /// Sends the pending delivery at this index, this often.
    Send {
        place: usize,
        n: usize,
    },
    Lose {
        place: usize,
    },
    Work,
    Wait {
        ms: u64,
    },
    /// The worker dies after this many requests.
    Die {
        after: i64,
    },
    Fail {
        which: &'static str,
        fault: Fault,
    },
}

const TITLES: [&str; 3] = ["feat: parse", "[no-review] parse", "fix: parse [strict-review]"];

const FAULTS: [Fault; 9] = [
    Fault::Unauthorized,
    Fault::Secondary(2),
    Fault::NotFound,
    Fault::Conflict,
    Fault::Invalid,
    Fault::Broken(500),
    Fault::DoneButBroken,
    Fault::DoneButClosed,
    Fault::Silent(Duration::ZERO),
];

/// Requests that write, and some that read.
const SPOTS: [&str; 8] = [
    "comments.create",
    "comments.edit",
    "reviews.create",
    "checks.create",
    "checks.update",
    "comments.list",
    "reviews.list",
    "git.fetch",
];

fn act() -> impl Strategy<Value = Act> {
    let pull = 0..2_usize;
    prop_oneof![
        3 => (pull.clone(), any::<bool>()).prop_map(|(pull, is_good)| Act::Push { pull, is_good }),
        1 => (pull.clone(), any::<bool>()).prop_map(|(pull, is_good)| Act::ForcePush { pull, is_good }),
        1 => (pull.clone(), 0..TITLES.len()).prop_map(|(pull, title)| Act::Retitle { pull, title: TITLES[title] }),
        1 => pull.clone().prop_map(|pull| Act::Help { pull }),
        1 => pull.prop_map(|pull| Act::CloseAndReopen { pull }),
        4 => (0..50_usize, 1..4_usize).prop_map(|(place, n)| Act::Send { place, n }),
        1 => (0..50_usize).prop_map(|place| Act::Lose { place }),
        6 => Just(Act::Work),
        2 => (0..40_000_u64).prop_map(|ms| Act::Wait { ms }),
        2 => (0..30_i64).prop_map(|after| Act::Die { after }),
        3 => (0..SPOTS.len(), 0..FAULTS.len())
            .prop_map(|(spot, fault)| Act::Fail { which: SPOTS[spot], fault: FAULTS[fault] }),
    ]
}

/// What people have done, which decides how it must end.
struct Person<'a> {
    pull: PullRequest<'a>,
    title: &'static str,
    is_good: bool,
    asked: Vec<u64>,
    n_pushes: u32,
}

impl Person<'_> {
    fn files(&mut self, is_good: bool) -> (String, &'static str) {
        self.n_pushes += 1;
        self.is_good = is_good;
        (format!("push {}", self.n_pushes), if is_good { GOOD } else { BAD })
    }

    /// How its check must end.
    fn end(&self) -> &'static str {
        match (self.title.contains("[no-review]"), self.is_good) {
            (true, _) => "neutral",
            (false, true) => "success",
            (false, false) => "failure",
        }
    }
}

fn happen(github: &FakeGithub, steps: &Steps, people: &mut [Person<'_>], act: &Act) {
    match act {
        Act::Push { pull, is_good } => {
            let person = &mut people[*pull];
            let (message, text) = person.files(*is_good);
            // Something differs each time, so that each push is a head of its own.
            person.pull.push(&message, &[("a.js", text), ("n.txt", &message)]);
        }
        Act::ForcePush { pull, is_good } => {
            let person = &mut people[*pull];
            let (message, text) = person.files(*is_good);
            person.pull.force_push(&message, &[("a.js", text), ("n.txt", &message)]);
        }
        Act::Retitle { pull, title } => {
            people[*pull].title = title;
            people[*pull].pull.retitle("ada", title);
        }
        Act::Help { pull } => {
            let comment = people[*pull].pull.say("mallory", "@tollgate help");
            people[*pull].asked.push(comment);
        }
        Act::CloseAndReopen { pull } => {
            people[*pull].pull.close();
            people[*pull].pull.reopen();
        }
        Act::Send { place, n } => {
            let held = github.held();
            if let Some(delivery) = held.get(place % held.len().max(1)) {
                (0..*n).for_each(|_| github.send(*delivery));
            }
        }
        Act::Lose { place } => {
            let held = github.held();
            if let Some(delivery) = held.get(place % held.len().max(1)) {
                github.lose(*delivery);
            }
        }
        Act::Work => {
            steps.step();
        }
        Act::Wait { ms } => steps.wait(*ms),
        Act::Die { after } => steps.death.comes_after(*after),
        Act::Fail { which, fault } => github.fault(which, 0, 1, *fault),
    }
}

/// Runs a schedule to its end; returns the violated invariants.
fn play(acts: &[Act]) -> Vec<String> {
    let github = FakeGithub::start();
    let steps = Steps::new(&github);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    github.hold_deliveries(true);
    let open = |_| {
        let pull =
            github.open("octo/app", &Opening { title: TITLES[0], files: &[("a.js", BAD)], ..Opening::default() });
        Person { pull, title: TITLES[0], is_good: false, asked: Vec::new(), n_pushes: 0 }
    };
    let mut people: Vec<Person<'_>> = (0..2).map(open).collect();
    acts.iter().for_each(|act| happen(&github, &steps, &mut people, act));

    // The faults are over; reconciliation finds lost deliveries.
    steps.death.is_called_off();
    github.end_faults();
    github.hold_deliveries(false);
    github.held().into_iter().for_each(|delivery| github.send(delivery));
    steps.wait(120_000);
    steps.reconcile();
    github.wait_for_the_post();
    steps.finish();

    let mut problems = Vec::new();
    for person in &people {
        let (seen, number) = (person.pull.seen(), person.pull.number);
        problems.extend(seen.problems().into_iter().map(|problem| format!("#{number}: {problem}")));
        if seen.conclusion() != Some(person.end()) {
            problems.push(format!("#{number}: ends with {:?} instead of {}", seen.conclusion(), person.end()));
        }
        for comment in person.asked.iter().filter(|comment| seen.replies_to(**comment).len() != 1) {
            problems.push(format!("#{number}: {} answers to {comment}", seen.replies_to(*comment).len()));
        }
        let has_words = person.end() != "failure" || seen.summaries.len() == 1;
        if !has_words {
            problems.push(format!("#{number}: no summary"));
        }
    }
    problems
}

#[test]
fn random_schedules_converge_to_the_fault_free_result() {
    let cases = std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let schedules = proptest::collection::vec(act(), 5..40);
    let result = runner.run(&schedules, |acts| {
        let problems = play(&acts);
        prop_assert!(problems.is_empty(), "{problems:#?}");
        Ok(())
    });
    assert!(result.is_ok(), "{}", result.unwrap_err());
    println!("{cases} schedules, each as if all had gone well");
}

#[test]
fn a_worker_that_dies_between_any_two_words_costs_nothing() {
    let mut n_dead = 0;
    for moment in 0.. {
        let github = FakeGithub::start();
        let steps = Steps::new(&github);
        github.repository("octo/app", &[("README.md", "# app\n")]);
        let pull = github.open("octo/app", &Opening { files: &[("a.js", BAD)], ..Opening::default() });
        let asked = pull.say("ada", "@tollgate help");
        steps.death.comes_after(moment);
        steps.finish();
        let seen = pull.seen();
        assert_eq!(seen.problems(), [""; 0], "moment {moment}");
        let found = (seen.summaries.len(), seen.inline.len(), seen.conclusion(), seen.replies_to(asked).len());
        assert_eq!(found, (1, 1, Some("failure"), 1), "moment {moment}");
        if steps.n_dead() == 0 {
            break;
        }
        n_dead += steps.n_dead();
    }
    println!("died at each of {n_dead} moments, none lost, none twice");
    assert!(n_dead > 20, "{n_dead}");
}
