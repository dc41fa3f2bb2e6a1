//! A model's service that goes wrong in every way there is.
//!
//! Plain threads on a loopback port. Each connection is one attempt: the server records its time and request, and
//! answers with the next act of its script; the last act repeats. It speaks any
//! protocol it is spoken to in.

use std::io::{Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The ways in which a service fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Connection refused.
    Refused,
    /// A certificate of an unknown issuer.
    BadTls,
    /// The question is taken and nothing comes back.
    NoBytes,
    /// The answer comes byte by byte.
    Drip,
    /// Asked too often: come back in a second.
    Limited,
    /// Asked too often.
    LimitedWithoutWord,
    /// 500.
    Internal,
    /// 502.
    BadGateway,
    /// 503.
    Unavailable,
    /// 529.
    Overloaded,
    /// The connection breaks in the middle of the answer.
    HalfStream,
    /// The answer ends in an error.
    ErrorEvent,
    /// A web page.
    Html,
    /// Events that are no JSON.
    WrongJson,
    /// The answer is cut because it is too long.
    Length,
    /// The model would rather not.
    Refusal,
    /// An answer of 50 MB.
    Big,
    /// A line without an end.
    Endless,
}

impl Fault {
    pub(crate) const ALL: [Self; 18] = [
        Self::Refused,
        Self::BadTls,
        Self::NoBytes,
        Self::Drip,
        Self::Limited,
        Self::LimitedWithoutWord,
        Self::Internal,
        Self::BadGateway,
        Self::Unavailable,
        Self::Overloaded,
        Self::HalfStream,
        Self::ErrorEvent,
        Self::Html,
        Self::WrongJson,
        Self::Length,
        Self::Refusal,
        Self::Big,
        Self::Endless,
    ];

    /// The `retry-after` of a rate-limited response.
    pub(crate) const WAIT: Duration = Duration::from_secs(1);
}

/// What the server does with a connection.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// It goes wrong.
    Fail(Fault),
    /// It answers this, whole.
    Answer(String),
    /// It sends exactly this and hangs up.
    Raw(String),
}

/// A server that plays its script.
pub(crate) struct FaultServer {
    base_url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// When each connection came.
    times: Mutex<Vec<Instant>>,
    /// The requests, with headers.
    requests: Mutex<Vec<String>>,
    ended: Mutex<bool>,
    ending: Condvar,
}

impl State {
    /// Waits until the server ends, or so long; true when it has ended.
    fn wait(&self, time: Duration) -> bool {
        let ended = self.ended.lock().unwrap();
        *self.ending.wait_timeout_while(ended, time, |ended| !*ended).unwrap().0
    }
}

impl FaultServer {
    /// A server that always goes wrong in one way.
    pub(crate) fn failing(fault: Fault) -> Self {
        Self::playing(vec![Act::Fail(fault)])
    }

    /// A server that plays these acts, the last one for ever.
    pub(crate) fn playing(acts: Vec<Act>) -> Self {
        let state = Arc::new(State::default());
        if let [Act::Fail(Fault::Refused)] = acts.as_slice() {
            // A privileged port on which nothing listens.
            return Self { base_url: "http://127.0.0.1:1".to_owned(), state };
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let scheme = if matches!(acts.as_slice(), [Act::Fail(Fault::BadTls)]) { "https" } else { "http" };
        let server = Arc::clone(&state);
        std::thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                if *server.ended.lock().unwrap() {
                    break;
                }
                let (Ok(stream), Some(act)) = (stream, acts.get(index).or(acts.last())) else { continue };
                server.times.lock().unwrap().push(Instant::now());
                let (server, act) = (Arc::clone(&server), act.clone());
                // A client that hangs up is no failure of ours.
                std::thread::spawn(move || drop(serve(stream, &act, &server)));
            }
        });
        Self { base_url: format!("{scheme}://127.0.0.1:{port}"), state }
    }

    /// Where it is, without a path.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// When it was tried.
    pub(crate) fn times(&self) -> Vec<Instant> {
        self.state.times.lock().unwrap().clone()
    }

    /// The requests, with headers.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        *self.state.ended.lock().unwrap() = true;
        self.state.ending.notify_all();
        // A connection wakes up the accept loop.
        drop(TcpStream::connect(self.base_url.rsplit('/').next().unwrap_or_default()));
    }
}

