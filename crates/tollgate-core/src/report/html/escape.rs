//! Untrusted text in HTML.

use crate::visible::is_hidden;

/// Text for an element or an attribute; invisible characters become escapes that can be seen.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    push(&mut escaped, text, false);
    escaped
}

/// Text for code: escapes of invisible characters are marked, so that they cannot be taken for what is written.
pub(super) fn code(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    push(&mut escaped, text, true);
    escaped
}

fn push(escaped: &mut String, text: &str, marked: bool) {
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            hidden if is_hidden(hidden) => {
                let shown = if hidden == '\r' { "\\r".to_owned() } else { format!("\\u{{{:x}}}", u32::from(hidden)) };
                if marked {
                    escaped.push_str(&format!("<span class=\"hidden-char\">{shown}</span>"));
                } else {
                    escaped.push_str(&shown);
                }
            }
            plain => escaped.push(plain),
        }
    }
}

/// Prose: paragraphs, with code between backticks and in fences.
pub(super) fn prose(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut html = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut lines = text.trim_matches('\n').split('\n');
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("```") {
            close(&mut html, &mut paragraph);
            let inside: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            html.push_str(&format!("<pre><code>{}</code></pre>\n", code(&inside.join("\n"))));
        } else if line.trim().is_empty() {
            close(&mut html, &mut paragraph);
        } else {
            paragraph.push(line);
        }
    }
    close(&mut html, &mut paragraph);
    html
}

fn close(html: &mut String, paragraph: &mut Vec<&str>) {
    if !paragraph.is_empty() {
        html.push_str(&format!("<p>{}</p>\n", inline(&paragraph.join("\n"))));
        paragraph.clear();
    }
}

/// A line of prose, with code between single backticks.
pub(super) fn inline(prose: &str) -> String {
    let parts: Vec<&str> = prose.split('`').collect();
    let mut html = String::new();
    for (index, part) in parts.iter().enumerate() {
        // An even number of parts means that the last backtick has no partner.
        let unpaired = parts.len().is_multiple_of(2) && index + 1 == parts.len();
        match index % 2 {
            0 => html.push_str(&text(part)),
            _ if unpaired => html.push_str(&format!("`{}", text(part))),
            _ => html.push_str(&format!("<code>{}</code>", code(part))),
        }
    }
    html
}

/// An address that may stand in a link; anything but http and https is shown as text.
pub(super) fn address(url: &str) -> Option<String> {
    let web = url.starts_with("https://") || url.starts_with("http://");
    (web && !url.contains(|character: char| character.is_whitespace() || character.is_control())).then(|| text(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_prose_is_marked_and_everything_is_escaped() {
        assert_eq!(
            prose("Use `a<b>`, not <i>.\n\nSo."),
            "<p>Use <code>a&lt;b&gt;</code>, not &lt;i&gt;.</p>\n<p>So.</p>\n"
        );
        assert_eq!(inline("a ` b"), "a ` b");
        assert_eq!(prose("x\n```rust\n<b>\n```\ny"), "<p>x</p>\n<pre><code>&lt;b&gt;</code></pre>\n<p>y</p>\n");
    }

    #[test]
    fn only_web_addresses_become_links() {
        assert_eq!(address("https://a.b/?x=1&y=\"").as_deref(), Some("https://a.b/?x=1&amp;y=&quot;"));
        assert_eq!(address("javascript:alert(1)"), None);
        assert_eq!(address("https://a b"), None);
    }
}
