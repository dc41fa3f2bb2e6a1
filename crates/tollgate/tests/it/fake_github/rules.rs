//! Tests of the fake GitHub: it validates and renders as GitHub does, and injects faults on request.

use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::http::{self, Answer, Reply};
use super::prism::Prism;
use super::{FakeGithub, Fault, Opening, PullRequest, hooks};

const FILES: &[(&str, &str)] = &[("a.js", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n")];

/// A client as simple as can be.
struct Client {
    base: String,
    token: String,
}

impl Client {
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let authorization = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", authorization.as_str()),
            ("user-agent", "a test"),
            ("accept", "application/vnd.github+json"),
            ("content-type", "application/json"),
        ];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let (status, answer) =
            http::ask(method, &format!("{}{path}", self.base), &headers, &body).unwrap_or((0, Vec::new()));
        (status, serde_json::from_slice(&answer).unwrap_or_default())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, &Value::Null)
    }

    fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask("POST", path, &body)
    }
}

/// A token that the app signs, good from and to seconds from now.
fn signed(github: &FakeGithub, from: i64, to: i64) -> String {
    let der: String = github.private_key().lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).unwrap()).unwrap();
    let now = i64::try_from(github.state().now_ms() / 1000).unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({ "iat": now + from, "exp": now + to, "iss": github.app_id().to_string() });
    let text = format!("{}.{}", part(json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The app itself.
fn app(github: &FakeGithub, base: &str) -> Client {
    Client { base: base.to_owned(), token: signed(github, -60, 540) }
}

/// The app in a repository.
fn installed(github: &FakeGithub, base: &str, narrowed: Value) -> Client {
    let (status, answer) = app(github, base).post("/app/installations/99/access_tokens", narrowed);
    assert_eq!(status, 201, "{answer}");
    Client { base: base.to_owned(), token: answer["token"].as_str().unwrap().to_owned() }
}

/// A pull request that changes line 3, adds one after it, removes line 15, and adds a file.
fn scene(github: &FakeGithub) -> (PullRequest<'_>, Client) {
    github.repository("octo/app", FILES);
    let changed = FILES[0].1.replace("\n3\n", "\nthree\nmore\n").replace("\n15\n", "\n");
    let pull =
        github.open("octo/app", &Opening { files: &[("a.js", &changed), ("b.js", "new\n")], ..Opening::default() });
    (pull, installed(github, &github.url(), json!({})))
}

#[test]
fn an_app_shows_a_token_that_it_signed_and_that_is_good_now() {
    let github = FakeGithub::start();
    for (from, to, expected) in [(-60, 540, 200), (0, 600, 200), (60, 540, 401), (-60, 700, 401), (-600, -1, 401)] {
        let client = Client { base: github.url(), token: signed(&github, from, to) };
        assert_eq!(client.get("/app").0, expected, "{from} {to}");
    }
    let good = signed(&github, -60, 540);
    let forged = Client { base: github.url(), token: format!("{}A{}", &good[..60], &good[61..]) };
    assert_eq!(forged.get("/app").0, 401);
    let ahead = app(&github, &github.url());
    github.step_clock(-3_600_000);
    assert_eq!(ahead.get("/app").0, 401, "a clock that is wrong is seen");
}

#[test]
fn a_token_is_good_for_what_it_was_narrowed_to_and_for_an_hour() {
    let github = FakeGithub::start();
    scene(&github);
    github.repository("octo/other", FILES);
    let body = json!({ "repositories": ["app"], "permissions": { "contents": "read", "pull_requests": "read" } });
    let client = installed(&github, &github.url(), body);
    assert_eq!(client.get("/repos/octo/app/pulls/1").0, 200);
    assert_eq!(client.get("/repos/octo/other").0, 404);
    let (status, why) = client.post("/repos/octo/app/issues/1/comments", json!({ "body": "hello" }));
    assert_eq!((status, &why["message"]), (403, &json!("Resource not accessible by integration")));
    github.step_clock(3_601_000);
    assert_eq!(client.get("/repos/octo/app/pulls/1").0, 401);
    let granted = json!({ "permissions": { "administration": "write" } });
    assert_eq!(app(&github, &github.url()).post("/app/installations/99/access_tokens", granted).0, 422);
}

#[track_caller]
fn check_place(place: Value, expected: &str) {
    let github = FakeGithub::start();
    let (pull, client) = scene(&github);
    let mut comment = place;
    comment["body"] = comment["body"].as_str().unwrap_or("here").into();
    let review = json!({ "commit_id": pull.head(), "body": "b", "event": "COMMENT", "comments": [comment] });
    let (status, answer) = client.post("/repos/octo/app/pulls/1/reviews", review);
    let found = if status == 200 { "taken".to_owned() } else { answer["errors"][0].as_str().unwrap().to_owned() };
    assert_eq!(found, expected, "{comment}");
    // The other way to write it follows the same rules.
    comment["commit_id"] = json!(pull.head());
    let (status, answer) = client.post("/repos/octo/app/pulls/1/comments", comment.clone());
    let found = if status == 201 { "taken" } else { answer["errors"][0]["message"].as_str().unwrap() };
    assert_eq!(found, expected, "{comment}");
}

#[test]
fn comments_stand_at_lines_of_the_diff_or_the_whole_review_is_refused() {
    let outside = "Pull request review thread line must be part of the diff";
    check_place(json!({ "path": "a.js", "line": 3 }), "taken");
    check_place(json!({ "path": "a.js", "line": 6 }), "taken");
    check_place(json!({ "path": "a.js", "line": 9 }), outside);
    check_place(json!({ "path": "a.js", "line": 15, "side": "LEFT" }), "taken");
    check_place(json!({ "path": "a.js", "line": 14, "side": "LEFT" }), outside);
    check_place(json!({ "path": "b.js", "line": 1 }), "taken");
    check_place(json!({ "path": "b.js", "line": 2 }), outside);
    check_place(json!({ "path": "c.js", "line": 1 }), "Path could not be resolved");
    check_place(json!({ "path": "a.js" }), "Line could not be resolved");
    check_place(json!({ "path": "a.js", "start_line": 3, "line": 4 }), "taken");
    check_place(
        json!({ "path": "a.js", "start_line": 4, "line": 4 }),
        "Pull request review thread start line must precede the end line.",
    );
    check_place(
        json!({ "path": "a.js", "start_line": 3, "line": 16 }),
        "Pull request review thread start line must be part of the same hunk as the line.",
    );
    check_place(
        json!({ "path": "b.js", "line": 1, "body": "x".repeat(65_537) }),
        "Body is too long (maximum is 65536 characters)",
    );
}

#[test]
fn a_review_needs_words_and_a_commit_of_the_pull_request() {
    let github = FakeGithub::start();
    let (pull, client) = scene(&github);
    let old = pull.head();
    pull.force_push("again", &[("b.js", "other\n")]);
    let path = "/repos/octo/app/pulls/1/reviews";
    for (body, expected) in [
        (json!({ "event": "COMMENT" }), 422),
        (json!({ "event": "COMMENT", "body": "x".repeat(65_537) }), 422),
        (json!({ "event": "COMMENT", "body": "x", "commit_id": old }), 422),
        (json!({ "event": "COMMENT", "body": "x", "commit_id": "f".repeat(40) }), 422),
        (json!({ "event": "APPROVE" }), 200),
    ] {
        assert_eq!(client.post(path, body.clone()).0, expected, "{body}");
    }
    let at_file = json!({ "body": "x", "commit_id": pull.head(), "path": "b.js", "subject_type": "file" });
    assert_eq!(client.post("/repos/octo/app/pulls/1/comments", at_file).0, 201);
}

#[test]
fn annotations_come_in_parts_of_fifty_and_are_added() {
    let github = FakeGithub::start();
    let (pull, client) = scene(&github);
    let one = json!({
        "path": "a.js", "start_line": 3, "end_line": 3, "annotation_level": "notice", "message": "m",
    });
    let output = |n: usize| json!({ "title": "t", "summary": "s", "annotations": vec![one.clone(); n] });
    let check = |more: Value| {
        let mut body = json!({ "name": "kodiai", "head_sha": pull.head(), "status": "in_progress" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post("/repos/octo/app/check-runs", body)
    };
    assert_eq!(check(json!({ "output": output(51) })).0, 422);
    assert_eq!(check(json!({ "head_sha": "f".repeat(40) })).0, 422);
    let id = check(json!({ "output": output(50) })).1["id"].as_u64().unwrap();
    let more = json!({ "conclusion": "failure", "status": "completed", "output": output(7) });
    let (_, answer) = client.ask("PATCH", &format!("/repos/octo/app/check-runs/{id}"), &more);
    assert_eq!((&answer["output"]["annotations_count"], &answer["conclusion"]), (&json!(57), &json!("failure")));
    // Only the latest of a name is listed, unless all are asked for.
    check(json!({}));
    let list = |query: &str| {
        let (_, list) = client.get(&format!("/repos/octo/app/commits/{}/check-runs{query}", pull.head()));
        list["total_count"].as_u64()
    };
    assert_eq!((list(""), list("?filter=all"), list("?check_name=other")), (Some(1), Some(2), Some(0)));
    let person = Client { base: github.url(), token: github.token_of("ada") };
    let body = json!({ "name": "n", "head_sha": pull.head() });
    assert_eq!(person.post("/repos/octo/app/check-runs", body).0, 403, "only apps write checks");
}

#[test]
fn too_many_writes_are_rate_limited() {
    let github = FakeGithub::start();
    let (_, client) = scene(&github);
    let write = || client.post("/repos/octo/app/issues/1/comments", json!({ "body": "x" })).0;
    assert!((0..80).all(|_| write() == 201));
    assert_eq!((write(), github.n_limited()), (403, 1));
    github.step_clock(61_000);
    assert_eq!(write(), 201);
}

#[test]
fn faults_happen_where_they_are_planned() {
    let github = FakeGithub::start();
    let (pull, client) = scene(&github);
    let write = || client.post("/repos/octo/app/issues/1/comments", json!({ "body": "x" })).0;
    let plan = [
        (Fault::Secondary(1), 403, 0),
        (Fault::NotFound, 404, 0),
        (Fault::Conflict, 409, 0),
        (Fault::Invalid, 422, 0),
        (Fault::Broken(503), 503, 0),
        (Fault::DoneButBroken, 502, 1),
        (Fault::DoneButClosed, 0, 1),
        (Fault::Silent(Duration::from_millis(5)), 0, 0),
        (Fault::Unauthorized, 401, 0),
    ];
    let mut n = 0;
    for (fault, status, done) in plan {
        github.fault("comments.create", 0, 1, fault);
        assert_eq!(write(), status, "{fault:?}");
        n += done;
        assert_eq!(pull.seen().others.len(), n, "{fault:?}");
    }
    assert_eq!(write(), 401, "the token is good no longer");
    assert_eq!(github.end_faults(), 9);
    let log = github.requests("comments.create");
    let statuses: Vec<u16> = log.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [403, 404, 409, 422, 503, 502, 0, 0, 401, 401]);
    let is_kept =
        |entry: &super::Entry| entry.body["body"] == "x" && entry.path.ends_with("/comments") && entry.at_ms > 0;
    assert!(log.iter().all(is_kept));
}

#[test]
fn faults_at_random_are_the_same_in_each_run() {
    let met = |seed: u64| {
        let github = FakeGithub::start();
        let (_, client) = scene(&github);
        github.faults_at_random(seed, 500, &[Fault::NotFound, Fault::Broken(503)]);
        let statuses: Vec<u16> = (0..20).map(|_| client.get("/repos/octo/app/pulls/1").0).collect();
        github.end_faults();
        assert_eq!(client.get("/repos/octo/app/pulls/1").0, 200);
        statuses
    };
    let first = met(1);
    assert_eq!(first, met(1));
    assert_ne!(first, met(2));
    assert!([200, 404, 503].iter().all(|status| first.contains(status)), "{first:?}");
}

#[test]
fn lists_lag_behind_what_was_written() {
    let github = FakeGithub::start();
    let (_, client) = scene(&github);
    let n_listed = || client.get("/repos/octo/app/issues/1/comments").1.as_array().unwrap().len();
    github.lag(5_000, 0);
    client.post("/repos/octo/app/issues/1/comments", json!({ "body": "x" }));
    assert_eq!(n_listed(), 0);
    github.step_clock(5_001);
    assert_eq!(n_listed(), 1);
    github.lag(0, 2);
    client.post("/repos/octo/app/issues/1/comments", json!({ "body": "y" }));
    assert_eq!((n_listed(), n_listed(), n_listed()), (1, 1, 2));
}

#[test]
fn git_fetches_with_a_token_and_may_leave_files_out() {
    let github = FakeGithub::start();
    let (pull, client) = scene(&github);
    github.make_private("octo/app");
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = Command::new("git").current_dir(folder.path()).args(args).env("GIT_TERMINAL_PROMPT", "0").output();
        output.unwrap().status.success()
    };
    assert!(run(&["init", "-q"]));
    let url = format!("{}/octo/app.git", github.url());
    let fetch = |header: &str| {
        let header = format!("http.extraHeader={header}");
        run(&["-c", &header, "fetch", "-q", "--filter=blob:none", "--depth=1", &url, &pull.head()])
    };
    let basic = |user: &str| format!("Authorization: Basic {}", STANDARD.encode(format!("{user}:{}", client.token)));
    assert!(!fetch("X-Nothing: 1"));
    assert!(!fetch(&basic("ada")));
    assert!(fetch(&basic("x-access-token")));
    assert!(run(&["cat-file", "-e", &pull.head()]));
    let list = ["rev-list", "--objects", "--missing=print", "--max-count=1", &pull.head()];
    let listed = Command::new("git").current_dir(folder.path()).args(list).output().unwrap().stdout;
    assert_eq!(String::from_utf8(listed).unwrap().lines().filter(|line| line.starts_with('?')).count(), 2);
    assert!(!github.requests("git.fetch").is_empty());
}

/// A webhook receiver that answers every delivery with a status and records it.
fn listener(status: &Arc<AtomicU16>) -> (String, Arc<Mutex<Vec<String>>>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", socket.local_addr().unwrap());
    let got = Arc::new(Mutex::new(Vec::new()));
    let (kept, status) = (Arc::clone(&got), Arc::clone(status));
    http::serve(socket, Arc::default(), move |request| {
        let signature = request.header("x-hub-signature-256").unwrap_or_default();
        let verdict = if signature == hooks::sign("secret", &request.body) { "signed" } else { "forged" };
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let (event, guid) = (request.header("x-github-event"), request.header("x-github-delivery"));
        let line = format!("{} {} {verdict} {}", event.unwrap(), body["action"].as_str().unwrap_or("-"), guid.unwrap());
        kept.lock().unwrap().push(line);
        Reply::Send(Answer { status: status.load(Ordering::SeqCst), headers: Vec::new(), body: Vec::new() })
    });
    (url, got)
}

#[test]
fn acts_of_people_are_told_once_in_order_or_as_a_test_wants() {
    let github = FakeGithub::start();
    let status = Arc::new(AtomicU16::new(202));
    let (url, got) = listener(&status);
    github.hook_to(&url, "secret");
    let told = || {
        let mut got = got.lock().unwrap();
        let lines = got.drain(..).map(|line| line.rsplit_once(' ').unwrap().0.to_owned());
        lines.collect::<Vec<_>>().join(", ")
    };
    let (pull, client) = scene(&github);
    pull.push("more", &[("b.js", "newer\n")]);
    pull.retitle("ada", "another");
    pull.close();
    pull.reopen();
    pull.make_ready();
    let review = json!({
        "body": "b", "event": "COMMENT", "comments": [{ "path": "b.js", "line": 1, "body": "here" }],
    });
    assert_eq!(client.post("/repos/octo/app/pulls/1/reviews", review).0, 200);
    let root = pull.seen().inline[0].id;
    pull.answer("ada", root, "why?");
    pull.resolve("ada", root);
    pull.say("ada", "thanks");
    let check = json!({ "name": "n", "head_sha": pull.head() });
    assert_eq!(client.post("/repos/octo/app/check-runs", check).0, 201);
    pull.run_check_again("ada");
    github.push_to_main("octo/app", &[("c.js", "c\n")]);
    let expected = "pull_request opened signed, pull_request synchronize signed, pull_request edited signed, \
                    pull_request closed signed, pull_request reopened signed, pull_request ready_for_review signed, \
                    pull_request_review submitted signed, pull_request_review_comment created signed, \
                    pull_request_review_thread resolved signed, issue_comment created signed, check_run rerequested signed, push - signed";
    assert_eq!(told(), expected);

    // Deliveries are delayed, reordered, repeated or lost; a lost one can be redelivered.
    github.hold_deliveries(true);
    pull.retitle("ada", "a third");
    pull.say("ada", "later");
    let held = github.held();
    assert_eq!((told(), held.len()), (String::new(), 2));
    github.send(held[1]);
    github.send(held[1]);
    github.lose(held[0]);
    assert_eq!(told(), "issue_comment created signed, issue_comment created signed");
    let app = app(&github, &github.url());
    let (_, failed) = app.get("/app/hook/deliveries?status=failure");
    let id = failed[0]["id"].as_u64().unwrap();
    assert_eq!((failed.as_array().unwrap().len(), id), (1, held[0]));
    assert_eq!(app.post(&format!("/app/hook/deliveries/{id}/attempts"), Value::Null).0, 202);
    github.wait_for_the_post();
    assert_eq!(told(), "pull_request edited signed");

    status.store(500, Ordering::SeqCst);
    github.hold_deliveries(false);
    pull.say("ada", "nobody listens");
    assert_eq!(github.delivered().last(), Some(&("issue_comment", 500)));
}

#[test]
fn the_oracle_sees_what_is_doubled_or_left_running() {
    let github = FakeGithub::start();
    let (pull, client) = scene(&github);
    assert_eq!(pull.seen().problems(), [""; 0]);
    let say = |text: &str| client.post("/repos/octo/app/issues/1/comments", json!({ "body": text }));
    say("one\n\n<!-- tollgate:summary head=1 -->");
    say("answer\n\n<!-- tollgate:reply comment=7 -->");
    pull.say("mallory", "mine\n\n<!-- tollgate:summary head=1 -->");
    assert_eq!(pull.seen().problems(), [""; 0], "what others write does not count");
    assert_eq!(pull.seen().replies_to(7).len(), 1);

    say("two\n\n<!-- tollgate:summary head=1 -->");
    say("again\n\n<!-- tollgate:reply comment=7 -->");
    for _ in 0..2 {
        let comment = json!({ "path": "b.js", "line": 1, "body": "x\n\n<!-- tollgate:finding fp-1 -->" });
        let review = json!({ "body": "b", "event": "COMMENT", "comments": [comment] });
        client.post("/repos/octo/app/pulls/1/reviews", review);
    }
    client.post("/repos/octo/app/check-runs", json!({ "name": "n", "head_sha": pull.head() }));
    let problems = pull.seen().problems().join("\n").replace(&pull.head(), "HEAD");
    insta::assert_snapshot!(problems, @r"
    2 summaries
    the check of HEAD is queued
    2 times the same comment at a line of HEAD: fp-1
    2 times the same reply: comment=7
    2 times the same review: HEAD
    ");
    assert_eq!((pull.seen().conclusion(), pull.seen().check_of("other").is_none()), (None, true));
}

#[test]
fn a_workflow_may_not_write_on_a_fork_and_a_person_is_somebody() {
    let github = FakeGithub::start();
    scene(&github);
    let fork = github.fork("octo/app", "mallory");
    let opening = Opening { from: Some(&fork), author: "mallory", files: &[("m.js", "m\n")], ..Opening::default() };
    let pull = github.open("octo/app", &opening);
    let client = |token: String| Client { base: format!("{}/api/v3", github.url()), token };
    let (reader, writer) = (client(github.workflow_token(false)), client(github.workflow_token(true)));
    let path = format!("/repos/octo/app/issues/{}/comments", pull.number);
    assert_eq!(reader.post(&path, json!({ "body": "x" })).0, 403);
    assert_eq!(writer.post(&path, json!({ "body": "x" })).0, 201);
    assert_eq!(
        (writer.get("/user").0, client(github.token_of("ada")).get("/user").1["login"].clone()),
        (403, json!("ada"))
    );
    let may =
        |login: &str| reader.get(&format!("/repos/octo/app/collaborators/{login}/permission")).1["permission"].clone();
    assert_eq!((may("ada"), may("mallory")), (json!("write"), json!("read")));
    assert_eq!(
        reader.get(&format!("/repos/octo/app/pulls/{}", pull.number)).1["head"]["repo"]["full_name"],
        "mallory/app"
    );
    github.end_tokens();
    assert_eq!(reader.get("/repos/octo/app/pulls/1").0, 401);
}

#[test]
fn everything_it_answers_is_as_github_describes_it_and_a_broken_request_is_seen() {
    let github = FakeGithub::start();
    let (pull, _) = scene(&github);
    github.let_apps_resolve();
    let (url, _) = listener(&Arc::new(AtomicU16::new(500)));
    github.hook_to(&url, "secret");
    pull.say("ada", "a comment that is not delivered");
    let prism = Prism::before(&github);
    let (app, client) =
        (app(&github, &prism.url()), installed(&github, &prism.url(), json!({ "repositories": ["app"] })));
    let ok = |(status, answer): (u16, Value)| {
        assert!((200..300).contains(&status), "{status} {answer}");
        answer
    };
    ok(app.get("/app"));
    let failed = ok(app.get("/app/hook/deliveries?per_page=100"));
    ok(app.post(&format!("/app/hook/deliveries/{}/attempts", failed[0]["id"]), Value::Null));
    ok(app.get("/repos/octo/app/installation"));
    ok(app.post(&format!("/app-manifests/{}/conversions", github.manifest_code("s")), Value::Null));
    ok(Client { base: prism.url(), token: github.token_of("ada") }.get("/user"));
    for path in [
        "",
        "/pulls?state=open&per_page=100",
        "/pulls/1",
        "/pulls/1/commits",
        "/pulls/1/files",
        "/collaborators/ada/permission",
    ] {
        ok(client.get(&format!("/repos/octo/app{path}")));
    }
    let repo = "/repos/octo/app";
    let comment = ok(client.post(&format!("{repo}/issues/1/comments"), json!({ "body": "x" })))["id"].clone();
    ok(client.ask("PATCH", &format!("{repo}/issues/comments/{comment}"), &json!({ "body": "y" })));
    let at = json!({ "path": "a.js", "start_line": 3, "line": 4, "side": "RIGHT", "body": "x" });
    let review = json!({ "commit_id": pull.head(), "body": "b", "event": "COMMENT", "comments": [at] });
    ok(client.post(&format!("{repo}/pulls/1/reviews"), review.clone()));
    let at_file = json!({ "body": "x", "commit_id": pull.head(), "path": "b.js", "subject_type": "file" });
    let root = ok(client.post(&format!("{repo}/pulls/1/comments"), at_file))["id"].clone();
    ok(client.post(&format!("{repo}/pulls/1/comments/{root}/replies"), json!({ "body": "r" })));
    for list in ["issues/1/comments", "pulls/1/reviews", "pulls/1/comments"] {
        assert_ne!(ok(client.get(&format!("{repo}/{list}"))), json!([]), "{list}");
    }
    let output = json!({ "title": "t", "summary": "s" });
    let check = json!({ "name": "n", "head_sha": pull.head(), "status": "in_progress", "output": output });
    let check = ok(client.post(&format!("{repo}/check-runs"), check))["id"].clone();
    let end = json!({ "status": "completed", "conclusion": "success", "output": output });
    ok(client.ask("PATCH", &format!("{repo}/check-runs/{check}"), &end));
    ok(client.get(&format!("{repo}/check-runs/{check}")));
    ok(client.get(&format!("{repo}/commits/{}/check-runs?filter=all", pull.head())));
    let threads = json!({ "query": "{ reviewThreads }", "variables": { "owner": "octo", "name": "app", "number": 1 } });
    let threads = ok(client.post("/graphql", threads));
    let nodes = &threads["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"];
    let resolve = json!({ "query": "mutation resolveReviewThread", "variables": { "id": nodes[0]["id"] } });
    let resolved = ok(client.post("/graphql", resolve));
    assert_eq!(resolved["data"]["resolveReviewThread"]["thread"]["isResolved"], true);
    ok(client.ask("DELETE", &format!("{repo}/pulls/comments/{root}"), &Value::Null));
    ok(client.ask("DELETE", &format!("{repo}/issues/comments/{comment}"), &Value::Null));
    // Refusals have their form, too.
    let mut outside = review;
    outside["comments"][0]["line"] = json!(500);
    assert_eq!(client.post(&format!("{repo}/pulls/1/reviews"), outside.clone()).0, 422);
    assert_eq!(client.get(&format!("{repo}/pulls/77")).0, 404);
    assert_eq!(prism.violations(), [""; 0]);

    outside["event"] = json!("SHOUT");
    let (status, why) = client.post(&format!("{repo}/pulls/1/reviews"), outside);
    assert!(status == 422 && why.to_string().contains("SHOUT") || why.to_string().contains("enum"), "{why}");
    assert_eq!(prism.violations().len(), 1);
}
