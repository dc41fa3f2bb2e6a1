//! The database under concurrent use, on real files.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Barrier, Mutex};

use super::*;
use crate::store::board::NewEvent;
use crate::store::place::Place;

struct Folder(Place);

impl Folder {
    fn new() -> Self {
        Self(Place::new())
    }

    /// For tests of files alone.
    fn file() -> Self {
        Self(Place::file())
    }

    fn path(&self) -> PathBuf {
        self.0.path()
    }

    fn open(&self) -> Database {
        Database::open_at(&self.place()).unwrap()
    }

    fn place(&self) -> Location {
        Location::parse(&self.0.address()).unwrap()
    }

    /// The stored events, as the next process sees them.
    fn stored(&self) -> Vec<String> {
        kinds(&self.open())
    }
}

fn put(connection: &Connection, kind: &str) -> sql::Result<()> {
    let event = NewEvent { project: None, feature: None, kind: kind.to_owned(), payload: String::new() };
    crate::store::board::announce_in(connection, &[event], 0)
}

fn kinds(database: &Database) -> Vec<String> {
    let sql = "SELECT kind FROM event ORDER BY seq";
    database.read(|connection| connection.prepare(sql)?.query_map((), |row| row.get(0))?.collect()).unwrap()
}

/// The results of several writes in one commit.
struct Together {
    database: Database,
    go: mpsc::Sender<()>,
    ends: Vec<Receiver<Result<Result<(), String>, Failure>>>,
}

impl Together {
    /// Keeps the writer busy, so that the following writes are queued and committed together.
    fn new(folder: &Folder) -> Self {
        let database = folder.open();
        let (go, wait) = mpsc::channel::<()>();
        let (begun, is_busy) = mpsc::channel();
        database.submit(
            WriteMode::Exclusive,
            move |_| {
                begun.send(()).unwrap();
                wait.recv().unwrap();
                Ok(Ok::<(), Infallible>(()))
            },
            |_| {},
        );
        is_busy.recv().unwrap();
        Self { database, go, ends: Vec::new() }
    }

    fn and(mut self, work: impl FnOnce(&Connection) -> Decided<(), String> + Send + 'static) -> Self {
        let (end, ended) = mpsc::channel();
        self.database.submit(WriteMode::Exclusive, work, move |decided| end.send(decided).unwrap());
        self.ends.push(ended);
        self
    }

    fn end(self) -> Vec<String> {
        self.go.send(()).unwrap();
        let words = |ended: Receiver<Result<Result<(), String>, Failure>>| match ended.recv().unwrap() {
            Ok(Ok(())) => "stored".to_owned(),
            Ok(Err(refusal)) => format!("refused: {refusal}"),
            Err(failure) => failure.message.replace(&self.database.place().to_string(), "FILE"),
        };
        self.ends.into_iter().map(words).collect()
    }
}

#[test]
fn concurrent_writes_are_all_stored() {
    let folder = Folder::new();
    let database = folder.open();
    let barrier = Barrier::new(16);
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let (database, barrier) = (database.clone(), &barrier);
            scope.spawn(move || {
                barrier.wait();
                for number in 0..20 {
                    let kind = format!("{writer}-{number}");
                    let expected = kind.clone();
                    database.write(move |connection| put(connection, &kind)).unwrap();
                    assert!(kinds(&database).contains(&expected), "who wrote sees it");
                }
            });
        }
    });
    drop(database);
    assert_eq!(folder.stored().len(), 320);
}

/// The numbers and kinds of all events, once there are so many.
fn numbered(database: &Database, n: u64) -> Vec<(u64, String)> {
    assert!(database.wait_for_events(n - 1, Duration::from_secs(60)).unwrap(), "they have their numbers");
    let sql = "SELECT seq, kind FROM event ORDER BY seq";
    let read = |row: &sql::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    database.read(|connection| connection.prepare(sql)?.query_map((), read)?.collect()).unwrap()
}

