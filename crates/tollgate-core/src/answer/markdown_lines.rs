//! Classifies the lines of a Markdown answer: text, code, quote, or hidden.

/// A line of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The line, trimmed.
    pub(super) text: &'a str,
    /// The whole line.
    pub(super) raw: &'a str,
    /// The indentation in columns.
    pub(super) indent: usize,
    pub(super) kind: Kind,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Opens a code block.
    Open,
    /// Closes a code block.
    Close,
    Code,
    Quote,
    /// Inside an HTML comment or a reasoning block.
    Hidden,
}

/// The block that is open at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within<'a> {
    Text,
    Fence(char, usize),
    Pre,
    Hidden(&'a str),
}

/// Splits a text into lines; also tells whether a code block is still open at its end.
pub(super) fn scan(text: &str) -> (Vec<Line<'_>>, bool) {
    let (mut within, mut in_list, mut after_blank, mut lines) = (Within::Text, false, true, Vec::new());
    for raw in text.split('\n') {
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let text = raw.trim();
        let indent = indent(raw);
        let kind = match within {
            Within::Fence(mark, n) => {
                let closes = text.len() >= n && text.chars().all(|part| part == mark);
                within = if closes { Within::Text } else { within };
                if closes { Kind::Close } else { Kind::Code }
            }
            Within::Pre => {
                within = if text.contains("</pre>") { Within::Text } else { within };
                Kind::Code
            }
            Within::Hidden(end) => {
                within = if text.contains(end) { Within::Text } else { within };
                Kind::Hidden
            }
            Within::Text => {
                let opened;
                (opened, within) = open(text);
                let is_bullet = marker(text).is_some();
                in_list = is_bullet || (in_list && (text.is_empty() || indent > 0 || !after_blank));
                match opened {
                    Some(kind) => kind,
                    None if text.starts_with('>') => Kind::Quote,
                    None if indent >= 4 && !in_list && after_blank => Kind::Code,
                    None => Kind::Text,
                }
            }
        };
        // An indented code block continues until a line with less indentation.
        after_blank = text.is_empty() || (kind == Kind::Code && indent >= 4);
        lines.push(Line { text, raw, indent, kind });
    }
    (lines, matches!(within, Within::Fence(..)))
}

/// The kind of a line that opens a block, and the block that is open after it.
fn open(text: &str) -> (Option<Kind>, Within<'_>) {
    if let Some((mark, n)) = fence(text) {
        return (Some(Kind::Open), Within::Fence(mark, n));
    }
    for (begin, end) in [("<!--", "-->"), ("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(begin) {
            let within = if rest.contains(end) { Within::Text } else { Within::Hidden(end) };
            return (Some(Kind::Hidden), within);
        }
    }
    if text.starts_with("<pre") {
        return (Some(Kind::Code), if text.contains("</pre>") { Within::Text } else { Within::Pre });
    }
    (None, Within::Text)
}

/// The character and length of a code fence, also after a list marker.
fn fence(text: &str) -> Option<(char, usize)> {
    let text = marker(text).unwrap_or(text);
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let n = text.chars().take_while(|part| *part == mark).count();
    (n >= 3 && !(mark == '`' && text[n..].contains('`'))).then_some((mark, n))
}

fn indent(raw: &str) -> usize {
    raw.chars()
        .map_while(|part| match part {
            ' ' => Some(1),
            '\t' => Some(4),
            _ => None,
        })
        .sum()
}

/// The text after a list marker: `- `, `* `, `1. `, `2) `.
pub(super) fn marker(text: &str) -> Option<&str> {
    let rest = match text.chars().next()? {
        mark @ ('-' | '*' | '+' | '•') => &text[mark.len_utf8()..],
        '0'..='9' => {
            let n = text.bytes().take_while(u8::is_ascii_digit).count();
            text[n..].strip_prefix(['.', ')']).filter(|_| n <= 4)?
        }
        _ => return None,
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// The level and the text of a heading.
pub(super) fn heading(text: &str) -> Option<(usize, &str)> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let (lines, _) = scan(text);
        let kinds = lines.iter().map(|line| match line.kind {
            Kind::Text => 't',
            Kind::Open => '(',
            Kind::Close => ')',
            Kind::Code => 'c',
            Kind::Quote => 'q',
            Kind::Hidden => 'h',
        });
        assert_eq!(kinds.collect::<String>(), expected, "{text}");
    }

    #[test]
    fn code_quotes_and_comments_are_recognized() {
        check("a\n```\nb\n```\nc", "t(c)t");
        check("````\n```\n````\na", "(c)t");
        check("> a\nb", "qt");
        check("a\n\n    b\n    c\nd", "ttcct");
        check("- a\n\n    b", "ttt");
        check("<!-- a\nb -->\nc\n<!-- d -->", "hhth");
        check("<pre>\na</pre>\nb", "cct");
    }

    #[test]
    fn a_block_that_is_not_closed_is_open_at_the_end() {
        assert!(scan("```\na").1);
        assert!(!scan("```\na\n```").1);
    }
}
