//! `tollgate migrate`, `doctor` and projects of several machines, on a PostgreSQL server that is there for one test.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::desk::{Desk, works};
use crate::scratch::Ran;
use crate::server_process::{Server, add, add_project, command, place, tollgate};

/// Which test runs beside its own server now.
const BESIDE: &str = "TOLLGATE_TEST_BESIDE";

/// Runs a test, by its name, beside a server of its own; the test gets the address.
#[track_caller]
fn beside_a_server(name: &str, test: impl FnOnce(&str)) {
    let name = format!("migrate::{name}");
    if std::env::var(BESIDE).is_ok_and(|running| running == name) {
        return test(&std::env::var("TOLLGATE_TEST_POSTGRES").unwrap());
    }
    let mut again = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres"));
    again.arg(std::env::current_exe().unwrap()).args([&name, "--exact", "--nocapture"]).env(BESIDE, &name);
    let output = again.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let is_well = output.status.success() && said.contains("1 passed");
    assert!(is_well, "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a command with something more in the environment.
#[track_caller]
fn with(desk: &Desk, env: &[(&str, &str)], args: &[&str]) -> Ran {
    let output = command(desk, args).envs(env.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// A desk with a review, a project and two features, one of which is done.
fn kept() -> (Desk, String) {
    let desk = Desk::in_file(&works());
    add_project(&desk);
    std::fs::write(desk.path("project/c.js"), "const x = eval(process.argv[2]);\n").unwrap();
    tollgate(&desk, &["review"]).expect(1);
    let id = add(&desk, "Read JSON", &["--start"]);
    let mut worker = Server::worker(&desk, &[]);
    worker.hears("the review of iteration 1 approves it");
    assert_eq!(worker.end().0, Some(0));
    add(&desk, "Write JSON", &[]);
    (desk, id)
}

#[test]
fn everything_is_copied_there_and_back() {
    beside_a_server("everything_is_copied_there_and_back", |server| {
        let (desk, id) = kept();
        let file = format!("sqlite:{}", desk.path("data/tollgate/tollgate.db").display());
        let there = ["migrate", "--from", &file, "--to", server];
        let copied = tollgate(&desk, &[&there[..], &["--format", "json"]].concat()).expect(0);
        let copied: Value = serde_json::from_str(&copied).unwrap();
        assert!(copied["same"] == true && copied["copied"] == true, "{copied}");
        assert!(!copied.to_string().contains("postgres:postgres"), "{copied}");
        for (table, least) in
            [("run", 2), ("finding", 1), ("feature", 2), ("transition", 5), ("event", 5), ("numbers", 9)]
        {
            let found = copied["tables"].as_array().unwrap().iter().find(|found| found["table"] == table).unwrap();
            assert!(found["source"]["rows"].as_u64().unwrap() >= least, "{found}");
            assert_eq!(found["source"], found["target"]);
        }
        let said = tollgate(&desk, &there).expect_refused(2);
        assert!(said.contains("is not empty") && said.contains("--check"), "{said}");
        let text = tollgate(&desk, &[&there[..], &["--check"]].concat()).expect(0);
        assert!(!text.contains("<- in the target"), "{text}");

        // Existing rows are kept, and new ones get fresh ids.
        let on_server = [("TOLLGATE_STORE_DATABASE", server)];
        assert_eq!(with(&desk, &[], &["history"]).expect(0), with(&desk, &on_server, &["history"]).expect(0));
        with(&desk, &on_server, &["feature", "add", "Sort JSON"]).expect(0);
        with(&desk, &on_server, &["review"]).expect(1);
        let text = tollgate(&desk, &[&there[..], &["--check"]].concat()).expect(1);
        assert!(text.contains("<- in the target"), "{text}");

        let back = format!("sqlite:{}", desk.path("back.db").display());
        tollgate(&desk, &["migrate", "--from", server, "--to", &back]).expect(0);
        let listed = |env: &[(&str, &str)]| with(&desk, env, &["feature", "list", "--format", "json"]).expect(0);
        assert_eq!(listed(&[("TOLLGATE_STORE_DATABASE", &back)]), listed(&on_server));
        let found = with(&desk, &[("TOLLGATE_STORE_DATABASE", &back)], &["feature", "show", &id]).expect(0);
        assert!(found.contains("Read JSON"), "{found}");
    });
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    beside_a_server("a_copy_that_fails_leaves_nothing", |server| {
        let (desk, _) = kept();
        let path = desk.path("data/tollgate/tollgate.db");
        // A finding of a review that is not there, which the server refuses.
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM run_figures; DELETE FROM run_search;").unwrap();
        file.execute_batch("DROP TRIGGER finding_is_final; UPDATE finding SET run = run + 1000;").unwrap();
        drop(file);
        let from = format!("sqlite:{}", path.display());
        let said = tollgate(&desk, &["migrate", "--from", &from, "--to", server]).expect_refused(3);
        assert!(said.contains("finding"), "{said}");
        let on_server = [("TOLLGATE_STORE_DATABASE", server)];
        let doctor = with(&desk, &on_server, &["doctor"]).stdout;
        assert!(doctor.contains("; no tables yet; the next start creates them;"), "{doctor}");
        let back = format!("sqlite:{}", desk.path("back.db").display());
        tollgate(&desk, &["migrate", "--from", &from, "--to", &back]).expect_refused(3);
        assert!(!desk.path("back.db").exists());
    });
}

#[test]
fn doctor_says_how_a_database_does_and_changes_nothing() {
    beside_a_server("doctor_says_how_a_database_does_and_changes_nothing", |server| {
        let desk = Desk::in_file(&works());
        let line = |url: &str| {
            let text = tollgate(&desk, &["doctor", "--database", url]).stdout;
            let is_it = |line: &&str| line.get(6..).is_some_and(|rest| rest.starts_with("database"));
            text.lines().find(is_it).unwrap().to_owned()
        };
        for _ in 0..2 {
            let said = line(server);
            let is_new = said.starts_with("ok ") && said.contains("PostgreSQL ") && said.contains("no tables yet");
            assert!(is_new && said.contains("; latency ") && said.contains(":***@"), "{said}");
        }
        tollgate(&desk, &["project", "list", "--database", server]).expect(0);
        let said = line(server);
        assert!(said.contains("; tables of version 10; all required rights; latency "), "{said}");
        let nowhere = format!("{}nowhere", server.trim_end_matches("postgres"));
        assert!(line(&nowhere).starts_with("FAIL  database"), "{}", line(&nowhere));
        assert!(line(&server.replace("://postgres:", "://postgres:x")).contains("does not let us in"));
        let json = tollgate(&desk, &["doctor", "--format", "json", "--database", server]).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        assert!(
            json["checks"].as_array().unwrap().iter().any(|check| check["check"] == "database" && check["ok"] == true)
        );
    });
}

#[test]
fn a_project_is_worked_on_by_the_machine_that_has_it() {
    beside_a_server("a_project_is_worked_on_by_the_machine_that_has_it", |server| {
        let desk = Desk::in_file(&works());
        let here = [("TOLLGATE_STORE_DATABASE", server), ("TOLLGATE_STORE_MACHINE", "here")];
        let there = [("TOLLGATE_STORE_DATABASE", server), ("TOLLGATE_STORE_MACHINE", "there")];
        with(&desk, &here, &["project", "add", ".", "--ignore"]).expect(0);
        let added = with(&desk, &here, &["feature", "add", "Read JSON", "--start", "--format", "json"]).expect(0);
        let id = serde_json::from_str::<Value>(&added).unwrap()["id"].as_str().unwrap().to_owned();

        // Another machine lists the project and refuses actions, even if the path exists there.
        let listed = with(&desk, &there, &["project", "list"]).expect(0);
        assert!(listed.contains("(on here)"), "{listed}");
        let listed = with(&desk, &there, &["feature", "list", "--project", "1"]).expect(0);
        assert!(listed.contains("Read JSON"), "{listed}");
        for args in [&["feature", "add", "Mine"][..], &["feature", "stop", &id], &["project", "add", "."]] {
            let said = with(&desk, &there, args).expect_refused(2);
            assert!(said.contains("is a project of the machine `here`"), "{args:?}: {said}");
        }

        // Taken over, it is that machine's, and a worker there does the work.
        with(&desk, &there, &["project", "add", ".", "--adopt"]).expect(0);
        with(&desk, &here, &["feature", "add", "Mine"]).expect_refused(2);
        let config = desk.path("config/tollgate/config.toml");
        let settings = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("[store]\ndatabase = '{server}'\nmachine = 'there'\n{settings}")).unwrap();
        let mut worker = Server::worker(&desk, &[]);
        worker.hears("projects of this machine, `there`, are worked on");
        worker.hears("the review of iteration 1 approves it");
        assert_eq!(worker.end().0, Some(0));
        assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
    });
}
