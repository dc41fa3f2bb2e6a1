//! A memory of an earlier version gets what it did not have.

use rusqlite::Connection;
use tollgate_engine::store::RunQuery;

use super::{Given, Memory, high, run};

/// Takes away what the fourth version brought, and what came after it.
fn make_older(memory: &Memory) {
    let connection = Connection::open(memory.path()).unwrap();
    let older = "DROP TABLE run_figures; DROP TABLE run_search; DROP TABLE run_reviewer; DROP INDEX run_by_prior; \
                 DROP INDEX iteration_by_run; DROP INDEX finding_by_kind; DROP INDEX finding_by_rule; \
                 DROP INDEX dismissal_by_fingerprint; ALTER TABLE dismissal DROP COLUMN who; DROP TABLE delivery; \
                 DROP TABLE told; DROP TABLE post; DROP TABLE pull; DROP TABLE pull_turn; DROP TABLE asking; \
                 DELETE FROM counter WHERE name = 'pull_token'; PRAGMA user_version = 3;";
    connection.execute_batch(older).unwrap();
}

#[test]
fn runs_of_an_earlier_version_are_listed_and_searched_like_new_ones() {
    let memory = Memory::new();
    let first = memory.add(&Given { findings: vec![high("Überlauf"), high("two")], ..run() });
    memory.add(&Given { findings: vec![high("two")], prior: Some(first), asked: Some((7, 0.5)), ..run() });
    memory.fail("the disk is full");
    let query = RunQuery { limit: 10, ..RunQuery::default() };
    let before = memory.database().runs(&query).unwrap();
    assert_eq!(before.0[1].n_resolved, Some(1));
    make_older(&memory);
    assert_eq!(memory.database().runs(&query).unwrap(), before);
    memory.check(&RunQuery { text: Some("ÜBER".to_owned()), ..RunQuery::default() }, &[first]);
    // What comes later is added as ever.
    memory.add(&run());
    assert_eq!(memory.database().runs(&query).unwrap().1, 4);
}
