//! Settings that two people edit, agents that are tried out, the demonstration, and another token.

use insta::assert_snapshot;
use serde_json::json;
use tollgate_core::board::Iteration;
use tollgate_core::finding::Severity;
use tollgate_server::access::token;

use crate::listen::next;
use crate::record::{remark, review};
use crate::stored::with_diff;
use crate::world::{Setup, TOKEN, World, git, story};

/// The answer as a test shows it: status and body.
async fn check(world: &World, method: &str, path: &str, body: &str) -> String {
    let said = world.ask(method, path, body).await;
    format!("{} {}", said.status, said.body).trim_end().to_owned()
}

#[test]
fn the_second_of_two_concurrent_prompt_edits_is_refused() {
    story(|| async {
        let world = World::start();
        let (bearer, json) = (format!("Bearer {TOKEN}"), ("content-type", "application/json"));
        let (project, _) = world.project_with_feature().await;
        for path in ["/api/settings/prompts".to_owned(), format!("/api/projects/{project}/settings/prompts")] {
            let said = world.get(&path).await;
            let etag = said.header("etag").unwrap().to_owned();
            assert_eq!(etag, format!("\"{}\"", said.json()["revision"]));
            let known = [("authorization", bearer.as_str()), json, ("if-match", etag.as_str())];
            let mine = r#"{"reviewSystemPrompt":{"enabled":true,"value":"Be kind"}}"#;
            let theirs = r#"{"reviewSystemPrompt":{"enabled":true,"value":"Be strict"}}"#;
            assert_eq!(world.raw("PUT", &path, &known, mine).await.status, 200);
            assert_eq!(world.raw("PUT", &path, &known, theirs).await.status, 412);
            assert_eq!(world.get(&path).await.json()["codeReview"]["reviewSystemPrompt"]["value"], "Be kind");
            let odd = [("authorization", bearer.as_str()), json, ("if-match", "x")];
            assert_eq!(world.raw("PUT", &path, &odd, theirs).await.status, 400);
        }
    });
}

#[test]
fn prompts_are_shown_with_a_feature_before_they_are_stored() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let path = "/api/settings/prompts/preview";
        let body = |prompts: &str| format!(r#"{{"project":{project},"feature":"{feature}","prompts":{prompts}}}"#);
        let template = r#"{"reviewPromptTemplate":{"enabled":true,"value":"{featureTitle}: {gitDiff}"}}"#;
        assert_snapshot!(check(&world, "POST", path, &body(template)).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"nothing of this feature was reviewed yet, so there is no diff to fill in"}"#);
        let shop = world.path("shop");
        let base = git(&shop, &["rev-parse", "HEAD"]);
        std::fs::write(shop.join("AGENTS.md"), "Be kind.\n").unwrap();
        git(&shop, &["add", "AGENTS.md"]);
        git(&shop, &["commit", "-q", "-m", "agents"]);
        let commit = Some(git(&shop, &["rev-parse", "HEAD"]));
        let rejected = review(1, vec![remark(1, Severity::High, "Input is run")]);
        world.review(project, &feature, vec![with_diff(Iteration { commit, base: Some(base), ..rejected })]);
        let shown = world.ask("POST", path, &body(template)).await.json();
        assert_eq!((&shown["iteration"], &shown["isSetUp"], &shown["calls"]), (&json!(1), &json!(false), &json!(1)));
        let text = shown["shared"]["text"].as_str().unwrap().to_owned() + shown["part"]["text"].as_str().unwrap();
        assert!(text.contains("Add login\n[end ") && text.contains("Be kind."), "{shown}");
        assert_eq!(world.get("/api/settings/prompts").await.json()["codeReview"], serde_json::json!({}));
        let no_diff = r#"{"reviewPromptTemplate":{"enabled":true,"value":"Look"}}"#;
        assert_snapshot!(check(&world, "POST", path, &body(no_diff)).await, @r#"422 {"type":"urn:tollgate:problem:unprocessable","title":"Not valid","status":422,"detail":"`reviewPromptTemplate` has no `{gitDiff}`","hint":"Without it the reviewer would see no change; put `{gitDiff}` where the diff belongs."}"#);
        let missing = format!(r#"{{"project":{project},"feature":"nothing"}}"#);
        assert_eq!(world.ask("POST", path, &missing).await.status, 404);
    });
}

