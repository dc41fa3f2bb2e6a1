//! Client for model APIs: three protocols, and any service that speaks one of them.
//!
//! A [`Connection`] is the configuration of a service; a [`Provider`] is the client. It streams the answer and accepts only
//! a complete one, enforces limits on time and size, retries with backoff, and sends the key in one header only. It does
//! not parse the answer.
//!
//! ```text
//! provider        the connection, and the retry loop
//! exchange        one attempt: request, status, stream
//! openai, anthropic, gemini    the request bodies and events of each protocol
//! sse, assembly   bytes to events, events to a reply
//! error, capabilities   errors of an attempt, and the features that a service supports
//! key             the API key
//! preset, price   well-known services and their prices
//! ```

mod anthropic;
mod assembly;
mod capabilities;
mod error;
mod exchange;
mod gemini;
mod key;
mod openai;
pub mod preset;
pub mod price;
mod probe;
mod sse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Url};
use tollgate_core::prompt;
use tollgate_core::visible::visible;

use crate::net::{self, backoff};
use crate::redaction::Redactor;
use crate::reviewer::call::{Backend, CallControl, CallFailure, CallProgress, FailureCause, Question, Reply};
use capabilities::Capabilities;
use error::{Again, Trouble};

pub use crate::net::Net;
pub use error::TOO_LONG;
pub use key::{Key, KeyError};
pub use probe::{Model, Probe, probe};

/// The protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions, spoken by most others as well.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
}

/// How structured output is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Structured {
    /// The service constrains the output to the schema.
    Schema,
    /// The model has to call a tool whose arguments have the schema.
    Tool,
    /// By the prompt alone.
    #[default]
    None,
}

/// The configuration of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Its name in messages.
    pub name: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The base URL: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The API key.
    pub key: Option<Key>,
    /// The source of the key, for hints: the name of an environment variable or of a file.
    pub key_from: Option<String>,
    /// The model.
    pub model: String,
    /// The limit on output tokens, with reasoning where the service counts that.
    pub max_output_tokens: u32,
    /// How structured output is requested.
    pub structured: Structured,
    /// The temperature; newer models reject it.
    pub temperature: Option<f32>,
    /// The maximum number of attempts.
    pub max_tries: u32,
    /// The maximum backoff before the second attempt; doubled for each further one.
    pub back_off: Duration,
    /// The longest answer in bytes.
    pub max_reply_bytes: usize,
}

impl Connection {
    /// A connection with the usual limits and without a key.
    pub fn new(name: &str, protocol: Protocol, base_url: &str, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            protocol,
            base_url: base_url.to_owned(),
            key: None,
            key_from: None,
            model: model.to_owned(),
            max_output_tokens: 16_384,
            structured: Structured::None,
            temperature: None,
            max_tries: 3,
            back_off: Duration::from_secs(1),
            max_reply_bytes: 8 << 20,
        }
    }

    /// The base URL, if a key may be sent there.
    fn url(&self) -> Result<Url, Trouble> {
        let wrong = |what: &str| Trouble::new(FailureCause::Setup, format!("the base URL of `{}` {what}", self.name));
        let url = Url::parse(&self.base_url).ok().filter(Url::has_host).ok_or_else(|| {
            wrong(&format!("is no URL: `{}`", self.base_url)).hint("Write it as in `https://api.example.com/v1`.")
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("holds a name or a password").hint("Give the key by an environment variable or a file."));
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.key.is_none() || net::is_loopback(&url) => Ok(url),
            "http" => Err(wrong("is not encrypted, so anybody on the way could read the key")
                .hint("Use `https://`; `http://` with a key is for services on this machine only.")),
            other => Err(wrong(&format!("begins with `{other}:`")).hint("Use `https://`.")),
        }
    }

    /// The address of a resource below the base URL; each part is one segment of its path.
    fn address(&self, parts: &[&str]) -> Result<Url, Trouble> {
        let mut url = self.url()?;
        let versioned = url.path().trim_end_matches('/').ends_with("/v1");
        let parts = match parts {
            // Both `https://api.anthropic.com` and `https://api.anthropic.com/v1` are in use.
            ["v1", rest @ ..] if versioned => rest,
            parts => parts,
        };
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        Ok(url)
    }

    /// The authentication headers.
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let (name, before) = match self.protocol {
            Protocol::OpenAi => ("authorization", "Bearer "),
            Protocol::Anthropic => ("x-api-key", ""),
            Protocol::Gemini => ("x-goog-api-key", ""),
        };
        if let Some(value) = self.key.as_ref().and_then(|key| key.header(before)) {
            headers.insert(name, value);
        }
        if self.protocol == Protocol::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        headers
    }
}

/// The client of a service.
#[derive(Debug)]
pub struct Provider {
    connection: Connection,
    net: Net,
    redactor: Redactor,
    /// The features that the service has rejected so far.
    capabilities: AtomicU8,
}

