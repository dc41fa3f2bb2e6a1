//! Escapes untrusted text for Markdown comments on a forge: the one Markdown escaper for comments.
//!
//! A forge renders more than Markdown: `@name` notifies people, `#1` links issues, `:word:` becomes an emoji, addresses
//! become links. Each is broken with a backslash or a zero-width character, so that a title or a file name cannot
//! trigger it. Code between single backticks stays code.

use crate::visible::visible;

/// Breaks mentions, references and links.
pub(crate) const ZERO_WIDTH: &str = "&#8203;";

/// Text on one line, invisible characters made visible, truncated to a number of characters.
pub(crate) fn shown(text: &str, max_chars: usize) -> String {
    let line = one_line(text);
    if line.chars().count() <= max_chars {
        return line;
    }
    let head: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    head.trim_end().to_owned() + "…"
}

/// Like [`shown`], but a path is truncated at its front: its end tells more.
pub(crate) fn shown_path(path: &str, max_chars: usize) -> String {
    let line = one_line(path);
    let n_chars = line.chars().count();
    if n_chars <= max_chars {
        return line;
    }
    let tail: String = line.chars().skip(n_chars - (max_chars - 1)).collect();
    format!("…{}", tail.trim_start())
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible(&words.join(" ")).into_owned()
}

/// Text for a fence: line feeds only, invisible characters made visible.
pub(crate) fn visible_lines(text: &str) -> String {
    visible(&text.replace("\r\n", "\n")).into_owned()
}

