//! The list of failing pull requests.

use super::*;

#[track_caller]
fn check(queue: &Queue, expected: &[&str]) {
    let troubled = queue.database.failing_pulls(10).unwrap();
    let words = |one: &FailingPull| {
        let next = one.next_ms.map_or("never".to_owned(), |next| next.to_string());
        format!("{}#{}: {}, since {}, again {next}", one.repo, one.number, one.in_words(), one.since_ms)
    };
    assert_eq!(troubled.iter().map(words).collect::<Vec<_>>(), expected);
}

#[test]
fn a_host_in_trouble_is_told_until_it_is_over() {
    let queue = Queue::new();
    queue.push("o/r", 1, 1_000);
    check(&queue, &[]);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.database.release_after_failure(claim.token, "GitHub is down", 15_000).unwrap().unwrap();
    check(&queue, &["o/r#1: GitHub is down, since 1000, again 15000"]);
    let claim = queue.claim("o/r", 1, 15_000);
    queue.finish(&claim, vec![post(A, PostKind::Note, "a", "b")]);
    queue.database.release_after_failure(claim.token, "it is slow", 20_000).unwrap().unwrap();
    check(&queue, &["o/r#1: it is slow, since 1000, again 20000"]);
    let claim = queue.claim("o/r", 1, 20_000);
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    check(&queue, &[]);
}

#[test]
fn a_review_that_failed_for_good_is_told_until_there_is_another() {
    let queue = Queue::new();
    queue.push("o/r", 1, 1_000);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.database.fail_review(claim.token, "no such branch", 40_000).unwrap().unwrap();
    check(&queue, &["o/r#1: no such branch, since 1000, again 40000"]);
    let claim = queue.claim("o/r", 1, 40_000);
    let failed = Finished { problem: Some("no such branch".to_owned()), ..finished(claim.pull.wanted) };
    queue.database.finish_review(claim.token, failed).unwrap().unwrap();
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    check(&queue, &["o/r#1: no such branch, since 1000, again never"]);
    queue.push("o/r", 1, 50_000);
    let claim = queue.claim("o/r", 1, 60_000);
    queue.finish(&claim, Vec::new());
    check(&queue, &[]);
}

#[test]
fn a_given_up_post_is_reported_until_a_newer_one_replaces_it() {
    let queue = Queue::new();
    queue.push("o/r", 1, 1_000);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.finish(&claim, vec![post(A, PostKind::Summary, "", "b"), post(A, PostKind::Note, "n", "b")]);
    let ids: Vec<i64> = queue.database.posts_due(claim.pull.id).unwrap().iter().map(|row| row.id).collect();
    queue.database.begin_post(claim.token, ids[0], 11_000).unwrap().unwrap();
    assert!(!queue.database.refuse_post(claim.token, ids[0], "we may not", 2).unwrap().unwrap());
    queue.database.put_back_post(claim.token, ids[1], "later").unwrap().unwrap();
    check(&queue, &["o/r#1: the summary was given up: we may not, since 11000, again never"]);
    let head = Sha::parse(B).unwrap();
    queue.database.take_up_head(claim.token, &head, "main", "x").unwrap().unwrap();
    check(&queue, &[]);
}
