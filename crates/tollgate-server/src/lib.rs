//! The review as a service: HTTP, MCP, pages, events, authentication.
//!
//! A thin layer over `tollgate_engine::board`: a request is checked (credentials, origin, limits), turned into a call to
//! the board, and its result or error into a response. Decisions are made in the engine.

pub mod access;
mod agents;
mod app;
mod connections;
mod day;
mod delivery_limits;
pub mod events;
mod extract;
mod github_app;
pub mod guard;
pub mod json;
mod layer;
mod limits;
pub mod mcp;
mod metrics;
mod pages;
mod pending_apps;
mod policy;
pub mod problem;
mod router;
mod routes;
mod serve;
pub mod supervision;
pub mod view;
pub mod webhook;

pub use limits::Limits;
pub use metrics::{Observer, Served};
pub use routes::openapi;
pub use serve::{Server, ServerConfig, serve};
