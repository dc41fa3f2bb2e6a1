use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(find(body).unwrap_or_default(), expected, "{body:?}");
}

#[track_caller]
fn says_nothing(bodies: &[&str]) {
    for body in bodies {
        check(body, "");
        // Windows line ends make no difference.
        check(&body.replace('\n', "\r\n"), "");
    }
}

#[test]
fn a_phrase_anywhere_in_the_text_counts() {
    check("Hello.\n\nThis is a breaking\nchange for all.", "This is a breaking change for all.");
    check("- one\n- **BREAKING CHANGE**: two", "BREAKING CHANGE: two");
    check("breaking change", "breaking change");
    check("see [the breaking change](https://a.b)", "see the breaking change");
    check("a **breaking** _change_", "a breaking change");
    check("<p>A <b>breaking</b> change</p>", "A breaking change");
    check("<div\nid=a>A\nbreaking change</div>", "A breaking change");
}

#[test]
fn code_does_not_count() {
    says_nothing(&[
        "```\nbreaking change\n```",
        "~~~ rust\nbreaking change\n~~~",
        "````\n```\nbreaking change\n```\n````",
        "```\nbreaking change",
        "~~~\nbreaking change\n```",
        "text\n\n    breaking change",
        "a `breaking change` b",
        "a `` breaking change ` `` b",
        "a ``` breaking\nchange ``` b",
        "- item\n\n      breaking change",
        "a <code>breaking change</code> b",
        "<pre>\nbreaking change\n</pre>",
        "<p><code>breaking change<br/></code></p>",
    ]);
    check("```\ncode\n```\nbreaking change", "breaking change");
}

#[test]
fn quotes_do_not_count() {
    says_nothing(&[
        "> breaking change",
        "> a\nbreaking change",
        "- > breaking change",
        "> - breaking change\n>\n> this breaks all",
        "<blockquote>\n\nbreaking change\n\n</blockquote>",
    ]);
    check("> quoted\n\nbreaking change", "breaking change");
}

#[test]
fn comments_do_not_count() {
    says_nothing(&[
        "<!-- breaking change -->",
        "a <!-- breaking change --> b",
        "<!--\nDoes this have a\n\nbreaking change?\n-->",
        "<!-- breaking change",
        "<details><!-- breaking change --></details>",
        "<details><!-- a\nbreaking change\n--></details>",
        "<div\ntitle='breaking change'>a</div>",
    ]);
    check("<!-- a -->\nbreaking change", "breaking change");
    check("<!-- a -->\n\nbreaking change", "breaking change");
}

#[test]
fn an_empty_box_does_not_count_and_a_ticked_one_does() {
    says_nothing(&[
        "- [ ] Breaking change (something stops working)",
        "* [ ] Breaking change\n1. [ ] this breaks things",
        "- [ ] Kind\n  - Breaking change",
        "[ ] Bug fix\n[ ] Breaking change",
        "- [] Breaking change",
        "☐ Breaking change",
        "- [x] No breaking changes",
    ]);
    check("- [x] Breaking change", "Breaking change");
    check("- [ ] Bug fix\n- [X] Breaking change (something stops)", "Breaking change (something stops)");
    check("- [ ] Kind\n  - [x] Breaking change", "Breaking change");
    check("[ ] Bug fix\n[x] Breaking change", "[ ] Bug fix [x] Breaking change");
}

#[test]
fn a_heading_that_is_answered_by_none_does_not_count() {
    says_nothing(&[
        "## Breaking changes\n\nNone",
        "## Breaking changes\n\nN/A.\n\n## Tests\n\nMany",
        "Breaking changes\n---\n_None._",
        "### Breaking Change?\nno",
        "**Breaking changes**\n\n- none that I know of",
        "## :boom: Breaking changes\n\n<!-- What breaks? -->\n\nNot applicable",
        "Breaking changes:\n\nnothing",
        "## Breaking changes\n\nThere are no breaking changes.",
        "## Breaking changes\n\n- [ ] yes\n- [x] no",
        "<details><summary>Breaking changes</summary>\n\nnone\n\n</details>",
        "| Breaking changes | None |\n|---|---|\n| a | b |",
    ]);
    check("## Breaking changes\n\nThe v1 routes are gone.", "Breaking changes");
    check("## Breaking changes\n\nNone of the old routes work.", "Breaking changes");
    check("## Breaking changes\n\n### Routes\n\nThe v1 routes are gone.", "Breaking changes");
}

