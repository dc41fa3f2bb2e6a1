//! Pull requests from one end to the other: the real program, real git, and a pretend GitHub.

mod contract;
mod examples;
mod fair;
mod faults;
pub(crate) mod flow;
mod killed;
mod limits;
mod mortal;
mod paused;
mod schedule;
pub(crate) mod station;
mod steps;
mod storm;
mod threads;
mod time;
