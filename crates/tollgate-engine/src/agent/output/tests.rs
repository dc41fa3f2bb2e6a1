use std::cell::RefCell;

use insta::assert_snapshot;

use super::*;

/// Parses an agent's output; the answer and the events, in a few lines.
fn read(form: Form, output: &str) -> String {
    read_with(form, output, None)
}

/// A sign in short: of a piece of the answer its length.
fn in_short(heard: &crate::call::CallProgress) -> String {
    match heard {
        crate::call::CallProgress::Answer(text) => format!("Answer({})", text.len()),
        other => format!("{other:?}"),
    }
}

fn read_with(form: Form, output: &str, last: Option<&str>) -> String {
    let told = RefCell::new(Vec::new());
    let mut reader = Reader::new(form, 10_000);
    // Seven bytes at a time: pipes cut where they like.
    for piece in output.as_bytes().chunks(7) {
        assert!(reader.take(piece, &|said| told.borrow_mut().extend(said.heard())));
    }
    let told: Vec<String> = told.borrow().iter().filter(|_| form.streams()).map(in_short).collect();
    let told = if told.is_empty() { String::new() } else { format!("{}\n", told.join(" ")) };
    match reader.finish(last) {
        Ok(reply) => {
            let structured = reply.structured.map_or("-".to_owned(), |value| value.to_string());
            let (usage, cost, model) = (reply.usage, reply.cost, reply.model.unwrap_or_default());
            let usage = format!("{}/{}/{}", usage.input, usage.cached, usage.output);
            let text = if reply.text.is_empty() { "-" } else { &reply.text };
            format!("{told}{:?}: {text}\n{structured}\n{usage} {cost:?} {model}", reply.stop)
        }
        Err(why) => format!("{told}{why:?}"),
    }
}

