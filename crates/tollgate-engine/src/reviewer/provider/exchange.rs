//! One attempt: sends a request and reads the answer, a stream of events or one JSON text, each step within its limits.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;

use super::assembly::{Assembly, Fault, Sign, Unfit, fault};
use super::capabilities::Capabilities;
use super::error::{Again, Trouble, broken_off, garbled, refused, silent, unreachable};
use super::sse::{Event, Reader};
use super::{Connection, Protocol, Provider, Structured, anthropic, gemini, openai};
use crate::net::backoff;
use crate::reviewer::call::{CallControl, CallProgress, Question, Reply, StopReason};

/// The most that is read of an error response.
const MAX_ERROR: usize = 64 << 10;

/// The timeout for the body of an error response.
const PATIENCE: Duration = Duration::from_secs(3);

/// The ratio of bytes on the wire to bytes of the answer, because each token comes in an envelope.
const ENVELOPE: usize = 8;

/// Makes one attempt.
pub(super) async fn ask(provider: &Provider, question: &Question, watch: &CallControl<'_>) -> Result<Reply, Trouble> {
    let connection = &provider.connection;
    let capabilities = provider.capabilities();
    let request = provider.request(question, capabilities)?;
    (watch.heard)(CallProgress::Sent);
    let response = alive(connection, watch, request.send()).await?;
    let response = response.map_err(|error| unreachable(connection, &error))?;
    if !response.status().is_success() {
        return Err(complaint(connection, capabilities, response).await);
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("text/event-stream");
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wants_structure = capabilities.structured(connection) != Structured::None;
    let mut body = Body::begin(connection, watch, response).await?;
    let (assembly, stop) = match form_of(&kind, &body.first) {
        Form::Events => read(connection, watch, &mut body).await?,
        Form::Json => read_whole(connection, watch, &mut body).await?,
        Form::Other => return Err(no_answer(connection, &format!("it is `{}`", shortened(&kind)))),
    };
    Ok(assembly.into_reply(stop, wants_structure, &provider.redactor))
}

/// The body of a response, of which the beginning is known.
struct Body {
    /// The first bytes, up to the first that is no white space.
    first: Vec<u8>,
    response: Response,
}

impl Body {
    async fn begin(connection: &Connection, watch: &CallControl<'_>, response: Response) -> Result<Self, Trouble> {
        let mut body = Self { first: Vec::new(), response };
        let mut first = Vec::new();
        while first.trim_ascii().is_empty() && first.len() < MAX_ERROR {
            match body.next(connection, watch, false).await? {
                Some(piece) => first.extend_from_slice(&piece),
                None => break,
            }
        }
        body.first = first;
        Ok(body)
    }

    /// The next bytes; `begun` says whether a part of the answer was in those before.
    async fn next(
        &mut self,
        connection: &Connection,
        watch: &CallControl<'_>,
        begun: bool,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        if !self.first.is_empty() {
            return Ok(Some(std::mem::take(&mut self.first)));
        }
        let piece = alive(connection, watch, self.response.chunk()).await?;
        Ok(piece.map_err(|_| broken_off(connection, begun))?.map(Vec::from))
    }
}

/// The form of a response.
enum Form {
    /// Server-sent events.
    Events,
    /// One JSON text: the answer of a service that does not stream, or an error.
    Json,
    /// Something else, such as a web page.
    Other,
}

/// The form of a response by its first bytes: services send streams as JSON and JSON as streams.
fn form_of(kind: &str, first: &[u8]) -> Form {
    let text = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first).trim_ascii_start();
    let is_field = |field: &&str| text.starts_with(field.as_bytes());
    match text.first() {
        Some(b'{' | b'[') => Form::Json,
        _ if kind == "text/event-stream" || ["data:", "event:", "id:", ":"].iter().any(is_field) => Form::Events,
        _ => Form::Other,
    }
}

/// Reads the answer of a service that does not stream.
async fn read_whole(
    connection: &Connection,
    watch: &CallControl<'_>,
    body: &mut Body,
) -> Result<(Assembly, StopReason), Trouble> {
    let max_bytes = connection.max_reply_bytes.saturating_mul(ENVELOPE);
    let mut bytes = Vec::new();
    while let Some(piece) = body.next(connection, watch, true).await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > max_bytes {
            return Err(garbled(connection, &format!("it is longer than {max_bytes} bytes")));
        }
    }
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let message: Value = serde_json::from_slice(text).map_err(|_| no_answer(connection, "it is not JSON"))?;
    let mut assembly = Assembly::new(connection.max_reply_bytes);
    let taken = match connection.protocol {
        Protocol::OpenAi => openai::take_message(&mut assembly, &message).map(drop),
        Protocol::Anthropic => anthropic::take_message(&mut assembly, &message),
        Protocol::Gemini => match message.as_array() {
            Some(parts) => parts.iter().try_for_each(|part| gemini::take_message(&mut assembly, part).map(drop)),
            None => gemini::take_message(&mut assembly, &message).map(drop),
        },
    };
    taken.map_err(|unfit| match unfit {
        Unfit::Garbled(what) => no_answer(connection, &what),
        Unfit::Fault(fault) => trouble_of(connection, &assembly, &fault),
    })?;
    (watch.heard)(CallProgress::Answer(assembly.said()));
    match assembly.stop {
        Some(stop) => Ok((assembly, stop)),
        None => Err(broken_off(connection, true)),
    }
}

