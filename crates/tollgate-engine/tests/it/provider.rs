//! Providers against services that go wrong.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tollgate_engine::reviewer::call::{
    Backend as _, CallControl, CallFailure, CallProgress, FailureCause, Question, Reply, StopReason,
};
use tollgate_engine::reviewer::provider::{Connection, Key, Model, Net, Protocol, Provider, Structured, probe};

use crate::faults::{Act, Fault, FaultServer};

const KEY: &str = "sk-test-Zq7x9Lm2";
const PROTOCOLS: [Protocol; 3] = [Protocol::OpenAi, Protocol::Anthropic, Protocol::Gemini];

/// The whole time that a call may take here; a machine may be slow.
const LIMIT: Duration = Duration::from_secs(10);

fn connection(protocol: Protocol, server: &FaultServer) -> Connection {
    let mut connection = Connection::new("it", protocol, server.base_url(), "m");
    connection.key = Some(Key::new(KEY).unwrap());
    connection.key_from = Some("IT_KEY".to_owned());
    connection.structured = Structured::Schema;
    connection.back_off = Duration::from_millis(20);
    connection
}

fn question() -> Question {
    let schema = json!({"type": "object", "properties": {"decision": {"type": "string"}}, "required": ["decision"]});
    let text = |text: &str| text.to_owned();
    Question { system: text("system"), shared: text("shared"), part: text("part"), schema, repair: None }
}

/// A call and its progress events.
struct Call {
    asked: Result<Reply, CallFailure>,
    heard: Vec<CallProgress>,
}

fn ask(provider: &Provider, limit: Duration, cancel: &CancellationToken) -> Call {
    let heard = Mutex::new(Vec::new());
    let hear = |sign: CallProgress| heard.lock().unwrap().push(sign);
    let watch = CallControl { deadline: Instant::now() + limit, idle: Duration::from_secs(2), cancel, heard: &hear };
    let asked = provider.ask(&question(), &watch);
    Call { asked, heard: heard.into_inner().unwrap() }
}

fn ask_once(connection: Connection) -> Call {
    ask(&Provider::new(connection, &Net::new()).unwrap(), LIMIT, &CancellationToken::new())
}

/// The expected failure of a fault, and the number of attempts.
fn expected(fault: Fault) -> (Result<StopReason, FailureCause>, u32) {
    match fault {
        Fault::Refused | Fault::Internal | Fault::BadGateway => (Err(FailureCause::Unavailable), 3),
        Fault::BadTls => (Err(FailureCause::Unavailable), 1),
        Fault::NoBytes | Fault::Drip => (Err(FailureCause::TooSlow), 1),
        Fault::Limited | Fault::LimitedWithoutWord => (Err(FailureCause::Overloaded), 3),
        Fault::Unavailable | Fault::Overloaded => (Err(FailureCause::Overloaded), 3),
        Fault::ErrorEvent => (Err(FailureCause::Overloaded), 1),
        Fault::HalfStream | Fault::Html | Fault::WrongJson | Fault::Big | Fault::Endless => {
            (Err(FailureCause::Garbled), 1)
        }
        Fault::Length => (Ok(StopReason::Length), 1),
        Fault::Refusal => (Ok(StopReason::Refused), 1),
    }
}

