//! Records exchanges with models, and replays them.
//!
//! A record is a file of JSON lines: first a header, then each exchange with its question and its reply. Secrets are
//! redacted before an exchange is sent or recorded.
//!
//! ```text
//! {"tollgate_record":1,"version":"0.1.0","boundary":4562871…}
//! {"reviewer":"claude","pass":1,"call":1,"round":1,"question":{…},"reply":{…}}
//! ```
//!
//! A replay needs the same change and the same settings: then the questions are the same, and each gets its recorded
//! reply. Any other question is an error.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{CallFailure, FailureCause, Question, Repair, Reply, StopReason, Usage};
use crate::failure::{self, Failure};

/// The version of the format.
const FORMAT: u64 = 1;

/// The largest record that is read.
pub const MAX_BYTES: u64 = 512 << 20;

/// Whether exchanges are recorded or replayed.
#[derive(Debug)]
pub enum Recording {
    /// Neither.
    Off,
    /// Exchanges are recorded.
    On(Mutex<Vec<Exchange>>),
    /// Exchanges are replayed.
    Replay(Vec<Exchange>),
}

/// The identity of an exchange within a review.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExchangeId {
    /// The name of the reviewer.
    pub reviewer: String,
    /// The number of the pass, from 1.
    pub pass: u32,
    /// The number of the call, from 1.
    pub call: usize,
    /// 1, or 2 for the repair of an invalid answer.
    pub round: u32,
}

