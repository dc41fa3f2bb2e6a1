//! What an agent says while it works, made readable, harmless and free of keys.
//!
//! Words are told by whole lines, because a key that is cut in two would not be recognised; a tool that is used is one
//! line, as people know it from `agent-output.md`:
//!
//! ```text
//! I will look at the parser first.
//!
//! 🔧 Tool: Read src/parser.rs
//! 🔧 Tool: Bash cargo test parser
//! ```
//!
//! What a tool brought back is not told: it is mostly the code that is there to be read anyway.

use serde_json::Value;
use tollgate_core::visible::visible;

use super::read::{Said, tool_name};
use crate::held::Held;

/// A line that is longer is told in pieces.
const MAX_LINE: usize = 64 * 1024;
/// How much of a long line is kept back, because a key may have begun there; no key is longer in any disguise.
const KEPT_BACK: usize = 4 * 1024;
/// How much is told of what a tool is given.
const MAX_INPUT_CHARS: usize = 200;

/// Something an agent said or did: readable text that ends with a line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken<'a> {
    /// Words of its model, or what a program printed.
    Words(&'a str),
    /// The use of a tool, on one line.
    Tool(&'a str),
}

impl<'a> Spoken<'a> {
    /// The text, to be put after what came before.
    #[must_use]
    pub fn text(self) -> &'a str {
        match self {
            Self::Words(text) | Self::Tool(text) => text,
        }
    }
}

/// Tells what an agent says.
pub(crate) struct Speech<'a> {
    held: &'a Held,
    heard: &'a (dyn Fn(Spoken<'_>) + Sync),
    /// Bytes that are not yet a whole character.
    undecoded: Vec<u8>,
    line: String,
    /// What was told last.
    last: Last,
    n_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Words,
    /// Words, and the message they belong to is over.
    Message,
    Tool,
}

