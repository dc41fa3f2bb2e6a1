//! Patches and repositories that try to pass unseen, or to exhaust the machine, through the program.

use std::fmt::Write as _;

use crate::scratch::{Ran, Scratch};

const HUNK: &str = "@@ -0,0 +1 @@\n+hello\n";

fn patch_of(path: &str) -> String {
    format!("diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n{HUNK}")
}

fn review(patch: &str, format: &str) -> Ran {
    Scratch::folder().tollgate_with(&["review", "--diff", "-", "--format", format], patch.as_bytes(), &[])
}

#[track_caller]
fn check_refused(patch: &str, words: &str) {
    let stderr = review(patch, "json").expect_refused(2);
    assert!(stderr.contains(words) && stderr.contains("hint: "), "{patch}\n{stderr}");
}

#[test]
fn patches_that_leave_the_repository_or_enter_its_git_directory_are_refused() {
    for path in ["../../etc/passwd", "a/../../b", "/etc/passwd"] {
        check_refused(&patch_of(path), "outside of the repository");
    }
    for path in [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "git~1/config",
        "sub/.Git/config",
        ".g\u{200c}it/config",
        ".git\u{e0020}/config",
        ".git./config",
        ".git::$INDEX_ALLOCATION/config",
    ] {
        check_refused(&patch_of(path), "inside of the git directory");
    }
    // The old name of a file counts, too, and so does one without lines.
    let renamed = "diff --git a/.git/config b/x\nsimilarity index 100%\nrename from .git/config\nrename to x\n";
    check_refused(renamed, "inside of the git directory");
    assert_eq!(review(&patch_of(".github/x.yml"), "json").code, 0);
}

#[test]
fn damaged_patches_are_errors() {
    let whole = patch_of("a.txt");
    for end in [30, 45, 60, 80, whole.len() - 8] {
        check_refused(&whole[..end], "line ");
    }
    for head in ["", "diff --git a/x b/x\n"] {
        check_refused(&format!("{head}--- /dev/null\n+++ /dev/null\n{HUNK}"), "`/dev/null` on both");
    }
}

#[test]
fn a_coloured_patch_is_refused_with_a_hint() {
    let scratch = Scratch::on_a_branch();
    scratch.write("README.md", "# changed\n");
    let coloured = scratch.git(&["diff", "--color=always"]);
    check_refused(&coloured, "`git diff --no-color");
    // Also behind a file that is not.
    check_refused(&format!("{}{coloured}", patch_of("a.txt")), "`git diff --no-color");
}

#[test]
fn an_empty_patch_is_said_to_be_nothing_and_is_no_approval() {
    for patch in ["", "\n \n"] {
        let ran = review(patch, "json");
        assert!(ran.stderr.contains("nothing to review"), "{}", ran.stderr);
        let json = ran.expect(0);
        assert!(json.contains("\"COMMENTED\"") && !json.contains("APPROVED"), "{json}");
        assert!(!review(patch, "pretty").expect(0).contains("Approve"));
    }
}

#[test]
fn a_diff_in_the_text_of_a_mail_is_no_file_and_no_approval() {
    let mail = format!(
        "From {} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.org>\nSubject: [PATCH] x\n\nIt was\n{}---\n a | 1 +\n\n{}-- \n2.39.5\n",
        "a".repeat(40),
        patch_of("fake.txt"),
        patch_of("real.txt"),
    );
    let json: serde_json::Value = serde_json::from_str(&review(&mail, "json").expect(1)).unwrap();
    assert_eq!(json["files_reviewed"], serde_json::json!(["real.txt"]));
    assert_eq!(json["verdict"], "COMMENTED");
    let said = json["x_coverage"].to_string();
    assert!(said.contains("fake.txt") && said.contains("git am"), "{said}");
}

