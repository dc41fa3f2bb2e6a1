//! The memory on real files.

use std::sync::Barrier;

use rusqlite::OpenFlags;
use tollgate_core::coverage::{Coverage, Covered, Looked};
use tollgate_core::finding::{Category, Finding, FindingId, LineRange, Location, Origin, Side, Summary};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::path::FilePath;
use tollgate_core::review::{Withheld, WithheldFinding};
use tollgate_core::sha::Sha;

use super::*;

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
            hunks: vec![Covered { file, lines: LineRange::new(1, 9), looked: Looked::Reviewed }],
        }),
        re_review_required: false,
        notes: None,
        extra: serde_json::Map::new(),
    }
}

#[track_caller]
fn record(store: &mut Store, branch: &str, head: &str, snapshot: &[u8]) -> i64 {
    let review = review(head);
    let completed =
        Completed { review: &review, gate: Gate::Closed, n_added: 7, snapshot, prior: None, new: Some(&[0]) };
    let subject = subject(branch);
    let outcome = Outcome::Completed(completed);
    store.record(&Ended { subject: &subject, time: (1_000, 2_000), version: "0.1.0", outcome }).unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("deep/tollgate.db")
    }

    fn store(&self) -> Store {
        Store::open(&self.path()).unwrap()
    }

    /// Puts something else where the memory should be; opening must fail in these words and change nothing.
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
    // The gate's word stays in the stored text.
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
    // The very same state again is compared with what was before it, so that a review said twice says the same.
    assert_eq!(before("b", b"two"), Some(first));
    assert_eq!(before("b", b"two and uncommitted work"), Some(second));
    assert_eq!(store.last_before(&subject("none"), "d", b"").unwrap(), None);
}

#[test]
fn a_failed_run_is_stored_and_never_compared_with() {
    let folder = Folder::new();
    let mut store = folder.store();
    let subject = subject("work");
    let outcome = Outcome::Failed("git is gone");
    let id = store.record(&Ended { subject: &subject, time: (1, 2), version: "0.1.0", outcome }).unwrap();
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
        let error = store.connection.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("does not change"), "{error}");
    }
}

#[test]
fn a_dismissal_holds_until_it_is_withdrawn() {
    let folder = Folder::new();
    let mut store = folder.store();
    let finding = finding(0, "one", Severity::High);
    store.dismiss("r", &finding, "first", 1).unwrap();
    store.dismiss("r", &finding, "second", 2).unwrap();
    let reasons: Vec<String> = store.dismissals("r").unwrap().into_iter().map(|dismissal| dismissal.reason).collect();
    assert_eq!(reasons, ["second"]);
    assert_eq!(store.dismissals("another").unwrap(), []);
    assert!(store.withdraw("r", Fingerprint::of(&finding), 3).unwrap());
    assert!(!store.withdraw("r", Fingerprint::of(&finding), 4).unwrap());
    assert_eq!(store.dismissals("r").unwrap(), []);
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
    Folder::new().check_refused(
        |path| {
            drop(Store::open(path).unwrap());
            Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        },
        "comes from a newer tollgate (version 99, known is 6)",
    );
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    Folder::new().check_refused(
        |path| Connection::open(path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap(),
        "is not a memory of tollgate",
    );
    Folder::new().check_refused(|path| std::fs::write(path, "x".repeat(5_000)).unwrap(), "is not a memory of tollgate");
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
    let folder = Folder::new();
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
fn what_can_only_be_read_is_read() {
    let folder = Folder::new();
    record(&mut folder.store(), "work", "a", b"one");
    let connection = open::open_with(&folder.path(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut store = Store { connection, path: folder.path() };
    assert!(store.last_before(&subject("work"), "d", b"").unwrap().is_some());
    let failure = store.dismiss("r", &finding(0, "one", Severity::High), "x", 1).unwrap_err();
    assert!(failure.message.contains("it can only be read"), "{}", failure.message);
}

#[test]
fn a_file_that_another_process_holds_is_said_to_be_in_use() {
    let folder = Folder::new();
    let mut store = folder.store();
    let other = Connection::open(folder.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let failure = store.remember_scanned(&[(Vec::new(), Vec::new())]).unwrap_err();
    assert!(failure.message.contains("in use by another process"), "{}", failure.message);
}

#[test]
fn several_processes_can_make_it_at_once() {
    for _ in 0..25 {
        let folder = Folder::new();
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    record(&mut folder.store(), "work", "a", b"one");
                });
            }
        });
        assert_eq!(folder.store().runs(&Filter { limit: 10, ..Filter::default() }).unwrap().len(), 4);
    }
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    drop(folder.store());
    assert_eq!(std::fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o600);
}
