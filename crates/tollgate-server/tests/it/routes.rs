//! The routes of the API.

use insta::assert_snapshot;
use tollgate_core::board::machine::{Event, Status, Work};
use tollgate_core::board::{Iteration, Outcome};
use tollgate_core::finding::Severity;
use tollgate_engine::store::board::{Changes, Field, Transition};

use crate::record::{remark, review};
use crate::stored::{transition, with_diff};
use crate::world::{Setup, World, story};

/// The answer as a test shows it: status, the headers that matter, body.
async fn check(world: &World, method: &str, path: &str, body: &str) -> String {
    let said = world.ask(method, path, body).await;
    let mut text = said.status.to_string();
    for name in ["allow", "location", "etag", "tollgate-next-offset"] {
        if let Some(value) = said.header(name) {
            text.push_str(&format!(" {name}={value}"));
        }
    }
    world.plain(format!("{text} {}", said.body).trim_end())
}

#[test]
fn projects_come_and_go() {
    story(|| async {
        let world = World::start();
        let path = "/api/projects";
        let new = serde_json::json!({ "path": world.repository("shop"), "name": "Shop" }).to_string();
        assert_snapshot!(check(&world, "POST", path, &new).await, @r#"201 location=/api/projects/1 {"id":1,"name":"Shop","path":"/srv/shop","features":0,"broken":[]}"#);
        assert_snapshot!(check(&world, "POST", path, &world.new_project("shop")).await, @r#"409 {"type":"urn:tollgate:problem:conflict","title":"Not possible now","status":409,"detail":"it is a project of the board already"}"#);
        assert_snapshot!(check(&world, "GET", path, "").await, @r#"200 {"projects":[{"id":1,"name":"Shop","path":"/srv/shop","features":0,"broken":[]}]}"#);
        assert_snapshot!(check(&world, "DELETE", "/api/projects/1", "").await, @"204");
        assert_snapshot!(check(&world, "GET", "/api/projects/1", "").await, @r#"404 {"type":"urn:tollgate:problem:not-found","title":"Not found","status":404,"detail":"there is no project 1","hint":"List them with `GET /api/projects`."}"#);
    });
}

#[test]
fn errors_are_problem_documents() {
    story(|| async {
        let world = World::start();
        assert_snapshot!(check(&world, "GET", "/api/nothing", "").await, @r#"404 {"type":"urn:tollgate:problem:not-found","title":"Not found","status":404,"detail":"there is nothing at this path","hint":"`GET /api/openapi.json` lists every path."}"#);
        assert_snapshot!(check(&world, "PUT", "/api/projects", "").await, @r#"405 allow=GET,HEAD,POST {"type":"urn:tollgate:problem:method-not-allowed","title":"Method not allowed","status":405,"detail":"this path does not know the method","hint":"The header `Allow` lists those it knows."}"#);
        assert_snapshot!(check(&world, "GET", "/api/projects/1/features?limit=0", "").await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"`limit` is not from 1 to 1000"}"#);
        assert_snapshot!(check(&world, "GET", "/api/projects/1/features?limit=many", "").await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"what follows `?` does not fit: limit: invalid digit found in string"}"#);
    });
}

#[test]
fn a_feature_is_edited_only_as_it_is_known() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let path = format!("/api/projects/{project}/features/{feature}");
        let bearer = format!("Bearer {}", crate::world::TOKEN);
        let json = ("content-type", "application/json");
        let known = [("authorization", bearer.as_str()), json, ("if-match", "\"1\"")];
        let said = world.raw("PATCH", &path, &known, r#"{"title":"Sign in"}"#).await;
        assert_eq!(
            (said.status, said.header("etag"), said.json()["title"].as_str()),
            (200, Some("\"2\""), Some("Sign in"))
        );
        let said = world.raw("PATCH", &path, &known, r#"{"title":"Log in"}"#).await;
        assert_eq!(said.status, 412);
        assert_eq!(world.get(&path).await.json()["title"], "Sign in");
        assert_eq!(world.ask("PATCH", &path, r#"{"priority":4}"#).await.status, 422);
        assert_eq!(world.ask("PATCH", &path, r#"{"status":"verified"}"#).await.status, 422);
        assert_eq!(world.ask("DELETE", &path, "").await.status, 204);
        assert_eq!(world.get(&path).await.status, 404);
    });
}

#[test]
fn a_long_list_is_read_in_parts() {
    story(|| async {
        let world = World::start();
        let (project, _) = world.project_with_feature().await;
        let path = format!("/api/projects/{project}/features");
        for _ in 0..6 {
            world.ask("POST", &path, r#"{"title":"More","description":"x"}"#).await;
        }
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let page = world.get(&format!("{path}?limit=3{after}")).await.json();
            assert_eq!(page["total"], 7);
            let features = page["features"].as_array().unwrap();
            seen.extend(features.iter().map(|feature| feature["id"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        let mut sorted = seen.clone();
        sorted.dedup();
        assert_eq!((sorted.len(), seen.len()), (7, 7));
        assert_eq!(world.get(&format!("{path}?q=More")).await.json()["total"], 6);
        assert_eq!(world.get(&format!("{path}?status=verified")).await.json()["total"], 0);
    });
}

#[test]
fn people_act_on_features_as_far_as_the_machine_allows() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let path = format!("/api/projects/{project}/features/{feature}");
        let act = async |act: &str, body: &str| {
            let said = world.ask_as_person("POST", &format!("{path}/{act}"), body).await;
            let json = said.json();
            format!("{} {}", said.status, json["status"].as_str().or(json["detail"].as_str()).unwrap_or_default())
        };
        assert_snapshot!(act("retry", "").await, @"409 cannot retry it: it is in the backlog");
        assert_snapshot!(act("start", "").await, @"200 in_progress");
        assert_snapshot!(act("start", "").await, @"409 cannot start it: an agent is queued for it");
        assert_snapshot!(act("stop", "").await, @"200 backlog");
        let paused = || vec![with_diff(review(1, vec![remark(1, Severity::High, "Input is run")]))];
        world.review(project, &feature, paused());
        assert_snapshot!(act("approve", r#"{"reason":" "}"#).await, @"422 `reason` is empty");
        assert_snapshot!(act("approve", r#"{"reason":"generated code","by":"Ada"}"#).await, @"200 waiting_approval");
        assert_snapshot!(act("reject", r#"{"note":"wrong field"}"#).await, @"200 in_progress");
        assert_snapshot!(act("stop", "").await, @"200 in_progress");
        assert_snapshot!(act("resume", "").await, @"200 in_progress");
        assert_snapshot!(act("stop", "").await, @"200 in_progress");
        assert_snapshot!(act("resume", r#"{"note":"use the store"}"#).await, @"200 in_progress");
        assert_snapshot!(act("stop", "").await, @"200 in_progress");
        assert_snapshot!(act("move", r#"{"status":"verified"}"#).await, @"409 cannot move it there: only the gate sets this status");
        assert_snapshot!(act("move", r#"{"status":"backlog"}"#).await, @"200 backlog");
        assert_snapshot!(act("clean", "").await, @"200 backlog");
        assert_eq!(world.ask("POST", &format!("{path}/move"), r#"{"status":"code_review"}"#).await.status, 422);
    });
}

#[test]
fn reviews_can_be_read_in_every_form() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let rejected = Iteration { outcome: Outcome::Rejected, ..review(1, vec![]) };
        world.review(project, &feature, vec![with_diff(rejected)]);
        world.write_output(project, &feature, 1, "0123456789");
        let path = format!("/api/projects/{project}/features/{feature}");
        assert_snapshot!(check(&world, "GET", &format!("{path}/iterations"), "").await, @r#"200 {"iterations":[{"iterationNumber":1,"status":"rejected","reviewedAt":"2026-01-09T14:22:00.000Z","reviewedByModel":"opus","reviewedByProvider":"anthropic","gitCommitHash":"1111111111111111111111111111111111111111","baseCommit":"0000000000000000000000000000000000000000","findings":[],"late":[],"compliance":[],"overallSummary":"Looked at all of it.","notes":[],"outdated":false}]}"#);
        let path = format!("{path}/iterations");
        assert_eq!(world.get(&format!("{path}/1")).await.json()["iterationNumber"], 1);
        assert_snapshot!(check(&world, "GET", &format!("{path}/2"), "").await, @r#"404 {"type":"urn:tollgate:problem:not-found","title":"Not found","status":404,"detail":"iteration 2 has no review","hint":"List the reviews with `GET …/iterations`."}"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/1/diff"), "").await, @"200 diff --git a/Whole b/Whole");
        assert_snapshot!(check(&world, "GET", &format!("{path}/1/diff?part=delta"), "").await, @"200 diff --git a/Delta b/Delta");
        assert_snapshot!(check(&world, "GET", &format!("{path}/1/diff?part=other"), "").await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"what follows `?` does not fit: part: unknown variant `other`, expected `whole` or `delta`"}"#);
        assert_snapshot!(check(&world, "GET", &format!("{path}/1/review"), "").await, @"
        200 # Code Review - Feature: Add login
        **Iteration 1 of 3**

        **Status**: ❌ REJECTED

        **Reviewed At**: 2026-01-09 14:22:00 UTC
        **Reviewed By Model**: opus

        ## Overall Summary
        Looked at all of it.

        ## Findings
        None.

        ## Action Required
        Fix the findings above before the next review.
        ");
        assert_snapshot!(check(&world, "GET", &format!("{path}/1/output?from=4"), "").await, @"200 tollgate-next-offset=10 456789");
    });
}

#[test]
fn prompts_that_could_not_be_used_are_refused() {
    story(|| async {
        let world = World::start();
        let path = "/api/settings/prompts";
        let empty = r#"{"reviewSystemPrompt":{"enabled":true,"value":" "}}"#;
        assert_snapshot!(check(&world, "PUT", path, empty).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"`reviewSystemPrompt` is enabled and empty","hint":"Write a prompt, or set `enabled` to `false` to use the default."}"#);
        let no_diff = r#"{"reviewPromptTemplate":{"enabled":true,"value":"Look at {featureTitle}"}}"#;
        assert_snapshot!(check(&world, "PUT", path, no_diff).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"`reviewPromptTemplate` has no `{gitDiff}`","hint":"Without it the reviewer would see no change; put `{gitDiff}` where the diff belongs."}"#);
        let fine = r#"{"reviewPromptTemplate":{"enabled":true,"value":"Look at {gitDiff}"}}"#;
        assert_eq!(world.ask("PUT", path, fine).await.status, 200);
        let said = world.get(path).await;
        let prompts = said.json();
        assert_eq!(said.header("etag"), Some(format!("\"{}\"", prompts["revision"]).as_str()));
        let own = serde_json::json!({ "reviewPromptTemplate": { "enabled": true, "value": "Look at {gitDiff}" } });
        assert_eq!((&prompts["codeReview"], prompts["notes"].as_array().unwrap().len()), (&own, 0));
        let used = |name: &str| (prompts["used"][name]["level"].clone(), prompts["used"][name]["value"].clone());
        let default = prompts["defaults"]["reviewSystemPrompt"].clone();
        assert_eq!(used("reviewSystemPrompt"), ("default".into(), default));
        assert_eq!(used("reviewPromptTemplate"), ("all".into(), "Look at {gitDiff}".into()));
        assert_eq!(world.get("/api/projects/9/settings/prompts").await.status, 404);
    });
}

#[test]
fn settings_are_shown_and_changed_elsewhere() {
    story(|| async {
        let world = Setup::new().configured("[reviewer.gone]\ncommand = [\"/nowhere/agent\"]\n").start();
        assert_snapshot!(check(&world, "GET", "/api/settings", "").await, @r#"200 {"maxConcurrency":2,"maxReviews":2,"maxIterations":3,"implementer":null,"reviewers":[],"reviewModel":null,"budgetUsd":null,"hooks":true,"folder":".automaker"}"#);
        assert_eq!(world.ask("PATCH", "/api/settings", r#"{"maxConcurrency":4}"#).await.status, 405);
        let agents = world.get("/api/agents").await.json();
        let [rules, gone, ..] = &agents["agents"].as_array().unwrap()[..] else { panic!("{agents}") };
        assert_eq!(
            (&rules["name"], &rules["kind"], &rules["isUsed"]),
            (&"rules".into(), &"embedded".into(), &true.into())
        );
        assert_snapshot!(gone, @r#"{"name":"gone","role":"implementer","available":false,"detail":"There is no program `/nowhere/agent` that can be run. Check the spelling, and that it is on the PATH and executable.","kind":"command","model":null,"keyIn":[],"hasKey":false,"isOwn":true,"isUsed":false}"#);
    });
}

#[test]
fn a_review_is_asked_for_with_the_bodies_of_the_field() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let path = "/api/code-review/generate-review";
        let said = world.raw("POST", path, &[], "").await;
        assert_eq!((said.status, said.json()["success"].as_bool()), (401, Some(false)));
        let worktree = world.path("worktree");
        std::fs::create_dir(&worktree).unwrap();
        let body = |number: u32| {
            let ask = serde_json::json!({ "projectPath": world.path("shop"), "featureId": feature,
                "iterationNumber": number, "worktreePath": worktree });
            ask.to_string()
        };
        assert_snapshot!(check(&world, "POST", path, &body(1)).await, @r#"409 {"type":"urn:tollgate:problem:conflict","title":"Not possible now","status":409,"detail":"it is not at the gate: it is in the backlog","success":false}"#);
        world.happen(transition(project, &feature, Event::Start));
        let set = Changes { worktree: Field::Set(worktree.clone()), ..Changes::default() };
        world.happen(Transition { set, ..transition(project, &feature, Event::AgentStarted) });
        for event in [Event::AgentDone, Event::Committed("1".repeat(40))] {
            world.happen(transition(project, &feature, event));
        }
        let rejected = review(1, vec![remark(1, Severity::High, "Input is run")]);
        world.end_review(project, &feature, with_diff(rejected), 3);
        world.commit(project, &feature, &"2".repeat(40));
        assert_snapshot!(check(&world, "POST", path, &body(3)).await, @r#"409 {"type":"urn:tollgate:problem:conflict","title":"Not possible now","status":409,"detail":"it is at iteration 2","success":false}"#);
        assert_snapshot!(check(&world, "POST", path, &body(2)).await, @r#"202 {"success":true,"featureId":"feature-000002","iterationNumber":2,"status":"reviewing","reviewId":"feature-000002-2"}"#);
        assert_snapshot!(check(&world, "POST", path, "{}").await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"the body does not fit: missing field `projectPath` at line 1 column 2","hint":"`GET /api/openapi.json` describes what is expected.","success":false}"#);
        assert_snapshot!(check(&world, "POST", path, r#"{"projectPath":"/x","featureId":"..","iterationNumber":1}"#).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"the body does not fit: `..` names no feature: it has a character other than `A-Z`, `a-z`, `0-9`, `_` and `-` at line 1 column 36","hint":"`GET /api/openapi.json` describes what is expected.","success":false}"#);
    });
}

#[test]
fn a_client_can_wait_for_the_end_of_a_review() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        // A review that failed three times is started again by the request.
        world.commit(project, &feature, &"1".repeat(40));
        for _ in 0..3 {
            let failed = Iteration { outcome: Outcome::Failed, ..review(1, vec![]) };
            world.end_review(project, &feature, with_diff(failed), 3);
        }
        let body = serde_json::json!({ "projectPath": world.path("shop"), "featureId": feature, "iterationNumber": 1 });
        let body = body.to_string();
        let waiting = check(&world, "POST", "/api/code-review/generate-review?wait=true", &body);
        let ending = async {
            world.until(project, &feature, &Status::CodeReview, Work::Reviewing).await;
            // Two events that have nothing to do with it come first.
            world.log.push(Some(project), "feature:updated", "{}".to_owned());
            world.log.push(None, "server:note", "{}".to_owned());
            world.end_review(project, &feature, with_diff(review(1, vec![])), 3);
            let payload = format!(r#"{{"featureId":"{feature}"}}"#);
            world.log.push(Some(project), "feature:code-review-completed", payload);
        };
        let (said, ()) = tokio::join!(waiting, ending);
        assert_snapshot!(said, @r#"200 {"success":true,"featureId":"feature-000002","iterationNumber":1,"status":"approved"}"#);
    });
}

#[test]
fn health_tells_whether_work_can_be_done() {
    story(|| async {
        let world = World::start();
        assert_eq!(world.raw("GET", "/healthz", &[], "").await.status, 200);
        assert_eq!(world.raw("GET", "/readyz", &[], "").await.status, 200);
        // The result of a check is kept for a second, so another server is asked.
        let world = World::start();
        let _locked = world.lock_database();
        assert_eq!(world.raw("GET", "/healthz", &[], "").await.status, 200);
        let said = world.raw("GET", "/readyz", &[], "").await;
        assert!(said.status == 503 && !said.body.contains("database"), "{said:?}");
        let metrics = world.get("/metrics").await.body;
        assert!(
            metrics.contains(r#"tollgate_http_requests_total{route="/readyz",method="GET",status="503"} 1"#),
            "{metrics}"
        );
    });
}
