//! The program, driven as a user drives it.

mod formats;
mod isolation;
mod review;
mod scratch;
mod setup;
mod streams;
mod tidy;
