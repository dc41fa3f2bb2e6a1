//! Request bodies and parsed streams of each protocol, without a network.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::assembly::{Assembly, Sign, Unfit};
use super::capabilities::Capabilities;
use super::sse::{Event, Reader};
use super::*;
use crate::reviewer::call::{Repair, StopReason};

fn connection(protocol: Protocol, structured: Structured) -> Connection {
    let base_url = match protocol {
        Protocol::OpenAi => "https://api.openai.com/v1",
        Protocol::Anthropic => "https://api.anthropic.com",
        Protocol::Gemini => "https://generativelanguage.googleapis.com/v1beta",
    };
    let mut connection = Connection::new("it", protocol, base_url, "m-1");
    connection.key = Some(Key::new("sk-secret-1234").unwrap());
    connection.key_from = Some("IT_KEY".to_owned());
    connection.max_output_tokens = 100;
    connection.structured = structured;
    connection
}

fn question() -> Question {
    Question {
        system: "Be strict.".to_owned(),
        shared: "A shop.".to_owned(),
        part: "+ eval(x)".to_owned(),
        schema: json!({"type": "object"}),
        repair: None,
    }
}

/// A request as it goes out, one value of the body to a line.
fn sent(connection: Connection, question: &Question) -> String {
    let provider = Provider::new(connection, &Net::new()).unwrap();
    let request = provider.request(question, Capabilities::default()).unwrap().build().unwrap();
    let mut lines = vec![format!("{} {}", request.method(), request.url())];
    for (name, value) in request.headers() {
        lines.push(format!("{name}: {value:?}"));
    }
    let body: Value = serde_json::from_slice(request.body().unwrap().as_bytes().unwrap()).unwrap();
    list("", &body, &mut lines);
    lines.join("\n")
}

/// Every value of a body with the way to it.
fn list(way: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| list(&format!("{way}/{name}"), value, lines)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| list(&format!("{way}/{index}"), item, lines));
        }
        leaf => lines.push(format!("{way} = {leaf}")),
    }
}

/// A stream of events: data with the name of its kind, where it has one, or a comment.
fn events(parts: &[&str]) -> String {
    let name =
        |data: &str| serde_json::from_str::<Value>(data).ok()?["type"].as_str().map(|kind| format!("event: {kind}\n"));
    let event = |part: &&str| match part.starts_with(':') {
        true => format!("{part}\n\n"),
        false => format!("{}data: {part}\n\n", name(part).unwrap_or_default()),
    };
    parts.iter().map(event).collect()
}

/// Why a stream of one event fails.
fn stop(take: fn(&mut Assembly, &Event) -> Result<Sign, Unfit>, data: &Value) -> Option<StopReason> {
    let mut assembly = Assembly::new(1 << 20);
    take(&mut assembly, &Event { name: None, data: data.to_string() }).unwrap();
    assembly.stop
}

/// Parses a stream.
fn heard(protocol: Protocol, stream: &str) -> String {
    let (mut assembly, mut reader) = (Assembly::new(1 << 20), Reader::default());
    let take = match protocol {
        Protocol::OpenAi => openai::take,
        Protocol::Anthropic => anthropic::take,
        Protocol::Gemini => gemini::take,
    };
    let mut signs = Vec::new();
    let mut events = reader.feed(stream.as_bytes()).unwrap();
    events.extend(reader.finish());
    for event in &events {
        match take(&mut assembly, event) {
            Ok(Sign::Alive) => {}
            Ok(Sign::Answer(text)) => signs.push(format!("Answer({})", text.len())),
            Ok(sign) => signs.push(format!("{sign:?}")),
            Err(Unfit::Garbled(what)) => return format!("garbled: {what}"),
            Err(Unfit::Fault(fault)) => return format!("fault: {} {:?}", fault.kind.trim(), fault.message),
        }
    }
    let Some(stop) = assembly.stop else { return format!("no end, {}", signs.join(" ")) };
    let reply = assembly.into_reply(stop, true, &Redactor::new(Vec::new()));
    let structured = reply.structured.map_or_else(|| "no structure".to_owned(), |value| value.to_string());
    let usage = format!("{} in, {} cached, {} out", reply.usage.input, reply.usage.cached, reply.usage.output);
    let rest = format!("{:?}, {usage}, {:?} by {:?}", reply.stop, reply.cost, reply.model);
    format!("{}\n{}\n{structured}\n{rest}", signs.join(" "), reply.text)
}

