use proptest::prelude::*;
use similar::TextDiff;

use super::*;
use crate::delta::unseen::unseen_lines;
use crate::diff;

fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

fn place(file: &str, start: u32, end: u32) -> Location {
    Location { file: path(file), lines: LineRange::new(start, end).unwrap(), side: Side::Right }
}

/// Each character is a line.
fn text(lines: &str) -> String {
    lines.chars().flat_map(|line| [line, '\n']).collect()
}

/// The diff of files, each `(old path, old lines, new path, new lines)`; an empty path is no file. Git prints nothing for an unchanged one.
fn patch(files: &[(&str, &str, &str, &str)]) -> Vec<FileDiff> {
    let mut all = String::new();
    for (old_path, old, new_path, new) in files.iter().filter(|(from, old, to, new)| (from, old) != (to, new)) {
        let (from, to) = match (*old_path, *new_path) {
            ("", to) => (to, to),
            (from, "") => (from, from),
            both => both,
        };
        if from == to && old == new {
            continue;
        }
        all += &format!("diff --git a/{from} b/{to}\n");
        match (*old_path, *new_path) {
            ("", _) => all += "new file mode 100644\n",
            (_, "") => all += "deleted file mode 100644\n",
            _ if from != to => all += &format!("similarity index 50%\nrename from {from}\nrename to {to}\n"),
            _ => {}
        }
        let (old, new) = (text(old), text(new));
        let names = (format!("a/{from}"), format!("b/{to}"));
        let names = match (*old_path, *new_path) {
            ("", _) => ("/dev/null".to_owned(), names.1),
            (_, "") => (names.0, "/dev/null".to_owned()),
            _ => names,
        };
        all += &TextDiff::from_lines(&old, &new).unified_diff().header(&names.0, &names.1).to_string();
    }
    let (files, refused) = diff::parse(all.into());
    assert_eq!(refused, []);
    files
}

#[track_caller]
fn check(map: &LineMap, file: &str, lines: (u32, u32), expected: &str) {
    let shown = match map.locate(&place(file, lines.0, lines.1)) {
        Mapped::At(location) => format!("{}:{}", location.file, location.lines),
        Mapped::Changed => "changed".to_owned(),
        Mapped::Gone => "gone".to_owned(),
    };
    assert_eq!(shown, expected, "{file}:{lines:?}");
}

#[test]
fn unchanged_lines_keep_their_finding_at_the_new_position() {
    let map = LineMap::of_diff(&patch(&[("a", "0123456789abcdef", "a", "xy0134Z6789abcdef!")]), &[]);
    check(&map, "a", (1, 2), "a:3-4");
    check(&map, "a", (3, 3), "gone");
    check(&map, "a", (2, 4), "changed");
    check(&map, "a", (6, 6), "changed");
    check(&map, "a", (4, 5), "a:5-6");
    check(&map, "a", (16, 16), "a:17");
    check(&map, "a", (900, 901), "a:902-903");
    check(&map, "other", (7, 7), "other:7");
}

#[test]
fn an_insertion_between_the_lines_of_a_finding_changes_them() {
    let map = LineMap::of_diff(&patch(&[("a", "0123", "a", "01x23")]), &[]);
    check(&map, "a", (2, 3), "changed");
    check(&map, "a", (1, 2), "a:1-2");
    check(&map, "a", (3, 4), "a:4-5");
}

#[test]
fn diffs_without_context_insert_after_the_line_they_name() {
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -3,0 +4,2 @@\n+x\n+y\n@@ -7,2 +9,0 @@\n-p\n-q\n";
    let map = LineMap::of_diff(&diff::parse(text.into()).0, &[]);
    check(&map, "a", (3, 3), "a:3");
    check(&map, "a", (4, 4), "a:6");
    check(&map, "a", (7, 8), "gone");
    check(&map, "a", (9, 9), "a:9");
}

