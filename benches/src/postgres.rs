//! A PostgreSQL server that `scripts/with-postgres` has started, and databases of it that are gone afterwards.

use std::io;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::{Database, Location};

/// Where the address of the server is said.
const VARIABLE: &str = "TOLLGATE_TEST_POSTGRES";
/// How to have one.
const HOW: &str = "TOLLGATE_POSTGRES_SYNC=1 scripts/with-postgres target/release/tollgate-bench";

/// A server on which commits are on the disk.
pub(crate) struct Host {
    address: String,
    runtime: Runtime,
}

impl Host {
    /// The server that the environment names, if its commits are durable.
    pub(crate) fn find(measure: &str) -> io::Result<Self> {
        let left_out = |why: &str| io::Error::other(format!("left out, {why}: `{HOW} {measure}`"));
        let address = std::env::var(VARIABLE).map_err(|_| left_out("since there is no PostgreSQL"))?;
        let host = Self { address, runtime: Runtime::new()? };
        let client = host.client(&host.address)?;
        let sql = "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') = 'on'";
        let row = host.wait(client.query_one(sql, &[]))?;
        if !row.get::<_, bool>(0) {
            return Err(left_out("since nothing is safe on the disk of this PostgreSQL"));
        }
        Ok(host)
    }

    /// An empty database of its own.
    pub(crate) fn scratch(&self) -> io::Result<Scratch<'_>> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("bench_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let client = self.client(&self.address)?;
        self.wait(client.batch_execute(&format!("CREATE DATABASE {name}")))?;
        let start = self.address.rsplit_once('/').map_or(self.address.as_str(), |(start, _)| start);
        Ok(Scratch { host: self, address: format!("{start}/{name}"), name })
    }

    /// A connection.
    pub(crate) fn client(&self, address: &str) -> io::Result<Client> {
        self.runtime.block_on(client(address))
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(&self, asked: impl Future<Output = Result<T, tokio_postgres::Error>>) -> io::Result<T> {
        self.runtime.block_on(asked).map_err(io::Error::other)
    }

    /// The runtime for queries.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

/// A connection, whose bytes are moved by the runtime this is called in.
pub(crate) async fn client(address: &str) -> io::Result<Client> {
    let mut config = Config::from_str(address).map_err(io::Error::other)?;
    config.connect_timeout(Duration::from_secs(10));
    let (client, connection) = config.connect(NoTls).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(client)
}

/// A database that is gone when this is dropped.
pub(crate) struct Scratch<'h> {
    host: &'h Host,
    name: String,
    /// As `--database` takes it.
    pub(crate) address: String,
}

impl Scratch<'_> {
    /// Opens it as a process would.
    pub(crate) fn open(&self) -> io::Result<Database> {
        Database::open_at(&Location::parse(&self.address).map_err(told)?).map_err(told)
    }

    /// Carries out statements.
    pub(crate) fn batch(&self, sql: &str) -> io::Result<()> {
        self.host.wait(self.host.client(&self.address)?.batch_execute(sql))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Ok(client) = self.host.client(&self.host.address) {
            let _ =
                self.host.wait(client.batch_execute(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)));
        }
    }
}

/// A failure as the measures have them.
pub(crate) fn told(failure: Failure) -> io::Error {
    io::Error::other(failure)
}

/// The one in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
