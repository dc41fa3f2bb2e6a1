//! The built-in reviewer: rules over code, text and changes, offline.
//!
//! - *Code rules* match syntax trees with ast-grep ([`code`]). They parse
//!   untrusted input with parsers written in C, so they run in child processes
//!   ([`worker`]) and only where an added line contains a rule's anchor
//!   ([`select`]).
//! - *Text rules* ([`text`]) and *change rules* ([`change`]) are linear scans
//!   over the diff and run in process.
//!
//! A rule never decides the verdict; it reports lines ([`hit::Hit`]).

pub mod catalog;
pub mod change;
pub mod code;
pub mod example;
mod fix;
pub mod highlight;
pub mod hit;
pub mod lines;
pub mod outline;
pub mod prefilter;
pub mod script;
pub mod select;
pub mod text;
pub mod user;
pub mod worker;
