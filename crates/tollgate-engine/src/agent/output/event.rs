//! Parsers for the JSON events of each agent; one function per agent.

use serde_json::Value;

use super::super::preset::Form;
use super::{OutputEvent, ParsedOutput};
use crate::call::{StopReason, Usage};

/// The longest session id; a longer one is ignored.
const MAX_SESSION: usize = 128;

/// Parses one JSON value of the output.
pub(super) fn take(form: Form, value: &Value, found: &mut ParsedOutput, said: &dyn Fn(OutputEvent<'_>)) {
    match form {
        Form::Claude | Form::Cursor | Form::CursorLines => claude(value, found, said),
        Form::Codex => codex(value, found, said),
        Form::Gemini => gemini(value, found, said),
        Form::OpenCode => opencode(value, found, said),
        Form::Json | Form::JsonLines | Form::Text | Form::Aider => other(value, found, said),
    }
}

fn string<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// A figure, small enough to be added up however often it comes.
fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0).min(u32::MAX.into())
}

fn tool(name: Option<&str>, input: Option<&Value>, said: &dyn Fn(OutputEvent<'_>)) {
    said(OutputEvent::Tool { name: name.unwrap_or("a tool"), input });
}

/// Validates and keeps the session id, which the agent chooses and which may become an argument of its next run.
fn name_session(name: Option<&str>, found: &mut ParsedOutput) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_name =
        |name: &&str| (1..=MAX_SESSION).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_part);
    if let Some(name) = name.filter(is_name) {
        found.session = Some(name.to_owned());
    }
}

/// An error in any of the shapes in which agents write it.
fn error_text(value: &Value) -> Option<String> {
    let inner = ["/data/message", "/message", "/error/message", "/error"];
    let text = value.as_str().or_else(|| inner.iter().find_map(|pointer| string(value, pointer)));
    text.map(str::to_owned).or_else(|| (value.is_object() && !value.is_null()).then(|| value.to_string()))
}

/// Claude Code, and Cursor's agent which prints the same result.
fn claude(value: &Value, found: &mut ParsedOutput, said: &dyn Fn(OutputEvent<'_>)) {
    match string(value, "/type") {
        Some("system") => {
            if let Some(model) = string(value, "/model") {
                found.model = Some(model.to_owned());
            }
            name_session(string(value, "/session_id"), found);
        }
        Some("stream_event") => match string(value, "/event/delta/type") {
            Some("text_delta") => {
                found.is_told = true;
                said(OutputEvent::Text(string(value, "/event/delta/text").unwrap_or_default()));
            }
            Some("thinking_delta") => said(OutputEvent::Thinking),
            _ => {}
        },
        Some("assistant") => {
            for part in value.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
                match string(part, "/type") {
                    Some("tool_use") => tool(string(part, "/name"), part.get("input"), said),
                    Some("text") => {
                        if !std::mem::take(&mut found.is_told) {
                            said(OutputEvent::Text(string(part, "/text").unwrap_or_default()));
                        }
                        said(OutputEvent::End);
                    }
                    _ => {}
                }
            }
        }
        // Cursor's word; the name of the tool is that of the field.
        Some("tool_call") if string(value, "/subtype") == Some("started") => {
            let call = value.get("tool_call").and_then(Value::as_object).and_then(|call| call.iter().next());
            tool(call.map(|(name, _)| name.as_str()), call.and_then(|(_, call)| call.get("args")), said);
        }
        Some("result") => claude_result(value, found),
        _ => {}
    }
}

