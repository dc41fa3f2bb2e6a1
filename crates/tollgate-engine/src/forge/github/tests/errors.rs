use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use super::peer::Reply;
use super::*;
use crate::forge::host::{Host as _, HostError, HostErrorKind, HostResult};

/// The results of a read and a write for the same repeated response, and the number of requests.
#[track_caller]
fn check(reply: impl Fn() -> Reply, read: (HostErrorKind, usize), write: HostErrorKind) {
    let reader = scene((0..3).map(|_| reply()).collect());
    let error = reader.host.pull(&repo(), 1).unwrap_err();
    assert_eq!((error.kind.clone(), reader.peer.heard().len()), read, "reading: {error}");
    let writer = scene(vec![reply()]);
    let wrong = writer.host.comment(&repo(), 1, "hi").unwrap_err();
    assert_eq!((wrong.kind.clone(), writer.peer.heard().len()), (write, 1), "writing: {wrong}");
    for error in [error, wrong] {
        assert!(!error.message.is_empty() && !error.message.ends_with('.'), "{error}");
        assert!(!format!("{error:?}").contains("Zq7x9"), "{error:?} shows the token");
    }
}

/// The same error for both, without a retry.
#[track_caller]
fn check_refusal(reply: impl Fn() -> Reply, kind: &HostErrorKind) {
    check(reply, (kind.clone(), 1), kind.clone());
}

fn status(status: u16) -> impl Fn() -> Reply {
    move || Reply::json(status, &json!({"message": "no"}))
}

#[test]
fn error_statuses_are_classified() {
    check_refusal(status(401), &HostErrorKind::Unauthorized);
    check_refusal(status(403), &HostErrorKind::Forbidden);
    check_refusal(status(451), &HostErrorKind::Forbidden);
    check_refusal(status(404), &HostErrorKind::NotFound);
    check_refusal(status(410), &HostErrorKind::NotFound);
    check_refusal(status(301), &HostErrorKind::NotFound);
    check_refusal(status(400), &HostErrorKind::Invalid(vec!["no".to_owned()]));
}

#[test]
fn a_failed_write_is_unclear_and_a_failed_read_is_retried() {
    for code in [500, 502, 503, 504, 408] {
        check(status(code), (HostErrorKind::Unavailable, 3), HostErrorKind::Unclear);
    }
    check(|| Reply::HangsUp, (HostErrorKind::Unavailable, 3), HostErrorKind::Unclear);
    // A conflict surely had no effect.
    check(status(409), (HostErrorKind::Unavailable, 3), HostErrorKind::Unavailable);
}

#[test]
fn an_unreadable_response_is_not_retried() {
    let says = |body: &'static str| move || Reply::Says(200, String::new(), body.to_owned());
    for body in ["", "<html>", "{\"id\":\"x\"}", "[]", "{\"id\":1", "null"] {
        check(says(body), (HostErrorKind::Nonsense, 1), HostErrorKind::Unclear);
    }
    check(|| Reply::Long((10 << 20) + 1), (HostErrorKind::Nonsense, 1), HostErrorKind::Unclear);
}

#[test]
fn rate_limits_are_recognized() {
    let limited = |wait_ms: u64| HostErrorKind::Limited { wait_ms };
    check_refusal(|| status(429)().with("retry-after: 7"), &limited(7_000));
    check_refusal(|| status(403)().with("retry-after: 7"), &limited(7_000));
    check_refusal(status(429), &limited(60_000));
    let reset = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1700000090";
    check_refusal(|| status(403)().with(reset), &limited(90_000));
    // GitHub's `Date` header overrides our clock.
    let date = "date: Tue, 14 Nov 2023 22:14:20 GMT";
    check_refusal(|| status(403)().with(reset).with(date), &limited(30_000));
    check_refusal(|| status(403)().with("retry-after: 999999999999"), &limited(61 * 60_000));
    check_refusal(
        || status(403)().with("x-ratelimit-remaining: 12\r\nx-ratelimit-reset: 1"),
        &HostErrorKind::Forbidden,
    );
    let says = |code: u16, message: &'static str| move || Reply::json(code, &json!({"message": message}));
    check_refusal(says(403, "You have exceeded a secondary rate limit. Please wait."), &limited(60_000));
    check_refusal(says(422, "was submitted too quickly"), &limited(60_000));
}

#[test]
fn no_request_is_sent_during_a_rate_limit() {
    let limited = Reply::json(403, &json!({"message": "secondary rate limit"})).with("retry-after: 30");
    let scene = scene(vec![limited, Reply::json(201, &json!({"id": 5}))]);
    scene.host.comment(&repo(), 1, "hi").unwrap_err();
    let wait = |asked: HostResult<u64>| asked.map_err(|error| error.kind);
    assert_eq!(wait(scene.host.comment(&repo(), 1, "hi")), Err(HostErrorKind::Limited { wait_ms: 30_000 }));
    assert_eq!(scene.peer.heard().len(), 1);
    scene.clock.advance(25_000);
    assert_eq!(wait(scene.host.comment(&repo(), 1, "hi")), Ok(5));
    assert_eq!(scene.clock.waited(), 5_000);
}

