//! Reading what an agent printed: is there an answer, or an error in the shape of one?
//!
//! Agents that print JSON lines are read as they print, so that what they do can be shown and what is not needed is not
//! kept. An answer is only one when the agent says nothing of an error: some report failures with exit code 0, some
//! with `"subtype":"success"`.

use serde_json::Value;
use tollgate_core::visible::visible;

use super::preset::Form;
use crate::call::{Heard, Reply, Stop, Usage};

mod event;

/// How much of a line that is no JSON is kept to be quoted.
const MAX_ODD: usize = 200;
const MAX_TOOL_CHARS: usize = 100;

/// What was understood so far.
#[derive(Debug, Default)]
struct Found {
    text: Option<String>,
    structured: Option<Value>,
    /// What the agent says went wrong.
    error: Option<String>,
    /// What it says went wrong on the way and may have mended.
    trouble: Option<String>,
    stop: Stop,
    usage: Usage,
    cost: Option<f64>,
    model: Option<String>,
    /// What the agent calls this conversation.
    session: Option<String>,
    /// True when the words of the message that is being written were told piece by piece.
    is_told: bool,
}

/// What came of the work of an agent that writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Worked {
    /// Its last message; it need not say anything.
    pub(crate) text: String,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<f64>,
    pub(crate) model: Option<String>,
    pub(crate) session: Option<String>,
}

/// Something an agent says or does while it works.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Said<'a> {
    /// A piece of its answer, cut anywhere.
    Bytes(&'a [u8]),
    /// Words of its model.
    Text(&'a str),
    /// The message is over.
    End,
    /// Its model thinks.
    Thinking,
    /// It uses a tool.
    Tool { name: &'a str, input: Option<&'a Value> },
}

impl Said<'_> {
    /// The sign of life that this is.
    pub(crate) fn heard(&self) -> Option<Heard> {
        match self {
            Self::Bytes(bytes) => Some(Heard::Answer(bytes.len())),
            Self::Text(text) => Some(Heard::Answer(text.len())),
            Self::End => None,
            Self::Thinking => Some(Heard::Working("thinking".to_owned())),
            Self::Tool { name, .. } => Some(Heard::Working(tool_name(name))),
        }
    }
}

/// The name of a tool, short and harmless.
pub(crate) fn tool_name(name: &str) -> String {
    let name: String = name.chars().take(MAX_TOOL_CHARS).collect();
    visible(&name).into_owned()
}

/// Why there is no answer in what an agent printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// It printed nothing that is one.
    Nothing(String),
    /// It says that something went wrong.
    Error(String),
}

/// Reads an agent's standard output piece by piece.
#[derive(Debug)]
pub(crate) struct Reader {
    form: Form,
    /// The whole output, or the line that is not finished yet.
    kept: Vec<u8>,
    limit: usize,
    /// Whether the end of a text is enough.
    keeps_end: bool,
    n_lines: usize,
    /// The beginning of the last line that is no JSON.
    odd: Vec<u8>,
    found: Found,
}

impl Reader {
    /// Keeps at most so many bytes.
    pub(crate) fn new(form: Form, limit: usize) -> Self {
        let found = Found::default();
        Self { form, kept: Vec::new(), limit, keeps_end: false, n_lines: 0, odd: Vec::new(), found }
    }

    /// Keeps at most so many bytes, and of a text its end.
    pub(crate) fn of_work(form: Form, limit: usize) -> Self {
        Self { keeps_end: matches!(form, Form::Text | Form::Aider), ..Self::new(form, limit) }
    }

    /// Takes what was printed; false when it is too much.
    pub(crate) fn take(&mut self, bytes: &[u8], said: &dyn Fn(Said<'_>)) -> bool {
        if !self.form.streams() {
            self.kept.extend(bytes);
            said(Said::Bytes(bytes));
            if self.keeps_end {
                self.kept.drain(..self.kept.len().saturating_sub(self.limit));
            }
            return self.kept.len() <= self.limit;
        }
        let mut pieces = bytes.split(|&byte| byte == b'\n');
        let unfinished = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            let mut line = std::mem::take(&mut self.kept);
            line.extend(piece);
            self.line(&line, said);
            line.clear();
            self.kept = line;
        }
        self.kept.extend(unfinished);
        self.kept.len() <= self.limit
    }

