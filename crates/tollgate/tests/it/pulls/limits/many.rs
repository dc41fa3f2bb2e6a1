//! Many files, many findings, many commits.

use super::super::test_server::{BAD, GOOD, TestServer};
use super::{Found, START, outcome, outcome_after};
use crate::fake_github::{Commit, FakeGithub, Fault, File, Opening};

/// Files of which every so-manieth has a finding, all in one pull request.
#[track_caller]
fn check(what: &str, n_files: usize, every: usize) -> Found {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", START);
    let text = |number: usize| if number.is_multiple_of(every) { BAD } else { GOOD };
    let names: Vec<String> = (0..n_files).map(|number| format!("src/d{:02}/f{number:04}.js", number % 50)).collect();
    let files: Vec<(&str, &str)> = names.iter().enumerate().map(|(number, name)| (&**name, text(number))).collect();
    let pull = github.open("octo/app", &Opening { title: "feat: parse", files: &files, ..Opening::default() });
    let found = outcome(&github, &server, &pull, what);
    assert_eq!(
        (found.seen.conclusion(), found.seen.summaries.len(), found.seen.reviews.len()),
        (Some("failure"), 1, 1)
    );
    let says = format!("- Files: {n_files} changed, {n_files} reviewed");
    assert!(found.summary().contains(&says), "{}", found.summary());
    assert!(found.inline.is_disjoint(&found.listed));
    found
}

#[test]
fn three_thousand_files_are_reviewed_and_each_finding_is_named_once() {
    let found = check("3,000 files with 150 findings", 3_000, 20);
    assert_eq!((found.n_named(), found.inline.len() + found.n_annotations), (150, 150));
}

#[test]
fn findings_that_the_text_has_no_room_for_are_in_the_check() {
    let found = check("1,200 findings", 1_200, 1);
    let n_left = 1_200 - found.n_named();
    let body = &found.seen.reviews[0].body;
    assert!(n_left > 0 && body.contains(&format!("- and {n_left} more, see the check\n")), "{n_left}: {body}");
    assert_eq!(found.inline.len() + found.n_annotations, 1_200);
}

/// As many findings get a comment as one review has room for, though more may; the first tries are refused.
#[track_caller]
fn check_inline(n_refused: u32) {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, "[review]\ncap = 1000\n");
    server.launch(None);
    github.repository("octo/app", START);
    github.fault("reviews.create", 0, n_refused, Fault::Invalid);
    let names: Vec<String> = (0..60).map(|number| format!("f{number:02}.js")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), BAD)).collect();
    let pull = github.open("octo/app", &Opening { files: &files, ..Opening::default() });
    let refused = vec!["reviews.create 422"; n_refused as usize];
    let found = outcome_after(&github, &server, &pull, &format!("60 findings, {n_refused} refusals"), &refused);
    assert_eq!((found.seen.conclusion(), found.seen.reviews.len()), (Some("failure"), 1));
    assert_eq!((found.inline.len(), found.listed.len(), found.n_named()), (30, 30, 60));
    assert_eq!(found.inline.len() + found.n_annotations, 60);
}

#[test]
fn more_findings_than_one_review_takes_are_listed_in_it() {
    check_inline(0);
}

#[test]
fn a_review_that_is_too_much_for_the_host_is_posted_comment_by_comment() {
    check_inline(1);
}

#[test]
fn the_intent_of_hundreds_of_commits_is_sampled_and_the_sample_reported() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", START);
    // GitHub lists no more than 250 of them.
    let texts: Vec<String> = (1..=265).map(|number| format!("// {number}\n{BAD}")).collect();
    let messages: Vec<String> = (1..=265)
        .map(|number| if number == 260 { "feat!: other".to_owned() } else { format!("step {number}") })
        .collect();
    let files: Vec<[File<'_>; 1]> = texts.iter().map(|text| [File::Holds(b"a.js", text.as_bytes())]).collect();
    let commits: Vec<Commit<'_>> =
        messages.iter().zip(&files).map(|(message, files)| Commit { message, files }).collect();
    let pull = github.open("octo/app", &Opening { title: "parse", commits: &commits, ..Opening::default() });
    let found = outcome(&github, &server, &pull, "265 commits");
    assert_eq!(
        (found.seen.conclusion(), found.n_named(), found.inline.len() + found.n_annotations),
        (Some("failure"), 1, 1)
    );
    assert!(found.summary().contains("\n- Commits scanned: 69 of 265\n"), "{}", found.summary());
    assert!(found.summary().contains("breaking change in commit "), "{}", found.summary());
}