/// Announces the end of the connection. Otherwise a client may reuse it and fail.
const CLOSE: &str = "connection: close\r\n";

/// The three ways in which a model's service may be spoken to.
#[derive(Clone, Copy)]
enum Tongue {
    OpenAi,
    Anthropic,
    Gemini,
}

fn serve(mut stream: TcpStream, act: &Act, state: &State) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_nodelay(true)?;
    if let Act::Fail(Fault::BadTls) = act {
        return refuse_to_be_known(stream);
    }
    let request = read_request(&mut stream)?;
    let tongue = match request.lines().next().unwrap_or_default() {
        line if line.contains("/messages") => Tongue::Anthropic,
        line if line.contains("GenerateContent") => Tongue::Gemini,
        _ => Tongue::OpenAi,
    };
    // A careless service echoes the key.
    let key = request.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let names = ["authorization", "x-api-key", "x-goog-api-key"];
        names.contains(&name.to_ascii_lowercase().as_str()).then(|| value.trim_start_matches("Bearer ").to_owned())
    });
    let key = key.unwrap_or_default();
    state.requests.lock().unwrap().push(request);
    match act {
        Act::Raw(text) => stream.write_all(text.as_bytes()),
        Act::Answer(text) => {
            begin(&mut stream)?;
            for event in whole(tongue, text, Ending::Finished) {
                send(&mut stream, event.as_bytes())?;
            }
            stream.write_all(b"0\r\n\r\n")
        }
        Act::Fail(fault) => fail(*fault, tongue, &key, &mut stream, state),
    }
}

fn fail(fault: Fault, tongue: Tongue, key: &str, stream: &mut TcpStream, state: &State) -> std::io::Result<()> {
    let ends = |stream: &mut TcpStream, ending: Ending| {
        begin(stream)?;
        for event in whole(tongue, "{\"decision\":\"approved\",\"find", ending) {
            send(stream, event.as_bytes())?;
        }
        stream.write_all(b"0\r\n\r\n")
    };
    match fault {
        Fault::Refused | Fault::BadTls => Ok(()),
        Fault::NoBytes => {
            state.wait(Duration::from_secs(60));
            Ok(())
        }
        Fault::Drip => {
            begin(stream)?;
            while !state.wait(Duration::from_millis(50)) {
                send(stream, b":")?;
            }
            Ok(())
        }
        Fault::Limited => status(stream, 429, &format!("retry-after: {}\r\n", Fault::WAIT.as_secs()), key),
        Fault::LimitedWithoutWord => status(stream, 429, "", key),
        Fault::Internal => status(stream, 500, "", key),
        Fault::BadGateway => status(stream, 502, "", key),
        Fault::Unavailable => status(stream, 503, "", key),
        Fault::Overloaded => status(stream, 529, "", key),
        Fault::HalfStream => {
            begin(stream)?;
            send(stream, piece(tongue, "[APPROVED] The change").as_bytes())
        }
        Fault::ErrorEvent => {
            begin(stream)?;
            send(stream, piece(tongue, "[APPROVED] The change").as_bytes())?;
            let error = format!("{{\"type\":\"overloaded_error\",\"code\":529,\"message\":\"no more, {key}\"}}");
            send(stream, format!("event: error\ndata: {{\"type\":\"error\",\"error\":{error}}}\n\n").as_bytes())?;
            stream.write_all(b"0\r\n\r\n")
        }
        Fault::Html => {
            let page = "<!DOCTYPE html><title>[APPROVED]</title><p>Log in to the network";
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n{CLOSE}content-length: {}", page.len());
            stream.write_all(format!("{head}\r\n\r\n{page}").as_bytes())
        }
        Fault::WrongJson => {
            begin(stream)?;
            send(stream, b"data: {\"decision\": \"approved\",, }\n\n")?;
            stream.write_all(b"0\r\n\r\n")
        }
        Fault::Length => ends(stream, Ending::Length),
        Fault::Refusal => ends(stream, Ending::Refusal),
        Fault::Big => {
            begin(stream)?;
            let event = piece(tongue, &"x".repeat(50_000));
            (0..1000).try_for_each(|_| send(stream, event.as_bytes()))?;
            ends(stream, Ending::Finished)
        }
        Fault::Endless => {
            begin(stream)?;
            let block = vec![b'x'; 64 << 10];
            while !*state.ended.lock().unwrap() {
                send(stream, &block)?;
            }
            Ok(())
        }
    }
}

