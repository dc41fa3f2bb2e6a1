//! Tests of the diff parser: single cases here; properties on real repositories and sources in the submodules.

mod hostile;
mod numstat;
mod repositories;

use insta::assert_snapshot;

use super::*;

/// Shows files as `status old -> new +added -removed notes`, then the refused parts.
fn outline(text: &[u8]) -> String {
    let (files, refused) = parse(text.to_vec());
    let mut lines = Vec::new();
    for file in &files {
        let name = |path: &Option<RepoPath>| path.as_ref().map_or("none".to_owned(), |path| format!("{path:}"));
        let mut line = format!("{:?} {} -> {}", file.status, name(&file.old_path), name(&file.new_path));
        line += &format!(" +{} -{}", file.n_added, file.n_removed);
        if let (Some(old), Some(new)) = (file.old_mode, file.new_mode)
            && old != new
        {
            line += &format!(" mode {old:o}->{new:o}");
        }
        if file.binary {
            line += " binary";
        }
        if file.is_submodule() {
            line += " submodule";
        }
        lines.push(line);
    }
    lines.extend(refused.iter().map(|refused| format!("line {}: {}", refused.line_number, refused.problem)));
    lines.join("\n")
}

/// Shows every line as `old new kind text`, `$` being the line feed.
fn lines(text: &[u8]) -> String {
    let (files, refused) = parse(text.to_vec());
    assert_eq!(refused, []);
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let mut out = Vec::new();
    for (file, hunk) in files.iter().flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk))) {
        for line in file.lines(hunk) {
            let end = if line.newline { "$" } else { "" };
            let text = line.text.escape_ascii();
            out.push(format!("{} {} {:?} {text}{end}", number(line.old), number(line.new), line.kind));
        }
    }
    out.join("\n")
}

