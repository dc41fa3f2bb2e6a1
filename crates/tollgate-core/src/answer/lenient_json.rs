//! Lenient JSON parser for model output: embedded in text, truncated, with comments, trailing commas and wrong quotes.
//!
//! ```text
//! Here it is: {'findings': [{"title": "a "quoted" word", line: 12,}, {"title": "cut of
//! ```
//!
//! Valid JSON is parsed exactly. Invalid JSON is parsed as far as its meaning is clear; each list and object records
//! whether it is complete. This module knows nothing about answers.

use std::ops::Range;

use serde_json::Value;

/// The deepest nesting that is parsed; deeper values are skipped.
const MAX_DEPTH: usize = 64;
/// The longest key searched for after a quote, in bytes.
const MAX_KEY: usize = 256;
/// The work limit in visits per byte, reached only by hostile input.
const MAX_LOOKS: usize = 16;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    /// A string up to the point of truncation.
    Cut(String),
    List(List),
    Object(Object),
}

/// A list and whether it is complete.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct List {
    pub(super) items: Vec<Node>,
    pub(super) whole: bool,
}

/// An object and whether it is complete. It may have duplicate keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Object {
    pub(super) fields: Vec<(String, Node)>,
    pub(super) whole: bool,
}

/// An object or a list in a text.
#[derive(Debug, PartialEq)]
pub(super) struct Document {
    pub(super) node: Node,
    pub(super) span: Range<usize>,
    pub(super) end: End,
    /// True when the text is invalid JSON and its structure was guessed: quotes inside strings, missing brackets, deep
    /// nesting.
    pub(super) guessed: bool,
    /// A key that an object has twice: two objects may have been merged, and parsers differ in which value they keep.
    pub(super) duplicate_key: Option<String>,
}

/// The documents of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Documents {
    /// The documents, in order.
    pub(super) documents: Vec<Document>,
    /// The number of bytes visited.
    pub(super) n_looks: usize,
    /// True when the work limit was reached before the end.
    pub(super) is_exhausted: bool,
}

/// How parsing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At the closing bracket.
    Whole,
    /// At the end of the text or code block, before the closing bracket.
    Cut,
    /// At a syntax error.
    Broken,
}

/// Finds the objects and lists in a text, in order. None begins in a line that `is_prose`.
pub(super) fn documents(text: &str, is_prose: impl Fn(&str) -> bool) -> Documents {
    let (mut found, mut at, mut n_looks) = (Vec::new(), 0, 0);
    let mut is_exhausted = false;
    let (mut line_end, mut in_prose) = (0, false);
    while let Some(start) = memchr::memchr2(b'{', b'[', &text.as_bytes()[at..]).map(|offset| at + offset) {
        if n_looks > MAX_LOOKS * text.len() {
            is_exhausted = true;
            break;
        }
        if start >= line_end {
            let line_start = memchr::memrchr(b'\n', &text.as_bytes()[..start]).map_or(0, |feed| feed + 1);
            line_end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |feed| start + feed);
            in_prose = is_prose(&text[line_start..line_end]);
        }
        if in_prose {
            at = line_end;
            continue;
        }
        if !begins_document(text, start) {
            at = start + 1;
            continue;
        }
        let mut reader = Reader {
            text,
            at: start,
            depth: 0,
            stop: None,
            furthest: start,
            cut_text: None,
            guessed: false,
            duplicate_key: None,
        };
        let node = reader.value(Inside::Nothing);
        n_looks += reader.furthest.max(reader.at) - start;
        at = reader.at.max(start + 1);
        if let Some(node) = node {
            found.push(Document {
                node,
                span: start..at,
                end: reader.stop.unwrap_or(End::Whole),
                guessed: reader.guessed,
                duplicate_key: reader.duplicate_key,
            });
        }
    }
    Documents { documents: found, n_looks, is_exhausted }
}

/// Converts a parsed JSON value.
pub(super) fn of_value(value: &Value) -> Node {
    fn convert(value: &Value, depth: usize) -> Node {
        match value {
            _ if depth > MAX_DEPTH => Node::Null,
            Value::Null => Node::Null,
            Value::Bool(value) => Node::Bool(*value),
            Value::Number(number) => Node::Number(number.to_string()),
            Value::String(text) => Node::Text(text.clone()),
            Value::Array(items) => {
                let items = items.iter().map(|item| convert(item, depth + 1)).collect();
                Node::List(List { items, whole: true })
            }
            Value::Object(map) => {
                let fields = map.iter().map(|(key, value)| (key.clone(), convert(value, depth + 1))).collect();
                Node::Object(Object { fields, whole: true })
            }
        }
    }
    convert(value, 0)
}

