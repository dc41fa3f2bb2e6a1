//! A connection to PostgreSQL with a synchronous interface.
//!
//! One thread of the process does the I/O of all connections; a caller sleeps until the answer arrives or the time is over. A
//! failed connection is not repaired: its owner makes another.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rusqlite::types::ToSql;
use tokio::runtime::Runtime;
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
    client: Client,
    statements: RefCell<HashMap<String, Statement>>,
    patience: Cell<Duration>,
    /// True once the server did not answer in time; a late answer would be taken for that of the next statement.
    is_given_up: Cell<bool>,
    state: Cell<State>,
}

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

/// Connects to a server.
pub(in crate::store) fn connect(address: &Address) -> Result<Box<Session>> {
    connect_with(address, |_| {}).map(Box::new)
}

/// A connection that receives notifications.
#[derive(Debug)]
pub(in crate::store) struct Follower {
    connection: Connection,
    heard: Receiver<()>,
    /// The highest number that was announced.
    number: Arc<AtomicU64>,
    /// True when jobs were announced.
    has_jobs: Arc<AtomicBool>,
    waker: SyncSender<()>,
}

impl Follower {
    /// Connects and listens on a channel of numbers and on one of jobs.
    pub(in crate::store) fn connect(address: &Address, numbers: &str, jobs: &'static str) -> Result<Self> {
        let (heard_by, heard) = mpsc::sync_channel(1);
        let (waker, number, has_jobs) =
            (heard_by.clone(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (said, enqueued) = (Arc::clone(&number), Arc::clone(&has_jobs));
        let session = connect_with(address, move |message| {
            if let AsyncMessage::Notification(notification) = message {
                if notification.channel() == jobs {
                    enqueued.store(true, Ordering::SeqCst);
                }
                said.fetch_max(notification.payload().parse().unwrap_or(0), Ordering::SeqCst);
                // One pending wake-up is enough.
                let _ = heard_by.try_send(());
            }
        })?;
        session.batch(&format!("LISTEN {numbers}; LISTEN {jobs}"))?;
        Ok(Self { connection: Connection::Postgres(Box::new(session)), heard, number, has_jobs, waker })
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
    pub(in crate::store) fn waker(&self) -> SyncSender<()> {
        self.waker.clone()
    }

    /// Waits for a notification, up to a time. Fails when the connection is lost.
    pub(in crate::store) fn wait(&self, timeout: Duration) -> Result<()> {
        match self.heard.recv_timeout(timeout) {
            Ok(()) => Ok(()),
            Err(RecvTimeoutError::Timeout) if !self.connection.is_lost() => Ok(()),
            Err(_) => Err(Error::Unreachable("the connection to the database is gone".to_owned())),
        }
    }

    /// The connection, for statements.
    pub(in crate::store) fn connection(&self) -> &Connection {
        &self.connection
    }
}

fn connect_with(address: &Address, mut hear: impl FnMut(AsyncMessage) + Send + 'static) -> Result<Session> {
    let mut config = address.config().clone();
    config.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(Duration::from_secs(15));
    config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
    let tls = tls::connector(address)?;
    let (answer, answered) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        match config.connect(tls).await {
            Ok((client, mut connection)) => {
                if answer.send(Ok(client)).is_err() {
                    return;
                }
                // Ends with the client or the server.
                while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                    hear(message);
                }
            }
            // The receiver is gone only after a timeout.
            Err(error) => _ = answer.send(Err(error)),
        }
    });
    let client = match answered.recv_timeout(CONNECT_TIMEOUT + Duration::from_secs(5)) {
        Ok(Ok(client)) => client,
        Ok(Err(error)) if error.as_db_error().is_some() => return Err(Error::Postgres(error)),
        Ok(Err(error)) => return Err(Error::Unreachable(with_causes(&error))),
        Err(_) => return Err(Error::Silent),
    };
    let session = Session {
        client,
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
        let lock = match with {
            WriteMode::Exclusive => "pg_advisory_xact_lock",
            WriteMode::Concurrent => "pg_advisory_xact_lock_shared",
        };
        self.state.set(State::new(with));
        self.batch(&format!("BEGIN; SELECT {lock}({WRITING})"))
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
        let n_rows = self.wait(self.client.execute_raw(statement, sent.iter()))?;
        usize::try_from(n_rows).map_err(|error| Error::Damaged(error.to_string()))
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
        if self.is_given_up.get() {
            return Err(Error::Silent);
        }
        match wait(asked, self.patience.get()) {
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

fn sent(values: &[&dyn ToSql]) -> Result<Vec<Sent>> {
    values.iter().map(|value| Sent::of(*value)).collect()
}

/// The runtime that does the I/O of all connections.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(4).thread_name("postgres").enable_all();
        builder.build().map_err(|error| error.to_string())
    });
    runtime.as_ref().map_err(|error| Error::Unreachable(format!("no thread can be started: {error}")))
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
