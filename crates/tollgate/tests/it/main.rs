//! The program, driven as a user drives it.

mod scratch;
mod tidy;
