//! Makes invisible characters of untrusted text visible (terminal escapes, bidi overrides).
//!
//! A diff, a file name or a message may hold characters that move the cursor, turn the reading direction or show nothing
//! at all. They are shown as escapes:
//!
//! ```text
//! if admin\u{202e} { \u{1b}[2J
//! ```
//!
//! Line feeds and tabs stay. The escapes are for display and are not parsed back.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces invisible and direction-changing characters by `\u{…}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\r' => shown.push_str("\\r"),
            hidden if is_hidden(hidden) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(hidden));
            }
            plain => shown.push(plain),
        }
    }
    Cow::Owned(shown)
}

/// True for a character that shows nothing, moves the cursor or turns the reading direction.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // The fast path for most characters.
        ' '..='~' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Soft hyphen, grapheme joiner, and fillers that look like a space or like nothing.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' => true,
        // Direction marks, embeddings, overrides and isolates.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Zero-width characters, line and paragraph separators, annotation marks.
        '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' => true,
        '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tag characters and variation selectors, which can smuggle whole texts.
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// A number with its thousands set apart: `1,048,576`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected);
    }

    #[test]
    fn plain_text_of_any_script_is_left_alone() {
        for text in ["", "a\n\tb", "größe λ 漢字 é 🙂", "\\u{202e}"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn direction_changes_are_shown() {
        check("a\u{202e}b\u{2066}c\u{200f}d\u{61c}", "a\\u{202e}b\\u{2066}c\\u{200f}d\\u{61c}");
    }

    #[test]
    fn control_characters_cannot_reach_a_terminal() {
        check("\u{1b}[2J\u{9b}1m\u{7f}\0\r\n", "\\u{1b}[2J\\u{9b}1m\\u{7f}\\u{0}\\r\n");
    }

    #[test]
    fn zero_width_characters_are_shown() {
        check("a\u{200b}\u{feff}\u{e0041}\u{ad}\u{2028}b", "a\\u{200b}\\u{feff}\\u{e0041}\\u{ad}\\u{2028}b");
    }
}
