//! A connection to PostgreSQL with a synchronous interface.
//!
//! A thread that owns a connection does its I/O itself while it waits for an answer ([`connect_here`]). For connections that
//! wander between threads, one thread of the process does the I/O of all ([`connect`]). Statements whose results are not needed
//! are sent without waiting (pipelining). A failed connection is not repaired: its owner makes another.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rusqlite::types::ToSql;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use super::dialect;
use super::error::{Error, Result, with_causes};
use super::value::Sent;
use super::{Connection, WriteMode};
use crate::store::location::Address;

mod tls;

/// The timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of a statement; the server has its own, a little shorter.
const PATIENCE: Duration = Duration::from_secs(40);
/// The most prepared statements of a connection.
const MAX_STATEMENTS: usize = 256;

/// The settings of every connection. A process that stops in the middle of a transaction, such as on a machine that sleeps,
/// must not block others for ever. Commits are durable, even where the server is configured otherwise.
const MANNERS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
                       SET idle_in_transaction_session_timeout = '5s'; SET client_min_messages = warning; \
                       SELECT set_config('synchronous_commit', 'on', false) \
                       WHERE current_setting('synchronous_commit') = 'off'";

/// The advisory lock of writes: exclusive writes hold it alone, concurrent ones share it.
const WRITING: i64 = 0x746f_6c6c_0001;

/// A connection to a server.
pub(in crate::store) struct Session {
    client: Arc<Client>,
    io: Io,
    /// Statements that were sent without waiting for their results.
    sent: RefCell<Vec<Sending>>,
    statements: RefCell<HashMap<String, Statement>>,
    patience: Cell<Duration>,
    /// True once the server did not answer in time; a late answer would be taken for that of the next statement.
    is_given_up: Cell<bool>,
    state: Cell<State>,
}

/// A statement that was sent, until its result has arrived.
type Sending = Pin<Box<dyn Future<Output = std::result::Result<(), tokio_postgres::Error>> + Send>>;

/// The state of a transaction.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct State {
    /// Exclusive or concurrent.
    pub(in crate::store) with: WriteMode,
    /// True when a statement failed, after which the server accepts no other.
    pub(in crate::store) is_spoilt: bool,
    /// True when the transaction holds the lock of numbering, and all waiting events are numbered.
    pub(in crate::store) is_numbering: bool,
    /// True when events of it wait for their numbers until it is committed.
    pub(in crate::store) has_waiting: bool,
}