#[test]
fn events_are_numbered_without_a_gap_and_in_order() {
    let folder = Folder::new();
    let databases = [folder.open(), folder.open()];
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let database = databases[writer % 2].clone();
            scope.spawn(move || {
                for number in 0..20 {
                    let kind = format!("{writer} {number:02}");
                    let write = move |connection: &Connection| put(connection, &kind);
                    // Concurrent and exclusive writes in turn, and some are refused.
                    if number % 2 == 0 { database.write_concurrent(write) } else { database.write(write) }.unwrap();
                    let refused = database.decide_concurrent(move |connection| {
                        put(connection, "refused")?;
                        Ok(Err::<(), _>("no"))
                    });
                    assert_eq!(refused.unwrap(), Err("no"));
                }
            });
        }
    });
    let events = numbered(&databases[0], 160);
    assert_eq!(events.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (1..=160).collect::<Vec<_>>());
    for writer in 0..8 {
        let of_writer = events.iter().filter(|(_, kind)| kind.starts_with(&format!("{writer} ")));
        let expected: Vec<String> = (0..20).map(|number| format!("{writer} {number:02}")).collect();
        assert_eq!(of_writer.map(|(_, kind)| kind.clone()).collect::<Vec<_>>(), expected, "in the order of its own");
    }
}

#[test]
fn events_of_a_dead_process_are_numbered_by_another() {
    let folder = Folder::new();
    if !folder.0.is_on_server() {
        return;
    }
    let database = folder.open();
    database.write(|connection| put(connection, "one")).unwrap();
    let left = "INSERT INTO event_waiting (at_ms, kind, payload) VALUES (0, 'two', ''), (0, 'three', '')";
    folder.0.carry_out(left).unwrap();
    let kinds: Vec<String> = numbered(&database, 3).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["one", "two", "three"]);
}

#[test]
fn a_process_that_stops_while_numbering_blocks_others_for_seconds_at_most() {
    let folder = Folder::new();
    if !folder.0.is_on_server() {
        return;
    }
    let database = folder.open();
    // As a process that is stopped, or whose machine sleeps.
    let sleeper = open::open(&folder.place()).unwrap();
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({})", numbering::NUMBERING);
    sleeper.execute_batch(&lock).unwrap();
    database.write_concurrent(|connection| put(connection, "one")).unwrap();
    database.write(|connection| put(connection, "two")).unwrap();
    let kinds: Vec<String> = numbered(&database, 2).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["one", "two"]);
    assert!(sleeper.execute_batch("COMMIT").is_err(), "whoever slept is told");
}

#[test]
fn a_write_that_goes_on_after_a_failure_is_rolled_back() {
    let folder = Folder::new();
    let database = folder.open();
    let written = database.write(|connection| {
        put(connection, "one")?;
        // The write ignores the error and reports success.
        let _ = connection.execute("INSERT INTO event (seq, at_ms, kind, payload) VALUES (1, 1, NULL, '')", ());
        Ok(())
    });
    // SQLite undoes the failed statement, PostgreSQL the whole transaction; the result says which.
    assert_eq!(written.is_ok(), !folder.0.is_on_server());
    assert_eq!(folder.stored().len(), usize::from(written.is_ok()));
}

#[test]
fn a_statement_that_is_sent_ahead_and_fails_undoes_the_write() {
    let folder = Folder::new();
    let database = folder.open();
    let written = database.write_concurrent(|connection| {
        put(connection, "one")?;
        let sql = "INSERT INTO delivery (guid, event, received_ms) VALUES (?1, ?2, 0)";
        // On a server its failure is only known with the commit.
        connection.prepare(sql)?.execute_later(["a-1".to_owned().into(), sql::Value::Null])
    });
    assert!(written.is_err(), "an event is required");
    database.write_concurrent(|connection| put(connection, "two")).unwrap();
    let kinds: Vec<String> = numbered(&database, 1).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["two"]);
}

#[test]
fn a_job_that_nobody_announced_wakes_the_workers() {
    let folder = Folder::new();
    if !folder.0.is_on_server() {
        return;
    }
    let database = folder.open();
    // As a process leaves it that dies between the commit and the notification.
    let left = "INSERT INTO pull (repo_key, repo, number, wanted, ready_ms) VALUES ('o/a', 'o/a', 1, 1, 1)";
    folder.0.carry_out(left).unwrap();
    let signal = database.job_signal();
    // The first notification may be that of the beginning.
    for _ in 0..2 {
        let seen = signal.count();
        signal.wait(seen, Duration::from_secs(60));
        assert!(signal.count() > seen, "nobody was woken");
    }
}

