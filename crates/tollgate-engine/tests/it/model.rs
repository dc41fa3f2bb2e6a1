//! Providers against a small real language model.
//!
//! Its answers are poor, so nothing here looks at them: these tests are about tokens that really are streamed, servers
//! that really are killed, and queues that really are full. `scripts/model-setup` brings the model.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tollgate_engine::reviewer::call::{
    Backend as _, CallControl, CallFailure, CallProgress, FailureCause, Question, Reply, StopReason,
};
use tollgate_engine::reviewer::provider::{
    Connection, Key, Model, Net, Protocol, Provider, Structured, TOO_LONG, probe,
};

const KEY: &str = "sk-local-Zq7x9Lm2";

/// Nothing takes that long; a test that hangs fails.
const LIMIT: Duration = Duration::from_secs(120);

/// A running model; it ends with its standard input, so at the latest with these tests.
struct Server {
    child: Child,
    base_url: String,
}

impl Server {
    fn start() -> Self {
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/tollgate");
        let cache = std::env::var_os("TOLLGATE_CACHE").map_or_else(home, PathBuf::from);
        let python = cache.join("llm/bin/python");
        assert!(
            python.exists(),
            "there is no model in `{}`: run `scripts/test`, or `scripts/model-setup`",
            cache.display()
        );
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/serve.py");
        let mut command = Command::new(python);
        command.arg(script).env("KEY", KEY).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let base_url = lines.find_map(|line| line.unwrap().strip_prefix("READY ").map(str::to_owned));
        let base_url = base_url.expect("the model's server ended before it was ready");
        // Later output must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, base_url }
    }

