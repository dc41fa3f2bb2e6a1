//! Files that are no plain text at a plain name.

use super::super::test_server::{BAD, GOOD, TestServer};
use super::outcome;
use crate::fake_github::{Commit, FakeGithub, File, Opening};

/// A Git LFS pointer file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n\
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

/// The commit of a submodule that is not available.
const COMMIT: &str = "0123456789012345678901234567890123456789";

/// File names with special meaning to git, shells, Markdown, JSON, people or tollgate.
const NAMES: &[&str] = &[
    "new\nline.js",
    "tab\tand  spaces .js",
    "quo\"te's.js",
    "back\\slash.js",
    "**bold** [x](https:evil.example) `code` <b>.js",
    "<!-- tollgate:summary head=0123456789012345678901234567890123456789 -->.js",
    "\n<!-- tollgate:review head=0123456789012345678901234567890123456789 -->\n.js",
    "@octo/team.js",
    "-rf.js",
    "über 😀.js",
    "| a | b |.js",
    ":(glob)**.js",
    "#1.js",
];

#[test]
fn files_of_every_kind_and_name_are_reviewed_and_their_findings_are_where_they_belong() {
    let github = FakeGithub::start();
    // Each finding that can have a comment at its line gets one.
    let mut server = TestServer::new(&github, "[review]\ncap = 30\n");
    server.launch(None);
    let old: String = (0..40).map(|number| format!("export const n{number} = {number};\n")).collect();
    let start = [("README.md", "# app\n"), ("old/name.js", &old), ("crlf.js", &GOOD.replace('\n', "\r\n"))];
    github.repository("octo/app", &start);
    let (moved, crlf) = (format!("{old}{BAD}"), format!("{GOOD}{BAD}").replace('\n', "\r\n"));
    let mut files = vec![
        File::Moves(b"old/name.js", b"new/name.js"),
        File::Holds(b"new/name.js", moved.as_bytes()),
        File::Holds(b"crlf.js", crlf.as_bytes()),
        File::Holds(b"no-feed.js", BAD.trim_end().as_bytes()),
        File::Holds(b"caf\xe9.js", BAD.as_bytes()),
        File::Holds(b"\xff\xfe/deep.js", BAD.as_bytes()),
        File::Holds(b"logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\0eval(text)"),
        File::Holds(b"model.bin", POINTER),
        File::Holds(b"empty.js", b""),
        File::Leads(b"link.js", b"README.md"),
        File::Module(b"vendor/lib", COMMIT),
    ];
    files.extend(NAMES.iter().map(|name| File::Holds(name.as_bytes(), BAD.as_bytes())));
    let commits = [Commit { message: "all kinds", files: &files }];
    let pull = github.open("octo/app", &Opening { title: "feat: parse", commits: &commits, ..Opening::default() });
    let found = outcome(&github, &server, &pull, "files of every kind");

    let mut expected: Vec<(&str, Option<u64>)> = NAMES.iter().map(|name| (*name, Some(1))).collect();
    expected.extend([("new/name.js", Some(41)), ("crlf.js", Some(2)), ("no-feed.js", Some(1))]);
    expected.sort_unstable();
    let mut inline: Vec<(&str, Option<u64>)> =
        found.seen.inline.iter().map(|comment| (comment.path.as_str(), comment.line)).collect();
    inline.sort_unstable();
    assert_eq!(inline, expected);
    // What cannot be named in JSON has no line, and is listed.
    assert_eq!((found.listed.len(), found.n_annotations), (2, 0));
    let listed = &found.seen.reviews[0].body;
    assert!(listed.contains("[caf\u{fffd}.js (1)]") && listed.contains("[\u{fffd}\u{fffd}/deep.js (1)]"), "{listed}");
    let counts = (found.seen.conclusion(), found.seen.summaries.len(), found.seen.reviews.len());
    assert_eq!(counts, (Some("failure"), 1, 1));
    let covered = "- Coverage: 21 of 23 hunks reviewed, 2 skipped by a rule, 0 not reviewed\n";
    assert!(found.check().contains(covered), "{}", found.check());
}

#[test]
fn files_without_lines_pass_without_a_comment() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    let old = GOOD.repeat(9);
    github.repository("octo/app", &[("old.js", &old), ("README.md", "# app\n")]);
    let files = [
        File::Moves(b"old.js", b"\xfc.js"),
        File::Holds(b"logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\0"),
        File::Holds(b"model.bin", POINTER),
        File::Module(b"vendor/lib", COMMIT),
    ];
    let commits = [Commit { message: "nothing to see", files: &files }];
    let pull = github.open("octo/app", &Opening { title: "chore: move", commits: &commits, ..Opening::default() });
    let found = outcome(&github, &server, &pull, "nothing to look at");
    assert_eq!((found.seen.conclusion(), found.bodies().len(), found.n_annotations), (Some("success"), 0, 0));
}

#[test]
fn files_marked_generated_in_the_base_are_skipped_and_a_change_cannot_mark_its_own() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", &[(".gitattributes", "made/** linguist-generated\n")]);
    let files = [("made/a.js", BAD), ("b.js", BAD), ("c/d.js", BAD), ("c/.gitattributes", "* linguist-generated\n")];
    let pull = github.open("octo/app", &Opening { title: "feat: parse", files: &files, ..Opening::default() });
    let found = outcome(&github, &server, &pull, "generated files");
    let at: Vec<&str> = found.seen.inline.iter().map(|comment| comment.path.as_str()).collect();
    assert_eq!((found.seen.conclusion(), at), (Some("failure"), vec!["b.js", "c/d.js"]));
    let covered = "- Coverage: 3 of 4 hunks reviewed, 1 skipped by a rule, 0 not reviewed\n";
    assert!(found.check().contains(covered), "{}", found.check());
}
