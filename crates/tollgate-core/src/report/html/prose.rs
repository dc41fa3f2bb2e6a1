//! Renders prose and code of reviewers as HTML.

use crate::html::escape;
use crate::visible::is_hidden;

/// Escapes code: escapes of invisible characters are marked up, so that a reader can tell them from written text.
pub(super) fn code(code: &str) -> String {
    let mut html = String::with_capacity(code.len() + 16);
    let mut rest = code;
    while let Some(at) = rest.find(is_hidden) {
        let (plain, tail) = rest.split_at(at);
        let end = tail.find(|character| !is_hidden(character)).unwrap_or(tail.len());
        html.push_str(&escape(plain));
        for hidden in tail[..end].chars() {
            html.push_str(&format!("<span class=\"hidden-char\">{}</span>", escape(hidden.encode_utf8(&mut [0; 4]))));
        }
        rest = &tail[end..];
    }
    html + &escape(rest)
}

/// Renders paragraphs, with code between backticks and in fences.
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

/// Renders a line, with code between single backticks.
pub(super) fn inline(prose: &str) -> String {
    let parts: Vec<&str> = prose.split('`').collect();
    let mut html = String::new();
    for (index, part) in parts.iter().enumerate() {
        // An even number of parts means that the last backtick has no partner.
        let unpaired = parts.len().is_multiple_of(2) && index + 1 == parts.len();
        match index % 2 {
            0 => html.push_str(&escape(part)),
            _ if unpaired => html.push_str(&format!("`{}", escape(part))),
            _ => html.push_str(&format!("<code>{}</code>", code(part))),
        }
    }
    html
}

/// An escaped URL for a link; `None` unless it is http or https.
pub(super) fn address(url: &str) -> Option<String> {
    let web = url.starts_with("https://") || url.starts_with("http://");
    (web && !url.contains(|character: char| character.is_whitespace() || character.is_control())).then(|| escape(url))
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