/// A question and its reply or failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    #[serde(flatten)]
    place: ExchangeId,
    question: RecordedQuestion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<StoredReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<StoredFailure>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordHeader {
    tollgate_record: u64,
    version: String,
    boundary: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RecordedQuestion {
    system: String,
    shared: String,
    part: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repair: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredReply {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    stop: StopWord,
    input: u64,
    cached: u64,
    output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredFailure {
    why: WhyWord,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    tries: u32,
}

macro_rules! words {
    ($word:ident for $kind:ident: $($variant:ident),*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum $word { $($variant),* }

        same_variants!($kind => $word: $($variant)*);
        same_variants!($word => $kind: $($variant)*);
    };
}

words!(StopWord for StopReason: Finished, Length, Refused);
words!(WhyWord for FailureCause: Setup, Overloaded, Unavailable, TooSlow, Garbled, Cancelled, Misbehaved);

impl Recording {
    /// Starts a recording.
    pub fn start() -> Self {
        Self::On(Mutex::new(Vec::new()))
    }

    /// The names of the reviewers in a replayed record.
    pub fn reviewers(&self) -> Vec<String> {
        let Self::Replay(exchanges) = self else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for Exchange { place, .. } in exchanges {
            if !names.contains(&place.reviewer) {
                names.push(place.reviewer.clone());
            }
        }
        names
    }

    /// Calls `ask` and records the exchange, or replays the recorded reply.
    pub(crate) fn exchange(
        &self,
        place: &ExchangeId,
        question: &Question,
        ask: impl FnOnce() -> Result<Reply, CallFailure>,
    ) -> Result<Reply, CallFailure> {
        match self {
            Self::Off => ask(),
            Self::On(kept) => {
                let outcome = ask();
                let exchange = Exchange {
                    place: place.clone(),
                    question: question.into(),
                    reply: outcome.as_ref().ok().map(StoredReply::from),
                    failure: outcome.as_ref().err().map(StoredFailure::from),
                };
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
                outcome
            }
            Self::Replay(exchanges) => replay(exchanges, place, question),
        }
    }

    /// The record as the text of a file; `None` unless exchanges are recorded.
    pub fn written(&self, boundary: u64) -> Option<String> {
        let Self::On(kept) = self else {
            return None;
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Calls end in any order; a record has the order of the plan.
        kept.sort_by(|a, b| a.place.cmp(&b.place));
        let head = RecordHeader { tollgate_record: FORMAT, version: env!("CARGO_PKG_VERSION").to_owned(), boundary };
        let mut text = serde_json::to_string(&head).unwrap_or_default() + "\n";
        for exchange in &kept {
            text.push_str(&serde_json::to_string(exchange).unwrap_or_default());
            text.push('\n');
        }
        Some(text)
    }
}

/// An exchange of a record, for the audit page of a review.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedExchange {
    /// Its identity.
    pub place: ExchangeId,
    /// The system prompt.
    pub system: String,
    /// The question.
    pub question: String,
    /// The reply verbatim, or the failure.
    pub reply: Result<RecordedReply, String>,
}

/// A recorded reply.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedReply {
    /// The text, followed by the structured output.
    pub text: String,
    /// The model that answered, as it reports itself.
    pub model: Option<String>,
    /// True when the answer was truncated or refused.
    pub is_cut: bool,
    /// Tokens of the question and of the answer.
    pub tokens: (u64, u64),
    /// The cost in US dollars, if known.
    pub cost: Option<f64>,
}

impl Recording {
    /// The exchanges of a replayed record, in order.
    pub fn exchanges(&self) -> Vec<RecordedExchange> {
        let Self::Replay(exchanges) = self else { return Vec::new() };
        exchanges.iter().map(RecordedExchange::from).collect()
    }
}

impl From<&Exchange> for RecordedExchange {
    fn from(Exchange { place, question, reply, failure }: &Exchange) -> Self {
        let parts = [Some(&question.shared), Some(&question.part), question.answer.as_ref(), question.repair.as_ref()];
        let parts: Vec<&str> = parts.into_iter().flatten().map(|part| part.trim_end()).collect();
        let reply = match (reply, failure) {
            (Some(reply), _) => Ok(reply.into()),
            (None, Some(failed)) => Err(failed.message.clone()),
            (None, None) => Err("the record holds neither a reply nor a failure".to_owned()),
        };
        Self { place: place.clone(), system: question.system.clone(), question: parts.join("\n\n"), reply }
    }
}

impl From<&StoredReply> for RecordedReply {
    fn from(replied: &StoredReply) -> Self {
        let structured = replied.structured.as_ref().map(|value| format!("{value:#}"));
        let parts = [Some(replied.text.trim_end().to_owned()), structured];
        let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        Self {
            text: parts.join("\n\n"),
            model: replied.model.clone(),
            is_cut: replied.stop != StopWord::Finished,
            tokens: (replied.input, replied.output),
            cost: replied.cost,
        }
    }
}

/// Parses a record into its exchanges and its boundary. `name` names it in messages.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Recording, u64), Failure> {
    let mut lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let head = lines.next().and_then(|(_, line)| serde_json::from_slice::<RecordHeader>(line).ok());
    let head = head.ok_or_else(|| failure::not_a_record(name))?;
    if head.tollgate_record != FORMAT {
        return Err(failure::newer_record(name, head.tollgate_record));
    }
    let mut exchanges = Vec::new();
    for (line_index, line) in lines {
        let exchange: Exchange = serde_json::from_slice(line)
            .map_err(|error| failure::bad_record(name, line_index + 1, &error.to_string()))?;
        exchanges.push(exchange);
    }
    Ok((Recording::Replay(exchanges), head.boundary))
}

fn replay(exchanges: &[Exchange], place: &ExchangeId, question: &Question) -> Result<Reply, CallFailure> {
    let other = |message: &str| CallFailure {
        why: FailureCause::Setup,
        message: message.to_owned(),
        hint: Some("Replay it on the change that was recorded, with the same settings and flags.".to_owned()),
        n_tries: 0,
    };
    let Some(exchange) = exchanges.iter().find(|exchange| exchange.place == *place) else {
        let ExchangeId { reviewer, pass, call, .. } = place;
        return Err(other(&format!("the record has no answer of `{reviewer}` to call {call} of pass {pass}")));
    };
    if exchange.question != RecordedQuestion::from(question) {
        return Err(other("the record is of another change, or of other settings"));
    }
    match (&exchange.reply, &exchange.failure) {
        (Some(reply), _) => Ok(reply.into()),
        (None, Some(failure)) => Err(failure.into()),
        (None, None) => Err(other("the record holds neither a reply nor a failure for a call")),
    }
}

impl From<&Question> for RecordedQuestion {
    fn from(question: &Question) -> Self {
        let repair: Option<&Repair> = question.repair.as_ref();
        Self {
            system: question.system.clone(),
            shared: question.shared.clone(),
            part: question.part.clone(),
            answer: repair.map(|repair| repair.answer.clone()),
            repair: repair.map(|repair| repair.request.clone()),
        }
    }
}

impl From<&Reply> for StoredReply {
    fn from(reply: &Reply) -> Self {
        let Usage { input, cached, output } = reply.usage;
        let (text, structured) = (reply.text.clone(), reply.structured.clone());
        let (cost, model) = (reply.cost, reply.model.clone());
        Self { text, structured, stop: reply.stop.into(), input, cached, output, cost, model }
    }
}

impl From<&StoredReply> for Reply {
    fn from(replied: &StoredReply) -> Self {
        Self {
            text: replied.text.clone(),
            structured: replied.structured.clone(),
            stop: replied.stop.into(),
            usage: Usage { input: replied.input, cached: replied.cached, output: replied.output },
            cost: replied.cost,
            model: replied.model.clone(),
        }
    }
}

impl From<&CallFailure> for StoredFailure {
    fn from(failure: &CallFailure) -> Self {
        let CallFailure { why, message, hint, n_tries } = failure.clone();
        Self { why: why.into(), message, hint, tries: n_tries }
    }
}

impl From<&StoredFailure> for CallFailure {
    fn from(failed: &StoredFailure) -> Self {
        let StoredFailure { why, message, hint, tries } = failed.clone();
        Self { why: why.into(), message, hint, n_tries: tries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(read("r.jsonl", text.as_bytes()).unwrap_err().message, expected);
    }

    #[test]
    fn an_invalid_record_is_refused_with_its_line() {
        let head = r#"{"tollgate_record":1,"version":"0.1.0","boundary":7}"#;
        check("", "`r.jsonl` is not a record of a review");
        check("{}", "`r.jsonl` is not a record of a review");
        check(
            r#"{"tollgate_record":2,"version":"9","boundary":7}"#,
            "`r.jsonl` is a record of format 2, and only format 1 can be read",
        );
        let problem = read("r.jsonl", format!("{head}\n\n{{\"reviewer\":\"x\"}}\n").as_bytes()).unwrap_err().message;
        assert!(
            problem.starts_with("line 3 of the record `r.jsonl` cannot be read: missing field `question`"),
            "{problem}"
        );
        assert!(
            matches!(read("r.jsonl", head.as_bytes()), Ok((Recording::Replay(exchanges), 7)) if exchanges.is_empty())
        );
    }
}