/// Reads the stream to its end.
async fn read(
    connection: &Connection,
    watch: &CallControl<'_>,
    body: &mut Body,
) -> Result<(Assembly, StopReason), Trouble> {
    let (mut reader, mut assembly) = (Reader::default(), Assembly::new(connection.max_reply_bytes));
    let mut n_bytes = 0usize;
    // Gemini marks no end: its answers end with the transfer.
    let mut ended = connection.protocol == Protocol::Gemini;
    'stream: loop {
        let piece = body.next(connection, watch, assembly.is_begun()).await?;
        n_bytes = n_bytes.saturating_add(piece.as_ref().map_or(0, Vec::len));
        if n_bytes > connection.max_reply_bytes.saturating_mul(ENVELOPE) {
            return Err(garbled(connection, &format!("it is longer than {n_bytes} bytes")));
        }
        let events = match &piece {
            Some(piece) => reader.feed(piece).map_err(|broken| garbled(connection, &broken.to_string()))?,
            None => reader.finish().into_iter().collect(),
        };
        for event in events {
            match take(connection, &mut assembly, &event)? {
                Sign::Alive => {}
                Sign::Answer(text) => (watch.heard)(CallProgress::Answer(text)),
                Sign::Working(what) => (watch.heard)(CallProgress::Working(what.to_owned())),
                Sign::End => {
                    ended = true;
                    break 'stream;
                }
            }
        }
        if piece.is_none() {
            break;
        }
    }
    match assembly.stop.filter(|_| ended) {
        Some(stop) => Ok((assembly, stop)),
        None => Err(broken_off(connection, assembly.is_begun())),
    }
}

fn take(connection: &Connection, assembly: &mut Assembly, event: &Event) -> Result<Sign, Trouble> {
    let taken = match connection.protocol {
        Protocol::OpenAi => openai::take(assembly, event),
        Protocol::Anthropic => anthropic::take(assembly, event),
        Protocol::Gemini => gemini::take(assembly, event),
    };
    taken.map_err(|unfit| match unfit {
        Unfit::Garbled(what) => garbled(connection, &what),
        Unfit::Fault(fault) => trouble_of(connection, assembly, &fault),
    })
}

/// The failure when the service reports an error in place of an answer or within it.
fn trouble_of(connection: &Connection, assembly: &Assembly, fault: &Fault) -> Trouble {
    let trouble = refused(connection, status_of(fault), fault, None);
    // The partial answer is paid for; the caller decides whether to pay again.
    if assembly.is_begun() { trouble.again(Again::Never) } else { trouble }
}

/// The HTTP status that an error inside a stream would have had.
fn status_of(fault: &Fault) -> u16 {
    let kinds = [
        ("overloaded", 529),
        ("unavailable", 503),
        ("rate_limit", 429),
        ("resource_exhausted", 429),
        ("authentication", 401),
        ("permission", 403),
        ("not_found", 404),
        ("too_large", 413),
        ("invalid", 400),
    ];
    let kind = fault.kind.to_lowercase();
    let named = kinds.iter().find(|(name, _)| kind.contains(name)).map(|(_, status)| *status);
    fault.status.filter(|status| (400..600).contains(status)).or(named).unwrap_or(500)
}

/// The error of a response with an error status.
async fn complaint(connection: &Connection, capabilities: Capabilities, response: Response) -> Trouble {
    let status = response.status().as_u16();
    let asked_for = backoff::retry_after(response.headers(), SystemTime::now());
    let fault = said(response).await;
    let trouble = refused(connection, status, &fault, asked_for);
    let can_adapt = matches!(status, 400 | 422) && !trouble.message.starts_with(super::TOO_LONG);
    match capabilities.after(connection, &fault).filter(|_| can_adapt) {
        Some(capabilities) => trouble.again(Again::Otherwise(capabilities)),
        None => trouble,
    }
}

/// The failure when a response is neither an answer nor an error of the protocol.
fn no_answer(connection: &Connection, what: &str) -> Trouble {
    garbled(connection, what)
        .hint("Check the base URL: something else may answer there, such as a web page or a proxy's log-in.")
}

fn shortened(kind: &str) -> String {
    kind.chars().take(60).collect()
}

/// The error in the body of a response, or its text.
async fn said(response: Response) -> Fault {
    let text = some_of(response).await;
    let known = serde_json::from_str(&text).ok().and_then(|message| fault(&message));
    // The first lines of a web page are of no use in a message.
    let plain = || if text.trim_start().starts_with('<') { String::new() } else { text.clone() };
    known.unwrap_or_else(|| Fault { message: plain(), ..Fault::default() })
}

/// The beginning of a body, as far as it arrives within the timeout.
async fn some_of(mut response: Response) -> String {
    let end = tokio::time::Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    while let Ok(Ok(Some(piece))) = tokio::time::timeout_at(end, response.chunk()).await {
        bytes.extend_from_slice(&piece[..piece.len().min(MAX_ERROR - bytes.len())]);
        if bytes.len() >= MAX_ERROR {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for the service, up to the idle timeout.
async fn alive<T>(
    connection: &Connection,
    watch: &CallControl<'_>,
    future: impl Future<Output = T>,
) -> Result<T, Trouble> {
    // The deadline and cancellation are polled only while this future is pending. A service that always has data ready
    // would starve them, so the task yields first.
    if watch.cancel.is_cancelled() || Instant::now() >= watch.deadline {
        std::future::pending::<()>().await;
    }
    tokio::time::timeout(watch.idle, future).await.map_err(|_| silent(connection, watch.idle))
}
