use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

/// An intent in one line: all declarations with their sources.
fn said(intent: &Intent) -> String {
    let place = text::place;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(intent.tags.iter().map(|tag| {
        let known = if tag.keyword.is_some() { "" } else { "unknown " };
        let meant = tag.suggestion.map(|keyword| format!(" (meant {})", keyword.as_str())).unwrap_or_default();
        format!("{known}{}{meant} in {}", tag.name, place(&tag.place))
    }));
    parts.extend(intent.references.iter().map(|reference| format!("reference {reference}")));
    parts.extend(intent.conventional.iter().map(text::type_with_source));
    parts.extend(intent.breaking.iter().map(|found| format!("breaks in {}: {}", place(&found.place), found.excerpt)));
    parts.extend(intent.no_review().then(|| "no review".to_owned()));
    parts.extend(intent.is_wip().then(|| "wip".to_owned()));
    parts.extend(intent.profile().map(|profile| format!("profile {}", profile.as_str())));
    parts.extend(intent.focus().iter().map(|area| format!("focus {area}")));
    parts.extend(intent.style_ok().then(|| "style ok".to_owned()));
    parts.join("; ")
}

fn commits<'a>(messages: &[&'a str]) -> Vec<Commit<'a>> {
    const SHAS: [&str; 3] =
        ["aaaaaaaa11111111111111111111111111111111", "bbbbbbbb", "CCCCCCCC22222222222222222222222222222222"];
    messages.iter().zip(SHAS.into_iter().cycle()).map(|(message, sha)| Commit { sha, message }).collect()
}

#[track_caller]
fn check(title: &str, expected: &str) {
    assert_eq!(said(&read(title, None, &[], false)), expected, "{title:?}");
}

#[track_caller]
fn check_commits(title: &str, messages: &[&str], expected: &str) {
    assert_eq!(said(&read(title, None, &commits(messages), false)), expected, "{title:?} {messages:?}");
}

#[test]
fn tags_of_titles_and_commits_are_found_once_and_the_title_wins() {
    check_commits(
        "fix it [WIP]",
        &["[wip] a [style-ok]", "b [STYLE-OK]"],
        "wip in title; style-ok in commit aaaaaaa; wip; style ok",
    );
}

#[test]
fn only_the_first_line_of_a_commit_is_read() {
    check_commits("a", &["b\n\n[wip]\nBREAKING CHANGE: c", "d\r\n[draft]"], "");
    check_commits("a", &["\n[draft] b"], "draft in commit aaaaaaa; wip");
}

#[test]
fn tags_are_never_taken_from_the_body() {
    let intent = read("a", Some("[wip] [no-review] [strict-review] feat!: b"), &[], false);
    assert_eq!(said(&intent), "");
}

#[test]
fn only_the_title_skips_a_review() {
    check("a [No-Review]", "no-review in title; no review");
    check_commits("a", &["[no-review] b"], "no-review in commit aaaaaaa");
    check_commits("[no-review] a", &["[no-review] b"], "no-review in title; no review");
    assert!(skips_review("x [ no-review ]") && skips_review("[wip][no-review]") && skips_review("[no-review][api]"));
    for title in ["", "no-review", "`[no-review]`", "[no-review](https://a.b)", "[no-reviews]"] {
        assert!(!skips_review(title), "{title}");
    }
}

#[test]
fn wip_and_draft_tags_mark_work_in_progress() {
    check("[draft] a", "draft in title; wip");
    assert!(!read("a", None, &[], true).is_wip(), "a draft without a tag is skipped by another rule");
}

#[test]
fn of_several_profiles_the_strictest_wins() {
    let profiles = ["strict", "balanced", "minimal"];
    for (rank, one) in profiles.iter().enumerate() {
        for other in &profiles[rank..] {
            for title in [format!("[{one}-review] [{other}-review]"), format!("[{other}-review][{one}-review]")] {
                assert_eq!(read(&title, None, &[], false).profile().map(Profile::as_str), Some(*one), "{title}");
            }
        }
    }
    let intent = read("[minimal-review]", None, &commits(&["a [strict-review]"]), false);
    assert_eq!(intent.profile(), Some(Profile::Strict), "a commit's tag counts as much");
}

#[test]
fn focus_and_style_are_set_by_tags() {
    check("[security-review]", "security-review in title; focus Security");
    check("[style-ok]", "style-ok in title; style ok");
}

