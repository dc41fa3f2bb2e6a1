use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const REVIEW: &str = "\
<details>
<summary>Kodiai Review Summary</summary>

## What Changed
Retries when the server is busy.

Reviewed: core logic, tests

## Strengths
- :white_check_mark: Null checks for all returns

## Observations

### Critical
src/a.ts (12, 15-18): The delay is never reset
After an hour every request waits a minute.

### Minor
src/b.ts (3): A name says nothing

## Suggestions
- Consider a shared helper

## Verdict
:red_circle: **Block** -- 1 critical finding must be fixed before merging

</details>
";

const RE_REVIEW: &str = "\
<details>
<summary>Kodiai Re-Review Summary</summary>

## Re-review -- Changes since abc1234

## What Changed
The delay is reset.

## New Findings
:new: [MEDIUM] src/a.ts (42): The delay grows without end
It is doubled each time.

## Resolved Findings
:white_check_mark: [CRITICAL] src/a.ts: The delay is never reset -- resolved

## Still Open
2 finding(s) from the previous review remain open.

<details>
<summary>View still-open findings</summary>

- [MEDIUM] src/b.ts: A check is missing
- [MINOR] src/c.ts: A name says nothing

</details>

## Verdict Update
:green_circle: **Blockers resolved** -- Ready to merge

</details>
";

/// Checks which rules a comment breaks: `rule at line in section`.
#[track_caller]
fn check_rules(text: &str, expected: &[&str]) {
    let errors: Vec<String> = check(text, DEFAULT_BOT)
        .errors
        .into_iter()
        .map(|error| match error.section {
            Some(section) => format!("{} at {} in {section}", error.rule, error.line),
            None => format!("{} at {}", error.rule, error.line),
        })
        .collect();
    assert_eq!(errors, expected, "{text}");
}

/// Checks the violations of the example of a first review after a replacement.
#[track_caller]
fn review(from: &str, to: &str, expected: &[&str]) {
    changed(REVIEW, from, to, expected);
}

/// Checks the violations of the example of a re-review after a replacement.
#[track_caller]
fn re_review(from: &str, to: &str, expected: &[&str]) {
    changed(RE_REVIEW, from, to, expected);
}

#[track_caller]
fn changed(text: &str, from: &str, to: &str, expected: &[&str]) {
    assert!(text.contains(from), "{from}");
    check_rules(&text.replacen(from, to, 1), expected);
    // Windows line endings make no difference.
    check_rules(&text.replacen(from, to, 1).replace('\n', "\r\n"), expected);
}

#[test]
fn the_summary_text_selects_the_rules() {
    let kinds = [(REVIEW, Kind::Review), (RE_REVIEW, Kind::ReReview), ("# Verdict\n", Kind::Other), ("", Kind::Other)];
    for (text, kind) in kinds {
        assert_eq!(check(text, DEFAULT_BOT), CheckedComment { kind, errors: Vec::new() });
        assert_eq!(check(text, "Acme").kind, Kind::Other);
        assert_eq!(check(&text.replace("Kodiai", "A &amp; B"), "A & B").kind, kind);
    }
}

#[test]
fn text_in_code_quotes_and_comments_is_no_summary() {
    let fenced = format!("```html\n{REVIEW}```\n");
    let quoted = REVIEW.lines().map(|line| format!("> {line}\n")).collect::<String>();
    let hidden = format!("<!--\n{}-->\n", REVIEW.replace("\n\n", "\n"));
    for text in [fenced, quoted, hidden, "`<summary>Kodiai Review Summary</summary>`".to_owned()] {
        assert_eq!(check(&text, DEFAULT_BOT).kind, Kind::Other, "{text}");
        assert_eq!(fix(&text, DEFAULT_BOT), Ok(FixedComment { text: text.clone(), done: Vec::new() }));
    }
}

#[test]
fn optional_sections_may_be_missing() {
    review("## Strengths\n- :white_check_mark: Null checks for all returns\n\n", "", &[]);
    review("## Suggestions\n- Consider a shared helper\n\n", "", &[]);
    re_review(
        "## New Findings\n:new: [MEDIUM] src/a.ts (42): The delay grows without end\nIt is doubled each time.\n\n",
        "",
        &[],
    );
}

