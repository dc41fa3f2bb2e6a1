//! Reviews as text, one module per format.
