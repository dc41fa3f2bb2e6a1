//! The protocol of Google's Gemini.
//!
//! ```text
//! POST {base}/models/{model}:streamGenerateContent?alt=sse        x-goog-api-key: …
//! data: {"candidates":[{"content":{"parts":[{"text":"{\"dec"}],"role":"model"}}],"modelVersion":"…"}
//! data: {"candidates":[{"content":{"parts":[{"text":"…"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9}}
//! ```
//!
//! Without `alt=sse`, the same objects come as one array, or as a single object.
//!
//! There is no mark at the end: the answer is whole when a reason to finish was given and the transfer ended in order.

use serde_json::{Value, json};

use super::assembly::{Assembly, Sign, TOOL, TOOL_PURPOSE, Unfit, fault, json};
use super::capabilities::Capabilities;
use super::sse::Event;
use super::{Connection, Structured};
use crate::reviewer::call::{Question, StopReason, Usage};

/// The request body.
pub(super) fn body(question: &Question, connection: &Connection, capabilities: Capabilities) -> Value {
    let mut contents = vec![json!({"role": "user", "parts": [{"text": question.shared}, {"text": question.part}]})];
    if let Some(repair) = &question.repair {
        if !repair.answer.trim().is_empty() {
            contents.push(json!({"role": "model", "parts": [{"text": repair.answer}]}));
        }
        contents.push(json!({"role": "user", "parts": [{"text": repair.request}]}));
    }
    let mut config = json!({"maxOutputTokens": connection.max_output_tokens});
    if let Some(temperature) = capabilities.temperature(connection) {
        config["temperature"] = json!(temperature);
    }
    let mut body = json!({"systemInstruction": {"parts": [{"text": question.system}]}, "contents": contents});
    match capabilities.structured(connection) {
        Structured::None => {}
        Structured::Schema => {
            config["responseMimeType"] = json!("application/json");
            config["responseJsonSchema"] = question.schema.clone();
        }
        Structured::Tool => {
            let tool = json!({"name": TOOL, "description": TOOL_PURPOSE, "parametersJsonSchema": question.schema});
            body["tools"] = json!([{"functionDeclarations": [tool]}]);
            body["toolConfig"] = json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [TOOL]}});
        }
    }
    body["generationConfig"] = config;
    body
}

/// Handles one event of the stream.
pub(super) fn take(assembly: &mut Assembly, event: &Event) -> Result<Sign, Unfit> {
    take_message(assembly, &json(&event.data)?)
}

/// Handles a part of the answer, or a whole one from a service that does not stream.
pub(super) fn take_message(assembly: &mut Assembly, message: &Value) -> Result<Sign, Unfit> {
    if let Some(fault) = fault(message) {
        return Err(Unfit::Fault(fault));
    }
    if ["candidates", "promptFeedback", "usageMetadata"].iter().all(|name| message.get(name).is_none()) {
        return Err(Unfit::Garbled("it has no part of an answer".to_owned()));
    }
    assembly.name_model(&message["modelVersion"]);
    if let Some(usage) = message.get("usageMetadata") {
        assembly.usage = usage_of(usage);
    }
    if message["promptFeedback"]["blockReason"].is_string() {
        assembly.stop = Some(StopReason::Refused);
    }
    let candidate = &message["candidates"][0];
    let mut sign = Sign::Alive;
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        sign = take_part(assembly, part)?;
    }
    if let Some(reason) = candidate["finishReason"].as_str() {
        assembly.stop = Some(stop_of(reason));
    }
    Ok(sign)
}

fn take_part(assembly: &mut Assembly, part: &Value) -> Result<Sign, Unfit> {
    if part["thought"].as_bool() == Some(true) {
        return Ok(Sign::Working("thinking"));
    }
    if let Some(call) = part.get("functionCall") {
        let index = assembly.n_calls();
        return assembly.call(index, &call["args"].to_string());
    }
    part["text"].as_str().map_or(Ok(Sign::Alive), |text| assembly.say(text))
}

fn usage_of(usage: &Value) -> Usage {
    let number = |name: &str| usage[name].as_u64().unwrap_or(0);
    Usage {
        input: number("promptTokenCount"),
        cached: number("cachedContentTokenCount"),
        output: number("candidatesTokenCount").saturating_add(number("thoughtsTokenCount")),
    }
}

fn stop_of(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::Finished,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "MODEL_ARMOR" => {
            StopReason::Refused
        }
        // `MAX_TOKENS`, `MALFORMED_FUNCTION_CALL`, `OTHER`; an unknown reason does not count as complete.
        _ => StopReason::Length,
    }
}
