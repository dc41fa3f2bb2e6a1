//! Who produces findings.
//!
//! [`embedded`] runs the built-in and the user's rules, [`imported`] takes what other tools found. Models are asked over
//! a network by [`provider`], agents are programs that [`command`] runs; both are reached by way of [`call`], made ready
//! by [`team`] and asked by [`ask`]. A reviewer returns what it says; it never decides.

pub mod ask;
pub mod call;
pub mod command;
pub mod embedded;
pub mod imported;
pub mod look;
pub mod prompts;
pub mod provider;
pub mod tape;
pub mod team;
pub mod tokens;
pub mod trial;
