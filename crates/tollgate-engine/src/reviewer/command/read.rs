//! Reading what an agent printed: is there an answer, or an error in the shape of one?
//!
//! Agents that print JSON lines are read as they print, so that what they do can be shown and what is not needed is not
//! kept. An answer is only one when the agent says nothing of an error: some report failures with exit code 0, some
//! with `"subtype":"success"`.

use serde_json::Value;

use super::preset::Form;
use crate::reviewer::call::{Heard, Reply, Stop, Usage};

mod event;

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
}

/// Why there is no answer in what an agent printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// It printed nothing that is one.
    Nothing(String),
    /// It says that something went wrong.
    Error(String),
}

/// Reads an agent's standard output piece by piece.
#[derive(Debug)]
pub(super) struct Reader {
    form: Form,
    /// The whole output, or the line that is not finished yet.
    kept: Vec<u8>,
    limit: usize,
    n_lines: usize,
    /// The last line that is no JSON.
    odd: Option<String>,
    found: Found,
}

impl Reader {
    /// Keeps at most so many bytes.
    pub(super) fn new(form: Form, limit: usize) -> Self {
        Self { form, kept: Vec::new(), limit, n_lines: 0, odd: None, found: Found::default() }
    }

    /// Takes what was printed; false when it is too much.
    pub(super) fn take(&mut self, bytes: &[u8], heard: &dyn Fn(Heard)) -> bool {
        self.kept.extend(bytes);
        if !self.form.streams() {
            heard(Heard::Answer(bytes.len()));
            return self.kept.len() <= self.limit;
        }
        let Some(end) = self.kept.iter().rposition(|&byte| byte == b'\n') else {
            return self.kept.len() <= self.limit;
        };
        let rest = self.kept.split_off(end + 1);
        for line in std::mem::replace(&mut self.kept, rest).split(|&byte| byte == b'\n') {
            self.line(line, heard);
        }
        self.kept.len() <= self.limit
    }

    fn line(&mut self, line: &[u8], heard: &dyn Fn(Heard)) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        self.n_lines += 1;
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => event::take(self.form, &value, &mut self.found, heard),
            // Agents mix notes for people among their lines.
            Err(_) => self.odd = Some(String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned()),
        }
    }

    /// What the agent last said went wrong, when it has not mended it.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.found.error.as_deref().or(self.found.trouble.as_deref())
    }

    /// The reply, when there is one; `last` is what the agent left as its last message.
    pub(super) fn finish(mut self, last: Option<&str>) -> Result<Reply, NoAnswer> {
        if self.form.streams() {
            let rest = std::mem::take(&mut self.kept);
            self.line(&rest, &|_| {});
        } else {
            self.whole()?;
        }
        if self.form == Form::Aider {
            self.found.text = last.and_then(event::aider_answer);
            self.found.error = self.found.error.filter(|_| self.found.text.is_none());
        }
        let last = last.filter(|_| self.form != Form::Aider);
        if let Some(error) = self.found.error {
            return Err(NoAnswer::Error(error));
        }
        let text = self.found.text.filter(|text| !text.trim().is_empty());
        let text = last.map(str::to_owned).filter(|last| !last.trim().is_empty()).or(text);
        let structured = self.found.structured.or_else(|| text.as_deref().and_then(object));
        if text.is_none() && structured.is_none() {
            return Err(match (self.found.trouble, self.odd) {
                (Some(trouble), _) => NoAnswer::Error(trouble),
                (None, Some(odd)) => NoAnswer::Nothing(format!("printed what is no JSON: `{odd}`")),
                (None, None) if self.n_lines == 0 => NoAnswer::Nothing("printed nothing".to_owned()),
                (None, None) => NoAnswer::Nothing("ended without an answer".to_owned()),
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