#[test]
fn renamed_files_are_followed_and_copied_ones_stay() {
    let mut files = patch(&[("a", "0123", "b", "x0123"), ("c", "01", "c2", "01!")]);
    files[1].status = Status::Copied;
    let map = LineMap::of_diff(&files, &[]);
    check(&map, "a", (2, 2), "b:3");
    check(&map, "c", (2, 2), "c:2");
    assert_eq!(map.path(&path("a"), Side::Right), Some(&path("b")));
}

#[test]
fn a_deleted_file_is_gone() {
    let map = LineMap::of_diff(&patch(&[("a", "0123", "", "")]), &[]);
    check(&map, "a", (2, 2), "gone");
    assert_eq!(map.path(&path("a"), Side::Right), None);
}

#[test]
fn renames_that_git_does_not_report_are_followed() {
    let files = patch(&[("a", "0123456", "", ""), ("", "", "b", "x012Y456"), ("", "", "z", "pqrs")]);
    let map = LineMap::of_diff(&files, &[]);
    check(&map, "a", (2, 2), "b:3");
    check(&map, "a", (4, 4), "changed");
    // An explicit rename wins.
    let map = LineMap::of_diff(&files, &[(path("a"), path("z"))]);
    check(&map, "a", (2, 2), "changed");
    assert_eq!(map.path(&path("a"), Side::Right), Some(&path("z")));
    let map = LineMap::of_diff(&[], &[(path("a"), path("z"))]);
    check(&map, "a", (2, 2), "z:2");
}

#[test]
fn binary_files_that_changed_have_changed_throughout() {
    let text = "diff --git a/a b/a\nindex 1111111..2222222 100644\nBinary files a/a and b/a differ\n";
    check(&LineMap::of_diff(&diff::parse(text.into()).0, &[]), "a", (1, 1), "changed");
}

#[test]
fn a_mode_change_moves_nothing() {
    let text = "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n";
    check(&LineMap::of_diff(&diff::parse(text.into()).0, &[]), "a", (1, 1), "a:1");
}

#[test]
fn line_ends_are_content() {
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\r\n+one\n two\r\n";
    let map = LineMap::of_diff(&diff::parse(text.into()).0, &[]);
    check(&map, "a", (1, 1), "changed");
    check(&map, "a", (2, 2), "a:2");
}

#[test]
fn hunks_that_contradict_each_other_change_what_they_claim() {
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -5,3 +5,0 @@\n-p\n-q\n-r\n@@ -4,2 +4,1 @@\n-p\n-q\n+x\n\
        @@ -4294967290,1 +1,0 @@\n-p\n";
    let map = LineMap::of_diff(&diff::parse(text.into()).0, &[]);
    check(&map, "a", (4, 4), "changed");
    check(&map, "a", (8, 8), "a:5");
    check(&map, "a", (1, u32::MAX), "changed");
}

fn between(old: &[(&str, &str, &str, &str)], new: &[(&str, &str, &str, &str)]) -> LineMap {
    LineMap::between(&Snapshot::of(&patch(old)), &Snapshot::of(&patch(new)))
}

#[test]
fn a_rebase_moves_the_lines_of_a_patch_and_keeps_them() {
    let map = between(&[("a", "0123456", "a", "012AB3456")], &[("a", "xyz0123456", "a", "xyz012AB3456")]);
    check(&map, "a", (4, 5), "a:7-8");
    // The last line is not in the patch, so its fate is unknown.
    check(&map, "a", (4, 9), "changed");
}

#[test]
fn an_amended_line_is_changed_and_a_dropped_one_gone() {
    let map = between(&[("a", "0123456", "a", "012ABC3456")], &[("a", "0123456", "a", "012AX3456")]);
    check(&map, "a", (4, 4), "a:4");
    check(&map, "a", (5, 5), "changed");
    check(&map, "a", (4, 5), "changed");
    let map = between(&[("a", "0123456", "a", "012ABC3456")], &[("a", "0123456", "a", "012AC3456")]);
    check(&map, "a", (5, 5), "gone");
    check(&map, "a", (6, 6), "a:5");
    check(&map, "a", (4, 6), "changed");
}

