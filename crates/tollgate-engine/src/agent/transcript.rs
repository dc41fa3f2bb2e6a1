//! The transcript of an agent's work, with keys redacted and control characters escaped.
//!
//! Text is written by whole lines, because a key that is cut in two would not be recognised; the use of a tool is one
//! line, as in `agent-output.md`:
//!
//! ```text
//! I will look at the parser first.
//!
//! 🔧 Tool: Read src/parser.rs
//! 🔧 Tool: Bash cargo test parser
//! ```
//!
//! Results of tools are left out: they are mostly the code of the project.

use serde_json::Value;
use tollgate_core::visible::visible;

use super::output::{OutputEvent, tool_name};
use crate::redaction::Redactor;

/// Longer lines are written in pieces.
const MAX_LINE: usize = 64 * 1024;
/// How much of a long line is held back, because a key may begin there; no key is longer in any encoding.
const KEPT_BACK: usize = 4 * 1024;
/// The longest excerpt of a tool's input.
const MAX_INPUT_CHARS: usize = 200;

/// A piece of a transcript: text that ends with a line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptText<'a> {
    /// Text of its model, or plain output of the program.
    Words(&'a str),
    /// The use of a tool, on one line.
    Tool(&'a str),
}

impl<'a> TranscriptText<'a> {
    /// The text, to be appended to the transcript.
    #[must_use]
    pub fn text(self) -> &'a str {
        match self {
            Self::Words(text) | Self::Tool(text) => text,
        }
    }
}

/// Writes the transcript of an agent.
pub(crate) struct TranscriptWriter<'a> {
    redactor: &'a Redactor,
    heard: &'a (dyn Fn(TranscriptText<'_>) + Sync),
    /// Bytes that are not yet a whole character.
    undecoded: Vec<u8>,
    line: String,
    /// The kind of the last piece.
    last: Last,
    n_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Words,
    /// Text whose message has ended.
    Message,
    Tool,
}

impl<'a> TranscriptWriter<'a> {
    pub(crate) fn new(redactor: &'a Redactor, heard: &'a (dyn Fn(TranscriptText<'_>) + Sync)) -> Self {
        Self { redactor, heard, undecoded: Vec::new(), line: String::new(), last: Last::Nothing, n_bytes: 0 }
    }

    /// Writes an event, as far as its lines are complete.
    pub(crate) fn take(&mut self, said: OutputEvent<'_>) {
        match said {
            OutputEvent::Bytes(bytes) => self.decode(bytes),
            OutputEvent::Text(text) => self.words(text),
            OutputEvent::End => self.end_message(),
            OutputEvent::Thinking => {}
            OutputEvent::Tool { name, input } => self.tool(name, input),
        }
    }

    /// Writes the rest and returns the length of the transcript in bytes.
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
            // The rest of a character may come with the next bytes.
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
                self.write_beginning();
            }
        }
    }

    /// Writes the beginning of a line that is too long, and holds back the part where a key may begin.
    fn write_beginning(&mut self) {
        let whole = self.redactor.redact(&self.line).into_owned();
        let cuts = (1..MAX_LINE / KEPT_BACK).map(|n| self.line.floor_char_boundary(self.line.len() - n * KEPT_BACK));
        // A cut is safe where redacting both parts gives the same text as redacting the whole line.
        let cut = cuts.into_iter().find(|&cut| {
            let (begun, rest) = self.line.split_at(cut);
            whole == format!("{}{}", self.redactor.redact(begun), self.redactor.redact(rest))
        });
        let (told, rest) = match cut {
            Some(cut) => (self.redactor.redact(&self.line[..cut]).into_owned(), self.line[cut..].to_owned()),
            None => (whole, String::new()),
        };
        self.line = rest;
        self.write_text(&format!("{told}\n"));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        // Leading and repeated empty lines are dropped.
        if line.is_empty() && self.last != Last::Words {
            return;
        }
        self.write_text(&format!("{}\n", self.redactor.redact(&line)));
    }

    fn end_message(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        if self.last == Last::Words {
            self.last = Last::Message;
        }
    }

    fn write_text(&mut self, text: &str) {
        if matches!(self.last, Last::Message | Last::Tool) {
            self.write(TranscriptText::Words("\n"));
        }
        self.write(TranscriptText::Words(&visible(text)));
        self.last = Last::Words;
    }

    fn tool(&mut self, name: &str, input: Option<&Value>) {
        self.end_message();
        if self.last == Last::Message {
            self.write(TranscriptText::Words("\n"));
        }
        let input = input.map(|input| one_line(&self.redactor.redact(&excerpt(input)))).unwrap_or_default();
        let line = format!("🔧 Tool: {} {input}", tool_name(&self.redactor.redact(name)));
        self.write(TranscriptText::Tool(&format!("{}\n", line.trim_end())));
        self.last = Last::Tool;
    }

    fn write(&mut self, spoken: TranscriptText<'_>) {
        self.n_bytes = self.n_bytes.saturating_add(spoken.text().len() as u64);
        (self.heard)(spoken);
    }
}

