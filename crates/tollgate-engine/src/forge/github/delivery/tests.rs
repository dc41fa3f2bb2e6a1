use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::pull::check_run::check_external_id;
use tollgate_core::pull::webhook_event::{CommentRef, PullEvent, WebhookEventKind};
use tollgate_core::sha::Sha;

use super::read;

/// The parsed delivery in one line.
fn understood(event: &str, body: &str) -> String {
    let ask = match read(event, body.as_bytes(), "gate") {
        Ok(Some(ask)) => ask,
        Ok(None) => return "nothing".to_owned(),
        Err(bad) => return format!("bad: {bad}"),
    };
    let installation = ask.installation.map_or_else(String::new, |id| format!(" by {id}"));
    let what = match ask.what {
        WebhookEventKind::Pull { repo, number, about } => format!("{repo}#{number} {}", words(&about)),
        WebhookEventKind::Pushed { repo, branch } => format!("{repo} pushed to {branch}"),
        WebhookEventKind::Removed { repos } => {
            let repos: Vec<String> = repos.iter().map(ToString::to_string).collect();
            format!("removed from [{}]", repos.join(" "))
        }
    };
    format!("{what}{installation}")
}

fn words(about: &PullEvent) -> String {
    match about {
        PullEvent::Changed { head } => format!("changed to {}", head.as_ref().map_or("?", Sha::short)),
        PullEvent::ReviewRequested { by } => format!("again for {}", by.login),
        PullEvent::Closed => "closed".to_owned(),
        PullEvent::Commanded { by, comment: CommentRef::Conversation(comment), command } => {
            format!("{} says {command:?} in {comment}", by.login)
        }
        PullEvent::Commanded { by, comment: CommentRef::Thread { comment, root }, command } => {
            format!("{} says {command:?} in {comment} under {root}", by.login)
        }
        PullEvent::Thread { by, comment, resolved } => format!("thread {comment} resolved {resolved} by {}", by.login),
    }
}

/// A delivery about `octo/hello`, with an installation, a sender, and the given fields.
fn with(mut fields: Value) -> String {
    let more = json!({
        "repository": {"id": 1, "full_name": "octo/hello", "owner": {"login": "octo"}},
        "installation": {"id": 34, "node_id": "x"},
        "sender": {"login": "ann", "type": "User", "id": 1},
    });
    for (name, value) in more.as_object().unwrap() {
        fields.as_object_mut().unwrap().entry(name.as_str()).or_insert(value.clone());
    }
    fields.to_string()
}

#[track_caller]
fn check(event: &str, fields: Value, expected: &str) {
    assert_eq!(understood(event, &with(fields)), expected);
}

fn pull() -> Value {
    json!({"number": 12, "title": "x", "head": {"sha": "a".repeat(40), "ref": "t", "repo": null}, "base": {"sha": "b"}})
}

