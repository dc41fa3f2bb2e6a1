//! What is behind reviews, over the API.

use insta::assert_snapshot;
use tollgate_core::board::iteration::Identity;
use tollgate_core::board::machine::State;
use tollgate_core::board::{Compliance, Iteration, Outcome, Remark};
use tollgate_core::coverage::{CoveredHunk, HunkStatus};
use tollgate_core::finding::{Category, LineRange, Severity};
use tollgate_core::path::FilePath;
use tollgate_engine::board::{Audit, ReviewAttempt};
use tollgate_engine::reviewer::tape::{Place, Told, ToldReply};
use tollgate_server::desk::record::{Asked, Looked};

use crate::world::{World, story};

/// A finding of a review, `F001` for 1.
pub(crate) fn remark(number: u32, severity: Severity, title: &str) -> Remark {
    let identity = Identity { id: format!("F{number:03}"), fingerprint: format!("fp-{number:016x}") };
    Remark {
        category: Category::Security,
        severity,
        title: title.to_owned(),
        description: "What a user types is run.".to_owned(),
        suggestion: Some("Parse it.".to_owned()),
        file: Some("src/a.js".to_owned()),
        line: Some(number),
        evidence: Some(format!("eval({number})")),
        identity: Some(identity),
    }
}

/// A review that rejects for these findings, or approves for none.
pub(crate) fn review(number: u32, findings: Vec<Remark>) -> Iteration {
    let outcome = if findings.is_empty() { Outcome::Approved } else { Outcome::Rejected };
    Iteration {
        number,
        outcome,
        reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
        model: "opus".to_owned(),
        provider: "anthropic".to_owned(),
        commit: Some(format!("{number}").repeat(40)),
        base: Some("0".repeat(40)),
        findings,
        late: vec![],
        summary: "Looked at all of it.".to_owned(),
        reason: (outcome == Outcome::Rejected).then(|| "Fix what is wrong.".to_owned()),
        compliance: Compliance::default(),
        notes: vec![],
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    }
}

/// A review of one file that looked at a hunk, skipped one and missed one.
pub(crate) fn looked() -> Looked {
    let covered = |lines: Option<(u32, u32)>, status| CoveredHunk {
        file: FilePath::parse("src/a.js").unwrap(),
        lines: lines.and_then(|(start, end)| LineRange::new(start, end)),
        status,
    };
    Looked {
        run: 7,
        took_ms: 4_200,
        compared: "main..feature".to_owned(),
        hunks: Some(vec![
            covered(Some((1, 9)), HunkStatus::Reviewed),
            covered(Some((20, 29)), HunkStatus::Skipped("generated".to_owned())),
            covered(None, HunkStatus::NotReviewed("the budget was used up".to_owned())),
        ]),
        withheld: vec![(remark(9, Severity::Low, "Long line"), "milder than the floor".to_owned())],
        reviewers: vec![Asked {
            name: "claude".to_owned(),
            model: Some("opus".to_owned()),
            calls: 2,
            failed: 0,
            tokens: 1_200,
            cost_usd: Some(0.25),
            problem: None,
        }],
    }
}

/// One question and its answer.
pub(crate) fn audit() -> Audit {
    let told = Told {
        place: Place { reviewer: "claude".to_owned(), pass: 1, call: 1, round: 1 },
        system: "You review.".to_owned(),
        question: "The change: +eval(1)".to_owned(),
        reply: Ok(ToldReply {
            text: "[REJECTED] it evaluates".to_owned(),
            model: Some("opus".to_owned()),
            is_cut: false,
            tokens: (100, 20),
            cost: None,
        }),
    };
    let one = ReviewAttempt { file: "/data/review-1-4.jsonl".into(), told: vec![told], n_more: 0, problem: None };
    Audit { tries: vec![one], n_older: 0 }
}

async fn check(world: &World, method: &str, path: &str, body: &str) -> String {
    let said = world.ask(method, path, body).await;
    let file = said.header("content-disposition").map(|value| format!(" {value}")).unwrap_or_default();
    format!("{}{file} {}", said.status, said.body).trim_end().to_owned()
}

