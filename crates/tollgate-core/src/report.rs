//! Reviews as text, one module per format.

pub mod terminal;
