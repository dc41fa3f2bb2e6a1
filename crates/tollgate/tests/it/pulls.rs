//! Pull requests from one end to the other: the real program, real git, and a pretend GitHub.

mod contract;