#[test]
fn a_change_of_type_is_one_file() {
    let scratch = Scratch::on_a_branch();
    scratch.git(&["rm", "-q", "README.md"]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("elsewhere", scratch.path().join("README.md")).unwrap();
    scratch.commit("link");
    assert!(scratch.tollgate(&["review", "main..work"]).expect(0).contains("1 file changed, 1 line added, 1 removed"));
    let patch = scratch.git(&["diff", "main", "work"]);
    let said = scratch.tollgate_with(&["analyze", "--diff", "-"], patch.as_bytes(), &[]).expect(0);
    assert!(said.contains("\n1 file, +1 -1"), "{said}");
}

/// Writes trees of ten entries, each of them the tree before, and returns the commit on top.
#[cfg(unix)]
fn tree_bomb(scratch: &Scratch, n_levels: usize) -> String {
    let git = |args: &[&str], input: &str| {
        let mut child = crate::scratch::git_command(scratch.path())
            .args(args)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let blob = git(&["hash-object", "-w", "--stdin"], "x\n");
    let mut entry = format!("100644 blob {blob}");
    for _ in 0..n_levels {
        let mut tree = String::new();
        for name in 0..10 {
            writeln!(tree, "{entry}\t{name}").unwrap();
        }
        entry = format!("040000 tree {}", git(&["mktree"], &tree));
    }
    let tree = entry.rsplit(' ').next().unwrap().to_owned();
    git(&["commit-tree", "-p", "main", "-m", "bomb", &tree], "")
}

#[cfg(unix)]
#[test]
fn a_billion_paths_in_a_dozen_objects_are_not_reviewed_and_not_expanded() {
    for n_levels in [7, 9] {
        let scratch = Scratch::on_a_branch();
        let commit = tree_bomb(&scratch, n_levels);
        let said = scratch.tollgate(&["review", &format!("main..{commit}")]).expect(1);
        assert!(said.contains("more than 1,000,000 paths") && said.contains("Partly reviewed"), "{said}");
    }
    // A real change beside equal trees is not mistaken for one.
    let scratch = Scratch::on_a_branch();
    let commit = tree_bomb(&scratch, 3);
    assert!(scratch.tollgate(&["review", &format!("main..{commit}")]).expect(0).contains("1001 files changed"));
}

#[cfg(unix)]
#[test]
fn a_file_of_hundreds_of_megabytes_is_not_reviewed() {
    let scratch = Scratch::on_a_branch();
    let file = std::fs::File::create(scratch.path().join("large.txt")).unwrap();
    file.set_len(200 << 20).unwrap();
    scratch.write("small.txt", "hello\n");
    scratch.commit("large");
    let said = scratch.tollgate(&["review", "main..work"]).expect(1);
    assert!(said.contains("not reviewed: large.txt (the file is larger than 32 MiB)"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_pipe_that_git_would_wait_for_is_refused_at_once() {
    for path in [".gitignore", "deep/er/.gitattributes"] {
        let scratch = Scratch::on_a_branch();
        scratch.write("deep/er/x", "x\n");
        let made = std::process::Command::new("mkfifo").arg(scratch.path().join(path)).status().unwrap();
        assert!(made.success());
        let stderr = scratch.tollgate(&["review"]).expect_refused(2);
        assert!(stderr.contains(path) && stderr.contains("a pipe, a socket or a device"), "{stderr}");
    }
}

const EVERYTHING_OFF: &str = "[paths]\nexclude = [\"*\"]\n";
const LOOP: &str = "items.forEach(async (item) => save(item));\n";

#[test]
fn a_branch_does_not_configure_its_own_review() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).write(".tollgate.toml", EVERYTHING_OFF);
    scratch.commit("hide");
    for args in [&["review"][..], &["review", "main..work"], &["review", "main...work"]] {
        let ran = scratch.tollgate(args);
        assert!(ran.stderr.contains("does not count: `paths.exclude"), "{}", ran.stderr);
        assert!(ran.expect(1).contains("js-async-foreach"));
    }
    let trusted = scratch.tollgate(&["review", "--no-store", "--trust-branch-config"]);
    assert!(!trusted.stderr.contains("does not count"), "{}", trusted.stderr);
    assert!(!trusted.stdout.contains("js-async-foreach"));
    // Deleting the settings of the base changes nothing either.
    let scratch = Scratch::on_a_branch();
    scratch.write(".tollgate.toml", "[review]\nfail_on = \"low\"\n").commit("settings");
    scratch.git(&["branch", "-f", "main", "HEAD"]);
    scratch.git(&["rm", "-q", ".tollgate.toml"]);
    scratch.write("a.js", LOOP).commit("remove");
    let ran = scratch.tollgate(&["review"]);
    assert!(ran.stderr.contains("without `review.fail_on = \"low\"`"), "{}", ran.stderr);
    // A branch cannot choose another base either.
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).write(".tollgate.toml", "[review]\nbase = \"work\"\n").commit("hide");
    assert!(scratch.tollgate(&["review"]).expect(1).contains("js-async-foreach"));
}

#[test]
fn new_settings_that_are_not_committed_count_for_people_only() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).commit("loop");
    scratch.write(".tollgate.toml", "[review]\nfail_on = \"critical\"\n");
    scratch.tollgate(&["review"]).expect(0);
    let ran = scratch.tollgate_with(&["review"], b"", &[("CLAUDECODE", "1")]);
    assert!(ran.stderr.contains("does not count"), "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}
