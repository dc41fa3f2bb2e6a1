//! Large differences.

use super::super::test_server::{BAD, GOOD, TestServer};
use super::{Found, START, is_thorough, outcome};
use crate::fake_github::{FakeGithub, Opening};

/// The default limit of a diff in bytes.
const MAX_DIFF: usize = 20_000_000;

/// A diff of the given size in files of 60 kB, with a finding in every tenth if wanted.
fn files(n_bytes: usize, has_findings: bool) -> Vec<(String, String)> {
    let filler = format!("export const words = '{}';\n", "plain words ".repeat(6)).repeat(600);
    // Each line has a mark in front, and each file a header.
    let n_files = n_bytes / (filler.len() + 600 + 200);
    let text = |number: usize| if has_findings && number.is_multiple_of(10) { BAD } else { GOOD };
    (0..n_files).map(|number| (format!("src/f{number:03}.js"), format!("{filler}{}", text(number)))).collect()
}

#[track_caller]
fn review(what: &str, settings: &str, files: &[(String, String)]) -> Found {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, settings);
    server.launch(None);
    github.repository("octo/app", START);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let pull = github.open("octo/app", &Opening { title: "feat: parse", files: &files, ..Opening::default() });
    let n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    outcome(&github, &server, &pull, &format!("{} MB in {} files, {what}", n_bytes / 1_000_000, files.len()))
}

#[test]
fn a_difference_as_large_as_may_be_is_reviewed_as_a_whole() {
    let files = files(if is_thorough() { MAX_DIFF - 100_000 } else { 4_000_000 }, true);
    let found = review("all of it", "", &files);
    let n_findings = files.len().div_ceil(10);
    assert_eq!(
        (found.seen.conclusion(), found.n_named(), found.inline.len() + found.n_annotations),
        (Some("failure"), n_findings, n_findings)
    );
    let covered = format!("- Coverage: {0} of {0} hunks reviewed", files.len());
    assert!(found.check().contains(&covered), "{}", found.check());
}

#[test]
fn an_oversized_change_is_reviewed_in_part_and_never_passes() {
    let (settings, n_bytes) =
        if is_thorough() { ("", MAX_DIFF / 5 * 6) } else { ("[review]\nmax_diff_bytes = 1000000\n", 1_500_000) };
    for (has_findings, conclusion) in [(false, "action_required"), (true, "failure")] {
        let files = files(n_bytes, has_findings);
        let found = review("a part of it", settings, &files);
        assert_eq!((found.seen.conclusion(), found.seen.summaries.len()), (Some(conclusion), 1));
        // Each file was reviewed with its findings, or is listed as not reviewed.
        let said = found.check();
        let grouped =
            said.lines().find(|line| line.starts_with("  - not reviewed: ") && line.contains("the diff is larger"));
        let is_left_out = |name: &str| grouped.is_some_and(|line| line.contains(name));
        let n_left_out = files.iter().filter(|(name, _)| is_left_out(name)).count();
        let n_reviewed = files.len() - n_left_out;
        let covered = format!("- Coverage: {n_reviewed} of {} hunks reviewed, ", files.len());
        assert!(n_left_out > 0 && said.contains(&covered), "{covered}\n{said}");
        let changed = format!("- Files: {} changed, {n_reviewed} reviewed\n", files.len());
        assert!(found.summary().contains(&changed), "{changed}\n{}", found.summary());
        let n_findings = if has_findings { n_reviewed.div_ceil(10) } else { 0 };
        assert_eq!((found.n_named(), found.inline.len() + found.n_annotations), (n_findings, n_findings));
    }
}
