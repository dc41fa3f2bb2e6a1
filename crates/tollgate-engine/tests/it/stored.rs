//! Stored reviews listed, searched and added up, on real files.

use insta::assert_snapshot;
use tollgate_core::finding::{
    Category, Finding, FindingId, LineRange, Location, Origin as FindingOrigin, Severity, Side, Summary,
};
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_engine::store::{
    self, CompletedRun, Database, Listed, Order, Origin, ResultFilter, RunQuery, RunRecord, Store, Subject,
};

use crate::place::Place;

mod add_up;
mod older;
mod trend;

/// A memory in a folder of its own.
pub(crate) struct Memory {
    place: Place,
}

/// A run to be stored, with defaults.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    repository: &'static str,
    name: String,
    scope: &'static str,
    title: Option<String>,
    /// When it ended, and how long it took.
    ended_ms: u64,
    took_ms: u64,
    findings: Vec<Finding>,
    withheld: Vec<Finding>,
    prior: Option<i64>,
    /// Which findings are new since then.
    new: Vec<usize>,
    /// Tokens and dollars of a model, if one was asked.
    asked: Option<(u64, f64)>,
}

pub(crate) fn run() -> Given {
    Given {
        repository: "example.com/o/shop",
        name: "branch work".to_owned(),
        scope: "branch",
        title: None,
        ended_ms: 10_000,
        took_ms: 1_000,
        findings: vec![],
        withheld: vec![],
        prior: None,
        new: vec![],
        asked: None,
    }
}

pub(crate) fn finding(summary: &str, severity: Severity, category: Category, rule: &str) -> Finding {
    Finding {
        id: FindingId::at(0),
        severity,
        category,
        location: Location {
            file: FilePath::parse("src/pay.rs").unwrap(),
            lines: LineRange::line(3),
            side: Side::Right,
        },
        summary: Summary::parse(summary).unwrap(),
        reason: Some("because".to_owned()),
        evidence: "let x = 1;".to_owned(),
        suggestion: None,
        fix: None,
        origin: FindingOrigin { reviewer: Some("rules".to_owned()), rule: Some(rule.to_owned()), rule_url: None },
        extra: serde_json::Map::new(),
    }
}

/// A finding of high severity that a rule made.
fn high(summary: &str) -> Finding {
    finding(summary, Severity::High, Category::Logic, "some-rule")
}

impl Given {
    fn review(&self) -> Review {
        let number = |(index, finding): (usize, &Finding)| Finding { id: FindingId::at(index), ..finding.clone() };
        let findings: Vec<Finding> = self.findings.iter().enumerate().map(number).collect();
        let suppressed = |(index, finding)| WithheldFinding {
            finding: number((self.findings.len() + index, finding)),
            why: Withheld::Suppressed {
                by: "your own dismissal".to_owned(),
                reason: None,
                kind: Suppressor::of_words("your own dismissal"),
            },
        };
        let mut extra = serde_json::Map::new();
        if let Some((tokens, cost)) = self.asked {
            let half = tokens / 2;
            let tokens = serde_json::json!({ "input": tokens - half, "cached": 0, "output": half });
            let asked = serde_json::json!([{ "name": "claude", "model": "m", "tokens": tokens, "cost_usd": cost }]);
            extra.insert("x_reviewers".to_owned(), asked);
        }
        Review {
            title: self.title.clone(),
            reviewed: Sha::parse(&"a".repeat(40)).unwrap(),
            base: Sha::null(),
            compared: Some("work against main".to_owned()),
            files_reviewed: vec![],
            findings,
            withheld: self.withheld.iter().enumerate().map(suppressed).collect(),
            coverage: None,
            doubts: Vec::new(),
            re_review_required: false,
            notes: None,
            extra,
        }
    }

    fn subject(&self) -> Subject {
        Subject { repository: self.repository.to_owned(), name: self.name.clone(), scope: self.scope.to_owned() }
    }

    fn stored(&self, store: &mut Store) -> i64 {
        let (review, subject) = (self.review(), self.subject());
        let gate =
            if review.findings.iter().any(|finding| finding.severity.blocks()) { Gate::Closed } else { Gate::Open };
        let new = self.prior.map(|_| self.new.clone());
        let run = CompletedRun { review, gate, n_added: 1, snapshot: Vec::new(), prior: self.prior, new };
        let time = (self.ended_ms - self.took_ms, self.ended_ms);
        store.record(&RunRecord::completed(run, subject, time)).unwrap()
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { place: Place::new() }
    }

    /// For tests of files alone.
    fn file() -> Self {
        Self { place: Place::file() }
    }

    fn at(&self) -> store::Location {
        store::Location::parse(&self.place.address()).unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        Store::open_at(&self.at()).unwrap()
    }

    pub(crate) fn database(&self) -> Database {
        Database::open_at(&self.at()).unwrap()
    }

    pub(crate) fn add(&self, given: &Given) -> i64 {
        given.stored(&mut self.store())
    }

    fn fail(&self, problem: &str) -> i64 {
        self.store().record(&RunRecord::failed(problem, run().subject(), (1, 2))).unwrap()
    }

