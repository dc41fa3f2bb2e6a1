//! Pull requests from one end to the other: the real program, real git, and a fake GitHub.

mod clock;
mod contract;
mod crash_points;
mod dying_worker;
mod examples;
mod fairness;
mod faults;
pub(crate) mod flow;
mod four_pushes;
mod limits;
mod many_pushes;
mod paused_workers;
mod schedule;
mod steps;
pub(crate) mod test_server;
mod threads;
mod unverified;
