//! Reviewers: the sources of findings.
//!
//! [`embedded`] runs the built-in and the user's rules, [`imported`] reads the findings of other tools. [`provider`] calls
//! models over the network, [`command`] runs agents; both implement [`call::Backend`], are built by [`prepared`] and called
//! by [`ask`]. A reviewer returns findings; it never decides the verdict.

pub mod ask;
pub mod availability;
pub mod call;
pub mod command;
pub mod embedded;
pub mod imported;
pub mod prepared;
pub mod prompts;
pub mod provider;
pub mod recording;
pub mod smoke_test;
pub mod tokens;
