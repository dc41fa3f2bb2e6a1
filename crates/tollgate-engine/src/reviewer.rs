//! Who produces findings.
//!
//! [`embedded`] runs the built-in and the user's rules, [`imported`] takes what
//! other tools found, [`command`] asks an agent. A reviewer returns what it says; it never decides.

pub mod call;
pub mod command;
pub mod embedded;
pub mod held;
pub mod imported;
