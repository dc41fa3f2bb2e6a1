//! Pull requests from one end to the other: the real program, real git, and a pretend GitHub.

mod contract;
mod examples;
mod fair;
mod faults;
mod flow;
mod killed;
mod limits;
mod mortal;
mod paused;
mod schedule;
mod station;
mod steps;
mod storm;
mod threads;
mod time;
