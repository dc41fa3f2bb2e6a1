//! The program, driven as a user drives it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(unix)]
mod action;
#[cfg(unix)]
mod agents;
mod board;
mod chaos;
mod check_comment;
#[cfg(unix)]
mod cluster;
mod colour;
mod crash;
mod database;
mod declared;
mod delta;
mod desk;
#[cfg(target_os = "linux")]
mod endure;
mod faults;
#[cfg(unix)]
mod feature;
mod formats;
#[cfg(unix)]
mod hooks;
#[cfg(target_os = "linux")]
mod hub;
#[cfg(unix)]
mod implementer;
mod intake;
mod intent;
mod isolation;
mod jobs;
#[cfg(unix)]
mod mcp;
mod memory;
#[cfg(target_os = "linux")]
mod migrate;
mod models;
#[cfg(unix)]
mod operations;
mod outline;
#[cfg(target_os = "linux")]
mod pages;
mod parse_answer;
#[path = "../../../tollgate-engine/tests/it/place.rs"]
mod place;
mod preview;
#[cfg(unix)]
mod pull_cli;
#[cfg(target_os = "linux")]
mod pulls;
mod record;
#[cfg(target_os = "linux")]
mod registrar;
mod review;
mod scratch;
#[cfg(unix)]
mod serve;
mod setup;
#[cfg(unix)]
mod stage;
mod streams;
mod stub;
mod tidy;
mod trial;
mod wait;
#[cfg(target_os = "linux")]
mod webhook;
#[cfg(unix)]
mod worker;
