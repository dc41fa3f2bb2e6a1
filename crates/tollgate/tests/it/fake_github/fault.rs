//! Faults that tests inject into the fake GitHub.

use std::time::Duration;

/// A way in which a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The token is not good any more. It really is not: another one must be fetched.
    Unauthorized,
    /// A secondary limit, with `Retry-After` in seconds.
    Secondary(u32),
    NotFound,
    /// GitHub's error for an app without the permission.
    Forbidden,
    Conflict,
    /// The request is rejected as invalid.
    Invalid,
    /// Not done, and said so with a status of 500 or more.
    Broken(u16),
    /// Done, but answered as if the server were broken.
    DoneButBroken,
    /// Done, but the connection ends without an answer.
    DoneButClosed,
    /// Not done; the connection ends without an answer after a while.
    Silent(Duration),
}

/// The faults to come.
#[derive(Default)]
pub(crate) struct Faults {
    planned: Vec<Plan>,
    random: Option<Chance>,
    n_met: usize,
}

struct Plan {
    /// The beginning of the names of the requests that are meant: `reviews.`, `reviews.create`, or nothing for all.
    which: String,
    /// How many of them go through first.
    after: u32,
    n: u32,
    fault: Fault,
}

struct Chance {
    seed: u64,
    per_mille: u64,
    of: Vec<Fault>,
}

impl Faults {
    pub(crate) fn plan(&mut self, which: &str, after: u32, n: u32, fault: Fault) {
        self.planned.push(Plan { which: which.to_owned(), after, n, fault });
    }

    pub(crate) fn at_random(&mut self, seed: u64, per_mille: u64, of: &[Fault]) {
        self.random = Some(Chance { seed, per_mille, of: of.to_vec() });
    }

    /// No more of them.
    pub(crate) fn end(&mut self) {
        self.planned.clear();
        self.random = None;
    }

    pub(crate) fn n_met(&self) -> usize {
        self.n_met
    }

    /// The fault of a request.
    pub(crate) fn next(&mut self, name: &str) -> Option<Fault> {
        let fault = self.next_planned(name).or_else(|| self.random.as_mut().and_then(Chance::next));
        self.n_met += usize::from(fault.is_some());
        fault
    }

    fn next_planned(&mut self, name: &str) -> Option<Fault> {
        let plan = self.planned.iter_mut().find(|plan| plan.n > 0 && name.starts_with(&plan.which))?;
        if plan.after > 0 {
            plan.after -= 1;
            return None;
        }
        plan.n -= 1;
        Some(plan.fault)
    }
}

impl Chance {
    fn next(&mut self) -> Option<Fault> {
        let mut draw = |limit: u64| {
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.seed >> 33) % limit
        };
        let is_met = draw(1_000) < self.per_mille;
        let which = usize::try_from(draw(self.of.len() as u64)).unwrap();
        is_met.then(|| self.of[which])
    }
}

/// The staleness of lists after a write: a duration and a number of list requests.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lag {
    pub(crate) ms: u64,
    pub(crate) n_lists: u32,
}
