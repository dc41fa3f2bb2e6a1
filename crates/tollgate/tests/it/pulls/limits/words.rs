//! Long titles, texts, comments and lines.
//!
//! GitHub accepts less than this today; its limits may change, and other forges have others.

use super::super::test_server::{BAD, TestServer};
use super::{START, outcome};
use crate::fake_github::{FakeGithub, Opening};

/// So many characters, some of which take more than one byte.
fn long(words: &str) -> String {
    words.chars().cycle().take(100_000).collect()
}

#[test]
fn words_of_any_length_are_read_to_their_end_and_what_is_answered_is_short() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", START);
    let title = format!("feat: {} [strict-review]", long("größer "));
    let body = format!("{}\n\nBREAKING CHANGE: all of it\n", long("wörter und `code`\n\n> quoted\n\n"));
    let line = format!("{} // {}\n", BAD.trim_end(), long("ä"));
    let files = [("a.js", line.as_str())];
    let opening = Opening { title: &title, body: Some(&body), files: &files, ..Opening::default() };
    let pull = github.open("octo/app", &opening);
    let found = outcome(&github, &server, &pull, "a title, a text and a line of 100,000 characters");
    assert_eq!(
        (found.seen.conclusion(), found.n_named(), found.inline.len() + found.n_annotations),
        (Some("failure"), 1, 1)
    );
    for said in ["Breaking change in body: BREAKING CHANGE: all of it", "[strict-review] in title"] {
        assert!(found.summary().contains(said), "{said}: {}", found.summary());
    }

    let root = found.seen.inline[0].id;
    let explain = pull.answer("ada", root, &format!("{}\n@tollgate explain", long("wörter\n")));
    assert!(server.answered(&pull, explain).contains("js-eval-dynamic"), "{}", server.answered(&pull, explain));
    for said in ["@tollgate help", "@tollgate", "@tollgate explain"] {
        let asked = pull.say("mallory", &format!("{said} {}", long("wörter ")));
        assert!(server.answered(&pull, asked).contains("Unknown command"), "{said}");
    }
    let dismiss = pull.say("ada", &format!("@tollgate dismiss F001 {}", long("wörter ")));
    assert!(server.answered(&pull, dismiss).contains("Dismissed"), "{}", server.answered(&pull, dismiss));
    let found = outcome(&github, &server, &pull, "comments of 100,000 characters");
    assert_eq!((found.seen.conclusion(), found.seen.others.len(), found.seen.answers.len()), (Some("success"), 4, 1));
    assert!(found.bodies().iter().all(|body| body.chars().count() < 3_000));
}
