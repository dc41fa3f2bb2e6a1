//! Pull requests from one end to the other: the real program, real git, and a pretend GitHub.

#![expect(clippy::print_stdout, reason = "what was done is printed")]

mod contract;
mod examples;
mod faults;
mod flow;
mod killed;
mod mortal;
mod schedule;
mod station;
mod steps;
