//! The review as a service: HTTP, events, authentication.
//!
//! Everything here is a thin layer over `tollgate_engine::board`: a request is checked (who asks, from where, how much),
//! turned into a call, and its result or failure into an answer. Nothing is decided here.

pub mod access;
pub mod guard;
pub mod json;
pub mod problem;
