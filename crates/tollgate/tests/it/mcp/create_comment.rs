//! `create_comment`, on a wall that stands for a pull request.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::pull::{PullRef, Repo};
use tollgate_core::sha::Sha;
use tollgate_engine::forge::github::{self, Address};
use tollgate_engine::forge::host::{
    Author, BotIdentity, Check, CheckUpdate, Comment, Host, HostError, HostErrorKind, HostResult, NewCheck, NewReview,
    Permission, PostedReview, Pull, PullCommit, Secret, Thread,
};
use tollgate_engine::store::Location;
use tollgate_server::mcp::{AllowedRoots, Mcp, ToolContext};

use super::stdio::Session;
use super::{SUMMARY, story};
use crate::desk::Desk;
use crate::fake_github::{FakeGithub, Opening};
use crate::scratch::Scratch;

const PULL: &str = "https://github.com/a/b/pull/1";

/// Comments, and nothing else.
#[derive(Default)]
struct Wall {
    comments: Mutex<Vec<Comment>>,
    is_shut: bool,
}

fn no<T>() -> HostResult<T> {
    Err(HostError::new(HostErrorKind::Unavailable, "the host is away"))
}

impl Host for Wall {
    fn me(&self) -> HostResult<BotIdentity> {
        Ok(BotIdentity { login: "tollgate[bot]".to_owned(), mention: "tollgate".to_owned(), app: None })
    }
    fn comments(&self, _: &Repo, _: u64) -> HostResult<Vec<Comment>> {
        let there = self.comments.lock().unwrap().clone();
        // Other readers see it now.
        (0..100).for_each(|_| std::thread::yield_now());
        if self.is_shut { no() } else { Ok(there) }
    }
    fn comment(&self, _: &Repo, _: u64, body: &str) -> HostResult<u64> {
        let mut comments = self.comments.lock().unwrap();
        let id = comments.len() as u64 + 1;
        // As a host writes it.
        comments.push(Comment { id, author: author("tollgate[bot]"), body: body.replace('\n', "\r\n"), answers: None });
        Ok(id)
    }
    fn edit_comment(&self, _: &Repo, comment: u64, body: &str) -> HostResult<()> {
        let mut comments = self.comments.lock().unwrap();
        comments.iter_mut().find(|known| known.id == comment).unwrap().body = body.to_owned();
        Ok(())
    }
    fn pull(&self, _: &Repo, _: u64) -> HostResult<Pull> {
        no()
    }
    fn open_pulls(&self, _: &Repo, _: usize) -> HostResult<Vec<Pull>> {
        no()
    }
    fn commits(&self, _: &Repo, _: u64) -> HostResult<Vec<PullCommit>> {
        no()
    }
    fn permission(&self, _: &Repo, _: &str) -> HostResult<Permission> {
        no()
    }
    fn reviews(&self, _: &Repo, _: u64) -> HostResult<Vec<PostedReview>> {
        no()
    }
    fn line_comments(&self, _: &Repo, _: u64) -> HostResult<Vec<Comment>> {
        no()
    }
    fn threads(&self, _: &Repo, _: u64) -> HostResult<Vec<Thread>> {
        no()
    }
    fn checks(&self, _: &Repo, _: &Sha, _: &str) -> HostResult<Vec<Check>> {
        no()
    }
    fn delete_comment(&self, _: &Repo, _: u64) -> HostResult<()> {
        no()
    }
    fn review(&self, _: &Repo, _: u64, _: &NewReview<'_>) -> HostResult<u64> {
        no()
    }
    fn comment_at(&self, _: &Repo, _: u64, _: &Sha, _: &InlineComment) -> HostResult<u64> {
        no()
    }
    fn delete_line_comment(&self, _: &Repo, _: u64) -> HostResult<()> {
        no()
    }
    fn reply(&self, _: &Repo, _: u64, _: u64, _: &str) -> HostResult<u64> {
        no()
    }
    fn resolve(&self, _: &Repo, _: &str) -> HostResult<()> {
        no()
    }
    fn unresolve(&self, _: &Repo, _: &str) -> HostResult<()> {
        no()
    }
    fn begin_check(&self, _: &Repo, _: &NewCheck<'_>) -> HostResult<u64> {
        no()
    }
    fn update_check(&self, _: &Repo, _: u64, _: &CheckUpdate<'_>) -> HostResult<()> {
        no()
    }
    fn clone_url(&self, _: &Repo) -> String {
        String::new()
    }
    fn git_authorization(&self, _: &Repo) -> HostResult<Option<Secret>> {
        no()
    }
}