#[test]
fn openai_is_asked_with_a_schema_and_for_its_usage() {
    assert_snapshot!(sent(connection(Protocol::OpenAi, Structured::Schema), &question()), @r#"
    POST https://api.openai.com/v1/chat/completions
    authorization: Sensitive
    content-type: "application/json"
    accept: "text/event-stream"
    /model = "m-1"
    /messages/0/role = "system"
    /messages/0/content = "Be strict."
    /messages/1/role = "user"
    /messages/1/content = "A shop.\n\n+ eval(x)"
    /stream = true
    /stream_options/include_usage = true
    /max_completion_tokens = 100
    /response_format/type = "json_schema"
    /response_format/json_schema/name = "report_review"
    /response_format/json_schema/strict = true
    /response_format/json_schema/schema/type = "object"
    "#);
}

#[test]
fn openai_is_asked_with_a_tool() {
    let mut connection = connection(Protocol::OpenAi, Structured::Tool);
    connection.base_url = "http://127.0.0.1:8080/v1/".to_owned();
    connection.temperature = Some(0.5);
    assert_snapshot!(sent(connection, &question()), @r#"
    POST http://127.0.0.1:8080/v1/chat/completions
    authorization: Sensitive
    content-type: "application/json"
    accept: "text/event-stream"
    /model = "m-1"
    /messages/0/role = "system"
    /messages/0/content = "Be strict."
    /messages/1/role = "user"
    /messages/1/content = "A shop.\n\n+ eval(x)"
    /stream = true
    /stream_options/include_usage = true
    /max_tokens = 100
    /temperature = 0.5
    /tools/0/type = "function"
    /tools/0/function/name = "report_review"
    /tools/0/function/description = "Reports the review. Call it exactly once, with the whole review."
    /tools/0/function/strict = true
    /tools/0/function/parameters/type = "object"
    /tool_choice/type = "function"
    /tool_choice/function/name = "report_review"
    /parallel_tool_calls = false
    "#);
}

#[test]
fn anthropic_is_told_what_to_keep() {
    assert_snapshot!(sent(connection(Protocol::Anthropic, Structured::Schema), &question()), @r#"
    POST https://api.anthropic.com/v1/messages
    x-api-key: Sensitive
    anthropic-version: "2023-06-01"
    content-type: "application/json"
    accept: "text/event-stream"
    /model = "m-1"
    /max_tokens = 100
    /stream = true
    /system/0/type = "text"
    /system/0/text = "Be strict."
    /system/0/cache_control/type = "ephemeral"
    /messages/0/role = "user"
    /messages/0/content/0/type = "text"
    /messages/0/content/0/text = "A shop."
    /messages/0/content/0/cache_control/type = "ephemeral"
    /messages/0/content/1/type = "text"
    /messages/0/content/1/text = "+ eval(x)"
    /output_config/format/type = "json_schema"
    /output_config/format/schema/type = "object"
    "#);
}

#[test]
fn anthropic_is_asked_with_a_tool() {
    let mut connection = connection(Protocol::Anthropic, Structured::Tool);
    connection.base_url = "https://gateway.example/anthropic/v1".to_owned();
    assert_snapshot!(sent(connection, &question()), @r#"
    POST https://gateway.example/anthropic/v1/messages
    x-api-key: Sensitive
    anthropic-version: "2023-06-01"
    content-type: "application/json"
    accept: "text/event-stream"
    /model = "m-1"
    /max_tokens = 100
    /stream = true
    /system/0/type = "text"
    /system/0/text = "Be strict."
    /system/0/cache_control/type = "ephemeral"
    /messages/0/role = "user"
    /messages/0/content/0/type = "text"
    /messages/0/content/0/text = "A shop."
    /messages/0/content/0/cache_control/type = "ephemeral"
    /messages/0/content/1/type = "text"
    /messages/0/content/1/text = "+ eval(x)"
    /tools/0/name = "report_review"
    /tools/0/description = "Reports the review. Call it exactly once, with the whole review."
    /tools/0/input_schema/type = "object"
    /tool_choice/type = "tool"
    /tool_choice/name = "report_review"
    /tool_choice/disable_parallel_tool_use = true
    "#);
}

#[test]
fn gemini_is_asked_with_a_schema_and_its_key_is_not_in_the_address() {
    let mut connection = connection(Protocol::Gemini, Structured::Schema);
    connection.model = "models/../gemini x".to_owned();
    assert_snapshot!(sent(connection, &question()), @r#"
    POST https://generativelanguage.googleapis.com/v1beta/models/..%2Fgemini%20x:streamGenerateContent?alt=sse
    x-goog-api-key: Sensitive
    content-type: "application/json"
    accept: "text/event-stream"
    /systemInstruction/parts/0/text = "Be strict."
    /contents/0/role = "user"
    /contents/0/parts/0/text = "A shop."
    /contents/0/parts/1/text = "+ eval(x)"
    /generationConfig/maxOutputTokens = 100
    /generationConfig/responseMimeType = "application/json"
    /generationConfig/responseJsonSchema/type = "object"
    "#);
}

#[test]
fn gemini_is_asked_with_a_tool() {
    assert_snapshot!(sent(connection(Protocol::Gemini, Structured::Tool), &question()), @r#"
    POST https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse
    x-goog-api-key: Sensitive
    content-type: "application/json"
    accept: "text/event-stream"
    /systemInstruction/parts/0/text = "Be strict."
    /contents/0/role = "user"
    /contents/0/parts/0/text = "A shop."
    /contents/0/parts/1/text = "+ eval(x)"
    /tools/0/functionDeclarations/0/name = "report_review"
    /tools/0/functionDeclarations/0/description = "Reports the review. Call it exactly once, with the whole review."
    /tools/0/functionDeclarations/0/parametersJsonSchema/type = "object"
    /toolConfig/functionCallingConfig/mode = "ANY"
    /toolConfig/functionCallingConfig/allowedFunctionNames/0 = "report_review"
    /generationConfig/maxOutputTokens = 100
    "#);
}

#[test]
fn an_answer_that_could_not_be_read_is_asked_for_once_more() {
    let mut question = question();
    question.repair = Some(Repair { answer: "LGTM".to_owned(), request: "As JSON, please.".to_owned() });
    let messages = |protocol: Protocol| {
        let sent = sent(connection(protocol, Structured::None), &question);
        let turns = sent.lines().filter(|line| line.starts_with("/messages/") || line.starts_with("/contents/"));
        turns.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(messages(Protocol::OpenAi), @r#"
    /messages/0/role = "system"
    /messages/0/content = "Be strict."
    /messages/1/role = "user"
    /messages/1/content = "A shop.\n\n+ eval(x)"
    /messages/2/role = "assistant"
    /messages/2/content = "LGTM"
    /messages/3/role = "user"
    /messages/3/content = "As JSON, please."
    "#);
    assert_snapshot!(messages(Protocol::Anthropic), @r#"
    /messages/0/role = "user"
    /messages/0/content/0/type = "text"
    /messages/0/content/0/text = "A shop."
    /messages/0/content/0/cache_control/type = "ephemeral"
    /messages/0/content/1/type = "text"
    /messages/0/content/1/text = "+ eval(x)"
    /messages/1/role = "assistant"
    /messages/1/content/0/type = "text"
    /messages/1/content/0/text = "LGTM"
    /messages/2/role = "user"
    /messages/2/content/0/type = "text"
    /messages/2/content/0/text = "As JSON, please."
    "#);
    assert_snapshot!(messages(Protocol::Gemini), @r#"
    /contents/0/role = "user"
    /contents/0/parts/0/text = "A shop."
    /contents/0/parts/1/text = "+ eval(x)"
    /contents/1/role = "model"
    /contents/1/parts/0/text = "LGTM"
    /contents/2/role = "user"
    /contents/2/parts/0/text = "As JSON, please."
    "#);
}

#[test]
fn openai_streams_text_and_then_what_it_took() {
    assert_snapshot!(heard(Protocol::OpenAi, &events(&[
        ": OPENROUTER PROCESSING",
        r#"{"model":"m-1-0613","choices":[{"delta":{"role":"assistant","content":"","refusal":null}}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"{\"decision\":"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"\"rejected\"}"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"cost":0.0012,"prompt_tokens_details":{"cached_tokens":8}}}"#,
        "[DONE]",
    ])), @r#"
    Working("thinking") Answer(12) Answer(11) End
    {"decision":"rejected"}
    {"decision":"rejected"}
    Finished, 12 in, 8 cached, 5 out, Some(0.0012) by Some("m-1-0613")
    "#);
}

#[test]
fn openai_streams_the_arguments_of_a_tool() {
    assert_snapshot!(heard(Protocol::OpenAi, &events(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"report_review","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"decision\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"approved\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ])), @r#"
    Answer(12) Answer(11) End

    {"decision":"approved"}
    Finished, 0 in, 0 cached, 0 out, None by None
    "#);
}

#[test]
fn openai_says_why_it_stops() {
    let stops = |reason: &str| {
        let choice = json!({"delta": {"content": "x"}, "finish_reason": reason});
        stop(openai::take, &json!({"choices": [choice]}))
    };
    assert_eq!(stops("length"), Some(StopReason::Length));
    assert_eq!(stops("content_filter"), Some(StopReason::Refused));
    assert_eq!(stops("because"), Some(StopReason::Length));
    let refusal = events(&[
        r#"{"choices":[{"delta":{"refusal":"I cannot"},"finish_reason":null}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    ]);
    assert_snapshot!(heard(Protocol::OpenAi, &refusal), @"
    Answer(8)
    I cannot
    no structure
    Refused, 0 in, 0 cached, 0 out, None by None
    ");
}

#[test]
fn openai_fails_inside_a_stream() {
    let fails = |data: &[&str]| heard(Protocol::OpenAi, &events(data));
    assert_snapshot!(fails(&[r#"{"error":{"code":502,"message":"Provider disconnected"},"choices":[{"finish_reason":"error"}]}"#]), @r#"fault:  "Provider disconnected""#);
    assert_snapshot!(fails(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#, "oops"]), @"garbled: an event is not JSON");
    assert_snapshot!(fails(&[r#"{"hello":"world"}"#]), @"garbled: it has no part of an answer");
    assert_snapshot!(fails(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#]), @"no end, Answer(1)");
}

#[test]
fn figures_that_no_model_reaches_overflow_nothing() {
    let most = u64::MAX;
    let usage =
        format!(r#"{{"input_tokens":{most},"cache_creation_input_tokens":{most},"cache_read_input_tokens":9}}"#);
    let start = format!(r#"{{"type":"message_start","message":{{"model":"m","usage":{usage}}}}}"#);
    assert!(heard(Protocol::Anthropic, &events(&[&start])).starts_with("no end"));
    let usage = format!(r#"{{"candidatesTokenCount":{most},"thoughtsTokenCount":{most}}}"#);
    let whole = format!(r#"{{"candidates":[{{"finishReason":"STOP"}}],"usageMetadata":{usage}}}"#);
    let told = heard(Protocol::Gemini, &events(&[&whole]));
    assert!(told.contains(&most.to_string()), "{told}");
}

#[test]
fn anthropic_streams_thinking_and_then_text() {
    assert_snapshot!(heard(Protocol::Anthropic, &events(&[
        r#"{"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":5,"output_tokens":1,"cache_creation_input_tokens":10,"cache_read_input_tokens":20}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type": "ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"[APPROVED]"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"{\"decision\":\"rejected\"}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#,
        r#"{"type":"message_stop"}"#,
    ])), @r#"
    Working("thinking") Working("thinking") Working("thinking") Answer(23) End
    {"decision":"rejected"}
    {"decision":"rejected"}
    Finished, 35 in, 20 cached, 15 out, None by Some("claude-x")
    "#);
}

#[test]
fn anthropic_streams_the_input_of_a_tool() {
    assert_snapshot!(heard(Protocol::Anthropic, &events(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Here:"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"report_review","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"decision\": \"app"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"roved\"}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
    ])), @r#"
    Answer(5) Answer(17) Answer(7)
    Here:
    {"decision":"approved"}
    Finished, 0 in, 0 cached, 7 out, None by None
    "#);
}

#[test]
fn anthropic_says_why_it_stops() {
    let stops = |reason: &str| {
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason}});
        stop(anthropic::take, &delta)
    };
    assert_eq!(stops("max_tokens"), Some(StopReason::Length));
    assert_eq!(stops("refusal"), Some(StopReason::Refused));
    assert_eq!(stops("pause_turn"), Some(StopReason::Length));
}

#[test]
fn anthropic_fails_inside_a_stream() {
    let fails = |data: &[&str]| heard(Protocol::Anthropic, &events(data));
    assert_snapshot!(fails(&[r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#]), @r#"fault: overloaded_error "Overloaded""#);
    assert_snapshot!(fails(&[r#"{"type""#]), @"garbled: an event is not JSON");
    assert_snapshot!(fails(&[r#"{"type":"new_kind"}"#]), @"no end,");
}

#[test]
fn gemini_streams_thoughts_and_then_text() {
    assert_snapshot!(heard(Protocol::Gemini, &events(&[
        r#"{"candidates": [{"content": {"parts": [{"text": "hm","thought": true}]}}],"modelVersion": "gemini-x"}"#,
        r#"{"candidates": [{"content": {"parts": [{"text": "{\"decision\":"}],"role": "model"}}]}"#,
        r#"{"candidates": [{"content": {"parts": [{"text": "\"approved\"}"}],"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 9,"candidatesTokenCount": 4,"cachedContentTokenCount": 3,"thoughtsTokenCount": 6,"totalTokenCount": 19}}"#,
    ])), @r#"
    Working("thinking") Answer(12) Answer(11)
    {"decision":"approved"}
    {"decision":"approved"}
    Finished, 9 in, 3 cached, 10 out, None by Some("gemini-x")
    "#);
}

#[test]
fn gemini_calls_a_tool_in_one_piece() {
    assert_snapshot!(heard(Protocol::Gemini, &events(&[r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"report_review","args":{"decision":"approved"}}}]},"finishReason":"STOP"}]}"#])), @r#"
    Answer(23)

    {"decision":"approved"}
    Finished, 0 in, 0 cached, 0 out, None by None
    "#);
}

#[test]
fn gemini_says_why_it_stops() {
    let stops = |reason: &str| stop(gemini::take, &json!({"candidates": [{"finishReason": reason}]}));
    assert_eq!(stops("MAX_TOKENS"), Some(StopReason::Length));
    assert_eq!(stops("SAFETY"), Some(StopReason::Refused));
    assert_eq!(stops("OTHER"), Some(StopReason::Length));
    assert_snapshot!(heard(Protocol::Gemini, &events(&[r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}"#])), @"


    no structure
    Refused, 9 in, 0 cached, 0 out, None by None
    ");
}

#[test]
fn gemini_fails_inside_a_stream() {
    let fails = |data: &[&str]| heard(Protocol::Gemini, &events(data));
    assert_snapshot!(fails(&[r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#]), @r#"fault: UNAVAILABLE "The model is overloaded.""#);
    assert_snapshot!(fails(&[r#"{"hello":1}"#]), @"garbled: it has no part of an answer");
}

#[test]
fn a_key_goes_only_where_nobody_else_can_read_it() {
    let refused = |url: &str| {
        let mut connection = connection(Protocol::OpenAi, Structured::None);
        connection.base_url = url.to_owned();
        Provider::new(connection, &Net::new()).err().map_or_else(|| "fine".to_owned(), |failure| failure.message)
    };
    assert_snapshot!(refused("http://api.example.com/v1"), @"the base URL of `it` is not encrypted, so anybody on the way could read the key");
    assert_snapshot!(refused("https://me:pass@api.example.com/v1"), @"the base URL of `it` holds a name or a password");
    assert_snapshot!(refused("file:///etc/passwd"), @"the base URL of `it` is no URL: `file:///etc/passwd`");
    assert_snapshot!(refused("ftp://example.com"), @"the base URL of `it` begins with `ftp:`");
    assert_snapshot!(refused("api.openai.com"), @"the base URL of `it` is no URL: `api.openai.com`");
    assert_snapshot!(refused("http://[::1]:8080"), @"fine");
    let open = Connection::new("it", Protocol::OpenAi, "http://gpu.example/v1", "m");
    assert!(Provider::new(open, &Net::new()).is_ok());
}

/// The failure that a status and a body become.
fn refusal(status: u16, message: &str) -> String {
    let fault = assembly::Fault { message: message.to_owned(), ..Default::default() };
    let trouble = error::refused(&connection(Protocol::OpenAi, Structured::None), status, &fault, None);
    let hint = trouble.hint.map_or_else(String::new, |hint| format!("\n{hint}"));
    format!("{:?}, {:?}\n{}{hint}", trouble.why, trouble.again, trouble.message)
}

#[test]
fn every_status_is_explained() {
    assert_snapshot!(refusal(400, "messages: at least one"), @"
    Setup, Never
    `it` does not accept the question (HTTP 400): “messages: at least one”
    ");
    assert_snapshot!(refusal(400, "This model's maximum context length is 8192 tokens"), @"
    Setup, Never
    the question is too long for the model of `it` (HTTP 400): “This model's maximum context length is 8192 tokens”
    Lower the number of tokens that are sent at once, or choose a model that takes more.
    ");
    assert_snapshot!(refusal(401, "Incorrect API key"), @"
    Setup, Never
    `it` does not accept the key (HTTP 401): “Incorrect API key”
    Check that `IT_KEY` holds a valid key of this service that may use the model.
    ");
    assert_snapshot!(refusal(402, ""), @"
    Setup, Never
    `it` wants to be paid first (HTTP 402)
    Add credit to the account, or use another provider.
    ");
    assert_snapshot!(refusal(404, "not found"), @"
    Setup, Never
    `it` knows no model `m-1` at this address (HTTP 404): “not found”
    Check the model's name and the base URL.
    ");
    assert_snapshot!(refusal(413, ""), @"
    Setup, Never
    the question is too long for the model of `it` (HTTP 413)
    Lower the number of tokens that are sent at once, or choose a model that takes more.
    ");
    assert_snapshot!(refusal(429, "slow down"), @"
    Overloaded, Later
    `it` limits how often it is asked (HTTP 429): “slow down”
    ");
    assert_snapshot!(refusal(429, "insufficient_quota"), @"
    Setup, Never
    `it` wants to be paid first (HTTP 429): “insufficient_quota”
    Raise the limit of the account, or use another provider.
    ");
    assert_snapshot!(refusal(307, ""), @"
    Setup, Never
    `it` sends us to another address, which could be anybody's (HTTP 307)
    Set the base URL to where the service really is.
    ");
    assert_snapshot!(refusal(503, "busy"), @"
    Overloaded, Later
    `it` is overloaded (HTTP 503): “busy”
    ");
    assert_snapshot!(refusal(504, "<b>"), @"
    Unavailable, Later
    `it` failed (HTTP 504): “<b>”
    ");
    let long = refusal(500, &"x".repeat(400));
    assert!(long.contains(&format!("“{}…”", "x".repeat(300))), "{long}");
}

#[test]
fn quoted_errors_are_escaped_and_without_the_key() {
    let provider = Provider::new(connection(Protocol::OpenAi, Structured::None), &Net::new()).unwrap();
    let failure = provider
        .failure(Trouble::new(FailureCause::Setup, "bad sk-secret-1234 \u{1b}[2J").hint("not sk-secret-1234"), 1);
    assert_snapshot!(format!("{} | {}", failure.message, failure.hint.unwrap_or_default()), @r"bad [hidden key] \u{1b}[2J | not [hidden key]");
    assert!(!format!("{provider:?}").contains("secret"));
}
