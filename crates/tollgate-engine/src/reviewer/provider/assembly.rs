//! Assembles a reply from the events of a stream.
//!
//! Each protocol adds its events to an [`Assembly`]; only a finished one becomes a [`Reply`].

use std::collections::BTreeMap;

use serde_json::Value;

use crate::redaction::Redactor;
use crate::reviewer::call::{Reply, StopReason, Usage};

/// The name of the tool by which a model reports, where structured output is asked for as a tool call.
pub(super) const TOOL: &str = "report_review";

/// The description of the tool, for the model.
pub(super) const TOOL_PURPOSE: &str = "Reports the review. Call it exactly once, with the whole review.";

/// A partial reply.
#[derive(Debug)]
pub(super) struct Assembly {
    text: String,
    /// The arguments of tool calls, by their index in the message.
    calls: BTreeMap<u64, String>,
    n_bytes: usize,
    /// The bytes of the answer itself; an empty tool call says nothing.
    n_said: usize,
    max_bytes: usize,
    /// Why the model stopped; a reply without it is incomplete.
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Usage,
    pub(super) cost: Option<f64>,
    pub(super) model: Option<String>,
}

/// The effect of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sign {
    /// A keep-alive.
    Alive,
    /// More of the answer.
    Answer(String),
    /// The model thinks or uses a tool.
    Working(&'static str),
    /// The end of the reply.
    End,
}

/// Why an event cannot be part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It violates the protocol.
    Garbled(String),
    /// The service reports an error.
    Fault(Fault),
}

/// An error that the service reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Fault {
    /// The HTTP status, or the equivalent code in an event.
    pub(super) status: Option<u16>,
    /// Its own names for the kind of error, in one text.
    pub(super) kind: String,
    /// The message for people.
    pub(super) message: String,
}

impl Assembly {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            calls: BTreeMap::new(),
            n_bytes: 0,
            n_said: 0,
            max_bytes,
            stop: None,
            usage: Usage::default(),
            cost: None,
            model: None,
        }
    }

    /// True when a part of the answer has arrived, so that a retry would be paid twice.
    pub(super) fn is_begun(&self) -> bool {
        self.n_said > 0
    }

    /// The answer so far: its text, then the arguments of tool calls.
    pub(super) fn said(&self) -> String {
        self.calls.values().fold(self.text.clone(), |said, arguments| said + arguments)
    }

    /// Appends text.
    pub(super) fn say(&mut self, text: &str) -> Result<Sign, Unfit> {
        self.count(text.len())?;
        self.n_said += text.len();
        self.text.push_str(text);
        Ok(if text.is_empty() { Sign::Alive } else { Sign::Answer(text.to_owned()) })
    }

    /// Appends to the arguments of a tool call.
    pub(super) fn call(&mut self, index: u64, arguments: &str) -> Result<Sign, Unfit> {
        self.count(arguments.len().max(1))?;
        self.n_said += arguments.len();
        self.calls.entry(index).or_default().push_str(arguments);
        Ok(if arguments.is_empty() { Sign::Alive } else { Sign::Answer(arguments.to_owned()) })
    }

    /// How many tool calls there are so far.
    pub(super) fn n_calls(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Sets the model that answers; events may repeat it.
    pub(super) fn name_model(&mut self, model: &Value) {
        if let Some(model) = model.as_str().filter(|model| model.len() <= 200 && self.model.is_none()) {
            self.model = Some(model.to_owned());
        }
    }

    fn count(&mut self, n_bytes: usize) -> Result<(), Unfit> {
        self.n_bytes += n_bytes;
        if self.n_bytes > self.max_bytes {
            return Err(Unfit::Garbled(format!("the answer is longer than {} bytes", self.max_bytes)));
        }
        Ok(())
    }

    /// The reply, once the protocol has seen its end.
    pub(super) fn into_reply(self, stop: StopReason, wants_structure: bool, redactor: &Redactor) -> Reply {
        let mut text = redactor.redact(&self.text).into_owned();
        let calls: Vec<String> = self.calls.values().map(|call| redactor.redact(call).into_owned()).collect();
        // With a duplicate key one of two values would be lost, so the text is passed on, and its reader notes that.
        let parsed = |text: &str| {
            let document = tollgate_core::json::parse(text.as_bytes()).ok()?;
            Some(document.value).filter(|value| value.is_object() && document.duplicate_keys.is_empty())
        };
        let structured = match calls.as_slice() {
            [] if wants_structure => parsed(&text),
            [call] => parsed(call),
            // No single call is the answer, so all are passed on as text.
            _ => None,
        };
        if structured.is_none() {
            for call in calls.iter().filter(|call| !call.is_empty()) {
                text.push('\n');
                text.push_str(call);
            }
        }
        let model = self.model.map(|model| redactor.redact(&model).into_owned());
        Reply { text, structured, stop, usage: self.usage, cost: self.cost, model }
    }
}

