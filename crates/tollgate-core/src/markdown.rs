//! Markdown: escaping of untrusted text, fences, and a bound on the cost of parsing.
//!
//! The parser visits every open quote and list for each line, so deep nesting over many lines takes quadratic time:
//! 64 kB of `> > > …` took most of a second, 640 kB minutes. Callers [`flatten`] untrusted text first and limit its
//! length.

pub(crate) mod escape;
pub(crate) mod fence;
pub(crate) mod html;
pub(crate) mod prose;

use std::borrow::Cow;

/// The most bytes of container marks and white space at the start of a line.
const MAX_MARKS: usize = 64;

/// Truncates container marks at the start of lines so that parsing takes linear time.
///
/// Lines stay lines, and only marks and white space are removed.
pub(crate) fn flatten(text: &str) -> Cow<'_, str> {
    if !text.split(['\n', '\r']).any(|line| marks(line) > MAX_MARKS) {
        return Cow::Borrowed(text);
    }
    let mut flat = String::with_capacity(text.len());
    for line in text.split_inclusive(['\n', '\r']) {
        let n_marks = marks(line);
        flat.push_str(&line[..n_marks.min(MAX_MARKS)]);
        flat.push_str(&line[n_marks..]);
    }
    Cow::Owned(flat)
}

/// The bytes at the start of a line that can open quotes and lists.
fn marks(line: &str) -> usize {
    let opens = |byte: &u8| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'+' | b'*' | b'.' | b')' | b'0'..=b'9');
    line.bytes().take_while(opens).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_the_marks_of_a_line_keeps_its_text() {
        assert!(matches!(flatten("> a\n  - b\n"), Cow::Borrowed(_)));
        let deep = format!("{}a\r\n- b", "> ".repeat(100));
        assert_eq!(flatten(&deep), format!("{}a\r\n- b", "> ".repeat(32)));
    }
}
