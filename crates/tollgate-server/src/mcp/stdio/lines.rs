//! The lines of a client: messages are forwarded, everything else is answered with an error of JSON-RPC.
//!
//! The SDK passes over lines that are no messages, and a client would wait for their answers forever.

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc::{Receiver, Sender};

use super::MAX_MESSAGE;

/// Forwards the messages of a client; each other line is refused.
pub(super) async fn forward<R, W>(input: R, mut to_sdk: W, refuse: Sender<String>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut input).take(MAX_MESSAGE as u64 + 1).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let is_long = line.len() > MAX_MESSAGE;
        let refusal = if is_long {
            if !line.ends_with(b"\n") && !skip_line(&mut input).await {
                break;
            }
            Some(error(-32600, &format!("the message is longer than {MAX_MESSAGE} bytes")))
        } else {
            refusal(&line)
        };
        let done = match refusal {
            Some(refusal) => refuse.send(refusal).await.is_ok(),
            None => to_sdk.write_all(&line).await.is_ok() && ends_line(&line, &mut to_sdk).await,
        };
        if !done {
            break;
        }
    }
    let _ = to_sdk.shutdown().await;
}

/// Writes the answers of the SDK and the refusals, each on a line of its own, until the SDK has ended.
pub(super) async fn write<R, W>(answers: R, mut refused: Receiver<String>, mut output: W)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut answers = BufReader::new(answers);
    let mut line = Vec::new();
    let mut may_refuse = true;
    loop {
        // What was read of a line stays in `line` when a refusal comes between.
        let wrote = tokio::select! {
            read = answers.read_until(b'\n', &mut line) => match read {
                Ok(0) | Err(_) => break,
                Ok(_) => {
                    let wrote = output.write_all(&line).await;
                    line.clear();
                    wrote
                }
            },
            refusal = refused.recv(), if may_refuse => match refusal {
                Some(refusal) => output.write_all(refusal.as_bytes()).await,
                None => {
                    may_refuse = false;
                    Ok(())
                }
            },
        };
        if wrote.is_err() || output.flush().await.is_err() {
            break;
        }
    }
}

/// The refusal of a line that is no message; `None` for a message, and for an empty line.
fn refusal(line: &[u8]) -> Option<String> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(message)) if is_message(&message) => None,
        Ok(_) => Some(error(-32600, "the line is not a message of JSON-RPC 2.0")),
        Err(problem) => Some(error(-32700, &format!("the line is not valid JSON: {problem}"))),
    }
}

fn is_message(message: &Map<String, Value>) -> bool {
    let is_version_2 = message.get("jsonrpc").is_some_and(|version| version == "2.0");
    is_version_2 && ["method", "result", "error"].iter().any(|field| message.contains_key(*field))
}

/// An answer to a message whose number is not known.
fn error(code: i32, message: &str) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } }))
}

/// The last line may have no end.
async fn ends_line<W: AsyncWrite + Unpin>(line: &[u8], to_sdk: &mut W) -> bool {
    line.ends_with(b"\n") || to_sdk.write_all(b"\n").await.is_ok()
}

/// Skips the rest of a line; false when the input has ended.
async fn skip_line<R: AsyncRead + Unpin>(input: &mut BufReader<R>) -> bool {
    loop {
        let Ok(buffered) = input.fill_buf().await else { return false };
        if buffered.is_empty() {
            return true;
        }
        let feed = buffered.iter().position(|&byte| byte == b'\n');
        let n_used = feed.map_or(buffered.len(), |feed| feed + 1);
        input.consume(n_used);
        if feed.is_some() {
            return true;
        }
    }
}