#[test]
fn unknown_tags_are_listed_with_suggestions() {
    check("[strict-reveiw] [foobar]", "unknown strict-reveiw (meant strict-review) in title; unknown foobar in title");
    check("[Foo] [fOO]", "unknown foo in title");
}

#[test]
fn references_are_neither_known_nor_unknown() {
    check("[PAY-77] [#4] [PAY-77] fix: a", "reference PAY-77; reference #4; fix in title");
}

#[test]
fn the_type_is_the_titles_or_else_the_highest_ranked_of_the_commits() {
    check("[WIP] feat(api)!: a", "wip in title; feat(api)! in title; breaks in title: [WIP] feat(api)!: a; wip");
    check_commits("docs: a", &["feat: b"], "docs in title");
    check_commits("a", &["docs: b", "fix: c", "fix(d): e"], "fix in commit bbbbbbb");
    check_commits("a", &["b"], "");
}

#[test]
fn a_mark_or_a_phrase_in_a_title_or_commit_declares_a_breaking_change() {
    check("feat!(api): a", "feat(api)! in title; breaks in title: feat!(api): a");
    check("this breaks v1", "breaks in title: this breaks v1");
    check("fix!: a breaking change", "fix! in title; breaks in title: fix!: a breaking change");
    check("a non-breaking change", "");
    check_commits("a", &["b", "fix!: c"], "fix! in commit bbbbbbb; breaks in commit bbbbbbb: fix!: c");
    check_commits("a", &["BREAKING-CHANGE: c"], "breaks in commit aaaaaaa: BREAKING-CHANGE: c");
}

#[test]
fn a_phrase_in_the_body_declares_a_breaking_change() {
    let intent = read("a", Some("- [ ] Breaking change\n\nBut this breaks v1."), &[], false);
    assert_eq!(said(&intent), "breaks in body: But this breaks v1.");
}

#[test]
fn a_commit_is_known_by_seven_digits() {
    check_commits("a", &["b", "c", "[wip]"], "wip in commit ccccccc; wip");
    let odd = [Commit { sha: "not hex 🙂", message: "[wip]" }, Commit { sha: "ab", message: "[draft]" }];
    assert_eq!(said(&read("", None, &odd, false)), "wip in commit ; draft in commit ab; wip");
}

#[test]
fn of_many_commits_a_sample_is_read_and_counted() {
    let mut messages = vec!["a"; 120];
    for (index, message) in
        [(9, "[wip]"), (11, "[draft]"), (15, "[style-ok]"), (109, "[a]"), (110, "[b]"), (119, "[c]")]
    {
        messages[index] = message;
    }
    let intent = read("a", None, &commits(&messages), false);
    let tags: Vec<&str> = intent.tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!((tags, intent.n_scanned, intent.n_commits), (vec!["wip", "style-ok", "b", "c"], 40, 120));
    assert_eq!(intent.details().last().map(String::as_str), Some("Commits scanned: 40 of 120"));
}

#[test]
fn the_brief_names_keywords_and_breaking_changes_with_their_source() {
    let intent = read("[WIP] a [foo]", None, &commits(&["b", "fix!: c"]), false);
    assert_snapshot!(intent.brief().unwrap(), @"Keywords: [WIP] in title, breaking change in commit bbbbbbb");
    assert_eq!(read("feat: a [foo]", None, &[], false).brief(), None);
}