/// The input fields that name the object of a tool, most specific first.
const TOOL_FIELDS: [&str; 12] = [
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

/// A short excerpt of a tool's input.
fn excerpt(input: &Value) -> String {
    let telling = TOOL_FIELDS.iter().find_map(|field| input.get(field).and_then(text_of));
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

    fn told(tell: impl FnOnce(&mut TranscriptWriter<'_>)) -> String {
        let redactor = Redactor::new(vec![KEY.to_owned()]);
        let told = Mutex::new(String::new());
        let heard = |spoken: TranscriptText<'_>| told.lock().unwrap().push_str(spoken.text());
        let mut speech = TranscriptWriter::new(&redactor, &heard);
        tell(&mut speech);
        let n_bytes = speech.finish();
        let told = told.into_inner().unwrap();
        assert_eq!(n_bytes, told.len() as u64);
        told
    }

    fn told_bytes(pieces: &[&[u8]]) -> String {
        told(|speech| pieces.iter().for_each(|piece| speech.take(OutputEvent::Bytes(piece))))
    }

    #[test]
    fn words_and_tools_are_set_apart() {
        let read = json!({"file_path": "src/parser.rs"});
        let run = json!({"command": "cargo test \\\n  parser", "timeout": 5});
        let text = told(|speech| {
            for said in [
                OutputEvent::Text("I will look"),
                OutputEvent::Thinking,
                OutputEvent::Text(" at it."),
                OutputEvent::End,
                OutputEvent::Tool { name: "Read", input: Some(&read) },
                OutputEvent::Tool { name: "Bash", input: Some(&run) },
                OutputEvent::Text("\n\nDone.\n\nReally.\n"),
                OutputEvent::End,
                OutputEvent::Text("Bye"),
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
    fn check_excerpt(input: Value, expected: &str) {
        let line = told(|speech| speech.take(OutputEvent::Tool { name: "t", input: Some(&input) }));
        assert_eq!(line, format!("🔧 Tool: t{expected}\n"));
    }

    #[test]
    fn the_gist_of_what_a_tool_is_given_fits_a_line() {
        check_excerpt(json!({"command": ["bash", "-lc", "ls"]}), " bash -lc ls");
        check_excerpt(json!({"changes": [{"path": "a.rs", "kind": "add"}, {"path": "b.rs"}]}), " a.rs b.rs");
        check_excerpt(json!({"odd": 1}), " {\"odd\":1}");
        check_excerpt(json!({}), "");
        check_excerpt(Value::Null, "");
        check_excerpt(json!({"path": "x\u{1b}[2J\u{202e}"}), " x\\u{1b}[2J\\u{202e}");
        check_excerpt(json!({"path": "é".repeat(500)}), &format!(" {}…", "é".repeat(200)));
        check_excerpt(json!({"command": format!("curl -H {KEY} x")}), " curl -H [hidden key] x");
    }

    #[test]
    fn plain_output_is_written_whole_however_pipes_cut_it() {
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