    fn line(&mut self, line: &[u8], said: &dyn Fn(Said<'_>)) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        self.n_lines += 1;
        // Agents mix notes for people among their lines.
        let value = (line.first() == Some(&b'{')).then(|| serde_json::from_slice::<Value>(line).ok()).flatten();
        match value {
            Some(value) => event::take(self.form, &value, &mut self.found, said),
            None => {
                self.odd.clear();
                self.odd.extend(&line[..line.len().min(MAX_ODD)]);
            }
        }
    }

    /// What the agent last said went wrong, when it has not mended it.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.found.error.as_deref().or(self.found.trouble.as_deref())
    }

    /// What came of the work, when the agent reports no error; `last` is what it left as its last message.
    pub(crate) fn finish_work(mut self, last: Option<&str>) -> Result<Worked, NoAnswer> {
        // Output that cannot be read says nothing about the work.
        let _ = self.conclude(last);
        if let Some(error) = self.found.error {
            return Err(NoAnswer::Error(error));
        }
        let structured = self.found.structured.map(|value| value.to_string());
        Ok(Worked {
            text: self.found.text.or(structured).unwrap_or_default().trim().to_owned(),
            usage: self.found.usage,
            cost: self.found.cost,
            model: self.found.model,
            session: self.found.session,
        })
    }

    /// Takes in what is left when nothing more comes.
    fn conclude(&mut self, last: Option<&str>) -> Result<(), NoAnswer> {
        if self.form.streams() {
            let rest = std::mem::take(&mut self.kept);
            self.line(&rest, &|_| {});
        } else {
            self.whole()?;
        }
        if self.form == Form::Aider {
            self.found.text = last.and_then(event::aider_answer);
            self.found.error = self.found.error.take().filter(|_| self.found.text.is_none());
        }
        Ok(())
    }

    /// The reply, when there is one; `last` is what the agent left as its last message.
    pub(crate) fn finish(mut self, last: Option<&str>) -> Result<Reply, NoAnswer> {
        self.conclude(last)?;
        let last = last.filter(|_| self.form != Form::Aider);
        if let Some(error) = self.found.error {
            return Err(NoAnswer::Error(error));
        }
        let text = self.found.text.filter(|text| !text.trim().is_empty());
        let text = last.map(str::to_owned).filter(|last| !last.trim().is_empty()).or(text);
        let structured = self.found.structured.or_else(|| text.as_deref().and_then(object));
        if text.is_none() && structured.is_none() {
            let odd = String::from_utf8_lossy(&self.odd);
            return Err(match self.found.trouble {
                Some(trouble) => NoAnswer::Error(trouble),
                None if !odd.is_empty() => NoAnswer::Nothing(format!("printed what is no JSON: `{odd}`")),
                None if self.n_lines == 0 => NoAnswer::Nothing("printed nothing".to_owned()),
                None => NoAnswer::Nothing("ended without an answer".to_owned()),
            });
        }
        Ok(Reply {
            text: text.unwrap_or_default(),
            structured,
            stop: self.found.stop,
            usage: self.found.usage,
            cost: self.found.cost,
            model: self.found.model,
        })
    }

    /// Reads output that is one text or one JSON value.
    fn whole(&mut self) -> Result<(), NoAnswer> {
        let kept = std::mem::take(&mut self.kept);
        let text = String::from_utf8_lossy(&kept);
        let text = text.trim();
        self.n_lines = text.lines().count();
        if self.form == Form::Text {
            self.found.text = (!text.is_empty()).then(|| text.to_owned());
            return Ok(());
        }
        if self.form == Form::Aider {
            self.found.error = event::aider_error(text);
        }
        if text.is_empty() || self.form == Form::Aider {
            return Ok(());
        }
        // Notes for people may stand before the value.
        let from_brace = text.find(['{', '[']).map_or(text, |start| &text[start..]);
        let value = serde_json::from_str::<Value>(text).or_else(|_| serde_json::from_str(from_brace));
        match value {
            Ok(value) => event::take(self.form, &value, &mut self.found, &|_| {}),
            Err(error) if error.is_eof() => {
                return Err(NoAnswer::Nothing("printed JSON that is cut off".to_owned()));
            }
            Err(error) => return Err(NoAnswer::Nothing(format!("printed what is no JSON: {error}"))),
        }
        Ok(())
    }
}

/// The object a text is, when it is nothing else.
fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests;
