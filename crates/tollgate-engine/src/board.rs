//! Features of an agent pipeline: the project folder they are kept in.

pub mod folder;