#[test]
fn a_piece_that_fails_takes_no_other_with_it() {
    let folder = Folder::new();
    let is_on_server = folder.0.is_on_server();
    let ends = Together::new(&folder)
        .and(|connection| put(connection, "first").map(Ok))
        .and(|connection| {
            put(connection, "half")?;
            put(connection, "half")?;
            connection.execute("INSERT INTO nowhere VALUES (1)", ()).map(|_| Ok(()))
        })
        .and(|connection| {
            put(connection, "refused")?;
            Ok(Err("not now".to_owned()))
        })
        .and(|connection| {
            put(connection, "panicked")?;
            panic!("said by a test")
        })
        .and(|connection| put(connection, "last").map(Ok))
        .end();
    let ends = ends.join("\n").replace(
        if is_on_server {
            "the database `FILE` refuses: relation \"nowhere\" does not exist"
        } else {
            "the memory at `FILE` cannot be used: no such table: nowhere"
        },
        "there is no such table",
    );
    insta::assert_snapshot!(ends, @r"
    stored
    there is no such table
    refused: not now
    internal error while writing to the database; the write was rolled back
    stored
    ");
    assert_eq!(folder.stored(), ["first", "last"]);
}

#[test]
fn when_the_batch_cannot_be_committed_nobody_is_told_it_was() {
    let folder = Folder::new();
    let ends = Together::new(&folder)
        .and(|connection| put(connection, "first").map(Ok))
        .and(|connection| {
            // As SQLite does by itself when the disk fails.
            connection.execute_batch("ROLLBACK")?;
            Ok(Ok(()))
        })
        .and(|connection| put(connection, "last").map(Ok))
        .end();
    // PostgreSQL reports a missing transaction in other words.
    let words = if folder.0.is_on_server() { "refuses: RELEASE SAVEPOINT" } else { "the disk is full" };
    assert!(ends.len() == 3 && ends.iter().all(|end| end.contains(words)), "{ends:?}");
    let database = folder.open();
    assert_eq!(kinds(&database), [""; 0]);
    database.write(|connection| put(connection, "later")).unwrap();
    assert_eq!(kinds(&database), ["later"]);
}

#[test]
fn a_full_disk_is_said_and_once_there_is_room_it_goes_on() {
    let folder = Folder::file();
    let database = folder.open();
    let limit = |n_pages: u32| {
        let pragma = format!("PRAGMA max_page_count = {n_pages}");
        database.write(move |connection| connection.query_row(&pragma, (), |row| row.get::<_, u32>(0))).unwrap()
    };
    let n_pages = limit(1);
    limit(n_pages + 10);
    let mut written = Vec::new();
    let failure = loop {
        let kind = format!("{}-{}", written.len(), "x".repeat(3_000));
        match database.write({
            let kind = kind.clone();
            move |connection| put(connection, &kind)
        }) {
            Ok(()) => written.push(kind),
            Err(failure) => break failure,
        }
        assert!(written.len() < 1_000);
    };
    assert!(failure.message.ends_with("the disk is full"), "{}", failure.message);
    assert!(!written.is_empty());
    assert_eq!(kinds(&database), written);
    limit(1_000_000);
    database.write(|connection| put(connection, "room")).unwrap();
    written.push("room".to_owned());
    drop(database);
    assert_eq!(folder.stored(), written);
}

#[test]
fn a_file_that_another_process_holds_is_said_to_be_in_use() {
    let folder = Folder::file();
    let database = folder.open();
    database.write(|connection| connection.execute_batch("PRAGMA busy_timeout = 0")).unwrap();
    let other = rusqlite::Connection::open(folder.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let failure = database.write(|connection| put(connection, "one")).unwrap_err();
    assert!(failure.message.contains("in use by another process"), "{}", failure.message);
    assert_eq!(database.check(), Err(failure.clone()));
    other.execute("INSERT INTO event (at_ms, kind, payload) VALUES (0, 'theirs', '')", []).unwrap();
    other.execute_batch("COMMIT").unwrap();
    database.write(|connection| put(connection, "two")).unwrap();
    assert_eq!(kinds(&database), ["theirs", "two"]);
}

#[test]
fn two_processes_may_write_at_once() {
    let folder = Folder::new();
    let (ours, theirs) = (folder.open(), folder.open());
    std::thread::scope(|scope| {
        for database in [&ours, &theirs].repeat(4) {
            scope.spawn(move || {
                for _ in 0..20 {
                    database.write(|connection| put(connection, "one")).unwrap();
                }
            });
        }
    });
    assert_eq!((kinds(&ours).len(), kinds(&theirs).len()), (160, 160));
}

#[test]
fn queued_writes_are_committed_before_the_last_handle_is_dropped() {
    let folder = Folder::new();
    let database = folder.open();
    for number in 0..300 {
        database.submit(
            WriteMode::Exclusive,
            move |connection| put(connection, &number.to_string()).map(Ok::<(), Infallible>),
            |decided| _ = decided.unwrap(),
        );
    }
    drop(database);
    assert_eq!(folder.stored().len(), 300);
}

#[test]
fn the_last_handle_may_go_where_the_writing_is_done() {
    let folder = Folder::new();
    let database = folder.open();
    let (end, ended) = mpsc::channel();
    let last = Mutex::new(Some(database.clone()));
    let (go, wait) = mpsc::channel::<()>();
    database.submit(
        WriteMode::Exclusive,
        move |connection| put(connection, "one").map(Ok::<(), Infallible>),
        move |_| {
            wait.recv().unwrap();
            drop(last.lock().unwrap().take());
            end.send(()).unwrap();
        },
    );
    drop(database);
    go.send(()).unwrap();
    ended.recv().unwrap();
    assert_eq!(folder.stored(), ["one"]);
}

#[test]
fn a_write_from_within_a_write_is_refused() {
    let folder = Folder::new();
    let database = folder.open();
    let (end, ended) = mpsc::channel();
    let inside = database.clone();
    database.submit(
        WriteMode::Exclusive,
        |_| Ok(Ok::<(), Infallible>(())),
        move |_| end.send(inside.write(|connection| put(connection, "one"))).unwrap(),
    );
    let failure = ended.recv().unwrap().unwrap_err();
    assert_eq!(failure.message, "internal error: a write from within a write");
}

#[test]
fn a_full_queue_refuses_writes_that_do_not_wait() {
    let folder = Folder::new();
    let mut together = Together::new(&folder);
    for _ in 0..=MAX_WAITING {
        together = together.and(|_| Ok(Ok(())));
    }
    let ends = together.end();
    assert_eq!(ends[..MAX_WAITING], vec!["stored"; MAX_WAITING]);
    assert_eq!(ends[MAX_WAITING], "too many writes are queued for the database");
}

#[test]
fn readers_see_one_state_and_write_nothing() {
    let folder = Folder::new();
    let database = folder.open();
    let failure = database.read(|connection| put(connection, "one")).unwrap_err();
    let words = if folder.0.is_on_server() { "in a read-only transaction" } else { "it can only be read" };
    assert!(failure.message.contains(words), "{}", failure.message);
    let count = "SELECT count(*) FROM event";
    let counts = database
        .read(|connection| {
            let before: u32 = connection.query_row(count, (), |row| row.get(0))?;
            database.write(|connection| put(connection, "one")).unwrap();
            let after: u32 = connection.query_row(count, (), |row| row.get(0))?;
            Ok((before, after))
        })
        .unwrap();
    assert_eq!((counts, kinds(&database).len()), ((0, 0), 1));
}

#[test]
fn a_reader_that_panics_takes_no_place_away() {
    let folder = Folder::new();
    let database = folder.open();
    for _ in 0..10 {
        let database = database.clone();
        let panicked = std::thread::spawn(move || database.read(|_| -> sql::Result<()> { panic!("said by a test") }));
        assert!(panicked.join().is_err());
    }
    assert_eq!(kinds(&database), [""; 0]);
}

#[test]
fn events_wake_whoever_waits_for_them() {
    let folder = Folder::new();
    let database = folder.open();
    let other_process = folder.open();
    assert!(!database.wait_for_events(0, Duration::ZERO).unwrap());
    for (seq, writer) in [(0, &database), (1, &other_process)] {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| database.wait_for_events(seq, Duration::from_secs(60)));
            writer.write(|connection| put(connection, "one")).unwrap();
            assert!(waiting.join().unwrap().unwrap());
        });
    }
    assert!(database.wait_for_events(1, Duration::ZERO).unwrap(), "what is there already is not waited for");
}

#[test]
fn numbers_of_events_are_never_given_twice() {
    let folder = Folder::new();
    let database = folder.open();
    for _ in 0..3 {
        database.write(|connection| put(connection, "one")).unwrap();
    }
    database.write(|connection| connection.execute("DELETE FROM event", ())).unwrap();
    drop(database);
    let database = folder.open();
    assert_eq!(database.read(last_seq).unwrap(), 3);
    assert!(database.wait_for_events(2, Duration::ZERO).unwrap());
}
