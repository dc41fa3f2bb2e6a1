//! What changed between two reviews of one change: new, resolved, still open.
//!
//! Four steps, each a pure function:
//!
//! 1. [`snapshot`] keeps what a change looked like, [`lines`] tells where its lines are now;
//! 2. [`identity`] finds the findings of the last review again among those of this one;
//! 3. [`settle`] puts every finding of either review in one class;
//! 4. [`json`] writes that for scripts, [`text`] for people.
//!
//! Nothing here looks at files or runs git: what was looked at is told by the caller.

mod align;
pub mod classify;
pub mod convergence;
pub mod finding_list;
pub mod identity;
pub mod json;
pub mod line_map;
mod pairing;
pub mod snapshot;
pub mod text;
pub(crate) mod title_words;
pub mod unseen;
