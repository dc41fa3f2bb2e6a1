//! The commits of a change, as they are read for the author's intent.

use insta::assert_snapshot;
use tollgate_engine::forge::local::{FetchOptions, Local, PatchSource, Trigger};

use crate::scratch::{Scratch, range};

fn message(scratch: &Scratch, text: &str) {
    scratch.git(&["commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", text]);
}

/// The messages between two revisions, oldest first.
#[track_caller]
fn between(scratch: &Scratch, text: &str) -> String {
    let local = Local::open(&scratch.dir, range(text), scratch.environment()).unwrap();
    let commits = local.commits_of_range().unwrap();
    assert!(commits.complete);
    commits.listed.iter().map(|commit| format!("{:?}", commit.message)).collect::<Vec<_>>().join(" ")
}

#[test]
fn commits_of_a_range_come_oldest_first_with_whole_messages() {
    let scratch = Scratch::with_commit();
    scratch.git(&["switch", "-q", "-c", "work"]);
    message(&scratch, "one\n\nbody ü\n");
    message(&scratch, "[WIP] two");
    assert_snapshot!(between(&scratch, "main..work"), @r#""one\n\nbody ü" "[WIP] two""#);
    assert_snapshot!(between(&scratch, "main...work"), @r#""one\n\nbody ü" "[WIP] two""#);
    assert_snapshot!(between(&scratch, "HEAD~1"), @r#""[WIP] two""#);
    assert_snapshot!(between(&scratch, "work..main"), @"");
}

#[test]
fn commits_of_a_fetched_change_are_those_since_its_base() {
    let scratch = Scratch::with_commit();
    scratch.git(&["switch", "-q", "-c", "work"]);
    scratch.commit("b.txt", "b\n");
    let mut local = Local::open(&scratch.dir, Trigger::Default, scratch.environment()).unwrap();
    let change = local.fetch(&FetchOptions { base: None, max_diff_bytes: 1_000_000 }).unwrap();
    let messages: Vec<String> =
        local.commits(&change).unwrap().listed.into_iter().map(|commit| commit.message).collect();
    assert_eq!(messages, ["b.txt"]);
}

#[test]
fn a_repository_cannot_run_anything_when_its_commits_are_read() {
    let scratch = Scratch::with_commit();
    scratch.git(&["switch", "-q", "-c", "work"]);
    message(&scratch, "one");
    let mark = scratch.beside("mark");
    let command = format!("touch {}", mark.display());
    for key in ["gpg.program", "core.pager", "pager.log", "diff.external", "mailmap.file"] {
        scratch.git(&["config", key, &command]);
    }
    scratch.git(&["config", "log.showSignature", "true"]);
    scratch.git(&["config", "format.pretty", "oneline"]);
    scratch.git(&["config", "log.decorate", "full"]);
    let found = between(&scratch, "main..work");
    assert_eq!((found.as_str(), mark.exists()), ("\"one\"", false));
}

#[test]
fn a_branch_without_commits_and_a_patch_have_none() {
    let scratch = Scratch::new();
    let mut local = Local::open(&scratch.dir, Trigger::Default, scratch.environment()).unwrap();
    let options = FetchOptions { base: None, max_diff_bytes: 1000 };
    let change = local.fetch(&options).unwrap();
    assert_eq!(local.commits(&change).unwrap().listed, []);
    let bytes = b"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
    let patch = Trigger::Patch { name: "p".to_owned(), source: PatchSource::of_bytes(bytes) };
    let mut local = Local::open(&scratch.dir, patch, scratch.environment()).unwrap();
    let change = local.fetch(&options).unwrap();
    assert_eq!(local.commits(&change).unwrap().listed, []);
}

#[test]
fn all_commits_count_when_there_is_nothing_to_compare_with() {
    let scratch = Scratch::with_commit();
    let local = Local::open(&scratch.dir, range("HEAD"), scratch.environment()).unwrap();
    assert_eq!(local.commits_of_range().unwrap().listed, []);
}
