//! Reversible escaping for the Markdown report format.
//!
//! Escaping and unescaping are inverse for every text: a backslash goes before structure, and before a backslash in that
//! position.

use serde_json::Value;

use crate::markdown::escape::{ZERO_WIDTH, meets, visible_lines};
use crate::markdown::fence::{self, FenceKind};
use crate::visible::{is_hidden, visible};

/// The bold labels that a reader looks for at the start of a line.
const LABELS: [&str; 9] = [
    "File",
    "Side",
    "Evidence",
    "Suggested Fix",
    "Reviewed SHA",
    "Base SHA",
    "Verdict",
    "Blocking Issues",
    "Re-review Required",
];

/// Escapes text of several lines so that no line is structure.
pub(super) fn block(text: &str) -> String {
    let shown = visible_lines(text);
    let lines: Vec<&str> = shown.split('\n').collect();
    let mut spans = Spans::default();
    let escaped = lines.iter().zip(fence::kinds(&lines)).map(|(line, kind)| match kind {
        FenceKind::Text => escape_structure(&spans.escape_tags(line)),
        FenceKind::Open(_) | FenceKind::Inside | FenceKind::Close => (*line).to_owned(),
    });
    escaped.collect::<Vec<_>>().join("\n")
}

/// Unescapes text of several lines.
pub(super) fn unblock(lines: &[&str]) -> String {
    let plain = lines.iter().zip(fence::kinds(lines)).map(|(line, kind)| match kind {
        FenceKind::Text => unescape_tags(&unescape_structure(line)),
        FenceKind::Open(_) | FenceKind::Inside | FenceKind::Close => (*line).to_owned(),
    });
    plain.collect::<Vec<_>>().join("\n")
}

/// Escapes text for one line.
pub(super) fn line(text: &str) -> String {
    Spans::default().escape_tags(&visible(&text.replace(['\n', '\r'], " ")))
}

/// Unescapes text of one line.
pub(super) fn unline(text: &str) -> String {
    unescape_tags(text)
}

/// Splits a code span off the start of a text.
pub(super) fn read_code_span(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim_start_matches('`');
    let len = text.len() - inner.len();
    if len == 0 {
        return None;
    }
    let mut at = 0;
    while let Some(found) = inner[at..].find('`') {
        let start = at + found;
        let run = inner[start..].bytes().take_while(|byte| *byte == b'`').count();
        if run == len {
            let code = &inner[..start];
            let stripped = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
            let code = stripped.filter(|_| !code.trim_matches(' ').is_empty()).unwrap_or(code);
            return Some((code, &inner[start + run..]));
        }
        at = start + run;
    }
    None
}

/// Writes JSON in an HTML comment that it cannot end, without invisible characters.
pub(super) fn comment(value: &Value) -> String {
    let mut json = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' | '>' | '@' => json.push_str(&format!("\\u{:04x}", u32::from(character))),
            '-' if json.ends_with('-') => json.push_str("\\u002d"),
            hidden if is_hidden(hidden) => {
                let mut units = [0; 2];
                hidden.encode_utf16(&mut units).iter().for_each(|unit| json.push_str(&format!("\\u{unit:04x}")));
            }
            plain => json.push(plain),
        }
    }
    format!("<!-- tollgate: {json} -->")
}

/// The JSON text in a comment of ours.
pub(super) fn read_comment(line: &str) -> Option<&str> {
    line.trim().strip_prefix("<!-- tollgate:")?.strip_suffix("-->").map(str::trim)
}

/// The code spans of lines, as far as they are certain.
#[derive(Default)]
struct Spans {
    /// A run of backticks had no partner in its line, so later ones may pair up in any way.
    uncertain: bool,
}

impl Spans {
    /// Puts a backslash before each `<` that could open a tag, and a zero-width space into each mention and reference,
    /// except in code.
    fn escape_tags(&mut self, line: &str) -> String {
        if !line.contains(['<', '`', '@', '#', '-', ':']) {
            return line.to_owned();
        }
        let code = self.code(line);
        let mut escaped = String::with_capacity(line.len() + 8);
        for (index, character) in line.char_indices() {
            if !matches!(character, '<' | '@' | '#' | '-' | ':') {
                escaped.push(character);
                continue;
            }
            let next = code.partition_point(|range| range.end <= index);
            let in_code = code.get(next).is_some_and(|range| range.contains(&index));
            if character == '<' && opens_tag(&line[index..]) && (!in_code || escaped.ends_with('\\')) {
                escaped.push('\\');
            }
            escaped.push(character);
            if !in_code && begins_reference(&line[..index], character, &line[index + 1..]) {
                escaped.push_str(ZERO_WIDTH);
            }
        }
        escaped
    }

