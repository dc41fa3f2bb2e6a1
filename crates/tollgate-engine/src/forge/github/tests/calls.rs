use insta::assert_snapshot;
use serde_json::{Value, json};
use tollgate_core::finding::Side;
use tollgate_core::pull::check_run::{Annotation, AnnotationLevel, Conclusion};
use tollgate_core::pull::inline_comment::{InlineComment, LineSpan};
use tollgate_core::sha::Sha;

use super::peer::Reply;
use super::*;
use crate::forge::host::{
    CheckUpdate, Comment, Host, HostErrorKind, HostResult, NewCheck, NewReview, Permission, Pull, ReviewEvent, Thread,
};

fn sha(digit: &str) -> Sha {
    Sha::parse(&digit.repeat(40)).unwrap()
}

fn ok(body: Value) -> Reply {
    Reply::json(200, &body)
}

/// Sends one request and shows it as it arrived.
#[track_caller]
fn sent<T: std::fmt::Debug>(reply: Reply, ask: impl FnOnce(&dyn Host) -> HostResult<T>) -> String {
    let scene = scene(vec![reply]);
    let answer = ask(&scene.host).unwrap();
    let heard = scene.peer.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    let mut lines = vec![heard.line.clone(), heard.body.to_string(), format!("{answer:?}")];
    lines.retain(|line| line != "null");
    lines.join("\n")
}

fn pull_json() -> Value {
    json!({
        "number": 7, "title": "feat: x", "body": null, "user": null, "state": "open", "draft": true, "more": [1],
        "head": {"ref": "topic", "sha": "a".repeat(40), "repo": null},
        "base": {"ref": "main", "sha": "b".repeat(40), "repo": {"full_name": "octo/hello"}},
        "commits": 2, "changed_files": 3,
    })
}

#[test]
fn every_request_has_credentials_and_an_api_version() {
    let scene = scene(vec![ok(pull_json())]);
    scene.host.pull(&repo(), 7).unwrap();
    let heard = &scene.peer.heard()[0];
    let header = |name: &str| heard.header(name).unwrap_or_default().to_owned();
    assert_eq!(header("accept"), "application/vnd.github+json");
    assert_eq!(header("x-github-api-version"), "2022-11-28");
    assert_eq!(header("user-agent"), concat!("tollgate/", env!("CARGO_PKG_VERSION")));
    assert_eq!(header("authorization"), format!("Bearer {TOKEN}"));
}

#[test]
fn a_pull_request_is_read_with_what_may_be_missing() {
    let scene = scene(vec![ok(pull_json())]);
    let Pull { number, title, body, author, is_open, is_draft, head, base_branch, base, from, size } =
        scene.host.pull(&repo(), 7).unwrap();
    assert_eq!((number, title.as_str(), body.as_str(), author.as_str()), (7, "feat: x", "", "ghost"));
    assert_eq!((is_open, is_draft, head, base_branch.as_str(), base), (true, true, sha("a"), "main", sha("b")));
    assert_eq!((from, size), (None, (2, 3)));
}

#[test]
fn an_invalid_commit_name_is_an_error() {
    let mut pull = pull_json();
    pull["head"]["sha"] = json!("HEAD; rm -rf /");
    let error = scene(vec![ok(pull)]).host.pull(&repo(), 7).unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Nonsense);
    assert_snapshot!(error, @"the answer to `GET /repos/octo/hello/pulls/7` makes no sense: expected 40 or 64 hex digits, found `HEAD; rm -rf /`");
}

#[test]
fn open_pull_requests_are_asked_for_as_many_as_wanted() {
    let mut pull = pull_json();
    pull.as_object_mut().unwrap().retain(|name, _| name != "commits" && name != "changed_files");
    let scene = scene(vec![ok(json!([pull, pull_json()]))]);
    let pulls = scene.host.open_pulls(&repo(), 2).unwrap();
    assert_eq!(pulls.iter().map(|pull| pull.size).collect::<Vec<_>>(), [(0, 0), (2, 3)]);
    assert_snapshot!(scene.peer.lines(), @"GET /repos/octo/hello/pulls?state=open&sort=updated&direction=desc&per_page=2&page=1");
    assert_eq!(scene.host.open_pulls(&repo(), 0).unwrap(), []);
}

