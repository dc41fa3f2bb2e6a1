//! Colours, hyperlinks and signs of the terminal report.

use std::borrow::Cow;

use crate::finding::Severity;
use crate::gate::Gate;
use crate::path::percent_encode;
use crate::report::head_state::HeadState;
use crate::verdict::Colour;
use crate::visible::visible;

use super::wrap::cut;

/// The capabilities of the terminal.
#[derive(Debug, Clone, Default)]
pub struct Paint {
    /// True to write colours.
    pub colour: bool,
    /// True to write characters beyond ASCII.
    pub unicode: bool,
    /// The root of the repository as a `file://` URL without a final slash, when links work.
    pub root: Option<String>,
}

impl Paint {
    fn with<'a>(&self, codes: &str, text: &'a str) -> Cow<'a, str> {
        if self.colour && !text.is_empty() {
            Cow::Owned(format!("\x1b[{codes}m{text}\x1b[0m"))
        } else {
            Cow::Borrowed(text)
        }
    }

    pub(super) fn dim<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.with("2", text)
    }

    pub(super) fn bold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.with("1", text)
    }

    pub(super) fn added<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.with("32", text)
    }

    pub(super) fn removed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.with("31", text)
    }

    /// Colours a text by severity.
    #[must_use]
    pub fn severity<'a>(&self, severity: Severity, text: &'a str) -> Cow<'a, str> {
        let codes = match severity {
            Severity::Critical => "1;97;41",
            Severity::High => "1;31",
            Severity::Medium => "1;33",
            Severity::Low => "1;36",
            Severity::Nit => "36",
            Severity::Praise => "1;32",
        };
        self.with(codes, text)
    }

    /// The heading of a file.
    pub(super) fn file(&self, path: &str, width: usize) -> String {
        let shown = cut(&visible(path), width);
        let shown = self.with("1;4", &shown).into_owned();
        self.link(path, 1, &shown)
    }

    /// A hyperlink to a line of a file, if the terminal has links.
    pub(super) fn link(&self, path: &str, line_number: u32, text: &str) -> String {
        match &self.root {
            Some(root) => {
                let path = percent_encode(path);
                format!("\x1b]8;;{root}/{path}#L{line_number}\x1b\\{text}\x1b]8;;\x1b\\")
            }
            None => text.to_owned(),
        }
    }

    pub(super) fn bar(&self) -> &'static str {
        if self.unicode { "│" } else { "|" }
    }

    /// The sign of the verdict and the gate.
    pub(super) fn mark(&self, state: &HeadState) -> &'static str {
        let (sign, letter) = match (state.colour(), state.gate()) {
            (Colour::Red, _) | (_, Gate::Closed) => ("✖", "x"),
            (_, Gate::Partial | Gate::Skipped) => ("◐", "~"),
            (Colour::Yellow | Colour::Blue, Gate::Open) => ("●", "o"),
            (Colour::Green, Gate::Open) => ("✔", "ok"),
        };
        if self.unicode { sign } else { letter }
    }
}
