//! A fake model on this machine without findings; it records the time of the first byte and the prompts.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

/// Its answer, as OpenAI's chat completions stream it.
const ANSWER: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":",
    "\"{\\\"decision\\\":\\\"approved\\\",\\\"summary\\\":\\\"fine\\\",\\\"findings\\\":[]}\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n",
    "data: [DONE]\n\n"
);

/// A model that approves of everything.
pub(crate) struct Model {
    port: u16,
    noted: Arc<Mutex<Noted>>,
}

/// What a model noted since it was last asked for it.
#[derive(Default)]
pub(crate) struct Noted {
    /// When the first byte came.
    pub(crate) first: Option<Instant>,
    /// The prompts, one text each.
    pub(crate) told: Vec<String>,
}

impl Model {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let noted = Arc::new(Mutex::new(Noted::default()));
        let kept = Arc::clone(&noted);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || drop(serve(stream, &kept)));
            }
        });
        Ok(Self { port, noted })
    }

    /// Writes a configuration in which it is the reviewer `bench`, below a folder for configuration.
    pub(crate) fn configure(&self, folder: &Path, more: &str) -> io::Result<()> {
        std::fs::create_dir_all(folder.join("tollgate"))?;
        let port = self.port;
        let text = format!(
            "{more}\n[reviewer.bench]\nbase_url = \"http://127.0.0.1:{port}/v1\"\nprotocol = \"openai\"\nmodel = \"bench\"\n"
        );
        std::fs::write(folder.join("tollgate/config.toml"), text)
    }

    /// The records since the last call.
    pub(crate) fn noted(&self) -> Noted {
        std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn serve(mut stream: TcpStream, noted: &Mutex<Noted>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(());
        }
        noted.lock().unwrap_or_else(PoisonError::into_inner).first.get_or_insert_with(Instant::now);
        let mut length = 0;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line)?;
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body)?;
        noted.lock().unwrap_or_else(PoisonError::into_inner).told.push(texts(&request["messages"]));
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{ANSWER}",
            ANSWER.len()
        )?;
    }
}

/// Every text in a list of messages.
fn texts(messages: &Value) -> String {
    match messages {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(texts).collect(),
        Value::Object(fields) => ["content", "text"].iter().filter_map(|name| fields.get(*name)).map(texts).collect(),
        _ => String::new(),
    }
}