#[test]
fn write_permission_comes_from_github_alone() {
    let of = |reply: Reply| scene(vec![reply]).host.permission(&repo(), "ann").map_err(|error| error.kind);
    let role = |word: &str| ok(json!({"permission": word}));
    for word in ["admin", "maintain", "write"] {
        assert_eq!(of(role(word)), Ok(Permission::Write), "{word}");
    }
    for (word, permission) in [
        ("read", Permission::Read),
        ("triage", Permission::Read),
        ("none", Permission::None),
        ("emperor", Permission::None),
    ] {
        assert_eq!(of(role(word)), Ok(permission), "{word}");
    }
    assert_eq!(of(Reply::json(404, &json!({}))), Ok(Permission::None));
    assert_eq!(of(Reply::json(403, &json!({}))), Err(HostErrorKind::Forbidden));
}

#[test]
fn an_invalid_login_is_not_put_into_a_url() {
    let scene = scene(vec![ok(json!({"permission": "none"}))]);
    for login in ["", "../../user", "a/b", "a?b", "a b", "ä", &"a".repeat(101)] {
        assert_eq!(scene.host.permission(&repo(), login), Ok(Permission::None), "{login:?}");
    }
    assert_eq!(scene.host.permission(&repo(), "dependabot[bot]"), Ok(Permission::None));
    assert_snapshot!(scene.peer.lines(), @"GET /repos/octo/hello/collaborators/dependabot%5Bbot%5D/permission");
}

