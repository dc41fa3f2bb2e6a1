use insta::assert_snapshot;

use super::*;
use crate::finding::{FindingId, LineRange, Location, Origin, Side, Summary};
use crate::intent::{self, Commit};
use crate::path::FilePath;

fn finding(severity: Severity, category: Category) -> Finding {
    Finding {
        id: FindingId::at(0),
        severity,
        category,
        location: Location { file: FilePath::parse("a.rs").unwrap(), lines: LineRange::line(1), side: Side::Right },
        summary: Summary::parse("a").unwrap(),
        reason: None,
        evidence: "a".to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin::default(),
        extra: serde_json::Map::new(),
    }
}

fn titled(title: &str) -> Policy {
    resolve(&intent::read(title, None, &[], false), &Configured::default())
}

fn areas(areas: &[Category]) -> String {
    areas.iter().map(|area| area.as_str()).collect::<Vec<_>>().join("+")
}

/// The policy in one line.
fn said(policy: &Policy) -> String {
    let early = if policy.early_feedback { ", early feedback" } else { "" };
    format!(
        "{} {}/{} ignores {} focus {}{early}",
        policy.profile.as_str(),
        policy.floor,
        policy.cap,
        areas(&policy.ignored),
        areas(&policy.focus)
    )
}

#[track_caller]
fn check(title: &str, configured: &Configured, expected: &str) {
    let policy = resolve(&intent::read(title, None, &[], false), configured);
    assert_eq!(said(&policy), expected, "{title:?} {configured:?}");
}

#[track_caller]
fn decided(policy: &Policy, severity: Severity, category: Category, is_docs_file: bool, expected: Decision) {
    let decision = policy.decide(&finding(severity, category), is_docs_file);
    assert_eq!(decision, expected, "{severity} {category}, docs {is_docs_file}: {policy:?}");
}

#[test]
fn each_profile_has_its_limits_and_balanced_is_the_default() {
    let none = Configured::default();
    check("a", &none, "balanced Medium/7 ignores Style focus ");
    check("[strict-review]", &none, "strict Low/15 ignores  focus ");
    check("[balanced-review]", &none, "balanced Medium/7 ignores Style focus ");
    check("[minimal-review]", &none, "minimal High/5 ignores Style+Doc focus Security+Logic");
}

#[test]
fn a_tag_overrides_the_configuration_which_overrides_the_profile() {
    let configured = Configured {
        profile: Some(Profile::Minimal),
        floor: Some(Severity::Low),
        cap: Some(3),
        ignored: vec![Category::Perf],
        focus: vec![Category::Test],
    };
    check("a", &configured, "minimal Low/3 ignores Style+Doc+Perf focus Security+Logic+Test");
    check("[strict-review]", &configured, "strict Low/15 ignores Perf focus Test");
    check("[balanced-review]", &configured, "balanced Medium/7 ignores Style+Perf focus Test");
}

#[test]
fn categories_in_focus_are_not_ignored_by_the_profile() {
    let configured = Configured { focus: vec![Category::Style], ..Configured::default() };
    check("a", &configured, "balanced Medium/7 ignores  focus Style");
    check("[style-ok]", &configured, "balanced Medium/7 ignores Style focus Style");
}

#[test]
fn tags_add_to_the_areas() {
    let none = Configured::default();
    check("[security-review]", &none, "balanced Medium/7 ignores Style focus Security");
    check("[security-review][minimal-review]", &none, "minimal High/5 ignores Style+Doc focus Security+Logic");
    check("[style-ok][strict-review]", &none, "strict Low/15 ignores Style focus ");
}

#[test]
fn work_in_progress_gets_early_feedback_unless_it_is_a_draft() {
    let none = Configured::default();
    check("[WIP] a", &none, "balanced Medium/3 ignores Style focus , early feedback");
    check("[draft] [strict-review]", &none, "strict Medium/7 ignores Style focus , early feedback");
    check("[WIP] [minimal-review]", &none, "minimal High/2 ignores Style+Doc focus Security+Logic, early feedback");
    let one = Configured { cap: Some(1), ..Configured::default() };
    check("[WIP] a", &one, "balanced Medium/1 ignores Style focus , early feedback");
    let draft = resolve(&intent::read("[WIP] a", None, &[], true), &none);
    assert_eq!(said(&draft), "balanced Medium/7 ignores Style focus ");
}

#[test]
fn findings_below_the_floor_do_not_count() {
    use Severity::{Critical, High, Low, Medium, Nit, Praise};
    for (title, floor) in [("[strict-review]", Low), ("a", Medium), ("[minimal-review]", High)] {
        for severity in [Nit, Low, Medium, High, Critical] {
            let expected = if severity >= floor { Decision::Counts } else { Decision::BelowFloor };
            decided(&titled(title), severity, Category::Logic, false, expected);
        }
        decided(&titled(title), Praise, Category::Style, false, Decision::Counts);
    }
}

#[test]
fn an_ignored_area_never_hides_a_blocker() {
    let policy = titled("[style-ok]");
    decided(&policy, Severity::Medium, Category::Style, false, Decision::IgnoredArea(Category::Style));
    decided(&policy, Severity::High, Category::Style, false, Decision::Counts);
    decided(&policy, Severity::Critical, Category::Style, false, Decision::Counts);
}

