//! Where changes come from.
//!
//! [`local`] reads a repository on this machine through the one hardened way to
//! call git, [`git`]. Pull requests will have a neighbour of their own.

pub mod git;
mod limits;
pub mod local;
mod untracked;