    /// The byte ranges of a line that are certainly code.
    fn code(&mut self, line: &str) -> Vec<std::ops::Range<usize>> {
        let mut code = Vec::new();
        if self.uncertain {
            return code;
        }
        // The search for a partner is bounded: text made of backticks would take quadratic time.
        let runs = runs(line);
        let mut index = 0;
        while let Some(&(start, len)) = runs.get(index) {
            let escaped = line[..start].ends_with('\\');
            let partner = runs[index + 1..].iter().take(64).position(|run| run.1 == len);
            match partner {
                Some(partner) if !escaped => {
                    let end = runs[index + 1 + partner];
                    code.push(start..end.0 + end.1);
                    index += partner + 2;
                }
                _ => {
                    self.uncertain = true;
                    return code;
                }
            }
        }
        code
    }
}

/// The runs of backticks in a line: where and how long.
fn runs(line: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (index, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((start, len)) if *start + *len == index => *len += 1,
            _ => runs.push((index, 1)),
        }
    }
    runs
}

fn opens_tag(text: &str) -> bool {
    text.as_bytes().get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'/' | b'?'))
}

/// True after a character that begins a mention, or a reference that a closing keyword may stand before.
fn begins_reference(before: &str, character: char, rest: &str) -> bool {
    match character {
        ':' => {
            let address = rest.split_whitespace().next().unwrap_or_default();
            address.starts_with("//") && (address.contains("/issues/") || address.contains("/pull/"))
        }
        _ => meets(character, before.chars().next_back(), before, rest),
    }
}

fn unescape_tags(line: &str) -> String {
    let line = &line.replace(ZERO_WIDTH, "");
    let mut plain = String::with_capacity(line.len());
    for (index, character) in line.char_indices() {
        if character == '<' && opens_tag(&line[index..]) && plain.ends_with('\\') {
            plain.pop();
        }
        plain.push(character);
    }
    plain
}

fn escape_structure(line: &str) -> String {
    let (prefix, rest) = line.split_at(container_len(line));
    let marked = is_structure(rest.trim_start_matches('\\'));
    if marked { format!("{prefix}\\{rest}") } else { line.to_owned() }
}

fn unescape_structure(line: &str) -> String {
    let (prefix, rest) = line.split_at(container_len(line));
    match rest.strip_prefix('\\') {
        Some(plain) if is_structure(rest.trim_start_matches('\\')) => format!("{prefix}{plain}"),
        _ => line.to_owned(),
    }
}

/// The length of indentation, quote marks and list marks at the start of a line.
fn container_len(line: &str) -> usize {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let bytes = rest.as_bytes();
        let n_digits = bytes.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let blank = |index: usize| matches!(bytes.get(index), Some(b' ' | b'\t'));
        let len = match bytes.first() {
            Some(b'>') => 1,
            Some(b'-' | b'+' | b'*') if blank(1) => 2,
            _ if n_digits > 0 && matches!(bytes.get(n_digits), Some(b'.' | b')')) && blank(n_digits + 1) => {
                n_digits + 2
            }
            _ => return line.len() - rest.len(),
        };
        rest = &rest[len..];
    }
}

/// True for the start of a heading, a rule, a fence, a command to a bot or one of our labels.
fn is_structure(rest: &str) -> bool {
    let line = rest.trim_end();
    let only = |character: char| !line.is_empty() && line.chars().all(|other| other == character);
    let n_hashes = rest.bytes().take_while(|byte| *byte == b'#').count();
    let heading = (1..=6).contains(&n_hashes) && matches!(rest.as_bytes().get(n_hashes), None | Some(b' ' | b'\t'));
    let label = || {
        let label = rest.strip_prefix("**").and_then(|rest| rest.split_once(":**"));
        label.is_some_and(|(label, _)| LABELS.contains(&label))
    };
    let fence = rest.starts_with("```") || rest.starts_with("~~~");
    // Bots parse lines that begin with a slash or a mention as commands.
    let command = rest.starts_with(['/', '@']);
    let rule = only('-') || only('=') || (line.len() >= 3 && (only('*') || only('_')));
    heading || fence || rule || command || label()
}
