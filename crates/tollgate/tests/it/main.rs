//! The program, driven as a user drives it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(unix)]
mod action;
#[cfg(unix)]
mod agents;
#[cfg(unix)]
mod backup;
mod board;
mod chaos;
mod check_comment;
#[cfg(unix)]
mod cluster;
mod crash;
mod database;
mod declared_intent;
mod delta;
mod desk;
mod dismissals;
mod enclosing_lines;
#[cfg(target_os = "linux")]
mod fake_app_setup;
#[cfg(target_os = "linux")]
mod fake_github;
mod fake_model;
mod faults;
#[cfg(unix)]
mod feature;
mod feature_import;
mod formats;
mod highlighting;
#[cfg(unix)]
mod hooks;
mod hostile_answers;
mod hostile_patches;
#[cfg(unix)]
mod implementer;
mod intent;
mod isolation;
mod jobs;
#[cfg(unix)]
mod mcp;
#[cfg(target_os = "linux")]
mod migrate;
mod models;
#[cfg(unix)]
mod operations;
#[cfg(target_os = "linux")]
mod pages;
mod parse_answer;
mod pipeline_rules;
#[path = "../../../tollgate-engine/tests/it/place.rs"]
mod place;
mod prior_findings;
#[cfg(unix)]
mod private_keys;
mod prompt_preview;
#[cfg(unix)]
mod pull_cli;
#[cfg(target_os = "linux")]
mod pulls;
mod review;
mod reviewer_trial;
mod rewordings;
#[cfg(target_os = "linux")]
mod robustness;
#[cfg(target_os = "linux")]
mod sandbox;
mod scratch;
mod secret_output;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod server_process;
mod setup;
mod stored_reviews;
mod streams;
mod tidy;
mod unread;
mod wait;
#[cfg(target_os = "linux")]
mod webhook;
#[cfg(unix)]
mod worker;
