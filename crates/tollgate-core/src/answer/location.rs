//! Parses claimed locations: `src/a.rs:12-15`, `a.rs#L3`, `a.rs (12, 15)`, `lines 12 to 15`.
//!
//! File names are kept as written, also Windows and absolute paths; `verify` checks whether they exist.

use crate::finding::LineRange;

/// A file and lines as claimed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ClaimedLocation {
    pub(super) file: Option<String>,
    pub(super) lines: Option<LineRange>,
}

/// Parses line numbers: `12`, `L12-L15`, `12, 15`, `lines 12 to 15`, `12:5`.
pub(super) fn parse_lines(text: &str) -> Option<LineRange> {
    let text = text.trim();
    if text.len() > 100 {
        return None;
    }
    // `12:5` is a line and a column.
    let column = text.split_once(':').filter(|(line, column)| is_number(line) && !column.trim().is_empty());
    let text = column.map_or(text, |(line, _)| line);
    let mut numbers = Vec::new();
    for word in text.split(|part: char| !part.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let digits = word.trim_start_matches(['L', 'l', 'R', '+']);
        match digits.parse::<u32>() {
            Ok(number) => numbers.push(number),
            Err(_) if is_filler(word) => {}
            Err(_) => return None,
        }
    }
    // `-1` is not a line; in a range the dash is between two numbers.
    if text.starts_with('-') {
        return None;
    }
    let (start, end) = (numbers.iter().min()?, numbers.iter().max()?);
    LineRange::new(*start, *end)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_filler(word: &str) -> bool {
    let fillers =
        ["l", "line", "lines", "ln", "to", "and", "at", "around", "from", "through", "approx", "about", "near"];
    fillers.contains(&word.to_lowercase().as_str())
}

/// Parses a file with or without lines: `src/a.rs`, `src/a.rs:12`, a link to lines of a blob.
pub(super) fn parse(text: &str) -> ClaimedLocation {
    let text = unwrapped(text);
    let text = text.split_once("/blob/").and_then(|(_, rest)| rest.split_once('/')).map_or(text, |(_, path)| path);
    let (file, lines) = split(text);
    let file = file.trim().trim_matches(['`', '"', '\'', '*']).trim();
    let is_file = !file.is_empty()
        && !file.contains(['\n', '\r'])
        && !matches!(file.to_lowercase().as_str(), "n/a" | "none" | "null" | "-");
    ClaimedLocation { file: is_file.then(|| file.to_owned()), lines }
}

/// Strips backticks, emphasis and link syntax.
fn unwrapped(text: &str) -> &str {
    let text = text.trim().trim_matches(['*', '_']).trim();
    // In a link, either the text or the URL names the file.
    if let Some((name, address)) = text.strip_prefix('[').and_then(|rest| rest.split_once("](")) {
        let address = address.trim_end_matches(')');
        return if address.contains("#L") { address } else { unwrapped(name) };
    }
    match text.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        // `path` (12) and `path`:12 keep the text after the code.
        Some((code, after)) if after.trim().is_empty() => code.trim(),
        _ => text,
    }
}

/// Splits line numbers off the end of a text.
fn split(text: &str) -> (&str, Option<LineRange>) {
    if let Some((file, rest)) = text.rsplit_once('#')
        && rest.starts_with(['L', 'l'])
        && let Some(lines) = parse_lines(rest)
    {
        return (file, Some(lines));
    }
    if let Some((file, rest)) = text.trim_end().strip_suffix(')').and_then(|text| text.rsplit_once('('))
        && let Some(lines) = parse_lines(rest)
    {
        return (file, Some(lines));
    }
    // `path:12`, `path:12-15`, `path:12:5`, `path:L12`, `` `path`:12 ``
    for (at, _) in text.match_indices(':') {
        let (file, rest) = (&text[..at], &text[at + 1..]);
        if rest.trim_start().starts_with(|first: char| first.is_ascii_digit() || matches!(first, 'L' | 'l'))
            && file.trim_end_matches('`').len() > 1
            && let Some(lines) = parse_lines(rest)
        {
            return (file, Some(lines));
        }
    }
    for word in [", line", ", lines", " line", " lines", " @", " at line", " L"] {
        if let Some((file, rest)) = text.rsplit_once(word)
            && let Some(lines) = parse_lines(rest.trim_start_matches(['s', ' ', ':']))
        {
            return (file.trim_end_matches([',', ' ', '(']), Some(lines));
        }
    }
    (text, None)
}

