//! Where changes come from.
//!
//! [`local`] reads a repository on this machine through the one hardened way to
//! call git, [`git`]. Agents work in a [`project`], each in a [`worktree`], and
//! what they did is committed by the [`gate`]. Pull requests are on a [`host`], of
//! which [`github`] is one; what they are made of comes from there by [`remote`].

pub mod gate;
pub mod git;
pub mod github;
pub mod host;
mod limits;
pub mod local;
pub mod own_app;
pub mod project;
pub mod remote;
mod untracked;
pub mod worktree;
