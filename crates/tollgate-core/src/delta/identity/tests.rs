use std::slice::from_ref;

use proptest::prelude::*;

use super::*;
use crate::diff;

/// A finding that owns its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OwnedFinding {
    file: FilePath,
    lines: Option<LineRange>,
    title: String,
    severity: Severity,
    category: Category,
    rule: Option<String>,
    evidence: String,
}

impl OwnedFinding {
    fn claim(&self) -> ComparedFinding<'_> {
        ComparedFinding {
            file: &self.file,
            title: &self.title,
            severity: self.severity,
            category: self.category,
            rule: self.rule.as_deref(),
            reviewer: None,
            lines: self.lines,
            side: Side::Right,
            evidence: &self.evidence,
            reason: "",
            scope: None,
            is_answered: false,
        }
    }

    fn severe(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    fn about(self, category: Category) -> Self {
        Self { category, ..self }
    }

    fn by(self, rule: &str) -> Self {
        Self { rule: Some(rule.to_owned()), ..self }
    }

    fn quoting(self, evidence: &str) -> Self {
        Self { evidence: evidence.to_owned(), ..self }
    }
}

/// `a.rs:3-5 title`, or `a.rs title` for one without lines.
fn say(text: &str) -> OwnedFinding {
    let (place, title) = text.split_once(' ').unwrap();
    let (file, lines) = place.split_once(':').map_or((place, None), |(file, lines)| (file, Some(lines)));
    let lines = lines.map(|lines| {
        let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
        LineRange::new(start.parse().unwrap(), end.parse().unwrap()).unwrap()
    });
    OwnedFinding {
        file: FilePath::parse(file).unwrap(),
        lines,
        title: title.to_owned(),
        severity: Severity::Medium,
        category: Category::Logic,
        rule: None,
        evidence: String::new(),
    }
}

#[test]
fn findings_without_lines_and_code_are_one_by_equal_or_nearly_equal_words() {
    let untested = || say("unknown There are no tests").about(Category::Test);
    let migration = || say("unknown The migration cannot be undone").about(Category::Test);
    let removed = || say("unknown The public interface was removed").about(Category::Test);
    check(&[untested(), migration()], &[removed()], &[]);
    check(&[untested(), migration()], &[removed(), migration()], &[(1, 1)]);
    let nearly = say("unknown The migration can not be undone").about(Category::Test);
    check(&[untested(), migration()], &[nearly], &[(1, 0)]);
    check(&[migration()], &[migration().about(Category::Doc)], &[(0, 0)]);
}

fn joined(prior: &[OwnedFinding], current: &[OwnedFinding], map: &LineMap) -> FindingPairs {
    let prior: Vec<ComparedFinding<'_>> = prior.iter().map(OwnedFinding::claim).collect();
    let current: Vec<ComparedFinding<'_>> = current.iter().map(OwnedFinding::claim).collect();
    match_findings(&prior, &current, map)
}

#[track_caller]
fn check(prior: &[OwnedFinding], current: &[OwnedFinding], expected: &[(usize, usize)]) {
    check_mapped(prior, current, &LineMap::identity(), expected);
}

#[track_caller]
fn check_mapped(prior: &[OwnedFinding], current: &[OwnedFinding], map: &LineMap, expected: &[(usize, usize)]) {
    assert_eq!(joined(prior, current, map), FindingPairs { pairs: expected.to_vec(), n_not_compared: 0 });
}

/// Three lines are inserted before line 1 of `a.rs`, line 9 is edited, and `old.rs` is renamed to `new.rs`.
fn map() -> LineMap {
    let text = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -0,0 +1,3 @@\n+x\n+y\n+z\n@@ -9 +12 @@\n-p\n+q\n\
        diff --git a/old.rs b/new.rs\nsimilarity index 100%\nrename from old.rs\nrename to new.rs\n";
    LineMap::of_diff(&diff::parse(text.into()).0, &[])
}

#[test]
fn the_same_title_in_the_same_file_is_the_same_finding_wherever_it_is() {
    check(&[say("a.rs:3 SQL injection")], &[say("a.rs:900 sql-injection!").severe(Severity::Low)], &[(0, 0)]);
    check(&[say("a.rs:3 SQL injection")], &[say("b.rs:3 SQL injection")], &[]);
    check(&[say("a.rs SQL injection")], &[say("a.rs SQL injection")], &[(0, 0)]);
}

