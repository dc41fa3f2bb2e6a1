//! A confirmed write is there: after `kill -9`, after a full disk, after a new version of the program.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use tollgate_engine::party::Party;
use tollgate_engine::store::NewDismissal;

use super::*;

const FOLDER: &str = "TOLLGATE_TEST_BOARD";
/// So many features are worked on at once by the child.
const N_FEATURES: usize = 4;

/// This program, to run one of its tests as a child.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("board_store::durable::{test}"), "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The child process: drives features through their states until it is killed, and prints every acknowledged write.
fn write_until_killed(folder: &Path) {
    let database = Database::open(&folder.join("tollgate.db")).unwrap();
    let project = database.add_project(Path::new("/p"), "p", 1).unwrap().id;
    let output = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        for number in 0..N_FEATURES {
            let (database, output) = (&database, &output);
            scope.spawn(move || {
                let name = format!("f{number}");
                let id = FeatureId::parse(&name).unwrap();
                database.insert_feature(new_feature(project, &name, Facts::default())).unwrap();
                loop {
                    let state = database.feature(project, &id).unwrap().unwrap().state;
                    let done = database.transition(next(project, &id, &state)).unwrap();
                    writeln!(output.lock().unwrap(), "acked {name} {}", done.feature.rev).unwrap();
                }
            });
        }
    });
}

/// The next event of a feature that is rejected once and then approved, again and again.
fn next(project: i64, feature: &FeatureId, state: &State) -> Transition {
    let commit = format!("c{}", state.iteration);
    let (event, outcome) = match state.work {
        Work::Queued => (Event::AgentStarted, None),
        Work::Implementing => (Event::AgentDone, None),
        Work::Committing => (Event::Committed(commit.clone()), None),
        Work::Reviewing if state.round == 1 => (rejected(&commit), Some(Outcome::Rejected)),
        Work::Reviewing => (Event::Approved(commit.clone()), Some(Outcome::Approved)),
        _ if state.status == Status::Backlog => (Event::Start, None),
        _ => (Event::SendBack, None),
    };
    let mut transition = Transition::new(project, feature, event, "child", 10);
    transition.announce = Box::new(|feature, before, _| vec![event_of(feature, before)]);
    match outcome {
        Some(outcome) => with_review(transition, review(state.iteration, outcome, Some(&commit))),
        None => transition,
    }
}

#[test]
fn after_kill_9_all_acknowledged_writes_are_there_and_none_is_partial() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut n_acked = 0;
    for round in 0..8 {
        let mut child =
            child("after_kill_9_all_acknowledged_writes_are_there_and_none_is_partial", folder.path()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let acked = |line: String| {
            let (name, rev) = line.strip_prefix("acked ")?.split_once(' ')?;
            Some((name.to_owned(), rev.parse::<u64>().ok()?))
        };
        let mut said: Vec<(String, u64)> = lines.by_ref().filter_map(acked).take(20 + 7 * round).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        // Its output before it died. The last line may be half of one.
        said.extend(lines.filter_map(acked));
        n_acked += said.len();
        check_whole(folder.path(), &said);
    }
    assert!(n_acked > 200, "{n_acked}");
}

fn check_whole(folder: &Path, said: &[(String, u64)]) {
    let database = Database::open(&folder.join("tollgate.db")).unwrap();
    let project = database.project_at(Path::new("/p")).unwrap().unwrap().id;
    let events = database.events_after(0, 100_000, None).unwrap();
    for number in 0..N_FEATURES {
        let id = FeatureId::parse(&format!("f{number}")).unwrap();
        let Some(feature) = database.feature(project, &id).unwrap() else { continue };
        let last_acked = said.iter().filter(|(name, _)| name == id.as_str()).map(|(_, rev)| *rev).max().unwrap_or(0);
        assert!(feature.rev >= last_acked, "{id} is at {} and {last_acked} was answered", feature.rev);
        let history = database.transitions(project, &id).unwrap();
        assert_eq!(history.len() as u64, feature.rev);
        assert_eq!(history.last().unwrap().to, feature.state);
        let n_events = events.iter().filter(|row| row.event.feature.as_ref() == Some(&id)).count();
        assert_eq!(n_events + 1, history.len());
        let n_judged = history.iter().filter(|row| ["approved", "rejected"].contains(&row.event.as_str())).count();
        assert_eq!(database.iterations(project, &id).unwrap().len(), n_judged);
    }
}