fn author(login: &str) -> Author {
    Author { login: login.to_owned(), app: None, is_bot: true }
}

/// A project whose origin is the repository of the pull request.
fn desk() -> Desk {
    let desk = Desk::new("");
    desk.git(&["remote", "add", "origin", "git@github.com:A/b.git"]);
    desk
}

/// Tools that reach a wall.
fn tools(desk: &Desk, wall: &Arc<Wall>) -> Mcp {
    let board = desk.board();
    let folders = AllowedRoots::new(&desk.path("project"), &Vec::<PathBuf>::new()).unwrap();
    let context =
        ToolContext::in_roots(board.home().clone(), Location::File(desk.path("data/tollgate/tollgate.db")), folders);
    let wall = Arc::clone(wall);
    let connect = Arc::new(move |_: &PullRef| Ok(Some(Arc::clone(&wall) as Arc<dyn Host>)));
    Mcp::new(context.connecting(connect, vec![Repo::parse("upstream/b").unwrap()]))
}

fn create(mcp: &Mcp, body: &str) -> Value {
    mcp.call("create_comment", json!({"body": body, "pull_request": PULL})).unwrap()
}

#[test]
fn a_comment_is_posted_once_and_a_new_summary_replaces_the_old_one() {
    let (desk, wall) = (desk(), Arc::new(Wall::default()));
    let mcp = tools(&desk, &wall);
    let action = |body: &str| {
        let made = create(&mcp, body);
        assert_eq!(made["isError"], false, "{made:#}");
        (made["structuredContent"]["action"].clone(), made["structuredContent"]["comment"].clone())
    };
    assert_eq!(action(SUMMARY), (json!("created"), json!(1)));
    assert_eq!(action(SUMMARY), (json!("unchanged"), json!(1)));
    assert_eq!(action(&SUMMARY.replace("Retries.", "Retries twice.")), (json!("updated"), json!(1)));
    assert_eq!(action("Thanks!"), (json!("created"), json!(2)));
    assert_eq!(action("Thanks!\n"), (json!("unchanged"), json!(2)));
    assert_eq!(action("Thanks again!"), (json!("created"), json!(3)));
    let bodies: Vec<String> = wall.comments.lock().unwrap().iter().map(|comment| comment.body.clone()).collect();
    assert!(
        bodies[0].contains("Retries twice.") && bodies[0].ends_with("<!-- tollgate:agent summary -->"),
        "{bodies:?}"
    );
    // With its mark it keeps the rules, too.
    let checked = mcp.call("check_comment", json!({"body": bodies[0]})).unwrap();
    assert_eq!(checked["structuredContent"]["valid"], true, "{checked:#}");
}

#[test]
fn many_at_once_post_one_comment() {
    let (desk, wall) = (desk(), Arc::new(Wall::default()));
    let mcp = tools(&desk, &wall);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| create(&mcp, SUMMARY));
        }
    });
    assert_eq!(wall.comments.lock().unwrap().len(), 1);
}

#[test]
fn a_mark_in_a_comment_of_somebody_else_does_not_count() {
    let (desk, wall) = (desk(), Arc::new(Wall::default()));
    let body = format!("{SUMMARY}\n<!-- tollgate:agent summary -->");
    wall.comments.lock().unwrap().push(Comment { id: 1, author: author("mallory"), body, answers: None });
    let made = create(&tools(&desk, &wall), SUMMARY);
    assert_eq!(made["structuredContent"]["action"], "created");
}

