//! The review as a service: HTTP, events, authentication.
//!
//! Everything here is a thin layer over `tollgate_engine::board`: a request is checked (who asks, from where, how much),
//! turned into a call, and its result or failure into an answer. Nothing is decided here.

pub mod access;
mod app;
pub mod board;
mod day;
pub mod desk;
pub mod events;
mod extract;
pub mod guard;
pub mod json;
mod layer;
pub mod mcp;
mod metrics;
mod pages;
pub mod problem;
mod routes;
mod serve;
mod view;

pub use app::{Limits, Observer, Served};
pub use routes::openapi;
pub use serve::{Server, ServerConfig, serve};
