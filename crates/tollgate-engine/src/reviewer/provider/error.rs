//! Errors of one attempt, their messages, and whether to retry.

use std::time::Duration;

use super::Connection;
use super::assembly::Fault;
use super::capabilities::Capabilities;
use crate::net;
use crate::reviewer::call::FailureCause;

/// The beginning of the message for a question beyond the context window.
pub const TOO_LONG: &str = "the question is too long for the model";

/// The longest quotation of a service's message.
const QUOTED: usize = 300;

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) why: FailureCause,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) again: Again,
}

/// Whether to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// A retry would fail as well.
    Never,
    /// After a backoff.
    Later,
    /// Not before the time that the service asks for.
    After(Duration),
    /// At once, without the rejected field.
    Otherwise(Capabilities),
}

impl Trouble {
    pub(super) fn new(why: FailureCause, message: impl Into<String>) -> Self {
        Self { why, message: message.into(), hint: None, again: Again::Never }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn again(mut self, again: Again) -> Self {
        self.again = again;
        self
    }

    /// The failure when the requested delay is beyond the deadline.
    pub(super) fn come_back(mut self, wait: Duration) -> Self {
        self.why = FailureCause::Overloaded;
        self.message = format!("{}; it asks to be left alone for {}", self.message, seconds(wait));
        self.hint(format!("Try again in {}, or give the review more time.", seconds(wait)))
    }
}

/// A duration in words.
pub(super) fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() as u64;
    match tenths {
        0..100 if !tenths.is_multiple_of(10) => format!("{}.{} s", tenths / 10, tenths % 10),
        0..1200 => format!("{} s", (tenths + 5) / 10),
        1200..72_000 => format!("{} minutes", tenths.div_ceil(600)),
        _ => format!("{} hours", tenths.div_ceil(36_000)),
    }
}

/// The call was cancelled.
pub(super) fn stopped(connection: &Connection) -> Trouble {
    Trouble::new(FailureCause::Cancelled, format!("the call to `{}` was stopped", connection.name))
}

/// The deadline passed.
pub(super) fn late(connection: &Connection, allowed: Duration) -> Trouble {
    Trouble::new(FailureCause::TooSlow, format!("`{}` did not finish within {}", connection.name, seconds(allowed)))
        .hint("Give the review more time, or ask a faster model.")
}

/// The idle timeout passed.
pub(super) fn silent(connection: &Connection, idle: Duration) -> Trouble {
    Trouble::new(FailureCause::TooSlow, format!("`{}` was silent for {}", connection.name, seconds(idle)))
        .hint("Try again later, or allow longer pauses if the model needs them.")
}

/// The response is invalid.
pub(super) fn garbled(connection: &Connection, what: &str) -> Trouble {
    Trouble::new(FailureCause::Garbled, format!("what `{}` sent is no answer: {what}", connection.name))
}

/// The stream ended before the end of the answer.
pub(super) fn broken_off(connection: &Connection, begun: bool) -> Trouble {
    if begun {
        return Trouble::new(FailureCause::Garbled, format!("the answer of `{}` broke off half way", connection.name));
    }
    Trouble::new(FailureCause::Unavailable, format!("`{}` ended the connection without an answer", connection.name))
        .again(Again::Later)
}

/// The connection failed.
pub(super) fn unreachable(connection: &Connection, error: &reqwest::Error) -> Trouble {
    let mut cause: &dyn std::error::Error = error;
    let mut says = String::new();
    while let Some(source) = cause.source() {
        cause = source;
        says = cause.to_string();
    }
    let trouble = |says: &str| {
        Trouble::new(
            FailureCause::Unavailable,
            format!("`{}` cannot be reached at {}: {says}", connection.name, connection.base_url),
        )
    };
    if error.is_timeout() {
        return trouble("the connection took too long").hint(reach_hint(connection)).again(Again::Later);
    }
    let is_about_tls = ["certificate", "handshake", "tls", "corrupt message", "InvalidContentType"];
    if is_about_tls.iter().any(|word| says.contains(word)) {
        return trouble(&format!("no secure connection comes about ({says})")).hint(
            "Check that the base URL begins as the server expects, and that this machine trusts its certificate.",
        );
    }
    if error.is_builder() {
        return Trouble::new(FailureCause::Setup, format!("`{}` cannot be asked: {says}", connection.name));
    }
    if !error.is_connect() {
        return broken_off(connection, false);
    }
    trouble(if says.is_empty() { "the connection failed" } else { &says })
        .hint(reach_hint(connection))
        .again(Again::Later)
}