#[test]
fn required_sections_must_be_there() {
    review("## What Changed", "### What Changed", &["missing-section at 2 in What Changed"]);
    review("## Observations", "Observations", &["missing-section at 2 in Observations"]);
    review("## Verdict", "**Verdict**", &["missing-section at 2 in Verdict"]);
    re_review("## Re-review -- Changes since abc1234\n", "", &["missing-section at 2 in Re-review"]);
    re_review("## Verdict Update", "", &["missing-section at 2 in Verdict Update"]);
}

#[test]
fn sections_are_headings_and_never_text_in_code_quotes_or_comments() {
    let missing = ["missing-section at 2 in Observations"];
    review("## Observations", "`## Observations`", &missing);
    review("## Observations", "> ## Observations\n", &missing);
    review("## Observations", "<!-- \n## Observations\n-->", &missing);
    review("## Observations", "    ## Observations", &missing);
    review("## Observations", "- ## Observations\n", &missing);
    review("## What Changed", "What Changed\n---", &[]);
    review("busy.", "busy.\n\n```\n## Verdict\n</details>\n```\n\n> ## Nonsense", &[]);
}

#[test]
fn sections_must_not_be_empty() {
    review(
        "Retries when the server is busy.\n\nReviewed: core logic, tests\n",
        "",
        &["empty-section at 4 in What Changed"],
    );
    review("- :white_check_mark: Null checks for all returns", "(none)", &["empty-section at 9 in Strengths"]);
    review("- Consider a shared helper", "<!-- nothing -->", &["empty-section at 21 in Suggestions"]);
    review("- Consider a shared helper", "_None._", &["empty-section at 21 in Suggestions"]);
    review("- Consider a shared helper", "- None\n- None", &["empty-section at 21 in Suggestions"]);
    review(
        ":red_circle: **Block** -- 1 critical finding must be fixed before merging",
        "",
        &["empty-section at 24 in Verdict"],
    );
}

#[test]
fn delta_sections_must_not_be_empty_or_say_none() {
    let item = ":white_check_mark: [CRITICAL] src/a.ts: The delay is never reset -- resolved";
    for nothing in ["", "(none)", "- None", "No findings were resolved.", "n/a"] {
        re_review(
            item,
            nothing,
            &["empty-section at 13 in Resolved Findings", "verdict-mismatch at 28 in Verdict Update"],
        );
    }
}

#[test]
fn sections_must_be_in_order() {
    let text = REVIEW.replace("## Strengths", "## S").replace("## Suggestions", "## Strengths");
    check_rules(
        &text.replace("## S\n", "## Suggestions\n"),
        &["section-order at 12 in Observations", "section-order at 21 in Strengths"],
    );
    let text = RE_REVIEW.replace("## New Findings", "## R").replace("## Resolved Findings", "## New Findings");
    let errors = check(&text.replace("## R\n", "## Resolved Findings\n"), DEFAULT_BOT).errors;
    assert_eq!(errors[0].rule, "section-order");
    assert_eq!(errors[0].message, "`## New Findings` belongs before `## Resolved Findings`");
}

#[test]
fn a_section_may_be_there_only_once() {
    review(
        "## Suggestions",
        "## Strengths",
        &["duplicate-section at 21 in Strengths", "section-order at 21 in Strengths"],
    );
}

#[test]
fn unknown_sections_are_refused_and_deeper_headings_are_free() {
    review("## Suggestions", "## Ideas", &["unknown-section at 21 in Ideas"]);
    review("## Suggestions", "# Suggestions", &["unknown-section at 21 in Suggestions"]);
    review("- Consider a shared helper", "### Later\n#### Much later\n- x", &[]);
    re_review("## New Findings", "## Strengths", &["unknown-section at 9 in Strengths"]);
}