/// Reads the data of an event as JSON.
pub(super) fn json(data: &str) -> Result<Value, Unfit> {
    serde_json::from_str(data).map_err(|_| Unfit::Garbled("an event is not JSON".to_owned()))
}

/// The error in a message of any provider: in an object `error`, as a text, or beside it.
///
/// ```text
/// {"error": {"message": "…", "type": "…", "code": 429}}      {"type": "error", "error": {"type": "…", "message": "…"}}
/// {"error": "…"}                                              {"detail": "…"}      [{"error": {"code": 400, "status": "…"}}]
/// ```
pub(super) fn fault(message: &Value) -> Option<Fault> {
    let message = message.get(0).unwrap_or(message);
    let error = message.get("error").filter(|error| !error.is_null());
    let inner = error.filter(|error| error.is_object()).unwrap_or(message);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let said = text(inner.get("message")).or_else(|| text(error)).or_else(|| text(message.get("detail")));
    if error.is_none() && said.is_none() {
        return None;
    }
    let kinds = ["type", "code", "status"].map(|name| text(inner.get(name)).unwrap_or_default());
    let detail = text(inner.pointer("/details/error_code")).unwrap_or_default();
    let status = inner.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Some(Fault { status, kind: format!("{} {detail}", kinds.join(" ")), message: said.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(message: &Value, status: Option<u16>, kind: &str, text: &str) {
        let fault = fault(message).unwrap();
        let kind_of = fault.kind.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((fault.status, kind_of.as_str(), fault.message.as_str()), (status, kind, text));
    }

    #[test]
    fn errors_are_found_in_every_shape() {
        check(&json!({"error": {"message": "no", "type": "a", "code": "b"}}), None, "a b", "no");
        check(&json!({"error": {"message": "no", "code": 502}}), Some(502), "", "no");
        check(
            &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            None,
            "overloaded_error",
            "Overloaded",
        );
        check(
            &json!([{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "no"}}]),
            Some(400),
            "INVALID_ARGUMENT",
            "no",
        );
        check(&json!({"error": "no"}), None, "", "no");
        check(&json!({"detail": "Not Found"}), None, "", "Not Found");
        check(
            &json!({"error": {"type": "rate_limit_error", "details": {"error_code": "x"}}}),
            None,
            "rate_limit_error x",
            "",
        );
        assert_eq!(fault(&json!({"choices": [], "error": null})), None);
        assert_eq!(fault(&json!(7)), None);
    }

    #[test]
    fn an_answer_has_a_greatest_length() {
        let mut assembly = Assembly::new(4);
        assert_eq!(assembly.say("abc"), Ok(Sign::Answer("abc".to_owned())));
        assert!(assembly.call(0, "de").is_err());
    }

    #[test]
    fn one_tool_call_is_the_structured_answer_and_anything_else_is_text() {
        let reply = |calls: &[&str]| {
            let mut assembly = Assembly::new(1000);
            assembly.say("Here:").unwrap();
            for (index, call) in (0u64..).zip(calls) {
                assembly.call(index, call).unwrap();
            }
            let reply = assembly.into_reply(StopReason::Finished, false, &Redactor::new(Vec::new()));
            (reply.text, reply.structured)
        };
        assert_eq!(reply(&["{\"a\":1}"]), ("Here:".to_owned(), Some(json!({"a": 1}))));
        assert_eq!(reply(&["{\"a\":"]), ("Here:\n{\"a\":".to_owned(), None));
        assert_eq!(reply(&["{}", "{}"]), ("Here:\n{}\n{}".to_owned(), None));
        assert_eq!(reply(&[]), ("Here:".to_owned(), None));
    }
}
