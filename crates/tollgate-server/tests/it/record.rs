//! Audit, coverage, dismissals and exports over the API.

use insta::assert_snapshot;
use tollgate_core::board::iteration::Identity;
use tollgate_core::board::{Compliance, Iteration, Outcome, Remark};
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Category, FindingId, LineRange, Severity};
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::review::{Review, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::suppress::Dismissal;
use tollgate_engine::store::board::NewIteration;
use tollgate_engine::store::{CompletedRun, RunRecord, Subject};

use crate::stored::with_diff;
use crate::world::{NOW, World, story};

/// A finding of a review, `F001` for 1.
pub(crate) fn remark(number: u32, severity: Severity, title: &str) -> Remark {
    let (file, evidence) = ("src/a.js", format!("eval({number})"));
    let dismissal = Dismissal::parse(file, title, evidence.clone(), "it is ours".to_owned(), "").unwrap();
    let fingerprint = dismissal.fingerprint.to_string();
    let identity = Identity { id: format!("F{number:03}"), fingerprint, key: None };
    Remark {
        category: Category::Security,
        severity,
        title: title.to_owned(),
        description: "What a user types is run.".to_owned(),
        suggestion: Some("Parse it.".to_owned()),
        file: Some(file.to_owned()),
        line: Some(number),
        evidence: Some(evidence),
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

/// A run over one file that looked at a hunk, skipped one and missed one, and asked a model.
pub(crate) fn run() -> Review {
    let covered = |lines: Option<(u32, u32)>, status| CoveredHunk {
        file: FilePath::parse("src/a.js").unwrap(),
        lines: lines.and_then(|(start, end)| LineRange::new(start, end)),
        status,
    };
    let mut held = crate::reviews::finding("Long line", Severity::Low);
    held.id = FindingId::at(8);
    let reviewers = serde_json::json!([{
        "name": "claude", "model": "opus", "calls": 2, "failed": 0, "cost_usd": 0.25,
        "tokens": { "input": 1_000, "cached": 0, "output": 200 }, "problem": null,
    }]);
    Review {
        title: None,
        reviewed: Sha::parse(&"2".repeat(40)).unwrap(),
        base: Sha::parse(&"0".repeat(40)).unwrap(),
        compared: Some("main..feature".to_owned()),
        files_reviewed: vec![FilePath::parse("src/a.js").unwrap()],
        findings: vec![],
        withheld: vec![WithheldFinding { finding: held, why: Withheld::BelowFloor }],
        coverage: Some(Coverage {
            hunks: vec![
                covered(Some((1, 9)), HunkStatus::Reviewed),
                covered(Some((20, 29)), HunkStatus::Skipped("generated".to_owned())),
                covered(None, HunkStatus::NotReviewed("the budget was used up".to_owned())),
            ],
        }),
        doubts: Vec::new(),
        re_review_required: false,
        notes: None,
        extra: [("x_reviewers".to_owned(), reviewers)].into_iter().collect(),
    }
}

/// A review of a feature with the run behind it, which took 4.2 seconds.
pub(crate) fn with_run(iteration: Iteration, review: Review) -> NewIteration {
    let gate = if iteration.outcome == Outcome::Approved { Gate::Open } else { Gate::Closed };
    let reviewed = CompletedRun { review, gate, n_added: 12, snapshot: Vec::new(), prior: None, new: None };
    let (repository, name) = ("/srv/shop".to_owned(), "feature login".to_owned());
    let subject = Subject { repository, name, scope: "pipeline".to_owned() };
    let record =
        RunRecord { subject, time: (NOW - 4_200, NOW), version: "0.1.0".to_owned(), outcome: Ok(Box::new(reviewed)) };
    NewIteration { review: Some(record), ..with_diff(iteration) }
}

/// Writes the record of one prompt and its result, as `"reply":…` or `"failure":…`.
pub(crate) fn write_audit(world: &World, (project, feature): (u64, &str), iteration: u32, ask: &serde_json::Value) {
    let folder = world.path(&format!("records/{project}-{feature}"));
    std::fs::create_dir_all(&folder).unwrap();
    let head = r#"{"tollgate_record":1,"version":"0.1.0","boundary":7}"#;
    std::fs::write(folder.join(format!("review-{iteration}-4.jsonl")), format!("{head}\n{ask}\n")).unwrap();
}

/// One question to a model and its answer.
pub(crate) fn answered() -> serde_json::Value {
    serde_json::json!({
        "reviewer": "claude", "pass": 1, "call": 1, "round": 1,
        "question": { "system": "You review.", "shared": "The change:", "part": "+eval(1)" },
        "reply": { "text": "[REJECTED] it evaluates", "stop": "finished", "input": 100, "cached": 0, "output": 20,
                   "model": "opus" },
    })
}

async fn check(world: &World, method: &str, path: &str, body: &str) -> String {
    let said = world.ask(method, path, body).await;
    let file = said.header("content-disposition").map(|value| format!(" {value}")).unwrap_or_default();
    world.plain(format!("{}{file} {}", said.status, said.body).trim_end())
}

/// A feature with one review that found something.
async fn reviewed(world: &World) -> (u64, String, String) {
    let (project, feature) = world.project_with_feature().await;
    let rejected = review(1, vec![remark(1, Severity::High, "Input is run")]);
    world.review(project, &feature, vec![with_run(rejected, run())]);
    write_audit(world, (project, &feature), 1, &answered());
    let path = format!("/api/projects/{project}/features/{feature}");
    (project, feature, path)
}

#[test]
fn a_finding_is_dismissed_with_a_reason_and_taken_back() {
    story(|| async {
        let world = World::start();
        let (project, _, path) = reviewed(&world).await;
        let finding = format!("{path}/iterations/1/findings");
        let dismiss = format!("{finding}/F001/dismiss");
        let said = world.ask_as_person("POST", &dismiss, r#"{"reason":"it is ours","by":"Ada"}"#).await;
        assert_eq!(said.status, 200, "{said:?}");
        assert_snapshot!(said.body, @r#"{"fingerprint":"fp-6e156d2906f19569","file":"src/a.js","title":"Input is run","evidence":"eval(1)","reason":"it is ours","state":"dismissed","subject":"feature feature-000002","by":"Ada","at":"2026-01-09T14:22:00.000Z"}"#);
        assert_snapshot!(check(&world, "POST", &dismiss, r#"{"reason":" "}"#).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"`reason` is empty"}"#);
        assert_snapshot!(check(&world, "POST", &dismiss, r#"{"reason":"..."}"#).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"a dismissal needs a reason in words: two words, or one of eight letters"}"#);
        for (name, status) in [("F009", 404), ("f001", 404), ("F1", 404), ("F001%2f", 404)] {
            let said =
                world.ask_as_person("POST", &format!("{finding}/{name}/dismiss"), r#"{"reason":"it is ours"}"#).await;
            assert_eq!(said.status, status, "{name}");
        }
        let listed = world.get(&format!("/api/projects/{project}/dismissals")).await.json();
        assert_eq!(listed["dismissals"][0]["by"], "Ada");
        let fingerprint = listed["dismissals"][0]["fingerprint"].as_str().unwrap();
        let withdraw = format!("{path}/dismissals/{fingerprint}");
        assert_eq!(world.ask("DELETE", &withdraw, "").await.status, 204);
        assert_eq!(world.ask("DELETE", &withdraw, "").await.status, 404);
        assert_eq!(world.ask("DELETE", &format!("{path}/dismissals/fp-1"), "").await.status, 404);
    });
}

#[test]
fn a_program_with_the_token_proposes_a_dismissal_and_a_person_confirms_or_rejects_it() {
    story(|| async {
        let world = World::start();
        let (project, _, path) = reviewed(&world).await;
        let dismiss = format!("{path}/iterations/1/findings/F001/dismiss");
        let propose = async || world.ask("POST", &dismiss, r#"{"reason":"not real"}"#).await.json();
        let proposed = propose().await;
        assert_eq!((&proposed["state"], &proposed["by"]), (&"proposed".into(), &"a program with the API token".into()));
        let print = proposed["fingerprint"].as_str().unwrap().to_owned();
        let (confirm, reject) =
            (format!("{path}/dismissals/{print}/confirm"), format!("{path}/dismissals/{print}/reject"));
        let states = async || {
            let listed = world.get(&format!("/api/projects/{project}/dismissals")).await.json();
            let all = listed["dismissals"].as_array().unwrap().clone();
            all.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for route in [&confirm, &reject] {
            let refused = world.ask("POST", route, "").await;
            assert!(refused.status == 403 && refused.body.contains("only a person can"), "{refused:?}");
        }
        assert_eq!(states().await, ["proposed"]);
        assert_eq!(world.ask_as_person("POST", &reject, "").await.status, 204);
        assert_eq!(states().await, [""; 0]);
        assert_eq!(world.ask_as_person("POST", &confirm, "").await.status, 404);
        propose().await;
        let confirmed = world.ask_as_person("POST", &confirm, r#"{"by":"Ada"}"#).await.json();
        assert_eq!((&confirmed["state"], &confirmed["by"]), (&"dismissed".into(), &"Ada".into()));
        assert_eq!(
            (&confirmed["proposedBy"], &confirmed["reason"]),
            (&"a program with the API token".into(), &"not real".into())
        );
        assert_eq!(states().await, ["dismissed"]);
    });
}

#[test]
fn audit_coverage_export_and_prompt_of_a_review_can_be_read() {
    story(|| async {
        let world = World::start();
        let (_, _, path) = reviewed(&world).await;
        let path = format!("{path}/iterations/1");
        assert_snapshot!(check(&world, "GET", &format!("{path}/audit"), "").await, @r#"200 {"tries":[{"file":"/srv/records/1-feature-000002/review-1-4.jsonl","exchanges":[{"reviewer":"claude","pass":1,"call":1,"round":1,"system":"You review.","question":"The change:\n\n+eval(1)","reply":"[REJECTED] it evaluates","model":"opus"}],"more":0}],"older":0}"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/coverage"), "").await, @r#"200 {"run":1,"tookMs":4200,"compared":"main..feature","hunks":[{"file":"src/a.js","lines":[1,9],"looked":"reviewed"},{"file":"src/a.js","lines":[20,29],"looked":"skipped","why":"generated"},{"file":"src/a.js","looked":"not_reviewed","why":"the budget was used up"}],"withheld":[{"category":"code","severity":"info","title":"Long line","description":"Nobody looks at the error.","suggestion":"Return it.","file":"src/pay.rs","line":9,"evidence":"let _ = pay(); // Long line","id":"F009","fingerprint":"fp-04349f5e0e80d45b","why":"milder than the floor"}],"reviewers":[{"name":"claude","model":"opus","calls":2,"failed":0,"tokens":1200,"costUsd":0.25}]}"#);
        let sarif = world.get(&format!("{path}/export?format=sarif")).await;
        assert_eq!(sarif.header("content-disposition"), Some("attachment; filename=\"feature-000002-review-1.sarif\""));
        assert_eq!(sarif.json()["version"], "2.1.0");
        assert_snapshot!(check(&world, "GET", &format!("{path}/export"), "").await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"what follows `?` does not fit: missing field `format`"}"#);
        for query in ["", "?finding=F001"] {
            let task = world.get(&format!("{path}/prompt{query}")).await;
            assert!(task.status == 200 && task.body.contains("Input is run"), "{task:?}");
        }
        assert_eq!(world.get(&format!("{path}/prompt?finding=F002")).await.status, 404);
    });
}
