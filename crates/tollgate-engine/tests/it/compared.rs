//! Both sides of the comparison, in every kind of repository.

use insta::assert_snapshot;
use tollgate_core::change::Change;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::{PatchSource, Trigger};

use crate::scratch::{Scratch, range};

/// The comparison in words, and each file with its added and removed lines.
fn words(change: Result<Change, Failure>) -> String {
    match change {
        Ok(change) => {
            let file =
                |file: &tollgate_core::diff::FileDiff| format!("{} +{} -{}", file.path(), file.n_added, file.n_removed);
            let mut lines = vec![change.compared];
            lines.extend(change.files.iter().map(file));
            lines.extend(change.left_out.iter().map(|left| format!("left out: {}", left.file)));
            lines.extend(change.notes.iter().map(|note| format!("note: {note}")));
            lines.join("\n")
        }
        Err(failure) => format!("{:?}: {}\n{}", failure.kind, failure.message, failure.hint.unwrap_or_default()),
    }
}

/// `main` with a commit, cloned, and a branch `topic` with one of its own.
fn clone_with_topic() -> (Scratch, std::path::PathBuf) {
    let scratch = Scratch::with_commit();
    let clone = scratch.beside("clone");
    scratch.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    scratch.git_in(&clone, &["checkout", "-q", "-b", "topic"]);
    std::fs::write(clone.join("b.txt"), "b\n").unwrap();
    scratch.git_in(&clone, &["add", "."]);
    scratch.git_in(&clone, &["commit", "-q", "-m", "b"]);
    (scratch, clone)
}

