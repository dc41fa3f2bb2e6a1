//! The protocol of Anthropic's messages.
//!
//! ```text
//! POST {base}/v1/messages             x-api-key: …, anthropic-version: 2023-06-01
//! event: message_start
//! data: {"type":"message_start","message":{"model":"…","usage":{"input_tokens":9,"cache_read_input_tokens":0}}}
//! event: content_block_delta
//! data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"{\"dec"}}
//! event: message_delta
//! data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}
//! event: message_stop
//! data: {"type":"message_stop"}
//!
//! {"type":"message","model":"…","content":[{"type":"text","text":"…"}],"stop_reason":"end_turn"}     without a stream
//! ```
//!
//! `cache_control` caches a block with everything before it: later questions of a review read the shared part from the
//! cache.

use serde_json::{Value, json};

use super::assembly::{Assembly, Sign, TOOL, TOOL_PURPOSE, Unfit, fault, json};
use super::capabilities::Capabilities;
use super::sse::Event;
use super::{Connection, Structured};
use crate::reviewer::call::{Question, StopReason};

/// The request body.
pub(super) fn body(question: &Question, connection: &Connection, capabilities: Capabilities) -> Value {
    // A block without text is refused.
    let block = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    let kept = |text: &str| {
        block(text).map(|mut block| {
            block["cache_control"] = json!({"type": "ephemeral"});
            block
        })
    };
    let mut asked: Vec<Value> = kept(&question.shared).into_iter().chain(block(&question.part)).collect();
    let mut messages = Vec::new();
    if let Some(repair) = &question.repair {
        if let Some(answer) = block(&repair.answer) {
            messages.push(json!({"role": "user", "content": std::mem::take(&mut asked)}));
            messages.push(json!({"role": "assistant", "content": [answer]}));
        }
        asked.extend(block(&repair.request));
    }
    messages.push(json!({"role": "user", "content": asked}));

    let mut body = json!({"model": connection.model, "max_tokens": connection.max_output_tokens, "stream": true});
    if let Some(system) = kept(&question.system) {
        body["system"] = json!([system]);
    }
    body["messages"] = json!(messages);
    if let Some(temperature) = capabilities.temperature(connection) {
        body["temperature"] = json!(temperature);
    }
    match capabilities.structured(connection) {
        Structured::None => {}
        Structured::Schema => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": question.schema}})
        }
        Structured::Tool => {
            body["tools"] = json!([{"name": TOOL, "description": TOOL_PURPOSE, "input_schema": question.schema}]);
            body["tool_choice"] = json!({"type": "tool", "name": TOOL, "disable_parallel_tool_use": true});
        }
    }
    body
}

/// Handles one event of the stream.
pub(super) fn take(assembly: &mut Assembly, event: &Event) -> Result<Sign, Unfit> {
    let message = json(&event.data)?;
    // The data names the kind as well; compatible servers leave out one or the other.
    let kind = message["type"].as_str().or(event.name.as_deref()).unwrap_or_default();
    match kind {
        "message_start" => {
            assembly.name_model(&message["message"]["model"]);
            take_usage(assembly, &message["message"]["usage"]);
            Ok(Sign::Alive)
        }
        "content_block_start" => {
            take_block(assembly, message["index"].as_u64().unwrap_or(0), &message["content_block"])
        }
        "content_block_delta" => take_delta(assembly, &message),
        "message_delta" => {
            take_usage(assembly, &message["usage"]);
            if let Some(reason) = message["delta"]["stop_reason"].as_str() {
                assembly.stop = Some(stop_of(reason));
            }
            Ok(Sign::Alive)
        }
        "message_stop" => Ok(Sign::End),
        // The protocol asks clients to ignore unknown kinds.
        _ => fault(&message).map_or(Ok(Sign::Alive), |fault| Err(Unfit::Fault(fault))),
    }
}

/// Handles a whole message from a service that does not stream.
pub(super) fn take_message(assembly: &mut Assembly, message: &Value) -> Result<(), Unfit> {
    if let Some(fault) = fault(message) {
        return Err(Unfit::Fault(fault));
    }
    let Some(blocks) = message["content"].as_array() else {
        return Err(Unfit::Garbled("it has no part of an answer".to_owned()));
    };
    assembly.name_model(&message["model"]);
    take_usage(assembly, &message["usage"]);
    for (index, block) in (0u64..).zip(blocks) {
        take_block(assembly, index, block)?;
    }
    assembly.stop = message["stop_reason"].as_str().map(stop_of);
    Ok(())
}

/// A block begins; some servers put its text here.
fn take_block(assembly: &mut Assembly, index: u64, block: &Value) -> Result<Sign, Unfit> {
    match block["type"].as_str() {
        Some("text") => assembly.say(block["text"].as_str().unwrap_or_default()),
        Some("tool_use") => {
            let input = block["input"].as_object().filter(|input| !input.is_empty());
            let arguments = input.map_or_else(String::new, |_| block["input"].to_string());
            assembly.call(index, &arguments)
        }
        Some(_) => Ok(Sign::Working("thinking")),
        None => Ok(Sign::Alive),
    }
}

fn take_delta(assembly: &mut Assembly, message: &Value) -> Result<Sign, Unfit> {
    let delta = &message["delta"];
    match delta["type"].as_str() {
        Some("text_delta") => assembly.say(delta["text"].as_str().unwrap_or_default()),
        Some("input_json_delta") => {
            let index = message["index"].as_u64().unwrap_or(0);
            assembly.call(index, delta["partial_json"].as_str().unwrap_or_default())
        }
        Some("thinking_delta" | "signature_delta") => Ok(Sign::Working("thinking")),
        _ => Ok(Sign::Alive),
    }
}

/// The counts are cumulative; a count that an event omits keeps its value.
fn take_usage(assembly: &mut Assembly, usage: &Value) {
    let number = |name: &str| usage[name].as_u64();
    if let Some(input) = number("input_tokens") {
        let cached = number("cache_read_input_tokens").unwrap_or(0);
        let created = number("cache_creation_input_tokens").unwrap_or(0);
        assembly.usage.input = input.saturating_add(cached).saturating_add(created);
        assembly.usage.cached = cached;
    }
    if let Some(output) = number("output_tokens") {
        assembly.usage.output = output;
    }
}

fn stop_of(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "tool_use" | "stop_sequence" => StopReason::Finished,
        "refusal" => StopReason::Refused,
        // `max_tokens`, `model_context_window_exceeded`; an unknown reason does not count as complete.
        _ => StopReason::Length,
    }
}
