//! The review as data.
//!
//! All functions are pure: no files, no clock, no environment, no logging. A change comes in as a unified diff
//! ([`diff`]), reviewers attach findings ([`finding`]), coverage is counted by hunk ([`coverage`]), the verdict is
//! computed ([`verdict`]) and the review is rendered in one of many formats ([`report`]).

pub mod analysis;
pub mod answer;
pub mod board;
pub mod boundary;
pub mod change;
pub mod comment;
pub mod coverage;
pub mod delta;
pub mod diff;
pub mod finding;
pub mod finding_key;
pub mod fingerprint;
pub mod gate;
pub mod html;
pub mod intent;
pub mod json;
pub mod language;
mod markdown;
pub mod merge;
mod names;
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
