//! Escapes untrusted text for HTML: the one HTML escaper of the workspace.
//!
//! Markup characters become character references. Characters that show nothing, move the cursor or turn the reading
//! direction become visible escapes, see [`visible`].

use std::fmt::{self, Write};

use crate::visible::visible;

/// Escapes text for an element or a quoted attribute.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    // Writing to a string cannot fail.
    let _ = write_escaped(&mut html, text);
    html
}

/// Writes escaped text for an element or a quoted attribute.
pub fn write_escaped(dest: &mut impl Write, text: &str) -> fmt::Result {
    write_markup_escaped(dest, &visible(text))
}

/// Escapes markup characters alone; invisible characters stay as they are.
pub(crate) fn escape_markup(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    // Writing to a string cannot fail.
    let _ = write_markup_escaped(&mut html, text);
    html
}

fn write_markup_escaped(dest: &mut impl Write, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        let (plain, special) = rest.split_at(at);
        dest.write_str(plain)?;
        dest.write_str(match special.as_bytes()[0] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        })?;
        rest = &special[1..];
    }
    dest.write_str(rest)
}

/// Replaces the character references that [`escape`] writes by their characters.
pub(crate) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_is_escaped_and_invisible_characters_are_shown() {
        assert_eq!(escape("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
        assert_eq!(escape("a\u{202e}b\r\n"), "a\\u{202e}b\\r\n");
    }

    proptest! {
        #[test]
        fn unescaping_inverts_escaping(text in any::<String>()) {
            prop_assert_eq!(unescape(&escape_markup(&text)), text);
        }
    }
}