#[test]
fn the_blank_line_after_a_summary_is_needed() {
    let rule = "blank-line-after-summary at 3";
    review("Summary</summary>\n\n", "Summary</summary>\n", &[rule]);
    re_review(
        "still-open findings</summary>\n\n",
        "still-open findings</summary>\n",
        &["blank-line-after-summary at 21"],
    );
    review("Summary</summary>\n\n", "Summary</summary> ", &["blank-line-after-summary at 2"]);
    review("Summary</summary>\n\n", "Summary</summary>\n<!-- marker -->\n\n", &[]);
    re_review("</details>\n\n## Verdict", "</details>\n## Verdict", &["blank-line-after-details at 26"]);
}

#[test]
fn other_rules_are_checked_although_a_blank_line_is_missing() {
    let text = REVIEW.replace("Summary</summary>\n\n", "Summary</summary>\n");
    check_rules(
        &text.replace("## Suggestions", "## Ideas"),
        &["blank-line-after-summary at 3", "unknown-section at 20 in Ideas"],
    );
}

#[test]
fn collapsed_blocks_must_be_balanced() {
    review("\n</details>\n", "\n", &["unbalanced-details at 1"]);
    review(
        "busy.",
        "busy.\n\n<details>\n\nx",
        &["unbalanced-details at 1", "missing-section at 2 in Observations", "missing-section at 2 in Verdict"],
    );
    review("\n</details>\n", "\n</details>\n\n</details>\n", &["unbalanced-details at 29"]);
    review("busy.", "busy.\n\n> </details>", &["unbalanced-details at 7"]);
    review(
        "<details>\n",
        "",
        &[
            "unbalanced-details at 1",
            "missing-section at 1 in What Changed",
            "missing-section at 1 in Observations",
            "missing-section at 1 in Verdict",
            "unbalanced-details at 26",
        ],
    );
    review("busy.", "busy.\n\n<details><summary>More</summary>\n\nx\n\n</details>", &[]);
    review("busy.", "busy: `</details>`", &[]);
}

#[test]
fn only_markers_and_review_details_may_stand_outside() {
    let details = "<details>\n<summary>Review Details</summary>\n\n## Figures\n- Files: 3\n\n</details>\n";
    check_rules(&format!("<!-- marker -->\n\n{REVIEW}\n{details}\n<!-- marker -->\n"), &[]);
    check_rules(&format!("{REVIEW}\nThanks!\n"), &["text-outside at 29"]);
    check_rules(&format!("Hello @all\n\n{REVIEW}"), &["text-outside at 1"]);
    check_rules(&format!("{REVIEW}\n{}", details.replace("Review Details", "More")), &["text-outside at 29"]);
    check_rules(&format!("{REVIEW}\n{REVIEW}"), &["text-outside at 29"]);
}

#[test]
fn there_is_exactly_one_verdict_line() {
    let line = ":red_circle: **Block** -- 1 critical finding must be fixed before merging";
    review(line, &format!("{line}\nA following sentence is fine."), &[]);
    review(line, &format!("{line}\n{line}"), &["verdict-line at 26 in Verdict"]);
    review(line, &format!("{line}\n\n:yellow_circle: **Wait** -- x"), &["verdict-line at 27 in Verdict"]);
    review(line, "Looks good to me.", &["verdict-line at 24 in Verdict"]);
    review(line, &format!("`{line}`"), &["verdict-line at 24 in Verdict"]);
    review(line, &format!("> {line}"), &["verdict-line at 24 in Verdict"]);
}

#[test]
fn a_verdict_line_has_its_format() {
    let line = ":red_circle: **Block** -- 1 critical finding must be fixed before merging";
    let wrong = [
        ":red_circle: Block -- x",
        ":red_circle: **Block** - x",
        ":red_circle: **Block** --",
        ":red_circle: ** ** -- x",
        ":red_circle: ** Block** -- x",
        ":red_circle: \\*\\*Block\\*\\* -- x",
        ":red_circle:**Block** -- x",
        ":large_blue_circle: **Still ready** -- x",
        ":rocket: **Go** -- x",
    ];
    for wrong in wrong {
        review(line, wrong, &["verdict-line at 25 in Verdict"]);
    }
    // Inline code over several lines has no lines of its own.
    review(line, &format!("`x\n{line}\n`"), &["verdict-line at 24 in Verdict"]);
    review(line, ":red_circle: **Do not merge** -- x", &[]);
    review(line, ":yellow_circle: **Needs changes** -- the words and the colour between are free", &[]);
}

