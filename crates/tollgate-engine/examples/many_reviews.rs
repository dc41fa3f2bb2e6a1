//! Fills a memory with made-up reviews, and says how long lists and trends of them take.
//!
//! ```sh
//! cargo run --release -p tollgate-engine --example many_reviews -- many.db 10000 20
//! ```
//!
//! The address of a PostgreSQL database may stand for the file. What is there already is only looked at.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "this is a program to measure with")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tollgate_core::finding::{self, Category, Finding, FindingId, LineRange, Origin, Severity, Side, Summary};
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::review::Review;
use tollgate_core::sha::Sha;
use tollgate_engine::store::{CompletedRun, Database, Location, Order, Range, RunQuery, RunRecord, Store, Subject};

const DAY: u64 = 86_400_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, n_runs, n_findings] = &arguments[..] else {
        println!("usage: many_reviews DATABASE RUNS FINDINGS");
        return;
    };
    let place = Location::parse(path).unwrap();
    let (n_runs, n_findings) = (n_runs.parse().unwrap(), n_findings.parse().unwrap());
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let database = Database::open_at(&place).unwrap();
    let query = RunQuery { limit: 50, ..RunQuery::default() };
    if database.runs(&query).unwrap().1 == 0 {
        fill(database.store().unwrap(), now, n_runs, n_findings);
    }
    let text = |text: &str| Some(text.to_owned());
    for (name, query) in [
        ("newest", query.clone()),
        ("most findings", RunQuery { order: Order::Findings, ..query.clone() }),
        ("a repository", RunQuery { repository: text("github.com/example/repo-1"), ..query.clone() }),
        ("two words", RunQuery { text: text("seldom 7"), ..query.clone() }),
        ("a word that is nowhere", RunQuery { text: text("nowhere"), ..query.clone() }),
        ("a rule", RunQuery { rule: text("rule-7"), ..query.clone() }),
        ("a category", RunQuery { category: Some(Category::Perf), ..query.clone() }),
        ("a file", RunQuery { file: text("module-13"), ..query.clone() }),
    ] {
        let total = timed(name, || database.runs(&query).unwrap().1);
        println!("  {total} runs");
    }
    timed("names to choose from", || database.run_names().unwrap());
    for days in [30, 365] {
        let range = Range { from_ms: now - days * DAY, to_ms: now + DAY, part_ms: DAY, repository: None };
        let trends = timed(&format!("trends of {days} days"), || database.trends(&range).unwrap());
        println!("  {} runs, {} findings", trends.whole.n_runs, trends.whole.n_findings());
    }
}

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    println!("{name}: {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    done
}

fn fill(mut store: Store, now: u64, n_runs: u64, n_findings: u64) {
    let mut last = None;
    for n in 0..n_runs {
        let subject = Subject {
            repository: format!("github.com/example/repo-{}", n % 7),
            name: format!("branch work-{}", n % 97),
            scope: "branch".to_owned(),
        };
        let review = review(n, n_findings);
        let blocks = review.findings.iter().any(|finding| finding.severity.blocks());
        let gate = if blocks { Gate::Closed } else { Gate::Open };
        let new: Vec<usize> = (0..review.findings.len()).filter(|index| index % 3 == 0).collect();
        let new = last.map(|_| new);
        let run = CompletedRun { review, gate, n_added: 10, snapshot: Vec::new(), prior: last, new };
        let (at, took) = (now - (n_runs - n) * (300 * DAY / n_runs), 800 + (n * 7_919) % 60_000);
        last = Some(store.record(&RunRecord::completed(run, subject, (at - took, at))).unwrap());
    }
}

fn review(n: u64, n_findings: u64) -> Review {
    let n_findings = if n.is_multiple_of(5) { 0 } else { (n * 31 + 7) % (5 * n_findings / 2 + 1) };
    let mut extra = serde_json::Map::new();
    if n.is_multiple_of(3) {
        let tokens = serde_json::json!({ "input": 9_000 + n % 4_000, "cached": 0, "output": 700 });
        let cost = 0.02 + (n % 11) as f64 / 100.0;
        let asked = serde_json::json!([{ "name": "claude", "model": "large", "tokens": tokens, "cost_usd": cost }]);
        extra.insert("x_reviewers".to_owned(), asked);
    }
    Review {
        title: Some(format!("Change number {n} of many, which seldom is the last")),
        reviewed: Sha::parse(&format!("{n:040x}")).unwrap(),
        base: Sha::null(),
        compared: Some("work against main".to_owned()),
        files_reviewed: vec![],
        findings: (0..n_findings).map(|index| finding(n, index)).collect(),
        withheld: vec![],
        coverage: None,
        doubts: Vec::new(),
        re_review_required: false,
        notes: None,
        extra,
    }
}

fn finding(n: u64, index: u64) -> Finding {
    let kind = n * 13 + index * 7;
    let pick = |most: u64| usize::try_from(kind % most).unwrap();
    let severities = [Severity::Low, Severity::Medium, Severity::Nit, Severity::High, Severity::Medium, Severity::Low];
    let file = format!("src/module-{}/file-{index}.rs", kind % 40);
    let rule = Some(format!("rule-{}", kind % 60));
    Finding {
        id: FindingId::at(usize::try_from(index).unwrap()),
        severity: severities[pick(6)],
        category: Category::ALL[pick(10)],
        location: finding::Location {
            file: FilePath::parse(&file).unwrap(),
            lines: LineRange::line(1 + u32::try_from(index).unwrap()),
            side: Side::Right,
        },
        summary: Summary::parse(&format!("Something about {} is not as it should be", kind % 1_000)).unwrap(),
        reason: Some("The reason is given in a sentence or two, as long as they usually are.".to_owned()),
        evidence: "let value = table.get(key).unwrap();".to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin { reviewer: Some("rules".to_owned()), rule, rule_url: None },
        extra: serde_json::Map::new(),
    }
}