/// True where an object with a key or a list of objects can begin, so that prose and code are mostly skipped.
fn begins_document(text: &str, start: usize) -> bool {
    let rest = text[start + 1..].trim_start();
    if text.as_bytes()[start] == b'[' {
        return rest.starts_with(['{', '[']) && !rest.starts_with("[[");
    }
    match rest.chars().next() {
        None => may_be_value(text, start, &[':', ',', '[', '(']),
        Some('"' | '\'' | '“' | '‘' | '}') => true,
        Some('/') => rest.starts_with("//") || rest.starts_with("/*"),
        Some(_) => bare_key(rest).is_some() && may_be_value(text, start, &[':', ',', '[', '(', '=', '{', '`']),
    }
}

/// True when a brace begins its line or follows one of these marks. Code such as `if n == 0 {` and `else {` opens a block.
fn may_be_value(text: &str, start: usize, marks: &[char]) -> bool {
    let head = text[..start].trim_end_matches([' ', '\t']);
    head.is_empty() || head.ends_with(['\n', '\r', '\u{feff}']) || head.ends_with(marks)
}

/// The length of an unquoted key, if a colon follows.
fn bare_key(text: &str) -> Option<usize> {
    let len = text.bytes().take(MAX_KEY).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (starts && text[len..].trim_start_matches([' ', '\t']).starts_with(':')).then_some(len)
}

