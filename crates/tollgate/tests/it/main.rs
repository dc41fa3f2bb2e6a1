//! The program, driven as a user drives it.

mod formats;
mod review;
mod scratch;
mod setup;
mod streams;
mod tidy;