#[test]
fn of_two_equal_findings_one_fixed_leaves_one_open() {
    let two = [say("a.rs:3 Bad"), say("a.rs:30 Bad")];
    check(&two, &[say("a.rs:29 Bad")], &[(1, 0)]);
    check(&two[..1], &[say("a.rs:50 Bad"), say("a.rs:4 Bad")], &[(0, 1)]);
}

#[test]
fn among_equals_evidence_then_severity_then_lines_decide() {
    let two = [say("a.rs:3 Bad").quoting("one()"), say("a.rs:9 Bad").quoting("two()")];
    check(&two, &[say("a.rs:4 Bad").quoting("two( )")], &[(1, 0)]);
    let two = [say("a.rs:3 Bad"), say("a.rs:9 Bad").severe(Severity::High)];
    check(&two, &[say("a.rs:4 Bad").severe(Severity::High)], &[(1, 0)]);
    check_mapped(&[say("a.rs:3 Bad"), say("a.rs:5 Bad")], &[say("a.rs:6 Bad")], &map(), &[(0, 0)]);
}

#[test]
fn renamed_files_are_followed() {
    check_mapped(&[say("old.rs:3 Bad")], &[say("new.rs:3 Bad")], &map(), &[(0, 0)]);
    check_mapped(&[say("old.rs:3 Bad")], &[say("old.rs:3 Bad")], &map(), &[]);
    let prior = say("old.rs:3 Query allows SQL injection");
    check_mapped(&[prior], &[say("new.rs:3 SQL injection through the query")], &map(), &[(0, 0)]);
}

#[test]
fn the_same_evidence_and_rule_or_category_is_the_same_finding() {
    let prior = say("a.rs:3 Secret in source").quoting("key = \"1234\"");
    let other = say("a.rs:80 Credentials committed").quoting("key=\"1234\"");
    check(from_ref(&prior), from_ref(&other), &[(0, 0)]);
    check(from_ref(&prior), &[other.clone().about(Category::Style)], &[]);
    let (prior, other) = (prior.by("secret"), other.about(Category::Style));
    check(from_ref(&prior), &[other.clone().by("secret")], &[(0, 0)]);
    check(from_ref(&prior), &[other.clone().about(Category::Logic).by("other")], &[]);
    check(from_ref(&prior), &[other.clone().about(Category::Logic)], &[(0, 0)]);
    check(&[prior], &[OwnedFinding { file: FilePath::parse("b.rs").unwrap(), ..other.about(Category::Logic) }], &[]);
}

#[test]
fn evidence_that_is_everywhere_matches_nothing() {
    check(&[say("a.rs:3 One thing").quoting("  }")], &[say("a.rs:80 Another").quoting("}")], &[]);
    check(&[say("a.rs:3 One thing")], &[say("a.rs:80 Another")], &[]);
}

#[test]
fn words_distinguish_findings_with_the_same_evidence() {
    let prior = [say("a.rs:3 Off-by-one in the loop"), say("a.rs:3 Overflow of the sum")]
        .map(|finding| finding.quoting("for i in x"));
    let current = [say("a.rs:3 The sum can overflow"), say("a.rs:3 Loop is off by one")]
        .map(|finding| finding.quoting("for i in x"));
    check(&prior, &current, &[(0, 1), (1, 0)]);
}

#[test]
fn similar_words_match_only_at_one_location() {
    let prior = say("a.rs:10-12 SQL injection in login query");
    check(from_ref(&prior), &[say("a.rs:12 Login query is vulnerable to SQL injection")], &[(0, 0)]);
    check(from_ref(&prior), &[say("a.rs:13 Login query is vulnerable to SQL injection")], &[]);
    check(from_ref(&prior), &[say("b.rs:12 Login query is vulnerable to SQL injection")], &[]);
    check(from_ref(&prior), &[say("a.rs Login query is vulnerable to SQL injection")], &[]);
    check_mapped(&[prior], &[say("a.rs:13 Login query is vulnerable to SQL injection")], &map(), &[(0, 0)]);
}