#[test]
fn a_question_counts_only_when_it_is_answered_by_something_else_than_no() {
    says_nothing(&[
        "Does this PR introduce a breaking change?",
        "## Does this PR introduce a breaking change?\n\n- [ ] Yes\n- [x] No",
        "## Does this PR introduce a breaking change?\n\n- [ ] Yes\n- [ ] No\n\n## Other",
        "**Does this introduce a breaking change?**\n\n[ ] Yes\n[x] No",
        "Is this a breaking change? No.",
    ]);
    check("## Is this a breaking change?\n\n- [x] Yes\n- [ ] No", "Is this a breaking change?");
    check("Is this a breaking change? Yes, for v1.", "Is this a breaking change? Yes, for v1.");
    check("This is a breaking change. Is that fine?", "This is a breaking change. Is that fine?");
}

#[test]
fn a_heading_of_a_template_that_was_left_empty_does_not_count() {
    says_nothing(&["## Breaking changes\n\n<!-- list them -->\n\n## Tests\n\nMany"]);
    check("Many\n\n## Breaking changes", "Breaking changes");
}

#[test]
fn the_excerpt_is_cut_at_characters() {
    let around = "ü🙂".repeat(30);
    check(
        &format!("{around} breaking change {around}"),
        "🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂 breaking change ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü🙂ü",
    );
}

#[test]
fn a_body_is_read_up_to_a_limit() {
    let far = format!("{}\n\nbreaking change", "a ".repeat(MAX_BYTES / 2));
    check(&far, "");
    let near = format!("{}\n\nbreaking change", "a ".repeat(MAX_BYTES / 2 - 20));
    check(&near, "breaking change");
    check(&"ü".repeat(MAX_BYTES), "");
}

/// Deep nesting makes the parser visit every level for every line: 160 s for the first two.
#[test]
fn hostile_bodies_are_read_all_the_same() {
    let n = MAX_BYTES / 4;
    let bodies = [
        format!("{}a\n{}", ">".repeat(n), "a\n".repeat(n)),
        format!("{}a\n{}", "* ".repeat(n / 2), "a\n".repeat(n)),
        "<!--".repeat(n),
        "a <!--".repeat(n / 2),
        "[".repeat(4 * n),
        "[a](".repeat(n),
        "`".repeat(1_000_000),
        "<a ".repeat(n),
        "no breaking change ".repeat(n / 5),
        format!("{}?\n\n{}", "breaking change ".repeat(n / 16), "no breaking change ".repeat(n / 16)),
    ];
    for body in bodies {
        let declared = format!("breaking change: all\n\n{body}");
        check(&declared, "breaking change: all");
        let _ = find(&format!("{body} breaking change"));
    }
}

proptest! {
    #[test]
    fn prefiltered_bodies_declare_nothing_when_parsed(
        words in prop::collection::vec(prop::sample::select(vec![
            "breaking", "Breaking", "change", "changes", "api", "this", "breaks", "no", "not", "a", "non-", "it", "none",
            "it breaks", " ", " ", " ", "\n", "\n\n", "\r\n", "\r", "- ", "- [ ] ", "- [x] ", "[ ] ", "[", "](u)", "`", "*", "**",
            "<b>", "</b>", "<!-- ", " -->", "&nbsp;", "&#32;", "\\", ": ", "?", ".", "# ", "> ", "    ", "-", "|",
        ]), 0..14),
    ) {
        let body = words.concat();
        if let Some(found) = find_in(&blocks(&body)) {
            prop_assert!(breaking::may_declare(&body), "{:?}: {}", body, found);
        }
    }
}
