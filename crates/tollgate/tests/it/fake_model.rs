//! A model that says what a test wants it to say, over real HTTP.
//!
//! It speaks OpenAI's chat completions as they are published: server-sent events, the answer in pieces, the usage in
//! the last one. It records all requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A model on this machine.
pub(crate) struct FakeModel {
    port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl FakeModel {
    /// Starts a model that answers each question, the last message of a conversation, by a function.
    pub(crate) fn answering(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                // A client that goes away is no failure of the model.
                std::thread::spawn(move || drop(serve(stream, &kept, &*answer)));
            }
        });
        Self { port, asked }
    }

    /// A model that always says the same.
    pub(crate) fn saying(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::answering(move |_| text.clone())
    }

    /// A model that says nothing to its first questions until the sender is dropped, and then that all is well. Each
    /// request sends a message to the receiver.
    pub(crate) fn hanging(n_hanging: usize) -> (Self, Receiver<()>, Sender<()>) {
        let (asked, was_asked) = mpsc::channel();
        let (free, freed) = mpsc::channel::<()>();
        let state = Mutex::new((asked, n_hanging));
        let freed = Mutex::new(freed);
        let stub = Self::answering(move |_| {
            let hangs = {
                let mut state = state.lock().unwrap();
                let hangs = state.1 > 0;
                state.1 = state.1.saturating_sub(1);
                // The test may have dropped the receiver.
                let _ = state.0.send(());
                hangs
            };
            if hangs {
                let _ = freed.lock().unwrap().recv();
            }
            r#"{"decision":"APPROVED","summary":"fine","findings":[]}"#.to_owned()
        });
        (stub, was_asked, free)
    }

    /// A table of the configuration for it.
    pub(crate) fn table(&self, name: &str) -> String {
        let port = self.port;
        format!(
            "[reviewer.{name}]\nbase_url = \"http://127.0.0.1:{port}/v1\"\nprotocol = \"openai\"\nmodel = \"stub\"\n"
        )
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// All that it was asked, as one text.
    pub(crate) fn heard(&self) -> String {
        self.asked().iter().map(|request| question(request) + "\n").collect()
    }
}

/// The text of all messages of a request.
pub(crate) fn question(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    messages.iter().map(|message| text(&message["content"])).collect::<Vec<_>>().join("\n\n")
}

/// One finding in our schema.
pub(crate) fn finding(severity: &str, file: &str, line: u32, title: &str, evidence: &str) -> Value {
    json!({
        "severity": severity, "category": "Logic", "file": file, "line_start": line, "line_end": line, "side": "RIGHT",
        "title": title, "reason": "it matters", "evidence": evidence, "suggestion": null, "replacement": null,
    })
}

/// An answer in our schema.
pub(crate) fn answer(decision: &str, findings: &[Value]) -> String {
    json!({ "decision": decision, "summary": "what I think", "findings": findings }).to_string()
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Value>>, answer: &dyn Fn(&str) -> String) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut n_bytes = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                n_bytes = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; n_bytes];
        reader.read_exact(&mut body)?;
        if body.is_empty() {
            // Which models there are.
            let list = json!({ "object": "list", "data": [{ "id": "stub", "object": "model" }] }).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
            write!(stream, "{head} {}\r\n\r\n{list}", list.len())?;
            continue;
        }
        let request: Value = serde_json::from_slice(&body).unwrap();
        let said = answer(&question(&request));
        kept.lock().unwrap().push(request);
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let mut event = |value: &str| -> std::io::Result<()> {
            let data = format!("data: {value}\n\n");
            write!(stream, "{:x}\r\n{data}\r\n", data.len())?;
            stream.flush()
        };
        let characters: Vec<char> = said.chars().collect();
        for piece in characters.chunks(40) {
            let piece: String = piece.iter().collect();
            let delta = json!({ "choices": [{ "index": 0, "delta": { "content": piece }, "finish_reason": null }] });
            event(&delta.to_string())?;
        }
        event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }).to_string())?;
        let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 100 });
        event(&json!({ "choices": [], "model": "stub-1", "usage": usage }).to_string())?;
        event("[DONE]")?;
        write!(stream, "0\r\n\r\n")?;
        stream.flush()?;
    }
}