#[test]
fn an_edited_line_is_where_it_was_for_the_same_rule_title_or_similar_words() {
    let prior = say("a.rs:9 SQL injection in login query").quoting("query(a + b)");
    let reworded = say("a.rs:12 Login query is vulnerable to SQL injection").quoting("query(`${a}${b}`)");
    check_mapped(from_ref(&prior), from_ref(&reworded), &map(), &[(0, 0)]);
    check_mapped(from_ref(&prior), &[reworded.about(Category::Style)], &map(), &[]);
    check_mapped(from_ref(&prior), &[say("a.rs:12 The lock is not released").quoting("lock()")], &map(), &[]);
    check_mapped(
        from_ref(&prior),
        &[OwnedFinding { lines: LineRange::new(12, 12), ..prior.clone() }],
        &map(),
        &[(0, 0)],
    );
    let (prior, current) =
        (say("a.rs:9 One message").by("x").quoting("p"), say("a.rs:12 Another").by("x").quoting("q"));
    check_mapped(&[prior], &[current], &map(), &[(0, 0)]);
}

#[test]
fn file_and_title_alone_never_match_findings_whose_code_differs() {
    let prior = say("a.rs:3 SQL injection").by("sql").quoting("query(\"users\" + id)");
    let current = say("a.rs:144 SQL injection").by("sql").quoting("query(\"orders\" + name)");
    check(from_ref(&prior), from_ref(&current), &[]);
    check_mapped(from_ref(&prior), from_ref(&current), &map(), &[]);
    check_mapped(from_ref(&prior), &[OwnedFinding { evidence: String::new(), ..current }], &map(), &[]);
}

#[test]
fn a_copy_of_untouched_code_is_another_finding_and_moved_code_is_the_same() {
    let prior = say("a.rs:3 SQL injection").quoting("query(a + b)");
    let copy = say("a.rs:80 SQL injection").quoting("query(a + b)");
    check_mapped(from_ref(&prior), from_ref(&copy), &map(), &[]);
    let moved = OwnedFinding { lines: LineRange::new(6, 6), ..copy.clone() };
    check_mapped(from_ref(&prior), &[copy.clone(), moved], &map(), &[(0, 1)]);
    // Line 9 was edited, so its code is gone from there.
    let edited = OwnedFinding { lines: LineRange::new(9, 9), ..prior };
    check_mapped(&[edited], &[copy], &map(), &[(0, 0)]);
}

#[test]
fn another_number_name_or_negation_is_another_finding() {
    check(&[say("a.rs:3 Waits 3 seconds for the lock")], &[say("a.rs:3 Waits 30 seconds for the lock")], &[]);
    check(&[say("a.rs:3 Result of `open` is ignored")], &[say("a.rs:3 Result of `close` is ignored")], &[]);
    check(&[say("a.rs:3 Error is shown to users")], &[say("a.rs:3 Error is not shown to users")], &[]);
    let rules = [say("a.rs:3 Weak hash for passwords").by("x"), say("a.rs:3 Passwords with a weak hash").by("y")];
    check(&rules[..1], &rules[1..], &[]);
}

#[test]
fn the_best_pair_goes_first_and_each_finding_only_once() {
    let prior = [say("a.rs:3 Lock is held too long"), say("a.rs:3 Lock is held during the request for too long")];
    let current = [say("a.rs:3 During the request the lock is held too long")];
    check(&prior, &current, &[(1, 0)]);
}

#[test]
fn reworded_issues_match_and_different_issues_do_not() {
    let (mut n_same, mut n_found, mut n_wrong) = (0, 0, 0);
    let mut missed = String::new();
    for line in include_str!("tests/pairs.txt").lines().filter(|line| !line.starts_with('#')) {
        let [kind, a, b] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        // Of two categories, so that the words decide: on one line, one category is enough where neither quotes code.
        let other = say(&format!("a:5 {b}")).about(Category::Error);
        let found = !joined(&[say(&format!("a:5 {a}"))], &[other], &LineMap::identity()).pairs.is_empty();
        n_same += usize::from(kind == "same");
        n_found += usize::from(kind == "same" && found);
        n_wrong += usize::from(kind == "other" && found);
        if (kind == "same") != found {
            missed += &format!("{line}\n");
        }
    }
    let (recall, precision) = (n_found as f64 / n_same as f64, n_found as f64 / (n_found + n_wrong) as f64);
    assert!(recall >= 0.85 && precision >= 0.95, "recall {recall:.3}, precision {precision:.3}, wrong:\n{missed}");
}