#[test]
fn merged_lines_are_no_longer_part_of_the_change() {
    let map = between(&[("a", "0123456", "a", "012AB3456")], &[("a", "012A3456", "a", "012AB3456")]);
    check(&map, "a", (4, 4), "gone");
    check(&map, "a", (5, 5), "a:5");
    let map = between(&[("a", "01", "a", "0A1"), ("b", "01", "b", "0B1")], &[("b", "01", "b", "0B1")]);
    check(&map, "a", (2, 2), "gone");
}

#[test]
fn a_renamed_file_is_known_by_its_lines() {
    let old = [("", "", "a", "abcdefgh"), ("", "", "z", "12345")];
    let map = between(&old, &[("", "", "z", "12345"), ("", "", "b", "xabcdefgY")]);
    check(&map, "a", (2, 3), "b:3-4");
    check(&map, "z", (1, 1), "z:1");
    // A rename reported by git wins.
    let map = between(&[("a", "0123456", "a", "012AB3456")], &[("a", "0123456", "b", "012AB3456")]);
    check(&map, "a", (4, 4), "b:4");
}

#[test]
fn removed_lines_are_followed_while_they_are_removed() {
    let left = |number| Location { side: Side::Left, ..place("a", number, number) };
    let map = between(&[("a", "0123456", "a", "01456")], &[("a", "xx0123456", "a", "xx012456")]);
    assert_eq!(map.locate(&left(3)), Mapped::Gone);
    assert_eq!(map.locate(&left(4)), Mapped::At(left(6)));
    // A diff of the reviewed state does not describe its base.
    let map = LineMap::of_diff(&patch(&[("a", "0123", "a", "x0123")]), &[]);
    assert_eq!(map.locate(&left(3)), Mapped::At(left(3)));
}

#[test]
fn lines_outside_the_patch_are_known_when_the_content_is_the_same() {
    let files = |blob: &str| {
        let text = format!("diff --git a/a b/a\nindex 1111111..{blob} 100644\n--- a/a\n+++ b/a\n@@ -8,0 +9 @@\n+A\n");
        Snapshot::of(&diff::parse(text.into()).0)
    };
    check(&LineMap::between(&files("2222222"), &files("222222233")), "a", (1, 9), "a:1-9");
    check(&LineMap::between(&files("2222222"), &files("3333333")), "a", (1, 9), "changed");
}

#[track_caller]
fn check_fresh(old: &[(&str, &str, &str, &str)], new: &[(&str, &str, &str, &str)], expected: &[(&str, u32)]) {
    let fresh = unseen_lines(&Snapshot::of(&patch(old)), &Snapshot::of(&patch(new)));
    let mut n_fresh = 0;
    for file in ["a", "b"] {
        let sides = [(Side::Right, String::new()), (Side::Left, "-".to_owned())];
        for ((side, mark), number) in sides.iter().flat_map(|side| (1..20).map(move |number| (side, number))) {
            let is_expected = expected.contains(&(format!("{mark}{file}").as_str(), number));
            assert_eq!(fresh.contains(&path(file), number, *side), is_expected, "{mark}{file}:{number} in {fresh:?}");
            n_fresh += usize::from(is_expected);
        }
    }
    assert_eq!(n_fresh, expected.len());
}

#[test]
fn lines_next_to_a_gap_are_reviewed_but_not_counted_as_new() {
    let one = |text: &str| Snapshot::of(&patch(&[("", "", "a", text)]));
    let counts = |old: &str, new: &str| {
        let fresh = unseen_lines(&one(old), &one(new));
        (fresh.n_added(), fresh.n_lines())
    };
    assert_eq!(counts("ABCDE", "ABDE"), (0, 0));
    assert_eq!(counts("ABCD", "ACBD"), (1, 1));
    assert_eq!(counts("AB", "AXYB"), (2, 2));
}

#[test]
fn a_pure_rebase_has_nothing_unseen() {
    check_fresh(&[("a", "0123456", "a", "012AB56")], &[("a", "xyz012345678", "a", "xyz012AB5678")], &[]);
    check_fresh(&[("", "", "a", "abcd")], &[("", "", "b", "abcd")], &[]);
}

