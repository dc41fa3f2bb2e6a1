//! Wraps text at spaces.

use unicode_width::UnicodeWidthStr;

/// The minimum width.
const MIN_WIDTH: usize = 20;

/// Wraps a text; a word longer than the width stands on its own line.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(MIN_WIDTH);
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wide = word.width();
        match lines.last_mut() {
            Some(line) if used + 1 + wide <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + wide;
            }
            _ => {
                lines.push(word.to_owned());
                used = wide;
            }
        }
    }
    lines
}

/// Truncates a text to a width, with `…`.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        let wide = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
        if used + wide > width {
            break;
        }
        used += wide;
        kept.push(character);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three four five six", 20), ["one two three four", "five six"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