/// A feature with one review that found something.
async fn reviewed(world: &World) -> (u64, String, String) {
    let (project, feature) = world.project_with_feature().await;
    world.desk.place(project, &feature, State { iteration: 1, ..State::new() });
    world.desk.review(project, &feature, vec![review(1, vec![remark(1, Severity::High, "Input is run")])]);
    world.desk.look(project, &feature, looked(), audit());
    let path = format!("/api/projects/{project}/features/{feature}");
    (project, feature, path)
}

#[test]
fn a_finding_is_dismissed_with_a_reason_and_taken_back() {
    story(|| async {
        let world = World::start();
        let (project, _, path) = reviewed(&world).await;
        let finding = format!("{path}/iterations/1/findings");
        let said = check(&world, "POST", &format!("{finding}/F001/dismiss"), r#"{"reason":"ours","by":"Ada"}"#).await;
        assert_snapshot!(said, @r#"200 {"fingerprint":"fp-0000000000000001","file":"src/a.js","title":"Input is run","evidence":"eval(1)","reason":"ours","by":"Ada","at":"2026-01-09T15:00:00.000Z"}"#);
        assert_snapshot!(check(&world, "POST", &format!("{finding}/F001/dismiss"), r#"{"reason":" "}"#).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"`reason` is empty"}"#);
        for (name, status) in [("F009", 404), ("f001", 404), ("F1", 404), ("F001%2f", 404)] {
            let said = world.ask("POST", &format!("{finding}/{name}/dismiss"), r#"{"reason":"x"}"#).await;
            assert_eq!(said.status, status, "{name}");
        }
        let listed = world.get(&format!("/api/projects/{project}/dismissals")).await.json();
        assert_eq!(listed["dismissals"][0]["by"], "Ada");
        let withdraw = format!("{path}/dismissals/fp-0000000000000001");
        assert_eq!(world.ask("DELETE", &withdraw, "").await.status, 204);
        assert_eq!(world.ask("DELETE", &withdraw, "").await.status, 404);
        assert_eq!(world.ask("DELETE", &format!("{path}/dismissals/fp-1"), "").await.status, 404);
    });
}

#[test]
fn what_is_behind_a_review_can_be_read() {
    story(|| async {
        let world = World::start();
        let (_, _, path) = reviewed(&world).await;
        let path = format!("{path}/iterations/1");
        assert_snapshot!(check(&world, "GET", &format!("{path}/audit"), "").await, @r#"200 {"tries":[{"file":"/data/review-1-4.jsonl","exchanges":[{"reviewer":"claude","pass":1,"call":1,"round":1,"system":"You review.","question":"The change: +eval(1)","reply":"[REJECTED] it evaluates","model":"opus"}],"more":0}],"older":0}"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/coverage"), "").await, @r#"200 {"run":7,"tookMs":4200,"compared":"main..feature","hunks":[{"file":"src/a.js","lines":[1,9],"looked":"reviewed"},{"file":"src/a.js","lines":[20,29],"looked":"skipped","why":"generated"},{"file":"src/a.js","looked":"not_reviewed","why":"the budget was used up"}],"withheld":[{"category":"code","severity":"info","title":"Long line","description":"What a user types is run.","suggestion":"Parse it.","file":"src/a.js","line":9,"evidence":"eval(9)","id":"F009","fingerprint":"fp-0000000000000009","why":"milder than the floor"}],"reviewers":[{"name":"claude","model":"opus","calls":2,"failed":0,"tokens":1200,"costUsd":0.25}]}"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/export?format=sarif"), "").await, @r#"200 attachment; filename="feature-000002-review-1.sarif" Sarif of 1"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/export"), "").await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"what follows `?` does not fit: missing field `format`"}"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/prompt"), "").await, @"200 # Fix everything");
        assert_snapshot!(check(&world, "GET", &format!("{path}/prompt?finding=F001"), "").await, @"200 # Fix F001");
        assert_eq!(world.get(&format!("{path}/prompt?finding=F002")).await.status, 404);
    });
}
