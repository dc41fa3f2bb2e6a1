//! Markdown that others wrote, made fit for the parser.
//!
//! The parser looks at every open quote and list for each line, so that a text of deep nesting and many lines takes
//! time that grows with its square: 64 kB of `> > > …` took most of a second, 640 kB minutes. Whoever parses what
//! comes from outside asks [`flatten`] first, and sets a limit of its own on how much is read at all.

pub(crate) mod html;

use std::borrow::Cow;

/// The most bytes of marks and white space that a line may begin with. Nobody nests as deep as this.
const MAX_MARKS: usize = 64;

/// The text with the beginnings of its lines cut to what the parser reads in linear time.
///
/// Lines stay lines, and nothing but marks and white space is left out.
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

/// How many bytes of a line can open quotes and lists.
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