/// Reads a request to the end of its body.
fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    let (mut bytes, mut block) = (Vec::new(), [0; 16 << 10]);
    loop {
        let n_read = stream.read(&mut block)?;
        bytes.extend_from_slice(&block[..n_read]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                return Ok(text.into_owned());
            }
        }
        if n_read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Begins a stream of events that is sent in chunks.
fn begin(stream: &mut TcpStream) -> std::io::Result<()> {
    let kind = "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked";
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{CLOSE}{kind}\r\n\r\n").as_bytes())
}

/// Sends one chunk.
fn send(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)
}

fn status(stream: &mut TcpStream, status: u16, headers: &str, key: &str) -> std::io::Result<()> {
    let body = format!("{{\"error\":{{\"message\":\"not now, {key}\",\"type\":\"busy\"}}}}");
    let kind = format!("{CLOSE}content-type: application/json\r\n{headers}content-length: {}", body.len());
    let head = format!("HTTP/1.1 {status} No\r\n{kind}");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes())
}

#[derive(Clone, Copy)]
enum Ending {
    Finished,
    Length,
    Refusal,
}

/// The events of a whole answer.
fn whole(tongue: Tongue, text: &str, ending: Ending) -> Vec<String> {
    let reason = match (tongue, ending) {
        (Tongue::OpenAi, Ending::Finished) => "stop",
        (Tongue::OpenAi, Ending::Length) => "length",
        (Tongue::OpenAi, Ending::Refusal) => "content_filter",
        (Tongue::Anthropic, Ending::Finished) => "end_turn",
        (Tongue::Anthropic, Ending::Length) => "max_tokens",
        (Tongue::Anthropic, Ending::Refusal) => "refusal",
        (Tongue::Gemini, Ending::Finished) => "STOP",
        (Tongue::Gemini, Ending::Length) => "MAX_TOKENS",
        (Tongue::Gemini, Ending::Refusal) => "SAFETY",
    };
    let end = match tongue {
        Tongue::OpenAi => format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n\
             data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":3}}}}\n\ndata: [DONE]\n\n"
        ),
        Tongue::Anthropic => format!(
            "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}},\
             \"usage\":{{\"input_tokens\":7,\"output_tokens\":3}}}}\n\n\
             event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        ),
        Tongue::Gemini => format!(
            "data: {{\"candidates\":[{{\"finishReason\":\"{reason}\"}}],\
             \"usageMetadata\":{{\"promptTokenCount\":7,\"candidatesTokenCount\":3}}}}\n\n"
        ),
    };
    let half = text.len() / 2;
    let half = (half..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(0);
    vec![piece(tongue, &text[..half]), piece(tongue, &text[half..]), end]
}

/// The event that says a piece of an answer.
fn piece(tongue: Tongue, text: &str) -> String {
    let text = serde_json::Value::from(text);
    match tongue {
        Tongue::OpenAi => {
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}\n\n")
        }
        Tongue::Anthropic => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n"
        ),
        Tongue::Gemini => format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":{text}}}]}}}}]}}\n\n"),
    }
}

/// Speaks TLS with a certificate that it has signed itself.
fn refuse_to_be_known(stream: TcpStream) -> std::io::Result<()> {
    let signed = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![signed.cert.der().clone()], key).unwrap();
    let connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, stream);
    let mut block = [0; 1024];
    let _ = stream.read(&mut block)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n[APPROVED]")
}
