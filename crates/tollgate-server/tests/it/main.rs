//! The server, driven over real connections on a board in a temporary folder.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and figures are shown")]

mod attacks;
mod auth;
mod board;
mod board_page;
mod client;
mod contract;
mod diff;
mod feature;
mod github;
mod jobs;
mod listen;
mod load;
mod log;
mod one_state;
mod pages;
mod record;
mod reviews;
mod routes;
mod settings_pages;
mod setup;
mod stored;
mod webhook;
mod world;
