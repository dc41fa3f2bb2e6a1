//! Markup that was made here, as a type of its own.
//!
//! A template shows it as it is. Only what builds markup itself, out of escaped text, makes one.

use std::fmt::Write as _;

use askama::filters::{Escaper as _, Safe};

use crate::pages::escape::Shown;

/// Markup that is shown as it is.
pub(crate) type Markup = Safe<String>;

/// Prose in which names stand in backticks: those become code. A backtick that has no other stays one.
pub(crate) fn prose(text: &str) -> Markup {
    let mut builder = Builder::default();
    let mut rest = text;
    while let Some((before, name, after)) = named(rest) {
        builder.text(before).tag("<code>").text(name).tag("</code>");
        rest = after;
    }
    builder.text(rest);
    builder.finish()
}

/// The text before the first name in backticks, the name, and the rest. Names end on their line.
fn named(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (name, after) = rest.split_once('`')?;
    (!name.is_empty() && !name.contains('\n')).then_some((before, name, after))
}

/// A part of a page, made by its template.
pub(crate) fn rendered(template: &impl askama::Template) -> Result<Markup, askama::Error> {
    template.render().map(Safe)
}

/// A piece of markup under construction.
#[derive(Debug, Default)]
pub(crate) struct Builder(String);

impl Builder {
    /// Adds markup of our own, which cannot come from anywhere else.
    pub(crate) fn tag(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text, escaped; fit for the value of a quoted attribute, too.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = Shown.write_escaped_str(&mut self.0, text);
        self
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, number: impl Into<f64>) -> &mut Self {
        let _ = write!(self.0, "{}", number.into());
        self
    }

    pub(crate) fn finish(self) -> Markup {
        Safe(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_backticks_are_code() {
        let cases = [
            ("`a<b` is not `c`", "<code>a&lt;b</code> is not <code>c</code>"),
            ("one ` alone", "one ` alone"),
            ("```\nx\n```", "```\nx\n```"),
            ("", ""),
            ("<b>`</code>`", "&lt;b&gt;<code>&lt;/code&gt;</code>"),
        ];
        for (text, expected) in cases {
            assert_eq!(prose(text).0, expected);
        }
    }

    #[test]
    fn text_stays_text() {
        let mut builder = Builder::default();
        builder.tag("<b title=\"").text("\"><script>").tag("\">").text("a<b").tag("</b>").number(2.5);
        assert_eq!(builder.finish().0, "<b title=\"&quot;&gt;&lt;script&gt;\">a&lt;b</b>2.5");
    }
}
