//! The review as data.
//!
//! Everything here is a pure function over plain values: no files, no clock,
//! no environment, no logging. A change comes in as bytes of a unified diff
//! ([`diff`]), findings are attached to it ([`finding`]), what was looked at is
//! counted ([`coverage`]), a verdict follows ([`verdict`]) and the whole is
//! written in one of many formats ([`report`]).

pub mod analysis;
pub mod answer;
pub mod board;
pub mod change;
pub mod comment;
pub mod coverage;
pub mod delta;
pub mod diff;
pub mod finding;
pub mod fingerprint;
pub mod gate;
pub mod intent;
pub mod json;
pub mod language;
mod markdown;
pub mod merge;
pub mod path;
pub mod plan;
pub mod policy;
pub mod profile;
pub mod prompt;
pub mod pull;
pub mod report;
pub mod review;
pub mod sha;
pub mod suppress;
pub mod tokens;
pub mod verdict;
pub mod verify;
pub mod visible;
pub mod word_diff;
