//! The embedded rules, as a user meets them.

mod examples;
mod prefilter;
mod text;