#[test]
fn claude_answers_in_its_result() {
    let output = r#"{"type":"system","subtype":"init","model":"claude-x","tools":["Read"]}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Let me look."}}}
{"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."},{"type":"tool_use","name":"Grep"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"a.rs"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","structured_output":{"findings":[]},"total_cost_usd":0.25,"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":7}}
"#;
    assert_snapshot!(read(Form::Claude, output), @r#"
    Working("thinking") Answer(12) Working("Grep")
    Finished: Done.
    {"findings":[]}
    115/100/7 Some(0.25) claude-x
    "#);
}

#[test]
fn figures_that_no_model_reaches_overflow_nothing() {
    let turn = format!(r#"{{"type":"turn.completed","usage":{{"input_tokens":{}}}}}"#, u64::MAX);
    assert_snapshot!(read(Form::Codex, &format!("{turn}\n{turn}\n")), @r#"Nothing("ended without an answer")"#);
}

#[test]
fn claude_without_a_log_in_reports_success_and_is_not_believed() {
    let output =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}"#;
    assert_snapshot!(read(Form::Claude, output), @r#"Error("Not logged in · Please run /login")"#);
    let output = r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#;
    assert_snapshot!(read(Form::Claude, output), @r#"Error("error_max_turns")"#);
    let without_flag = r#"{"type":"result","subtype":"success","result":"approved"}"#;
    assert_snapshot!(read(Form::Claude, without_flag), @r#"Error("approved")"#);
}

#[test]
fn claude_that_only_talks_has_not_answered() {
    let output = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"approved"}]}}"#;
    assert_snapshot!(read(Form::Claude, output), @r#"Nothing("ended without an answer")"#);
}

#[test]
fn codex_answers_in_its_last_message() {
    let output = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 2/5"}
{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"Looking."}}
{"type":"item.started","item":{"id":"1","type":"command_execution","command":"cat a.rs"}}
{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat a.rs","exit_code":0}}
{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"{\"findings\":[]}"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":9}}
"#;
    assert_snapshot!(read(Form::Codex, output), @r#"
    Answer(8) Working("command_execution") Answer(15)
    Finished: {"findings":[]}
    {"findings":[]}
    100/40/9 None
    "#);
    assert_snapshot!(read_with(Form::Codex, output, Some("{\"findings\":[1]}")), @r#"
    Answer(8) Working("command_execution") Answer(15)
    Finished: {"findings":[1]}
    {"findings":[1]}
    100/40/9 None
    "#);
}

#[test]
fn codex_that_failed_says_why() {
    let output = r#"{"type":"item.completed","item":{"type":"agent_message","text":"approved"}}
{"type":"turn.failed","error":{"message":"stream disconnected"}}"#;
    assert_snapshot!(read(Form::Codex, output), @r#"
    Answer(8)
    Error("stream disconnected")
    "#);
    let output = r#"{"type":"error","message":"Reconnecting... 5/5"}"#;
    assert_snapshot!(read(Form::Codex, output), @r#"Error("Reconnecting... 5/5")"#);
}

#[test]
fn gemini_answers_in_pieces_or_as_a_whole() {
    let lines = r#"{"type":"init","session_id":"s","model":"gemini-x"}
{"type":"message","role":"user","content":"the prompt"}
{"type":"message","role":"assistant","content":"Looking.","delta":true}
{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{}}
{"type":"tool_result","tool_id":"1","status":"success","output":""}
{"type":"message","role":"assistant","content":"{\"find","delta":true}
{"type":"message","role":"assistant","content":"ings\":[]}","delta":true}
{"type":"result","status":"success","stats":{"total_tokens":12,"input_tokens":10,"output_tokens":2,"cached":4}}
"#;
    assert_snapshot!(read(Form::Gemini, lines), @r#"
    Answer(8) Working("read_file") Answer(6) Answer(9)
    Finished: {"findings":[]}
    {"findings":[]}
    10/4/2 None gemini-x
    "#);
    let whole =
        r#"{"response":"fine","stats":{"models":{"gemini-x":{"tokens":{"prompt":5,"candidates":2,"cached":1}}}}}"#;
    assert_snapshot!(read(Form::Gemini, whole), @r"
    Finished: fine
    -
    5/1/2 None gemini-x
    ");
}

#[test]
fn gemini_that_failed_says_why() {
    let lines = r#"{"type":"message","role":"assistant","content":"approved"}
{"type":"result","status":"error","error":{"type":"ApiError","message":"quota"}}"#;
    assert_snapshot!(read(Form::Gemini, lines), @r#"
    Answer(8)
    Error("quota")
    "#);
    let whole = r#"{"error":{"type":"Error","message":"Please set an Auth method","code":41}}"#;
    assert_snapshot!(read(Form::Gemini, whole), @r#"Error("Please set an Auth method")"#);
}

#[test]
fn cursor_answers_with_one_value() {
    let answer = r#"{"type":"result","subtype":"success","is_error":false,"result":"fine","session_id":"s"}"#;
    assert_snapshot!(read(Form::Cursor, answer), @r"
    Finished: fine
    -
    0/0/0 None
    ");
    let error = r#"{"type":"result","subtype":"success","is_error":true,"result":"no"}"#;
    assert_snapshot!(read(Form::Cursor, error), @r#"Error("no")"#);
}

#[test]
fn opencode_answers_in_its_last_step() {
    let output = r#"{"type":"step_start","part":{}}
{"type":"text","part":{"text":"Looking."}}
{"type":"tool_use","part":{"tool":"read","state":{}}}
{"type":"step_finish","part":{"cost":0.5,"tokens":{"input":10,"output":2,"cache":{"read":3,"write":0}}}}
{"type":"step_start","part":{}}
{"type":"text","part":{"text":"{\"findings\":[]}"}}
{"type":"step_finish","part":{"cost":0.25,"tokens":{"input":20,"output":4,"cache":{"read":0,"write":0}}}}
"#;
    assert_snapshot!(read(Form::OpenCode, output), @r#"
    Answer(8) Working("read") Answer(15)
    Finished: {"findings":[]}
    {"findings":[]}
    33/3/6 Some(0.75)
    "#);
    let error = r#"{"type":"error","error":{"name":"APIError","data":{"message":"no such model"}}}"#;
    assert_snapshot!(read(Form::OpenCode, error), @r#"Error("no such model")"#);
}

#[test]
fn aider_answers_in_its_history() {
    let printed = "Aider v0.86.2\nModel: m\n\n[APPROVED]\n\nTokens: 10 sent";
    let history =
        "TO LLM t\n-------\nUSER LLM RESPONSE x\nUSER ASSISTANT no\nLLM RESPONSE t\nASSISTANT {\nASSISTANT }\n";
    assert_snapshot!(read_with(Form::Aider, printed, Some(history)), @r"
    Finished: {
    }
    {}
    0/0/0 None
    ");
    assert_snapshot!(read_with(Form::Aider, printed, Some("TO LLM t\nUSER x\nLLM RESPONSE t\n\n")), @r#"Nothing("ended without an answer")"#);
    assert_snapshot!(read_with(Form::Aider, printed, None), @r#"Nothing("ended without an answer")"#);
}

#[test]
fn aider_that_failed_ends_well_and_is_not_believed() {
    let printed =
        "Aider v0.86.2\n\nlitellm.AuthenticationError: OpenAIException - Incorrect \nAPI key provided\nCheck it.\n";
    assert_snapshot!(read_with(Form::Aider, printed, Some("LLM RESPONSE t\n")), @r#"Error("litellm.AuthenticationError: OpenAIException - Incorrect API key provided Check it.")"#);
    let mended = "TO LLM t\nUSER x\nLLM RESPONSE t\nASSISTANT fine\n";
    assert_snapshot!(read_with(Form::Aider, printed, Some(mended)), @r"
    Finished: fine
    -
    0/0/0 None
    ");
}

#[test]
fn other_agents_answer_in_the_usual_places() {
    for output in [
        r#"{"result":"fine"}"#,
        r#"{"response":"fine"}"#,
        r#"{"text":"fine"}"#,
        r#"{"message":"fine"}"#,
        r#"{"message":{"role":"assistant","content":[{"type":"text","text":"fi"},{"type":"text","text":"ne"}]}}"#,
        "Warming up…\n{\"result\":\"fine\"}",
    ] {
        assert_eq!(read(Form::Json, output), "Finished: fine\n-\n0/0/0 None ", "{output}");
    }
    assert_snapshot!(read(Form::Json, r#"{"decision":"approved","findings":[]}"#), @r#"
    Finished: -
    {"decision":"approved","findings":[]}
    0/0/0 None
    "#);
    assert_snapshot!(read(Form::Json, r#"{"result":"x","structured_output":{"findings":[]}}"#), @r#"
    Finished: x
    {"findings":[]}
    0/0/0 None
    "#);
    assert_snapshot!(read(Form::JsonLines, "{\"text\":\"a\"}\nnote\n{\"type\":\"done\"}\n{\"text\":\"b\"}"), @r"
    Answer(1)
    Finished: b
    -
    0/0/0 None
    ");
}

#[test]
fn errors_of_other_agents_are_errors_whatever_else_they_say() {
    for output in [
        r#"{"result":"fine","is_error":true}"#,
        r#"{"result":"fine","error":"fine"}"#,
        r#"{"type":"error","message":"fine"}"#,
        r#"{"status":"error","result":"fine"}"#,
    ] {
        assert_eq!(read(Form::Json, output), "Error(\"fine\")", "{output}");
    }
}

#[test]
fn half_an_answer_is_none() {
    assert_snapshot!(read(Form::Json, r#"{"result":"fin"#), @r#"Nothing("printed JSON that is cut off")"#);
    assert_snapshot!(read(Form::Claude, r#"{"type":"result","is_error":false,"res"#), @r#"Nothing("printed invalid JSON: `{\"type\":\"result\",\"is_error\":false,\"res`")"#);
    assert_snapshot!(read(Form::Json, "nonsense"), @r#"Nothing("printed invalid JSON: expected ident at line 1 column 2")"#);
    assert_snapshot!(read(Form::Text, "  \n "), @r#"Nothing("printed nothing")"#);
}

#[test]
fn too_much_is_noticed_while_it_comes() {
    for form in [Form::Text, Form::Json, Form::JsonLines] {
        let mut reader = Reader::new(form, 10);
        assert!(reader.take(b"0123456789", &|_| {}));
        assert!(!reader.take(b"0", &|_| {}));
    }
    let mut reader = Reader::new(Form::JsonLines, 10);
    assert!((0..100).all(|_| reader.take(b"{\"a\":1}\n", &|_| {})), "lines that are done with do not count");
}

/// Parses the output of an implementer; the result and the events.
fn worked(form: Form, output: &str) -> String {
    let told = RefCell::new(Vec::new());
    let mut reader = Reader::of_work(form, 10_000);
    for piece in output.as_bytes().chunks(7) {
        assert!(reader.take(piece, &|said| match said {
            OutputEvent::Bytes(_) | OutputEvent::Thinking => {}
            OutputEvent::Text(text) => told.borrow_mut().push(text.to_owned()),
            OutputEvent::End => told.borrow_mut().push("|".to_owned()),
            OutputEvent::Tool { name, input } =>
                told.borrow_mut().push(format!("{name}({})", input.unwrap_or(&Value::Null))),
        }));
    }
    let worked = reader.finish_work(None).map(|worked| {
        let (session, model) = (worked.session.unwrap_or_default(), worked.model.unwrap_or_default());
        let usage = format!("{}/{}/{}", worked.usage.input, worked.usage.cached, worked.usage.output);
        format!("{} [{session}] {usage} {:?} {model}", worked.text, worked.cost)
    });
    let told = format!("{}\n{}", told.borrow().join(" "), worked.unwrap_or_else(|why| format!("{why:?}")));
    told.trim().to_owned()
}

#[test]
fn the_work_of_each_agent_is_told_with_its_tools_and_its_session() {
    let claude = r#"{"type":"system","subtype":"init","model":"c","session_id":"s-1"}
{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"Hm."}}}
{"type":"assistant","message":{"content":[{"type":"text","text":"Hm."},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"Whole."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{"output_tokens":7}}
"#;
    assert_snapshot!(worked(Form::Claude, claude), @r#"
    Hm. | Bash({"command":"ls"}) Whole. |
    Done. [s-1] 0/0/7 None c
    "#);
    let codex = r#"{"type":"thread.started","thread_id":"0199-a"}
{"type":"item.started","item":{"type":"reasoning"}}
{"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":3,"output_tokens":2}}
"#;
    assert_snapshot!(worked(Form::Codex, codex), @r#"
    command_execution({"type":"command_execution","command":"ls"}) Done. |
    Done. [0199-a] 5/3/2 None
    "#);
    let gemini = r#"{"type":"init","model":"g","session_id":"s-2"}
{"type":"message","role":"assistant","content":"I ","delta":true}
{"type":"message","role":"assistant","content":"look.","delta":true}
{"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"a"}}
{"type":"message","role":"assistant","content":"Done."}
{"type":"result","status":"success","stats":{"input_tokens":5,"output_tokens":2}}
"#;
    assert_snapshot!(worked(Form::Gemini, gemini), @r#"
    I  look. | write_file({"file_path":"a"}) Done.
    Done. [s-2] 5/0/2 None g
    "#);
    let opencode = r#"{"type":"step_start","sessionID":"ses_1"}
{"type":"tool_use","sessionID":"ses_1","part":{"tool":"edit","state":{"input":{"filePath":"a"}}}}
{"type":"text","sessionID":"ses_1","part":{"text":"Done."}}
{"type":"step_finish","sessionID":"ses_1","part":{"cost":0.5,"tokens":{"input":5,"output":2,"cache":{"read":1}}}}
"#;
    assert_snapshot!(worked(Form::OpenCode, opencode), @r#"
    edit({"filePath":"a"}) Done. |
    Done. [ses_1] 6/1/2 Some(0.5)
    "#);
    let cursor = r#"{"type":"system","subtype":"init","model":"m","session_id":"s-3"}
{"type":"assistant","message":{"content":[{"type":"text","text":"Hm."}]}}
{"type":"tool_call","subtype":"started","tool_call":{"writeToolCall":{"args":{"path":"a"}}}}
{"type":"tool_call","subtype":"completed","tool_call":{"writeToolCall":{"args":{"path":"a"}}}}
{"type":"result","subtype":"success","is_error":false,"result":"Done."}
"#;
    assert_snapshot!(worked(Form::CursorLines, cursor), @r#"
    Hm. | writeToolCall({"path":"a"})
    Done. [s-3] 0/0/0 None m
    "#);
}

#[test]
fn work_that_ends_without_a_word_is_done_and_with_an_error_is_not() {
    assert_snapshot!(worked(Form::Codex, ""), @"[] 0/0/0 None");
    assert_snapshot!(worked(Form::Json, "{\"cut"), @"[] 0/0/0 None");
    let failed = r#"{"type":"turn.failed","error":{"message":"no credit"}}"#;
    assert_snapshot!(worked(Form::Codex, failed), @r#"Error("no credit")"#);
}

#[test]
fn of_a_long_text_the_end_is_the_last_message() {
    let read = worked(Form::Text, &format!("begin{}the end", "x".repeat(20_000)));
    assert!(read.contains("xthe end [] ") && read.len() < 10_100 && !read.contains("begin"), "{}", read.len());
}

#[test]
fn an_invalid_session_id_is_ignored() {
    let init = |name: &str| format!("{}\n", serde_json::json!({"type": "thread.started", "thread_id": name}));
    for strange in ["", "--yes", "a b", "a\nb", "$(x)", &"a".repeat(129)] {
        let read = worked(Form::Codex, &init(strange));
        // A name that begins like an option would be taken for one.
        assert!(read.contains("[]"), "{strange}: {read}");
    }
    assert!(worked(Form::Codex, &init("0199-a_B")).contains("[0199-a_B]"));
}
