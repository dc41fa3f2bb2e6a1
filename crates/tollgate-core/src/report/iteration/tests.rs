use insta::assert_snapshot;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;
use crate::board::{Compliance, Override};
use crate::finding::Severity;

fn remark(category: Category, severity: Severity, title: &str, place: Option<(&str, u32)>) -> Remark {
    Remark {
        category,
        severity,
        title: title.to_owned(),
        description: String::new(),
        suggestion: None,
        file: place.map(|(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
        evidence: None,
        identity: None,
    }
}

fn iteration(outcome: Outcome) -> Iteration {
    Iteration {
        number: 1,
        outcome,
        reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
        model: "claude-opus-4-5-20251101".to_owned(),
        provider: "anthropic".to_owned(),
        commit: None,
        base: None,
        findings: Vec::new(),
        late: Vec::new(),
        summary: "Fine.".to_owned(),
        reason: None,
        compliance: Compliance::default(),
        notes: Vec::new(),
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    }
}

fn criterion(text: &str, met: Met) -> (Criterion, Met) {
    (Criterion { id: "C1".to_owned(), text: text.to_owned() }, met)
}

#[test]
fn a_rejected_review_lists_findings_and_reason() {
    let place = Some(("src/auth/validator.ts", 45));
    let missing = Remark {
        description: "Empty passwords are accepted, violating \"passwords must be 8+ characters\".".to_owned(),
        evidence: Some("if (!password) {\n  return true;\n}".to_owned()),
        suggestion: Some("if (!password || password.length < 8) {\n  throw new Error('short');\n}".to_owned()),
        ..remark(Category::Compliance, Severity::High, "Missing Password Validation", place)
    };
    let handling = Remark {
        description: "The query has no error handling.".to_owned(),
        suggestion: Some("Wrap in `try`-`catch` and return an HTTP error.".to_owned()),
        ..remark(Category::Error, Severity::Critical, "Missing Error Handling", Some(("src/auth/login.ts", 78)))
    };
    let tests = Remark {
        description: "No tests for failed login attempts.".to_owned(),
        ..remark(Category::Test, Severity::Medium, "Login edge cases", None)
    };
    let architecture = remark(Category::Architecture, Severity::Nit, "Consider using middleware", None);
    let rejected = Iteration {
        findings: vec![missing, handling, tests, architecture],
        summary: "Implementation lacks error handling.".to_owned(),
        reason: Some("Fix the compliance issues before next review.".to_owned()),
        compliance: Compliance {
            criteria: vec![
                criterion("User registration", Met::Yes { evidence: "src/auth/register.ts:3".to_owned() }),
                criterion("Passwords have 8 characters", Met::No { evidence: "nothing checks".to_owned() }),
                criterion("It is fast", Met::Unclear { evidence: None }),
            ],
        },
        ..iteration(Outcome::Rejected)
    };
    assert_snapshot!(render("Add user authentication", &rejected, 3), @r#"
    # Code Review - Feature: Add user authentication
    **Iteration 1 of 3**

    **Status**: ❌ REJECTED

    **Reviewed At**: 2026-01-09 14:22:00 UTC
    **Reviewed By Model**: claude-opus-4-5-20251101

    ## Overall Summary
    Implementation lacks error handling.

    ## Compliance Review
    ### ✓ Compliant
    - User registration (src/auth/register.ts:3)

    ### ❌ Non-Compliant / Incomplete
    - Passwords have 8 characters (nothing checks)

    ### ? Unclear
    - It is fast

    ## Findings

    ### [ERROR] Compliance: Missing Password Validation (src/auth/validator.ts:45)
    **File**: src/auth/validator.ts
    **Line**: 45

    Empty passwords are accepted, violating "passwords must be 8+ characters".

    **Current Code**:
    ```typescript
    if (!password) {
      return true;
    }
    ```

    **Suggestion**:
    ```typescript
    if (!password || password.length < 8) {
      throw new Error('short');
    }
    ```

    ---

    ### [ERROR] Code Quality: Missing Error Handling (src/auth/login.ts:78)
    **File**: src/auth/login.ts
    **Line**: 78

    The query has no error handling.

    **Suggestion**: Wrap in `try`-`catch` and return an HTTP error.

    ---

    ### [WARNING] Test Coverage: Login edge cases
    No tests for failed login attempts.

    ---

    ### [INFO] Architecture: Consider using middleware

    ---

    ## Action Required
    Fix the compliance issues before next review.
    "#);
}

#[test]
fn an_approved_review_requires_no_action() {
    let approved = Iteration {
        number: 4,
        late: vec![remark(Category::Perf, Severity::High, "Slow loop", Some(("a_b.rs", 7)))],
        compliance: Compliance { criteria: vec![criterion("Login", Met::Yes { evidence: "a.rs:1".to_owned() })] },
        notes: vec!["`b.bin` was not looked at".to_owned()],
        overridden: Some(Override {
            who: "ada".to_owned(),
            reason: "we need it".to_owned(),
            at: "2026-01-09T15:00:00.000Z".to_owned(),
        }),
        outdated: true,
        ..iteration(Outcome::Approved)
    };
    assert_snapshot!(render("", &approved, 3), @r"
    # Code Review - Feature: (no title)
    **Iteration 4**

    **Status**: ✅ APPROVED

    **Reviewed At**: 2026-01-09 14:22:00 UTC
    **Reviewed By Model**: claude-opus-4-5-20251101
    **Approved By Hand**: ada at 2026-01-09 15:00:00 UTC: we need it
    **Outdated**: the branch had another commit when the review was over

    ## Overall Summary
    Fine.

    ## Compliance Review
    ### ✓ Compliant
    - Login (a.rs:1)

    ### ❌ Non-Compliant / Incomplete
    None.

    ## Findings
    None.

    ## Late Findings
    On lines that the last review let pass; they do not count against the feature.

    - [ERROR] Performance: Slow loop (a_b.rs:7)

    ## Notes
    - `b.bin` was not looked at

    ## Action Required
    None.
    ");
}

#[test]
fn a_failed_review_has_its_error() {
    let failed = Iteration {
        summary: String::new(),
        reason: Some("no answer within 900 s".to_owned()),
        reviewed_at: "just <b>now".to_owned(),
        ..iteration(Outcome::Failed)
    };
    assert_snapshot!(render("Login", &failed, 3), @r"
    # Code Review - Feature: Login
    **Iteration 1 of 3**

    **Status**: ⚠️ FAILED

    **Reviewed At**: just &lt;b&gt;now
    **Reviewed By Model**: claude-opus-4-5-20251101

    ## Overall Summary
    None.

    ## Findings
    None.

    ## Action Required
    There is no review of this iteration yet. Retry it.

    no answer within 900 s
    ");
}

#[test]
fn text_of_reviewers_keeps_lists_and_code_only() {
    let text = "# Not a heading\n@all see #1 and <img src=x>:\n\n\n- a **b**\n  - c\n/merge\n```rust\nlet a = \"```\";\n\
                ```\n---\n[x](javascript:a)";
    assert_snapshot!(prose::render(text), @r#"
    \# Not a heading
    \@&#8203;all see #&#8203;1 and &lt;img src=x&gt;:

    - a \*\*b\*\*
      - c
    \/merge
    ````
    let a = "```";
    ````
    \---
    \[x\](javascript:a)
    "#);
}

#[test]
fn code_is_told_from_prose() {
    for code in ["a();\nb();", "if a {\n    b\n}", "x = [\n  1,\n]"] {
        assert!(prose::is_code(code), "{code}");
    }
    for words in ["a();", "Do this.\nThen that.", "- call a();\n- call b();", "Write:\n```\na();\nb();\n```", ""] {
        assert!(!prose::is_code(words), "{words}");
    }
}

/// What a reader makes of a file: the headings, and whether there is anything that acts.
fn headings(markdown: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_GFM;
    let (mut headings, mut open) = (Vec::new(), false);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                headings.push(String::new());
                open = true;
            }
            Event::Start(
                Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock | Tag::Table(_) | Tag::BlockQuote(_),
            ) => {
                panic!("{event:?} in {markdown}");
            }
            Event::Html(_) | Event::InlineHtml(_) => panic!("{event:?} in {markdown}"),
            Event::Text(text) | Event::Code(text) if open => {
                if let Some(last) = headings.last_mut() {
                    last.push_str(&text);
                }
            }
            Event::End(pulldown_cmark::TagEnd::Heading(_)) => open = false,
            _ => {}
        }
    }
    headings
}

const PIECES: [&str; 30] = [
    "a",
    " ",
    "\n",
    "\n\n",
    "# x",
    "## Action Required",
    "---",
    "===",
    "```",
    "````",
    "~~~",
    "<b>",
    "<!--",
    "-->",
    "[x](y)",
    "![x](y)",
    "[x]: y",
    "> ",
    "- ",
    "1. ",
    "    ",
    "|a|\n|-|",
    "**",
    "`",
    "@a",
    "&lt;",
    "\\",
    "\r",
    "\u{202e}",
    "/merge",
];

proptest! {
    #[test]
    fn hostile_text_of_reviewers_is_inert(
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..10),
        suggestion in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..6),
    ) {
        let (text, suggestion) = (pieces.concat(), suggestion.concat());
        let remark = Remark {
            description: text.clone(),
            suggestion: Some(suggestion.clone()),
            evidence: Some(text.clone()),
            ..remark(Category::Logic, Severity::High, &text, Some((&text, 3)))
        };
        let met = Met::No { evidence: text.clone() };
        let rejected = Iteration {
            findings: vec![remark.clone()],
            late: vec![remark],
            summary: text.clone(),
            reason: Some(suggestion),
            model: text.clone(),
            notes: vec![text.clone()],
            compliance: Compliance { criteria: vec![criterion(&text, met)] },
            ..iteration(Outcome::Rejected)
        };
        let markdown = render(&text, &rejected, 3);
        let found = headings(&markdown);
        prop_assert_eq!(found.len(), 10, "{:?} in {}", found, markdown);
        prop_assert_eq!(found.last().map(String::as_str), Some("Action Required"));
    }
}
