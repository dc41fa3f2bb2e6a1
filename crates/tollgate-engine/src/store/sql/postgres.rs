//! A connection to a PostgreSQL server, asked and waited for like a file.
//!
//! One thread of the process moves the bytes of all connections; whoever asks sleeps until the answer is there or its
//! time is over. A connection that fails is not mended: its owner makes another.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// How long a server may take to let us in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take to answer before we stop listening; it stops by itself a little earlier.
const PATIENCE: Duration = Duration::from_secs(40);
/// So many statements are kept ready on a connection.
const MAX_STATEMENTS: usize = 256;

/// What every connection is told first. A process that stops in the middle of a transaction, as one does whose machine
/// sleeps, must not keep others from writing; nor does anybody wait for ever. What was committed stays, whatever the server
/// does with the commits of others.
const MANNERS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
                       SET idle_in_transaction_session_timeout = '5s'; SET client_min_messages = warning; \
                       SELECT set_config('synchronous_commit', 'on', false) \
                       WHERE current_setting('synchronous_commit') = 'off'";

/// The advisory lock: exclusive for transactions that decide on rows they only read, shared for all others.
const WRITING: i64 = 0x746f_6c6c_0001;

/// A connection to a server.
pub(in crate::store) struct Session {
    client: Client,
    statements: RefCell<HashMap<String, Statement>>,
    patience: Cell<Duration>,
    /// True once a response timed out; a late response belongs to no statement.
    is_given_up: Cell<bool>,
    state: Cell<State>,
}

/// How a transaction stands.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct State {
    /// The writers that may run beside it.
    pub(in crate::store) with: WriteMode,
    /// True when a statement failed, after which the server takes no other.
    pub(in crate::store) is_spoilt: bool,
    /// True when it gives out the numbers of events, and all that waited have theirs.
    pub(in crate::store) is_numbering: bool,
    /// True when it has inserted events that get their numbers after the commit.
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

/// A connection that receives notifications (`LISTEN`).
#[derive(Debug)]
pub(in crate::store) struct Follower {
    connection: Connection,
    heard: Receiver<()>,
    /// The highest number that was announced.
    number: Arc<AtomicU64>,
    waker: SyncSender<()>,
}

impl Follower {
    /// Connects and listens on a channel.
    pub(in crate::store) fn connect(address: &Address, channel: &str) -> Result<Self> {
        let (heard_by, heard) = mpsc::sync_channel(1);
        let (waker, number) = (heard_by.clone(), Arc::new(AtomicU64::new(0)));
        let said = Arc::clone(&number);
        let session = connect_with(address, move |message| {
            if let AsyncMessage::Notification(notification) = message {
                said.fetch_max(notification.payload().parse().unwrap_or(0), Ordering::SeqCst);
                // One that waits to be heard stands for all.
                let _ = heard_by.try_send(());
            }
        })?;
        session.batch(&format!("LISTEN {channel}"))?;
        Ok(Self { connection: Connection::Postgres(Box::new(session)), heard, number, waker })
    }

    /// The highest number that was announced.
    pub(in crate::store) fn number(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    /// A handle that wakes the waiting thread as a notification would.
    pub(in crate::store) fn waker(&self) -> SyncSender<()> {
        self.waker.clone()
    }

    /// Waits until something was announced, or for so long. Fails when the connection is gone.
    pub(in crate::store) fn wait(&self, timeout: Duration) -> Result<()> {
        match self.heard.recv_timeout(timeout) {
            Ok(()) => Ok(()),
            Err(RecvTimeoutError::Timeout) if !self.connection.is_lost() => Ok(()),
            Err(_) => Err(Error::Unreachable("the connection to the database is gone".to_owned())),
        }
    }

    /// The client.
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
                // It ends when the client goes or the server does.
                while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                    hear(message);
                }
            }
            // The receiver is gone only after its time-out.
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
    /// Whether nothing can be asked any more.
    pub(in crate::store) fn is_lost(&self) -> bool {
        self.is_given_up.get() || self.client.is_closed()
    }

    /// Lets statements take as long as they take: for bringing a schema up to date, or copying all there is.
    pub(in crate::store) fn take_time(&self) -> Result<()> {
        self.patience.set(Duration::from_secs(24 * 60 * 60));
        self.batch("SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = '10min'")
    }

    /// Begins a transaction that is going to write.
    ///
    /// Transactions that decide on rows they only read run one at a time, as they do on SQLite, so that the same code is right
    /// on both. Frequent transactions that lock their own rows run concurrently with each other, never with the former.
    pub(in crate::store) fn begin(&self, with: WriteMode) -> Result<()> {
        let lock = match with {
            WriteMode::Exclusive => "pg_advisory_xact_lock",
            WriteMode::Concurrent => "pg_advisory_xact_lock_shared",
        };
        self.state.set(State::new(with));
        self.batch(&format!("BEGIN; SELECT {lock}({WRITING})"))
    }

    /// How the transaction stands.
    pub(in crate::store) fn state(&self) -> State {
        self.state.get()
    }

    /// Notes how it stands from now on.
    pub(in crate::store) fn note(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.get();
        change(&mut state);
        self.state.set(state);
    }

    /// A savepoint was rolled back, and with it its failure and the locks it took.
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

    /// Carries out statements as they stand.
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
                // A table changed under a statement that was kept ready.
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

/// What moves the bytes of all connections of the process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(4).thread_name("postgres").enable_all();
        builder.build().map_err(|error| error.to_string())
    });
    runtime.as_ref().map_err(|error| Error::Unreachable(format!("no thread can be started: {error}")))
}

/// Wakes the thread that sleeps until an answer is there.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Sleeps until something is there; `None` when it is not in time.
///
/// It may be called from anywhere, also from where another runtime must not be waited for.
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
