//! The protocol of OpenAI's chat completions, which most others speak as well.
//!
//! ```text
//! POST {base}/chat/completions        Authorization: Bearer …
//! data: {"model":"…","choices":[{"index":0,"delta":{"content":"{\"dec"},"finish_reason":null}]}
//! data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
//! data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}
//! data: [DONE]
//!
//! {"model":"…","choices":[{"message":{"content":"…"},"finish_reason":"stop"}],"usage":{…}}     without a stream
//! ```

use serde_json::{Value, json};

use super::assembly::{Assembly, Sign, TOOL, TOOL_PURPOSE, Unfit, fault, json};
use super::capabilities::Capabilities;
use super::sse::Event;
use super::{Connection, Structured};
use crate::reviewer::call::{Question, StopReason, Usage};

/// The request body.
pub(super) fn body(question: &Question, connection: &Connection, capabilities: Capabilities) -> Value {
    // The shared part comes first, because services cache common prefixes.
    let mut messages = vec![
        json!({"role": "system", "content": question.system}),
        json!({"role": "user", "content": format!("{}\n\n{}", question.shared, question.part)}),
    ];
    if let Some(repair) = &question.repair {
        if !repair.answer.trim().is_empty() {
            messages.push(json!({"role": "assistant", "content": repair.answer}));
        }
        messages.push(json!({"role": "user", "content": repair.request}));
    }
    let mut body = json!({"model": connection.model, "messages": messages, "stream": true});
    if capabilities.usage_is_asked_for() {
        body["stream_options"] = json!({"include_usage": true});
    }
    let limit = if capabilities.limit_is_of_completion(connection) { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(connection.max_output_tokens);
    if let Some(temperature) = capabilities.temperature(connection) {
        body["temperature"] = json!(temperature);
    }
    match capabilities.structured(connection) {
        Structured::None => {}
        Structured::Schema => {
            let schema = json!({"name": TOOL, "strict": true, "schema": question.schema});
            body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
        }
        Structured::Tool => {
            let function =
                json!({"name": TOOL, "description": TOOL_PURPOSE, "strict": true, "parameters": question.schema});
            body["tools"] = json!([{"type": "function", "function": function}]);
            body["tool_choice"] = json!({"type": "function", "function": {"name": TOOL}});
            body["parallel_tool_calls"] = json!(false);
        }
    }
    body
}

/// Handles one event of the stream.
pub(super) fn take(assembly: &mut Assembly, event: &Event) -> Result<Sign, Unfit> {
    if event.data.trim() == "[DONE]" {
        return Ok(Sign::End);
    }
    take_message(assembly, &json(&event.data)?)
}

/// Handles a chunk of a stream, or a whole completion from a service that does not stream.
pub(super) fn take_message(assembly: &mut Assembly, chunk: &Value) -> Result<Sign, Unfit> {
    if let Some(fault) = fault(chunk) {
        return Err(Unfit::Fault(fault));
    }
    if chunk.get("choices").is_none() && chunk.get("usage").is_none() {
        return Err(Unfit::Garbled("it has no part of an answer".to_owned()));
    }
    assembly.name_model(&chunk["model"]);
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        assembly.usage = usage_of(usage);
        assembly.cost = usage["cost"].as_f64();
    }
    let choice = &chunk["choices"][0];
    let sign = take_delta(assembly, choice.get("delta").unwrap_or(&choice["message"]))?;
    if let Some(reason) = choice["finish_reason"].as_str() {
        // A refusal that was spelled out stays one.
        assembly.stop =
            Some(if assembly.stop == Some(StopReason::Refused) { StopReason::Refused } else { stop_of(reason) });
    }
    Ok(sign)
}

fn take_delta(assembly: &mut Assembly, delta: &Value) -> Result<Sign, Unfit> {
    let mut sign = Sign::Alive;
    if ["reasoning_content", "reasoning", "thinking"].iter().any(|name| delta[name].is_string()) {
        sign = Sign::Working("thinking");
    }
    for (position, call) in (0u64..).zip(delta["tool_calls"].as_array().into_iter().flatten()) {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        sign = assembly.call(call["index"].as_u64().unwrap_or(position), arguments)?;
    }
    if let Some(refusal) = delta["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
        assembly.stop = Some(StopReason::Refused);
        sign = assembly.say(refusal)?;
    }
    match &delta["content"] {
        Value::String(text) if !text.is_empty() => sign = assembly.say(text)?,
        Value::Array(parts) => {
            for text in parts.iter().filter_map(|part| part["text"].as_str()) {
                sign = assembly.say(text)?;
            }
        }
        _ => {}
    }
    Ok(sign)
}

fn usage_of(usage: &Value) -> Usage {
    let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input: number("/prompt_tokens").unwrap_or(0),
        cached: number("/prompt_tokens_details/cached_tokens").or(number("/prompt_cache_hit_tokens")).unwrap_or(0),
        output: number("/completion_tokens").unwrap_or(0),
    }
}

fn stop_of(reason: &str) -> StopReason {
    match reason {
        "stop" | "tool_calls" | "function_call" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => {
            StopReason::Finished
        }
        "content_filter" | "refusal" | "safety" => StopReason::Refused,
        // An unknown reason does not count as complete.
        _ => StopReason::Length,
    }
}