/// Findings that are likely to be confused with each other.
fn finding_strategy() -> impl Strategy<Value = OwnedFinding> {
    let titles =
        ["Bad", "bad!", "SQL injection in query", "Query with SQL injection", "Waits 3 s", "Waits 4 s", "…", ""];
    let rules = [None, Some("x"), Some("y")];
    let evidence = ["", "}", "call(one)", "call( one )", "call(two)"];
    (0usize..2, 0u32..7, 0u32..3, 0..titles.len(), 0usize..6, 0usize..2, 0..rules.len(), 0..evidence.len()).prop_map(
        move |(file, start, len, title, severity, category, rule, quoted)| OwnedFinding {
            file: FilePath::parse(["old.rs", "a.rs"][file]).unwrap(),
            lines: LineRange::new(start, start + len),
            title: titles[title].to_owned(),
            severity: Severity::ALL[severity],
            category: Category::ALL[category],
            rule: rules[rule].map(str::to_owned),
            evidence: evidence[quoted].to_owned(),
        },
    )
}

fn shuffled<T: Clone>(list: &[T], seed: u64) -> Vec<T> {
    let mut keyed: Vec<(u64, &T)> = list
        .iter()
        .enumerate()
        .map(|(index, element)| {
            ((index as u64 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29), element)
        })
        .collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, element)| element.clone()).collect()
}

/// The matched findings, independent of the input order.
fn outcome(prior: &[OwnedFinding], current: &[OwnedFinding], map: &LineMap) -> (Vec<OwnedFinding>, Vec<OwnedFinding>) {
    let pairs = joined(prior, current, map).pairs;
    let mut found: (Vec<OwnedFinding>, Vec<OwnedFinding>) =
        pairs.iter().map(|&(i, j)| (prior[i].clone(), current[j].clone())).unzip();
    found.0.sort();
    found.1.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_findings_does_not_matter(
        prior in prop::collection::vec(finding_strategy(), 0..14), current in prop::collection::vec(finding_strategy(), 0..14), seed: u64,
    ) {
        let expected = outcome(&prior, &current, &map());
        let found = outcome(&shuffled(&prior, seed), &shuffled(&current, seed.rotate_left(7)), &map());
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn each_finding_is_matched_at_most_once(
        prior in prop::collection::vec(finding_strategy(), 0..20), current in prop::collection::vec(finding_strategy(), 0..20),
    ) {
        let FindingPairs { pairs, n_not_compared } = joined(&prior, &current, &map());
        prop_assert_eq!(n_not_compared, 0);
        let mut seen: Vec<usize> = pairs.iter().map(|pair| pair.0).collect();
        seen.dedup();
        prop_assert_eq!(seen.len(), pairs.len());
        let mut seen: Vec<usize> = pairs.iter().map(|pair| pair.1).collect();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), pairs.len());
    }

    #[test]
    fn a_review_matches_itself_completely(findings in prop::collection::vec(finding_strategy(), 0..20)) {
        let pairs = joined(&findings, &findings, &LineMap::identity()).pairs;
        prop_assert_eq!(pairs.len(), findings.len());
    }
}

const MANY: usize = 10_000;

#[track_caller]
fn check_many(prior: impl Fn(usize) -> OwnedFinding, current: impl Fn(usize) -> OwnedFinding, n_pairs: usize) {
    let prior: Vec<OwnedFinding> = (0..MANY).map(prior).collect();
    let current: Vec<OwnedFinding> = (0..MANY).map(current).collect();
    assert_eq!(joined(&prior, &current, &LineMap::identity()).pairs.len(), n_pairs);
}

#[test]
fn ten_thousand_equal_findings_are_matched_one_to_one() {
    check_many(|_| say("a.rs:1 Bad"), |_| say("a.rs:1 Bad"), MANY);
    check_many(
        |index| say(&format!("a.rs:{} Bad", index + 1)),
        |index| say(&format!("a.rs:{} Bad", 2 * index + 1)),
        MANY,
    );
}

#[test]
fn ten_thousand_reworded_findings_on_one_line_are_matched() {
    check_many(|_| say("a.rs:1 SQL injection in query"), |_| say("a.rs:1 Query allows SQL injection"), MANY);
    let word = |index: usize| {
        let digit = |value: usize| char::from(b'a' + (value % 20) as u8);
        format!("{}{}{}{}x", digit(index / 8_000), digit(index / 400), digit(index / 20), digit(index))
    };
    check_many(
        |index| say(&format!("a.rs:1 The {0} of x{0}x is lost", word(index))),
        |index| say(&format!("a.rs:1 Lost: {0} x{0}x", word(index))),
        MANY,
    );
}

