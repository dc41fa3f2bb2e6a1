//! The escaper of all templates, set for them in `askama.toml`; it escapes as [`html`] does.

use std::fmt::{self, Write};

use askama::filters::Escaper;
use tollgate_core::html;

/// The escaper of all templates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown;

impl Escaper for Shown {
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        html::write_escaped(&mut dest, text)
    }

    fn write_escaped_char<W: Write>(&self, mut dest: W, character: char) -> fmt::Result {
        if character.is_ascii_alphanumeric() {
            return dest.write_char(character);
        }
        self.write_escaped_str(dest, character.encode_utf8(&mut [0; 4]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        let mut html = String::new();
        Shown.write_escaped_str(&mut html, text).unwrap();
        html
    }

    #[test]
    fn nothing_leaves_the_text_and_nothing_hides_in_it() {
        let cases = [
            ("plain text", "plain text"),
            ("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"),
            ("\" onload=\"x", "&quot; onload=&quot;x"),
            ("a & b", "a &amp; b"),
            ("\u{1b}[2J\u{202e}x\r\n", "\\u{1b}[2J\\u{202e}x\\r\n"),
            ("שלום", "שלום"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
        }
    }

    proptest! {
        #[test]
        fn no_text_contains_markup(text in any::<String>()) {
            let html = shown(&text);
            prop_assert!(!html.contains(['<', '>', '"', '\'']));
            let (mut one_by_one, mut whole) = (String::new(), String::new());
            for character in text.chars() {
                Shown.write_escaped_char(&mut one_by_one, character).unwrap();
            }
            Shown.write_escaped_str(&mut whole, &text).unwrap();
            prop_assert_eq!(one_by_one, whole);
        }
    }
}