impl State {
    fn new(with: WriteMode) -> Self {
        Self { with, is_spoilt: false, is_numbering: false, has_waiting: false }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

/// Connects to a server; the connection may be used by any thread, also within a runtime.
pub(in crate::store) fn connect(address: &Address) -> Result<Box<Session>> {
    connect_with(address, Io::Shared(runtime()?), |_| {}).map(Box::new)
}

/// Connects to a server, for a thread that is not part of a runtime: an answer wakes no other thread.
pub(in crate::store) fn connect_here(address: &Address) -> Result<Box<Session>> {
    connect_with(address, Io::here()?, |_| {}).map(Box::new)
}

/// A connection that receives notifications.
#[derive(Debug)]
pub(in crate::store) struct Follower {
    connection: Connection,
    heard: Arc<Notify>,
    /// The highest number that was announced.
    number: Arc<AtomicU64>,
    /// True when jobs were announced.
    has_jobs: Arc<AtomicBool>,
}

impl Follower {
    /// Connects and listens on a channel of numbers and on one of jobs, for a thread that is not part of a runtime.
    pub(in crate::store) fn connect(address: &Address, numbers: &str, jobs: &'static str) -> Result<Self> {
        let (heard, number, has_jobs) =
            (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (heard_by, said, enqueued) = (Arc::clone(&heard), Arc::clone(&number), Arc::clone(&has_jobs));
        let session = connect_with(address, Io::here()?, move |message| {
            if let Some(AsyncMessage::Notification(notification)) = &message {
                if notification.channel() == jobs {
                    enqueued.store(true, Ordering::SeqCst);
                }
                said.fetch_max(notification.payload().parse().unwrap_or(0), Ordering::SeqCst);
            }
            heard_by.notify_one();
        })?;
        session.batch(&format!("LISTEN {numbers}; LISTEN {jobs}"))?;
        Ok(Self { connection: Connection::Postgres(Box::new(session)), heard, number, has_jobs })
    }

    /// The highest announced number.
    pub(in crate::store) fn number(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    /// Whether jobs were announced since the last call.
    pub(in crate::store) fn take_jobs(&self) -> bool {
        self.has_jobs.swap(false, Ordering::SeqCst)
    }

    /// Wakes the waiting thread, as a notification does.
    pub(in crate::store) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.heard)
    }

    /// Waits for a notification, up to a time. Fails when the connection is lost.
    pub(in crate::store) fn wait(&self, timeout: Duration) -> Result<()> {
        if let Connection::Postgres(session) = &self.connection {
            session.io.wait(self.heard.notified(), timeout);
        }
        if self.connection.is_lost() {
            return Err(Error::Unreachable("the connection to the database is gone".to_owned()));
        }
        Ok(())
    }

    /// The connection, for statements.
    pub(in crate::store) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Connects; `hear` gets the messages that answer no statement, and `None` at the end of the connection.
fn connect_with(
    address: &Address,
    io: Io,
    mut hear: impl FnMut(Option<AsyncMessage>) + Send + 'static,
) -> Result<Session> {
    let mut config = address.config().clone();
    config.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(Duration::from_secs(15));
    config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
    let tls = tls::connector(address)?;
    let (answer, answered) = oneshot::channel();
    io.runtime().spawn(async move {
        match config.connect(tls).await {
            Ok((client, mut connection)) => {
                if answer.send(Ok(client)).is_err() {
                    return;
                }
                // Ends with the client or the server.
                while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                    hear(Some(message));
                }
                drop(connection);
                hear(None);
            }
            // The receiver is gone only after a timeout.
            Err(error) => _ = answer.send(Err(error)),
        }
    });
    let client = match io.wait(answered, CONNECT_TIMEOUT + Duration::from_secs(5)) {
        Some(Ok(Ok(client))) => client,
        Some(Ok(Err(error))) if error.as_db_error().is_some() => return Err(Error::Postgres(error)),
        Some(Ok(Err(error))) => return Err(Error::Unreachable(with_causes(&error))),
        Some(Err(_)) | None => return Err(Error::Silent),
    };
    let session = Session {
        client: Arc::new(client),
        io,
        sent: RefCell::default(),
        statements: RefCell::default(),
        patience: Cell::new(PATIENCE),
        is_given_up: Cell::new(false),
        state: Cell::new(State::new(WriteMode::Concurrent)),
    };
    session.batch(MANNERS)?;
    Ok(session)
}

impl Session {
    /// Whether the connection is lost.
    pub(in crate::store) fn is_lost(&self) -> bool {
        self.is_given_up.get() || self.client.is_closed()
    }

    /// The same, also if the connection was lost since it was last used.
    pub(in crate::store) fn is_lost_meanwhile(&self) -> bool {
        self.io.catch_up();
        self.is_lost()
    }

    /// Lifts the time limits, for migrations and copies.
    pub(in crate::store) fn take_time(&self) -> Result<()> {
        self.patience.set(Duration::from_secs(24 * 60 * 60));
        self.batch("SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = '10min'")
    }

    /// Begins a transaction that is going to write.
    ///
    /// Exclusive writes run one at a time, as they do in a file, so that the same code is right in both. Concurrent writes run
    /// together, but never during an exclusive one.
    pub(in crate::store) fn begin(&self, with: WriteMode) -> Result<()> {
        self.state.set(State::new(with));
        self.batch(&begin(with))
    }

    /// Runs a concurrent transaction of a single statement, and returns the number of changed rows.
    ///
    /// Begin, statement and commit are sent at once. The statement is atomic by itself, so it matters little if the first of
    /// them fails.
    pub(super) fn execute_alone(&self, statement: &Statement, values: &[&dyn ToSql]) -> Result<usize> {
        self.state.set(State::new(WriteMode::Concurrent));
        self.send(self.sending(begin(WriteMode::Concurrent)));
        let sent = sent(values)?;
        let commit = self.sending("COMMIT".to_owned());
        row_count(self.wait_before(self.client.execute_raw(statement, sent.iter()), Some(commit))?)
    }

    /// The state of the transaction.
    pub(in crate::store) fn state(&self) -> State {
        self.state.get()
    }

    /// Changes the state of the transaction.
    pub(in crate::store) fn note(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.get();
        change(&mut state);
        self.state.set(state);
    }

    /// Resets the state after the rollback of a savepoint, which undoes failures and locks.
    pub(super) fn forget_piece(&self) {
        self.note(|state| (state.is_spoilt, state.is_numbering) = (false, false));
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let text = dialect::of_postgres(sql);
        let statement = self.wait(self.client.prepare(&text))?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= MAX_STATEMENTS {
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(super) fn execute(&self, statement: &Statement, values: &[&dyn ToSql]) -> Result<usize> {
        let sent = sent(values)?;
        row_count(self.wait(self.client.execute_raw(statement, sent.iter()))?)
    }

    /// Sends a statement without waiting for its result. A failure is reported by the next statement, or by the commit.
    pub(super) fn execute_later(&self, statement: &Statement, values: &[&dyn ToSql]) -> Result<()> {
        let (client, statement, sent) = (Arc::clone(&self.client), statement.clone(), sent(values)?);
        self.send(Box::pin(async move { client.execute_raw(&statement, sent.iter()).await.map(drop) }));
        Ok(())
    }

    /// The same for statements without parameters.
    pub(super) fn batch_later(&self, sql: &str) {
        self.send(self.sending(sql.to_owned()));
    }

    /// Waits for the statements that were sent without waiting, if there are any.
    pub(super) fn settle(&self) -> Result<()> {
        if self.sent.borrow().is_empty() { Ok(()) } else { self.wait(std::future::ready(Ok(()))) }
    }

    fn sending(&self, sql: String) -> Sending {
        let client = Arc::clone(&self.client);
        Box::pin(async move { client.batch_execute(&sql).await })
    }

    fn send(&self, mut sending: Sending) {
        // It is sent when it is polled first. The result is fetched by the next wait, even if it is there already.
        match sending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.sent.borrow_mut().push(sending),
            Poll::Ready(result) => self.sent.borrow_mut().push(Box::pin(std::future::ready(result))),
        }
    }

    pub(super) fn query(&self, statement: &Statement, values: &[&dyn ToSql]) -> Result<Vec<Row>> {
        let sent = sent(values)?;
        let values: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = sent.iter().map(|value| value as _).collect();
        self.wait(self.client.query(statement, &values))
    }

    /// Runs statements as they are.
    pub(in crate::store) fn batch(&self, sql: &str) -> Result<()> {
        self.wait(self.client.batch_execute(sql))
    }

    fn wait<T>(&self, asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>) -> Result<T> {
        self.wait_before(asked, None)
    }

    /// Waits for all that was sent, for a statement, and for one that is sent directly after it.
    fn wait_before<T>(
        &self,
        asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
        then: Option<Sending>,
    ) -> Result<T> {
        if self.is_given_up.get() {
            return Err(Error::Silent);
        }
        let earlier = self.sent.take();
        match self.io.wait(in_order(earlier, asked, then), self.patience.get()) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => {
                // A table changed under a prepared statement.
                if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) {
                    self.statements.borrow_mut().clear();
                }
                self.note(|state| state.is_spoilt = true);
                Err(Error::Postgres(error))
            }
            None => {
                self.is_given_up.set(true);
                Err(Error::Silent)
            }
        }
    }
}

/// The beginning of a transaction that is going to write.
fn begin(with: WriteMode) -> String {
    let lock = match with {
        WriteMode::Exclusive => "pg_advisory_xact_lock",
        WriteMode::Concurrent => "pg_advisory_xact_lock_shared",
    };
    format!("BEGIN; SELECT {lock}({WRITING})")
}

/// Fetches the results of statements that were sent, then sends two others in this order; the answer of the first of these, or
/// the first failure of all.
async fn in_order<T>(
    earlier: Vec<Sending>,
    asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    then: Option<Sending>,
) -> std::result::Result<T, tokio_postgres::Error> {
    let earlier = async {
        let mut failed = None;
        for sending in earlier {
            let result = sending.await;
            failed = failed.or(result.err());
        }
        failed.map_or(Ok(()), Err)
    };
    let then = async {
        match then {
            Some(then) => then.await,
            None => Ok(()),
        }
    };
    // A statement is sent when it is polled first, so the order of polling is that of the statements.
    let (earlier, answer, then) = tokio::join!(biased; earlier, asked, then);
    earlier?;
    let answer = answer?;
    then.map(|()| answer)
}

fn row_count(n_rows: u64) -> Result<usize> {
    usize::try_from(n_rows).map_err(|error| Error::Damaged(error.to_string()))
}

fn sent(values: &[&dyn ToSql]) -> Result<Vec<Sent>> {
    values.iter().map(|value| Sent::of(*value)).collect()
}

/// Does the I/O of a connection.
enum Io {
    /// The thread of all connections.
    Shared(&'static Runtime),
    /// The waiting thread.
    Here(Runtime),
}

impl Io {
    fn here() -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.max_blocking_threads(1).thread_name("postgres").enable_all();
        builder.build().map(Self::Here).map_err(no_runtime)
    }

