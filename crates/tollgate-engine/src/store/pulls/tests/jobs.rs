//! The list of jobs, and their retry and cancellation.

use super::*;
use crate::store::jobs::{JobId, JobQuery, JobRefused, JobState};

#[track_caller]
fn check(queue: &Queue, now_ms: u64, expected: &[&str]) {
    assert_eq!(jobs(queue, now_ms, None, None), expected);
}

fn jobs(queue: &Queue, now_ms: u64, state: Option<JobState>, place: Option<&str>) -> Vec<String> {
    let query = JobQuery { state, place: place.map(str::to_owned), limit: 100, now_ms };
    let words = |job: crate::store::jobs::Job| {
        let next = job.next_ms.map_or("never".to_owned(), |next| next.to_string());
        let held = job.owner.zip(job.until_ms).map_or(String::new(), |(who, until)| format!(", {who} until {until}"));
        let problem = job.problem.map_or(String::new(), |problem| format!(": {problem}"));
        let (id, kind, state, place, subject) = (job.id, job.kind, job.state.as_str(), job.place, job.subject);
        format!(
            "{id} {kind} {place}{subject} {state}, {} tries, since {}, next {next}{held}{problem}",
            job.attempt, job.since_ms
        )
    };
    queue.database.jobs(&query).unwrap().into_iter().map(words).collect()
}

/// A pull request whose review was given up.
fn dead(queue: &Queue, repo: &str, number: u64) -> i64 {
    queue.push(repo, number, 1_000);
    let claim = queue.claim(repo, number, 10_000);
    let failed = Finished { problem: Some("no such branch".to_owned()), ..finished(claim.pull.wanted) };
    queue.database.finish_review(claim.token, failed).unwrap().unwrap();
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    claim.pull.id
}

#[test]
fn jobs_are_listed_with_their_state() {
    let queue = Queue::new();
    dead(&queue, "o/a", 1);
    queue.push("o/b", 2, 2_000);
    queue.push("o/b", 3, 3_000);
    queue.claim("o/b", 3, 10_000);
    queue.push("o/c", 4, 4_000);
    let claim = queue.claim("o/c", 4, 10_000);
    queue.database.fail_review(claim.token, "no answer", 60_000).unwrap().unwrap();
    let help = PullEvent::Commanded { by: person(), comment: CommentRef::Conversation(1), command: Command::Help };
    queue.about("o/d", 5, help, 5_000);
    let all = [
        "pull-3 review o/b#3 running, 0 tries, since 3000, next 5000, me until 10100",
        "pull-1 review o/a#1 dead, 0 tries, since 1000, next never: no such branch",
        "pull-4 review o/c#4 failed, 1 tries, since 4000, next 60000: no answer",
        "pull-2 review o/b#2 queued, 0 tries, since 2000, next 4000",
        "pull-5 answer o/d#5 queued, 0 tries, since 5000, next 0",
    ];
    check(&queue, 10_000, &all);
    assert_eq!(jobs(&queue, 10_000, Some(JobState::Dead), None), all[1..2]);
    assert_eq!(jobs(&queue, 10_000, None, Some("O/B")), [all[0], all[3]]);
    assert_eq!(jobs(&queue, 10_101, Some(JobState::Running), None), Vec::<String>::new(), "its claim ran out");
}

#[test]
fn a_dead_job_is_retried_from_the_start() {
    let queue = Queue::new();
    let pull = dead(&queue, "o/r", 1);
    queue.database.retry_pull(pull, 20_000).unwrap().unwrap();
    check(&queue, 20_000, &["pull-1 review o/r#1 queued, 0 tries, since 20000, next 20000"]);
    let row = queue.row("o/r", 1);
    assert!(row.is_asked_again() && row.attempt == 0, "also when that head was looked at");
    let waits = "it is queued already".to_owned();
    assert_eq!(queue.database.retry_pull(pull, 20_000).unwrap(), Err(JobRefused::Not(waits)));
    queue.claim("o/r", 1, 20_000);
    let held = "a worker is running it".to_owned();
    assert_eq!(queue.database.retry_pull(pull, 20_000).unwrap(), Err(JobRefused::Not(held)));
    assert_eq!(queue.database.retry_pull(99, 0).unwrap(), Err(JobRefused::Unknown("pull-99".to_owned())));
}

#[test]
fn a_retry_skips_the_backoff() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.database.release_after_failure(claim.token, "GitHub is down", 900_000).unwrap().unwrap();
    check(&queue, 11_000, &["pull-1 review o/r#1 failed, 1 tries, since 0, next 900000: GitHub is down"]);
    queue.database.retry_pull(claim.pull.id, 12_000).unwrap().unwrap();
    assert_eq!(queue.candidates(12_000), ["o/r#1"]);
    assert_eq!(queue.row("o/r", 1).troubles, 0);
}

