//! An event as clients get it.

use axum::extract::ws::Utf8Bytes;
use serde_json::json;

use crate::events::Event;

/// An event, made ready for sending once and shared by all who get it.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The number of the event.
    pub seq: u64,
    /// The project it belongs to; `None` for one that concerns all.
    pub project: Option<u64>,
    /// The text that is sent.
    pub text: Utf8Bytes,
}

impl Frame {
    /// Makes an event ready for sending.
    pub fn new(event: &Event) -> Self {
        // What the log holds is put in as it is; should it be broken, the rest of the frame is not.
        let payload = match serde_json::from_str::<serde::de::IgnoredAny>(&event.payload) {
            Ok(_) => event.payload.as_str(),
            Err(_) => "null",
        };
        let (kind, at) = (json!(event.kind), json!(event.at));
        let text = format!(r#"{{"type":{kind},"payload":{payload},"seq":{},"timestamp":{at}}}"#, event.seq);
        // A line break between tokens is legal in JSON and would end a line of an event stream.
        let text = if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text };
        Self { seq: event.seq, project: event.project, text: text.into() }
    }

    /// True when a client that listens to this project, or to all, gets it.
    pub fn is_for(&self, project: Option<u64>) -> bool {
        project.is_none() || self.project.is_none() || self.project == project
    }
}

/// The first frame of a stream: how far things have gone.
pub fn hello(seq: u64) -> Utf8Bytes {
    control("hello", seq)
}

/// The last frame for a client that has missed what cannot be sent again.
pub fn resync(seq: u64) -> Utf8Bytes {
    control("resync", seq)
}

/// The last frame before the server ends.
pub fn goodbye(seq: u64) -> Utf8Bytes {
    control("goodbye", seq)
}

fn control(kind: &str, seq: u64) -> Utf8Bytes {
    format!(r#"{{"type":"{kind}","seq":{seq}}}"#).into()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn event(payload: &str) -> Event {
        Event {
            seq: 17,
            project: Some(1),
            kind: "feature:code-review-started".to_owned(),
            payload: payload.to_owned(),
            at: "2026-01-09T14:22:00.000Z".to_owned(),
        }
    }

    #[track_caller]
    fn check(payload: &str) -> String {
        Frame::new(&event(payload)).text.to_string()
    }

    #[test]
    fn an_event_has_its_name_its_payload_its_number_and_its_time() {
        assert_snapshot!(check(r#"{"featureId":"login","iterationNumber":1}"#), @r#"{"type":"feature:code-review-started","payload":{"featureId":"login","iterationNumber":1},"seq":17,"timestamp":"2026-01-09T14:22:00.000Z"}"#);
    }

    #[test]
    fn a_broken_payload_does_not_break_the_frame() {
        assert!(check(r#"{"a": 1}, "seq": 99"#).contains(r#""payload":null,"seq":17"#));
        assert!(!check("{\n\"a\":\r\n1}").contains(['\n', '\r']));
    }

    #[test]
    fn an_event_is_for_its_project_and_for_whoever_listens_to_all() {
        let frame = Frame::new(&event("{}"));
        assert!(frame.is_for(None) && frame.is_for(Some(1)) && !frame.is_for(Some(2)));
    }
}