#[test]
fn the_messages_of_a_rejection_are_kept() {
    let words = |errors: serde_json::Value| {
        let scene = scene(vec![Reply::json(422, &json!({"message": "Validation Failed", "errors": errors}))]);
        let HostError { kind, message } = scene.host.comment(&repo(), 1, "hi").unwrap_err();
        let HostErrorKind::Invalid(words) = kind else { panic!("{kind:?}") };
        format!("{}\n{message}", words.join(" | "))
    };
    assert_snapshot!(words(json!(["Line could not be resolved", "Path could\nnot be resolved"])), @r"
    Line could not be resolved | Path could not be resolved
    `POST /repos/octo/hello/issues/1/comments` was refused (HTTP 422): “Validation Failed; Line could not be resolved; Path could not be resolved”
    ");
    let fields = json!([{"resource": "Comment", "field": "body", "code": "missing"}, {"message": "too long"}, 7, {}]);
    assert_snapshot!(words(fields), @r"
    Comment body missing | too long
    `POST /repos/octo/hello/issues/1/comments` was refused (HTTP 422): “Validation Failed; Comment body missing; too long”
    ");
    assert_snapshot!(words(json!("one \u{202e} word")), @r"
    one \u{202e} word
    `POST /repos/octo/hello/issues/1/comments` was refused (HTTP 422): “Validation Failed; one \u{202e} word”
    ");
    assert_snapshot!(words(json!(null)), @r"
    Validation Failed
    `POST /repos/octo/hello/issues/1/comments` was refused (HTTP 422): “Validation Failed”
    ");
}

#[test]
fn quoted_messages_never_contain_the_token() {
    let quoted = json!({"message": format!("bad token {TOKEN}"), "errors": [TOKEN]});
    let scene = scene(vec![Reply::json(422, &quoted), Reply::json(500, &quoted)]);
    for error in [scene.host.comment(&repo(), 1, "hi"), scene.host.comment(&repo(), 1, "hi")] {
        let shown = format!("{error:?}");
        assert!(shown.contains("[hidden key]") && !shown.contains("Zq7x9"), "{shown}");
    }
}

#[test]
fn a_refused_connection_is_known_to_have_no_effect() {
    let mut scene = scene(Vec::new());
    let address = scene.peer.address();
    scene.peer = Peer::playing(Vec::new());
    let client = Client::new(address.clone(), scene.clock.clone());
    let role = AuthMode::Holder { token: None, me: OnceLock::new() };
    let host = GithubHost::new(client, Arc::new(Limits::default()), role);
    let error = host.comment(&repo(), 1, "hi").unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Unavailable, "it was surely not written");
    let message = error.message.replace(address.api(), "ADDRESS");
    assert_snapshot!(message, @"GitHub cannot be reached at ADDRESS: Connection refused (os error 111)");
}

#[test]
fn a_silent_server_times_out() {
    let (peer, clock) = (Peer::playing(vec![Reply::Silent, Reply::Silent]), Arc::new(StillClock::at(NOW_MS)));
    let client = Client { patience: Duration::from_millis(50), ..Client::new(peer.address(), clock.clone()) };
    let role = AuthMode::Holder { token: Some(Secret::new(TOKEN.to_owned())), me: OnceLock::new() };
    let host = GithubHost::new(client, Arc::new(Limits::default()), role);
    let error = host.comment(&repo(), 1, "hi").unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Unclear);
    assert_snapshot!(error, @"`POST /repos/octo/hello/issues/1/comments` was not answered within 1 s");
    assert_eq!(host.pull(&repo(), 1).unwrap_err().kind, HostErrorKind::Unavailable);
}

#[test]
fn a_read_succeeds_at_the_third_attempt() {
    let scene = scene(vec![status(502)(), Reply::HangsUp, Reply::json(200, &json!({"permission": "admin"}))]);
    assert!(scene.host.permission(&repo(), "ann").is_ok());
    assert_eq!(scene.peer.heard().len(), 3);
    assert!(scene.clock.waited() <= 3_000, "{}", scene.clock.waited());
}

#[test]
fn redirects_are_not_followed() {
    let scene = scene(vec![status(302)().with("location: http://127.0.0.1:1/elsewhere")]);
    let error = scene.host.pull(&repo(), 1).unwrap_err();
    assert_snapshot!(error, @"`GET /repos/octo/hello/pulls/1` has moved elsewhere (HTTP 302): “no”");
    assert_eq!(scene.peer.heard().len(), 1);
}
