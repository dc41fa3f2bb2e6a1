//! Changes of which only the unknown part is read, from real repositories.

use tollgate_core::change::Change;
use tollgate_core::path::FilePath;
use tollgate_core::sha::Sha;
use tollgate_engine::forge::local::{FetchOptions, Known, Local, Trigger};

use crate::scratch::{Scratch, range};

const OPTIONS: FetchOptions = FetchOptions { base: None, max_diff_bytes: 1_000_000 };

/// A branch with a changed file, a new file, a renamed one and one whose name needs care, over a first commit.
fn scratch() -> Scratch {
    let scratch = Scratch::with_commit();
    let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
    for name in ["a.txt", "moved.txt"] {
        scratch.write(name, &text);
    }
    scratch.write("b.txt", "gone\n");
    scratch.git(&["add", "-A"]);
    scratch.commit("weiß [x]*.txt", "1\n");
    scratch.git(&["tag", "start"]);
    scratch.write("a.txt", text.replace("line 3", "line three"));
    scratch.write("weiß [x]*.txt", "2\n");
    scratch.git(&["mv", "moved.txt", "here.txt"]);
    scratch.git(&["rm", "-q", "b.txt"]);
    scratch.git(&["add", "-A"]);
    scratch.commit("new.txt", "new\n");
    scratch
}

fn fetch(scratch: &Scratch, trigger: Trigger, known: &[&str], base: Option<&str>) -> Change {
    let mut local = Local::open(&scratch.dir, trigger, scratch.environment()).unwrap();
    let start = scratch.git(&["rev-parse", base.unwrap_or("start")]);
    let base = Sha::parse(start.trim()).unwrap();
    let has = |old: Option<&FilePath>, new: Option<&FilePath>, _: Option<&str>| {
        new.or(old).is_some_and(|path| known.contains(&path.as_str()))
    };
    local.fetch_unknown(&OPTIONS, &Known { base: &base, has: &has }).unwrap()
}

fn paths(files: &[tollgate_core::diff::FileDiff]) -> Vec<String> {
    files.iter().map(|file| file.path().to_string()).collect()
}

#[track_caller]
fn check(known: &[&str], read: &[&str], named: &[&str]) {
    let change = fetch(&scratch(), range("start..HEAD"), known, None);
    assert_eq!((paths(&change.files), paths(&change.known)), (owned(read), owned(named)));
    assert!(change.known.iter().all(|file| file.hunks.is_empty()));
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const ALL: [&str; 5] = ["a.txt", "b.txt", "here.txt", "new.txt", "weiß [x]*.txt"];

#[test]
fn known_files_are_named_and_the_rest_is_fetched() {
    check(&[], &ALL, &[]);
    check(&["a.txt", "new.txt"], &["b.txt", "here.txt", "weiß [x]*.txt"], &["a.txt", "new.txt"]);
    check(&["a.txt", "b.txt", "here.txt", "new.txt"], &["weiß [x]*.txt"], &["a.txt", "b.txt", "here.txt", "new.txt"]);
    check(&ALL, &[], &ALL);
}

#[test]
fn fetched_files_are_the_same_as_in_the_whole_change() {
    let scratch = scratch();
    let whole = fetch(&scratch, range("start..HEAD"), &[], None);
    let part = fetch(&scratch, range("start..HEAD"), &["a.txt", "new.txt"], None);
    let print = |change: &Change, path: &str| {
        let files: Vec<_> = change.files.iter().filter(|file| file.path().to_string() == path).cloned().collect();
        tollgate_core::diff::print(&files)
    };
    for path in ["b.txt", "here.txt", "weiß [x]*.txt"] {
        assert_eq!(print(&part, path), print(&whole, path), "{path}");
    }
}

#[test]
fn against_another_base_nothing_is_known() {
    let change = fetch(&scratch(), range("start..HEAD"), &ALL, Some("start~1"));
    assert_eq!((paths(&change.files), paths(&change.known)), (owned(&ALL), Vec::new()));
}

#[test]
fn uncommitted_content_has_no_name_yet_and_is_read() {
    let scratch = scratch();
    scratch.write("a.txt", "changed again\n");
    scratch.write("untracked.txt", "x\n");
    let change = fetch(&scratch, range("start"), &ALL, None);
    assert_eq!(paths(&change.files), ["a.txt", "untracked.txt"]);
    assert_eq!(paths(&change.known), ["b.txt", "here.txt", "new.txt", "weiß [x]*.txt"]);
}