fn check(fault: Fault, protocol: Protocol) {
    let server = FaultServer::failing(fault);
    let call = ask_once(connection(protocol, &server));
    let named = format!("{fault:?} over {protocol:?}: {:?}", call.asked);
    assert!(!named.contains("Zq7x9") && !format!("{:?}", call.heard).contains("Zq7x9"), "{named} shows the key");

    let (outcome, n_tries) = expected(fault);
    let stop = call.asked.as_ref().map(|reply| reply.stop).map_err(|failure| failure.why);
    assert_eq!(stop, outcome, "{named}");
    if let Err(failure) = &call.asked {
        assert_eq!(failure.n_tries, n_tries, "{named}");
        assert!(!failure.message.is_empty() && !failure.message.ends_with('.'), "{named}");
    }
    // Silence ends a call long before its deadline does.
    let message = call.asked.as_ref().err().map_or("", |failure| &failure.message);
    match fault {
        Fault::NoBytes => assert_eq!(message, "`it` was silent for 2 s"),
        Fault::Drip => assert!(message.starts_with("`it` did not finish within "), "{message}"),
        _ => {}
    }
    let times = server.times();
    assert!(times.len() <= n_tries as usize, "{named}: {} tries", times.len());
    if fault == Fault::Limited {
        let early = times.windows(2).find(|pair| pair[1] - pair[0] < Fault::WAIT);
        assert_eq!(early, None, "{named} came back too soon");
    }
}

/// Set in the process of the test alone, so that the memory of others is not counted.
const ALONE: &str = "TOLLGATE_TEST_FAULTS";

#[test]
fn every_fault_ends_in_time_with_its_reason_and_at_most_three_tries() {
    if std::env::var_os(ALONE).is_none() {
        let name = "provider::every_fault_ends_in_time_with_its_reason_and_at_most_three_tries";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let output = alone.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
        return;
    }
    std::thread::scope(|scope| {
        for fault in Fault::ALL {
            for protocol in PROTOCOLS {
                scope.spawn(move || check(fault, protocol));
            }
        }
    });
    // All at once, among them fifteen answers that would fill the memory.
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        let peak: u64 = peak.unwrap();
        assert!(peak < 250 << 10, "the tests took {} MiB", peak >> 10);
    }
}

