//! Stored reviews over the real board: the API and the pages.

use insta::assert_snapshot;
use serde_json::Value;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Category, Finding, FindingId, LineRange, Location, Origin, Severity, Side, Summary};
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_engine::store::{CompletedRun, RunRecord, Subject};

use crate::board::Real;
use crate::world::story;

mod pages;

/// 9 January 2026, 14:22 UTC.
pub(crate) const NOW: u64 = 1_767_968_520_000;

/// A review to be stored, with plain defaults.
pub(crate) struct Given {
    pub(crate) branch: String,
    pub(crate) title: String,
    pub(crate) ended_ms: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) withheld: Vec<Finding>,
    pub(crate) prior: Option<i64>,
}

pub(crate) fn given() -> Given {
    let (branch, title) = ("work".to_owned(), "Pay by invoice".to_owned());
    Given { branch, title, ended_ms: NOW, findings: vec![], withheld: vec![], prior: None }
}

pub(crate) fn finding(summary: &str, severity: Severity) -> Finding {
    Finding {
        id: FindingId::at(0),
        severity,
        category: Category::Logic,
        location: Location {
            file: FilePath::parse("src/pay.rs").unwrap(),
            // Each has its own line, so that none is taken for another.
            lines: LineRange::line(u32::try_from(summary.len()).unwrap()),
            side: Side::Right,
        },
        summary: Summary::parse(summary).unwrap(),
        reason: Some("Nobody looks at the error.".to_owned()),
        evidence: format!("let _ = pay(); // {summary}"),
        suggestion: Some("Return it.".to_owned()),
        fix: None,
        origin: Origin { reviewer: Some("rules".to_owned()), rule: Some("ignored-error".to_owned()), rule_url: None },
        extra: serde_json::Map::new(),
    }
}

impl Given {
    fn review(&self) -> Review {
        let numbered = |(index, finding): (usize, &Finding)| Finding { id: FindingId::at(index), ..finding.clone() };
        let held = |pair| WithheldFinding {
            finding: numbered(pair),
            why: Withheld::Suppressed {
                by: "your own dismissal".to_owned(),
                reason: Some("it is ours".to_owned()),
                kind: Suppressor::of_words("your own dismissal"),
            },
        };
        let n_findings = self.findings.len();
        let covered = |file: &str, status| CoveredHunk {
            file: FilePath::parse(file).unwrap(),
            lines: Some(LineRange::line(1)),
            status,
        };
        let asked = serde_json::json!([{
            "name": "claude", "model": "large", "calls": 2, "failed": 0, "cost_usd": 0.25, "seconds": 3.5,
            "tokens": { "input": 1_000, "cached": 0, "output": 200 }, "problem": null,
        }]);
        Review {
            title: Some(self.title.clone()),
            reviewed: Sha::parse(&"a".repeat(40)).unwrap(),
            base: Sha::parse(&"b".repeat(40)).unwrap(),
            compared: Some("work against main".to_owned()),
            files_reviewed: vec![FilePath::parse("src/pay.rs").unwrap()],
            findings: self.findings.iter().enumerate().map(numbered).collect(),
            withheld: self
                .withheld
                .iter()
                .enumerate()
                .map(|(index, held)| (n_findings + index, held))
                .map(held)
                .collect(),
            coverage: Some(Coverage {
                hunks: vec![
                    covered("src/pay.rs", HunkStatus::Reviewed),
                    covered("Cargo.lock", HunkStatus::Skipped("generated".to_owned())),
                ],
            }),
            doubts: Vec::new(),
            re_review_required: false,
            notes: None,
            extra: [("x_reviewers".to_owned(), asked)].into_iter().collect(),
        }
    }
}

impl Real {
    /// Stores a review as the command line does, and gives back its number.
    pub(crate) fn stored(&self, given: &Given) -> i64 {
        let review = given.review();
        let subject = subject(&given.branch);
        let gate =
            if review.findings.iter().any(|finding| finding.severity.blocks()) { Gate::Closed } else { Gate::Open };
        let new = given.prior.map(|_| Vec::new());
        let run = CompletedRun { review, gate, n_added: 12, snapshot: Vec::new(), prior: given.prior, new };
        let time = (given.ended_ms - 4_000, given.ended_ms);
        let record = RunRecord { version: "0.1.0".to_owned(), ..RunRecord::completed(run, subject, time) };
        self.store().record(&record).unwrap()
    }