    /// The one that all tests share.
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn connection(&self, protocol: Protocol) -> Connection {
        let base_url = match protocol {
            Protocol::Anthropic => self.base_url.clone(),
            Protocol::OpenAi | Protocol::Gemini => format!("{}/v1", self.base_url),
        };
        let mut connection = Connection::new("smollm", protocol, &base_url, "smollm2-135m");
        connection.key = Some(Key::new(KEY).unwrap());
        connection.key_from = Some("SMOLLM_KEY".to_owned());
        connection.max_output_tokens = 16;
        connection.back_off = Duration::from_millis(50);
        connection
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn question(part: &str) -> Question {
    Question {
        system: "You review code.".to_owned(),
        shared: "The project is a shop.".to_owned(),
        part: part.to_owned(),
        schema: json!({"type": "object", "properties": {"decision": {"enum": ["approved", "rejected"]}}, "required": ["decision"]}),
        repair: None,
    }
}

fn ask(
    connection: Connection,
    question: &Question,
    cancel: &CancellationToken,
    heard: &(dyn Fn(CallProgress) + Sync),
) -> Result<Reply, CallFailure> {
    let watch = CallControl { deadline: Instant::now() + LIMIT, idle: LIMIT / 2, cancel, heard };
    Provider::new(connection, &Net::new()).unwrap().ask(question, &watch)
}

fn ask_plainly(connection: Connection, part: &str) -> Result<Reply, CallFailure> {
    ask(connection, &question(part), &CancellationToken::new(), &|_| {})
}

#[test]
fn real_tokens_are_streamed_over_both_protocols() {
    for protocol in [Protocol::OpenAi, Protocol::Anthropic] {
        let n_pieces = AtomicUsize::new(0);
        let hear = |sign: CallProgress| {
            n_pieces.fetch_add(usize::from(matches!(sign, CallProgress::Answer(_))), Ordering::Relaxed);
        };
        let connection = Server::shared().connection(protocol);
        let reply = ask(connection, &question("Tell a long story."), &CancellationToken::new(), &hear).unwrap();
        assert_ne!(reply.stop, StopReason::Refused, "{protocol:?}");
        assert!(reply.usage.input > 0 && (1..=16).contains(&reply.usage.output), "{protocol:?}: {reply:?}");
        assert!(n_pieces.into_inner() > 1, "{protocol:?}: {reply:?}");
    }
}

#[test]
fn the_answer_has_the_shape_of_the_schema() {
    let mut connection = Server::shared().connection(Protocol::OpenAi);
    (connection.structured, connection.max_output_tokens) = (Structured::Schema, 64);
    let reply = ask_plainly(connection, "+ eval(x)").unwrap();
    let decision = reply.structured.as_ref().and_then(|answer| answer["decision"].as_str());
    assert!(matches!(decision, Some("approved" | "rejected")), "{reply:?}");
}

#[test]
fn a_server_that_ignores_the_tool_answers_in_words() {
    for protocol in [Protocol::OpenAi, Protocol::Anthropic] {
        let mut connection = Server::shared().connection(protocol);
        connection.structured = Structured::Tool;
        let reply = ask_plainly(connection, "+ eval(x)").unwrap();
        assert!(reply.structured.is_some() || !reply.text.is_empty(), "{protocol:?}: {reply:?}");
    }
}

#[test]
fn a_wrong_key_is_a_matter_of_set_up() {
    for protocol in [Protocol::OpenAi, Protocol::Anthropic] {
        let mut connection = Server::shared().connection(protocol);
        connection.key = Some(Key::new("sk-wrong-1234").unwrap());
        let failure = ask_plainly(connection.clone(), "x").unwrap_err();
        assert_eq!((failure.why, failure.n_tries), (FailureCause::Setup, 1), "{failure:?}");
        assert!(failure.hint.unwrap_or_default().contains("SMOLLM_KEY"));
        assert!(!failure.message.contains("sk-wrong"), "{}", failure.message);
        assert_eq!(probe(connection, &Net::new()).unwrap_err().why, FailureCause::Setup);
    }
}

#[test]
fn a_call_that_is_stopped_half_way_sets_the_model_free() {
    let server = Server::shared();
    let cancel = CancellationToken::new();
    let mut connection = server.connection(Protocol::OpenAi);
    connection.max_output_tokens = 1500;
    let hear = |sign: CallProgress| {
        if matches!(sign, CallProgress::Answer(_)) {
            cancel.cancel();
        }
    };
    let failure = ask(connection, &question("Count to a thousand."), &cancel, &hear).unwrap_err();
    assert_eq!(failure.why, FailureCause::Cancelled, "{failure:?}");
    // Behind the rest of the cancelled answer, this call would exceed its idle limit.
    ask_plainly(server.connection(Protocol::OpenAi), "x").unwrap();
}

#[test]
fn a_server_that_is_killed_half_way_gives_no_answer() {
    let mut server = Server::start();
    let mut connection = server.connection(Protocol::Anthropic);
    connection.max_output_tokens = 1500;
    let (told, hears) = std::sync::mpsc::channel();
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(move || {
            let told = std::sync::Mutex::new(told);
            let hear = |sign: CallProgress| {
                if matches!(sign, CallProgress::Answer(_)) {
                    // Only the first one is waited for.
                    let _ = told.lock().unwrap().send(());
                }
            };
            ask(connection, &question("Count to a thousand."), &CancellationToken::new(), &hear)
        });
        hears.recv_timeout(LIMIT).unwrap();
        server.child.kill().unwrap();
        asking.join().unwrap()
    });
    let failure = asked.unwrap_err();
    assert!(matches!(failure.why, FailureCause::Garbled | FailureCause::Unavailable), "{failure:?}");
}

#[test]
fn more_calls_than_the_model_takes_at_once_all_end() {
    let server = Server::shared();
    let replies = std::thread::scope(|scope| {
        let calls = (0..6).map(|index| {
            let protocol = if index % 2 == 0 { Protocol::OpenAi } else { Protocol::Anthropic };
            scope.spawn(move || ask_plainly(server.connection(protocol), "x"))
        });
        calls.collect::<Vec<_>>().into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
}

#[test]
fn a_question_that_the_model_cannot_take_is_said_to_be_too_long() {
    for protocol in [Protocol::OpenAi, Protocol::Anthropic] {
        let failure = ask_plainly(Server::shared().connection(protocol), &"one more word ".repeat(4000)).unwrap_err();
        assert!(failure.why == FailureCause::Setup && failure.message.starts_with(TOO_LONG), "{failure:?}");
    }
}

#[test]
fn a_look_finds_the_model() {
    let look = |model: &str| {
        let mut connection = Server::shared().connection(Protocol::OpenAi);
        connection.model = model.to_owned();
        probe(connection, &Net::new()).unwrap().model
    };
    assert_eq!((look("smollm2-135m"), look("gpt-6.1-sol")), (Model::Known, Model::Unknown));
}
