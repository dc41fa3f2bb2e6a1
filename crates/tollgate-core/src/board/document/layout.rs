//! Detects the layout of a JSON file (line breaks, indentation) and formats new values in it.

use std::ops::Range;

use super::scan::is_space;
use super::{MAX_BYTES, Object, quote};

/// Longer white space between two keys is not taken for a style.
const MAX_SPACE: usize = 64;

/// The layout of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// The line break, if there is one between keys.
    pub(super) line_break: Option<&'static str>,
    /// One step of indentation.
    unit: String,
    /// The separator between a key and its value.
    colon: String,
    /// The separator between two values on one line.
    comma: String,
}

impl Layout {
    /// The layout of `JSON.stringify(x, null, 2)`.
    pub(super) fn automaker() -> Self {
        Self { line_break: Some("\n"), unit: "  ".to_owned(), colon: ": ".to_owned(), comma: ",".to_owned() }
    }

    /// Detects the layout of a root object.
    pub(super) fn of(text: &str, object: &Object) -> Self {
        let members = &object.members;
        let Some(first) = members.first() else {
            let inside = &text[object.body.start + 1..object.body.end - 1];
            let line_break = line_break(inside).or(Some("\n"));
            return Self { line_break, ..Self::automaker() };
        };
        let lead = &text[object.body.start + 1..first.name.start];
        let colon = Some(&text[first.name.end..first.value.start]).filter(|colon| is_short(colon)).unwrap_or(": ");
        let between = members.get(1).map(|second| &text[first.value.end..second.name.start]);
        let comma = match between.filter(|between| is_short(between)) {
            Some(between) => between,
            None if colon.ends_with(' ') => ", ",
            None => ",",
        };
        let unit = lead.rsplit('\n').next().filter(|unit| unit.len() <= MAX_SPACE).unwrap_or("  ");
        Self { line_break: line_break(lead), unit: unit.to_owned(), colon: colon.to_owned(), comma: comma.to_owned() }
    }

    /// Formats a value on a line with this indentation; on one line when there is none.
    pub(super) fn value(&self, json: &str, indent: Option<&str>) -> String {
        let (mut out, mut depth) = (String::with_capacity(json.len()), 0_usize);
        let lines = self.line_break.zip(indent);
        let break_line = |out: &mut String, depth: usize| {
            if let Some((line_break, indent)) = lines {
                out.push_str(line_break);
                out.push_str(indent);
                out.push_str(&self.unit.repeat(depth));
            }
        };
        let mut tokens = Tokens { json, at: 0 }.peekable();
        while let Some(token) = tokens.next() {
            if out.len() > MAX_BYTES {
                // Indentation blows deep lists up a thousandfold; they stay on one line.
                return compact(json);
            }
            match token {
                "{" | "[" => {
                    out.push_str(token);
                    if let Some(close) = tokens.next_if(|next| matches!(*next, "}" | "]")) {
                        out.push_str(close);
                    } else {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
                "}" | "]" => {
                    depth = depth.saturating_sub(1);
                    break_line(&mut out, depth);
                    out.push_str(token);
                }
                "," if lines.is_some() => {
                    out.push(',');
                    break_line(&mut out, depth);
                }
                "," => out.push_str(&self.comma),
                ":" => out.push_str(&self.colon),
                _ => out.push_str(token),
            }
        }
        out
    }

    /// The edit that appends a key to an object.
    ///
    /// `indent` is that of the line in which the object begins, if it is written on several.
    pub(super) fn append(
        &self,
        text: &str,
        object: &Object,
        indent: Option<&str>,
        key: &str,
        json: &str,
    ) -> (Range<usize>, String) {
        let Some(last) = object.members.last() else {
            let whole = format!("{{{}:{json}}}", quote(key));
            return (object.body.clone(), self.value(&whole, indent));
        };
        let own = self::indent(text, object, object.members.len() - 1);
        let lead = match (own, self.line_break) {
            (Some(own), Some(line_break)) => format!(",{line_break}{own}"),
            _ => self.comma.clone(),
        };
        let value = self.value(json, own);
        (last.value.end..last.value.end, format!("{lead}{}{}{value}", quote(key), self.colon))
    }
}

/// The indentation of a key that begins a line.
pub(super) fn indent<'a>(text: &'a str, object: &Object, index: usize) -> Option<&'a str> {
    let start = match index.checked_sub(1) {
        Some(before) => object.members[before].value.end,
        None => object.body.start,
    };
    let (_, indent) = text[start..object.members[index].name.start].rsplit_once('\n')?;
    (indent.len() <= MAX_SPACE && indent.bytes().all(is_space)).then_some(indent)
}

/// A value without insignificant white space.
pub(super) fn compact(json: &str) -> String {
    Tokens { json, at: 0 }.collect()
}

fn line_break(space: &str) -> Option<&'static str> {
    match space.find('\n') {
        Some(at) if space[..at].ends_with('\r') => Some("\r\n"),
        Some(_) => Some("\n"),
        None => None,
    }
}

fn is_short(between: &str) -> bool {
    between.len() <= MAX_SPACE && !between.contains(['\n', '\r'])
}

/// The tokens of a valid JSON text.
struct Tokens<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.json.as_bytes();
        while is_space(*bytes.get(self.at)?) {
            self.at += 1;
        }
        let start = self.at;
        match bytes[start] {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => self.at += 1,
            b'"' => {
                self.at += 1;
                while bytes.get(self.at).is_some_and(|byte| *byte != b'"') {
                    self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
                }
                self.at += 1;
            }
            _ => {
                let is_plain = |byte: &u8| !is_space(*byte) && !b"{}[],:\"".contains(byte);
                while bytes.get(self.at).is_some_and(is_plain) {
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(bytes.len());
        self.json.get(start..self.at)
    }
}