#[test]
fn lines_are_numbered_on_both_sides() {
    let text =
        b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ fn f()\n keep\n--- a/y\n+new\r\n\n";
    assert_snapshot!(lines(text), @r"
    3 3 Context keep$
    4 - Removed -- a/y$
    - 4 Added new\r$
    5 5 Context $
    ");
    let (files, _) = parse(text.to_vec());
    assert_eq!(files[0].section(&files[0].hunks[0]), b"fn f()");
    assert_eq!(files[0].removed().collect::<Vec<_>>(), [(4, &b"-- a/y"[..])]);
    assert_eq!(files[0].added().collect::<Vec<_>>(), [(4, &b"new\r"[..])]);
}

#[test]
fn a_missing_last_line_feed_belongs_to_the_line_before() {
    let text = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
    assert_snapshot!(lines(text), @r"
    1 - Removed a
    - 1 Added b
    ");
}

#[test]
fn a_merge_counts_lines_of_its_first_parent() {
    let text = b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,3 -1,3 +1,3 @@@ f\n  a\n+ b\n -c\n +d\n- e\n";
    assert_snapshot!(lines(text), @r"
    1 1 Context a$
    - 2 Added b$
    - - Removed c$
    2 3 Added d$
    3 - Removed e$
    ");
}

#[test]
fn the_status_of_a_file_is_read_from_its_header() {
    let text = b"\
diff --git a/new b/new
new file mode 100755
index 0000000..e69de29
diff --git a/gone b/gone
deleted file mode 100644
index e69de29..0000000
diff --git a/one b/two words
similarity index 100%
rename from one
rename to two words
diff --git a/base b/copy
similarity index 90%
copy from base
copy to copy
index 1111111..2222222 100644
--- a/base
+++ b/copy
@@ -1 +1 @@
-a
+b
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/x b/x
dissimilarity index 95%
index 1111111..2222222 100644
--- a/x
+++ b/x
@@ -1 +0,0 @@
-a
";
    assert_snapshot!(outline(text), @"
    Added none -> new +0 -0
    Deleted gone -> none +0 -0
    Renamed one -> two words +0 -0
    Copied base -> copy +1 -1
    Modified run.sh -> run.sh +0 -0 mode 100644->100755
    Modified x -> x +0 -1
    ");
}

#[test]
fn binary_content_is_passed_over() {
    let text = b"\
diff --git a/a.png b/a.png
index 1111111..2222222 100644
Binary files a/a.png and b/a.png differ
diff --git a/b.bin b/b.bin
new file mode 100644
index 0000000000000000000000000000000000000000..f76dd238ade08917e6712764a16a22005a50573d
GIT binary patch
literal 1
IcmZPo000310RR91

literal 0
HcmV?d00001

diff --git a/c b/c
old mode 100644
new mode 100755
";
    assert_snapshot!(outline(text), @"
    Modified a.png -> a.png +0 -0 binary
    Added none -> b.bin +0 -0 binary
    Modified c -> c +0 -0 mode 100644->100755
    ");
}

#[test]
fn a_link_to_another_repository_is_read_in_both_forms() {
    let text = b"\
diff --git a/sub b/sub
index 1111111..2222222 160000
--- a/sub
+++ b/sub
@@ -1 +1 @@
-Subproject commit 1111111111111111111111111111111111111111
+Subproject commit 2222222222222222222222222222222222222222
Submodule lib/two words 1111111..2222222:
  > newer
  < older
Submodule back 1111111..2222222 (rewind):
  < older
Submodule fresh 0000000...2222222 (new submodule)
Submodule old 1111111...0000000 (submodule deleted)
Submodule lib contains untracked content
Submodule names are not files.
";
    assert_snapshot!(outline(text), @"
    Modified sub -> sub +1 -1 submodule
    Modified lib/two words -> lib/two words +0 -0 submodule
    Modified back -> back +0 -0 submodule
    Added none -> fresh +0 -0 submodule
    Deleted old -> none +0 -0 submodule
    ");
}

#[test]
fn the_text_of_a_mail_is_not_content() {
    let text = b"\
From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: A <a@example.com>
Subject: [PATCH 1/2] one

--- not a header
+++ neither
---
 x | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/x b/x
index 1111111..2222222 100644
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+b
-- \n2.47.3

From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
Subject: [PATCH 2/2] two

---
 y | 1 +
 1 file changed, 1 insertion(+)

diff --git a/y b/y
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/y
@@ -0,0 +1 @@
+b
-- \n2.47.3

";
    assert_snapshot!(outline(text), @"
    Modified x -> x +1 -1
    Added none -> y +1 -0
    ");
}

#[test]
fn plain_diffs_have_no_git_line() {
    let text = b"\
diff -ru old/dir/x.c new/dir/x.c
--- old/dir/x.c\t2026-01-01 10:00:00.000000000 +0100
+++ new/dir/x.c\t2026-01-02 10:00:00.000000000 +0100
@@ -1 +1,2 @@
 a
+b
Only in new/dir: z
--- a/gone\t2026-01-01 10:00:00.000000000 +0100
+++ b/gone\t1970-01-01 01:00:00.000000000 +0100
@@ -1 +0,0 @@
-a
--- x.c.orig
+++ x.c
@@ -1 +1 @@
-a
+b
";
    assert_snapshot!(outline(text), @"
    Modified dir/x.c -> dir/x.c +1 -0
    Deleted gone -> none +0 -1
    Modified x.c -> x.c +1 -1
    ");
}

#[test]
fn names_are_resolved_from_all_lines_of_the_header() {
    let text = b"\
diff --git \"a/\\303\\244 \\\"q\\\".txt\" \"b/\\303\\244 \\\"q\\\".txt\"
index 1111111..2222222 100644
--- \"a/\\303\\244 \\\"q\\\".txt\"
+++ \"b/\\303\\244 \\\"q\\\".txt\"
@@ -1 +1 @@
-a
+b
diff --git src/no prefix src/no prefix
index 1111111..2222222 100644
--- src/no prefix\t
+++ src/no prefix\t
@@ -1 +1 @@
-a
+b
diff --git b/new b/new
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+b
diff --git old/deep/x b/y new/deep/x b/y
deleted file mode 100644
index 1111111..0000000
--- old/deep/x b/y\t
+++ /dev/null
@@ -1 +0,0 @@
-b
diff --git i/x w/x
index 1111111..2222222 100644
--- i/x
+++ w/x
@@ -1 +1 @@
-a
+b
";
    assert_snapshot!(outline(text), @r#"
    Modified ä "q".txt -> ä "q".txt +1 -1
    Modified src/no prefix -> src/no prefix +1 -1
    Added none -> b/new +1 -0
    Deleted deep/x b/y -> none +0 -1
    Modified x -> x +1 -1
    "#);
}

#[test]
fn one_broken_hunk_does_not_lose_the_others() {
    let text = b"\
diff --git a/x b/x
--- a/x
+++ b/x
@@ -1,2 +1,2 @@
 a
-b
@@ -9 +9 @@
-c
+d
+too many
@@ -1,x +1 @@
+lost
diff --git a/y b/y
--- a/y
+++ b/y
diff --git a/z b/z
--- a/z
+++ b/z
@@ -1 +1,2 @@
 a
+b
@@ -5,2 +6 @@
 cut off
";
    assert_snapshot!(outline(text), @"
    Modified x -> x +1 -1
    Modified y -> y +0 -0
    Modified z -> z +1 -0
    line 7: expected 0 more old and 1 more new lines of the hunk, found `@@ -9 +9 @@`
    line 10: expected the hunk to end, found `+too many`
    line 11: expected a hunk header, found `@@ -1,x +1 @@`
    line 16: expected a hunk header, found `diff --git a/z b/z`
    line 24: expected 1 more old and 0 more new lines of the hunk, found the end
    ");
}

#[test]
fn the_next_header_survives_wrong_counts() {
    let text = b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    assert_snapshot!(outline(text), @"
    Modified x -> x +0 -0
    Modified y -> y +1 -1
    line 8: expected 7 more old and 7 more new lines of the hunk, found `@@ -1 +1 @@`
    ");
}

#[test]
fn a_binary_patch_that_is_cut_off_is_refused() {
    let text =
        b"diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 9\nIcmZPo0003\n\ndiff --git a/c b/c\n";
    assert_snapshot!(outline(text), @"
    Modified b -> b +0 -0 binary
    Modified c -> c +0 -0
    line 5: expected more of the binary patch, found `IcmZPo0003`
    line 8: expected more of the file's header or its lines, found the end
    ");
}

#[test]
fn a_header_that_is_cut_off_is_refused() {
    let whole = "diff --git a/a.txt b/a.txt\nnew file mode 100644\nindex 0000000..ce01362\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello\n";
    let first_line = whole.find('\n').unwrap();
    // A first line that is cut inside the second name is a shorter name, and a line of code may have any length.
    for end in (4..whole.len() - 6).filter(|end| !(11..first_line).contains(end)) {
        let (_, refused) = parse(whole.as_bytes()[..end].to_vec());
        assert!(!refused.is_empty(), "{:?}", &whole[..end]);
    }
    assert_eq!(parse(whole.as_bytes().to_vec()).1, []);
}

#[test]
fn headers_without_lines_are_complete_where_git_writes_them() {
    for text in [
        "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n",
        "diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n",
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        "diff --git a/x b/x\nindex 1111111..2222222 100644\nBinary files a/x and b/x differ\n",
        // The time stamp of the first file changed, and nothing else.
        "diff --git a/x b/x\ndiff --git a/y b/y\nold mode 100644\nnew mode 100755\n",
    ] {
        assert_eq!(parse(text.as_bytes().to_vec()).1, [], "{text}");
    }
}

#[test]
fn a_file_on_neither_side_is_refused() {
    for head in ["", "diff --git a/x b/x\n"] {
        let text = format!("{head}--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n");
        let (_, refused) = parse(text.into_bytes());
        assert_eq!(refused[0].problem, "expected a file on one side, found `/dev/null` on both");
    }
}

const MAIL: &str = "\
From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: Ada <ada@example.org>
Subject: [PATCH] x

It was
diff --git a/fake b/fake
--- a/fake
+++ b/fake
@@ -1 +1 @@
-a
+b
---
 real | 1 +

diff --git a/real b/real
--- a/real
+++ b/real
@@ -1 +1 @@
-a
+b
-- 
2.39.5

";

#[test]
fn a_diff_in_the_text_of_a_mail_is_no_file() {
    assert_snapshot!(outline(MAIL.repeat(2).as_bytes()), @"
    Modified real -> real +1 -1
    Modified real -> real +1 -1
    ");
    let without_mailbox = MAIL.split_once('\n').unwrap().1;
    assert_snapshot!(outline(without_mailbox.as_bytes()), @"Modified real -> real +1 -1");
    assert_eq!(files_in_text(MAIL.as_bytes()), [RepoPath::from_bytes(b"fake")]);
    // Without the line, the text of the mail has no end that could be known.
    assert_eq!(parse(MAIL.replace("---\n real", " real").into_bytes()).0.len(), 2);
}

#[test]
fn a_coloured_diff_is_refused() {
    let text = "\u{1b}[1mdiff --git a/x b/x\u{1b}[m\n\u{1b}[1m--- a/x\u{1b}[m\n";
    let (files, refused) = parse(text.into());
    assert!(files.is_empty() && refused[0].problem.starts_with(COLOURED), "{refused:?}");
    // A line of code may well begin with an escape sequence.
    let code = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\u{1b}[1mdiff --git\n";
    assert_eq!(parse(code.into()).1, []);
}

#[test]
fn a_file_that_becomes_a_link_is_one_file() {
    let text = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/x\n+++ /dev/null\n\
                @@ -1 +0,0 @@\n-a\ndiff --git a/x b/x\nnew file mode 120000\nindex 0000000..2222222\n--- /dev/null\n\
                +++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n";
    let (files, refused) = parse(text.into());
    assert_eq!((files.len(), refused.len()), (1, 0));
    let file = &files[0];
    assert_eq!((file.status, file.old_mode, file.new_mode), (Status::Modified, Some(0o100_644), Some(0o120_000)));
    assert_eq!((file.n_added, file.n_removed), (1, 1));
    assert_eq!(print(&files), text.as_bytes());
    // A file that is deleted and made anew in two commits stays two.
    let apart = text.replace("-a\ndiff", "-a\n\ncommit 1234567\n\ndiff");
    assert_eq!(parse(apart.into()).0.len(), 2);
}

#[test]
fn a_hunk_without_a_file_is_refused() {
    assert_snapshot!(outline(b"some prose\n@@ -1 +1 @@\n-a\n+b\n"), @"line 2: expected a file before this hunk, found none");
}

#[test]
fn line_numbers_do_not_overflow() {
    let text = b"--- a/x\n+++ b/x\n@@ -4294967294,1 +4294967294 @@\n-a\n+b\n@@ -4294967295 +1 @@\n-a\n+b\n";
    assert_snapshot!(outline(text), @"
    Modified x -> x +1 -1
    line 6: expected a hunk header, found `@@ -4294967295 +1 @@`
    ");
}

#[test]
fn an_empty_diff_has_no_files() {
    assert_snapshot!(outline(b""), @"");
    assert_snapshot!(outline(b"\n\n\n"), @"");
}

#[test]
fn repeated_no_newline_markers_are_not_lines() {
    let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n\\ No newline\n\\ No newline at end of file\n+b\n+c\n";
    let (files, refused) = parse(text.as_bytes().to_vec());
    assert_eq!(refused, []);
    assert_eq!(files[0].added().collect::<Vec<_>>(), [(1, &b"b"[..]), (2, b"c")]);
    assert_eq!(files[0].removed().collect::<Vec<_>>(), [(1, &b"a"[..])]);
    let again = parse(print(&files)).0;
    assert_eq!(again[0].added().collect::<Vec<_>>(), files[0].added().collect::<Vec<_>>());
}