#[test]
fn a_whole_answer_is_a_reply() {
    for protocol in PROTOCOLS {
        let server = FaultServer::playing(vec![Act::Answer("{\"decision\":\"rejected\"}".to_owned())]);
        let call = ask_once(connection(protocol, &server));
        let reply = call.asked.unwrap();
        assert_eq!((reply.stop, reply.structured), (StopReason::Finished, Some(json!({"decision": "rejected"}))));
        assert_eq!((reply.usage.input, reply.usage.output), (7, 3));
        let pieces = ["{\"decision\"", ":\"rejected\"}"].map(|text| CallProgress::Answer(text.to_owned()));
        assert_eq!(call.heard, [&[CallProgress::Sent][..], &pieces].concat());
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_stream_without_its_end_mark_is_no_answer() {
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    let delta = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n";
    let stop = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    let candidate = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n\n";
    let streams = [
        (Protocol::OpenAi, said.to_owned()),
        (Protocol::OpenAi, said.replace("\"stop\"", "null") + "data: [DONE]\n\n"),
        (Protocol::Anthropic, format!("{delta}{stop}")),
        (Protocol::Anthropic, format!("{delta}data: {{\"type\":\"message_stop\"}}\n\n")),
        (Protocol::Gemini, candidate.to_owned()),
    ];
    for (protocol, stream) in streams {
        let head = format!("HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ncontent-length: {}", stream.len());
        let server = FaultServer::playing(vec![Act::Raw(format!("{head}\r\n\r\n{stream}"))]);
        let failure = ask_once(connection(protocol, &server)).asked.unwrap_err();
        assert_eq!((failure.why, failure.n_tries), (FailureCause::Garbled, 1), "{protocol:?}: {stream}");
    }
}

/// A response in one piece.
fn json_response(kind: &str, body: &serde_json::Value) -> Act {
    let body = body.to_string();
    Act::Raw(format!("HTTP/1.1 200 OK\r\n{kind}content-length: {}\r\n\r\n{body}", body.len()))
}

const JSON: &str = "content-type: application/json; charset=utf-8\r\n";

/// A completion without a stream: text or the arguments of a tool, and the reason to stop in the words of the protocol.
fn completion(protocol: Protocol, text: &str, tool: bool, stop: &str) -> serde_json::Value {
    let arguments: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    match protocol {
        Protocol::OpenAi => {
            let call =
                json!([{"id": "1", "type": "function", "function": {"name": "report_review", "arguments": text}}]);
            let message = if tool { json!({"content": null, "tool_calls": call}) } else { json!({"content": text}) };
            json!({
                "object": "chat.completion", "model": "m-1",
                "choices": [{"index": 0, "message": message, "finish_reason": stop}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3},
            })
        }
        Protocol::Anthropic => {
            let call = json!({"type": "tool_use", "name": "report_review", "input": arguments});
            let block = if tool { call } else { json!({"type": "text", "text": text}) };
            json!({
                "type": "message", "role": "assistant", "model": "m-1", "content": [block], "stop_reason": stop,
                "usage": {"input_tokens": 7, "output_tokens": 3},
            })
        }
        Protocol::Gemini => {
            let call = json!({"functionCall": {"name": "report_review", "args": arguments}});
            let part = if tool { call } else { json!({"text": text}) };
            json!({
                "candidates": [{"content": {"parts": [part], "role": "model"}, "finishReason": stop}],
                "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}, "modelVersion": "m-1",
            })
        }
    }
}

// Issue 17: such answers were refused with a hint that blamed the base URL.
#[test]
fn a_completion_without_a_stream_is_read_like_a_stream() {
    let answer = "{\"decision\":\"rejected\"}";
    for (protocol, stop, length) in [
        (Protocol::OpenAi, "stop", "length"),
        (Protocol::Anthropic, "end_turn", "max_tokens"),
        (Protocol::Gemini, "STOP", "MAX_TOKENS"),
    ] {
        for tool in [false, true] {
            let body = completion(protocol, answer, tool, stop);
            // Services name the type as they like, or not at all.
            for kind in [JSON, "content-type: text/plain\r\n", "content-type: text/event-stream\r\n", ""] {
                let server = FaultServer::playing(vec![json_response(kind, &body)]);
                let reply = ask_once(connection(protocol, &server)).asked.unwrap();
                let structured = Some(json!({"decision": "rejected"}));
                assert_eq!((reply.stop, reply.structured), (StopReason::Finished, structured), "{kind}{body}");
                assert_eq!((reply.usage.input, reply.usage.output), (7, 3), "{body}");
                assert_eq!((reply.model.as_deref(), server.requests().len()), (Some("m-1"), 1));
            }
        }
        let server = FaultServer::playing(vec![json_response(JSON, &completion(protocol, "half", false, length))]);
        assert_eq!(ask_once(connection(protocol, &server)).asked.unwrap().stop, StopReason::Length, "{protocol:?}");
    }
    let parts = json!([
        {"candidates": [{"content": {"parts": [{"text": "fi"}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "ne"}]}, "finishReason": "STOP"}]},
    ]);
    let server = FaultServer::playing(vec![json_response(JSON, &parts)]);
    assert_eq!(ask_once(connection(Protocol::Gemini, &server)).asked.unwrap().text, "fine");
}

#[test]
fn json_that_is_no_completion_stays_an_error() {
    for protocol in PROTOCOLS {
        let fails = |body: &serde_json::Value| {
            let server = FaultServer::playing(vec![json_response(JSON, body)]);
            let failure = ask_once(connection(protocol, &server)).asked.unwrap_err();
            (failure.why, failure.n_tries, failure.hint.unwrap_or_default())
        };
        let (why, n_tries, hint) = fails(&json!({"status": "log in"}));
        assert_eq!((why, n_tries), (FailureCause::Garbled, 1), "{protocol:?}");
        assert!(hint.starts_with("Check the base URL"), "{hint}");
        let (why, n_tries, _) =
            fails(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}));
        assert_eq!((why, n_tries), (FailureCause::Overloaded, 3), "{protocol:?}");
        // Without a reason to stop, an answer is not whole.
        let mut body = completion(protocol, "fine", false, "x");
        for pointer in ["/choices/0/finish_reason", "/stop_reason", "/candidates/0/finishReason"] {
            if let Some(reason) = body.pointer_mut(pointer) {
                *reason = json!(null);
            }
        }
        assert_eq!(fails(&body).0, FailureCause::Garbled, "{protocol:?}");
    }
}