    /// The numbers of the runs that fit, in order, and how many there are in all.
    #[track_caller]
    fn check(&self, query: &RunQuery, expected: &[i64]) {
        let (runs, total) = self.database().runs(&RunQuery { limit: 100, ..query.clone() }).unwrap();
        let ids: Vec<i64> = runs.iter().map(|run| run.id).collect();
        assert_eq!((ids.as_slice(), total), (expected, expected.len() as u64), "{query:?}");
    }
}

fn in_words(listed: &Listed) -> String {
    let result = listed.verdict.map_or("failed", |verdict| verdict.as_str());
    let counts: Vec<String> = listed.counts.by_severity.iter().map(|(severity, n)| format!("{n} {severity}")).collect();
    format!(
        "{} {} {result} gate {} [{}] withheld {} new {:?} resolved {:?} took {} cost {:?} tokens {:?} by {}",
        listed.id,
        listed.origin.as_str(),
        listed.gate.map_or("-", Gate::as_str),
        counts.join(", "),
        listed.counts.withheld,
        listed.n_new,
        listed.n_resolved,
        listed.took_ms,
        listed.cost_usd,
        listed.n_tokens,
        listed.reviewers.join("+"),
    )
}

#[test]
fn a_list_says_what_each_run_found_and_took() {
    let memory = Memory::new();
    let first = memory.add(&Given { findings: vec![high("one"), high("two")], ..run() });
    let praise = finding("well done", Severity::Praise, Category::Style, "kind");
    memory.add(&Given {
        findings: vec![high("two"), high("three"), praise],
        withheld: vec![high("four")],
        prior: Some(first),
        new: vec![1, 2],
        asked: Some((1_201, 0.25)),
        ..run()
    });
    memory.fail("the model did not answer");
    let (runs, total) = memory.database().runs(&RunQuery { limit: 10, ..RunQuery::default() }).unwrap();
    assert_eq!(total, 3);
    let lines: Vec<String> = runs.iter().map(in_words).collect();
    assert_snapshot!(lines.join("\n"), @r"
    3 command-line failed gate - [] withheld 0 new None resolved None took 1 cost None tokens None by 
    2 command-line CHANGES_REQUESTED gate closed [2 High, 1 Praise] withheld 1 new Some(1) resolved Some(1) took 1000 cost Some(0.25) tokens Some(1201) by claude+rules
    1 command-line CHANGES_REQUESTED gate closed [2 High] withheld 0 new None resolved None took 1000 cost None tokens None by rules
    ");
    assert_eq!(runs[0].problem.as_deref(), Some("the model did not answer"));
    assert_eq!(memory.database().newest_run().unwrap(), 3);
}

#[test]
fn a_list_is_narrowed_by_anything_that_is_known_of_a_run() {
    let memory = Memory::new();
    let mut elsewhere = high("Session is never closed");
    elsewhere.location.file = FilePath::parse("web/session.js").unwrap();
    let clean = memory.add(&Given { title: Some("Ärger mit der Kasse".to_owned()), ended_ms: 5_000, ..run() });
    let pipeline =
        memory.add(&Given { scope: "pipeline", name: "feature login".to_owned(), findings: vec![elsewhere], ..run() });
    let perf = finding("Query in a loop", Severity::Medium, Category::Perf, "query-in-loop");
    let pr = memory.add(&Given {
        repository: "example.com/o/other",
        name: "pr 12".to_owned(),
        findings: vec![perf],
        asked: Some((10, 0.1)),
        ..run()
    });
    let failed = memory.fail("git is gone");
    let all = RunQuery::default();
    memory.check(&all, &[failed, pr, pipeline, clean]);
    memory.check(&RunQuery { repository: Some("example.com/o/other".to_owned()), ..all.clone() }, &[pr]);
    for (text, expected) in [
        ("kasse ÄRGER", &[clean][..]),
        ("login", &[pipeline]),
        ("query LOOP", &[pr]),
        ("query login", &[]),
        ("gone", &[failed]),
        ("aaaaaaa", &[pr, pipeline, clean]),
        ("%", &[]),
        ("%%%", &[]),
        ("uer", &[pr]),
        ("p lo", &[pr, pipeline]),
        ("oo", &[pr]),
        ("\"\"\" OR *", &[]),
        ("\0", &[failed, pr, pipeline, clean]),
        ("aer", &[]),
        ("ärge", &[clean]),
        ("'; DROP TABLE run; --", &[]),
    ] {
        memory.check(&RunQuery { text: Some(text.to_owned()), ..all.clone() }, expected);
    }
    let results =
        ["approved", "COMMENTED", "changes_requested", "failed"].map(|word| ResultFilter::parse(word).unwrap());
    for (result, expected) in results.into_iter().zip([[clean], [pr], [pipeline], [failed]]) {
        memory.check(&RunQuery { result: Some(result), ..all.clone() }, &expected);
    }
    memory.check(&RunQuery { gate: Some(Gate::Closed), ..all.clone() }, &[pipeline]);
    for (origin, expected) in Origin::ALL.into_iter().zip([&[failed, clean][..], &[pipeline], &[pr]]) {
        memory.check(&RunQuery { origin: Some(origin), ..all.clone() }, expected);
    }
    memory.check(&RunQuery { reviewer: Some("claude".to_owned()), ..all.clone() }, &[pr]);
    memory.check(&RunQuery { reviewer: Some("rules".to_owned()), ..all.clone() }, &[pr, pipeline]);
    memory.check(&RunQuery { rule: Some("query-in-loop".to_owned()), ..all.clone() }, &[pr]);
    memory.check(&RunQuery { category: Some(Category::Logic), ..all.clone() }, &[pipeline]);
    memory.check(&RunQuery { severity: Some(Severity::Medium), ..all.clone() }, &[pr]);
    memory.check(&RunQuery { file: Some("session".to_owned()), ..all.clone() }, &[pipeline]);
    memory.check(&RunQuery { from_ms: Some(10_000), ..all.clone() }, &[pr, pipeline]);
    memory.check(&RunQuery { to_ms: Some(10_000), ..all.clone() }, &[failed, clean]);
    memory.check(&RunQuery { newer_than: Some(pipeline), ..all }, &[failed, pr]);
}

#[test]
fn filters_by_finding_match_one_finding_that_counts() {
    let memory = Memory::new();
    let both = [high("one"), finding("two", Severity::Low, Category::Perf, "slow")];
    let id = memory.add(&Given { findings: both.to_vec(), withheld: vec![high("three")], ..run() });
    let about =
        |severity, category| RunQuery { severity: Some(severity), category: Some(category), ..RunQuery::default() };
    memory.check(&about(Severity::High, Category::Logic), &[id]);
    memory.check(&about(Severity::Low, Category::Perf), &[id]);
    memory.check(&about(Severity::High, Category::Perf), &[]);
    memory.add(&Given { withheld: vec![finding("x", Severity::Nit, Category::Doc, "doc")], ..run() });
    memory.check(&RunQuery { rule: Some("doc".to_owned()), ..RunQuery::default() }, &[]);
}

#[test]
fn parts_of_a_list_hold_every_run_once_in_any_order() {
    let memory = Memory::new();
    for n in 0..23u64 {
        // Many are equal, so that the order has to be settled by something else.
        let findings = (0..n % 3).map(|index| high(&format!("finding {index}"))).collect();
        let asked = n.is_multiple_of(2).then_some((10, 0.5 * (n % 4) as f64));
        memory.add(&Given { findings, took_ms: n % 4, asked, ..run() });
    }
    let database = memory.database();
    for order in Order::ALL {
        let mut seen: Vec<Listed> = Vec::new();
        loop {
            let query = RunQuery { order, limit: 5, after: seen.last().map(|run| run.id), ..RunQuery::default() };
            let (runs, total) = database.runs(&query).unwrap();
            assert_eq!(total, 23, "the total is that of the whole list");
            if runs.is_empty() {
                break;
            }
            seen.extend(runs);
        }
        let (whole, _) = database.runs(&RunQuery { order, limit: 100, ..RunQuery::default() }).unwrap();
        assert_eq!(seen, whole, "{order:?}");
        let n_findings = |run: &Listed| run.counts.by_severity.iter().map(|(_, n)| n).sum::<usize>();
        let key = |run: &Listed| match order {
            Order::Newest => run.id as f64,
            Order::Findings => n_findings(run) as f64,
            Order::Longest => run.took_ms as f64,
            Order::Dearest => run.cost_usd.unwrap_or(-1.0),
        };
        assert!(whole.is_sorted_by(|a, b| (key(a), a.id) > (key(b), b.id)), "{order:?}");
        assert_eq!(whole.len(), 23);
    }
}

#[test]
fn names_to_choose_from_come_with_how_often_they_occur() {
    let memory = Memory::new();
    memory.add(&Given { findings: vec![high("one"), high("two")], ..run() });
    memory.add(&Given { findings: vec![high("one")], asked: Some((1, 0.1)), ..run() });
    memory.add(&Given { repository: "/srv/other", ..run() });
    let names = memory.database().run_names().unwrap();
    let count = |name: &str, n| (name.to_owned(), n);
    assert_eq!(names.repositories, [count("example.com/o/shop", 2), count("/srv/other", 1)]);
    assert_eq!(names.reviewers, [count("rules", 2), count("claude", 1)]);
    assert_eq!(names.rules, [count("some-rule", 2)]);
}

#[test]
fn a_run_that_is_stored_by_another_process_is_announced() {
    let memory = Memory::new();
    let database = memory.database();
    let id = memory.add(&run());
    let events = database.events_after(0, 10, None).unwrap();
    assert_eq!((events.len(), id), (1, 1));
    assert_eq!((events[0].event.kind.as_str(), events[0].event.project), ("review:stored", None));
    assert_snapshot!(events[0].event.payload, @r#"{"run":1,"repository":"example.com/o/shop","subject":"branch work"}"#);
}