#[test]
fn no_floor_hides_a_critical() {
    let none = intent::read("a", None, &[], false);
    let policy = resolve(&none, &Configured { floor: Some(Severity::Critical), ..Configured::default() });
    decided(&policy, Severity::High, Category::Logic, false, Decision::BelowFloor);
    decided(&policy, Severity::Critical, Category::Logic, false, Decision::Counts);
}

#[test]
fn a_finding_about_the_review_itself_is_never_hidden() {
    let policy = titled("[minimal-review] [style-ok]");
    for rule in REVIEW_RULES {
        let mut silenced = finding(Severity::Medium, Category::Style);
        silenced.origin.rule = Some(rule.to_owned());
        assert_eq!(policy.decide(&silenced, true), Decision::Counts, "{rule}");
    }
}

#[test]
fn the_docs_type_lightens_documentation_files_and_nothing_else() {
    let docs = titled("docs: a [strict-review]");
    let plain = titled("a [strict-review]");
    for severity in Severity::ALL {
        for category in Category::ALL {
            let same = plain.decide(&finding(severity, category), false);
            decided(&docs, severity, category, false, same);
        }
    }
    decided(&docs, Severity::Low, Category::Doc, true, Decision::BelowFloor);
    decided(&docs, Severity::Medium, Category::Style, true, Decision::IgnoredArea(Category::Style));
    decided(&docs, Severity::Medium, Category::Doc, true, Decision::Counts);
    decided(&docs, Severity::High, Category::Style, true, Decision::Counts);
    decided(&plain, Severity::Low, Category::Doc, true, Decision::Counts);
}

#[test]
fn undeclared_api_changes_of_a_feature_are_one_severity_higher() {
    let about = |rule: &str| Finding {
        origin: Origin { rule: Some(rule.to_owned()), ..Origin::default() },
        ..finding(Severity::Medium, Category::Architecture)
    };
    for rule in ["api-removed", "api-changed"] {
        assert_eq!(titled("feat: a").weigh(&about(rule)), Severity::High, "{rule}");
        assert_eq!(titled("feat!: a").weigh(&about(rule)), Severity::Medium, "{rule}");
        assert_eq!(titled("fix: a").weigh(&about(rule)), Severity::Medium, "{rule}");
    }
    assert_eq!(titled("feat: a").weigh(&about("js-eval")), Severity::Medium);
    assert_eq!(titled("fix: a").effect, Some(Effect::TestsExpected));
    assert_eq!(titled("chore: a").effect, None);
}

#[test]
fn the_api_rules_exist() {
    for rule in API_RULES {
        let file = format!("{}/../tollgate-rules/rules/change/{rule}.yml", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&file).is_file(), "{rule}");
    }
}

#[test]
fn the_cap_keeps_the_worst_and_every_critical() {
    use Severity::{Critical, High, Low, Medium, Praise};
    let cut = |cap: usize, severities: &[Severity]| {
        let findings: Vec<_> = severities.iter().map(|&severity| finding(severity, Category::Logic)).collect();
        Policy { cap, ..titled("a") }.cut(&findings)
    };
    assert_eq!(cut(2, &[Low, High, Medium, High]), (vec![1, 3], vec![2, 0]));
    assert_eq!(cut(1, &[Critical, High, Critical]), (vec![0, 2], vec![1]));
    assert_eq!(cut(0, &[Critical, Praise, Low]), (vec![0, 1], vec![2]));
    assert_eq!(cut(3, &[Low, Low, Low]), (vec![0, 1, 2], vec![]));
    assert_eq!(cut(5, &[]), (vec![], vec![]));
}

#[test]
fn every_effect_is_explained_in_a_sentence() {
    let title = "[WIP] feat(api): a [strict-review] [minimal-review] [style-ok]";
    let commits = [Commit { sha: "abc1234def", message: "[no-review] [security-review] b" }];
    let policy = resolve(&intent::read(title, None, &commits, false), &Configured::default());
    assert_snapshot!(policy.changes.join("\n"), @r"
    reviewed despite [no-review] in commit abc1234: only the title skips a review
    profile strict from [strict-review] in title: findings from Low on, at most 15 comments
    early feedback because of [WIP] in title: no style, nothing below Medium, at most 7 comments
    security in focus because of [security-review] in commit abc1234
    style ignored because of [style-ok] in title
    type feat(api) in title: no breaking change is declared, so removed or changed public API is one severity higher
    ");
    let other = [titled("docs: a"), titled("fix(b): a"), titled("[no-review] a")];
    assert_snapshot!(other.iter().flat_map(|policy| policy.changes.clone()).collect::<Vec<_>>().join("\n"), @r"
    type docs in title: documentation files get a lighter review: no style, nothing below Medium
    type fix(b) in title: tests are expected to change with it
    review skipped because of [no-review] in title
    ");
    assert_eq!(titled("chore: a").changes, [""; 0]);
}

#[test]
fn profiles_are_ordered_and_read_by_name() {
    assert!(Profile::Strict > Profile::Balanced && Profile::Balanced > Profile::Minimal);
    for profile in Profile::ALL {
        assert_eq!(Profile::parse(&profile.as_str().to_uppercase()), Some(profile));
    }
    assert_eq!(Profile::parse("lax"), None);
}