// Issue 17: the name of a tool alone counted as a part of the answer.
#[test]
fn a_stream_that_drops_before_anything_was_said_is_retried() {
    let starts = [
        (Protocol::OpenAi, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"),
        (
            Protocol::OpenAi,
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"\"}}]}}]}\n\n",
        ),
        (Protocol::Anthropic, "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n"),
        (
            Protocol::Anthropic,
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{}}}\n\n",
        ),
        (Protocol::Gemini, ": alive\n\n"),
        (Protocol::Gemini, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]}}]}\n\n"),
    ];
    for (protocol, start) in starts {
        for length in [start.len(), start.len() + 100] {
            let head = format!("HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ncontent-length: {length}");
            let dropped = Act::Raw(format!("{head}\r\n\r\n{start}"));
            let server = FaultServer::playing(vec![dropped, Act::Answer("fine".to_owned())]);
            let call = ask_once(connection(protocol, &server));
            assert_eq!(call.asked.unwrap().text, "fine", "{protocol:?}: {start}");
            assert_eq!(server.requests().len(), 2, "{protocol:?}: {start}");
        }
    }
}

#[test]
fn transient_failures_are_retried() {
    let fine = Act::Answer("fine".to_owned());
    let server = FaultServer::playing(vec![Act::Fail(Fault::Overloaded), Act::Raw(String::new()), fine]);
    let call = ask_once(connection(Protocol::Anthropic, &server));
    assert_eq!(call.asked.unwrap().text, "fine");
    let because = call.heard.iter().filter_map(|sign| match sign {
        CallProgress::Retry { because, .. } => Some(because.as_str()),
        _ => None,
    });
    assert_snapshot!(because.collect::<Vec<_>>().join("\n"), @"
    `it` is overloaded (HTTP 529): “not now, [hidden key]”
    `it` ended the connection without an answer
    ");
}

#[test]
fn a_retry_after_beyond_the_deadline_ends_the_call() {
    let head = "HTTP/1.1 429 No\r\nretry-after: 300\r\ncontent-length: 0\r\n\r\n";
    let server = FaultServer::playing(vec![Act::Raw(head.to_owned())]);
    let call = ask_once(connection(Protocol::OpenAi, &server));
    let failure = call.asked.unwrap_err();
    assert_eq!((failure.why, failure.n_tries, server.times().len()), (FailureCause::Overloaded, 1, 1));
    assert_snapshot!(format!("{}\n{}", failure.message, failure.hint.unwrap_or_default()), @"
    `it` limits how often it is asked (HTTP 429); it asks to be left alone for 5 minutes
    Try again in 5 minutes, or give the review more time.
    ");
}

#[test]
fn a_server_that_knows_no_schemas_is_asked_in_words_and_that_is_remembered() {
    let body = "{\"error\":{\"message\":\"response_format is not supported\"}}";
    let complaint = format!("HTTP/1.1 400 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let server = FaultServer::playing(vec![Act::Raw(complaint), Act::Answer("in words".to_owned())]);
    let provider = Provider::new(connection(Protocol::OpenAi, &server), &Net::new()).unwrap();
    for _ in 0..2 {
        let call = ask(&provider, LIMIT, &CancellationToken::new());
        assert_eq!(call.asked.unwrap().text, "in words");
    }
    let with_schema: Vec<bool> = server.requests().iter().map(|request| request.contains("response_format")).collect();
    assert_eq!(with_schema, [true, false, false]);
    // The prompt was written for a form that is not given now, so it has to say which one.
    let in_words = |request: &String| request.contains("It follows this JSON Schema");
    assert_eq!(server.requests().iter().map(in_words).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = FaultServer::playing(vec![Act::Answer("mine".to_owned())]);
    let head = format!("HTTP/1.1 307 No\r\nlocation: {}/x\r\ncontent-length: 0\r\n\r\n", elsewhere.base_url());
    let server = FaultServer::playing(vec![Act::Raw(head)]);
    let failure = ask_once(connection(Protocol::OpenAi, &server)).asked.unwrap_err();
    assert_eq!((failure.why, elsewhere.times().len()), (FailureCause::Setup, 0));
}

#[test]
fn stopping_ends_a_call_at_once_wherever_it_is() {
    // Silent, dripping, and waiting for the next try.
    for fault in [Fault::NoBytes, Fault::Drip, Fault::Limited, Fault::Endless] {
        let server = FaultServer::failing(fault);
        let provider = Provider::new(connection(Protocol::OpenAi, &server), &Net::new()).unwrap();
        let cancel = CancellationToken::new();
        let call = std::thread::scope(|scope| {
            scope.spawn(|| {
                while server.requests().is_empty() {
                    std::thread::yield_now();
                }
                cancel.cancel();
            });
            ask(&provider, Duration::from_secs(60), &cancel)
        });
        let why = call.asked.unwrap_err().why;
        // An endless answer may be refused for its size before it is cancelled; no call runs until its time limit.
        assert!(
            why == FailureCause::Cancelled || (fault, why) == (Fault::Endless, FailureCause::Garbled),
            "{fault:?}: {why:?}"
        );
    }
}

#[test]
fn no_time_left_means_no_question() {
    let server = FaultServer::failing(Fault::NoBytes);
    let provider = Provider::new(connection(Protocol::Gemini, &server), &Net::new()).unwrap();
    let call = ask(&provider, Duration::ZERO, &CancellationToken::new());
    assert_eq!((call.asked.unwrap_err().why, server.times().len()), (FailureCause::TooSlow, 0));
}

#[test]
fn one_way_out_serves_many_calls_at_once() {
    let net = Net::new();
    let server = FaultServer::playing(vec![Act::Answer("fine".to_owned())]);
    let provider = Provider::new(connection(Protocol::Anthropic, &server), &net).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let call = ask(&provider, Duration::from_secs(60), &CancellationToken::new());
                assert_eq!(call.asked.unwrap().text, "fine");
            });
        }
    });
    assert_eq!(server.times().len(), 16);
}

