//! Links in what we write: only to addresses of our own making, whatever they are made of.

use std::fmt::Write as _;

use crate::finding::{Location, Side};
use crate::report::escape::{literal, shown_path};

/// The longest address and the most characters of a path that are shown.
const MAX_URL: usize = 2000;
const MAX_PATH: usize = 200;

/// A text that leads somewhere; the text alone where the address is none.
pub(super) fn link(text: &str, url: &str) -> String {
    let text = literal(text);
    match address(url) {
        Some(url) => format!("[{text}]({url})"),
        None => text,
    }
}

/// A finding's place in words, with a link to it: `src/a.rs (12-15)`.
pub(super) fn to_place(location: &Location, url: &str) -> String {
    let before = if location.side == Side::Left { " before the change" } else { "" };
    let path = shown_path(location.file.as_str(), MAX_PATH);
    format!("{}{before}", link(&format!("{path} ({})", location.lines), url))
}

/// An address in which nothing can end it.
fn address(url: &str) -> Option<String> {
    let is_web = ["https://", "http://"].iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme));
    if !is_web || url.len() > MAX_URL {
        return None;
    }
    let mut safe = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'+,;=%".contains(&byte) {
            safe.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    Some(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_where_we_end_it() {
        assert_eq!(link("a", "https://h/a(b).rs#L1"), "[a](https://h/a%28b%29.rs#L1)");
        assert_eq!(link("[x] @a", "https://h/a b\n<c>"), "[\\[x\\] @&#8203;a](https://h/a%20b%0A%3Cc%3E)");
        for none in [
            "",
            "https://",
            "javascript:alert(1)",
            "data:text/html,x",
            "//h/x",
            &format!("https://{}", "a".repeat(2000)),
        ] {
            assert_eq!(link("a", none), "a", "{none}");
        }
    }
}