/// Finds a location in a sentence: `` in `db.py` line 45 ``, `` see `db.py:45` ``.
pub(super) fn mentioned(text: &str) -> Option<ClaimedLocation> {
    let mut rest = text.char_indices().nth(1_000).map_or(text, |(end, _)| &text[..end]);
    while let Some((_, after)) = rest.split_once('`') {
        let (code, behind) = after.split_once('`')?;
        let found = parse(code);
        if found.file.as_deref().is_some_and(is_path) {
            let words = behind.trim_start_matches([' ', ',', '(']);
            let words = ["at ", "on ", "around "].iter().find_map(|word| words.strip_prefix(word)).unwrap_or(words);
            let end = words.find(['.', ':', ';', ')', '`']).unwrap_or(words.len());
            let numbers = &words[..end];
            let numbers = numbers.find(", ").map_or(numbers, |comma| &numbers[..comma]);
            let lines = found.lines.or_else(|| parse_lines(numbers).filter(|_| numbers.starts_with("line")));
            if lines.is_some() {
                return Some(ClaimedLocation { lines, ..found });
            }
        }
        rest = behind;
    }
    None
}

/// Finds a location in a sentence without marks around it: `division by zero in pay/account.go:28`.
pub(super) fn in_words(text: &str) -> Option<ClaimedLocation> {
    let words = text.split_whitespace().take(200);
    let words = words.map(|word| word.trim_matches(['(', ')', '[', ']', ',', '.', ';', '"', '\'']));
    words.map(parse).find(|place| place.lines.is_some() && place.file.as_deref().is_some_and(is_path))
}

/// True for text that looks like a file path: no spaces, and a dot or a slash.
pub(super) fn is_path(text: &str) -> bool {
    let text = text.trim().trim_matches('`');
    let plain = !text.is_empty()
        && text.len() <= 500
        && !text.contains(|part: char| part.is_whitespace() || matches!(part, '<' | '>' | '(' | '"' | '*'));
    let names = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let extension = names.rsplit_once('.').is_some_and(|(stem, extension)| {
        (1..=12).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
            && (!stem.is_empty() || text.contains('/') || text.len() > 2)
    });
    let known = ["Dockerfile", "Makefile", "Jenkinsfile", "LICENSE", "Gemfile", "Rakefile"].contains(&names);
    plain
        && !text.contains("://")
        && (extension || known || (text.contains('/') && !text.ends_with('/') && text.len() > 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, file: &str, expected: &str) {
        let place = parse(text);
        assert_eq!(place.file.as_deref().unwrap_or("-"), file, "{text}");
        assert_eq!(place.lines.map(|lines| lines.to_string()).unwrap_or_default(), expected, "{text}");
    }

    #[test]
    fn line_numbers_are_split_off_a_file() {
        check("src/a.rs", "src/a.rs", "");
        check("src/a.rs:12", "src/a.rs", "12");
        check("`src/a.rs:12-15`", "src/a.rs", "12-15");
        check("`src/a.rs`:12", "src/a.rs", "12");
        check("src/a.rs:12:5", "src/a.rs", "12");
        check("src/a.rs#L3-L9", "src/a.rs", "3-9");
        check("src/a.rs (12, 15)", "src/a.rs", "12-15");
        check("a.rs, lines 40 to 42", "a.rs", "40-42");
        check("a.rs line 7", "a.rs", "7");
        check("[a.rs](https://h/o/r/blob/main/src/a.rs#L7)", "src/a.rs", "7");
        check("N/A", "-", "");
    }

    #[test]
    fn a_location_in_a_sentence_is_a_file_in_code_and_a_line() {
        let found = |text| mentioned(text).map(|place| format!("{}:{}", place.file.unwrap(), place.lines.unwrap()));
        assert_eq!(found("injection in `db.py` line 45: input").as_deref(), Some("db.py:45"));
        assert_eq!(found("`x` is read at `a/b.rs:3-5`, twice").as_deref(), Some("a/b.rs:3-5"));
        assert_eq!(found("see `db.py` (lines 4-9)").as_deref(), Some("db.py:4-9"));
        assert_eq!(found("`db.py` has line 3 and `"), None);
    }

    #[test]
    fn paths_are_kept_as_written() {
        check("C:\\a\\b.rs:12", "C:\\a\\b.rs", "12");
        check("C:\\a\\b.rs", "C:\\a\\b.rs", "");
        check("/srv/me/a.rs:1", "/srv/me/a.rs", "1");
        check("../a.rs", "../a.rs", "");
    }

    #[test]
    fn numbers_next_to_other_words_are_not_lines() {
        for text in ["function 3", "", "-3", "0", "99999999999", "v2"] {
            assert_eq!(parse_lines(text), None, "{text}");
        }
        assert_eq!(parse_lines("around lines 12 and 15"), LineRange::new(12, 15));
    }
}