/// The child process: fills its own small disk.
fn fill_the_disk(folder: &Path) {
    let ballast = folder.join("ballast");
    let path = folder.join("tollgate.db");
    let database = Database::open(&path).unwrap();
    std::fs::write(&ballast, vec![1; 500_000]).unwrap();
    let announce = |payload: String| {
        database.announce(NewEvent { project: None, feature: None, kind: "x".to_owned(), payload }, 1)
    };
    let mut acked = Vec::new();
    let failure = loop {
        let payload = format!("{} {}", acked.len(), "x".repeat(5_000));
        match announce(payload.clone()) {
            Ok(_) => acked.push(payload),
            Err(failure) => break failure,
        }
    };
    assert!(failure.message.ends_with("the disk is full"), "{failure}");
    for _ in 0..20 {
        announce("y".repeat(50_000)).unwrap_err();
    }
    let read = |database: &Database| -> Vec<String> {
        database.events_after(0, 100_000, None).unwrap().into_iter().map(|row| row.event.payload).collect()
    };
    assert_eq!(read(&database), acked);
    std::fs::remove_file(&ballast).unwrap();
    announce("room".to_owned()).unwrap();
    acked.push("room".to_owned());
    assert_eq!(read(&database), acked);
    drop(database);
    assert_eq!(read(&Database::open(&path).unwrap()), acked);
    let mut stdout = std::io::stdout();
    writeln!(stdout, "acked {} readable {}", acked.len(), acked.len()).unwrap();
}

/// Where the kernel does not let this user mount a file system, the test is skipped and says so; the page limit in the
/// tests of the database stands in for it.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_no_acknowledged_write() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return fill_the_disk(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let inner = child("a_full_disk_loses_no_acknowledged_write", folder.path());
    let mount = "mount -t tmpfs -o size=2m tmpfs \"$0\" || exit 77; exec \"$@\"";
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "--map-root-user", "sh", "-c", mount]).arg(folder.path());
    outer.arg(inner.get_program()).args(inner.get_args()).env(FOLDER, folder.path()).stderr(Stdio::null());
    let output = outer.output().expect("util-linux has `unshare`");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_refused = output.status.code() == Some(77) || said.is_empty();
    if is_refused {
        let mut stderr = std::io::stderr();
        return writeln!(stderr, "skipped: this user may not mount a file system").unwrap();
    }
    assert!(output.status.success() && said.contains("acked "), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it was on a disk of its own");
}

#[test]
fn a_memory_of_the_first_version_becomes_a_board_and_forgets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../../src/store/0001.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x746f6c6c; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;
         INSERT INTO run (repository, subject, scope, state, started_ms, finished_ms, version, head, base, compared,
           problem, n_added, reviewed, skipped, not_reviewed, snapshot_key)
         VALUES ('r', 'branch a', 'branch', 'failed', 1, 2, '0.1.0', '', '', '', 'git is gone', 0, 0, 0, 0, x'00');
         INSERT INTO dismissal (repository, fingerprint, file, title, evidence, reason, made_ms)
         VALUES ('r', 'fp-0000000000000000', 'a.js', 'eval of input', 'eval(x)', 'it is ours', 7);",
    )
    .unwrap();
    drop(old);
    let database = Database::open(&path).unwrap();
    let project = database.add_project(Path::new("/p"), "p", 1).unwrap().id;
    assert!(database.insert_feature(new_feature(project, "one", Facts::default())).unwrap().is_some());
    let runs = Store::open(&path).unwrap().runs(&Filter { limit: 9, ..Filter::default() }).unwrap();
    assert_eq!(runs[0].0.problem.as_deref(), Some("git is gone"));
    let dismissals = database.dismissals("r").unwrap();
    let [dismissal] = &dismissals[..] else { panic!("{dismissals:?}") };
    assert_eq!((&*dismissal.dismissal.reason, &dismissal.who, dismissal.made_ms), ("it is ours", &None, 7));
    // It had no scope and no author.
    assert_eq!(dismissal.dismissal.name, "a dismissal by an unnamed person for the whole repository");
    assert!(dismissal.is_for("branch a") && dismissal.is_for("pr 7"));
}

#[test]
fn a_dismissal_by_an_agent_of_an_earlier_version_becomes_a_proposal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.db");
    drop(Database::open(&path).unwrap());
    let older = rusqlite::Connection::open(&path).unwrap();
    older
        .execute_batch(
            "DROP TABLE proposal; ALTER TABLE dismissal DROP COLUMN subject;
             ALTER TABLE dismissal DROP COLUMN scope; ALTER TABLE dismissal DROP COLUMN severity;
             ALTER TABLE dismissal DROP COLUMN proposed_by; PRAGMA user_version = 8;
             INSERT INTO dismissal (repository, fingerprint, file, title, evidence, reason, made_ms, who, withdrawn_ms)
             VALUES ('r', 'fp-0000000000000000', 'a.js', 'eval of input', 'eval(x)', 'it is ours', 7, 'Ada', NULL),
                    ('r', 'fp-0000000000000001', 'b.js', 'a token', 'x', 'not real', 8, 'an agent over MCP', NULL),
                    ('r', 'fp-0000000000000002', 'c.js', 'a token', 'x', 'not real', 9, 'an agent over MCP', 10),
                    ('r', 'fp-0000000000000003', 'd.js', 'a token', 'x', '...', 9, 'Grace', NULL);",
        )
        .unwrap();
    drop(older);
    let database = Database::open(&path).unwrap();
    let said = |rows: Vec<DismissalRow>| -> Vec<String> {
        let words =
            |row: &DismissalRow| format!("{} {}: {}", row.dismissal.file, row.dismissal.name, row.dismissal.reason);
        rows.iter().map(words).collect()
    };
    // A dismissal without a reason in words does not hold.
    assert_eq!(
        said(database.dismissals("r").unwrap()),
        ["a.js a dismissal by Ada for the whole repository: it is ours"]
    );
    let proposals = database.proposals("r").unwrap();
    assert!(proposals.iter().all(|row| row.is_proposal));
    assert_eq!(said(proposals), ["b.js a dismissal by an agent over MCP for the whole repository: not real"]);
}