    fn runtime(&self) -> &Runtime {
        match self {
            Self::Shared(runtime) => runtime,
            Self::Here(runtime) => runtime,
        }
    }

    /// Blocks on a future; `None` when the time is over.
    fn wait<T>(&self, future: impl Future<Output = T>, patience: Duration) -> Option<T> {
        match self {
            Self::Shared(_) => wait(future, patience),
            Self::Here(runtime) => runtime.block_on(async { tokio::time::timeout(patience, future).await.ok() }),
        }
    }

    /// Takes in what has arrived since the last wait.
    fn catch_up(&self) {
        if let Self::Here(runtime) = self {
            runtime.block_on(async {
                // The first time the system is asked what has arrived, the second time it is read.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            });
        }
    }
}

/// The runtime that does the I/O of the connections of all threads.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(4).thread_name("postgres").enable_all();
        builder.build().map_err(|error| error.to_string())
    });
    runtime.as_ref().map_err(no_runtime)
}

fn no_runtime(error: impl fmt::Display) -> Error {
    Error::Unreachable(format!("no thread can be started: {error}"))
}

/// Wakes a thread that waits for an answer.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks on a future; `None` when the time is over.
///
/// It may be called within another runtime, too.
fn wait<T>(future: impl Future<Output = T>, patience: Duration) -> Option<T> {
    let end = Instant::now() + patience;
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return None;
        }
        thread::park_timeout(left);
    }
}
