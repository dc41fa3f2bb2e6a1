//! Compares two reviews of one change: which findings are new, resolved or still open.
//!
//! Four steps, each a pure function:
//!
//! 1. [`snapshot`] stores the lines of a change as hashes, [`line_map`] maps old lines to current ones;
//! 2. [`identity`] matches the findings of the prior review with the current ones;
//! 3. [`classify`] puts every finding of either review in one class;
//! 4. [`json`] and [`text`] write the result.
//!
//! This module neither reads files nor runs git; the caller passes in the reviewed scope.

mod align;
pub mod classify;
pub mod convergence;
pub mod identity;
pub mod json;
pub mod line_map;
mod pairing;
pub mod snapshot;
pub mod text;
pub(crate) mod title_words;
pub mod unseen;
