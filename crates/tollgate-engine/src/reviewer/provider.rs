//! Models behind an API: three protocols, any service that speaks one of them.
//!
//! A [`Connection`] says whom to ask and how; a [`Provider`] asks. It streams the answer and takes only a whole one,
//! keeps the limits on time and size, tries again when that is worth it, and never lets the key out of its header.
//! It does not read the answer.
//!
//! ```text
//! provider        the connection, and asking until there is an answer or no sense in asking
//! exchange        one try: request, status, stream
//! openai, anthropic, gemini    what is sent, and what the events mean
//! sse, assembly   bytes to events, events to a reply
//! trouble, manner what went wrong, how to ask otherwise
//! key             the key that nobody sees
//! preset, price   the well-known services, and what they cost
//! ```

mod anthropic;
mod assembly;
mod exchange;
mod gemini;
mod key;
mod manner;
mod openai;
pub mod preset;
pub mod price;
mod probe;
mod sse;
#[cfg(test)]
mod tests;
mod trouble;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Url};
use tollgate_core::prompt;
use tollgate_core::visible::visible;

use crate::held::Held;
use crate::net::{self, patience};
use crate::reviewer::call::{Backend, CallFailure, Heard, Question, Reply, Watch, Why};
use manner::Manner;
use trouble::{Again, Trouble};

pub use crate::net::Net;
pub use key::{Key, KeyError};
pub use probe::{Model, Probe, probe};
pub use trouble::TOO_LONG;

/// How a service is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions, spoken by most others as well.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
}

/// How an answer in the shape of the schema is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Structured {
    /// The service holds the model to the schema.
    Schema,
    /// The model has to call a tool whose arguments have the schema.
    Tool,
    /// Only in words.
    #[default]
    None,
}

/// Whom to ask, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// What it is called in messages.
    pub name: String,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Where it is: `https://api.openai.com/v1`.
    pub base_url: String,
    /// What opens it.
    pub key: Option<Key>,
    /// Where the key comes from, for hints: the name of an environment variable or of a file.
    pub key_from: Option<String>,
    /// Which model is to answer.
    pub model: String,
    /// How much it may write, thinking included where the service counts that.
    pub max_output_tokens: u32,
    /// How an answer in the shape of the schema is asked for.
    pub structured: Structured,
    /// How freely it answers; newer models refuse to be told.
    pub temperature: Option<f32>,
    /// How often it is asked at most.
    pub max_tries: u32,
    /// How long to wait at most before the second try; twice as long before each further one.
    pub back_off: Duration,
    /// How long an answer may be.
    pub max_reply_bytes: usize,
}

impl Connection {
    /// A connection with the usual limits and without a key.
    #[must_use]
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
        let wrong = |what: &str| Trouble::new(Why::Setup, format!("the base URL of `{}` {what}", self.name));
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

    /// The headers that say who asks.
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

/// A model that can be asked.
#[derive(Debug)]
pub struct Provider {
    connection: Connection,
    net: Net,
    held: Held,
    /// What the service turned out not to take.
    manner: AtomicU8,
}

impl Provider {
    /// Takes a connection that could work; nothing is sent yet.
    pub fn new(connection: Connection, net: &Net) -> Result<Self, CallFailure> {
        let provider =
            Self { held: Key::held(&connection.key), connection, net: net.clone(), manner: AtomicU8::new(0) };
        match provider.connection.url() {
            Ok(_) => Ok(provider),
            Err(trouble) => Err(provider.failure(trouble, 0)),
        }
    }

    /// Whom it asks.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn manner(&self) -> Manner {
        Manner::of_bits(self.manner.load(Ordering::Relaxed))
    }

    /// The question as it goes out.
    fn request(&self, question: &Question, manner: Manner) -> Result<RequestBuilder, Trouble> {
        let connection = &self.connection;
        let question = &*in_words(question, connection, manner);
        let (url, body) = match connection.protocol {
            Protocol::OpenAi => {
                (connection.address(&["chat", "completions"])?, openai::body(question, connection, manner))
            }
            Protocol::Anthropic => {
                (connection.address(&["v1", "messages"])?, anthropic::body(question, connection, manner))
            }
            Protocol::Gemini => {
                let model = connection.model.trim_start_matches("models/");
                let mut url = connection.address(&["models", &format!("{model}:streamGenerateContent")])?;
                url.query_pairs_mut().append_pair("alt", "sse");
                (url, gemini::body(question, connection, manner))
            }
        };
        let client = self.net.client(&url).map_err(|error| no_way_out(&error))?;
        let request = client.post(url).headers(connection.headers());
        Ok(request
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(body.to_string()))
    }

    /// Asks until there is an answer, or no sense in asking on.
    async fn ask_until(&self, question: &Question, watch: &Watch<'_>, n_tries: &Cell<u32>) -> Result<Reply, Trouble> {
        let mut n_failed = 0;
        loop {
            n_tries.set(n_tries.get() + 1);
            let trouble = match exchange::ask(self, question, watch).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            if let Again::Otherwise(manner) = trouble.again {
                self.manner.fetch_or(manner.bits(), Ordering::Relaxed);
                continue;
            }
            n_failed += 1;
            let own = patience::back_off(self.connection.back_off, n_failed);
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
            (watch.heard)(Heard::Retry { after: wait, because: self.shown(&trouble.message) });
            tokio::time::sleep(wait).await;
        }
    }

    /// Text that may leave: without the key, and harmless.
    fn shown(&self, text: &str) -> String {
        visible(&self.held.hide(text)).into_owned()
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
    fn ask(&self, question: &Question, watch: &Watch<'_>) -> Result<Reply, CallFailure> {
        let n_tries = Cell::new(0);
        let allowed = watch.deadline.saturating_duration_since(Instant::now());
        let asked = self.net.runtime().map_err(|error| no_way_out(&error)).and_then(|runtime| {
            runtime.block_on(async {
                if allowed.is_zero() {
                    return Err(trouble::late(&self.connection, allowed));
                }
                let asking = tokio::time::timeout(allowed, self.ask_until(question, watch, &n_tries));
                tokio::select! {
                    biased;
                    () = watch.cancel.cancelled() => Err(trouble::stopped(&self.connection)),
                    asked = asking => asked.unwrap_or_else(|_| Err(trouble::late(&self.connection, allowed))),
                }
            })
        });
        asked.map_err(|trouble| self.failure(trouble, n_tries.get()))
    }
}

/// The question with the schema in words, when the service turned out not to take it otherwise.
fn in_words<'a>(question: &'a Question, connection: &Connection, manner: Manner) -> Cow<'a, Question> {
    if manner.structured(connection) == connection.structured {
        return Cow::Borrowed(question);
    }
    let told = prompt::answer_instructions(&question.schema);
    let system = format!("{}\nNo such form can be given to you here. {told}", question.system);
    Cow::Owned(Question { system, ..question.clone() })
}

/// There is no runtime or no client: the machine has no more of something.
fn no_way_out(error: &str) -> Trouble {
    Trouble::new(Why::Setup, format!("this machine lets us not speak to anybody: {error}"))
}