#[test]
fn skipped_comparisons_are_counted() {
    // Every title has eight of sixteen words, so that each is similar to thousands of others.
    let words: Vec<String> = (0..16u8).map(|index| format!("w{}q", char::from(b'a' + index))).collect();
    let titles: Vec<String> = (0u32..1 << 16)
        .filter(|bits| bits.count_ones() == 8)
        .map(|bits| {
            (0..16).filter(|bit| bits >> bit & 1 == 1).map(|bit| words[bit].as_str()).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let prior: Vec<OwnedFinding> = titles.iter().step_by(9).map(|title| say(&format!("a.rs:1 {title}"))).collect();
    let current: Vec<OwnedFinding> =
        titles.iter().skip(1).step_by(9).map(|title| say(&format!("a.rs:1 {title}"))).collect();
    let joined = joined(&prior, &current, &LineMap::identity());
    assert!(joined.n_not_compared > 0);
    assert!(joined.pairs.len() >= by_location::MAX_COMPARED, "{}", joined.pairs.len());
}

/// A pair of the table: why it is there, and whether the identity function makes it one finding.
struct TablePair {
    said: String,
    is_held_out: bool,
    is_one: bool,
}

/// Matches the pairs of a part of the table, each on line 10 of one file unless the pair says otherwise.
fn table(part: &str) -> Vec<TablePair> {
    let table: serde_json::Value = serde_json::from_str(include_str!("../../../tests/data/rewordings.json")).unwrap();
    let file = FilePath::parse("src/table.txt").unwrap();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let pair = |pair: &serde_json::Value| {
        let again = pair.get("again").or(pair.get("other")).unwrap();
        let of = |key: &str| (text(&pair[key]).unwrap(), text(&again[key]).or(text(&pair[key])).unwrap());
        let (category, quote, title, reason) = (of("category"), of("quote"), of("title"), of("reason"));
        let line = again["line"].as_u64().map_or(10, |line| u32::try_from(line).unwrap());
        let rule = (part == "different" && title.0 == title.1).then_some("rule");
        let claim = |category: &str, evidence, title, reason, line| ComparedFinding {
            file: &file,
            title,
            severity: Severity::High,
            category: Category::parse_exact(category).unwrap(),
            rule,
            reviewer: Some("model"),
            lines: LineRange::new(line, line),
            side: Side::Right,
            evidence,
            reason,
            scope: None,
            is_answered: false,
        };
        let first = claim(&category.0, &quote.0, &title.0, &reason.0, 10);
        let second = claim(&category.1, &quote.1, &title.1, &reason.1, line);
        let is_one = |a, b| !match_findings(&[a], &[b], &LineMap::unchanged()).pairs.is_empty();
        assert_eq!(is_one(first, second), is_one(second, first), "{} | {}", title.0, title.1);
        TablePair {
            said: format!("{} | {}", title.0, title.1),
            is_held_out: pair["held_out"] == true,
            is_one: is_one(first, second),
        }
    };
    table[part].as_array().unwrap().iter().map(pair).collect()
}

#[track_caller]
fn check_table(part: &str, is_held_out: bool, n_pairs: usize, is_one: bool) {
    let pairs: Vec<TablePair> = table(part).into_iter().filter(|pair| pair.is_held_out == is_held_out).collect();
    let wrong: Vec<&str> = pairs.iter().filter(|pair| pair.is_one != is_one).map(|pair| &*pair.said).collect();
    assert_eq!((pairs.len(), wrong), (n_pairs, Vec::new()));
}

#[test]
fn the_rewordings_of_the_table_are_the_same_finding() {
    check_table("same", false, 40, true);
}

#[test]
fn the_rewordings_held_out_of_tuning_are_the_same_finding() {
    check_table("same", true, 20, true);
}

#[test]
fn recorded_rewordings_of_one_issue_are_the_same_finding() {
    check_table("recorded", true, 60, true);
}

#[test]
fn the_different_findings_of_the_table_stay_apart() {
    check_table("different", false, 40, false);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_findings_match_in_either_direction(
        prior in prop::collection::vec(finding_strategy(), 0..8), current in prop::collection::vec(finding_strategy(), 0..8),
    ) {
        let forth = joined(&prior, &current, &LineMap::unchanged()).pairs.len();
        let back = joined(&current, &prior, &LineMap::unchanged()).pairs.len();
        prop_assert_eq!(forth, back);
    }
}
