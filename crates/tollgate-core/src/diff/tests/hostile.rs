//! Properties on hostile input.

use proptest::prelude::*;

use super::super::*;

/// Lines that are significant to the parser.
fn hostile_line() -> impl Strategy<Value = Vec<u8>> {
    let known: &[&[u8]] = &[
        b"diff --git a/x b/x",
        b"diff --git \"a/\\303\" b/y",
        b"diff --git ",
        b"diff --cc x",
        b"index 1,2..3",
        b"index 1..2 100644",
        b"new file mode 100644",
        b"deleted file mode 100644",
        b"rename from x",
        b"copy to y",
        b"--- a/x",
        b"--- /dev/null",
        b"+++ b/x",
        b"+++ /dev/null",
        b"@@ -1 +1 @@",
        b"@@ -1,2 +1,3 @@ fn",
        b"@@ -0,0 +1,4294967295 @@",
        b"@@@ -1 -1 +1 @@@",
        b"@@@@@ -1,2 -1,2 -1,2 -1,2 +1,2 @@@@@",
        b"+a",
        b"-a",
        b" a",
        b"",
        b"++a",
        b"- a",
        b"  a",
        b"\\ No newline at end of file",
        b"GIT binary patch",
        b"literal 3",
        b"delta 18446744073709551616",
        b"IcmZPo000310RR91",
        b"Binary files a/x and b/x differ",
        b"Submodule x 1234567..89abcde:",
        b"-- ",
        b"---",
        b"\xff\xfe\r",
    ];
    prop_oneof![8 => prop::sample::select(known).prop_map(<[u8]>::to_vec), 1 => prop::collection::vec(any::<u8>(), 0..9)]
}

fn read_all(text: &[u8]) {
    let (files, _) = parse(text.to_vec());
    for file in &files {
        let n_added = file.added().count();
        let n_removed = file.removed().count();
        assert_eq!((file.n_added as usize, file.n_removed as usize), (n_added, n_removed + unseen(file)));
    }
    // Printing may repair a broken input, but the parsed part is parsed the same way again.
    let again = parse(print(&files)).0;
    let counts = |files: &[FileDiff]| files.iter().map(|file| (file.n_added, file.n_removed)).collect::<Vec<_>>();
    assert_eq!(counts(&again), counts(&files));
}

/// Removed lines that are not in the first parent have no number and are not in `removed`.
fn unseen(file: &FileDiff) -> usize {
    let lines = file.hunks.iter().flat_map(|hunk| file.lines(hunk));
    lines.filter(|line| line.kind == LineKind::Removed && line.old.is_none()).count()
}

const INTACT: &[u8] =
    b"diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_read_without_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&text);
    }

    #[test]
    fn arbitrary_lines_are_read_without_panic(lines in prop::collection::vec(hostile_line(), 0..30)) {
        read_all(&lines.join(&b'\n'));
    }

    #[test]
    fn an_intact_file_survives_any_text_after_it(lines in prop::collection::vec(hostile_line(), 0..30)) {
        let mut text = INTACT.to_vec();
        text.extend(lines.join(&b'\n'));
        let (files, _) = parse(text);
        prop_assert_eq!(files[0].path().as_bytes(), b"x");
        let hunk = &files[0].hunks[0];
        let lines: Vec<_> = files[0].lines(hunk).map(|line| line.text.to_vec()).collect();
        prop_assert_eq!(lines, [b"a", b"b", b"c"]);
    }

    #[test]
    fn a_damaged_diff_keeps_the_files_before_the_damage(
        n_files in 2usize..6,
        damaged in 1usize..6,
        cut in 0usize..200,
        byte in any::<u8>(),
    ) {
        let file = |number: usize| {
            String::from_utf8_lossy(INTACT).replace("/x", &format!("/x{number}")).into_bytes()
        };
        let damaged = damaged.min(n_files - 1);
        let before: Vec<u8> = (0..damaged).flat_map(file).collect();
        let mut rest: Vec<u8> = (damaged..n_files).flat_map(file).collect();
        let at = cut % rest.len();
        match byte % 3 {
            0 => rest.truncate(at),
            1 => rest[at] = byte,
            _ => rest.insert(at, byte),
        }
        let (files, _) = parse([before, rest].concat());
        for (number, file) in files.iter().enumerate().take(damaged) {
            prop_assert_eq!(file.path().to_string(), format!("x{number}"));
            prop_assert_eq!((file.n_added, file.n_removed), (1, 1));
        }
        prop_assert!(files.len() >= damaged);
    }
}

#[test]
fn long_lines_and_many_files_are_parsed() {
    let mut text = b"diff --git a/long b/long\n--- a/long\n+++ b/long\n@@ -0,0 +1 @@\n+".to_vec();
    text.extend(std::iter::repeat_n(b'x', 1 << 20));
    text.push(b'\n');
    for number in 0..100_000 {
        text.extend(format!("diff --git a/f{number} b/f{number}\nold mode 100644\nnew mode 100755\n").bytes());
    }
    let (files, refused) = parse(text.clone());
    assert_eq!((files.len(), refused.len()), (100_001, 0));
    assert!(print(&files) == text, "printing changed the text");
}
