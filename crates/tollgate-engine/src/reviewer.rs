//! Who produces findings.
//!
//! [`embedded`] runs the built-in and the user's rules, [`imported`] takes what
//! other tools found. A reviewer returns what it says; it never decides.
//! [`call`] is how a model or an agent is asked, [`tokens`] counts what it is
//! told.

pub mod call;
pub mod embedded;
pub mod imported;
pub mod tokens;