#[test]
fn a_service_can_be_looked_at_without_a_question() {
    let answer = |status: u16, body: &str| {
        Act::Raw(format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    };
    let look = |protocol: Protocol, act: Act| {
        let server = FaultServer::playing(vec![act]);
        probe(connection(protocol, &server), &Net::new()).map(|probe| probe.model).map_err(|failure| failure.why)
    };
    assert_eq!(look(Protocol::OpenAi, answer(200, "{\"data\":[{\"id\":\"m\"}]}")), Ok(Model::Known));
    assert_eq!(look(Protocol::OpenAi, answer(200, "{\"data\":[{\"id\":\"n\"}]}")), Ok(Model::Unknown));
    assert_eq!(look(Protocol::OpenAi, answer(404, "")), Ok(Model::Unsaid));
    assert_eq!(look(Protocol::Anthropic, answer(200, "{\"id\":\"m\"}")), Ok(Model::Known));
    assert_eq!(look(Protocol::Gemini, answer(404, "{\"error\":{\"message\":\"no\"}}")), Ok(Model::Unknown));
    assert_eq!(look(Protocol::Gemini, answer(401, "{}")), Err(FailureCause::Setup));
    assert_eq!(look(Protocol::OpenAi, Act::Fail(Fault::Refused)), Err(FailureCause::Unavailable));
}
