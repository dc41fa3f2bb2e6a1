//! Files that the attributes of the base mark as generated; attributes of the change do not count.

use tollgate_core::change::Change;
use tollgate_core::coverage::HunkStatus;
use tollgate_engine::config::{self, Layer};
use tollgate_engine::forge::local::Trigger;

use crate::scratch::{Scratch, range};

/// The files of a change that a program wrote.
fn generated(change: &Change) -> String {
    let files = change.files.iter().filter(|file| change.is_generated(file));
    files.map(|file| file.path().to_string()).collect::<Vec<_>>().join(" ")
}

/// A repository with some files, and a change that is not committed.
fn scratch(before: &[(&str, &str)], after: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::with_commit();
    for (path, text) in before {
        scratch.commit(path, text);
    }
    for (path, text) in after {
        scratch.write(path, text);
    }
    scratch
}

/// Which files of a change are generated: in the working tree, below a folder of it, staged, and once it is committed.
#[track_caller]
fn check(before: &[(&str, &str)], after: &[(&str, &str)], expected: &str) {
    let scratch = scratch(before, after);
    let found = |trigger| generated(&scratch.fetch(trigger).unwrap());
    assert_eq!(found(Trigger::Default), expected, "in the working tree");
    std::fs::create_dir(scratch.dir.join("below")).unwrap();
    let below = scratch.fetch_in(&scratch.dir.join("below"), Trigger::Default).unwrap();
    assert_eq!(generated(&below), expected, "from below");
    scratch.git(&["add", "--all"]);
    assert_eq!(found(Trigger::Staged), expected, "staged");
    scratch.git(&["commit", "-q", "-m", "change"]);
    assert_eq!(found(range("HEAD~1..HEAD")), expected, "committed");
}

#[test]
fn only_the_attributes_of_the_base_mark_files_as_generated() {
    let says = "api/*.conf linguist-generated\n*.lock -linguist-generated\nold.conf linguist-generated=false\n";
    check(
        &[(".gitattributes", says)],
        &[("api/a.conf", "a\n"), ("b.conf", "b\n"), ("yarn.lock", "c\n"), ("old.conf", "d\n"), ("dist/e.js", "e\n")],
        "api/a.conf dist/e.js",
    );
}

#[test]
fn output_folders_are_known_by_the_manifest_beside_them() {
    check(
        &[
            ("web/package.json", "{}\n"),
            ("ios/Podfile", "a\n"),
            (".gitattributes", "web/dist/own.js -linguist-generated\n"),
        ],
        &[
            ("api/dist/a.js", "a\n"),
            ("ios/Pods/A/a.swift", "a\n"),
            ("pods/a.go", "a\n"),
            ("web/dist/a.js", "a\n"),
            ("web/dist/own.js", "a\n"),
            ("web/src/dist/a.js", "a\n"),
        ],
        "ios/Pods/A/a.swift web/dist/a.js",
    );
    // A manifest that the change adds proves nothing.
    check(&[], &[("web/package.json", "{}\n"), ("web/dist/a.js", "a\n")], "");
}

#[test]
fn folders_and_macros_say_it_as_they_do_to_git() {
    check(
        &[
            (".gitattributes", "[attr]made linguist-generated\n/one/** made\n"),
            ("one/two/.gitattributes", "hand.conf -made\n*.x made\n"),
            ("three/.gitattributes", "*.conf made=true\n"),
        ],
        &[("one/a.conf", "a\n"), ("one/two/hand.conf", "b\n"), ("one/two/c.x", "c\n"), ("two/one/d.conf", "d\n")],
        "one/a.conf one/two/c.x",
    );
}

#[test]
fn a_change_has_no_say_in_what_is_generated() {
    check(&[], &[(".gitattributes", "*.conf linguist-generated\n"), ("a.conf", "a\n")], "");
    check(&[], &[("x/.gitattributes", "* linguist-generated\n"), ("x/a.conf", "a\n")], "");
    let says = [(".gitattributes", "a.conf linguist-generated\n")];
    check(&says, &[(".gitattributes", "\n"), ("a.conf", "a\n")], "a.conf");
    check(&says, &[(".gitattributes", "* linguist-generated\n"), ("a.conf", "a\n"), ("b.conf", "b\n")], "a.conf");
}

#[test]
fn an_attribute_that_is_taken_away_was_there() {
    let scratch = scratch(&[("x/.gitattributes", "*.conf linguist-generated\n")], &[("x/a.conf", "a\n")]);
    std::fs::remove_file(scratch.dir.join("x/.gitattributes")).unwrap();
    assert_eq!(generated(&scratch.fetch(Trigger::Default).unwrap()), "x/a.conf");
}

#[test]
fn attributes_outside_of_the_repository_mark_nothing_as_generated() {
    let scratch =
        scratch(&[(".gitattributes", "a.conf linguist-generated\n")], &[("a.conf", "a\n"), ("b.conf", "b\n")]);
    let found = || generated(&scratch.fetch(Trigger::Default).unwrap());
    std::fs::create_dir_all(scratch.beside("home/.config/git")).unwrap();
    std::fs::write(scratch.beside("home/.config/git/attributes"), "* linguist-generated\n").unwrap();
    assert_eq!(found(), "a.conf");
    // Attributes in the git folder take precedence, but an agent can write them, so they do not count.
    scratch.write(".git/info/attributes", "* linguist-generated\n");
    assert_eq!(found(), "");
}

#[test]
fn generated_files_are_skipped_by_name_and_code_that_is_called_so_in_a_change_is_not() {
    const CONFLICT: &str = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n";
    let says = "made/* linguist-generated\n";
    let more = format!("{says}*.js linguist-generated\n");
    let scratch =
        scratch(&[(".gitattributes", says)], &[(".gitattributes", &more), ("made/a.txt", CONFLICT), ("b.js", "b\n")]);
    let settings = config::load(Some(&scratch.dir), None, &[], Layer::default()).unwrap();
    let review = scratch.review(Trigger::Default, &settings).unwrap().review;
    let status = review.coverage.unwrap().hunks.into_iter().map(|covered| (covered.file.to_string(), covered.status));
    let expected = [
        (".gitattributes", HunkStatus::Reviewed),
        ("b.js", HunkStatus::Reviewed),
        ("made/a.txt", HunkStatus::Skipped("generated".to_owned())),
    ];
    assert_eq!(status.collect::<Vec<_>>(), expected.map(|(file, status)| (file.to_owned(), status)));
    let found: Vec<String> = review
        .findings
        .iter()
        .map(|finding| format!("{} {}", finding.location.file, finding.origin.rule.as_deref().unwrap()))
        .collect();
    assert_eq!(found, [".gitattributes gitattributes-hides-code"]);
}