#[test]
fn a_green_verdict_over_a_blocker_is_refused() {
    review(":red_circle: **Block**", ":green_circle: **Approve**", &["verdict-mismatch at 25 in Verdict"]);
    let text = REVIEW.replace(":red_circle:", ":green_circle:");
    check_rules(&text.replace("### Critical", "### Major"), &["verdict-mismatch at 25 in Verdict"]);
    check_rules(&text.replace("### Critical", "### Medium"), &[]);
}

#[test]
fn a_red_verdict_without_a_blocker_is_refused() {
    review("### Critical", "### Medium", &["verdict-mismatch at 25 in Verdict"]);
    review("### Critical", "### Major", &[]);
    let none = REVIEW
        .replace("src/a.ts (12, 15-18): The delay is never reset\nAfter an hour every request waits a minute.", "None");
    check_rules(&none, &["verdict-mismatch at 24 in Verdict"]);
}

#[test]
fn severities_may_be_tags_under_impact_and_preference() {
    let text =
        REVIEW.replace("### Critical\n", "### Impact\n[CRITICAL] ").replace("### Minor\n", "### Preference\n[MINOR] ");
    check_rules(&text, &[]);
    check_rules(&text.replace("[CRITICAL]", "[MEDIUM]"), &["verdict-mismatch at 25 in Verdict"]);
    check_rules(&text.replace("[CRITICAL]", "\\[CRITICAL]"), &["verdict-mismatch at 25 in Verdict"]);
    check_rules(&text.replace(":red", ":green"), &["verdict-mismatch at 25 in Verdict"]);
}

#[test]
fn strengths_are_no_checkboxes_and_badges_are_not_enforced() {
    review("- :white_check_mark: Null", "- [ ] Null", &["strengths-checkbox at 10 in Strengths"]);
    review("- :white_check_mark: Null", "* [x] Null", &["strengths-checkbox at 10 in Strengths"]);
    review("- :white_check_mark: Null", "- Null", &[]);
}

#[test]
fn a_re_review_has_at_least_one_delta_section() {
    let start = RE_REVIEW.find("## New Findings").unwrap();
    let end = RE_REVIEW.find("## Verdict Update").unwrap();
    let text = [&RE_REVIEW[..start], &RE_REVIEW[end..]].concat();
    check_rules(
        &text.replace(":green_circle: **Blockers resolved**", ":large_blue_circle: **Still ready**"),
        &["no-delta-section at 2"],
    );
}

#[test]
fn the_heading_names_the_prior_commit() {
    let rule = ["prior-commit at 4 in Re-review"];
    re_review("since abc1234", "since the last review", &rule);
    re_review("since abc1234", "since abc123", &rule);
    re_review(" -- Changes since abc1234", "", &rule);
    re_review("since abc1234", &format!("since `{}`", "0".repeat(40)), &[]);
}

#[test]
fn open_findings_are_not_repeated() {
    re_review(
        "src/a.ts (42): The delay grows without end",
        "src/b.ts (42): a check is missing",
        &["still-open-repeated at 10 in New Findings"],
    );
    re_review(
        "src/a.ts: The delay is never reset",
        "src/c.ts: A `name` says nothing",
        &["still-open-repeated at 14 in Resolved Findings"],
    );
}

// Issue 17: a repeat that differs in case or a final period was accepted.
#[test]
fn open_findings_are_not_repeated_in_another_spelling() {
    for spelling in ["A CHECK IS MISSING", "a check is missing.", "A `check` is missing  ", "A ｃheck is missing!"] {
        for place in ["src/b.ts (42)", "./src/b.ts", "`src/b.ts`", "src/b.ts:42"] {
            let line = format!("{place}: {spelling}");
            re_review(
                "src/a.ts (42): The delay grows without end",
                &line,
                &["still-open-repeated at 10 in New Findings"],
            );
        }
    }
}