#[test]
fn the_details_name_everything() {
    let title = format!("[WIP] feat(api): a [strict-reveiw] [{}] [PAY-7]", "x y".repeat(40));
    let intent = read(&title, Some("this breaks v1"), &commits(&["b [security-review]", "fix!: c"]), false);
    assert_snapshot!(intent.details().join("\n"), @r"
    Keywords: [WIP] in title, [security-review] in commit aaaaaaa
    ignored [strict-reveiw], did you mean [strict-review]?
    ignored [x yx yx yx yx yx yx yx yx yx yx yx yx yx…]
    Conventional type: feat(api) in title
    Breaking change in body: this breaks v1
    Breaking change in commit bbbbbbb: fix!: c
    References: PAY-7
    Commits scanned: 2 of 2
    ");
}

#[test]
fn the_details_say_when_nothing_was_found() {
    assert_eq!(read("a", Some("b"), &commits(&["c"]), false).details(), ["Keyword parsing: No keywords detected"]);
    let intent = read("a", None, &commits(&["b"; 60]), false);
    assert_eq!(intent.details(), ["Keyword parsing: No keywords detected", "Commits scanned: 28 of 60"]);
    let failed = Intent { problem: Some("commits could not be read".to_owned()), ..Intent::default() };
    assert_snapshot!(failed.details().join("\n"), @r"
    Keyword parsing: No keywords detected
    Keyword parsing: commits could not be read
    ");
}

#[test]
fn long_lists_are_counted() {
    let title: String = (0..100).map(|number| format!("[tag{number}] ")).collect();
    assert_eq!(read(&title, None, &[], false).details().last().map(String::as_str), Some("ignored 95 more tags"));
    let messages = vec!["fix!: a"; 40];
    assert_snapshot!(read("", None, &commits(&messages), false).brief().unwrap(), @"Keywords: breaking change in commit aaaaaaa, commit bbbbbbb, commit ccccccc, commit aaaaaaa, commit bbbbbbb and 35 more");
}

#[test]
fn only_a_prefix_of_an_enormous_body_is_parsed_and_reported() {
    let intent = read("a", Some(&"b ".repeat(1 << 20)), &[], false);
    assert_snapshot!(intent.details().join("\n"), @r"
    Keyword parsing: No keywords detected
    Keyword parsing: only the first 256 kB of the body were read
    ");
}

#[test]
fn enormous_inputs_are_read() {
    let mega = 1 << 20;
    for title in [
        "a".repeat(mega),
        "[".repeat(mega),
        "[wip]".repeat(mega / 5),
        "[a](".repeat(mega / 4),
        "[a][".repeat(mega / 4),
        "`".repeat(mega),
        "`[`` ".repeat(mega / 5),
        "no breaking change ".repeat(mega / 19),
        "-breaking change: none".repeat(mega / 22),
        (0..mega / 10).map(|number| format!("[{number}]")).collect(),
        format!("{}feat: a", "[a] ".repeat(mega / 4)),
        "feat(".repeat(mega / 5),
    ] {
        let _ = (read(&title, Some(&title), &[], false).details(), skips_review(&title));
    }
    let brackets = "[tag] ".repeat(10_000);
    assert_eq!(read(&brackets, None, &[], false).tags.len(), 1);
    let intent = read("a", None, &commits(&vec!["feat(a)!: b [wip] [x-1]"; 100_000]), false);
    assert_eq!((intent.n_scanned, intent.tags.len()), (20_016, 2));
}

/// Text that is rich in tags and phrases.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => prop::sample::select(vec![
            "[", "]", "(", ")", "[WIP]", "[no-review]", "[wpi]", "[x]", "[ ]", "[A-1]", "`", "``", "```\n", "feat", "fix!",
            "docs(a)", ":", "!", "breaking", "BREAKING", "change", "changes", "api", "this", "breaks", "none", "not", "no ",
            " ", "\n", "\n\n", "> ", "- ", "- [x] ", "    ", "<!--", "-->", "<code>", "</code>", "# ", "?", ".", "-", "\r",
            "\u{a0}", "ü", "🙂", "\0", "&nbsp;",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_and_always_the_same(title in text(), body in text(), messages in prop::collection::vec(text(), 0..4)) {
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let read = || read(&title, Some(&body), &commits(&messages), false);
        let intent = read();
        prop_assert_eq!(&intent, &read());
        prop_assert_eq!(intent.no_review(), skips_review(&title));
        let line_is_short = |line: &String| !line.contains('\n') && line.chars().count() < 800;
        prop_assert!(intent.details().iter().chain(&intent.brief()).all(line_is_short));
        let names: HashSet<&str> = intent.tags.iter().map(|tag| tag.name.as_str()).collect();
        prop_assert_eq!(names.len(), intent.tags.len());
        for breaking in &intent.breaking {
            prop_assert!(breaking.excerpt.chars().count() < 800);
        }
    }

    #[test]
    fn the_order_of_commits_changes_nothing_but_the_order(
        messages in prop::collection::vec(text(), 0..6).prop_shuffle(),
    ) {
        let forward: Vec<&str> = messages.iter().map(String::as_str).collect();
        let backward: Vec<&str> = forward.iter().rev().copied().collect();
        let found = |messages: &[&str]| {
            let intent = read("", None, &commits(messages), false);
            let mut tags: Vec<String> = intent.tags.into_iter().map(|tag| tag.name).collect();
            let mut breaking: Vec<String> = intent.breaking.into_iter().map(|breaking| breaking.excerpt).collect();
            tags.sort();
            breaking.sort();
            (tags, breaking, intent.conventional.map(|declared| (declared.kind, declared.is_breaking)))
        };
        prop_assert_eq!(found(&forward), found(&backward));
    }
}