#[test]
fn errors_are_reported_for_each_prompt() {
    story(|| async {
        let world = World::start();
        let path = "/api/settings/prompts/check";
        let wrong = r#"{"reviewSystemPrompt":{"enabled":true,"value":" "},"reviewPromptTemplate":{"enabled":true,"value":"{gitDif}"}}"#;
        assert_snapshot!(check(&world, "POST", path, wrong).await, @r#"200 {"problems":[{"field":"reviewSystemPrompt","detail":"`reviewSystemPrompt` is enabled and empty","hint":"Write a prompt, or set `enabled` to `false` to use the default."},{"field":"reviewPromptTemplate","detail":"`reviewPromptTemplate` has no `{gitDiff}`","hint":"Without it the reviewer would see no change; put `{gitDiff}` where the diff belongs."}],"notes":[{"field":"reviewPromptTemplate","detail":"the template names `{gitDif}`, which is not a variable; did you mean `{gitDiff}`?"}]}"#);
        let off = r#"{"reviewSystemPrompt":{"enabled":false,"value":" "},"reviewPromptTemplate":{"enabled":false,"value":"{x}"}}"#;
        assert_snapshot!(check(&world, "POST", path, off).await, @r#"200 {"problems":[],"notes":[]}"#);
    });
}

#[test]
fn the_result_of_a_trial_is_returned() {
    story(|| async {
        let world = Setup::new().configured("[reviewer.gone]\ncommand = [\"/nowhere/agent\"]\n").start();
        for body in ["", r#"{"trial":"hands"}"#] {
            let said = world.ask("POST", "/api/agents/gone/test", body).await;
            let tried = said.json();
            assert_eq!((said.status, &tried["passed"]), (200, &json!(false)), "{said:?}");
            assert!(tried["words"].as_str().unwrap().contains("/nowhere/agent"), "{tried}");
        }
        assert_eq!(world.ask("POST", "/api/agents/nobody/test", "").await.status, 404);
        assert_eq!(world.ask("POST", "/api/agents/..%2f/test", "").await.status, 404);
        assert_eq!(world.ask("POST", "/api/agents/gone/test", r#"{"trial":"all"}"#).await.status, 422);
    });
}

#[test]
fn the_demonstration_comes_once_and_goes() {
    story(|| async {
        let world = World::start();
        let said = world.ask("POST", "/api/demo", "").await;
        assert_eq!((said.status, said.header("location")), (201, Some("/api/projects/1")));
        assert_eq!(said.json()["project"]["name"], "shop (demo)");
        assert_eq!(world.ask("POST", "/api/demo", "").await.status, 409);
        assert_eq!(world.ask("DELETE", "/api/demo", "").await.status, 204);
        assert_eq!(world.ask("DELETE", "/api/demo", "").await.status, 404);
        assert_eq!(world.get("/api/projects").await.json()["projects"], serde_json::json!([]));
    });
}

#[test]
fn rotating_the_token_ends_all_other_sessions() {
    story(|| async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let world = World::with_token_in(&file);
        let old = token::load_or_create(&file).unwrap();
        let bearer = format!("Bearer {}", old.expose());
        let (origin, json) = (world.origin(), ("content-type", "application/json"));
        let body = format!(r#"{{"token":"{}"}}"#, old.expose());
        let sign_in = async || {
            let said = world.raw("POST", "/api/auth/login", &[("origin", &origin), json], &body).await;
            said.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
        };
        let (mine, theirs) = (sign_in().await, sign_in().await);
        let mut request = world.socket("");
        request.headers_mut().insert("authorization", bearer.parse().unwrap());
        let mut socket = world.open(request).await.unwrap();
        assert!(next(&mut socket).await.unwrap().contains("hello"));

        // A page of another site cannot do it.
        let foreign = [("cookie", mine.as_str()), ("origin", "http://evil.example")];
        assert_eq!(world.raw("POST", "/api/auth/rotate", &foreign, "").await.status, 403);
        assert_eq!(world.raw("POST", "/api/auth/rotate", &[], "").await.status, 401);

        let said = world.raw("POST", "/api/auth/rotate", &[("cookie", &mine), ("origin", &origin)], "").await;
        assert_eq!(said.status, 204, "{said:?}");
        let cookie = said.header("set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict;"), "{cookie}");
        let again = cookie.split(';').next().unwrap().to_owned();
        let status = async |name: &'static str, value: &str| {
            world.raw("GET", "/api/projects", &[(name, value)], "").await.status
        };
        assert_eq!(status("cookie", &again).await, 200);
        assert_eq!([status("cookie", &mine).await, status("cookie", &theirs).await], [401, 401]);
        assert_eq!(status("authorization", &bearer).await, 401);
        let new = token::load_or_create(&file).unwrap();
        assert_eq!(status("authorization", &format!("Bearer {}", new.expose())).await, 200);
        assert!(next(&mut socket).await.unwrap().contains("goodbye"));
        assert!(!said.body.contains(new.expose()));
    });
}

#[test]
fn a_token_that_is_in_no_file_stays() {
    story(|| async {
        let world = World::start();
        assert_snapshot!(check(&world, "POST", "/api/auth/rotate", "").await, @r#"409 {"type":"urn:tollgate:problem:conflict","title":"Not possible now","status":409,"detail":"the token of this server is not kept in a file","hint":"Start the server with another token."}"#);
        assert_eq!(world.get("/api/projects").await.status, 200);
    });
}