/// `subtype` is no help: it is `success` for an agent that is not logged in.
fn claude_result(value: &Value, found: &mut ParsedOutput) {
    let result = string(value, "/result").map(str::to_owned);
    let subtype = string(value, "/subtype").unwrap_or_default();
    if value.get("is_error").and_then(Value::as_bool) != Some(false) || subtype.starts_with("error") {
        let errors = value.pointer("/errors/0").and_then(error_text);
        found.error = Some(result.filter(|text| !text.is_empty()).or(errors).unwrap_or_else(|| subtype.to_owned()));
        return;
    }
    found.error = None;
    found.text = result;
    found.structured = value.get("structured_output").filter(|value| value.is_object()).cloned();
    found.cost = value.get("total_cost_usd").and_then(Value::as_f64);
    match string(value, "/stop_reason") {
        Some("refusal") => found.stop = StopReason::Refused,
        Some("max_tokens") => found.stop = StopReason::Length,
        _ => {}
    }
    let cached = number(value, "/usage/cache_read_input_tokens");
    found.usage = Usage {
        input: number(value, "/usage/input_tokens") + number(value, "/usage/cache_creation_input_tokens") + cached,
        cached,
        output: number(value, "/usage/output_tokens"),
    };
}

/// Codex: errors on the way are not the end, a failed turn is.
fn codex(value: &Value, found: &mut ParsedOutput, said: &dyn Fn(OutputEvent<'_>)) {
    match string(value, "/type") {
        Some("thread.started") => name_session(string(value, "/thread_id"), found),
        Some("item.started") if string(value, "/item/type") == Some("reasoning") => said(OutputEvent::Thinking),
        Some("item.started") => tool(string(value, "/item/type"), value.get("item"), said),
        Some("item.completed") => match string(value, "/item/type") {
            Some("agent_message") => {
                let text = string(value, "/item/text").unwrap_or_default();
                said(OutputEvent::Text(text));
                said(OutputEvent::End);
                found.text = Some(text.to_owned());
            }
            Some("error") => found.trouble = value.get("item").and_then(error_text),
            _ => {}
        },
        Some("turn.completed") => {
            found.usage.input += number(value, "/usage/input_tokens");
            found.usage.cached += number(value, "/usage/cached_input_tokens");
            found.usage.output += number(value, "/usage/output_tokens");
        }
        Some("turn.failed") => {
            let trouble = found.trouble.take();
            found.error =
                value.get("error").and_then(error_text).or(trouble).or_else(|| Some("the turn failed".into()));
        }
        Some("error") => found.trouble = error_text(value),
        _ => {}
    }
}

/// Gemini, one JSON value or lines of it.
fn gemini(value: &Value, found: &mut ParsedOutput, said: &dyn Fn(OutputEvent<'_>)) {
    match string(value, "/type") {
        Some("init") => {
            found.model = string(value, "/model").map(str::to_owned);
            name_session(string(value, "/session_id"), found);
        }
        Some("message") if string(value, "/role") == Some("assistant") => {
            let text = string(value, "/content").unwrap_or_default();
            said(OutputEvent::Text(text));
            found.text.get_or_insert_default().push_str(text);
        }
        Some("tool_use") => {
            // Text before a tool call is not the answer.
            found.text = None;
            said(OutputEvent::End);
            tool(string(value, "/tool_name"), value.get("parameters"), said);
        }
        Some("error") if string(value, "/severity") == Some("warning") => found.trouble = error_text(value),
        Some("error") => found.error = error_text(value),
        Some("result") => {
            if string(value, "/status") != Some("success") {
                let error = value.get("error").and_then(error_text);
                found.error = error.or(found.error.take()).or_else(|| Some("the run failed".to_owned()));
            }
            found.usage = Usage {
                input: number(value, "/stats/input_tokens"),
                cached: number(value, "/stats/cached"),
                output: number(value, "/stats/output_tokens"),
            };
        }
        Some(_) => {}
        None => gemini_whole(value, found),
    }
}

fn gemini_whole(value: &Value, found: &mut ParsedOutput) {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        found.error = error_text(error);
    }
    if let Some(response) = string(value, "/response") {
        found.text = Some(response.to_owned());
    }
    let models = value.pointer("/stats/models").and_then(Value::as_object);
    for (model, stats) in models.into_iter().flatten() {
        found.model = Some(model.clone());
        found.usage.input += number(stats, "/tokens/prompt");
        found.usage.cached += number(stats, "/tokens/cached");
        found.usage.output += number(stats, "/tokens/candidates");
    }
}

/// OpenCode: the texts of the last step that has any are the answer.
fn opencode(value: &Value, found: &mut ParsedOutput, said: &dyn Fn(OutputEvent<'_>)) {
    name_session(string(value, "/sessionID"), found);
    match string(value, "/type") {
        Some("step_start") => found.text = None,
        Some("text") => {
            let text = string(value, "/part/text").unwrap_or_default();
            said(OutputEvent::Text(text));
            said(OutputEvent::End);
            found.text.get_or_insert_default().push_str(text);
        }
        Some("tool_use") => tool(string(value, "/part/tool"), value.pointer("/part/state/input"), said),
        Some("step_finish") => {
            let cached = number(value, "/part/tokens/cache/read");
            found.usage.input += number(value, "/part/tokens/input") + cached;
            found.usage.cached += cached;
            found.usage.output += number(value, "/part/tokens/output");
            let cost = value.pointer("/part/cost").and_then(Value::as_f64).unwrap_or(0.0);
            found.cost = Some(found.cost.unwrap_or(0.0) + cost).filter(|cost| *cost > 0.0);
        }
        Some("error") => found.error = value.get("error").and_then(error_text).or_else(|| error_text(value)),
        _ => {}
    }
}

/// The answer of the model in Aider's chat history, which marks each line with its speaker.
pub(super) fn aider_answer(history: &str) -> Option<String> {
    let (_, said) = history.rsplit_once("\nLLM RESPONSE ")?;
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("ASSISTANT ")).collect();
    Some(lines.join("\n")).filter(|answer| !answer.trim().is_empty())
}

/// The error of a failed call, after which Aider exits with code 0.
pub(super) fn aider_error(printed: &str) -> Option<String> {
    let start = printed.find("\nlitellm.").map(|start| start + 1).or(printed.starts_with("litellm.").then_some(0))?;
    let lines: Vec<&str> = printed[start..].lines().take(3).map(str::trim).collect();
    Some(lines.join(" "))
}

/// The JSON pointers at which other agents put messages, most likely first.
const MESSAGES: [&str; 10] = [
    "/result",
    "/response",
    "/text",
    "/output",
    "/answer",
    "/content",
    "/message/content",
    "/message",
    "/item/text",
    "/part/text",
];

/// A command of the user's: a message in one of the usual places, or the answer itself.
fn other(value: &Value, found: &mut ParsedOutput, said: &dyn Fn(OutputEvent<'_>)) {
    let is_error = value.get("is_error").and_then(Value::as_bool) == Some(true)
        || string(value, "/type") == Some("error")
        || string(value, "/status") == Some("error");
    let error = value.get("error").filter(|error| !error.is_null() && **error != Value::Bool(false));
    if is_error || error.is_some() {
        let said = error.and_then(error_text).or_else(|| MESSAGES.iter().find_map(|place| text_at(value, place)));
        found.error = said.or_else(|| Some("it gave no reason".to_owned()));
        return;
    }
    let structured = value.get("structured_output").filter(|value| value.is_object());
    let is_answer = ["findings", "decision", "issues", "claims"].iter().any(|field| value.get(field).is_some());
    let text = MESSAGES.iter().find_map(|place| text_at(value, place)).filter(|_| !is_answer);
    let is_event = text.is_none() && string(value, "/type").is_some();
    let whole = Some(value).filter(|value| is_answer || (text.is_none() && !is_event && !value.is_null()));
    // A later message takes the place of an earlier one.
    if let Some(answer) = structured.or(whole) {
        found.structured = Some(answer.clone());
        found.text = None;
    } else if text.is_some() {
        found.structured = None;
    }
    if let Some(text) = text {
        said(OutputEvent::Text(&text));
        said(OutputEvent::End);
        found.text = Some(text);
    }
}

/// A text, or the texts of a list of parts.
fn text_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.as_str().or(string(part, "/text"))).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}