#[test]
fn a_branch_is_compared_with_where_it_left_the_remote_main_branch() {
    let (scratch, clone) = clone_with_topic();
    // The main branch moves on, which is not part of the change.
    scratch.commit("c.txt", "c\n");
    scratch.git_in(&clone, &["fetch", "-q"]);
    assert_snapshot!(words(scratch.fetch_in(&clone, Trigger::Default)), @"
    topic against the merge base with origin/main (49bdfc0)
    b.txt +1 -0
    ");
}

#[test]
fn uncommitted_and_untracked_work_is_part_of_the_change() {
    let (scratch, clone) = clone_with_topic();
    std::fs::write(clone.join("a.txt"), "two\n").unwrap();
    std::fs::write(clone.join("new file.txt"), "n\n").unwrap();
    std::fs::write(clone.join("ignored.log"), "n\n").unwrap();
    std::fs::write(clone.join(".gitignore"), "*.log\n").unwrap();
    std::fs::create_dir(clone.join("sub")).unwrap();
    std::fs::write(clone.join("sub/deep.txt"), "d").unwrap();
    let expected = words(scratch.fetch_in(&clone, Trigger::Default));
    assert_snapshot!(expected, @"
    topic and uncommitted work against the merge base with origin/main (49bdfc0)
    .gitignore +1 -0
    a.txt +1 -1
    b.txt +1 -0
    new file.txt +1 -0
    sub/deep.txt +1 -0
    ");
    assert_eq!(words(scratch.fetch_in(&clone.join("sub"), Trigger::Default)), expected);
}

#[test]
fn the_main_branch_itself_is_compared_with_what_was_pushed() {
    let (scratch, clone) = clone_with_topic();
    scratch.git_in(&clone, &["checkout", "-q", "main"]);
    assert_snapshot!(words(scratch.fetch_in(&clone, Trigger::Default)), @"uncommitted work against HEAD (49bdfc0)");
    scratch.git_in(&clone, &["merge", "-q", "topic"]);
    assert_snapshot!(words(scratch.fetch_in(&clone, Trigger::Default)), @"
    main against the merge base with origin/main (49bdfc0)
    b.txt +1 -0
    ");
}

#[test]
fn without_a_remote_the_local_main_branch_serves() {
    let scratch = Scratch::with_commit();
    scratch.git(&["checkout", "-q", "-b", "topic"]);
    scratch.commit("b.txt", "b\n");
    assert_snapshot!(words(scratch.fetch(Trigger::Default)), @"
    topic against the merge base with main (49bdfc0)
    b.txt +1 -0
    ");
    scratch.git(&["branch", "-q", "-m", "main", "trunk"]);
    assert_snapshot!(words(scratch.fetch(Trigger::Default)), @"
    topic against the merge base with trunk (49bdfc0)
    b.txt +1 -0
    ");
}

#[test]
fn without_any_main_branch_only_uncommitted_work_is_looked_at() {
    let scratch = Scratch::with_commit();
    scratch.git(&["branch", "-q", "-m", "topic"]);
    scratch.write("a.txt", "two\n");
    assert_snapshot!(words(scratch.fetch(Trigger::Default)), @"
    uncommitted work against HEAD (49bdfc0)
    a.txt +1 -1
    note: there is no main branch to compare with, so only uncommitted work was looked at; name a range or set `review.base`
    ");
}

#[test]
fn the_configured_base_goes_before_any_guess() {
    let scratch = Scratch::with_commit();
    scratch.git(&["branch", "-q", "release"]);
    scratch.commit("b.txt", "b\n");
    let fetch = |base| words(scratch.fetch_with(&scratch.dir, Trigger::Default, scratch.environment(), Some(base)));
    assert_snapshot!(fetch("release"), @"
    main against the merge base with release (49bdfc0)
    b.txt +1 -0
    ");
    assert_snapshot!(fetch("relaese"), @"
    User: there is no revision `relaese` here
    It comes from `review.base`.
    ");
    assert_snapshot!(fetch("--output=/x"), @"
    User: `--output=/x` is not a revision or a range of revisions
    It comes from `review.base`.
    ");
}

#[test]
fn ranges_mean_what_git_means_by_them() {
    let scratch = Scratch::with_commit();
    scratch.git(&["checkout", "-q", "-b", "topic"]);
    scratch.commit("b.txt", "b\n");
    scratch.git(&["checkout", "-q", "main"]);
    scratch.commit("c.txt", "c\n");
    scratch.git(&["tag", "-a", "-m", "t", "v1", "topic"]);
    scratch.write("a.txt", "two\n");
    assert_snapshot!(words(scratch.fetch(range("topic..main"))), @"
    main (bfe39e6) against topic (be33f21)
    b.txt +0 -1
    c.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch(range("main...v1"))), @"
    v1 (be33f21) against the merge base with main (49bdfc0)
    b.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch(range("HEAD~1"))), @"
    main and uncommitted work against HEAD~1 (49bdfc0)
    a.txt +1 -1
    c.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch(range("HEAD^!"))), @"
    HEAD (bfe39e6) against HEAD^ (49bdfc0)
    c.txt +1 -0
    ");
    let sha = scratch.git(&["rev-parse", "topic"]);
    assert_snapshot!(words(scratch.fetch(range(&format!("{sha}..")))), @"
    HEAD (bfe39e6) against be33f21
    b.txt +0 -1
    c.txt +1 -0
    ");
}

#[test]
fn names_that_do_not_exist_and_options_in_disguise_are_refused() {
    let scratch = Scratch::with_commit();
    scratch.git(&["update-ref", "refs/heads/--output=written", "HEAD"]);
    assert_snapshot!(words(scratch.fetch(range("nope..HEAD"))), @"
    User: there is no revision `nope` here
    Check the spelling, or run `git fetch` if it is on a remote.
    ");
    assert_snapshot!(words(scratch.fetch(range("HEAD...nope"))), @"
    User: there is no revision `nope` here
    Check the spelling, or run `git fetch` if it is on a remote.
    ");
    assert_snapshot!(words(scratch.fetch(range("a.txt"))), @"
    User: there is no revision `a.txt` here
    Check the spelling, or run `git fetch` if it is on a remote.
    ");
    assert_snapshot!(words(scratch.fetch(range("--output=written"))), @"
    User: `--output=written` is not a revision or a range of revisions
    Write `A..B` to compare two revisions, `A...B` to compare B with where it left A, or `A` for all since A.
    ");
    assert_snapshot!(words(scratch.fetch(range("HEAD..--output=written"))), @"
    User: `HEAD..--output=written` is not a revision or a range of revisions
    Write `A..B` to compare two revisions, `A...B` to compare B with where it left A, or `A` for all since A.
    ");
    assert!(!scratch.dir.join("written").exists());
}

#[test]
fn staged_and_uncommitted_work_are_told_apart() {
    let scratch = Scratch::with_commit();
    scratch.write("staged.txt", "s\n");
    scratch.git(&["add", "staged.txt"]);
    scratch.write("a.txt", "two\n");
    scratch.write("untracked.txt", "u\n");
    assert_snapshot!(words(scratch.fetch(Trigger::Staged)), @"
    staged changes against HEAD (49bdfc0)
    staged.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch(Trigger::Worktree)), @"
    uncommitted work against HEAD (49bdfc0)
    a.txt +1 -1
    staged.txt +1 -0
    untracked.txt +1 -0
    ");
}

#[test]
fn the_index_of_a_partial_commit_is_honoured_inside_a_hook() {
    let scratch = Scratch::with_commit();
    scratch.write("a.txt", "two\n");
    scratch.write("b.txt", "b\n");
    scratch.git(&["add", "."]);
    // `git commit a.txt` gives its hook an index of its own, which has a.txt alone.
    let index = scratch.beside("index");
    let with_index = |args: &[&str]| {
        let status = scratch.command(&scratch.dir, args).env("GIT_INDEX_FILE", &index).status().unwrap();
        assert!(status.success());
    };
    with_index(&["read-tree", "HEAD"]);
    with_index(&["add", "a.txt"]);
    let mut environment = scratch.environment();
    environment.repository = vec![("GIT_DIR", ".git".into()), ("GIT_INDEX_FILE", index.clone().into())];
    assert_snapshot!(words(scratch.fetch_with(&scratch.dir, Trigger::Staged, environment, None)), @"
    staged changes against HEAD (49bdfc0)
    a.txt +1 -1
    ");
}

#[test]
fn a_branch_without_commits_is_compared_with_nothing() {
    let scratch = Scratch::new();
    assert_snapshot!(words(scratch.fetch(Trigger::Default)), @"uncommitted work on main, which has no commits yet");
    scratch.write("a.txt", "one\n");
    scratch.write("b.txt", "two\n");
    scratch.git(&["add", "a.txt"]);
    assert_snapshot!(words(scratch.fetch(Trigger::Default)), @"
    uncommitted work on main, which has no commits yet
    a.txt +1 -0
    b.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch(Trigger::Staged)), @"
    staged changes on main, which has no commits yet
    a.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch(range("HEAD~1..HEAD"))), @"
    User: there is no revision `HEAD~1` here
    Check the spelling, or run `git fetch` if it is on a remote.
    ");
}

#[test]
fn a_detached_head_is_named_by_its_commit() {
    let (scratch, clone) = clone_with_topic();
    scratch.git_in(&clone, &["checkout", "-q", "--detach"]);
    assert_snapshot!(words(scratch.fetch_in(&clone, Trigger::Default)), @"
    HEAD (8983213, detached) against the merge base with origin/main (49bdfc0)
    b.txt +1 -0
    ");
}

#[test]
fn a_linked_working_tree_is_a_repository_like_any_other() {
    let scratch = Scratch::with_commit();
    let tree = scratch.beside("tree");
    scratch.git(&["worktree", "add", "-q", "-b", "topic", tree.to_str().unwrap()]);
    std::fs::write(tree.join("b.txt"), "b\n").unwrap();
    assert_snapshot!(words(scratch.fetch_in(&tree, Trigger::Default)), @"
    uncommitted work against HEAD (49bdfc0)
    b.txt +1 -0
    ");
}

#[test]
fn submodules_are_seen_from_outside_and_reviewed_inside() {
    let inner = Scratch::with_commit();
    let scratch = Scratch::with_commit();
    scratch.git(&["submodule", "--quiet", "add", inner.dir.to_str().unwrap(), "sub"]);
    scratch.git(&["commit", "-q", "-m", "sub"]);
    let sub = scratch.dir.join("sub");
    std::fs::write(sub.join("b.txt"), "b\n").unwrap();
    assert_snapshot!(words(scratch.fetch_in(&sub, Trigger::Default)), @"
    uncommitted work against HEAD (49bdfc0)
    b.txt +1 -0
    ");
    scratch.git_in(&sub, &["add", "."]);
    scratch.git_in(&sub, &["commit", "-q", "-m", "b"]);
    // The address of the submodule is part of the commit, so its name is another each time.
    let head = scratch.git(&["rev-parse", "--short=7", "HEAD"]);
    assert_snapshot!(words(scratch.fetch(Trigger::Default)).replace(&head, "…"), @"
    uncommitted work against HEAD (…)
    sub +1 -1
    ");
}

#[test]
fn a_bare_repository_needs_a_range() {
    let scratch = Scratch::with_commit();
    scratch.commit("b.txt", "b\n");
    let bare = scratch.beside("bare.git");
    scratch.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert_snapshot!(words(scratch.fetch_in(&bare, range("HEAD~1..HEAD"))), @"
    HEAD (be33f21) against HEAD~1 (49bdfc0)
    b.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch_in(&bare, range("HEAD~1"))), @"
    main against HEAD~1 (49bdfc0)
    b.txt +1 -0
    ");
    assert_snapshot!(words(scratch.fetch_in(&bare, Trigger::Default)), @"
    User: this needs a working tree, and there is none here
    Name a range of commits, as in `tollgate review main..feature`.
    ");
}

#[test]
fn a_shallow_clone_says_what_to_do_when_history_is_missing() {
    let scratch = Scratch::with_commit();
    scratch.commit("b.txt", "b\n");
    scratch.git(&["checkout", "-q", "-b", "topic"]);
    scratch.commit("c.txt", "c\n");
    scratch.git(&["checkout", "-q", "main"]);
    let clone = scratch.beside("clone");
    let url = format!("file://{}", scratch.dir.display());
    scratch.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        "--branch",
        "topic",
        "--no-single-branch",
        &url,
        clone.to_str().unwrap(),
    ]);
    assert_snapshot!(words(scratch.fetch_in(&clone, Trigger::Default)), @"
    User: `origin/main` and `topic` have no commit in common
    This clone is shallow: run `git fetch --unshallow`, or compare directly with `A..B`.
    ");
    assert_snapshot!(words(scratch.fetch_in(&clone, range("origin/main...HEAD"))), @"
    User: `origin/main` and `HEAD` have no commit in common
    This clone is shallow: run `git fetch --unshallow`, or compare directly with `A..B`.
    ");
    assert_snapshot!(words(scratch.fetch_in(&clone, range("origin/main..HEAD"))), @"
    HEAD (c476a21) against origin/main (be33f21)
    c.txt +1 -0
    ");
}

#[test]
fn long_object_names_are_read() {
    let scratch = Scratch::with_format("sha256");
    scratch.write("a.txt", "one\n");
    assert_snapshot!(words(scratch.fetch(Trigger::Default)), @"
    uncommitted work on main, which has no commits yet
    a.txt +1 -0
    ");
    scratch.commit("a.txt", "one\n");
    scratch.git(&["checkout", "-q", "-b", "topic"]);
    scratch.commit("b.txt", "b\n");
    let change = scratch.fetch(Trigger::Default).unwrap();
    assert_eq!((change.base.as_str().len(), change.head.as_str().len()), (64, 64));
    assert_snapshot!(words(Ok(change)), @"
    topic against the merge base with main (0dcacf7)
    b.txt +1 -0
    ");
}

#[test]
fn outside_a_repository_only_a_patch_can_be_reviewed() {
    let scratch = Scratch::without_repository();
    let failure = scratch.fetch(Trigger::Default).unwrap_err();
    assert_eq!(failure.message, format!("`{}` is not in a git repository", scratch.dir.display()));
    let patch = |text: &str| Trigger::Patch {
        name: "x.patch".to_owned(),
        source: PatchSource::of_bytes(text.as_bytes().to_vec()),
    };
    let text = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    assert_snapshot!(words(scratch.fetch(patch(text))), @"
    the patch x.patch
    a.txt +1 -1
    ");
    assert_snapshot!(words(scratch.fetch(patch("hello\n"))), @"
    User: `x.patch` holds no unified diff
    Make one with `git diff > change.patch` or `diff -u`.
    ");
    assert_snapshot!(words(scratch.fetch(patch("\n"))), @"the patch x.patch");
}

#[test]
fn unresolved_conflicts_are_said() {
    let scratch = Scratch::with_commit();
    scratch.git(&["checkout", "-q", "-b", "topic"]);
    scratch.commit("a.txt", "topic\n");
    scratch.git(&["checkout", "-q", "main"]);
    scratch.commit("a.txt", "main\n");
    assert!(!scratch.command(&scratch.dir, &["merge", "-q", "topic"]).output().unwrap().status.success());
    assert_snapshot!(words(scratch.fetch(Trigger::Worktree)), @"
    uncommitted work against HEAD (2a7de45)
    a.txt +4 -0
    note: a file has unresolved merge conflicts
    ");
}
