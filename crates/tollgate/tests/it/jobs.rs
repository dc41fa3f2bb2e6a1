//! `tollgate jobs`: listing, retrying and cancelling queued jobs.

use serde_json::Value;
use tollgate_core::pull::Repo;
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::{ConcurrencyLimits, Finished, LeaseRequest, NextClaim};

use crate::scratch::Scratch;

/// A memory in which the review of one pull request was given up, and another waits.
fn owing() -> Scratch {
    let scratch = Scratch::folder();
    let database = Database::open(&scratch.store()).unwrap();
    let repo = Repo::parse("octo/app").unwrap();
    for number in [7, 8] {
        database.request_pull(&repo, number, Some(1), 1_700_000_000_000).unwrap();
    }
    let lease = LeaseRequest { owner: "me".to_owned(), now_ms: 1_700_000_060_000, lease_ms: 1_000 };
    let next = NextClaim { lease, limits: ConcurrencyLimits::default(), except: Vec::new() };
    let claim = database.claim_next(&next).unwrap().unwrap();
    assert_eq!(claim.pull.number, 7);
    let failed = Finished {
        up_to: 1,
        record: None,
        reviewed: None,
        posts: Vec::new(),
        is_closed: false,
        problem: Some("no such branch\u{1b}[2J".to_owned()),
        at_ms: 1_700_000_060_000,
    };
    database.finish_review(claim.token, failed).unwrap().unwrap();
    database.release_pull(claim.token, 0).unwrap().unwrap();
    scratch
}

fn states(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let said = scratch.tollgate(&[&["jobs", "list", "--format", "json"], args].concat()).expect(0);
    let said: Value = serde_json::from_str(&said).unwrap();
    let word = |job: &Value| format!("{} {}", job["id"].as_str().unwrap(), job["state"].as_str().unwrap());
    said["jobs"].as_array().unwrap().iter().map(word).collect()
}

#[test]
fn dead_jobs_are_listed_and_retried() {
    let scratch = owing();
    let text = scratch.tollgate(&["jobs"]).expect(0);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("pull-1           dead     review        octo/app #7, since 2023-11-1"), "{text}");
    assert!(lines[1].starts_with("  no such branch") && !text.contains('\u{1b}'), "{text}");
    assert!(lines[2].starts_with("pull-2           queued   review        octo/app #8, since"), "{text}");
    assert_eq!(states(&scratch, &["--state", "dead"]), ["pull-1 dead"]);
    assert_eq!(states(&scratch, &["--repo", "Octo/App", "--limit", "1"]), ["pull-1 dead"]);
    assert_eq!(states(&scratch, &["--repo", "octo/other"]), Vec::<String>::new());
    scratch.tollgate(&["jobs", "retry", "pull-1"]).expect(0);
    assert_eq!(states(&scratch, &[]), ["pull-2 queued", "pull-1 queued"]);
    let refused = scratch.tollgate(&["jobs", "retry", "pull-1"]).expect_refused(2);
    assert!(refused.contains("`pull-1`: it is queued already"), "{refused}");
}

#[test]
fn all_that_was_given_up_is_tried_again_at_once() {
    let scratch = owing();
    let ran = scratch.tollgate(&["jobs", "retry", "--all-dead"]);
    assert_eq!((ran.code, ran.stderr.trim()), (0, "1 queued again"));
    assert_eq!(states(&scratch, &["--state", "dead"]), Vec::<String>::new());
}

#[test]
fn a_cancelled_job_leaves_the_queue() {
    let scratch = owing();
    for job in ["pull-1", "pull-2"] {
        scratch.tollgate(&["jobs", "cancel", job]).expect(0);
    }
    assert_eq!(states(&scratch, &[]), Vec::<String>::new());
    let ran = scratch.tollgate(&["jobs"]);
    assert_eq!((ran.code, ran.stderr.trim()), (0, "no jobs"));
    let refused = scratch.tollgate(&["jobs", "cancel", "pull-2"]).expect_refused(2);
    assert!(refused.contains("neither a review nor a reply is queued for it"), "{refused}");
}

#[test]
fn unknown_jobs_are_named_and_listing_creates_no_database() {
    let scratch = Scratch::folder();
    let refused = scratch.tollgate(&["jobs", "retry", "twelve"]).expect_refused(2);
    assert!(refused.contains("`twelve` is not a job ID") && refused.contains("`pull-12`"), "{refused}");
    scratch.tollgate(&["jobs"]).expect(0);
    assert!(!scratch.store().exists());
    let refused = scratch.tollgate(&["jobs", "retry", "pull-99"]).expect_refused(2);
    assert!(refused.contains("no such job: `pull-99`"), "{refused}");
    let refused = scratch.tollgate(&["jobs", "cancel", "work-9-login"]).expect_refused(2);
    assert!(refused.contains("no such job: `work-9-login`"), "{refused}");
}