/// The container of a value, which determines the tokens that may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    List,
    Object,
    Key,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Set once; then all open values end.
    stop: Option<End>,
    furthest: usize,
    /// The string in which the input ended.
    cut_text: Option<String>,
    guessed: bool,
    duplicate_key: Option<String>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips whitespace and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|space: char| space.is_whitespace() || space == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            let len = if trimmed.starts_with("//") || (trimmed.starts_with('#') && !trimmed.starts_with("##")) {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += len;
        }
    }

    /// Returns false and stops at the end of the text or code block.
    fn has_more(&mut self) -> bool {
        self.skip_blank();
        if self.rest().is_empty() || self.rest().starts_with("```") || self.rest().starts_with("~~~") {
            self.stop = Some(End::Cut);
        }
        self.stop.is_none()
    }

    fn broken<T>(&mut self) -> Option<T> {
        self.stop = self.stop.or(Some(End::Broken));
        None
    }

    fn value(&mut self, inside: Inside) -> Option<Node> {
        if !self.has_more() {
            return None;
        }
        let first = self.peek()?;
        match first {
            '{' | '[' if self.depth >= MAX_DEPTH => {
                self.guessed = true;
                self.skip_nested();
                self.stop.is_none().then_some(Node::Null)
            }
            '{' => {
                self.depth += 1;
                let object = self.object();
                self.depth -= 1;
                Some(Node::Object(object))
            }
            '[' => {
                self.depth += 1;
                let list = self.list();
                self.depth -= 1;
                Some(Node::List(list))
            }
            _ if closing(first).is_some() => match self.string(inside) {
                Some(text) => Some(Node::Text(text)),
                None => self.cut_text.take().map(Node::Cut),
            },
            _ => self.bare(),
        }
    }

    fn object(&mut self) -> Object {
        self.at += 1;
        let mut object = Object::default();
        while self.has_more() {
            match self.peek() {
                Some('}') => {
                    self.at += 1;
                    object.whole = true;
                    break;
                }
                // The closing brace is missing and the bracket of the enclosing list follows.
                Some(']') if self.depth > 1 => {
                    (object.whole, self.guessed) = (true, true);
                    break;
                }
                Some(',') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let Some(key) = self.key() else { break };
            let Some(value) = self.value(Inside::Object) else { break };
            object.fields.push((key, value));
            if self.stop.is_some() {
                break;
            }
        }
        let mut keys: Vec<&str> = object.fields.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            self.duplicate_key.get_or_insert_with(|| pair[0].to_owned());
        }
        object
    }

    fn list(&mut self) -> List {
        self.at += 1;
        let mut list = List::default();
        while self.has_more() {
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    list.whole = true;
                    break;
                }
                Some('}') if self.depth > 1 => {
                    (list.whole, self.guessed) = (true, true);
                    break;
                }
                Some(',') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let Some(value) = self.value(Inside::List) else { break };
            list.items.push(value);
            if self.stop.is_some() {
                break;
            }
        }
        list
    }

    fn key(&mut self) -> Option<String> {
        let first = self.peek()?;
        let key = if closing(first).is_some() {
            self.string(Inside::Key)?
        } else {
            let Some(len) = bare_key(self.rest()) else { return self.broken() };
            let key = self.rest()[..len].to_owned();
            self.at += len;
            key
        };
        if !self.has_more() {
            return None;
        }
        if self.peek() != Some(':') {
            return self.broken();
        }
        self.at += 1;
        Some(key)
    }

    /// Parses an unquoted word or number: `12`, `true`, `None`, `High`, `12-15`.
    fn bare(&mut self) -> Option<Node> {
        let rest = self.rest();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-' | b'/');
        let len = rest.bytes().take(MAX_KEY).take_while(is_part).count();
        let after = rest[len..].trim_start_matches([' ', '\t']);
        if len == 0 || !(after.is_empty() || after.starts_with([',', '}', ']', '\n', '\r', '#', '/'])) {
            return self.broken();
        }
        self.at += len;
        // A number at the end of the text may be truncated.
        if self.rest().is_empty() {
            self.stop = Some(End::Cut);
            return None;
        }
        let word = &rest[..len];
        Some(match word {
            "null" | "None" | "undefined" | "nil" | "NaN" => Node::Null,
            "true" | "True" | "TRUE" => Node::Bool(true),
            "false" | "False" | "FALSE" => Node::Bool(false),
            _ if word.parse::<f64>().is_ok() => Node::Number(word.to_owned()),
            _ => Node::Text(word.to_owned()),
        })
    }

    fn string(&mut self, inside: Inside) -> Option<String> {
        let rest = self.rest();
        let open = rest.chars().next()?;
        let close = closing(open)?;
        let tripled = open.is_ascii() && rest[1..].starts_with([open; 2].iter().collect::<String>().as_str());
        if tripled {
            return self.tripled(open);
        }
        let mut text = String::new();
        let mut from = self.at + open.len_utf8();
        let mut fence = None;
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            let Some(byte) = bytes.get(at).copied() else {
                // The code block ends before the string does; later text is not part of the string.
                self.furthest = self.furthest.max(bytes.len());
                self.at = fence.unwrap_or(bytes.len());
                self.stop = Some(End::Cut);
                if fence.is_none() && inside == Inside::Object {
                    text.push_str(&self.text[from..]);
                    self.cut_text = Some(text);
                }
                return None;
            };
            match byte {
                b'\\' => {
                    text.push_str(&self.text[from..at]);
                    at += escape(&self.text[at..], &mut text);
                    from = at;
                }
                b'\n' => {
                    at += 1;
                    let line = self.text[at..].trim_start_matches([' ', '\t']);
                    if fence.is_none() && line.starts_with("```") {
                        fence = Some(at);
                    }
                }
                _ if self.text[at..].starts_with(close) => {
                    let len = self.text[at..].chars().next().map_or(1, char::len_utf8);
                    if self.closes(at + len, inside) {
                        text.push_str(&self.text[from..at]);
                        self.at = at + len;
                        return Some(text);
                    }
                    self.guessed = true;
                    at += len;
                }
                // Advance by whole characters, so that slices stay valid.
                _ => at += self.text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    /// Parses a Python string in triple quotes.
    fn tripled(&mut self, quote: char) -> Option<String> {
        let mark: String = [quote; 3].iter().collect();
        let start = self.at + 3;
        let Some(len) = self.text[start..].find(&mark) else {
            // Never closed, so it is an empty string followed by other text.
            self.at += 2;
            return Some(String::new());
        };
        self.at = start + len + 3;
        Some(self.text[start..start + len].to_owned())
    }

    /// True when the text after a quote can follow a string in this container. In valid JSON every closing quote
    /// qualifies; an unescaped quote inside the text mostly does not.
    fn closes(&self, at: usize, inside: Inside) -> bool {
        let rest = &self.text[at..];
        let after = rest.trim_start();
        let Some(next) = after.chars().next() else { return true };
        match (inside, next) {
            (Inside::Key, next) => next == ':',
            (Inside::Object, '}') | (Inside::List, ']') | (Inside::Nothing, _) => true,
            (Inside::Object, ',') => may_be_key(after[1..].trim_start()),
            (Inside::List, ',') => !after[1..].trim_start().starts_with([')', ';']),
            // The comma is missing.
            (Inside::Object, _) if after.len() < rest.len() && closing(next).is_some() => may_be_key(after),
            _ => after.starts_with("//") || after.starts_with("/*"),
        }
    }

    /// Skips a value that is nested too deep, counting brackets outside of strings.
    fn skip_nested(&mut self) {
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        for (offset, byte) in self.rest().bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += offset + 1;
                        return;
                    }
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        self.stop = Some(End::Cut);
    }
}

/// The closing quotes for an opening quote.
fn closing(quote: char) -> Option<&'static [char]> {
    match quote {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' => Some(&['”', '“', '"']),
        '‘' | '’' => Some(&['’', '‘']),
        _ => None,
    }
}