#[test]
fn the_database_itself_refuses_to_change_what_happened() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let transition = board.transition(&feature, rejected("c1"));
    board.database.transition(with_review(transition, review(1, Outcome::Rejected, Some("c1")))).unwrap();
    let check = |sql: &str, expected: &str| {
        let error = board.place.carry_out(sql).unwrap_err();
        assert!(error.contains(expected), "{sql}: {error}");
    };
    check("UPDATE transition SET who = 'nobody'", "what happened does not change");
    check("DELETE FROM transition", "what happened is not forgotten");
    check("UPDATE iteration SET outcome = 'approved'", "a stored iteration does not change");
    check("UPDATE iteration SET record = '{}'", "a stored iteration does not change");
    check("DELETE FROM iteration", "a stored iteration is not forgotten");
    check("UPDATE blob SET bytes = bytes", "a stored text does not change");
    for column in ["overridden", "note"] {
        let sql = format!("UPDATE iteration SET {column} = 'once'");
        board.place.carry_out(&sql).unwrap();
        check(&sql, "a stored iteration does not change");
    }
}

#[test]
fn a_dismissal_keeps_who_and_why_and_is_announced_once() {
    let board = Board::new();
    let event = |kind: &str| {
        vec![NewEvent { project: Some(board.project), feature: None, kind: kind.to_owned(), payload: "{}".to_owned() }]
    };
    let dismissal =
        |reason: &str| Dismissal::parse("a.js", "eval of input", "eval(x)".to_owned(), reason.to_owned(), "x").unwrap();
    let print = dismissal("any reason").fingerprint;
    let subject = Subject { repository: "/p".to_owned(), name: "feature one".to_owned(), scope: "pipeline".to_owned() };
    let dismissed = |who: &str, reason: &str| {
        let (dismissal, party) = (dismissal(reason), Party::Person(who.to_owned()));
        NewDismissal { dismissal, party, subject: subject.clone(), everywhere: false }
    };
    board.database.dismiss(dismissed("Ada", "first reason"), 1, event("one")).unwrap();
    board.database.dismiss(dismissed("Grace", "second reason"), 2, event("two")).unwrap();
    let proposed = NewDismissal { party: Party::Agent("an agent".to_owned()), ..dismissed("", "third reason") };
    board.database.dismiss(proposed.clone(), 3, event("proposed")).unwrap();
    board.database.dismiss(proposed, 3, event("nothing")).unwrap();
    let said =
        |row: &DismissalRow| format!("{:?} {} {} {}", row.who, row.dismissal.name, row.dismissal.reason, row.made_ms);
    let found: Vec<String> = board.database.dismissals("/p").unwrap().iter().map(said).collect();
    assert_eq!(found, [r#"Some("Grace") a dismissal by Grace second reason 2"#]);
    // What reviews read is the same.
    let read = board.database.store().unwrap().dismissals_for("/p", "feature one").unwrap();
    assert_eq!(read.iter().map(|dismissal| dismissal.reason.as_str()).collect::<Vec<_>>(), ["second reason"]);
    let elsewhere = Subject { name: "feature two".to_owned(), ..subject.clone() };
    assert!(!board.database.withdraw(&elsewhere, print, 3, event("nothing")).unwrap());
    assert!(board.database.withdraw(&subject, print, 3, event("three")).unwrap());
    assert!(!board.database.withdraw(&subject, print, 4, event("nothing")).unwrap());
    assert!(board.database.reject_proposal(&subject, print, ("Ada", 5), event("rejected")).unwrap());
    assert!(!board.database.reject_proposal(&subject, print, ("Ada", 6), event("nothing")).unwrap());
    assert_eq!(board.database.dismissals("/p").unwrap(), []);
    let events = board.database.events_after(0, 100, None).unwrap();
    let kinds: Vec<&str> = events.iter().map(|row| row.event.kind.as_str()).collect();
    assert_eq!(kinds[kinds.len() - 5..], ["one", "two", "proposed", "three", "rejected"]);
}
