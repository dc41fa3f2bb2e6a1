//! A minimal HTML tokenizer.
//!
//! Recognizes only the tags, comments and text that summary comments need. It never fails; malformed tags are text.

use std::ops::Range;

/// A piece of HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// The start of an element, by its name in lower case.
    Open(String),
    /// The end of an element, by its name in lower case.
    Close(String),
    /// A comment, declaration or processing instruction, none of which is rendered.
    Hidden,
    /// Rendered text; never blank.
    Text(&'a str),
}

/// Splits HTML into tokens with their byte ranges.
pub(super) fn tokens(html: &str) -> Vec<(Token<'_>, Range<usize>)> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = html[at..].find('<') {
        let open = at + found;
        let Some((token, end)) = tag(html, open) else {
            at = open + 1;
            continue;
        };
        push_text(&mut tokens, html, start..open);
        tokens.push((token, open..end));
        (start, at) = (end, end);
    }
    push_text(&mut tokens, html, start..html.len());
    tokens
}

fn push_text<'a>(tokens: &mut Vec<(Token<'a>, Range<usize>)>, html: &'a str, range: Range<usize>) {
    let text = &html[range.clone()];
    let shown = text.trim();
    if !shown.is_empty() {
        let start = range.start + (text.len() - text.trim_start().len());
        tokens.push((Token::Text(shown), start..start + shown.len()));
    }
}

/// Parses the tag at a `<`; returns it with its end.
fn tag(html: &str, open: usize) -> Option<(Token<'static>, usize)> {
    let rest = &html[open + 1..];
    if let Some(body) = rest.strip_prefix("!--") {
        // An unclosed comment hides the rest.
        let len = body.find("-->").map_or(body.len(), |end| end + 3);
        return Some((Token::Hidden, html.len() - body.len() + len));
    }
    if rest.starts_with(['!', '?']) {
        return Some((Token::Hidden, open + 1 + rest.find('>').map_or(rest.len(), |end| end + 1)));
    }
    let closes = rest.starts_with('/');
    let name_start = open + 1 + usize::from(closes);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let name_len = html.as_bytes()[name_start..].iter().take_while(|byte| is_name(byte)).count();
    let name = html[name_start..name_start + name_len].to_ascii_lowercase();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let end = tag_end(html.as_bytes(), name_start + name_len)?;
    Some((if closes { Token::Close(name) } else { Token::Open(name) }, end))
}

/// The end of a tag; `>` in quoted attribute values is skipped.
fn tag_end(html: &[u8], mut at: usize) -> Option<usize> {
    let mut quote = None;
    while let Some(&byte) = html.get(at) {
        at += 1;
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'<') => return None,
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let shown: Vec<String> = tokens(html)
            .into_iter()
            .map(|(token, range)| match token {
                Token::Open(name) => format!("+{name}"),
                Token::Close(name) => format!("-{name}"),
                Token::Hidden => "hidden".to_owned(),
                Token::Text(text) => {
                    assert_eq!(&html[range], text);
                    format!("{text:?}")
                }
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn tags_comments_and_text_are_distinguished() {
        check("<Details open>\n<summary>A b</summary>\n", "+details +summary \"A b\" -summary");
        check("<!-- </details> --><br/>x<!DOCTYPE a>", "hidden +br \"x\" hidden");
    }

    #[test]
    fn attributes_may_hold_anything() {
        check("<a title=\"</details>\" href='>'>x", "+a \"x\"");
    }

    #[test]
    fn malformed_tags_are_text() {
        check("a < b <3 </ <", "\"a < b <3 </ <\"");
        check("<a <b>", "\"<a\" +b");
        check("<!-- never ends </details>", "hidden");
    }
}
