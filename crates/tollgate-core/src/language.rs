//! Languages, told by a file's name.
