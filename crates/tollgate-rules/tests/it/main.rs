//! The embedded rules, as a user meets them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod examples;
mod injection;
mod prefilter;
mod text;