/// A code span of this text.
pub(crate) fn code_span(text: &str) -> String {
    let text = visible(text);
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let runs: Vec<usize> = text.split(|character| character != '`').map(str::len).collect();
    let len = (1..=longest + 1).find(|len| !runs.contains(len)).unwrap_or(longest + 1);
    let ticks = "`".repeat(len);
    let edge = |text: &str| text.starts_with('`') || text.ends_with('`');
    let padded = edge(&text) || (text.starts_with(' ') && text.ends_with(' ') && !text.trim_matches(' ').is_empty());
    let pad = if padded { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Escapes a line for any position but the start of a line.
pub(crate) fn literal(line: &str) -> String {
    let mut markdown = String::with_capacity(line.len() + line.len() / 8);
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        let n_ticks = rest[open..].bytes().take_while(|byte| *byte == b'`').count();
        push_plain(&mut markdown, &rest[..open]);
        let inside = &rest[open + n_ticks..];
        let close =
            inside.find('`').filter(|close| n_ticks == 1 && *close > 0 && !inside[close + 1..].starts_with('`'));
        match close {
            Some(close) => {
                markdown.push_str(&code_span(&inside[..close]));
                rest = &inside[close + 1..];
            }
            None => {
                markdown.push_str(&"\\`".repeat(n_ticks));
                rest = inside;
            }
        }
    }
    push_plain(&mut markdown, rest);
    markdown
}

/// Escapes a line for the start of a line.
pub(crate) fn literal_at_start(line: &str) -> String {
    let markdown = literal(line);
    let n_digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if n_digits > 0 && line[n_digits..].starts_with(['.', ')']) {
        return format!("{}\\{}", &markdown[..n_digits], &markdown[n_digits..]);
    }
    // A line that begins with an escape is safe already. Bots parse lines that begin with a slash or a mention as
    // commands and ignore Markdown.
    if markdown.starts_with(['#', '+', '-', '=', ':', '/', '@']) { format!("\\{markdown}") } else { markdown }
}

/// Plain text of several lines without mentions, links or bot commands, truncated to a number of characters. For fields
/// that the forge shows without Markdown.
pub(crate) fn inert(text: &str, max_chars: usize) -> String {
    let text = visible(text.trim());
    let mut plain = String::with_capacity(text.len());
    let mut before = None;
    for (index, character) in text.char_indices() {
        if matches!(character, '/' | '@') && before.is_none_or(|before| before == '\n') {
            plain.push(' ');
        }
        plain.push(character);
        if meets(character, before, &text[..index], &text[index + character.len_utf8()..]) {
            // Plain text has no character references, so the character itself is written.
            plain.push('\u{200b}');
        }
        before = Some(character);
    }
    match plain.char_indices().nth(max_chars) {
        None => plain,
        Some(_) => plain.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Unescapes tags such as `[WIP]` where they cannot become links.
///
/// A word in brackets is a link only before an address or with a definition, and our texts define none.
pub(crate) fn with_tags(markdown: &str) -> String {
    let mut tagged = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some(open) = rest.find("\\[") {
        let (before, bracket) = rest.split_at(open);
        tagged.push_str(before);
        let len = bracket[2..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-').count();
        let after = bracket[2 + len..].strip_prefix("\\]");
        let ends = |after: &&str| after.is_empty() || after.starts_with([' ', ',', '?']);
        match after.filter(ends).filter(|_| len > 0 && before.ends_with(' ')) {
            Some(after) => {
                tagged.push_str(&format!("[{}]", &bracket[2..2 + len]));
                rest = after;
            }
            None => {
                tagged.push_str("\\[");
                rest = &bracket[2..];
            }
        }
    }
    tagged + rest
}

fn push_plain(markdown: &mut String, text: &str) {
    let mut before = None;
    for (index, character) in text.char_indices() {
        let rest = &text[index + character.len_utf8()..];
        let next = rest.chars().next();
        let is_word = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
        match character {
            '<' => markdown.push_str("&lt;"),
            '>' => markdown.push_str("&gt;"),
            '&' if is_word(next) || next == Some('#') => markdown.push_str("&amp;"),
            '\\' | '*' | '[' | ']' | '|' | '~' | '$' => markdown.extend(['\\', character]),
            '_' if !(is_word(before) && is_word(next)) => markdown.push_str("\\_"),
            _ => markdown.push(character),
        }
        if meets(character, before, &text[..index], rest) {
            markdown.push_str(ZERO_WIDTH);
        }
        before = Some(character);
    }
}

/// True after a character that begins a mention, a reference, a link or an emoji with the text behind it.
pub(crate) fn meets(character: char, before: Option<char>, done: &str, rest: &str) -> bool {
    let next = rest.bytes().next();
    match character {
        '@' => next.is_some_and(|byte| byte.is_ascii_alphanumeric()),
        '#' => next.is_some_and(|byte| byte.is_ascii_digit()),
        '-' if matches!(before, Some('H' | 'h')) => {
            next.is_some_and(|byte| byte.is_ascii_digit()) && ends_with(done, b"gh")
        }
        '.' => ends_with(done, b"www"),
        ':' if rest.starts_with("//") => true,
        ':' => {
            let name = rest.bytes().take(60).take_while(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(byte));
            let len = name.count();
            len > 0 && rest.as_bytes().get(len) == Some(&b':')
        }
        _ => false,
    }
}

fn ends_with(text: &str, end: &[u8]) -> bool {
    let start = text.len().saturating_sub(end.len());
    text.as_bytes()[start..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(literal_at_start(&shown(line, 1000)), expected);
    }

    #[test]
    fn plain_words_stay_plain() {
        for line in ["src/api/client_v2.ts", "Retries 3 times, then fails (50% of calls)", "größe 漢字 🙂", "a - b"]
        {
            check(line, line);
        }
    }

    #[test]
    fn mentions_references_and_links_are_broken() {
        check("ask @octocat and @org/team", "ask @&#8203;octocat and @&#8203;org/team");
        check("mail a@b.example", "mail a@&#8203;b.example");
        check("see #123, a/b#4 and GH-5", "see #&#8203;123, a/b#&#8203;4 and GH-&#8203;5");
        check("https://x.example www.x.example", "https:&#8203;//x.example www.&#8203;x.example");
        check("[a](b) ![c](d) [^1]", "\\[a\\](b) !\\[c\\](d) \\[^1\\]");
        check("a :rocket: std::new::x", "a :&#8203;rocket: std::&#8203;new::x");
    }

    #[test]
    fn markup_is_escaped() {
        check("**a** _b_ ~~c~~ $d$ | e", "\\*\\*a\\*\\* \\_b\\_ \\~\\~c\\~\\~ \\$d\\$ \\| e");
        check("</details> <!-- x --> &lt; a && b", "&lt;/details&gt; &lt;!-- x --&gt; &amp;lt; a && b");
        check("&#x23;", "&amp;#x23;");
        check("a\\b", "a\\\\b");
    }

    #[test]
    fn no_line_begins_a_block() {
        check("## Verdict", "\\## Verdict");
        check("- x", "\\- x");
        check("+ x", "\\+ x");
        check("> x", "&gt; x");
        check("12. x", "12\\. x");
        check("1) x", "1\\) x");
        check("===", "\\===");
        check(":-:", "\\:&#8203;-:");
        check(":--", "\\:--");
        check("    x", "x");
        check("#1", "\\#&#8203;1");
    }

    #[test]
    fn no_line_begins_a_bot_command() {
        check("/merge", "\\/merge");
        check("@bors r+", "\\@&#8203;bors r+");
    }

    #[test]
    fn code_between_backticks_stays_code() {
        check("use `a<b>` or `@x`", "use `a<b>` or `@x`");
        check("a ` b", "a \\` b");
        check("```x``` `` y", "\\`\\`\\`x\\`\\`\\` \\`\\` y");
        check("` a `", "`  a  `");
    }

    #[test]
    fn invisible_characters_are_shown_and_lines_are_joined() {
        check("a\r\n\tb\u{202e}c", "a b\\\\u{202e}c");
    }

    #[test]
    fn inert_text_has_no_mentions_or_commands() {
        let check = |text: &str, expected: &str| assert_eq!(inert(text, 1000), expected);
        check("ask @octocat, fixes #12", "ask @\u{200b}octocat, fixes #\u{200b}12");
        check("/merge\n@bors r+\n a/b", " /merge\n @\u{200b}bors r+\n a/b");
        check("a\u{202e}b <c> *d*", "a\\u{202e}b <c> *d*");
        assert_eq!(inert("@a @a @a", 6), " @\u{200b}a …");
        assert_eq!(inert("abcd", 4), "abcd");
    }

    proptest! {
        #[test]
        fn inert_text_keeps_its_limit(text in "[@#/a1\\n ]{0,30}", max_chars in 1_usize..20) {
            prop_assert!(inert(&text, max_chars).chars().count() <= max_chars, "{}", inert(&text, max_chars));
        }
    }

    #[test]
    fn long_text_is_truncated() {
        assert_eq!(shown("abc def", 5), "abc…");
        assert_eq!(shown_path("a/b/c/d.rs", 6), "…/d.rs");
    }

    /// The rendered text of the last line of a paragraph; panics on anything but text and code.
    fn read(markdown: &str) -> String {
        let mut text = String::new();
        let github = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_MATH
            | Options::ENABLE_GFM;
        for event in Parser::new_ext(markdown, github) {
            match event {
                Event::Text(part) | Event::Code(part) => text.push_str(&part),
                Event::SoftBreak => text.clear(),
                Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
                other => panic!("{other:?} in {markdown}"),
            }
        }
        text.replace(['`', '\u{200b}'], "")
    }

    proptest! {
        #[test]
        fn escaped_text_renders_as_the_original(
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..8), other in "\\PC{0,4}",
        ) {
            let line = shown(&(pieces.concat() + &other), 1000);
            let plain = line.replace('`', "");
            if !line.is_empty() {
                prop_assert_eq!(read(&literal_at_start(&line)), plain.as_str());
                prop_assert_eq!(read(&format!("x\n{}", literal_at_start(&line))), plain.as_str());
                prop_assert_eq!(read(&format!("x: {}", literal(&line))), format!("x: {plain}"));
            }
        }
    }

    const PIECES: [&str; 44] = [
        "a", "1", "b2", " ", " x ", "`", "``", "\\", "*", "**", "_", "__", "~", "~~", "[", "]", "(b)", "![", "<", ">",
        "<b>", "&", "&lt;", "&#35;", "#", "## ", "+ ", "- ", "---", "===", ":", ":--", ":-:", "|", "|-|", "1. ", "2) ",
        "$", "$$", "^", "@a", "#1", "://", "::: ",
    ];

    #[test]
    fn tags_are_unescaped_unless_they_could_be_links() {
        let check = |line: &str, expected: &str| {
            let markdown = with_tags(&literal_at_start(line));
            assert_eq!(markdown, expected);
            assert!(!Parser::new(&markdown).any(|event| matches!(event, Event::Start(Tag::Link { .. }))));
        };
        check("Keywords: [WIP] in title, [style-ok]", "Keywords: [WIP] in title, [style-ok]");
        check("ignored [a-b], did you mean [c]?", "ignored [a-b], did you mean [c]?");
        for (line, expected) in [
            ("[x] a", "\\[x\\] a"),
            ("a [b](c)", "a \\[b\\](c)"),
            ("a [b][c]", "a \\[b\\]\\[c\\]"),
            ("a [b]: c", "a \\[b\\]: c"),
            ("a [^1] ![b] [] [b c] [", "a \\[^1\\] !\\[b\\] \\[\\] \\[b c\\] \\["),
        ] {
            check(line, expected);
        }
    }
}