#[test]
fn comments_name_their_author_and_its_app() {
    let scene = scene(vec![ok(json!([
        {"id": 1, "user": {"login": "ann", "type": "User"}, "body": "hi"},
        {"id": 2, "user": {"login": "gate[bot]", "type": "Bot"}, "body": "yo", "performed_via_github_app": {"id": 9}},
        {"id": 3, "user": null, "body": null, "performed_via_github_app": null, "in_reply_to_id": 1},
    ]))]);
    let comments = scene.host.comments(&repo(), 7).unwrap();
    let show = |comment: &Comment| {
        let author = &comment.author;
        format!("{} {} {:?} {} {:?}", comment.id, author.login, author.app, author.is_bot, comment.answers)
    };
    assert_snapshot!(comments.iter().map(show).collect::<Vec<_>>().join("\n"), @r"
    1 ann None false None
    2 gate[bot] Some(9) true None
    3 ghost None false Some(1)
    ");
}

fn page(n_items: usize) -> Value {
    (0..n_items).map(|id| json!({"id": id, "user": null, "body": "x"})).collect()
}

#[test]
fn links_to_pages_are_not_followed() {
    let elsewhere =
        "link: <http://127.0.0.1:1/evil?page=2>; rel=\"next\", <http://127.0.0.1:1/evil?page=9>; rel=\"last\"";
    let scene = scene(vec![ok(page(100)).with(elsewhere), ok(page(30)).with(elsewhere), ok(page(0)).with(elsewhere)]);
    assert_eq!(scene.host.line_comments(&repo(), 7).unwrap().len(), 130);
    assert_snapshot!(scene.peer.lines(), @r"
    GET /repos/octo/hello/pulls/7/comments?per_page=100&page=1
    GET /repos/octo/hello/pulls/7/comments?per_page=100&page=2
    GET /repos/octo/hello/pulls/7/comments?per_page=100&page=3
    ");
}

#[test]
fn a_list_without_an_end_is_an_error_and_not_half_a_list() {
    let scene = scene((0..40).map(|_| ok(page(100))).collect());
    let error = scene.host.comments(&repo(), 7).unwrap_err();
    assert_snapshot!(error, @"`GET /repos/octo/hello/issues/7/comments` lists more than we read: we stopped after 3000");
    assert_eq!(scene.peer.heard().len(), 30);
}

#[test]
fn a_page_that_is_too_long_is_read_in_smaller_ones() {
    let scene = scene(vec![ok(page(100)), Reply::Long((10 << 20) + 1), ok(page(20)), ok(page(3))]);
    assert_eq!(scene.host.reviews(&repo(), 7).unwrap().len(), 23);
    assert_snapshot!(scene.peer.lines(), @r"
    GET /repos/octo/hello/pulls/7/reviews?per_page=100&page=1
    GET /repos/octo/hello/pulls/7/reviews?per_page=100&page=2
    GET /repos/octo/hello/pulls/7/reviews?per_page=20&page=1
    GET /repos/octo/hello/pulls/7/reviews?per_page=20&page=2
    ");
}

#[test]
fn only_our_checks_of_that_name_count() {
    let run = |id: u64, name: &str, app: Value| {
        json!({"id": id, "name": name, "status": "completed", "conclusion": "success", "external_id": "head 1",
               "output": {"annotations_count": 3}, "app": app})
    };
    let runs = json!({"total_count": 4, "check_runs": [
        run(4, "my gate", json!({"id": 9})), run(2, "my gate", json!({"id": 9})),
        run(1, "my gate", json!({"id": 8})), run(3, "other", json!({"id": 9})), run(5, "my gate", json!(null)),
    ]});
    let me = BotIdentity { login: "gate[bot]".to_owned(), mention: "gate".to_owned(), app: Some(9) };
    let scene = scene_of(vec![ok(runs)], Some(TOKEN), Some(me));
    let checks = scene.host.checks(&repo(), &sha("a"), "my gate").unwrap();
    assert_eq!(checks.iter().map(|check| check.id).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((checks[0].n_annotations, checks[0].is_completed, checks[0].external_id.as_str()), (3, true, "head 1"));
    assert_snapshot!(scene.peer.lines(), @"GET /repos/octo/hello/commits/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/check-runs?check_name=my+gate&filter=all&app_id=9&per_page=100&page=1");
}

#[test]
fn comments_are_written_changed_and_removed() {
    let made = || Reply::json(201, &json!({"id": 5}));
    assert_snapshot!(sent(made(), |host| host.comment(&repo(), 7, "hi \"there\"")), @r#"
    POST /repos/octo/hello/issues/7/comments
    {"body":"hi \"there\""}
    5
    "#);
    assert_snapshot!(sent(ok(json!({"id": 5})), |host| host.edit_comment(&repo(), 5, "ho")), @r#"
    PATCH /repos/octo/hello/issues/comments/5
    {"body":"ho"}
    ()
    "#);
    let gone = || Reply::Says(204, String::new(), String::new());
    assert_snapshot!(sent(gone(), |host| host.delete_comment(&repo(), 5)), @r"
    DELETE /repos/octo/hello/issues/comments/5
    ()
    ");
    assert_snapshot!(sent(gone(), |host| host.delete_line_comment(&repo(), 5)), @r"
    DELETE /repos/octo/hello/pulls/comments/5
    ()
    ");
    assert_snapshot!(sent(made(), |host| host.reply(&repo(), 7, 3, "ok")), @r#"
    POST /repos/octo/hello/pulls/7/comments/3/replies
    {"body":"ok"}
    5
    "#);
}

fn inline(at: Option<(u32, u32, Side)>) -> InlineComment {
    let at = at.map(|(start, line, side)| LineSpan { start, line, side });
    InlineComment { path: "a.rs".to_owned(), at, body: "look".to_owned(), key: "fp-1".to_owned() }
}

#[test]
fn a_review_is_one_request_with_all_its_comments() {
    let comments = [inline(Some((3, 3, Side::Right))), inline(Some((4, 6, Side::Left)))];
    let head = sha("a");
    let review = NewReview { head: &head, body: "two", act: ReviewEvent::RequestChanges, comments: &comments };
    assert_snapshot!(sent(ok(json!({"id": 5})), |host| host.review(&repo(), 7, &review)), @r#"
    POST /repos/octo/hello/pulls/7/reviews
    {"commit_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","body":"two","event":"REQUEST_CHANGES","comments":[{"path":"a.rs","body":"look","line":3,"side":"RIGHT"},{"path":"a.rs","body":"look","line":6,"side":"LEFT","start_line":4,"start_side":"LEFT"}]}
    5
    "#);
}

#[test]
fn requests_that_github_would_reject_are_not_sent() {
    let scene = scene(Vec::new());
    let (head, comments) = (sha("a"), [inline(None)]);
    let review = NewReview { head: &head, body: "two", act: ReviewEvent::Comment, comments: &comments };
    assert_snapshot!(scene.host.review(&repo(), 7, &review).unwrap_err(), @"a comment at the whole of `a.rs` cannot be part of a review");
    let annotations = vec![annotation(); 51];
    let update = CheckUpdate { conclusion: None, says: ("t", "s"), annotations: &annotations };
    assert_snapshot!(scene.host.update_check(&repo(), 7, &update).unwrap_err(), @"51 annotations are more than GitHub takes at once, which is 50");
    assert_eq!(scene.peer.lines(), "");
}

#[test]
fn a_comment_alone_stands_at_lines_or_at_a_file() {
    let made = || Reply::json(201, &json!({"id": 5}));
    let at = |at| sent(made(), |host| host.comment_at(&repo(), 7, &sha("a"), &inline(at)));
    assert_snapshot!(at(Some((3, 4, Side::Right))), @r#"
    POST /repos/octo/hello/pulls/7/comments
    {"commit_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","path":"a.rs","body":"look","line":4,"side":"RIGHT","start_line":3,"start_side":"RIGHT"}
    5
    "#);
    assert_snapshot!(at(None), @r#"
    POST /repos/octo/hello/pulls/7/comments
    {"commit_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","subject_type":"file","path":"a.rs","body":"look"}
    5
    "#);
}

fn annotation() -> Annotation {
    let text = |text: &str| text.to_owned();
    Annotation {
        path: text("a.rs"),
        start_line: 1,
        end_line: 2,
        level: AnnotationLevel::Failure,
        title: text("t"),
        message: text("m"),
    }
}

#[test]
fn a_check_begins_goes_on_and_ends() {
    let head = sha("a");
    let check = NewCheck { head: &head, name: "gate", external_id: "x", details_url: None, says: ("t", "s") };
    assert_snapshot!(sent(Reply::json(201, &json!({"id": 5})), |host| host.begin_check(&repo(), &check)), @r#"
    POST /repos/octo/hello/check-runs
    {"name":"gate","head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","status":"in_progress","external_id":"x","output":{"title":"t","summary":"s"}}
    5
    "#);
    let update = |conclusion: Option<Conclusion>, annotations: &[Annotation]| {
        let update = CheckUpdate { conclusion, says: ("t", "s"), annotations };
        sent(ok(json!({"id": 5})), |host| host.update_check(&repo(), 5, &update))
    };
    assert_snapshot!(update(None, &[annotation()]), @r#"
    PATCH /repos/octo/hello/check-runs/5
    {"status":"in_progress","output":{"title":"t","summary":"s","annotations":[{"path":"a.rs","start_line":1,"end_line":2,"annotation_level":"failure","title":"t","message":"m"}]}}
    ()
    "#);
    assert_snapshot!(update(Some(Conclusion::ActionRequired), &[]), @r#"
    PATCH /repos/octo/hello/check-runs/5
    {"status":"completed","conclusion":"action_required","output":{"title":"t","summary":"s"}}
    ()
    "#);
}

fn threads_json(ids: &[(&str, Value)], next: Option<&str>) -> Value {
    let node = |(id, began): &(&str, Value)| json!({"id": id, "isResolved": false, "viewerCanResolve": true, "comments": {"nodes": [began]}});
    let nodes: Vec<Value> = ids.iter().map(node).collect();
    let info = json!({"hasNextPage": next.is_some(), "endCursor": next});
    json!({"data": {"repository": {"pullRequest": {"reviewThreads": {"pageInfo": info, "nodes": nodes}}}}})
}

#[test]
fn threads_are_listed_to_the_last_page() {
    let big = json!({"databaseId": null, "fullDatabaseId": "3000000000"});
    let scene = scene(vec![
        ok(threads_json(&[("T1", json!({"databaseId": 11})), ("T2", big)], Some("Y3Vy"))),
        ok(threads_json(&[("T3", json!(null)), ("T4", json!({"databaseId": 14, "fullDatabaseId": "14"}))], None)),
    ]);
    let threads = scene.host.threads(&repo(), 7).unwrap();
    let known: Vec<(&str, u64)> = threads.iter().map(|thread| (thread.id.as_str(), thread.root)).collect();
    assert_eq!(known, [("T1", 11), ("T2", 3_000_000_000), ("T4", 14)]);
    assert_eq!(
        threads[0],
        Thread { id: "T1".to_owned(), root: 11, is_resolved: false, may_resolve: true, may_unresolve: false }
    );
    let variables: Vec<String> = scene.peer.heard().iter().map(|heard| heard.body["variables"].to_string()).collect();
    assert_snapshot!(variables.join("\n"), @r#"
    {"owner":"octo","name":"hello","number":7,"after":null}
    {"owner":"octo","name":"hello","number":7,"after":"Y3Vy"}
    "#);
    assert_eq!(scene.peer.heard()[0].line, "POST /graphql");
}

#[test]
fn old_servers_are_queried_without_the_new_field() {
    let unknown = "Field 'fullDatabaseId' doesn't exist on type 'PullRequestReviewComment'";
    let refusal = || ok(json!({"errors": [{"message": unknown}]}));
    let old = scene(vec![refusal(), ok(threads_json(&[("T1", json!({"databaseId": 11}))], None))]);
    assert_eq!(old.host.threads(&repo(), 7).unwrap()[0].root, 11);
    let asked: Vec<bool> =
        old.peer.heard().iter().map(|heard| heard.body["query"].to_string().contains("fullDatabaseId")).collect();
    assert_eq!(asked, [true, false]);
    let odd = scene(vec![refusal(), refusal(), refusal()]);
    assert!(odd.host.threads(&repo(), 7).is_err());
    assert_eq!(odd.peer.heard().len(), 2);
}

#[test]
fn graphql_errors_with_status_200_are_errors() {
    let refused = |reply: Value| scene(vec![ok(reply)]).host.resolve(&repo(), "T1").unwrap_err().kind;
    let error = |kind: &str, message: &str| json!({"data": null, "errors": [{"type": kind, "message": message}]});
    assert_eq!(refused(error("FORBIDDEN", "no")), HostErrorKind::Forbidden);
    assert_eq!(refused(error("", "Resource not accessible by integration")), HostErrorKind::Forbidden);
    assert_eq!(refused(error("NOT_FOUND", "no")), HostErrorKind::NotFound);
    assert_eq!(refused(error("RATE_LIMITED", "no")), HostErrorKind::Limited { wait_ms: 60_000 });
    assert_eq!(refused(error("", "Field is wrong")), HostErrorKind::Invalid(vec!["Field is wrong".to_owned()]));
    assert_eq!(refused(json!({"data": null})), HostErrorKind::NotFound);
    let absent = json!({"data": {"repository": null}});
    assert_eq!(scene(vec![ok(absent)]).host.threads(&repo(), 7).unwrap_err().kind, HostErrorKind::NotFound);
}

#[test]
fn a_thread_is_resolved_by_its_name() {
    let done = json!({"data": {"resolveReviewThread": {"thread": {"id": "T1"}}}});
    let scene = scene(vec![ok(done)]);
    scene.host.resolve(&repo(), "T\"1").unwrap();
    assert_eq!(scene.peer.heard()[0].body["variables"], json!({"thread": "T\"1"}));
    assert!(scene.host.resolve(&repo(), &"T".repeat(501)).is_err());
}

#[test]
fn a_resolved_thread_is_opened_again_by_its_name() {
    let scene = scene(vec![ok(json!({"data": {"unresolveReviewThread": {"thread": {"id": "T1"}}}}))]);
    scene.host.unresolve(&repo(), "T1").unwrap();
    let heard = &scene.peer.heard()[0].body;
    assert!(heard["query"].as_str().unwrap().contains("unresolveReviewThread"), "{heard}");
    assert_eq!(heard["variables"], json!({"thread": "T1"}));
}

#[test]
fn the_user_of_a_token_is_fetched_once() {
    let scene = scene_of(vec![ok(json!({"login": "ann", "type": "User"}))], Some(TOKEN), None);
    let me = BotIdentity { login: "ann".to_owned(), mention: "ann".to_owned(), app: None };
    assert_eq!((scene.host.me(), scene.host.me()), (Ok(me.clone()), Ok(me)));
    assert_eq!(scene.peer.lines(), "GET /user");
}

#[test]
fn a_workflow_token_acts_as_github_actions() {
    let refusal = json!({"message": "Resource not accessible by integration"});
    let scene = scene_of(vec![Reply::json(403, &refusal)], Some(TOKEN), None);
    assert_eq!(scene.host.me().unwrap().login, "github-actions[bot]");
}

#[test]
fn git_gets_the_token_as_a_redacted_password() {
    let scene = scene(Vec::new());
    let authorization = scene.host.git_authorization(&repo()).unwrap().unwrap();
    assert_eq!(authorization.expose(), "Basic eC1hY2Nlc3MtdG9rZW46Z2hwX1pxN3g5TG0yUnc0dA==");
    assert_eq!(format!("{authorization:?}"), "(hidden)");
    assert_eq!(scene.host.clone_url(&repo()), format!("{}/octo/hello.git", scene.peer.address().web()));
    let nobody = scene_of(vec![ok(pull_json())], None, None);
    assert!(nobody.host.git_authorization(&repo()).unwrap().is_none());
    nobody.host.pull(&repo(), 7).unwrap();
    assert_eq!(nobody.peer.heard()[0].header("authorization"), None);
}

#[test]
fn a_token_with_a_line_break_is_rejected() {
    let scene = scene_of(Vec::new(), Some("ghp_Zq7x9\nX: y"), None);
    let error = scene.host.pull(&repo(), 7).unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Unauthorized);
    assert_snapshot!(error, @"`GET /repos/octo/hello/pulls/7` cannot be asked: the token holds characters that no token has");
}