impl Provider {
    /// Validates a connection; nothing is sent yet.
    pub fn new(connection: Connection, net: &Net) -> Result<Self, CallFailure> {
        let provider = Self {
            redactor: Key::redactor(&connection.key),
            connection,
            net: net.clone(),
            capabilities: AtomicU8::new(0),
        };
        match provider.connection.url() {
            Ok(_) => Ok(provider),
            Err(trouble) => Err(provider.failure(trouble, 0)),
        }
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of_bits(self.capabilities.load(Ordering::Relaxed))
    }

    /// The request body.
    fn request(&self, question: &Question, capabilities: Capabilities) -> Result<RequestBuilder, Trouble> {
        let connection = &self.connection;
        let question = &*in_words(question, connection, capabilities);
        let (url, body) = match connection.protocol {
            Protocol::OpenAi => {
                (connection.address(&["chat", "completions"])?, openai::body(question, connection, capabilities))
            }
            Protocol::Anthropic => {
                (connection.address(&["v1", "messages"])?, anthropic::body(question, connection, capabilities))
            }
            Protocol::Gemini => {
                let model = connection.model.trim_start_matches("models/");
                let mut url = connection.address(&["models", &format!("{model}:streamGenerateContent")])?;
                url.query_pairs_mut().append_pair("alt", "sse");
                (url, gemini::body(question, connection, capabilities))
            }
        };
        let client = self.net.client(&url).map_err(|error| no_way_out(&error))?;
        let request = client.post(url).headers(connection.headers());
        Ok(request
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(body.to_string()))
    }

    /// Retry loop: makes attempts until one succeeds or a retry cannot help.
    async fn ask_until(
        &self,
        question: &Question,
        watch: &CallControl<'_>,
        n_tries: &Cell<u32>,
    ) -> Result<Reply, Trouble> {
        let mut n_failed = 0;
        loop {
            n_tries.set(n_tries.get() + 1);
            let trouble = match exchange::ask(self, question, watch).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            if let Again::Otherwise(capabilities) = trouble.again {
                self.capabilities.fetch_or(capabilities.bits(), Ordering::Relaxed);
                continue;
            }
            n_failed += 1;
            let own = backoff::delay(self.connection.back_off, n_failed);
            let (wait, asked_for) = match trouble.again {
                Again::Never | Again::Otherwise(_) => return Err(trouble),
                Again::Later => (own, None),
                Again::After(wait) => (wait.max(own), Some(wait)),
            };
            let fits = Instant::now().checked_add(wait).is_some_and(|then| then < watch.deadline);
            if n_failed >= self.connection.max_tries || !fits {
                return Err(match asked_for {
                    Some(wait) if !fits => trouble.come_back(wait),
                    _ => trouble,
                });
            }
            (watch.heard)(CallProgress::Retry { after: wait, because: self.shown(&trouble.message) });
            tokio::time::sleep(wait).await;
        }
    }

    /// Redacts the key and escapes control characters.
    fn shown(&self, text: &str) -> String {
        visible(&self.redactor.redact(text)).into_owned()
    }

    fn failure(&self, trouble: Trouble, n_tries: u32) -> CallFailure {
        CallFailure {
            why: trouble.why,
            message: self.shown(&trouble.message),
            hint: trouble.hint.map(|hint| self.shown(&hint)),
            n_tries,
        }
    }
}

impl Backend for Provider {
    fn ask(&self, question: &Question, watch: &CallControl<'_>) -> Result<Reply, CallFailure> {
        let n_tries = Cell::new(0);
        let allowed = watch.deadline.saturating_duration_since(Instant::now());
        let asked = self.net.runtime().map_err(|error| no_way_out(&error)).and_then(|runtime| {
            runtime.block_on(async {
                if allowed.is_zero() {
                    return Err(error::late(&self.connection, allowed));
                }
                let asking = tokio::time::timeout(allowed, self.ask_until(question, watch, &n_tries));
                tokio::select! {
                    biased;
                    () = watch.cancel.cancelled() => Err(error::stopped(&self.connection)),
                    asked = asking => asked.unwrap_or_else(|_| Err(error::late(&self.connection, allowed))),
                }
            })
        });
        asked.map_err(|trouble| self.failure(trouble, n_tries.get()))
    }
}

/// The question with the schema in the prompt, for a service that rejected structured output.
fn in_words<'a>(question: &'a Question, connection: &Connection, capabilities: Capabilities) -> Cow<'a, Question> {
    if capabilities.structured(connection) == connection.structured {
        return Cow::Borrowed(question);
    }
    let told = prompt::answer_instructions(&question.schema);
    let system = format!("{}\nNo such form can be given to you here. {told}", question.system);
    Cow::Owned(Question { system, ..question.clone() })
}

/// The failure when no runtime or HTTP client can be created, for lack of resources.
fn no_way_out(error: &str) -> Trouble {
    Trouble::new(FailureCause::Setup, format!("this machine lets us not speak to anybody: {error}"))
}