/// True when a key or the end of an object can follow.
fn may_be_key(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return true };
    let Some(close) = closing(first) else {
        return first == '}' || text.starts_with("//") || text.starts_with("/*") || bare_key(text).is_some();
    };
    let inner = &text[first.len_utf8()..];
    let mut escaped = false;
    for (offset, character) in inner.char_indices().take_while(|(offset, _)| *offset < MAX_KEY) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if close.contains(&character) {
            let after = inner[offset + character.len_utf8()..].trim_start();
            return after.is_empty() || after.starts_with(':');
        }
    }
    true
}

/// Parses one escape sequence and returns its length. Unknown escapes are kept as they are.
fn escape(text: &str, out: &mut String) -> usize {
    let Some(kind) = text[1..].chars().next() else {
        return 1;
    };
    let plain = match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '"' | '\\' | '/' | '\'' | '`' => kind,
        'u' => return unicode_escape(text, out),
        // A line continuation.
        '\n' => return 2,
        _ => {
            out.push('\\');
            return 1;
        }
    };
    out.push(plain);
    2
}

/// Parses `\u00e9`, or a surrogate pair.
fn unicode_escape(text: &str, out: &mut String) -> usize {
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let Some(first) = unit(0) else {
        out.push('\\');
        return 1;
    };
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = unit(6).filter(|second| (0xdc00..0xe000).contains(second))
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
        return 12;
    }
    out.push(char::from_u32(first).unwrap_or('\u{fffd}'));
    6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders a node as JSON, with `…` where it is incomplete.
    fn shown(node: &Node) -> String {
        match node {
            Node::Null => "null".to_owned(),
            Node::Bool(value) => value.to_string(),
            Node::Number(number) => number.clone(),
            Node::Text(text) => format!("{text:?}"),
            Node::Cut(text) => format!("{text:?}…"),
            Node::List(list) => {
                let items = list.items.iter().map(shown).collect::<Vec<_>>().join(", ");
                format!("[{items}{}", if list.whole { "]" } else { "…" })
            }
            Node::Object(object) => {
                let fields = object.fields.iter().map(|(key, value)| format!("{key}: {}", shown(value)));
                format!("{{{}{}", fields.collect::<Vec<_>>().join(", "), if object.whole { "}" } else { "…" })
            }
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> =
            documents(text, |_| false).documents.iter().map(|document| shown(&document.node)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn documents_are_found_anywhere_in_a_text() {
        check(r#"see {"a": 1} and [{"b": [true, null, -2.5]}]."#, &["{a: 1}", "[{b: [true, null, -2.5]}]"]);
        check("if (x) { return [1]; } a[i] [link](x) {} ", &["{}"]);
        check("", &[]);
    }

    #[test]
    fn invalid_json_is_parsed_as_intended() {
        check("{'a': 'it's', b: High,}", &[r#"{a: "it's", b: "High"}"#]);
        check("{\"a\": 1, // one\n /* two */ \"b\": None}", &["{a: 1, b: null}"]);
        check(r#"{"a": "say "hi" to", "b": "x["k"]"}"#, &[r#"{a: "say \"hi\" to", b: "x[\"k\"]"}"#]);
        check("{\"a\": \"1\"\n\"b\": [{} {}]}", &[r#"{a: "1", b: [{}, {}]}"#]);
        check(r#"{“a”: “b”, "c": """d "e" f"""}"#, &[r#"{a: "b", c: "d \"e\" f"}"#]);
        check(r#"{"a": [{"b": 1], "c": 2}"#, &["{a: [{b: 1}], c: 2}"]);
        check(r#"{"a": "\d\u00e9\ud83d\ude00\ud83d\q"}"#, &["{a: \"\\\\dé😀\u{fffd}\\\\q\"}"]);
    }

    #[test]
    fn truncated_values_are_marked_as_incomplete() {
        check(r#"{"a": [{"b": 1}, {"c": 2"#, &["{a: [{b: 1}, {………"]);
        check(r#"{"a": "bc"#, &[r#"{a: "bc"……"#]);
        check("```\n{\"a\": [1, \n```\nand {\"b\": 2}", &["{a: [1……", "{b: 2}"]);
        assert_eq!(documents("{\"a\": 1", |_| false).documents[0].end, End::Cut);
        assert_eq!(documents("{\"a\": (1)}", |_| false).documents[0].end, End::Broken);
    }

    #[test]
    fn work_is_linear_in_the_length_of_the_text() {
        let pieces = ["{\"a\":\"\n```\n", "{\"a\":", "[{", "{\"a\":\"\", ", "{\"a\" \"b\"", "{a:(", "{\"a\":[(", "{'"];
        for piece in pieces {
            let text = piece.repeat(20_000 / piece.len());
            let n_looks = documents(&text, |_| false).n_looks;
            assert!(n_looks <= (MAX_LOOKS + 1) * text.len(), "{piece}: {n_looks} for {} bytes", text.len());
        }
    }
}
