//! Exchanges with models, kept and played again.
//!
//! A record is one JSON object a line: first what the record is, then each exchange with what was asked and what came
//! back. Secrets are unreadable in it already: nothing else is ever sent or kept.
//!
//! ```text
//! {"tollgate_record":1,"version":"0.1.0","boundary":4562871…}
//! {"reviewer":"claude","pass":1,"call":1,"round":1,"question":{…},"reply":{…}}
//! ```
//!
//! A review is played again on the same change with the same settings: then the same questions are asked, and each
//! is answered as it was. Another question is refused: an answer to something else is no review.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{CallFailure, Question, Repair, Reply, Stop, Usage, Why};
use crate::failure::{self, Failure};

/// The one format there is.
const FORMAT: u64 = 1;

/// A larger record is refused.
pub const MAX_BYTES: u64 = 512 << 20;

/// Whether exchanges are kept or played again.
#[derive(Debug)]
pub enum Tape {
    /// Neither.
    Off,
    /// They are kept.
    Recording(Mutex<Vec<Exchange>>),
    /// They are played again.
    Playing(Vec<Exchange>),
}

/// Which exchange of a review it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Who was asked.
    pub reviewer: String,
    /// For which time, from 1.
    pub pass: u32,
    /// Which part of the change, from 1.
    pub call: usize,
    /// 1, or 2 when an answer could not be read.
    pub round: u32,
}

/// What was asked and what came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    #[serde(flatten)]
    place: Place,
    question: Asked,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<Replied>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    tollgate_record: u64,
    version: String,
    boundary: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Asked {
    system: String,
    shared: String,
    part: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repair: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Replied {
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
struct Failed {
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

        impl From<$kind> for $word {
            fn from(kind: $kind) -> Self {
                match kind { $($kind::$variant => Self::$variant),* }
            }
        }

        impl From<$word> for $kind {
            fn from(word: $word) -> Self {
                match word { $($word::$variant => Self::$variant),* }
            }
        }
    };
}

words!(StopWord for Stop: Finished, Length, Refused);
words!(WhyWord for Why: Setup, Overloaded, Unavailable, TooSlow, Garbled, Cancelled, Misbehaved);

impl Tape {
    /// Keeps exchanges.
    #[must_use]
    pub fn recording() -> Self {
        Self::Recording(Mutex::new(Vec::new()))
    }

    /// Who answered in a record that is played again, each once.
    #[must_use]
    pub fn reviewers(&self) -> Vec<String> {
        let Self::Playing(exchanges) = self else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for Exchange { place, .. } in exchanges {
            if !names.contains(&place.reviewer) {
                names.push(place.reviewer.clone());
            }
        }
        names
    }

    /// Asks by `ask`, or gives what the record says.
    pub(crate) fn exchange(
        &self,
        place: &Place,
        question: &Question,
        ask: impl FnOnce() -> Result<Reply, CallFailure>,
    ) -> Result<Reply, CallFailure> {
        match self {
            Self::Off => ask(),
            Self::Recording(kept) => {
                let outcome = ask();
                let exchange = Exchange {
                    place: place.clone(),
                    question: question.into(),
                    reply: outcome.as_ref().ok().map(Replied::from),
                    failure: outcome.as_ref().err().map(Failed::from),
                };
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
                outcome
            }
            Self::Playing(exchanges) => play(exchanges, place, question),
        }
    }

    /// The record as it is written to a file; `None` unless exchanges are kept.
    #[must_use]
    pub fn written(&self, boundary: u64) -> Option<String> {
        let Self::Recording(kept) = self else {
            return None;
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Calls end in any order; a record is in that of the plan.
        kept.sort_by(|a, b| a.place.cmp(&b.place));
        let head = Head { tollgate_record: FORMAT, version: env!("CARGO_PKG_VERSION").to_owned(), boundary };
        let mut text = serde_json::to_string(&head).unwrap_or_default() + "\n";
        for exchange in &kept {
            text.push_str(&serde_json::to_string(exchange).unwrap_or_default());
            text.push('\n');
        }
        Some(text)
    }
}

/// An exchange as it is shown to whoever wants to know how a review came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Which one it is.
    pub place: Place,
    /// What the reviewer was told about its role.
    pub system: String,
    /// What it was asked.
    pub question: String,
    /// What came back, word for word; why nothing did, otherwise.
    pub reply: Result<ToldReply, String>,
}

/// What came back from a reviewer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldReply {
    /// The text, and what was given in a form of its own below it.
    pub text: String,
    /// The model that says it answered.
    pub model: Option<String>,
    /// True when the answer was truncated or refused.
    pub is_cut: bool,
    /// Tokens of the question and of the answer.
    pub tokens: (u64, u64),
    /// What it cost in US dollars, if that is known.
    pub cost: Option<f64>,
}

impl Tape {
    /// What a record that was read tells, in its order.
    #[must_use]
    pub fn told(&self) -> Vec<Told> {
        let Self::Playing(exchanges) = self else { return Vec::new() };
        exchanges.iter().map(Told::from).collect()
    }
}

impl From<&Exchange> for Told {
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

impl From<&Replied> for ToldReply {
    fn from(replied: &Replied) -> Self {
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

/// Reads a record: the exchanges and the boundary that was used. `name` is what it is called in messages.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Tape, u64), Failure> {
    let mut lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let head = lines.next().and_then(|(_, line)| serde_json::from_slice::<Head>(line).ok());
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
    Ok((Tape::Playing(exchanges), head.boundary))
}

fn play(exchanges: &[Exchange], place: &Place, question: &Question) -> Result<Reply, CallFailure> {
    let other = |message: &str| CallFailure {
        why: Why::Setup,
        message: message.to_owned(),
        hint: Some("Replay it on the change that was recorded, with the same settings and flags.".to_owned()),
        n_tries: 0,
    };
    let Some(exchange) = exchanges.iter().find(|exchange| exchange.place == *place) else {
        let Place { reviewer, pass, call, .. } = place;
        return Err(other(&format!("the record has no answer of `{reviewer}` to call {call} of pass {pass}")));
    };
    if exchange.question != Asked::from(question) {
        return Err(other("the record is of another change, or of other settings"));
    }
    match (&exchange.reply, &exchange.failure) {
        (Some(reply), _) => Ok(reply.into()),
        (None, Some(failure)) => Err(failure.into()),
        (None, None) => Err(other("the record holds neither a reply nor a failure for a call")),
    }
}

impl From<&Question> for Asked {
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

impl From<&Reply> for Replied {
    fn from(reply: &Reply) -> Self {
        let Usage { input, cached, output } = reply.usage;
        let (text, structured) = (reply.text.clone(), reply.structured.clone());
        let (cost, model) = (reply.cost, reply.model.clone());
        Self { text, structured, stop: reply.stop.into(), input, cached, output, cost, model }
    }
}

impl From<&Replied> for Reply {
    fn from(replied: &Replied) -> Self {
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

impl From<&CallFailure> for Failed {
    fn from(failure: &CallFailure) -> Self {
        let CallFailure { why, message, hint, n_tries } = failure.clone();
        Self { why: why.into(), message, hint, tries: n_tries }
    }
}

impl From<&Failed> for CallFailure {
    fn from(failed: &Failed) -> Self {
        let Failed { why, message, hint, tries } = failed.clone();
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
    fn what_is_no_record_is_refused_with_the_line() {
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
        assert!(matches!(read("r.jsonl", head.as_bytes()), Ok((Tape::Playing(exchanges), 7)) if exchanges.is_empty()));
    }
}
