//! Scans JSON for the spans of keys and values; only keys and requested strings are decoded.

use std::ops::Range;

use super::{DocumentError, MAX_DEPTH};

/// A key and its value in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// The key, decoded.
    pub(super) key: String,
    /// The span of the key, with its quotes.
    pub(super) name: Range<usize>,
    /// The span of the value.
    pub(super) value: Range<usize>,
}

/// A syntax problem and its byte offset.
#[derive(Debug)]
pub(super) enum Problem {
    Expected(&'static str, usize),
    TooDeep(usize),
}

impl Problem {
    /// Converts the byte offset to a line and a column.
    pub(super) fn in_text(self, text: &str) -> DocumentError {
        let line_at = |at: usize| 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count();
        match self {
            Self::TooDeep(at) => DocumentError::TooDeep { line: line_at(at) },
            Self::Expected(expected, at) => {
                // A problem can be found inside of a character.
                let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
                let start = text[..at].rfind('\n').map_or(0, |index| index + 1);
                DocumentError::Syntax { line: line_at(at), column: 1 + text[start..at].chars().count(), expected }
            }
        }
    }
}

pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Checks that a text is one value and nothing else.
    pub(super) fn whole_value(text: &'a str) -> Result<(), Problem> {
        let mut reader = Self::new(text, 0);
        reader.skip_space();
        reader.value(0)?;
        reader.end()
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    pub(super) fn end(&mut self) -> Result<(), Problem> {
        self.skip_space();
        if self.at < self.text.len() { Err(Problem::Expected("the end", self.at)) } else { Ok(()) }
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<(), Problem> {
        match self.peek() {
            Some(b'{') => self.object(depth, &mut |_| {}),
            Some(b'[') => self.list(depth, &mut |_| {}),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(Problem::Expected("a value", self.at)),
        }
    }

    pub(super) fn object(&mut self, depth: usize, take: &mut dyn FnMut(Member)) -> Result<(), Problem> {
        self.descend(depth)?;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            self.skip_space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(Problem::Expected("a key in quotes", self.at));
            }
            self.string()?;
            let name = start..self.at;
            self.skip_space();
            self.byte(b':', "`:`")?;
            self.skip_space();
            let start = self.at;
            self.value(depth + 1)?;
            // Only outer keys are looked up, so only those are decoded.
            let key = if depth == 0 { decode(&self.text[name.clone()]) } else { String::new() };
            take(Member { key, name, value: start..self.at });
            if self.closes(b'}') {
                return Ok(());
            }
            self.byte(b',', "`,` or `}`")?;
        }
    }

    pub(super) fn list(&mut self, depth: usize, take: &mut dyn FnMut(Range<usize>)) -> Result<(), Problem> {
        self.descend(depth)?;
        if self.closes(b']') {
            return Ok(());
        }
        loop {
            self.skip_space();
            let start = self.at;
            self.value(depth + 1)?;
            take(start..self.at);
            if self.closes(b']') {
                return Ok(());
            }
            self.byte(b',', "`,` or `]`")?;
        }
    }

    fn descend(&mut self, depth: usize) -> Result<(), Problem> {
        if depth >= MAX_DEPTH {
            return Err(Problem::TooDeep(self.at));
        }
        self.at += 1;
        Ok(())
    }

    fn closes(&mut self, bracket: u8) -> bool {
        self.skip_space();
        let closes = self.peek() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    fn byte(&mut self, byte: u8, expected: &'static str) -> Result<(), Problem> {
        if self.peek() != Some(byte) {
            return Err(Problem::Expected(expected, self.at));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), Problem> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Problem::Expected("a value", self.at));
        }
        self.at += word.len();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Problem> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Problem::Expected("`\"`", self.at)),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err(Problem::Expected("an escaped control character", self.at)),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Problem> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(Problem::Expected("four hexadecimal digits after `\\u`", start));
                }
                self.at += 5;
            }
            _ => return Err(Problem::Expected("an escape", start)),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Problem> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Problem> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(Problem::Expected("a digit", self.at)) } else { Ok(()) }
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Decodes a valid JSON string, given with its quotes.
pub(super) fn decode(json: &str) -> String {
    let mut rest = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or(json);
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (character, len) = escaped(&rest[at + 1..]);
        text.push(character);
        rest = rest.get(at + 1 + len..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The character of an escape sequence, and its length behind the backslash.
fn escaped(rest: &str) -> (char, usize) {
    match rest.as_bytes().first() {
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(b'u') => unit(&rest[1..]).map_or((char::REPLACEMENT_CHARACTER, 1), |high| {
            let low = rest.get(5..).and_then(|rest| rest.strip_prefix("\\u")).and_then(unit);
            match (char::from_u32(high), low) {
                (Some(character), _) => (character, 5),
                (None, Some(low)) if high < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11)
                }
                _ => (char::REPLACEMENT_CHARACTER, 5),
            }
        }),
        Some(byte) => (char::from(*byte), 1),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

fn unit(digits: &str) -> Option<u32> {
    digits.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok())
}
