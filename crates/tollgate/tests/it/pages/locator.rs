//! How a test names a part of a page: as people and screen readers know it, or by a selector where nothing else fits.

use std::fmt;

/// A part of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark<'a> {
    /// By its role and its accessible name, which may be longer when nothing has just this name.
    Role(&'a str, &'a str),
    /// By a selector.
    Css(&'a str),
}

impl fmt::Display for Mark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(role, name) => write!(f, "{role} `{name}`"),
            Self::Css(selector) => write!(f, "`{selector}`"),
        }
    }
}

pub(crate) fn role<'a>(role: &'a str, name: &'a str) -> Mark<'a> {
    Mark::Role(role, name)
}

pub(crate) fn button(name: &str) -> Mark<'_> {
    Mark::Role("button", name)
}

pub(crate) fn link(name: &str) -> Mark<'_> {
    Mark::Role("link", name)
}

pub(crate) fn textbox(name: &str) -> Mark<'_> {
    Mark::Role("textbox", name)
}

pub(crate) fn css(selector: &str) -> Mark<'_> {
    Mark::Css(selector)
}
