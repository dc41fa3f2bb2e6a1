//! Markup that was made here, as a type of its own.
//!
//! A template shows it as it is. Only what builds markup itself, out of escaped text, makes one.

use std::fmt::Write as _;

use askama::filters::{Escaper as _, Safe};

use crate::pages::escape::Shown;

/// Markup that is shown as it is.
pub(crate) type Markup = Safe<String>;

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

    /// Adds markup that was made here.
    pub(crate) fn markup(&mut self, markup: &Markup) -> &mut Self {
        self.0.push_str(&markup.0);
        self
    }

    /// The markup.
    pub(crate) fn finish(self) -> Markup {
        Safe(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut builder = Builder::default();
        builder.tag("<b title=\"").text("\"><script>").tag("\">").text("a<b").tag("</b>").number(2.5);
        assert_eq!(builder.finish().0, "<b title=\"&quot;&gt;&lt;script&gt;\">a&lt;b</b>2.5");
    }
}