#[test]
fn open_findings_are_not_repeated_without_badge_and_tag() {
    let plain = ":new: [MEDIUM] src/a.ts (42): The delay grows without end";
    re_review(plain, "src/b.ts (42): a check is missing", &["still-open-repeated at 10 in New Findings"]);
    re_review("It is doubled each time.", "src/b.ts: A check is missing", &[]);
}

#[test]
fn the_count_of_open_findings_is_that_of_the_list() {
    re_review("2 finding(s)", "3 finding(s)", &["still-open-count at 17 in Still Open"]);
    re_review("2 finding(s)", "Some findings", &["still-open-count at 16 in Still Open"]);
    re_review("2 finding(s)", "1,202 finding(s)", &["still-open-count at 17 in Still Open"]);
    let folded = RE_REVIEW.replace("2 finding(s)", "1,202 finding(s)");
    check_rules(&folded.replace("says nothing\n\n</", "says nothing\n- and 1,200 more\n\n</"), &[]);
}

#[test]
fn the_update_has_a_known_label() {
    let rule = ["verdict-label at 28 in Verdict Update"];
    re_review("**Blockers resolved**", "**Approve**", &rule);
    re_review(":green_circle: **Blockers resolved**", ":yellow_circle: **Blockers resolved**", &rule);
    re_review(":green_circle: **Blockers", ":red_circle: **Blockers", &["verdict-line at 28 in Verdict Update"]);
}

#[test]
fn the_update_fits_the_sections() {
    let rule = ["verdict-mismatch at 28 in Verdict Update"];
    // Resolved without a resolved blocker.
    re_review("[CRITICAL]", "[MEDIUM]", &rule);
    // Ready with a blocker open or new.
    re_review("- [MEDIUM]", "- [MAJOR]", &rule);
    re_review(":new: [MEDIUM]", ":new: [MAJOR]", &rule);
    let label = ":green_circle: **Blockers resolved** -- Ready to merge";
    for other in [
        ":yellow_circle: **New blockers found** -- Address 1 new issue(s)",
        ":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open",
        ":large_blue_circle: **Still ready** -- No new issues",
    ] {
        re_review(label, other, &rule);
    }
    let open = RE_REVIEW.replace("- [MEDIUM]", "- [MAJOR]");
    check_rules(&open.replace(label, ":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open"), &[]);
}

#[test]
fn a_comment_that_no_code_host_takes_is_refused() {
    review("busy.", &"busy ".repeat(MAX_CHARS / 5), &["too-long at 1"]);
    let long = "a".repeat(2 * MAX_CHARS);
    check_rules(&format!("{REVIEW}{long}"), &["too-long at 1"]);
    assert_eq!(check(&long, DEFAULT_BOT), CheckedComment { kind: Kind::Other, errors: Vec::new() });
}

/// Deep nesting makes the parser visit every level for every line: parsing would take minutes for each of these.
#[test]
fn hostile_comments_are_read_all_the_same() {
    for n in [MAX_CHARS / 4, 250_000] {
        for mark in ["> ", "- ", "1. ", "> - "] {
            let deep = format!("{}a\n{}", mark.repeat(n / mark.len()), "a\n".repeat(n));
            let comment = REVIEW.replace("busy.", &format!("busy.\n\n{deep}"));
            let expected: &[&str] = if comment.chars().count() > MAX_CHARS { &["too-long at 1"] } else { &[] };
            check_rules(&comment, expected);
            let unfixed = format!("<!-- a -->\n\ntext\n\n{comment}");
            assert!(fix(&unfixed, DEFAULT_BOT).is_err());
            assert!(check(&deep, DEFAULT_BOT).is_valid());
        }
    }
}

#[track_caller]
fn repaired(text: &str, expected: &str, done: &[&str]) {
    for (text, expected) in
        [(text.to_owned(), expected.to_owned()), (text.replace('\n', "\r\n"), expected.replace('\n', "\r\n"))]
    {
        let fixed = fix(&text, DEFAULT_BOT).unwrap();
        assert_eq!(fixed.text, expected);
        assert_eq!(fixed.done, done);
        assert_eq!(fix(&fixed.text, DEFAULT_BOT), Ok(FixedComment { text: fixed.text.clone(), done: Vec::new() }));
    }
}