fn on_pull(action: &str, more: &Value) -> Value {
    let mut fields = json!({"action": action, "number": 12, "pull_request": pull()});
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

#[test]
fn a_changed_pull_request_is_enqueued() {
    for action in ["opened", "reopened", "ready_for_review", "synchronize", "converted_to_draft"] {
        check("pull_request", on_pull(action, &json!({})), "octo/hello#12 changed to aaaaaaa by 34");
    }
    check("pull_request", on_pull("closed", &json!({})), "octo/hello#12 closed by 34");
    for action in ["assigned", "labeled", "locked", "auto_merge_enabled", "enqueued", "unheard_of"] {
        check("pull_request", on_pull(action, &json!({})), "nothing");
    }
}

#[test]
fn an_edit_matters_when_the_title_or_the_base_changed() {
    let edited = |changes: Value| on_pull("edited", &json!({"changes": changes}));
    check("pull_request", edited(json!({"title": {"from": "y"}})), "octo/hello#12 changed to aaaaaaa by 34");
    check("pull_request", edited(json!({"base": {"ref": {}}})), "octo/hello#12 changed to aaaaaaa by 34");
    check("pull_request", edited(json!({"body": {"from": "y"}})), "nothing");
    check("pull_request", on_pull("edited", &json!({})), "nothing");
}

#[test]
fn a_review_request_repeats_the_review() {
    let of = |login: &str| on_pull("review_requested", &json!({"requested_reviewer": {"login": login}}));
    check("pull_request", of("gate[bot]"), "octo/hello#12 again for ann by 34");
    check("pull_request", of("Gate"), "octo/hello#12 again for ann by 34");
    check("pull_request", of("ben"), "nothing");
    check("pull_request", on_pull("review_requested", &json!({"requested_team": {"name": "gate"}})), "nothing");
}

fn comment(body: Value, user: Value) -> Value {
    json!({"id": 77, "body": body, "user": user, "in_reply_to_id": 70})
}

fn ann() -> Value {
    json!({"login": "ann", "type": "User"})
}

#[test]
fn comments_are_commands_on_pull_requests_only() {
    let on = |issue: Value, action: &str| json!({"action": action, "issue": issue, "comment": comment(json!("@gate review"), ann())});
    let pull = json!({"number": 12, "pull_request": {"url": "x"}});
    check("issue_comment", on(pull.clone(), "created"), "octo/hello#12 ann says Review in 77 by 34");
    check("issue_comment", on(pull.clone(), "edited"), "nothing");
    check("issue_comment", on(pull, "deleted"), "nothing");
    check("issue_comment", on(json!({"number": 12}), "created"), "nothing");
}

#[test]
fn comments_of_bots_and_without_a_mention_are_ignored() {
    let said = |body: Value, user: Value| {
        let issue = json!({"number": 12, "pull_request": {}});
        json!({"action": "created", "issue": issue, "comment": comment(body, user)})
    };
    check("issue_comment", said(json!("@gate review"), json!({"login": "x", "type": "Bot"})), "nothing");
    check("issue_comment", said(json!("@gate review"), json!({"login": "gate[bot]"})), "nothing");
    check("issue_comment", said(json!("thanks @gate"), ann()), "nothing");
    check("issue_comment", said(json!(null), ann()), "nothing");
    check("issue_comment", said(json!("@gate help"), json!(null)), "octo/hello#12 ghost says Help in 77 by 34");
    // Escapes in the event's texts are decoded.
    let dismissed = "octo/hello#12 ann says Dismiss { finding: Some(\"F003\"), reason: \"a \\\"constant\\\"\", everywhere: false } in 77 by 34";
    check("issue_comment", said(json!("@gate dismiss F003 a \"constant\""), ann()), dismissed);
}

#[test]
fn a_comment_at_a_line_names_its_thread() {
    let mut said = comment(json!("@gate explain"), ann());
    let fields = |comment: &Value| on_pull("created", &json!({"comment": comment}));
    let answer = "octo/hello#12 ann says Explain { finding: None } in 77 under 70 by 34";
    check("pull_request_review_comment", fields(&said), answer);
    said.as_object_mut().unwrap().remove("in_reply_to_id");
    let first = "octo/hello#12 ann says Explain { finding: None } in 77 under 77 by 34";
    check("pull_request_review_comment", fields(&said), first);
    check("pull_request_review_comment", on_pull("deleted", &json!({"comment": said})), "nothing");
}

#[test]
fn the_text_of_a_review_may_be_a_command() {
    let review = |body: Value| json!({"review": {"id": 5, "body": body, "user": ann(), "state": "approved"}});
    let said = "octo/hello#12 ann says Pause in 5 by 34";
    check("pull_request_review", on_pull("submitted", &review(json!("@gate pause"))), said);
    check("pull_request_review", on_pull("submitted", &review(json!(null))), "nothing");
    check("pull_request_review", on_pull("dismissed", &review(json!("@gate pause"))), "nothing");
}

#[test]
fn threads_are_resolved_and_opened_again() {
    let thread = |action: &str, comments: Value| on_pull(action, &json!({"thread": {"comments": comments}}));
    let began = || json!([{"id": 70}, {"id": 77}]);
    let of = "pull_request_review_thread";
    check(of, thread("resolved", began()), "octo/hello#12 thread 70 resolved true by ann by 34");
    check(of, thread("unresolved", began()), "octo/hello#12 thread 70 resolved false by ann by 34");
    check(of, thread("resolved", json!([])), "nothing");
}

#[test]
fn a_push_to_a_branch_may_move_a_base() {
    check("push", json!({"ref": "refs/heads/feat/x", "deleted": false}), "octo/hello pushed to feat/x by 34");
    check("push", json!({"ref": "refs/heads/x", "deleted": true}), "nothing");
    check("push", json!({"ref": "refs/tags/v1"}), "nothing");
    check("push", json!({"ref": "refs/heads/"}), "nothing");
    let long = format!("refs/heads/{}", "x".repeat(1025));
    check("push", json!({"ref": long}), "bad: the delivery cannot be read: the name of the branch is too long");
}

#[test]
fn our_checks_can_be_rerun() {
    let run = |slug: Value, pulls: Value, id: Value| {
        let check = json!({"app": {"slug": slug}, "pull_requests": pulls, "external_id": id});
        json!({"action": "rerequested", "check_run": check, "check_suite": check})
    };
    let end = |repo: u64| json!({"ref": "x", "sha": "c", "repo": {"id": repo, "name": "hello"}});
    let pull = |number: u64, base: u64| json!({"number": number, "head": end(1), "base": end(base)});
    let pulls = || json!([pull(9, 2), pull(12, 1), pull(13, 1)]);
    for event in ["check_run", "check_suite"] {
        check(event, run(json!("gate"), pulls(), json!("")), "octo/hello#12 again for ann by 34");
        check(event, run(json!(null), pulls(), json!(null)), "octo/hello#12 again for ann by 34");
        check(event, run(json!("other"), pulls(), json!("")), "nothing");
        check(event, run(json!("gate"), json!([]), json!("")), "nothing");
    }
    // GitHub does not list a pull request from a fork; our external ID identifies it.
    let ours = json!(check_external_id(21, &Sha::null()));
    check("check_run", run(json!("gate"), json!([]), ours), "octo/hello#21 again for ann by 34");
    let mut ended = run(json!("gate"), pulls(), json!(""));
    ended["action"] = json!("completed");
    check("check_run", ended, "nothing");
}

#[test]
fn a_removed_app_drops_its_pull_requests() {
    let of = |action: &str| json!({"action": action, "repositories": [{"full_name": "octo/hello"}]});
    check("installation", of("deleted"), "removed from [] by 34");
    check("installation", of("suspend"), "removed from [] by 34");
    check("installation", of("created"), "nothing");
    let removed = |action: &str, repos: Value| json!({"action": action, "repositories_removed": repos});
    let two = json!([{"full_name": "octo/a"}, {"full_name": "octo/.github"}]);
    check("installation_repositories", removed("removed", two.clone()), "removed from [octo/a octo/.github] by 34");
    check("installation_repositories", removed("added", two), "nothing");
    // An empty list is not the whole installation.
    check("installation_repositories", removed("removed", json!([])), "nothing");
}

#[test]
fn other_events_are_ignored() {
    for event in ["ping", "star", "workflow_run", "", "PULL_REQUEST"] {
        check(event, json!({"action": "opened"}), "nothing");
    }
    check("installation", json!({"action": "new_permissions_accepted"}), "nothing");
}

#[test]
fn an_unreadable_delivery_is_rejected_with_a_reason() {
    let bad = |body: &str| understood("pull_request", body);
    assert_snapshot!(bad(""), @"bad: the delivery cannot be read: it is not a JSON object");
    assert_snapshot!(bad("[\"opened\"]"), @"bad: the delivery cannot be read: it is not a JSON object");
    assert_snapshot!(bad("{\"action\":\"opened\"}"), @"bad: the delivery has no `pull_request`");
    assert_snapshot!(bad("{\"action\":\"opened\"} x"), @"bad: the delivery cannot be read: trailing characters at line 1 column 21");
    assert_snapshot!(bad(&with(json!({"action": 1}))), @"bad: the delivery cannot be read: invalid type: integer `1`, expected a string at line 1 column 11");
    let deep = format!("{{\"action\":\"opened\",\"x\":{}}}", "[".repeat(3_000));
    assert_snapshot!(bad(&deep), @"bad: the delivery is nested deeper than 32 levels");
    assert_snapshot!(understood("ping", &deep), @"bad: the delivery is nested deeper than 32 levels");
    let mut nowhere = on_pull("opened", &json!({"repository": {"id": 1, "full_name": "../../etc"}}));
    assert_snapshot!(bad(&with(nowhere.clone())), @"bad: the delivery makes no sense: `../../etc` is not the name of a repository, which is `owner/name`");
    nowhere["pull_request"]["head"]["sha"] = json!("main");
    assert_snapshot!(bad(&with(nowhere)), @"bad: the delivery makes no sense: expected 40 or 64 hex digits, found `main`");
}

#[test]
fn duplicate_keys_are_rejected() {
    let twice = with(on_pull("opened", &json!({})));
    for (name, value) in [("action", "\"closed\""), ("repository", "{\"full_name\":\"a/b\"}"), ("installation", "null")]
    {
        let body = format!("{{\"{name}\":{value},{}", &twice[1..]);
        let said = format!("bad: the delivery cannot be read: duplicate field `{name}`");
        assert!(understood("pull_request", &body).starts_with(&said), "{body}");
    }
    let inner = twice.replace("{\"number\":12,", "{\"number\":13,\"number\":12,");
    assert_ne!(inner, twice);
    assert!(understood("pull_request", &inner).contains("duplicate field `number`"));
}

proptest! {
    #[test]
    fn any_bytes_are_handled_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), event in 0usize..10) {
        let events = ["pull_request", "issue_comment", "pull_request_review_comment", "pull_request_review",
            "pull_request_review_thread", "push", "check_run", "check_suite", "installation",
            "installation_repositories"];
        let _ = read(events[event], &bytes, "gate");
    }

    #[test]
    fn a_truncated_delivery_is_rejected(cut in 1usize..500) {
        let whole = with(on_pull("opened", &json!({})));
        let cut = cut.min(whole.len());
        prop_assert!(read("pull_request", &whole.as_bytes()[..whole.len() - cut], "gate").is_err());
    }
}

#[test]
fn invalid_utf_8_anywhere_is_refused() {
    let mut body = br#"{"action":"created","zen":"x","pull_request":{"body":"x"}}"#.to_vec();
    for event in ["pull_request", "push", "star"] {
        assert!(super::check_text(&body).is_ok());
        for at in 0..body.len() {
            let kept = std::mem::replace(&mut body[at], 0xff);
            let bad = super::read(event, &body, "@tollgate").unwrap_err();
            assert!(bad.to_string().contains("not valid UTF-8"), "{event} at {at}: {bad}");
            body[at] = kept;
        }
    }
}