    /// Stores a review that failed.
    pub(crate) fn failed(&self, problem: &str) -> i64 {
        let failed = RunRecord::failed(problem, subject("work"), (NOW, NOW));
        self.store().record(&RunRecord { version: "0.1.0".to_owned(), ..failed }).unwrap()
    }
}

fn subject(branch: &str) -> Subject {
    Subject {
        repository: "example.com/o/shop".to_owned(),
        name: format!("branch {branch}"),
        scope: "branch".to_owned(),
    }
}

/// The answer in one line: the status and the body.
async fn check(real: &Real, path: &str) -> String {
    let said = real.world.get(path).await;
    match said.status {
        200 => format!("200 {}", said.body),
        status => format!("{status} {}", said.json()["detail"].as_str().unwrap_or_default()),
    }
}

/// The numbers of the reviews in a list, in order.
async fn numbers(real: &Real, query: &str) -> Vec<i64> {
    let said = real.world.get(&format!("/api/reviews{query}")).await;
    assert_eq!(said.status, 200, "{said:?}");
    said.json()["reviews"].as_array().unwrap().iter().map(|review| review["run"].as_i64().unwrap()).collect()
}

#[test]
fn a_review_of_the_command_line_is_listed_with_its_figures() {
    story(|| async {
        let real = Real::start();
        assert_snapshot!(check(&real, "/api/reviews").await, @r#"200 {"reviews":[],"total":0}"#);
        real.stored(&Given { findings: vec![finding("Error is ignored", Severity::High)], ..given() });
        assert_snapshot!(check(&real, "/api/reviews").await, @r#"200 {"reviews":[{"run":1,"repository":"example.com/o/shop","subject":"branch work","scope":"branch","origin":"command-line","title":"Pay by invoice","head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","verdict":"CHANGES_REQUESTED","state":{"colour":"yellow","label":"Needs changes","explanation":"1 major finding must be fixed before merging"},"gate":"closed","endedAt":"2026-01-09T14:22:00.000Z","durationMs":4000,"findings":{"critical":0,"high":1,"medium":0,"low":0,"nit":0,"praise":0,"withheld":0},"coverage":{"reviewed":1,"skipped":1,"notReviewed":0},"costUsd":0.25,"tokens":1200,"reviewers":["claude","rules"]}],"total":1}"#);
    });
}

#[test]
fn a_list_is_filtered_and_comes_in_parts() {
    story(|| async {
        let real = Real::start();
        for index in 0..5u64 {
            let findings = (0..index % 2).map(|_| finding("Error is ignored", Severity::High)).collect();
            let ended_ms = NOW + index * 86_400_000;
            real.stored(&Given { title: format!("Change {index}"), ended_ms, findings, ..given() });
        }
        real.failed("the model did not answer");
        assert_eq!(numbers(&real, "?limit=2").await, [6, 5]);
        assert_eq!(real.world.get("/api/reviews?limit=2").await.json()["next"], "5");
        assert_eq!(numbers(&real, "?limit=2&after=5").await, [4, 3]);
        assert_eq!(real.world.get("/api/reviews?limit=2&after=3").await.json()["next"], Value::Null);
        assert_eq!(numbers(&real, "?verdict=failed").await, [6]);
        assert_eq!(numbers(&real, "?q=change%203").await, [4]);
        assert_eq!(numbers(&real, "?from=2026-01-10&to=2026-01-11").await, [3, 2]);
        assert_eq!(numbers(&real, "?severity=High&rule=ignored-error&file=pay").await, [4, 2]);
        assert_eq!(numbers(&real, "?newer=4").await, [6, 5]);
        assert_eq!(numbers(&real, "?order=findings&limit=3").await, [4, 2, 6]);
    });
}

#[test]
fn invalid_filters_are_refused() {
    story(|| async {
        let real = Real::start();
        assert_snapshot!(check(&real, "/api/reviews?verdict=fine").await, @"422 `verdict` cannot be `fine`");
        assert_snapshot!(check(&real, "/api/reviews?from=2026-02-30").await, @"422 `from` cannot be `2026-02-30`");
        assert_snapshot!(check(&real, "/api/reviews?limit=0").await, @"422 `limit` is not from 1 to 500");
        assert_snapshot!(check(&real, &format!("/api/reviews?q={}", "x".repeat(301))).await, @"422 `q` has more than 300 characters");
        assert_snapshot!(check(&real, "/api/reviews?after=99999999999999999999").await, @"422 what follows `?` does not fit: after: number too large to fit in target type");
        assert_snapshot!(check(&real, "/api/reviews/7").await, @"404 there is no review 7");
        assert_snapshot!(check(&real, "/api/reviews/x").await, @"404 there is no such review");
        assert_snapshot!(check(&real, "/api/trends?to=tomorrow").await, @"422 `to` cannot be `tomorrow`");
    });
}

#[test]
fn a_review_says_what_became_of_the_one_before_it() {
    story(|| async {
        let real = Real::start();
        let (old, kept) = (finding("Error is ignored", Severity::High), finding("Name is misleading", Severity::Low));
        let first = real.stored(&Given { findings: vec![old, kept.clone()], ..given() });
        let fresh = finding("Total is rounded twice", Severity::Medium);
        let second = real.stored(&Given { findings: vec![kept, fresh], prior: Some(first), ..given() });
        let review = real.world.get(&format!("/api/reviews/{second}")).await.json();
        let since = &review["since"];
        assert_eq!(
            (&since["run"], &since["new"], &since["stillOpen"]),
            (&first.into(), &["F002"][..].into(), &["F001"][..].into())
        );
        assert_eq!(since["resolved"][0]["summary"], "Error is ignored");
        assert_eq!(review["review"]["findings"][1]["summary"], "Total is rounded twice");
        assert_eq!((&review["compared"], &review["linesAdded"]), (&"work against main".into(), &12.into()));
        assert_eq!(real.world.get(&format!("/api/reviews/{first}")).await.json()["last"], second);
    });
}

#[test]
fn a_review_is_exported_in_every_form() {
    story(|| async {
        let real = Real::start();
        let run = real.stored(&Given { findings: vec![finding("Error is ignored", Severity::High)], ..given() });
        for (form, kind, ending, part) in [
            ("json", "application/json", "json", "\"verdict\": \"CHANGES_REQUESTED\""),
            ("markdown", "text/markdown; charset=utf-8", "md", "### F001: [High/Logic] Error is ignored"),
            ("sarif", "application/sarif+json", "sarif", "\"ruleId\": \"ignored-error\""),
            ("html", "text/html; charset=utf-8", "html", "<h1>Pay by invoice</h1>"),
        ] {
            let said = real.world.get(&format!("/api/reviews/{run}/export?format={form}")).await;
            assert_eq!((said.status, said.header("content-type")), (200, Some(kind)));
            let name = format!("attachment; filename=\"tollgate-review-1.{ending}\"");
            assert_eq!(said.header("content-disposition"), Some(name.as_str()));
            assert!(said.body.contains(part), "{form}: {}", said.body);
        }
        let failed = real.failed("the model did not answer");
        assert_snapshot!(check(&real, &format!("/api/reviews/{failed}/export")).await, @"404 review 2 failed, so there is nothing to export: the model did not answer");
        assert_eq!(real.world.get(&format!("/api/reviews/{run}/export?format=pdf")).await.status, 422);
    });
}

#[test]
fn trends_are_told_part_by_part() {
    story(|| async {
        let real = Real::start();
        real.stored(&Given { findings: vec![finding("Error is ignored", Severity::High)], ..given() });
        real.stored(&Given { ended_ms: NOW + 86_400_000, ..given() });
        let trends = real.world.get("/api/trends?from=2026-01-09&to=2026-01-11").await.json();
        let parts: Vec<String> = trends["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| {
                format!("{} {} {}", part["from"].as_str().unwrap(), part["reviews"], part["severities"]["High"])
            })
            .collect();
        assert_eq!(parts, ["2026-01-09 1 1", "2026-01-10 1 0", "2026-01-11 0 0"]);
        assert_eq!(trends["whole"]["verdicts"]["APPROVED"], 1);
        assert_eq!(trends["whole"]["durationMs"]["median"], 4_000.0);
        assert_eq!((&trends["before"]["reviews"], &trends["daysPerPart"]), (&0.into(), &1.into()));
        assert_eq!(
            trends["rules"][0],
            serde_json::json!({ "rule": "ignored-error", "findings": 1, "distinct": 1, "dismissed": 0 })
        );
        let elsewhere = real.world.get("/api/trends?from=2026-01-09&to=2026-01-11&repository=other").await.json();
        assert_eq!(elsewhere["whole"]["reviews"], 0);
    });
}