#[test]
fn lines_that_the_old_patch_did_not_have_are_unseen() {
    check_fresh(&[("a", "0123", "a", "01A23")], &[("a", "0123", "a", "01AB2")], &[("a", 4), ("-a", 4)]);
    check_fresh(&[], &[("", "", "a", "AB")], &[("a", 1), ("a", 2)]);
}

#[test]
fn moved_lines_are_unseen() {
    check_fresh(&[("", "", "a", "ABCD")], &[("", "", "a", "ACBD")], &[("a", 1), ("a", 2), ("a", 3)]);
}

#[test]
fn lines_next_to_a_gap_are_unseen() {
    check_fresh(&[("", "", "a", "ABCDE")], &[("", "", "a", "ABDE")], &[("a", 2), ("a", 3)]);
}

#[test]
fn lines_merged_into_the_base_leave_nothing_unseen() {
    check_fresh(&[("a", "0123456", "a", "012AB3456")], &[("a", "012A3456", "a", "012AB3456")], &[]);
}

#[test]
fn a_hundred_thousand_equal_lines_are_mapped() {
    let lines = "x".repeat(100_000);
    let map = between(&[("", "", "a", &lines)], &[("", "", "a", &format!("y{lines}z"))]);
    check(&map, "a", (500, 501), "a:501-502");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mapped_lines_have_the_same_content(
        old in "[a-f]{0,30}", new in "[a-f]{0,30}", base in "[a-f]{0,12}", start in 1u32..30, len in 0u32..4,
    ) {
        let line = |text: &str, number: u32| text.as_bytes().get(number as usize - 1).copied();
        let of_diff = LineMap::of_diff(&patch(&[("a", &old, "a", &new)]), &[]);
        let by_content = between(&[("a", &base, "a", &old)], &[("a", &base, "a", &new)]);
        for map in [of_diff, by_content] {
            if let Mapped::At(to) = map.locate(&place("a", start, start + len)) {
                for step in 0..=len {
                    prop_assert_eq!(line(&old, start + step), line(&new, to.lines.start() + step));
                }
            }
        }
    }

    #[test]
    fn no_diff_makes_it_panic(
        text in "(@@ -[0-9]{1,10},?[0-9]{0,2} \\+[0-9]{1,10},?[0-9]{0,2} @@\n([-+ ]x\n){0,4}){0,5}", from in any::<u32>(),
        len in any::<u32>(),
    ) {
        let head = "diff --git a/a b/a\n--- a/a\n+++ b/a\n";
        let (files, _) = diff::parse(format!("{head}{text}").into());
        let snapshot = Snapshot::of(&files);
        prop_assert_eq!(Snapshot::from_bytes(&snapshot.to_bytes()), Ok(snapshot.clone()));
        let lines = LineRange::new(from.max(1), from.max(1).saturating_add(len)).unwrap();
        let location = Location { file: path("a"), lines, side: Side::Right };
        let _ = LineMap::of_diff(&files, &[]).locate(&location);
        let _ = LineMap::between(&snapshot, &snapshot).locate(&location);
        prop_assert!(unseen_lines(&snapshot, &snapshot).is_empty());
    }
}

#[test]
fn changed_lines_are_replaced_by_the_lines_in_their_place() {
    let replaced =
        |map: &LineMap, start: u32, end: u32| map.replaced(&place("a", start, end)).map(|lines| lines.to_string());
    let of_diff = LineMap::of_diff(&patch(&[("a", "abcdefgh", "a", "xabcDeh")]), &[]);
    let added = |lines: &str| Snapshot::of(&patch(&[("", "", "a", lines)]));
    let between = LineMap::between(&added("abcdefgh"), &added("xabcDeh"));
    for map in [of_diff, between] {
        assert_eq!(replaced(&map, 4, 4).as_deref(), Some("5"));
        assert_eq!(replaced(&map, 3, 5).as_deref(), Some("4-6"));
        // Lines 6 and 7 were removed and nothing replaces them.
        assert_eq!(replaced(&map, 6, 7), None);
    }
    assert_eq!(replaced(&LineMap::unchanged(), 4, 4), None);
}
