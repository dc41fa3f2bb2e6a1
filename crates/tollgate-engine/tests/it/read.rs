//! Reading what a change holds: odd files, limits, and text that wants to hide.

use insta::assert_snapshot;
use tollgate_core::change::{Change, Content};
use tollgate_engine::forge::local::{FetchOptions, Local, PatchSource, Trigger};

use crate::scratch::{Scratch, range};

/// Each file with its status and lines, then the omitted files and the notes.
fn shown(change: &Change) -> String {
    let mut lines: Vec<String> = change
        .files
        .iter()
        .map(|file| {
            let binary = if file.binary { " binary" } else { "" };
            format!("{:?} {} +{} -{}{binary}", file.status, file.path(), file.n_added, file.n_removed)
        })
        .collect();
    lines.extend(change.left_out.iter().map(|left| format!("{}: {:?}", left.file, left.status)));
    lines.extend(change.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

fn fetch(scratch: &Scratch, trigger: Trigger, max_diff_bytes: usize) -> Change {
    let mut local = Local::open(&scratch.dir, trigger, scratch.environment()).unwrap();
    local.fetch(&FetchOptions { base: None, max_diff_bytes }).unwrap()
}

#[test]
fn untracked_files_read_as_if_they_had_been_added() {
    let scratch = Scratch::with_commit();
    scratch.write("ünïcode \"quoted\".txt", "a\nb");
    scratch.write("empty.txt", "");
    scratch.write("binary.bin", b"\0\x01");
    scratch.write("deep/er/c.txt", "c\r\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", scratch.dir.join("link")).unwrap();
    let untracked = fetch(&scratch, Trigger::Worktree, 1_000_000);
    scratch.git(&["add", "-A"]);
    let added = fetch(&scratch, Trigger::Worktree, 1_000_000);
    assert_eq!(shown(&untracked), shown(&added));
    let texts = |change: &Change| -> Vec<Vec<u8>> {
        change.files.iter().flat_map(|file| file.added().map(|(_, text)| text.to_vec()).collect::<Vec<_>>()).collect()
    };
    assert_eq!(texts(&untracked), texts(&added));
    assert_snapshot!(shown(&untracked), @r#"
    Added binary.bin +0 -0 binary
    Added deep/er/c.txt +1 -0
    Added empty.txt +0 -0
    Added link +1 -0
    Added ünïcode "quoted".txt +2 -0
    "#);
}

#[test]
fn a_repository_inside_the_working_tree_is_named_and_left_alone() {
    let scratch = Scratch::with_commit();
    scratch.git(&["init", "-q", "inner"]);
    scratch.write("inner/a.txt", "a\n");
    scratch.git_in(&scratch.dir.join("inner"), &["add", "."]);
    scratch.git_in(&scratch.dir.join("inner"), &["commit", "-q", "-m", "a"]);
    assert_snapshot!(shown(&fetch(&scratch, Trigger::Default, 1_000_000)), @"note: `inner` is a git repository of its own and was not looked at");
}

#[test]
fn a_change_that_is_too_large_is_cut_by_file_and_says_so() {
    let scratch = Scratch::with_commit();
    scratch.write("large.txt", "line\n".repeat(1000));
    scratch.write("small.txt", "line\n");
    assert_snapshot!(shown(&fetch(&scratch, Trigger::Default, 1000)), @r#"
    Added small.txt +1 -0
    large.txt: NotReviewed("the change is larger than the limit for diffs")
    "#);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-q", "-m", "large"]);
    assert_snapshot!(shown(&fetch(&scratch, range("HEAD~1..HEAD"), 1000)), @r#"
    Added small.txt +1 -0
    large.txt: NotReviewed("the diff is larger than 1000 bytes")
    note: the diff is larger than 1000 bytes: 1 of its files were not looked at
    "#);
}

#[test]
fn text_that_an_attribute_calls_binary_is_read_all_the_same() {
    let scratch = Scratch::with_commit();
    scratch.commit("hidden.js", "safe()\n");
    scratch.commit("picture.png", b"\0\x01");
    scratch.write(".gitattributes", "*.js -diff\n*.txt binary\n");
    scratch.write("hidden.js", "eval(x)\n");
    scratch.write("picture.png", b"\0\x02");
    scratch.git(&["add", "-A"]);
    let worktree = shown(&fetch(&scratch, Trigger::Worktree, 1_000_000));
    assert_snapshot!(worktree, @"
    Added .gitattributes +2 -0
    Modified hidden.js +1 -1
    Modified picture.png +0 -0 binary
    note: read as text, although an attribute calls it binary: `hidden.js`
    ");
    assert_eq!(shown(&fetch(&scratch, Trigger::Staged, 1_000_000)), worktree);
    scratch.git(&["commit", "-q", "-m", "hide"]);
    let change = fetch(&scratch, range("HEAD~1..HEAD"), 1_000_000);
    assert!(change.files.iter().any(|file| file.added().any(|(_, text)| text == b"eval(x)")));
}

#[test]
fn the_text_after_the_change_comes_from_where_the_change_is() {
    let scratch = Scratch::with_commit();
    scratch.commit("a.txt", "committed\n");
    scratch.write("a.txt", "staged\n");
    scratch.git(&["add", "a.txt"]);
    scratch.write("a.txt", "in the tree\n");
    let content = |trigger: Trigger, max_bytes: u64| {
        let mut local = Local::open(&scratch.dir, trigger, scratch.environment()).unwrap();
        let change = local.fetch(&FetchOptions { base: None, max_diff_bytes: 1_000_000 }).unwrap();
        local.contents().read(&change.files[0], max_bytes).unwrap()
    };
    assert_eq!(content(range("HEAD~1..HEAD"), 100), Content::Whole(b"committed\n".to_vec()));
    assert_eq!(content(Trigger::Staged, 100), Content::Whole(b"staged\n".to_vec()));
    assert_eq!(content(Trigger::Worktree, 100), Content::Whole(b"in the tree\n".to_vec()));
    assert_eq!(content(range("HEAD~1..HEAD"), 3), Content::TooLarge(10));
    let patch = b"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
    assert_eq!(
        content(Trigger::Patch { name: "p".to_owned(), source: PatchSource::of_bytes(patch) }, 100),
        Content::Unknown
    );
}

#[test]
fn line_ends_that_the_operator_configured_do_not_look_like_changes() {
    let scratch = Scratch::with_commit();
    std::fs::write(scratch.beside("home").join(".gitconfig"), "[core]\nautocrlf = true\n").unwrap();
    scratch.write("a.txt", "one\r\ntwo\r\n");
    assert_snapshot!(shown(&fetch(&scratch, Trigger::Worktree, 1_000_000)), @"Modified a.txt +1 -0");
}

#[test]
fn files_that_the_operator_ignores_everywhere_are_ignored() {
    let scratch = Scratch::with_commit();
    std::fs::write(scratch.beside("ignore"), "*.swp\n").unwrap();
    let setting = format!("[core]\nexcludesFile = {}\n", scratch.beside("ignore").display());
    std::fs::write(scratch.beside("home").join(".gitconfig"), setting).unwrap();
    std::fs::create_dir_all(scratch.beside("home").join(".config/git")).unwrap();
    scratch.write("a.swp", "x\n");
    assert_snapshot!(shown(&fetch(&scratch, Trigger::Worktree, 1_000_000)), @"");
}

#[test]
fn renames_and_modes_are_told() {
    let scratch = Scratch::with_commit();
    scratch.commit("b.txt", "1\n2\n3\n4\n5\n6\n");
    scratch.git(&["mv", "b.txt", "c.txt"]);
    scratch.git(&["update-index", "--chmod=+x", "a.txt"]);
    assert_snapshot!(shown(&fetch(&scratch, Trigger::Staged, 1_000_000)), @"
    Modified a.txt +0 -0
    Renamed c.txt +0 -0
    ");
}
