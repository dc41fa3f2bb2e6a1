//! Markdown links with escaped URLs.

use std::fmt::Write as _;

use crate::finding::{Location, Side};
use crate::markdown::escape::{literal, shown_path};

/// The longest URL, and the most characters of a path.
const MAX_URL: usize = 2000;
const MAX_PATH: usize = 200;

/// A link; the text alone for an invalid URL.
pub(super) fn link(text: &str, url: &str) -> String {
    let text = literal(text);
    match address(url) {
        Some(url) => format!("[{text}]({url})"),
        None => text,
    }
}

/// A link to the location of a finding: `src/a.rs (12-15)`.
pub(super) fn to_location(location: &Location, url: &str) -> String {
    let before = if location.side == Side::Left { " before the change" } else { "" };
    let path = shown_path(location.file.as_str(), MAX_PATH);
    format!("{}{before}", link(&format!("{path} ({})", location.lines), url))
}

/// A percent-encoded URL that cannot end the link.
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
    fn urls_cannot_end_a_link() {
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