#[test]
fn missing_blank_lines_are_put_in() {
    let done = ["put blank lines between HTML and Markdown"];
    repaired(&REVIEW.replace("Summary</summary>\n\n", "Summary</summary>\n"), REVIEW, &done);
    repaired(&REVIEW.replace("Summary</summary>\n\n", "Summary</summary>"), REVIEW, &done);
    let tight = RE_REVIEW.replace("</summary>\n\n", "</summary>\n").replace("</details>\n\n", "</details>\n");
    repaired(&tight, RE_REVIEW, &done);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_comment_and_stays() {
    check_rules(&format!("\u{feff}{REVIEW}"), &[]);
    let tight = format!("\u{feff}{}", REVIEW.replace("Summary</summary>\n\n", "Summary</summary>\n"));
    assert_eq!(fix(&tight, DEFAULT_BOT).unwrap().text, format!("\u{feff}{REVIEW}"));
}

#[test]
fn sections_are_put_in_order() {
    let start = REVIEW.find("## Verdict").unwrap();
    let end = REVIEW.find("\n</details>").unwrap();
    let verdict = &REVIEW[start..end];
    let text = [&REVIEW[..start], &REVIEW[end..]].concat().replacen("## What", &format!("{verdict}\n## What"), 1);
    let done = "put the sections in order, they were Verdict, What Changed, Strengths, Observations, Suggestions";
    repaired(&text.replace("helper\n\n\n", "helper\n\n"), REVIEW, &[done]);
}

#[test]
fn empty_sections_are_left_out() {
    let text =
        REVIEW.replace("## Suggestions\n", "## Suggestions\n(none)\n\n").replace("- Consider a shared helper\n\n", "");
    repaired(
        &text,
        &REVIEW.replace("## Suggestions\n- Consider a shared helper\n\n", ""),
        &["left out the empty section `Suggestions`"],
    );
}

#[test]
fn irreparable_comments_are_refused_with_all_violations() {
    let text = REVIEW.replace("## Observations", "## Notes").replace("Summary</summary>\n\n", "Summary</summary>\n");
    let errors = fix(&text, DEFAULT_BOT).unwrap_err();
    assert_eq!(errors, check(&text, DEFAULT_BOT).errors);
    let rules: Vec<&str> = errors.iter().map(|error| error.rule).collect();
    assert_eq!(rules, ["missing-section", "blank-line-after-summary", "unknown-section"]);
}

/// An example in pieces: its head, its sections, its end.
fn pieces(text: &str) -> (String, Vec<String>, String) {
    let (head, rest) = text.split_once("\n## ").unwrap();
    let body = rest.strip_suffix("\n</details>\n").unwrap();
    let sections = body.split("\n## ").map(|section| format!("## {}\n", section.trim_end()));
    (format!("{head}\n"), sections.collect(), "\n</details>\n".to_owned())
}

proptest! {
    #[test]
    fn any_text_can_be_checked_and_repaired(
        before in any::<String>(), after in any::<String>(), parts in vec(select(&PARTS[..]), 0..12),
    ) {
        let parts = parts.concat();
        let text = format!("{before}<summary>Kodiai Re-Review Summary</summary>{parts}{after}{parts}");
        let checked = check(&text, DEFAULT_BOT);
        let n_lines = text.matches('\n').count() + 1;
        prop_assert!(checked.errors.iter().all(|error| (1..=n_lines).contains(&error.line)));
        prop_assert_eq!(fix(&text, DEFAULT_BOT).is_ok(), checked.is_valid());
    }

    #[test]
    fn faults_that_can_be_repaired_are_repaired_in_any_mixture(
        is_review in any::<bool>(), order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
        tight in any::<[bool; 3]>(), empty in of(select(&["", "(none)\n", "None found.\n"][..])), crlf in any::<bool>(),
    ) {
        let (head, mut sections, end) = pieces(if is_review { REVIEW } else { RE_REVIEW });
        if let Some(nothing) = empty {
            // The last section before the verdict that does not affect the verdict.
            let name = if is_review { "## Suggestions" } else { "## New Findings" };
            let index = sections.iter().position(|section| section.starts_with(name)).unwrap();
            sections[index] = format!("{name}\n{nothing}");
        }
        let shuffled: Vec<&str> = order.iter().filter_map(|&index| sections.get(index)).map(String::as_str).collect();
        let gap = if tight[0] { "" } else { "\n" };
        let mut text = format!("{head}{gap}{}{end}", shuffled.join("\n"));
        if tight[1] {
            text = text.replace("</summary>\n\n", "</summary>\n");
        }
        if tight[2] {
            text = text.replace("</details>\n\n", "</details>\n");
        }
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let fixed = fix(&text, DEFAULT_BOT).map_err(|errors| TestCaseError::fail(format!("{errors:?}\n{text}")))?;
        prop_assert_eq!(check(&fixed.text, DEFAULT_BOT).errors, []);
        prop_assert_eq!(fixed.done.is_empty(), fixed.text == text);
        prop_assert_eq!(fix(&fixed.text, DEFAULT_BOT), Ok(FixedComment { text: fixed.text.clone(), done: Vec::new() }));
        // No text is lost, and line endings are kept.
        let said = |line: &&str| !line.trim().is_empty() && !line.starts_with("##") && !line.contains("one");
        for line in text.lines().filter(said) {
            prop_assert!(fixed.text.contains(line), "{}", line);
        }
        prop_assert_eq!(fixed.text.matches('\n').count(), fixed.text.matches(if crlf { "\r\n" } else { "\n" }).count());
    }

    #[test]
    fn repaired_comments_are_valid_and_repair_is_idempotent(
        parts in vec(select(&PARTS[..]), 0..24),
    ) {
        let text = format!("<details>\n<summary>Kodiai Review Summary</summary>\n{}", parts.concat());
        if let Ok(fixed) = fix(&text, DEFAULT_BOT) {
            prop_assert_eq!(check(&fixed.text, DEFAULT_BOT).errors, []);
            prop_assert_eq!(fix(&fixed.text, DEFAULT_BOT), Ok(FixedComment { text: fixed.text.clone(), done: Vec::new() }));
        } else {
            prop_assert!(!check(&text, DEFAULT_BOT).is_valid());
        }
    }
}

const PARTS: [&str; 34] = [
    "\n",
    "\n\n",
    "\n",
    "\n\n",
    "\r\n",
    "## What Changed\n",
    "x",
    "text\n",
    "## Observations\n",
    "### Critical\n",
    "[MINOR] a: b\n",
    "## Verdict\n",
    ":green_circle: **Approve** -- x\n",
    ":red_circle: **Block** -- x\n",
    "## Strengths\n",
    "- [ ] x\n",
    "</details>\n",
    "</details>\n",
    "<details>\n",
    "<summary>Review Details</summary>\n",
    "<summary>",
    "</summary>",
    "<!--",
    "-->",
    "```\n",
    "> ",
    "- ",
    "1. ",
    "\t",
    "    ",
    "<p>",
    "|a|\n|-|\n",
    "## Verdict\n",
    "🙂\u{2028}",
];

/// The work is linear: quadratic behaviour would take minutes here.
#[test]
fn large_comments_are_checked_in_one_pass() {
    let head = "<details>\n<summary>Kodiai Review Summary</summary>\n\n";
    let pieces = [
        "<details>\n\n",
        "</details>\n\n",
        "<details>",
        "<!--",
        "<!x ",
        "<a \"",
        "## x\n",
        "[",
        "`",
        "``` ",
        "> ",
        "- ",
        "* a\n",
        "**a",
        "\\",
        "<summary>x",
        "|-|\n",
        "[^1]: x\n\n",
        "</summary>\nx\n",
        "[CRITICAL] a (1): b\n",
        "- [ ] x\n",
        "&",
        "_a_",
    ];
    for piece in pieces {
        let text = format!("{head}{}", piece.repeat(100_000 / piece.len()));
        assert!(!check(&text, DEFAULT_BOT).is_valid(), "{piece}");
        assert!(fix(&text, DEFAULT_BOT).is_err(), "{piece}");
    }
}