#[test]
fn invalid_comments_are_not_posted() {
    let (desk, wall) = (desk(), Arc::new(Wall::default()));
    let mcp = tools(&desk, &wall);
    for (body, words) in [
        ("hi <!-- tollgate:summary -->", "by which tollgate's own comments are known"),
        ("hi <!--\n ToLLgate:summary", "by which tollgate's own comments are known"),
        (" \n", "between 1 and"),
        (&"x".repeat(70_000), "between 1 and"),
        (&SUMMARY.replace("## Verdict", "## Opinion"), "breaks its rules"),
    ] {
        let made = create(&mcp, body);
        assert_eq!(made["isError"], true, "{made:#}");
        let said = made["content"][0]["text"].as_str().unwrap();
        assert!(said.contains(words) && said.len() < 2000, "{said}");
    }
    let elsewhere = mcp.call("create_comment", json!({"body": "hi", "pull_request": "file:///etc/pull/1"})).unwrap();
    assert!(elsewhere["content"][0]["text"].as_str().unwrap().contains("is not the address of a pull request"));
    assert!(wall.comments.lock().unwrap().is_empty());
}

#[test]
fn a_host_that_is_away_is_an_answer_with_what_to_do_next() {
    let (desk, wall) = (desk(), Arc::new(Wall { is_shut: true, ..Wall::default() }));
    let made = create(&tools(&desk, &wall), "hi");
    assert_eq!(
        (&made["isError"], &made["content"][0]["text"]),
        (&json!(true), &json!("the host is away\nTry again later."))
    );
}

#[test]
fn pull_requests_of_other_repositories_are_commented_on_only_if_the_operator_says_so() {
    let (desk, wall) = (desk(), Arc::new(Wall::default()));
    let mcp = tools(&desk, &wall);
    let create = |address: &str| mcp.call("create_comment", json!({"body": "hi", "pull_request": address})).unwrap();
    for other in ["https://github.com/mallory/b/pull/1", "https://evil.example/a/b/pull/1"] {
        let refused = create(other);
        let said = refused["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("and this is `github.com/") && said.contains("--post-to"), "{said}");
    }
    assert!(wall.comments.lock().unwrap().is_empty());
    assert_eq!(create("https://github.com/upstream/b/pull/1")["structuredContent"]["posted"], true);
}

#[test]
fn a_token_in_the_environment_posts_where_the_operator_configured_and_nowhere_else() {
    let github = FakeGithub::start();
    github.repository("octo/app", &[("a.js", "export const one = 1;\n")]);
    let pull =
        github.open("octo/app", &Opening { files: &[("b.js", "export const two = 2;\n")], ..Opening::default() });
    let (address, token) = (format!("{}/octo/app/pull/{}", github.url(), pull.number), github.token_of("ada"));
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.git(&["remote", "add", "origin", &format!("{}/octo/app.git", github.url())]);
        let here = json!({"body": SUMMARY, "pull_request": address});
        let elsewhere = Session::start_with(&scratch, &[], &[("GITHUB_TOKEN", &token)]).await;
        let refusal = elsewhere.agent.refusal("create_comment", here.clone()).await;
        assert!(refusal.contains("neither a GitHub App nor a token for `http://127.0.0.1"), "{refusal}");
        scratch.configure(&format!("[github]\nurl = '{}'\n", github.url()));
        let session = Session::start_with(&scratch, &[], &[("GITHUB_TOKEN", &token)]).await;
        for action in ["created", "unchanged"] {
            assert_eq!(session.agent.data("create_comment", here.clone()).await["action"], action);
        }
    });
    let host = github::with_token(Address::parse(&github.url(), None).unwrap(), Some(Secret::new(token)), None);
    let comments = host.comments(&Repo::parse("octo/app").unwrap(), pull.number).unwrap();
    assert_eq!(comments.len(), 1);
    assert!(comments[0].body.starts_with("<details>") && comments[0].author.login == "ada", "{comments:?}");
}
