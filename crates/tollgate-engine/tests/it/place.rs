//! Where a test keeps its memory: in a file, or in a database of its own on a server.
//!
//! Tests are written once. They run on files; one test of each kind then runs the others again beside a PostgreSQL that
//! lives as long as they do, where [`Place::new`] is a database of that server.
#![allow(dead_code, reason = "each kind of test uses what it needs")]

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The address of a server on which everything may be done.
const SERVER: &str = "TOLLGATE_TEST_POSTGRES";

/// A place that is gone after the test.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    /// The name of the database on the server, and its address.
    database: Option<(String, String)>,
}

impl Place {
    /// A new place: on the server where there is one, in a file elsewhere.
    pub(crate) fn new() -> Self {
        if server().is_some() { Self::on_server() } else { Self::file() }
    }

    /// A new file, for tests of SQLite alone.
    pub(crate) fn file() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database: None }
    }

    /// A new database on the server.
    pub(crate) fn on_server() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let server = server().expect("TOLLGATE_TEST_POSTGRES names no server; use scripts/with-postgres");
        let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        carry_out(&server, &format!("CREATE DATABASE {name} TEMPLATE template0")).unwrap();
        let (start, _) = server.rsplit_once('/').unwrap();
        let address = format!("{start}/{name}");
        Self { folder: tempfile::tempdir().unwrap(), database: Some((name, address)) }
    }

    /// As `--database` takes it.
    pub(crate) fn address(&self) -> String {
        match &self.database {
            Some((_, address)) => address.clone(),
            None => self.path().to_str().unwrap().to_owned(),
        }
    }

    /// The file, where it is one.
    pub(crate) fn path(&self) -> std::path::PathBuf {
        assert!(self.database.is_none(), "this test is about a file");
        self.folder.path().join("deep/tollgate.db")
    }

    /// A folder for other files of the test.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Whether it is a database of a server.
    pub(crate) fn is_on_server(&self) -> bool {
        self.database.is_some()
    }

    /// Changes the database by another connection.
    pub(crate) fn carry_out(&self, sql: &str) -> Result<(), String> {
        match &self.database {
            Some((_, address)) => carry_out(address, sql),
            None => {
                let connection = rusqlite::Connection::open(self.path()).unwrap();
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some((name, _)), Some(server)) = (&self.database, server()) {
            // It goes with the server anyway; the test may have stopped it.
            let _ = carry_out(&server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

/// The server beside which the tests run, if there is one.
pub(crate) fn server() -> Option<String> {
    std::env::var(SERVER).ok()
}

/// Carries out statements on a server; on a thread of its own, since a test may be inside of a runtime.
pub(crate) fn carry_out(address: &str, sql: &str) -> Result<(), String> {
    let (address, sql) = (address.to_owned(), sql.to_owned());
    let done = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let said = |error: tokio_postgres::Error| match error.as_db_error() {
                Some(said) => said.message().to_owned(),
                None => format!("{error:?}"),
            };
            let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.map_err(said)?;
            let driver = tokio::spawn(connection);
            let done = client.batch_execute(&sql).await;
            drop(client);
            let _ = driver.await;
            done.map_err(said)
        })
    });
    done.join().unwrap()
}

/// Runs a test that needs a server again beside one and returns true, unless there is one already.
pub(crate) fn ran_on_a_server(test: &str) -> bool {
    let is_needed = server().is_none();
    if is_needed {
        let n_passed = run_beside_a_server(&["--exact", test]);
        assert_eq!(n_passed, 1, "{test}");
    }
    is_needed
}

/// Runs tests of this program again, beside a server. Each filter is a part of their names.
pub(crate) fn again_on_a_server(filters: &[&str], without: &[&str]) {
    if server().is_some() {
        return;
    }
    let skipped = without.iter().flat_map(|test| ["--skip", test]);
    let n_passed = run_beside_a_server(&filters.iter().copied().chain(skipped).collect::<Vec<_>>());
    assert!(n_passed > 0, "no test ran");
}

/// Runs this program with these arguments beside a server; returns the number of tests that passed.
fn run_beside_a_server(args: &[&str]) -> u32 {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres");
    let mut command = Command::new(script);
    command.arg(std::env::current_exe().unwrap()).args(args);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said.rsplit("test result: ok. ").next().and_then(|end| end.split(' ').next()?.parse().ok()).unwrap_or(0)
}
