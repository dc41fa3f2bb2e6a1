//! The forge layer: reads changes from git repositories and code hosts.
//!
//! [`local`] reads a repository on this machine through the hardened git wrapper, [`git`]. Agents work in a
//! [`project`], each feature in its own [`worktree`], and their files are committed by the [`gate`].
//! Pull requests live on a code [`host`], of which [`github`] is one; their commits come as partial clones by
//! [`remote`].

pub mod app_registration;
pub mod gate;
pub mod git;
pub mod github;
pub mod host;
mod limits;
pub mod local;
pub mod project;
pub mod remote;
mod untracked;
pub mod worktree;
