//! The embedded rules, tested through the public interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod examples;
mod injection;
mod prefilter;
mod severity;
mod text;
