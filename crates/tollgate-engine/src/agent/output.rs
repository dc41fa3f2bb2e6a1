//! Parses the output of an agent into an answer or an error.
//!
//! JSON lines are parsed as they arrive, so that progress can be shown and lines that are not needed are dropped. An
//! answer counts only when the agent reports no error: some report failures with exit code 0, some with
//! `"subtype":"success"`.

use serde_json::Value;
use tollgate_core::visible::visible;

use super::preset::Form;
use crate::call::{CallProgress, Reply, StopReason, Usage};

mod event;

/// The longest quotation of a line that is not JSON.
const MAX_ODD: usize = 200;
const MAX_TOOL_CHARS: usize = 100;

/// The content of the output so far.
#[derive(Debug, Default)]
struct ParsedOutput {
    text: Option<String>,
    structured: Option<Value>,
    /// The error that the agent reports.
    error: Option<String>,
    /// The last error from which the agent may have recovered.
    trouble: Option<String>,
    stop: StopReason,
    usage: Usage,
    cost: Option<f64>,
    model: Option<String>,
    /// The session id of the agent.
    session: Option<String>,
    /// True when the current message was already streamed in pieces.
    is_told: bool,
}

/// The result of an implementer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AgentResult {
    /// Its last message; may be empty.
    pub(crate) text: String,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<f64>,
    pub(crate) model: Option<String>,
    pub(crate) session: Option<String>,
}

/// An event in the output of an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OutputEvent<'a> {
    /// A piece of its answer, cut anywhere.
    Bytes(&'a [u8]),
    /// Text of its model.
    Text(&'a str),
    /// The message is over.
    End,
    /// Its model thinks.
    Thinking,
    /// It uses a tool.
    Tool { name: &'a str, input: Option<&'a Value> },
}

impl OutputEvent<'_> {
    /// The progress event for this output.
    pub(crate) fn heard(&self) -> Option<CallProgress> {
        match self {
            Self::Bytes(bytes) => Some(CallProgress::Answer(String::from_utf8_lossy(bytes).into_owned())),
            Self::Text(text) => Some(CallProgress::Answer((*text).to_owned())),
            Self::End => None,
            Self::Thinking => Some(CallProgress::Working("thinking".to_owned())),
            Self::Tool { name, .. } => Some(CallProgress::Working(tool_name(name))),
        }
    }
}

/// The name of a tool, truncated, with control characters escaped.
pub(crate) fn tool_name(name: &str) -> String {
    let name: String = name.chars().take(MAX_TOOL_CHARS).collect();
    visible(&name).into_owned()
}

/// Why the output of an agent contains no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// No part of the output is an answer.
    Nothing(String),
    /// The agent reports an error.
    Error(String),
}

/// Reads an agent's standard output piece by piece.
#[derive(Debug)]
pub(crate) struct Reader {
    form: Form,
    /// The whole output, or the line that is not finished yet.
    kept: Vec<u8>,
    limit: usize,
    /// True when the end of a plain text suffices.
    keeps_end: bool,
    n_lines: usize,
    /// The beginning of the last line that is not JSON.
    odd: Vec<u8>,
    found: ParsedOutput,
}

impl Reader {
    /// A parser that keeps at most `limit` bytes.
    pub(crate) fn new(form: Form, limit: usize) -> Self {
        let found = ParsedOutput::default();
        Self { form, kept: Vec::new(), limit, keeps_end: false, n_lines: 0, odd: Vec::new(), found }
    }

    /// A parser that keeps at most `limit` bytes, of plain text the last ones.
    pub(crate) fn of_work(form: Form, limit: usize) -> Self {
        Self { keeps_end: matches!(form, Form::Text | Form::Aider), ..Self::new(form, limit) }
    }

    /// Parses more output; false when it exceeds the limit.
    pub(crate) fn take(&mut self, bytes: &[u8], said: &dyn Fn(OutputEvent<'_>)) -> bool {
        if !self.form.streams() {
            self.kept.extend(bytes);
            said(OutputEvent::Bytes(bytes));
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

    fn line(&mut self, line: &[u8], said: &dyn Fn(OutputEvent<'_>)) {
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

    /// The last error that the agent reported and did not recover from.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.found.error.as_deref().or(self.found.trouble.as_deref())
    }

    /// The result, when the agent reports no error; `last` is the message that the agent left in a file.
    pub(crate) fn finish_work(mut self, last: Option<&str>) -> Result<AgentResult, NoAnswer> {
        // The edits count even if the output cannot be parsed.
        let _ = self.conclude(last);
        if let Some(error) = self.found.error {
            return Err(NoAnswer::Error(error));
        }
        let structured = self.found.structured.map(|value| value.to_string());
        Ok(AgentResult {
            text: self.found.text.or(structured).unwrap_or_default().trim().to_owned(),
            usage: self.found.usage,
            cost: self.found.cost,
            model: self.found.model,
            session: self.found.session,
        })
    }

    /// Parses the rest at the end of the output.
    fn conclude(&mut self, last: Option<&str>) -> Result<(), NoAnswer> {
        if self.form.streams() {
            let rest = std::mem::take(&mut self.kept);
            self.line(&rest, &|_| {});
        } else {
            self.parse_whole()?;
        }
        if self.form == Form::Aider {
            self.found.text = last.and_then(event::aider_answer);
            self.found.error = self.found.error.take().filter(|_| self.found.text.is_none());
        }
        Ok(())
    }

    /// The reply, if there is one; `last` is the message that the agent left in a file.
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
                None if !odd.is_empty() => NoAnswer::Nothing(format!("printed invalid JSON: `{odd}`")),
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

    /// Parses output that is one text or one JSON value.
    fn parse_whole(&mut self) -> Result<(), NoAnswer> {
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
        // Notes for people may precede the value.
        let from_brace = text.find(['{', '[']).map_or(text, |start| &text[start..]);
        let value = serde_json::from_str::<Value>(text).or_else(|_| serde_json::from_str(from_brace));
        match value {
            Ok(value) => event::take(self.form, &value, &mut self.found, &|_| {}),
            Err(error) if error.is_eof() => {
                return Err(NoAnswer::Nothing("printed JSON that is cut off".to_owned()));
            }
            Err(error) => return Err(NoAnswer::Nothing(format!("printed invalid JSON: {error}"))),
        }
        Ok(())
    }
}

/// Parses a text that is a JSON object.
fn object(text: &str) -> Option<Value> {
    // With a duplicate key the text can be read in two ways; the tolerant reader notices that.
    let document =
        tollgate_core::json::parse(text.as_bytes()).ok().filter(|document| document.duplicate_keys.is_empty())?;
    Some(document.value).filter(Value::is_object)
}

#[cfg(test)]
mod tests;
