//! The client of GitHub keeps to GitHub's own description of its API, and gets by when GitHub does not.
//!
//! Everything that a [`Host`] can do is done through Prism, which refuses a request that is not as it is described, and
//! an answer of the fake GitHub that is not.

use std::sync::Arc;

use tollgate_core::finding::Side;
use tollgate_core::pull::Repo;
use tollgate_core::pull::check_run::{Annotation, AnnotationLevel, Conclusion};
use tollgate_core::pull::inline_comment::{InlineComment, LineSpan};
use tollgate_core::sha::Sha;
use tollgate_engine::forge::github::{self, Address, App, AppSettings};
use tollgate_engine::forge::host::{
    CheckUpdate, Host, HostErrorKind, NewCheck, NewReview, Permission, ReviewEvent, Secret,
};

use super::test_server::{BAD, GOOD, TestServer};
use crate::fake_github::{FakeGithub, Fault, Opening, Prism, PullRequest};

const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn repo() -> Repo {
    Repo::parse("octo/app").unwrap()
}

fn scene(github: &FakeGithub) -> PullRequest<'_> {
    github.repository("octo/app", &[("a.js", OLD)]);
    let changed = OLD.replace("\n3\n", "\nthree\nmore\n");
    github.open("octo/app", &Opening { files: &[("a.js", &changed), ("b.js", "new\n")], ..Opening::default() })
}

fn app(github: &FakeGithub, api: &str, resolves_threads: bool) -> App {
    let settings = AppSettings {
        address: Address::parse(&github.url(), Some(api)).unwrap(),
        app_id: github.app_id(),
        key_pem: Secret::new(github.private_key().to_owned()),
        key_from: "a test".to_owned(),
        resolves_threads,
    };
    App::new(settings).unwrap()
}

fn inline(line: Option<u32>) -> InlineComment {
    let at = line.map(|line| LineSpan { start: 3, line, side: Side::Right });
    InlineComment { path: "a.js".to_owned(), at, body: "here".to_owned(), key: "fp-1".to_owned() }
}

#[test]
fn everything_that_is_asked_of_github_is_as_github_describes_it() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    github.hook_to("http://127.0.0.1:1/nobody", "secret");
    let pull = scene(&github);
    let (prism, repo, number) = (Prism::before(&github), repo(), pull.number);
    let head = Sha::parse(&pull.head()).unwrap();
    let app = app(&github, &prism.url(), true);
    let installation = app.installation_of(&repo).unwrap();
    let host = app.host(installation, &repo);

    let me = host.me().unwrap();
    assert_eq!((me.login.as_str(), me.mention.as_str(), me.app), ("tollgate[bot]", "tollgate", Some(github.app_id())));
    let found = host.pull(&repo, number).unwrap();
    assert_eq!((found.head, found.is_open, found.size), (head.clone(), true, (1, 2)));
    assert_eq!(host.open_pulls(&repo, 10).unwrap().len(), 1);
    assert_eq!(host.commits(&repo, number).unwrap()[0].message, "a change");
    assert_eq!(host.permission(&repo, "ada").unwrap(), Permission::Write);
    assert_eq!(host.permission(&repo, "mallory").unwrap(), Permission::Read);

    let comment = host.comment(&repo, number, "hello").unwrap();
    host.edit_comment(&repo, comment, "hello again").unwrap();
    let comments = host.comments(&repo, number).unwrap();
    assert_eq!((comments.len(), comments[0].body.as_str(), me.wrote(&comments[0].author)), (1, "hello again", true));
    host.delete_comment(&repo, comment).unwrap();

    let comments = [inline(Some(3)), inline(Some(4))];
    let review = NewReview { head: &head, body: "words", act: ReviewEvent::RequestChanges, comments: &comments };
    host.review(&repo, number, &review).unwrap();
    let reviews = host.reviews(&repo, number).unwrap();
    assert_eq!((reviews[0].body.as_str(), reviews[0].head.as_ref()), ("words", Some(&head)));
    assert!(me.wrote(&reviews[0].author));
    let at_file = host.comment_at(&repo, number, &head, &inline(None)).unwrap();
    let reply = host.reply(&repo, number, at_file, "and more").unwrap();
    let lines = host.line_comments(&repo, number).unwrap();
    assert_eq!(lines.iter().map(|line| line.answers).collect::<Vec<_>>(), [None, None, None, Some(at_file)]);
    host.delete_line_comment(&repo, reply).unwrap();
    let threads = host.threads(&repo, number).unwrap();
    assert!(threads.len() == 3 && threads[0].may_resolve && threads[0].root == lines[0].id, "{threads:?}");
    host.resolve(&repo, &threads[0].id).unwrap();
    assert!(host.threads(&repo, number).unwrap()[0].is_resolved);

    let details_url = Some("https://tollgate.example/reviews/1");
    let check = NewCheck { head: &head, name: "kodiai", external_id: "x", details_url, says: ("title", "summary") };
    let check = host.begin_check(&repo, &check).unwrap();
    let annotation = Annotation {
        path: "a.js".to_owned(),
        start_line: 3,
        end_line: 4,
        level: AnnotationLevel::Failure,
        title: "t".to_owned(),
        message: "m".to_owned(),
    };
    for (n, conclusion) in [(50, None), (7, Some(Conclusion::ActionRequired))] {
        let update = CheckUpdate { conclusion, says: ("title", "summary"), annotations: &vec![annotation.clone(); n] };
        host.update_check(&repo, check, &update).unwrap();
    }
    let checks = host.checks(&repo, &head, "kodiai").unwrap();
    assert_eq!((checks.len(), checks[0].n_annotations, checks[0].is_completed), (1, 57, true));

    pull.say("ada", "nobody hears this");
    let failed = app.failed_deliveries(0).unwrap();
    assert!(!failed.is_empty());
    app.redeliver(failed[0].id).unwrap();
    let manifest = Address::parse(&github.url(), Some(&prism.url())).unwrap();
    let made = github::convert_manifest(&manifest, &github.manifest_code("hush")).unwrap();
    assert_eq!(made.webhook_secret.expose(), "hush");
    let person = github::with_token(manifest, Some(Secret::new(github.token_of("ada"))), None);
    assert_eq!(person.me().unwrap().login, "ada");

    // Rejections come from the fake GitHub, not from the API description.
    let outside = [inline(Some(9))];
    let refused = host.review(&repo, number, &NewReview { comments: &outside, ..review }).unwrap_err();
    let HostErrorKind::Invalid(words) = &refused.kind else { panic!("{refused:?}") };
    assert!(words.iter().any(|word| word.contains("must be part of the diff")), "{words:?}");
    assert_eq!(host.pull(&repo, 77).unwrap_err().kind, HostErrorKind::NotFound);
    assert_eq!(prism.violations(), [""; 0]);
    assert_eq!(github.n_limited(), 0);
}