impl<'a> Speech<'a> {
    pub(crate) fn new(held: &'a Held, heard: &'a (dyn Fn(Spoken<'_>) + Sync)) -> Self {
        Self { held, heard, undecoded: Vec::new(), line: String::new(), last: Last::Nothing, n_bytes: 0 }
    }

    /// Takes what was said and tells what can be told by now.
    pub(crate) fn take(&mut self, said: Said<'_>) {
        match said {
            Said::Bytes(bytes) => self.decode(bytes),
            Said::Text(text) => self.words(text),
            Said::End => self.end_message(),
            Said::Thinking => {}
            Said::Tool { name, input } => self.tool(name, input),
        }
    }

    /// Tells what is left; how many bytes were told in all.
    pub(crate) fn finish(mut self) -> u64 {
        let rest = std::mem::take(&mut self.undecoded);
        self.words(&String::from_utf8_lossy(&rest));
        self.end_message();
        self.n_bytes
    }

    fn decode(&mut self, bytes: &[u8]) {
        let mut pending = std::mem::take(&mut self.undecoded);
        pending.extend(bytes);
        let chunks = pending.utf8_chunks();
        let mut n_read = 0;
        for chunk in chunks {
            self.words(chunk.valid());
            n_read += chunk.valid().len();
            let invalid = chunk.invalid();
            // The rest of a character may be on its way.
            let is_begun = n_read + invalid.len() == pending.len()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_begun {
                self.undecoded = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.words("\u{fffd}");
            }
            n_read += invalid.len();
        }
    }

    fn words(&mut self, text: &str) {
        for (index, piece) in text.split(['\n', '\r']).enumerate() {
            if index > 0 {
                self.end_line();
            }
            self.line.push_str(piece);
            while self.line.len() > MAX_LINE {
                self.tell_beginning();
            }
        }
    }

    /// Tells the beginning of a line that is too long, and keeps back where a key may have begun.
    fn tell_beginning(&mut self) {
        let whole = self.held.hide(&self.line).into_owned();
        let cuts = (1..MAX_LINE / KEPT_BACK).map(|n| self.line.floor_char_boundary(self.line.len() - n * KEPT_BACK));
        // Where a cut hides as much as the whole line does, it goes through no key.
        let cut = cuts.into_iter().find(|&cut| {
            let (begun, rest) = self.line.split_at(cut);
            whole == format!("{}{}", self.held.hide(begun), self.held.hide(rest))
        });
        let (told, rest) = match cut {
            Some(cut) => (self.held.hide(&self.line[..cut]).into_owned(), self.line[cut..].to_owned()),
            None => (whole, String::new()),
        };
        self.line = rest;
        self.tell_words(&format!("{told}\n"));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        // A text begins with words, and between two texts one empty line is enough.
        if line.is_empty() && self.last != Last::Words {
            return;
        }
        self.tell_words(&format!("{}\n", self.held.hide(&line)));
    }

    fn end_message(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        if self.last == Last::Words {
            self.last = Last::Message;
        }
    }

    fn tell_words(&mut self, text: &str) {
        if matches!(self.last, Last::Message | Last::Tool) {
            self.tell(Spoken::Words("\n"));
        }
        self.tell(Spoken::Words(&visible(text)));
        self.last = Last::Words;
    }

    fn tool(&mut self, name: &str, input: Option<&Value>) {
        self.end_message();
        if self.last == Last::Message {
            self.tell(Spoken::Words("\n"));
        }
        let input = input.map(|input| one_line(&self.held.hide(&gist(input)))).unwrap_or_default();
        let line = format!("🔧 Tool: {} {input}", tool_name(&self.held.hide(name)));
        self.tell(Spoken::Tool(&format!("{}\n", line.trim_end())));
        self.last = Last::Tool;
    }

    fn tell(&mut self, spoken: Spoken<'_>) {
        self.n_bytes = self.n_bytes.saturating_add(spoken.text().len() as u64);
        (self.heard)(spoken);
    }
}

/// The fields that say what a tool is used on, the most telling first.
const TELLING: [&str; 12] = [
    "command",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
    "changes",
];

/// What a tool is used on, in a few words.
fn gist(input: &Value) -> String {
    let telling = TELLING.iter().find_map(|field| input.get(field).and_then(text_of));
    telling.or_else(|| text_of(input)).unwrap_or_else(|| match input {
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

/// A text, or the texts or paths of a list.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => {
            let texts = values.iter().filter_map(|value| value.as_str().or_else(|| value.get("path")?.as_str()));
            Some(texts.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = words.char_indices().nth(MAX_INPUT_CHARS) {
        words.truncate(cut);
        words.push('…');
    }
    visible(&words).into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use insta::assert_snapshot;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-play-0123456789abcdefghij";

    fn told(tell: impl FnOnce(&mut Speech<'_>)) -> String {
        let held = Held::new(vec![KEY.to_owned()]);
        let told = Mutex::new(String::new());
        let heard = |spoken: Spoken<'_>| told.lock().unwrap().push_str(spoken.text());
        let mut speech = Speech::new(&held, &heard);
        tell(&mut speech);
        let n_bytes = speech.finish();
        let told = told.into_inner().unwrap();
        assert_eq!(n_bytes, told.len() as u64);
        told
    }

    fn told_bytes(pieces: &[&[u8]]) -> String {
        told(|speech| pieces.iter().for_each(|piece| speech.take(Said::Bytes(piece))))
    }

    #[test]
    fn words_and_tools_are_set_apart() {
        let read = json!({"file_path": "src/parser.rs"});
        let run = json!({"command": "cargo test \\\n  parser", "timeout": 5});
        let text = told(|speech| {
            for said in [
                Said::Text("I will look"),
                Said::Thinking,
                Said::Text(" at it."),
                Said::End,
                Said::Tool { name: "Read", input: Some(&read) },
                Said::Tool { name: "Bash", input: Some(&run) },
                Said::Text("\n\nDone.\n\nReally.\n"),
                Said::End,
                Said::Text("Bye"),
            ] {
                speech.take(said);
            }
        });
        assert_snapshot!(text, @"
        I will look at it.

        🔧 Tool: Read src/parser.rs
        🔧 Tool: Bash cargo test \\ parser

        Done.

        Really.

        Bye
        ");
    }

    #[track_caller]
    fn check_gist(input: Value, expected: &str) {
        let line = told(|speech| speech.take(Said::Tool { name: "t", input: Some(&input) }));
        assert_eq!(line, format!("🔧 Tool: t{expected}\n"));
    }

    #[test]
    fn the_gist_of_what_a_tool_is_given_fits_a_line() {
        check_gist(json!({"command": ["bash", "-lc", "ls"]}), " bash -lc ls");
        check_gist(json!({"changes": [{"path": "a.rs", "kind": "add"}, {"path": "b.rs"}]}), " a.rs b.rs");
        check_gist(json!({"odd": 1}), " {\"odd\":1}");
        check_gist(json!({}), "");
        check_gist(Value::Null, "");
        check_gist(json!({"path": "x\u{1b}[2J\u{202e}"}), " x\\u{1b}[2J\\u{202e}");
        check_gist(json!({"path": "é".repeat(500)}), &format!(" {}…", "é".repeat(200)));
        check_gist(json!({"command": format!("curl -H {KEY} x")}), " curl -H [hidden key] x");
    }

    #[test]
    fn what_a_program_prints_is_read_across_any_cut() {
        assert_eq!(told_bytes(&[b"gr\xc3", b"\xb6\xc3\x9fe\n"]), "größe\n");
        assert_eq!(told_bytes(&[b"a\xff\xc3", b"b\n"]), "a\u{fffd}\u{fffd}b\n");
        assert_eq!(told_bytes(&[b"end\xf0\x9f"]), "end\u{fffd}\n");
        assert_eq!(told_bytes(&[b"10%\r20%\r\ndone"]), "10%\n20%\n\ndone\n");
        assert_eq!(told_bytes(&[b"\x1b[31mred\x07"]), "\\u{1b}[31mred\\u{7}\n");
        assert_eq!(told_bytes(&[]), "");
    }

    #[test]
    fn a_key_is_hidden_wherever_pipes_cut_it() {
        let text = format!("the key is {KEY}, you see\n");
        for at in 0..text.len() {
            let (one, other) = text.as_bytes().split_at(at);
            assert_eq!(told_bytes(&[one, other]), "the key is [hidden key], you see\n");
        }
    }

    #[test]
    fn a_key_is_hidden_wherever_it_stands_in_a_line_without_end() {
        for before in [MAX_LINE - 5, MAX_LINE - KEPT_BACK - 5, MAX_LINE - KEPT_BACK, MAX_LINE + 7, 3 * MAX_LINE - 10] {
            let text = format!("{}{KEY}{}", "x".repeat(before), "y".repeat(2 * MAX_LINE));
            let told = told_bytes(&text.as_bytes().chunks(1000).collect::<Vec<_>>());
            assert!(told.contains("[hidden key]") && !told.contains("0123456789abc"), "{before}");
            assert_eq!(told.matches(['x', 'y']).count(), before + 2 * MAX_LINE + 1, "{before}");
        }
    }

    proptest! {
        #[test]
        fn every_plain_line_is_told_however_it_is_cut(text in "[a-c \n]{0,60}", size in 1_usize..9) {
            let told = told_bytes(&text.as_bytes().chunks(size).collect::<Vec<_>>());
            let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(lines(&told), lines(&text));
        }

        #[test]
        fn nothing_that_a_terminal_obeys_is_told(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let told = told_bytes(&bytes.chunks(3).collect::<Vec<_>>());
            prop_assert!(!told.chars().any(tollgate_core::visible::is_hidden), "{told:?}");
        }
    }
}
