//! A finding as a line of a comment: `:new: [MAJOR] src/db.ts (15): No transaction`.

use unicode_normalization::UnicodeNormalization as _;

use crate::finding::Severity;

/// The severity tag of a line in its Markdown source: an escaped bracket is not a tag.
pub(super) fn tag(source: &str) -> Option<Severity> {
    let rest = without_badge(source.trim_start_matches(['*', '_', '`']));
    let rest = rest.trim_start_matches(['*', '_', '`']);
    let (word, _) = rest.strip_prefix('[')?.split_once(']')?;
    severity(word)
}

/// The severity that a heading or a tag names.
pub(super) fn severity(words: &str) -> Option<Severity> {
    let mut words = words.split_whitespace();
    // Stricter than in answers: a heading `### Style` or a tag `[error]` names no severity.
    let severity = match words.next()?.trim_end_matches(':').to_lowercase().as_str() {
        "critical" | "blocker" => Severity::Critical,
        "major" | "high" => Severity::High,
        "medium" => Severity::Medium,
        "minor" | "low" => Severity::Low,
        "nit" => Severity::Nit,
        _ => return None,
    };
    let rest = words.next().map(|word| word.trim_end_matches(':').to_lowercase());
    let plain = matches!(rest.as_deref(), None | Some("issues" | "issue" | "findings" | "finding" | "severity"));
    plain.then_some(severity)
}

/// True for a line that begins with a badge: `:new:`, `:white_check_mark:`.
pub(super) fn has_badge(source: &str) -> bool {
    without_badge(source).len() < source.len()
}

