//! Migrations of stores of earlier versions.

use rusqlite::Connection;
use tollgate_core::path::FilePath;
use tollgate_engine::store::{Range, RunQuery};

use super::{Given, Memory, high, run};

/// Undoes the seventh and eighth migration.
const BEFORE_INDEXES: &str = include_str!("../before_0007.sql");

/// Undoes the fourth migration and all after it.
fn make_older(memory: &Memory) {
    let connection = Connection::open(memory.place.path()).unwrap();
    connection.execute_batch(BEFORE_INDEXES).unwrap();
    let older = "DROP TABLE run_figures; DROP TABLE run_search; DROP TABLE run_reviewer; DROP INDEX run_by_prior; \
                 DROP INDEX iteration_by_run; DROP INDEX finding_by_kind; DROP INDEX finding_by_rule; \
                 DROP INDEX dismissal_by_fingerprint; ALTER TABLE dismissal DROP COLUMN who; DROP TABLE delivery; \
                 DROP TABLE told; DROP TABLE post; DROP TABLE pull; DROP TABLE pull_turn; DROP TABLE asking; \
                 DELETE FROM counter WHERE name = 'pull_token'; PRAGMA user_version = 3;";
    connection.execute_batch(older).unwrap();
}

#[test]
fn runs_of_an_earlier_version_are_listed_and_searched_like_new_ones() {
    let memory = Memory::file();
    let first = memory.add(&Given { findings: vec![high("Überlauf"), high("two")], ..run() });
    memory.add(&Given { findings: vec![high("two")], prior: Some(first), asked: Some((7, 0.5)), ..run() });
    memory.fail("the disk is full");
    let query = RunQuery { limit: 10, ..RunQuery::default() };
    let before = memory.database().runs(&query).unwrap();
    assert_eq!(before.0[1].n_resolved, Some(1));
    make_older(&memory);
    assert_eq!(memory.database().runs(&query).unwrap(), before);
    memory.check(&RunQuery { text: Some("ÜBER".to_owned()), ..RunQuery::default() }, &[first]);
    // Later runs are added as always.
    memory.add(&run());
    assert_eq!(memory.database().runs(&query).unwrap().1, 4);
}

#[test]
fn runs_from_before_there_were_indexes_are_found_by_them() {
    let memory = Memory::file();
    let mut elsewhere = high("Überlauf");
    elsewhere.location.file = FilePath::parse("web/session.js").unwrap();
    let first = memory.add(&Given { findings: vec![elsewhere, high("two")], ..run() });
    memory.add(&Given { findings: vec![high("two")], asked: Some((7, 0.5)), ..run() });
    let range = Range { from_ms: 0, to_ms: u64::MAX >> 2, part_ms: 1 << 60, repository: None };
    let state = || (memory.database().run_names().unwrap(), memory.database().trends(&range).unwrap());
    let before = state();
    assert_eq!(before.1.whole.by_category.iter().sum::<u64>(), 3);
    Connection::open(memory.place.path()).unwrap().execute_batch(BEFORE_INDEXES).unwrap();
    assert_eq!(state(), before);
    memory.check(&RunQuery { text: Some("ÜBERLAUF".to_owned()), ..RunQuery::default() }, &[first]);
    memory.check(&RunQuery { file: Some("session".to_owned()), ..RunQuery::default() }, &[first]);
}

#[test]
fn a_run_that_is_deleted_is_counted_and_found_no_more() {
    let memory = Memory::file();
    let mut elsewhere = high("only here");
    elsewhere.location.file = FilePath::parse("web/session.js").unwrap();
    let first = memory.add(&Given { findings: vec![high("two")], ..run() });
    let names = memory.database().run_names().unwrap();
    let gone = memory.add(&Given {
        repository: "example.com/o/other",
        findings: vec![elsewhere, high("two")],
        asked: Some((7, 0.5)),
        ..run()
    });
    assert_ne!(memory.database().run_names().unwrap(), names);
    let connection = Connection::open(memory.place.path()).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = ON").unwrap();
    connection.execute("DELETE FROM run WHERE id = ?1", [gone]).unwrap();
    assert_eq!(memory.database().run_names().unwrap(), names);
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM finding_file"), 1);
    assert_eq!(count("SELECT sum(n) FROM finding_file"), 1);
    let found = "SELECT count(*) FROM run_search_grams WHERE run_search_grams MATCH";
    assert_eq!([count(&format!("{found} '\"onl\"'")), count(&format!("{found} '\"two\"'"))], [0, 1]);
    memory.check(&RunQuery { text: Some("two".to_owned()), ..RunQuery::default() }, &[first]);
}