#[test]
fn the_whole_flow_is_as_github_describes_it() {
    let github = FakeGithub::start();
    let prism = Prism::before(&github);
    let mut server = TestServer::new(&github, &format!("[github]\napi_url = '{}'\n", prism.url()));
    server.launch(None);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let pull = github.open("octo/app", &Opening { files: &[("a.js", BAD), ("b.js", BAD)], ..Opening::default() });
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.summaries.len(), seen.inline.len()), (Some("failure"), 1, 2));
    let help = pull.say("ada", "@tollgate help");
    server.answered(&pull, help);
    let root = seen.inline.iter().find(|comment| comment.path == "b.js").unwrap().id;
    let dismiss = pull.answer("ada", root, "@tollgate dismiss only our own text");
    server.answered(&pull, dismiss);
    pull.push("fix", &[("a.js", GOOD)]);
    assert_eq!(server.settled(&pull).conclusion(), Some("success"));
    pull.retitle("ada", "[no-review] later");
    pull.push("more", &[("c.js", BAD)]);
    assert_eq!(server.settled(&pull).conclusion(), Some("neutral"));
    assert_eq!(pull.seen().problems(), [""; 0]);
    let names: std::collections::BTreeSet<&str> = github.requests("").iter().map(|entry| entry.name).collect();
    assert!(names.len() > 12, "{names:?}");
    assert_eq!(prism.violations(), [""; 0]);
    println!("{} requests of {} kinds, none against GitHub's description", github.requests("").len(), names.len());
}

fn installed(github: &FakeGithub) -> Arc<dyn Host> {
    app(github, &format!("{}/api/v3", github.url()), false).host(99, &repo())
}

#[test]
fn tokens_are_good_for_one_repository_and_no_more_than_is_needed() {
    let github = FakeGithub::start();
    scene(&github);
    installed(&github).pull(&repo(), 1).unwrap();
    let asked = &github.requests("tokens.create")[0].body;
    insta::assert_snapshot!(
        asked.to_string(),
        @r#"{"repositories":["app"],"permissions":{"checks":"write","contents":"read","issues":"write","metadata":"read","pull_requests":"write"}}"#
    );
}

/// What a comment comes to that meets a fault: whether it is there, and what the client believes.
#[track_caller]
fn check(fault: Fault, n_written: usize, expected: Result<(), HostErrorKind>) {
    let github = FakeGithub::start();
    let pull = scene(&github);
    let host = installed(&github);
    github.fault("comments.create", 0, 1, fault);
    let wrote = host.comment(&repo(), 1, "hello").map(drop).map_err(|error| error.kind);
    assert_eq!((wrote, pull.seen().others.len()), (expected, n_written), "{fault:?}");
}

#[test]
fn the_client_knows_whether_something_was_surely_not_done() {
    check(Fault::Secondary(7), 0, Err(HostErrorKind::Limited { wait_ms: 7_000 }));
    check(Fault::NotFound, 0, Err(HostErrorKind::NotFound));
    check(Fault::Invalid, 0, Err(HostErrorKind::Invalid(vec!["Line could not be resolved".to_owned()])));
    check(Fault::Broken(503), 0, Err(HostErrorKind::Unclear));
    check(Fault::DoneButBroken, 1, Err(HostErrorKind::Unclear));
    check(Fault::DoneButClosed, 1, Err(HostErrorKind::Unclear));
    check(Fault::Silent(std::time::Duration::ZERO), 0, Err(HostErrorKind::Unclear));
    // A new token is fetched: a request rejected with 401 had no effect.
    check(Fault::Unauthorized, 1, Ok(()));
}

#[test]
fn a_clock_that_is_wrong_and_tokens_that_end_early_are_no_hindrance() {
    let github = FakeGithub::start();
    scene(&github);
    for by_ms in [3_600_000, -7_200_000, 90_000_000] {
        github.step_clock(by_ms);
        installed(&github).comment(&repo(), 1, "hello").unwrap();
    }
    let host = installed(&github);
    host.comment(&repo(), 1, "hello").unwrap();
    github.end_tokens();
    host.comment(&repo(), 1, "hello").unwrap();
    let authorization = host.git_authorization(&repo()).unwrap().unwrap();
    assert!(!format!("{authorization:?}").contains("ghs_"), "a secret is never shown");
}
