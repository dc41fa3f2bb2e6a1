//! `create_comment` in the name of an app, at the fake GitHub.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use serde_json::{Value, json};
use tollgate_core::pull::PullRef;
use tollgate_engine::forge::github::{Address, App, AppSettings};
use tollgate_engine::forge::host::Secret;
use tollgate_engine::store::Location;
use tollgate_server::mcp::{AllowedRoots, Mcp, ToolContext};

use super::http::way;
use super::{Agent, Listener, SUMMARY, story};
use crate::desk::Desk;
use crate::fake_github::{FakeGithub, Opening, PullRequest};
use crate::pulls::test_server;
use crate::server_process::{Server, add_project};

fn open(github: &FakeGithub) -> PullRequest<'_> {
    github.repository("octo/app", &[("a.js", "export const one = 1;\n")]);
    github.open("octo/app", &Opening { files: &[("b.js", "export const two = 2;\n")], ..Opening::default() })
}

fn arguments(github: &FakeGithub, pull: &PullRequest<'_>, body: &str) -> Value {
    json!({"body": body, "pull_request": format!("{}/octo/app/pull/{}", github.url(), pull.number)})
}

/// A server with a project whose origin is a repository of the fake GitHub.
fn begin(github: &FakeGithub, origin: &str, is_app: bool) -> (Desk, Server) {
    let desk = Desk::configured("true", &format!("[github]\nurl = '{}'\n", github.url()));
    desk.git(&["remote", "add", "origin", &format!("{}/{origin}.git", github.url())]);
    add_project(&desk);
    if is_app {
        test_server::set_up(&desk, github);
    }
    let server = Server::start_with(&desk, &["--no-work"]);
    (desk, server)
}

#[test]
fn a_server_that_is_an_app_comments_as_the_app_and_needs_no_token() {
    let github = FakeGithub::start();
    let pull = open(&github);
    let here = arguments(&github, &pull, SUMMARY);
    story(async {
        let (desk, server) = begin(&github, "octo/app", true);
        let agent = Agent::new(Listener::default().serve(way(&desk, &server)).await.unwrap()).await;
        for action in ["created", "unchanged"] {
            assert_eq!(agent.data("create_comment", here.clone()).await["action"], action);
        }
    });
    let seen = pull.seen();
    assert_eq!((seen.summaries.len(), seen.others.len()), (0, 1));
    assert!(seen.others[0].body.starts_with("<details>"), "{}", seen.others[0].body);
}

#[test]
fn where_the_app_is_not_installed_an_agent_is_told_so() {
    let github = FakeGithub::start();
    story(async {
        let (desk, server) = begin(&github, "octo/other", true);
        let agent = Agent::new(Listener::default().serve(way(&desk, &server)).await.unwrap()).await;
        let there = json!({"body": "hi", "pull_request": format!("{}/octo/other/pull/1", github.url())});
        let refusal = agent.refusal("create_comment", there).await;
        assert!(refusal.contains("GitHub App of this server is not installed in `octo/other`"), "{refusal}");
    });
}

#[test]
fn without_app_and_token_an_agent_is_told_what_is_missing() {
    let github = FakeGithub::start();
    let pull = open(&github);
    story(async {
        let (desk, server) = begin(&github, "octo/app", false);
        let agent = Agent::new(Listener::default().serve(way(&desk, &server)).await.unwrap()).await;
        let refusal = agent.refusal("create_comment", arguments(&github, &pull, SUMMARY)).await;
        assert!(refusal.contains("neither a GitHub App nor a token"), "{refusal}");
        assert!(refusal.contains("`tollgate github setup`") && refusal.contains("`GITHUB_TOKEN`"), "{refusal}");
    });
    assert!(github.requests("").is_empty(), "{:?}", github.requests(""));
}

/// Tools as a process of its own has them: nothing is shared with others.
fn process(desk: &Desk, github: &FakeGithub) -> Mcp {
    let folders = AllowedRoots::new(&desk.path("project"), &Vec::<PathBuf>::new()).unwrap();
    let store = Location::File(desk.path("data/tollgate/tollgate.db"));
    let context = ToolContext::in_roots(desk.board().home().clone(), store, folders);
    let settings = AppSettings {
        address: Address::parse(&github.url(), None).unwrap(),
        app_id: github.app_id(),
        key_pem: Secret::new(github.private_key().to_owned()),
        key_from: "the test".to_owned(),
        resolves_threads: false,
    };
    let app = App::new(settings).unwrap();
    let connect = move |pull: &PullRef| {
        let installation = app.installation_of(&pull.repo).map_err(|error| error.into_failure())?;
        Ok(Some(app.host(installation, &pull.repo)))
    };
    Mcp::new(context.connecting(Arc::new(connect), Vec::new()))
}

#[test]
fn processes_that_write_at_once_leave_one_comment_although_lists_lag() {
    let github = FakeGithub::start();
    let pull = open(&github);
    let desk = Desk::new("true");
    desk.git(&["remote", "add", "origin", &format!("{}/octo/app.git", github.url())]);
    // Enough calls that concurrent ones do not see each other's comment.
    github.lag(0, 16);
    let bodies: Vec<String> = (0..4).map(|n| SUMMARY.replace("Retries.", &format!("Retries {n}."))).collect();
    let processes: Vec<Mcp> = bodies.iter().map(|_| process(&desk, &github)).collect();
    std::thread::scope(|scope| {
        for (process, body) in processes.iter().zip(&bodies) {
            scope.spawn(|| {
                let made = process.call("create_comment", arguments(&github, &pull, body)).unwrap();
                assert_eq!(made["structuredContent"]["posted"], true, "{made:#}");
            });
        }
    });
    let seen = pull.seen();
    let said: Vec<&str> = seen.others.iter().map(|comment| comment.body.as_str()).collect();
    assert_eq!(said.len(), 1, "{said:#?}");
    // A call that lost the race edited the existing comment.
    assert_eq!(github.requests("comments.edit").len(), processes.len() - 1);
}