/// The identity of a finding: file and title, without badge, tag, line numbers, ` -- resolved` and final marks.
///
/// Case, width of characters, quotes, code marks and `./` make no difference.
pub(crate) fn key(text: &str) -> String {
    let text: String =
        text.nfkc().filter(|character| !matches!(character, '`' | '\u{200b}')).map(plain_quote).collect();
    let is_symbol = |character: char| !character.is_ascii() && !character.is_alphanumeric();
    let mut rest = without_badge(text.trim()).trim_start_matches(|c: char| is_symbol(c) || c.is_whitespace());
    if let Some((word, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && severity(word).is_some()
    {
        rest = after;
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let lower = without_lines(&words.join(" ")).to_lowercase();
    let title = without_end(&lower);
    let title = without_end(without_ids(without_end(without_state(title))));
    let title = title.trim_start_matches("./");
    match title.split_once(": ") {
        Some((path, title)) => format!("{}: {title}", without_line_suffix(path)),
        None => title.to_owned(),
    }
}

/// Quotes as a keyboard writes them.
fn plain_quote(character: char) -> char {
    match character {
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        other => other,
    }
}

fn without_end(title: &str) -> &str {
    let is_end = |character: char| character.is_whitespace() || ".!,;:…–—―".contains(character);
    let title = title.trim_end_matches(is_end);
    // A hyphen may belong to the code that is named: `i--`.
    let dashed = title.trim_end_matches('-');
    if dashed.ends_with(' ') { dashed.trim_end_matches(is_end) } else { title }
}

/// Strips the state of a resolved finding: ` -- resolved`, ` — resolved in abc1234`, ` (resolved)`.
fn without_state(title: &str) -> &str {
    if let Some(rest) = title.strip_suffix(" (resolved)") {
        return rest;
    }
    let Some(at) = title.rfind("resolved") else { return title };
    let (head, tail) = (title[..at].trim_end(), title[at + "resolved".len()..].trim());
    let is_commit = |id: &str| id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let ends = tail.is_empty() || tail.strip_prefix("in ").is_some_and(is_commit);
    let before = head.trim_end_matches(['-', '–', '—', '―']);
    if ends && before.len() < head.len() && before.ends_with(' ') { before } else { title }
}

/// Strips the line of `path:12` and `path#L12-L15`.
fn without_line_suffix(path: &str) -> &str {
    let Some(split) = path.rfind([':', '#']) else { return path };
    let lines = &path[split + 1..];
    let is_lines = lines.contains(|c: char| c.is_ascii_digit())
        && lines.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'l' | b'-' | b':'));
    if is_lines { without_line_suffix(&path[..split]) } else { path }
}

/// Strips the ids of findings at the end: `(F001)`, `(2 findings: F001, F002)`.
fn without_ids(line: &str) -> &str {
    let line = line.trim_end();
    let Some((rest, ids)) = line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) else { return line };
    let ids = ids.split_once(" findings: ").map_or(ids, |(_, ids)| ids).trim_end_matches([' ', '…', '.']);
    let is_id = |id: &str| {
        id.strip_prefix(['F', 'f'])
            .is_some_and(|digits| digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if ids.split(", ").all(is_id) { rest.trim_end() } else { line }
}

/// The number in `and 12 more` at the end of a long list.
pub(super) fn more(text: &str) -> Option<usize> {
    let rest = text.trim().trim_start_matches(['…', '.', ' ']).strip_prefix("and ")?;
    let (number, rest) = rest.split_once(' ')?;
    let more = rest.split(|character: char| !character.is_alphanumeric()).next() == Some("more");
    if more { number.replace(',', "").parse().ok() } else { None }
}

fn without_badge(line: &str) -> &str {
    let Some(rest) = line.strip_prefix(':') else { return line };
    let Some((name, rest)) = rest.split_once(':') else { return line };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-');
    if !name.is_empty() && name.bytes().all(is_name) { rest.trim_start() } else { line }
}

/// Strips the line numbers of `path (12, 15-18): title` and `path (line 12): title`.
fn without_lines(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find(" (") {
        let inside = &rest[open + 2..];
        let word = ["lines ", "line ", "L"].into_iter().find(|word| inside.starts_with(word)).map_or(0, str::len);
        let len = inside[word..].bytes().take_while(|byte| byte.is_ascii_digit() || b", -".contains(byte)).count();
        plain.push_str(&rest[..open]);
        if len > 0 && inside[word + len..].starts_with("):") {
            rest = &inside[word + len + 1..];
        } else {
            plain.push_str(" (");
            rest = inside;
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_with_and_without_badge_and_emphasis() {
        assert_eq!(tag("[CRITICAL] a.ts (3): x"), Some(Severity::Critical));
        assert_eq!(tag(":new: [MAJOR] a.ts: x"), Some(Severity::High));
        assert_eq!(tag("**[Medium]** a.ts: x"), Some(Severity::Medium));
        assert_eq!(tag("\\[CRITICAL\\] a.ts: x"), None);
        assert_eq!(tag("[link](x)"), None);
        assert_eq!(tag("[error] a.ts: x"), None);
    }

    #[test]
    fn headings_name_severities_with_few_words() {
        assert_eq!(severity("High"), Some(Severity::High));
        assert_eq!(severity("critical issues:"), Some(Severity::Critical));
        assert_eq!(severity("Critical issues"), Some(Severity::Critical));
        assert_eq!(severity("Critical path of the scheduler"), None);
        assert_eq!(severity("Important"), None);
    }

    #[test]
    fn a_key_is_the_file_and_the_title() {
        for line in [
            ":new: [MAJOR] src/a.ts (12, 15-18): No  check",
            ":new: [MAJOR] src/a.ts (12): No check (F001)",
            "src/a.ts (12, 15): No check (2 findings: F001, F002)",
            ":white_check_mark: [MINOR] src/a.ts: No `check` -- resolved",
            ":white_check_mark: [MAJOR] src/a.ts: No check — resolved",
            ":white_check_mark: [MAJOR] src/a.ts: No check – Resolved.",
            "src/a.ts: No check - resolved in abc1234",
            "src/a.ts: No check (resolved)",
            "src/a.ts: No check –",
            "src/a.ts: No check -- (F001)",
            "src/a.ts: No check:",
            "src/a.ts: no check",
            "SRC/A.ts: No check.",
            "./src/a.ts: No check!  ",
            "[CRITICAL] src/a.ts (line 12): No check. -- Resolved.",
            "✅ [LOW] `src/a.ts:12`: no check",
            "src/a.ts#L12-L14: No ｃｈｅｃｋ…",
        ] {
            assert_eq!(key(line), "src/a.ts: no check", "{line}");
        }
        assert_eq!(key("a.ts: it’s “x”"), key("a.ts: it's \"x\""));
        assert_ne!(key("a.ts: x == y"), key("a.ts: x != y"));
        assert_ne!(key("a.ts: reads i--"), key("a.ts: reads i"));
        assert_ne!(key("a.ts: never resolved"), key("a.ts: never"));
        assert_ne!(key("a.ts: port 80"), key("a.ts: port 81"));
        assert_eq!(key("a (b): c (12)"), "a (b): c (12)");
    }

    #[test]
    fn the_end_of_a_long_list_is_understood() {
        assert_eq!(more("and 1,200 more"), Some(1200));
        assert_eq!(more("… and 3 more findings"), Some(3));
        assert_eq!(more("and moreover"), None);
    }
}