fn reach_hint(connection: &Connection) -> &'static str {
    let is_near = reqwest::Url::parse(&connection.base_url).is_ok_and(|url| net::is_loopback(&url));
    if is_near {
        "Start the server, or correct its base URL."
    } else {
        "Check the network, the proxy in `HTTPS_PROXY` and the base URL."
    }
}

/// The service rejected the request; the status is that of HTTP or the equivalent code in an event.
pub(super) fn refused(connection: &Connection, status: u16, fault: &Fault, asked_for: Option<Duration>) -> Trouble {
    let name = &connection.name;
    let said = quoted(&fault.message);
    let kind = format!("{} {}", fault.kind, fault.message).to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let retry = asked_for.map_or(Again::Later, Again::After);
    let trouble = |why: FailureCause, what: &str| Trouble::new(why, format!("`{name}` {what} (HTTP {status}){said}"));
    match status {
        400 | 413 | 422 if status == 413 || is(TOO_MUCH) => {
            Trouble::new(FailureCause::Setup, format!("{TOO_LONG} of `{name}` (HTTP {status}){said}"))
                .hint("Lower the number of tokens that are sent at once, or choose a model that takes more.")
        }
        401 | 403 => trouble(FailureCause::Setup, "does not accept the key").hint(key_hint(connection)),
        402 => trouble(FailureCause::Setup, "wants to be paid first")
            .hint("Add credit to the account, or use another provider."),
        429 if is(&["insufficient_quota", "enforced_spend_limit", "billing_hard_limit"]) => {
            trouble(FailureCause::Setup, "wants to be paid first")
                .hint("Raise the limit of the account, or use another provider.")
        }
        404 => trouble(FailureCause::Setup, &format!("knows no model `{}` at this address", connection.model))
            .hint("Check the model's name and the base URL."),
        429 => trouble(FailureCause::Overloaded, "limits how often it is asked").again(retry),
        503 | 529 => trouble(FailureCause::Overloaded, "is overloaded").again(retry),
        408 | 500 | 502 | 504 => trouble(FailureCause::Unavailable, "failed").again(retry),
        300..400 => trouble(FailureCause::Setup, "sends us to another address, which could be anybody's")
            .hint("Set the base URL to where the service really is."),
        400..500 => trouble(FailureCause::Setup, "does not accept the question"),
        _ => trouble(FailureCause::Unavailable, "failed"),
    }
}

/// Parts of messages about a question that is too long.
const TOO_MUCH: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "context length",
    "context size",
    "context window",
    "prompt is too long",
    "input is too long",
    "request_too_large",
    "input token count",
    "maximum number of tokens",
    "too many tokens",
];

fn key_hint(connection: &Connection) -> String {
    match (&connection.key, &connection.key_from) {
        (None, Some(from)) => format!("Set `{from}` to a key of this service."),
        (Some(_), Some(from)) => {
            format!("Check that `{from}` holds a valid key of this service that may use the model.")
        }
        (None, None) => "The service wants a key; name the environment variable that holds it.".to_owned(),
        (Some(_), None) => "Check that the key is valid and may use the model.".to_owned(),
    }
}

/// The service's message, as the end of ours.
fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(QUOTED).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    if shown.is_empty() { String::new() } else { format!(": “{shown}”") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let said = [0.0, 0.04, 1.5, 5.999, 30.4, 119.9, 300.0, 301.0, 90_000.0]
            .map(|time| seconds(Duration::from_secs_f64(time)));
        assert_eq!(said.join(", "), "0 s, 0 s, 1.5 s, 6 s, 30 s, 120 s, 5 minutes, 6 minutes, 25 hours");
        assert!(seconds(Duration::MAX).ends_with(" hours"));
    }
}
