//! The store on real files.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::Stdio;

use rusqlite::OpenFlags;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Category, Finding, FindingId, LineRange, Location, Origin, Side, Summary};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::review::Review;
use tollgate_core::review::{Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::suppress::Dismissal;

use super::place::{self, Place, again_on_a_server};
use super::*;
use crate::party::Party;

mod plans;

fn subject(branch: &str) -> Subject {
    let name = format!("branch {branch}");
    Subject { repository: "example.com/o/r".to_owned(), name, scope: "branch".to_owned() }
}

fn finding(index: usize, title: &str, severity: Severity) -> Finding {
    Finding {
        id: FindingId::at(index),
        severity,
        category: Category::Logic,
        location: Location {
            file: FilePath::parse("src/a.rs").unwrap(),
            lines: LineRange::new(3, 4).unwrap(),
            side: Side::Right,
        },
        summary: Summary::parse(title).unwrap(),
        reason: Some("because".to_owned()),
        evidence: "let x = 1;".to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin { reviewer: Some("rules".to_owned()), rule: Some("some-rule".to_owned()), rule_url: None },
        extra: serde_json::Map::new(),
    }
}

fn review(head: &str) -> Review {
    let file = FilePath::parse("src/a.rs").unwrap();
    let held =
        WithheldFinding { finding: finding(2, "mild", Severity::Nit), why: Withheld::IgnoredArea(Category::Style) };
    Review {
        title: Some("work".to_owned()),
        reviewed: Sha::parse(&head.repeat(40)).unwrap(),
        base: Sha::null(),
        compared: Some("work against main".to_owned()),
        files_reviewed: vec![file.clone()],
        findings: vec![finding(0, "one", Severity::Critical), finding(1, "two", Severity::Low)],
        withheld: vec![held],
        coverage: Some(Coverage {
            hunks: vec![CoveredHunk { file, lines: LineRange::new(1, 9), status: HunkStatus::Reviewed }],
        }),
        doubts: Vec::new(),
        re_review_required: false,
        notes: None,
        extra: serde_json::Map::new(),
    }
}

#[track_caller]
fn record(store: &mut Store, branch: &str, head: &str, snapshot: &[u8]) -> i64 {
    let (review, snapshot) = (review(head), snapshot.to_vec());
    let run = CompletedRun { review, gate: Gate::Closed, n_added: 7, snapshot, prior: None, new: Some(vec![0]) };
    store.record(&RunRecord::completed(run, subject(branch), (1_000, 2_000))).unwrap()
}

struct Folder(Place);

impl Folder {
    fn new() -> Self {
        Self(Place::new())
    }

    /// For tests that apply to files only.
    fn file() -> Self {
        Self(Place::file())
    }

    fn path(&self) -> PathBuf {
        self.0.path()
    }

    fn store(&self) -> Store {
        Store::open_at(&self.place()).unwrap()
    }

    fn place(&self) -> super::Location {
        super::Location::parse(&self.0.address()).unwrap()
    }

    /// Puts other content at the path of the store; opening must fail with this message and change nothing.
    #[track_caller]
    fn check_refused(&self, prepare: impl FnOnce(&Path), problem: &str) {
        std::fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        prepare(&self.path());
        let before = std::fs::read(self.path()).unwrap();
        let failure = Store::open(&self.path()).unwrap_err();
        assert!(failure.message.contains(problem), "{}", failure.message);
        assert!(failure.hint.is_some());
        assert_eq!(std::fs::read(self.path()).unwrap(), before, "the file was changed");
    }
}

#[test]
fn a_run_is_read_back_as_it_was_stored() {
    let folder = Folder::new();
    let id = record(&mut folder.store(), "work", "a", b"state");
    let run = folder.store().run(id).unwrap().unwrap();
    let mut expected = review("a");
    // The result of the gate stays in the stored text.
    expected.extra.insert("x_gate".to_owned(), "closed".into());
    assert_eq!(run.review.as_deref(), Some(&expected));
    assert_eq!((run.state, run.gate.as_deref(), run.n_added), (State::Completed, Some("closed"), 7));
    assert_eq!((run.started_ms, run.finished_ms), (1_000, 2_000));
    assert_eq!(run.snapshot.as_deref(), Some(&b"state"[..]));
    let runs = folder.store().runs(&Filter { name: Some("work".to_owned()), limit: 9, ..Filter::default() }).unwrap();
    let counts = Counts { by_severity: vec![(Severity::Critical, 1), (Severity::Low, 1)], withheld: 1 };
    assert_eq!(runs, [(run, counts)]);
}

#[test]
fn the_last_run_is_that_of_the_same_subject_in_another_state() {
    let folder = Folder::new();
    let mut store = folder.store();
    let first = record(&mut store, "work", "a", b"one");
    let second = record(&mut store, "work", "b", b"two");
    record(&mut store, "other", "c", b"three");
    let before = |head: &str, state: &[u8]| {
        store.last_before(&subject("work"), &head.repeat(40), state).unwrap().map(|run| run.id)
    };
    assert_eq!(before("d", b"four"), Some(second));
    // The same state again is compared with the run before it, so that a repeated review has the same result.
    assert_eq!(before("b", b"two"), Some(first));
    assert_eq!(before("b", b"two and uncommitted work"), Some(second));
    assert_eq!(store.last_before(&subject("none"), "d", b"").unwrap(), None);
}

#[test]
fn a_failed_run_is_stored_and_never_compared_with() {
    let folder = Folder::new();
    let mut store = folder.store();
    let subject = subject("work");
    let id = store.record(&RunRecord::failed("git is gone", subject.clone(), (1, 2))).unwrap();
    let run = store.run(id).unwrap().unwrap();
    assert_eq!((run.state, run.problem.as_deref(), run.review), (State::Failed, Some("git is gone"), None));
    assert_eq!(store.last_before(&subject, "d", b"").unwrap(), None);
}

#[test]
fn a_stored_run_does_not_change() {
    let folder = Folder::new();
    let mut store = folder.store();
    record(&mut store, "work", "a", b"one");
    for sql in ["UPDATE run SET verdict = 'APPROVED'", "UPDATE finding SET severity = 'Nit'"] {
        let error = store.connection.execute(sql, ()).unwrap_err().to_string();
        assert!(error.contains("does not change"), "{error}");
    }
}

fn person(name: &str) -> Party {
    Party::Person(name.to_owned())
}

/// A dismissal of `finding` on a branch.
fn dismissal(finding: &Finding, branch: &str, party: Party, reason: &str) -> NewDismissal {
    let dismissal = Dismissal::of_finding(finding, reason).unwrap();
    NewDismissal { dismissal, party, subject: subject(branch), everywhere: false }
}

const REPOSITORY: &str = "example.com/o/r";

/// The dismissals that hold for a branch, by author and reason.
fn held(store: &Store, branch: &str) -> Vec<String> {
    let rows = store.dismissals_for(REPOSITORY, &format!("branch {branch}")).unwrap();
    rows.into_iter().map(|row| format!("{}: {}", row.name, row.reason)).collect()
}

#[test]
fn a_dismissal_holds_until_it_is_withdrawn() {
    let folder = Folder::new();
    let mut store = folder.store();
    let finding = finding(0, "one", Severity::High);
    store.dismiss(&dismissal(&finding, "work", person("Ada"), "the first reason"), 1).unwrap();
    store.dismiss(&dismissal(&finding, "work", person("Ada"), "the second reason"), 2).unwrap();
    assert_eq!(held(&store, "work"), ["a dismissal by Ada: the second reason"]);
    assert_eq!(store.dismissals("another").unwrap(), []);
    assert!(store.withdraw(REPOSITORY, Fingerprint::of(&finding), 3).unwrap());
    assert!(!store.withdraw(REPOSITORY, Fingerprint::of(&finding), 4).unwrap());
    assert_eq!(store.dismissals(REPOSITORY).unwrap(), []);
}

#[test]
fn a_dismissal_on_one_branch_does_not_hold_on_another() {
    let folder = Folder::new();
    let mut store = folder.store();
    let (one, two) = (finding(0, "one", Severity::High), finding(1, "two", Severity::High));
    store.dismiss(&dismissal(&one, "work", person("Ada"), "it is ours"), 1).unwrap();
    let everywhere = NewDismissal { everywhere: true, ..dismissal(&two, "work", person("Grace"), "a fixture") };
    store.dismiss(&everywhere, 2).unwrap();
    assert_eq!(
        held(&store, "work"),
        ["a dismissal by Ada: it is ours", "a dismissal by Grace for the whole repository: a fixture"]
    );
    assert_eq!(held(&store, "other"), ["a dismissal by Grace for the whole repository: a fixture"]);
    // Two occurrences that share file and title are dismissed one by one.
    let other_code = Finding { evidence: "let x = 2;".to_owned(), ..one.clone() };
    store.dismiss(&dismissal(&other_code, "work", person("Ada"), "this too"), 3).unwrap();
    assert_eq!(held(&store, "work").len(), 3);
}

#[test]
fn the_dismissal_of_an_agent_has_no_effect_until_a_person_confirms_it() {
    let folder = Folder::new();
    let mut store = folder.store();
    let finding = finding(0, "one", Severity::Critical);
    let agent = || Party::Agent("an agent".to_owned());
    for reason in ["the first reason", "once again"] {
        let row = store.dismiss(&dismissal(&finding, "work", agent(), reason), 1).unwrap();
        assert!(row.is_proposal, "{row:?}");
        assert_eq!(row.dismissal.reason, "the first reason", "a pending proposal stays as it is");
    }
    assert_eq!(held(&store, "work"), [""; 0]);
    assert_eq!(store.proposals(REPOSITORY).unwrap().len(), 1);
    let row = store.dismiss(&dismissal(&finding, "work", person("Ada"), "I looked"), 2).unwrap();
    assert_eq!((row.is_proposal, row.proposed_by.as_deref()), (false, Some("an agent")));
    assert_eq!(held(&store, "work"), ["a dismissal by Ada, proposed by an agent: I looked"]);
    assert_eq!(store.proposals(REPOSITORY).unwrap(), []);
    // A rejected proposal is gone, and the agent may propose again.
    store.dismiss(&dismissal(&finding, "other", agent(), "please do it"), 3).unwrap();
    assert!(store.reject_proposal(REPOSITORY, Fingerprint::of(&finding), "Ada", 4).unwrap());
    assert!(!store.reject_proposal(REPOSITORY, Fingerprint::of(&finding), "Ada", 5).unwrap());
    assert_eq!(held(&store, "other"), [""; 0]);
}

#[test]
fn scanned_texts_are_remembered_and_the_oldest_forgotten() {
    let folder = Folder::new();
    let mut store = folder.store();
    store.remember_scanned(&[(b"key".to_vec(), b"hits".to_vec())]).unwrap();
    assert_eq!(store.scanned(b"key").unwrap(), Some(b"hits".to_vec()));
    assert_eq!(store.scanned(b"other").unwrap(), None);
    let many: Vec<_> = (0..50_000u32).map(|n| (n.to_le_bytes().to_vec(), Vec::new())).collect();
    store.remember_scanned(&many).unwrap();
    assert_eq!(store.scanned(b"key").unwrap(), None);
    assert_eq!(store.scanned(&49_999u32.to_le_bytes()).unwrap(), Some(Vec::new()));
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    Folder::file().check_refused(
        |path| {
            drop(Store::open(path).unwrap());
            rusqlite::Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        },
        "comes from a newer tollgate (version 99, known is 10)",
    );
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    Folder::file().check_refused(
        |path| rusqlite::Connection::open(path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap(),
        "is not a memory of tollgate",
    );
    Folder::file()
        .check_refused(|path| std::fs::write(path, "x".repeat(5_000)).unwrap(), "is not a memory of tollgate");
}

#[test]
fn a_damaged_file_is_left_alone() {
    let damage = |path: &Path| {
        let mut store = Store::open(path).unwrap();
        for _ in 0..50 {
            record(&mut store, "work", "a", &[7; 4_000]);
        }
        drop(store);
        let mut bytes = std::fs::read(path).unwrap();
        let middle = 4_096..bytes.len();
        bytes[middle].fill(0xff);
        std::fs::write(path, bytes).unwrap();
    };
    let folder = Folder::file();
    std::fs::create_dir_all(folder.path().parent().unwrap()).unwrap();
    damage(&folder.path());
    let before = std::fs::read(folder.path()).unwrap();
    let failure = match Store::open(&folder.path()) {
        Ok(store) => store.last_before(&subject("work"), "d", b"").unwrap_err(),
        Err(failure) => failure,
    };
    assert!(failure.message.contains("is damaged"), "{}", failure.message);
    assert_eq!(std::fs::read(folder.path()).unwrap(), before, "the file was changed");
}

#[test]
fn a_read_only_store_can_be_read() {
    let folder = Folder::file();
    record(&mut folder.store(), "work", "a", b"one");
    let connection = open::open_with(&folder.path(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut store = Store { connection, place: folder.place() };
    assert!(store.last_before(&subject("work"), "d", b"").unwrap().is_some());
    let new = dismissal(&finding(0, "one", Severity::High), "work", person("Ada"), "it is ours");
    let failure = store.dismiss(&new, 1).unwrap_err();
    assert!(failure.message.contains("it can only be read"), "{}", failure.message);
}

#[test]
fn a_file_that_another_process_holds_is_said_to_be_in_use() {
    let folder = Folder::file();
    let mut store = folder.store();
    let other = rusqlite::Connection::open(folder.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.connection.execute_batch("PRAGMA busy_timeout = 0").unwrap();
    let failure = store.remember_scanned(&[(Vec::new(), Vec::new())]).unwrap_err();
    assert!(failure.message.contains("in use by another process"), "{}", failure.message);
}

#[test]
fn several_processes_create_the_store_concurrently() {
    const ADDRESS: &str = "TOLLGATE_TEST_STORE";
    if let Ok(address) = std::env::var(ADDRESS) {
        // A child process: ready now, and creates the store when its input ends.
        println!("ready");
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        let mut store = Store::open_at(&super::Location::parse(&address).unwrap()).unwrap();
        record(&mut store, "work", "a", b"one");
        return;
    }
    let test = ["--exact", "store::tests::several_processes_create_the_store_concurrently", "--nocapture"];
    for _ in 0..10 {
        let folder = Folder::new();
        let mut children = [(); 4].map(|()| {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            command.args(test).env(ADDRESS, folder.0.address()).stdin(Stdio::piped()).stdout(Stdio::piped());
            command.spawn().unwrap()
        });
        let mut outputs = children.each_mut().map(|child| BufReader::new(child.stdout.take().unwrap()));
        for output in &mut outputs {
            assert!(output.by_ref().lines().any(|line| line.unwrap().contains("ready")));
        }
        children.iter_mut().for_each(|child| drop(child.stdin.take()));
        for (mut child, mut output) in children.into_iter().zip(outputs) {
            output.read_to_end(&mut Vec::new()).unwrap();
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(folder.store().runs(&Filter { limit: 10, ..Filter::default() }).unwrap().len(), 4);
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::file();
    drop(folder.store());
    assert_eq!(std::fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn tables_of_a_newer_program_are_used_if_it_allows_and_else_left_alone() {
    if place::ran_on_a_server("store::tests::tables_of_a_newer_program_are_used_if_it_allows_and_else_left_alone") {
        return;
    }
    let folder = Folder(Place::on_server());
    record(&mut folder.store(), "work", "a", b"state");
    // A newer version of the program runs at the same time, and only added something.
    folder.0.carry_out("UPDATE tollgate_schema SET version = 99").unwrap();
    assert_eq!(folder.store().runs(&Filter { limit: 9, ..Filter::default() }).unwrap().len(), 1);
    folder.0.carry_out("UPDATE tollgate_schema SET works_with = 99").unwrap();
    let failure = Store::open_at(&folder.place()).unwrap_err();
    assert!(failure.message.contains("comes from a newer tollgate (version 99, known is 10)"), "{}", failure.message);
    let theirs = Place::on_server();
    theirs.carry_out("CREATE TABLE run (x INT)").unwrap();
    let failure = Store::open_at(&super::Location::parse(&theirs.address()).unwrap()).unwrap_err();
    assert!(failure.message.contains("belongs to another program"), "{}", failure.message);
}

/// TLS keys and certificates.
fn pem(kind: &str, der: &[u8]) -> String {
    let text = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

#[test]
fn the_server_certificate_is_verified() {
    if place::ran_on_a_server("store::tests::the_server_certificate_is_verified") {
        return;
    }
    let folder = Folder(Place::on_server());
    let data = std::env::var("TOLLGATE_TEST_POSTGRES_DATA").unwrap();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = pem("CERTIFICATE", certified.cert.der());
    let key = pem("PRIVATE KEY", &certified.signing_key.serialize_der());
    // Written by the server itself, readable only by its owner.
    for (name, text) in [("server.crt", &certificate), ("server.key", &key)] {
        let lines = text.trim().replace('\n', "'), ('");
        let write = format!("COPY (VALUES ('{lines}')) TO PROGRAM 'umask 077; cat > {data}/{name}'");
        folder.0.carry_out(&write).unwrap();
    }
    folder.0.carry_out("ALTER SYSTEM SET ssl = on").unwrap();
    folder.0.carry_out("SELECT pg_reload_conf()").unwrap();
    let (known, unknown) = (folder.0.folder().join("known.pem"), folder.0.folder().join("unknown.pem"));
    std::fs::write(&known, certificate).unwrap();
    std::fs::write(&unknown, pem("CERTIFICATE", other.cert.der())).unwrap();
    let open = |more: String| {
        let address = format!("{}?sslmode=verify-full{more}", folder.0.address());
        Store::open_at(&super::Location::parse(&address).unwrap())
    };
    // The server accepts no TLS until it has reloaded its settings.
    let begun = std::time::Instant::now();
    while let Err(failure) = open(format!("&sslrootcert={}", known.display())) {
        assert!(begun.elapsed().as_secs() < 60, "{}", failure.message);
    }
    for more in [String::new(), format!("&sslrootcert={}", unknown.display())] {
        let failure = open(more).unwrap_err();
        assert!(failure.message.contains("certificate"), "{}", failure.message);
    }
    let failure = open("&sslrootcert=/nonexistent.pem".to_owned()).unwrap_err();
    assert!(failure.message.contains("TLS cannot be set up: `/nonexistent.pem`"), "{}", failure.message);
}

#[test]
fn texts_with_nul_round_trip_on_a_server() {
    let folder = Folder::new();
    let mut store = folder.store();
    let odd = subject("odd \0 \u{10ffff} é \u{fffd}");
    let id = store.record(&RunRecord::failed("a\0b\u{10ffff}1", odd.clone(), (1, 2))).unwrap();
    let run = store.run(id).unwrap().unwrap();
    assert_eq!((run.subject, run.problem.as_deref()), (odd, Some("a\0b\u{10ffff}1")));
}

#[test]
fn the_same_holds_on_a_server() {
    again_on_a_server(&["store::"], &["the_same_holds_on_a_server"]);
}
