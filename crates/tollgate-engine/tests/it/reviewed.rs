//! From a trigger to a finished review.

use insta::assert_snapshot;
use tollgate_core::coverage::HunkStatus;
use tollgate_core::finding::Finding;
use tollgate_core::review::Review;
use tollgate_core::verdict::Verdict;
use tollgate_engine::config::{self, FILE_NAME, Layer, Settings};
use tollgate_engine::forge::local::Trigger;
use tollgate_engine::pipeline::{ReviewContext, Reviewed};

use crate::scratch::Scratch;

fn settings(scratch: &Scratch) -> Settings {
    config::load(Some(&scratch.dir), None, &[], Layer::default()).unwrap()
}

fn review(scratch: &Scratch) -> Reviewed {
    scratch.review(Trigger::Default, &settings(scratch)).unwrap()
}

fn coverage(reviewed: &Reviewed) -> String {
    let coverage = reviewed.review.coverage.as_ref().unwrap();
    let lines = coverage.hunks.iter().map(|covered| {
        let lines = covered.lines.map_or_else(|| "-".to_owned(), |lines| lines.to_string());
        let status = match &covered.status {
            HunkStatus::Reviewed => "reviewed".to_owned(),
            HunkStatus::Skipped(rule) => format!("skipped: {rule}"),
            HunkStatus::NotReviewed(reason) => format!("not reviewed: {reason}"),
        };
        format!("{} {lines} {status}", covered.file)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_hunk_is_accounted_for() {
    let scratch = Scratch::with_commit();
    let long: String = (1..40).map(|n| format!("{n}\n")).collect();
    scratch.commit("long.txt", &long);
    scratch.write("long.txt", long.replace("3\n", "three\n"));
    scratch.write("vendor/a.txt", "x\n");
    scratch.write("package-lock.json", "{}\n");
    scratch.write("picture.png", b"\0");
    scratch.write(FILE_NAME, "[paths]\nexclude = ['vendor/', '.tollgate.toml']\n");
    scratch.git(&["rm", "-q", "a.txt"]);
    let reviewed = review(&scratch);
    assert_snapshot!(coverage(&reviewed), @"
    .tollgate.toml 1-2 skipped: left out by `paths`
    a.txt 1 reviewed
    long.txt 1-6 reviewed
    long.txt 10-16 reviewed
    long.txt 20-26 reviewed
    long.txt 30-36 reviewed
    package-lock.json 1 skipped: generated
    picture.png - skipped: binary
    vendor/a.txt 1 skipped: left out by `paths`
    ");
    let files: Vec<&str> = reviewed.review.files_reviewed.iter().map(|file| file.as_str()).collect();
    assert_eq!(files, ["a.txt", "long.txt"]);
}

#[test]
fn an_incomplete_review_does_not_approve() {
    let scratch = Scratch::with_commit();
    scratch.write("large.txt", "line\n".repeat(1000));
    scratch.write(FILE_NAME, "[review]\nmax_diff_bytes = 1000\n[paths]\nexclude = ['.tollgate.toml']\n");
    let reviewed = review(&scratch);
    assert_eq!(reviewed.review.verdict(), Verdict::Commented);
    assert_snapshot!(coverage(&reviewed), @"
    .tollgate.toml 1-4 skipped: left out by `paths`
    large.txt - not reviewed: the change is larger than the limit for diffs
    ");
}

#[test]
fn the_same_change_gives_the_same_review() {
    let scratch = Scratch::with_commit();
    for name in ["b.txt", "c.md", "d.txt"] {
        scratch.write(name, "text\n<<<<<<< ours\n=======\n>>>>>>> theirs\n");
    }
    assert_eq!(review(&scratch).review, review(&scratch).review);
}

#[test]
fn a_change_without_files_says_what_was_compared() {
    let scratch = Scratch::with_commit();
    let reviewed = review(&scratch);
    assert!(reviewed.change.is_empty());
    assert_snapshot!(reviewed.review.compared.unwrap(), @"uncommitted work against HEAD (49bdfc0)");
}

#[test]
fn names_of_rules_that_do_not_exist_are_noted() {
    let scratch = Scratch::with_commit();
    scratch.write(FILE_NAME, "[rules]\ndisable = ['js-evil', 'no-such-*']\n[paths]\nexclude = ['.tollgate.toml']\n");
    assert_snapshot!(review(&scratch).review.notes.unwrap(), @"
    the change alters `.tollgate.toml`, by which it is reviewed
    the configuration names the rule `js-evil`, and no rule is called that
    ");
}

#[test]
fn a_rule_file_with_a_mistake_is_refused_before_anything_is_scanned() {
    let scratch = Scratch::with_commit();
    scratch.write(".tollgate/rules/a.yml", b"\xff");
    let failure = scratch.review(Trigger::Default, &settings(&scratch)).unwrap_err();
    assert_snapshot!(failure.message, @".tollgate/rules/a.yml: the file is not UTF-8");
}

/// Each finding that counts with its id, then each that does not and why.
fn said(reviewed: &Reviewed) -> String {
    let review = &reviewed.review;
    let place = |finding: &tollgate_core::finding::Finding| {
        let rule = finding.origin.rule.as_deref().unwrap_or_default();
        format!("{} {} {}:{} {rule}", finding.id, finding.severity, finding.location.file, finding.location.lines)
    };
    let mut lines: Vec<String> = review.findings.iter().map(place).collect();
    lines.extend(review.withheld.iter().map(|withheld| format!("{} ({:?})", place(&withheld.finding), withheld.why)));
    lines.extend(reviewed.review.notes.iter().flat_map(|notes| notes.lines()).map(|note| format!("note: {note}")));
    lines.join("\n")
}

const CONFLICT: &str = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";

#[test]
fn rules_know_the_files_of_the_base() {
    let scratch = Scratch::with_commit();
    scratch.commit("package.json", "{\n  \"dependencies\": {\n    \"left\": \"1.0.0\"\n  }\n}\n");
    scratch.write("package.json", "{\n  \"dependencies\": {\n    \"left\": \"2.0.0\"\n  }\n}\n");
    assert_snapshot!(said(&review(&scratch)), @"");
    scratch.git(&["stash", "-q"]);
    scratch.commit("package-lock.json", "{}\n");
    scratch.git(&["stash", "pop", "-q"]);
    assert_snapshot!(said(&review(&scratch)), @"F001 Medium package.json:3 manifest-without-lock");
}

#[test]
fn suppressed_findings_are_listed_with_their_source() {
    let scratch = Scratch::with_commit();
    scratch.write("a.conf", format!("# tollgate:ignore conflict-marker shown on purpose\n{CONFLICT}"));
    scratch.write("b.conf", CONFLICT);
    scratch.write("c.conf", CONFLICT);
    let config = "[[suppress]]\npaths = ['b.*']\nrule = 'conflict-*'\nreason = 'a fixture'\n";
    scratch.write(FILE_NAME, format!("{config}[paths]\nexclude = ['.tollgate.toml']\n"));
    assert_snapshot!(said(&review(&scratch)), @r#"
    F001 High c.conf:1 conflict-marker
    F002 Medium a.conf:1 suppression-added
    F003 High a.conf:2 conflict-marker (Suppressed { by: "tollgate:ignore at line 1", reason: Some("shown on purpose"), kind: Comment })
    F004 High b.conf:1 conflict-marker (Suppressed { by: "suppress #1 in .tollgate.toml", reason: Some("a fixture"), kind: Configuration })
    note: the change alters `.tollgate.toml`, by which it is reviewed
    "#);
}

#[test]
fn severities_can_be_changed_and_mild_findings_withheld() {
    let scratch = Scratch::with_commit();
    scratch.write("a.conf", CONFLICT);
    let config = "[rules]\nseverity = { conflict-marker = 'low' }\n[review]\nfloor = 'medium'\n";
    scratch.write(FILE_NAME, format!("{config}[paths]\nexclude = ['.tollgate.toml']\n"));
    assert_snapshot!(said(&review(&scratch)), @"
    F001 Low a.conf:1 conflict-marker (BelowFloor)
    note: the change alters `.tollgate.toml`, by which it is reviewed
    ");
}

#[test]
fn no_secret_is_quoted() {
    let scratch = Scratch::with_commit();
    // In two pieces, so that this file does not hold one.
    let secret = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    scratch.write("a.conf", format!("token = \"{secret}\"\n"));
    let reviewed = review(&scratch);
    assert_eq!(reviewed.review.findings.len(), 1, "{}", said(&reviewed));
    assert!(!format!("{:?}", reviewed.review).contains(&secret));
}

/// Reviews 25 files that a code rule wants to see, with a shell script as scanning child.
#[cfg(unix)]
fn review_with_script(script: &str) -> Reviewed {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::with_commit();
    for index in 10..35 {
        scratch.write(&format!("f{index}.js"), "items.forEach(async (item) => { await save(item); });\n");
    }
    let program = scratch.beside("program");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [("TOLLGATE_LIMITS_JOBS".to_owned(), "1".to_owned())];
    let settings = config::load(None, None, &variables, Layer::default()).unwrap();
    scratch.review_with(Trigger::Default, &settings, &program).unwrap()
}

#[cfg(unix)]
#[test]
fn a_child_that_dies_or_talks_nonsense_is_never_taken_for_a_clean_file() {
    for script in ["exit 0", "exit 1", "cat", "yes", "head -c 4000000 /dev/zero"] {
        let reviewed = review_with_script(script);
        assert_eq!(reviewed.review.findings, [], "{script}");
        assert_eq!(reviewed.review.verdict(), Verdict::Commented, "{script}");
        let count = reviewed.review.coverage.as_ref().unwrap().count();
        assert_eq!((count.reviewed, count.not_reviewed), (0, 25), "{script}");
    }
}

#[cfg(unix)]
#[test]
fn a_change_made_of_files_that_crash_is_given_up_after_a_while() {
    let said = coverage(&review_with_script("kill -SEGV $$"));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "f10.js 1 not reviewed: the parser crashed");
    assert_eq!(lines[24], "f34.js 1 not reviewed: 20 other files stalled or crashed the scanner");
}

#[test]
fn without_a_program_to_scan_with_there_is_no_review() {
    let scratch = Scratch::with_commit();
    scratch.write("a.js", "items.forEach(async (item) => { await save(item); });\n");
    let failure = scratch.review(Trigger::Default, &settings(&scratch)).unwrap_err();
    assert_eq!(failure.kind, tollgate_engine::failure::Kind::Internal);
    assert!(failure.message.starts_with("cannot start `/nonexistent` to scan files"), "{failure}");
}

/// Reviews `main..work` as a gate does.
fn review_at_gate(scratch: &Scratch, title: &str) -> Reviewed {
    let settings = Settings { store: None, ..settings(scratch) };
    scratch.review_in_context(Trigger::Range("main..work".to_owned()), &settings, title, ReviewContext::Gate).unwrap()
}

#[test]
fn at_a_gate_a_change_has_no_say_in_its_own_review() {
    let scratch = Scratch::with_commit();
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.commit("a.conf", format!("# tollgate:ignore conflict-marker shown on purpose\n{CONFLICT}"));
    scratch.git(&["commit", "-q", "--allow-empty", "-m", "[minimal-review] nothing to see"]);
    let settings = settings(&scratch);
    let range = || Trigger::Range("main..work".to_owned());
    let own = scratch.review_in_context(range(), &settings, "", ReviewContext::Local).unwrap();
    let rules =
        |review: &Review| -> Vec<String> { review.findings.iter().filter_map(|it| it.origin.rule.clone()).collect() };
    assert_eq!(rules(&own.review), ["suppression-added"]);
    assert_eq!(own.review.withheld.len(), 1);
    for title in ["", "[no-review] mine"] {
        let gate = review_at_gate(&scratch, title);
        assert_eq!(gate.review.verdict(), Verdict::ChangesRequested, "{title}");
        assert_eq!(rules(&gate.review), ["conflict-marker", "suppression-added"], "{title}");
    }
}

#[test]
fn at_a_gate_the_rules_of_the_base_are_used() {
    let scratch = Scratch::with_commit();
    let rule =
        |id: &str| format!("id: {id}\nlanguage: JavaScript\nmessage: m\nseverity: error\nrule:\n  pattern: f()\n");
    scratch.commit(".tollgate/rules/deep/mine.yml", rule("mine"));
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.git(&["rm", "-q", ".tollgate/rules/deep/mine.yml"]);
    scratch.commit(".tollgate/rules/other.yml", "not: [a rule");
    // A rule of the head would be refused; that of the base asks for a scanning child, and here is none.
    let trigger = Trigger::Range("main..work".to_owned());
    let failure = scratch.review_in_context(trigger, &settings(&scratch), "", ReviewContext::Gate).unwrap_err();
    assert!(failure.message.contains("/nonexistent") || failure.message.contains("scan"), "{}", failure.message);
    assert!(!failure.message.contains("other.yml"), "{}", failure.message);
}

/// Reviews `main..work` as a pull request.
fn review_pull(scratch: &Scratch, title: &str, trusts_author: bool) -> Reviewed {
    let settings = Settings { store: None, ..settings(scratch) };
    let context = ReviewContext::Pull { trusts_author };
    scratch.review_in_context(Trigger::Range("main...work".to_owned()), &settings, title, context).unwrap()
}

#[test]
fn marks_of_a_pull_request_do_not_count_and_tags_only_of_authors_with_write_access() {
    let scratch = Scratch::with_commit();
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.commit("a.conf", format!("# tollgate:ignore conflict-marker shown on purpose\n{CONFLICT}"));
    for trusts_author in [true, false] {
        let reviewed = review_pull(&scratch, "[minimal-review] [no-review] mine", trusts_author);
        assert!(reviewed.review.findings.iter().any(|it| it.severity.blocks()), "{trusts_author}");
        assert_eq!(reviewed.policy.changes_by_tags().is_empty(), !trusts_author);
        let notes = reviewed.review.notes.unwrap_or_default();
        assert_eq!(notes.contains("tags were ignored"), !trusts_author, "{notes}");
        assert!(reviewed.intent.no_review(), "it is shown");
    }
}

#[test]
fn a_pull_request_is_held_against_the_dismissals_of_its_base() {
    let scratch = Scratch::with_commit();
    let (file, title) = ("a.conf", "a conflict marker was left in");
    let dismissals = |found: &Finding| {
        let (title, evidence) = (found.summary.as_str(), found.evidence.replace('\n', "\\n"));
        format!("[[dismissal]]\nfile = '{file}'\ntitle = '{title}'\nevidence = \"{evidence}\"\nreason = 'on purpose'\n")
    };
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.commit(file, CONFLICT);
    let found = review_pull(&scratch, title, true).review.findings;
    let dismissals = dismissals(&found[0]);
    scratch.commit(".tollgate/dismissals.toml", &dismissals);
    let is_counted = |review: &Review| review.findings.iter().any(|finding| finding.location.file.as_str() == file);
    assert!(is_counted(&review_pull(&scratch, title, true).review), "those of the head do not count");
    scratch.git(&["checkout", "-q", "main"]);
    scratch.commit(".tollgate/dismissals.toml", &dismissals);
    scratch.git(&["checkout", "-q", "-b", "again"]);
    scratch.commit(file, CONFLICT);
    scratch.git(&["branch", "-q", "-f", "work", "again"]);
    let review = review_pull(&scratch, title, true).review;
    assert!(!is_counted(&review) && review.withheld.len() == 1, "{:?}", review.findings);
}