#[test]
fn a_post_that_was_given_up_is_posted_after_all_or_forgotten() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    let kinds = [PostKind::Summary, PostKind::Note];
    queue.finish(&claim, kinds.map(|kind| post(A, kind, "", "x")).to_vec());
    for id in [1, 2] {
        queue.database.begin_post(claim.token, id, 11_000).unwrap().unwrap();
        assert!(!queue.database.refuse_post(claim.token, id, "we may not", 2).unwrap().unwrap());
    }
    let held = Err(JobRefused::Not("a worker is running its pull request".to_owned()));
    assert_eq!(queue.database.retry_post(1, 10_050).unwrap(), held);
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    let dead =
        |id: i64, kind: &str| format!("post-{id} {kind} o/r#1 dead, 2 tries, since 11000, next never: we may not");
    check(&queue, 12_000, &[&dead(1, "summary"), &dead(2, "note")]);
    queue.database.retry_post(1, 12_000).unwrap().unwrap();
    queue.database.give_up_post(2, 12_000).unwrap().unwrap();
    check(&queue, 12_000, &["post-1 summary o/r#1 queued, 0 tries, since 11000, next 0"]);
    assert_eq!(queue.candidates(12_000), ["o/r#1"]);
    assert!(
        queue.database.retry_post(2, 12_000).unwrap().is_err() && queue.database.give_up_post(2, 0).unwrap().is_err()
    );
}

#[test]
fn a_cancelled_job_leaves_the_queue_and_its_check_ends() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.database.take_up_head(claim.token, &Sha::parse(A).unwrap(), "main", "").unwrap().unwrap();
    let begun = NewPost { is_final: false, ..post(A, PostKind::Check, A, "begun") };
    queue.database.put_posts(claim.token, vec![begun]).unwrap().unwrap();
    let not = |why: &str| Err(JobRefused::Not(why.to_owned()));
    let must_end = not("a check has to end, or the pull request waits for it forever");
    assert_eq!(queue.database.give_up_post(1, 10_000).unwrap(), must_end);
    queue.database.cancel_pull(claim.pull.id, 10_000, Some(post(A, PostKind::Check, A, "ended"))).unwrap().unwrap();
    assert_eq!(queue.posts(claim.pull.id), [format!("check {A}: ended (Due)")]);
    let row = queue.row("o/r", 1);
    assert!(!row.is_owed());
    // The worker has lost its lease, and learns it with the next heartbeat.
    assert_eq!(queue.database.heartbeat_pull(claim.token, 20_000).unwrap(), Err(LeaseLost));
    assert_eq!(queue.database.finish_review(claim.token, finished(1)).unwrap(), Err(LeaseLost));
    let again = queue.database.cancel_pull(claim.pull.id, 10_000, None).unwrap();
    assert_eq!(again, not("neither a review nor a reply is queued for it"));
}

#[test]
fn a_cancelled_review_keeps_an_earlier_one_of_the_same_commit() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.finish(&claim, vec![post(A, PostKind::Check, A, "passed")]);
    queue.database.end_post(claim.token, 1, Some(7)).unwrap().unwrap();
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    queue.about("o/r", 1, PullEvent::ReviewRequested { by: person() }, 20_000);
    queue.database.cancel_pull(claim.pull.id, 20_000, Some(post(A, PostKind::Check, A, "ended"))).unwrap().unwrap();
    assert_eq!(queue.posts(claim.pull.id), [format!("check {A}: passed (Done)")]);
    assert_eq!(queue.candidates(99_000), Vec::<String>::new());
}

#[test]
fn a_dead_job_can_be_cancelled() {
    let queue = Queue::new();
    let pull = dead(&queue, "o/r", 1);
    queue.database.cancel_pull(pull, 20_000, None).unwrap().unwrap();
    check(&queue, 20_000, &[]);
}

#[test]
fn names_of_jobs_are_read_as_they_are_written() {
    for text in ["pull-12", "post-5", "work-3-feature-1", "work-1-a"] {
        assert_eq!(JobId::parse(text).unwrap().to_string(), text);
    }
    for text in
        ["", "pull", "pull-", "pull-x", "pull--1", "pull-+1", "work-1", "work-1-", "work-x-y", "job-1", "work-1-a/b"]
    {
        assert_eq!(JobId::parse(text), None, "{text}");
    }
}
