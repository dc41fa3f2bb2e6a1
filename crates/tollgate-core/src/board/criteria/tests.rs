use proptest::prelude::*;

use super::*;

fn listed(description: &str, spec: &str) -> Vec<String> {
    read(description, spec).into_iter().map(|criterion| format!("{} {}", criterion.id, criterion.text)).collect()
}

#[track_caller]
fn check(description: &str, expected: &[&str]) {
    let numbered: Vec<String> =
        expected.iter().enumerate().map(|(index, text)| format!("C{} {text}", index + 1)).collect();
    assert_eq!(listed(description, ""), numbered, "{description}");
}

#[test]
fn list_items_are_criteria() {
    let description = "Implement JWT-based user authentication system with:
- User registration endpoint
- Login endpoint with email/password
- JWT token generation and validation
- Password hashing and validation
- Error handling for edge cases

[Feature specification details...]";
    check(
        description,
        &[
            "User registration endpoint",
            "Login endpoint with email/password",
            "JWT token generation and validation",
            "Password hashing and validation",
            "Error handling for edge cases",
        ],
    );
}

#[test]
fn lists_of_every_syntax_are_read() {
    check("* a one\n* b", &["a one", "b"]);
    check("+ a\n+ b", &["a", "b"]);
    check("1. a\n2. b\n", &["a", "b"]);
    check("1) a\n2) b\n", &["a", "b"]);
    check("- [ ] a\n- [x] b `c` **d**", &["a", "b `c` d"]);
    check("- a\n  goes on\n\n- b\n", &["a goes on", "b"]);
    check("Add login\n- min 8 chars", &["min 8 chars"]);
}

#[test]
fn the_lead_of_a_list_applies_to_each_item() {
    check(
        "- The form:\n  - has a button\n  - has a field\n- A page",
        &["The form: has a button", "The form: has a field", "A page"],
    );
    check("- The form\n  - has a button", &["The form", "has a button"]);
    check(
        "The log must not have:\n- passwords\n- keys",
        &["The log must not have: passwords", "The log must not have: keys"],
    );
    check("Please don't use:\n- `eval`", &["Please don't use: `eval`"]);
    check("- Never:\n  - in code:\n    - eval", &["Never: in code: eval"]);
    check(
        &format!("{} must not have:\n- a", "word ".repeat(90).trim()),
        &[&format!("…{} must not have: a", "word ".repeat(27).trim()).replacen("…word", "… word", 1)],
    );
}

#[test]
fn requirement_sentences_are_criteria() {
    check(
        "We need a login, e.g. with JWT. Passwords must be 8+ characters. Emails SHOULD be unique! It is nice.",
        &["Passwords must be 8+ characters.", "Emails SHOULD be unique!"],
    );
    check(
        "The token shall expire after 1.5 hours. A name is required.",
        &["The token shall expire after 1.5 hours.", "A name is required."],
    );
    check("It must use a token, e.g. JWT, or a key.", &["It must use a token, e.g. JWT, or a key."]);
    check("It must use a token (e.g. JWT).", &["It must use a token (e.g. JWT)."]);
    check("Logs mustn't hold keys", &["Logs mustn't hold keys"]);
    check("A line must go\non in the next\nMuster is a city", &["A line must go on in the next Muster is a city"]);
    check("Names must be unique\nEmails must be valid", &["Names must be unique", "Emails must be valid"]);
    check("Users must have accounts.", &["Users must have accounts."]);
    for text in ["Should we do this?", "Mustard is shallow.", "Use `must` and `should`.", "Run `a. must b` today."] {
        check(text, &[]);
    }
}

#[test]
fn all_text_below_a_requirements_heading_is_a_criterion() {
    check(
        "# Login\nA page.\n## Acceptance Criteria\nGiven a user\nwhen it logs in\nthen it sees the page. Fast.\n### Mail\nOne mail.\n## Notes\nNothing.",
        &["Given a user when it logs in then it sees the page.", "Fast.", "One mail."],
    );
    check("## Requirements\n| What | How |\n|---|---|\n| Login | JWT |\n", &["Login – JWT"]);
    check("| What | How |\n|---|---|\n| Login | JWT |\n", &[]);
}

#[test]
fn out_of_scope_text_is_no_criterion() {
    check("- a\n\n## Out of scope\n- b\n- c must be\n\nIt must not count.\n\n## Requirements\n- d", &["a", "d"]);
    check("**Non-goals**\n- a\n\nMore\n- b", &["b"]);
    check("Out of scope:\n\n- a\n  - b\n", &[]);
    check("- a\n- ~~b~~\n- c ~~must d~~", &["a", "c"]);
}

#[test]
fn code_quotes_comments_and_links_are_no_criteria() {
    check("```\n- a\nit must b\n```\n\n    it must c\n", &[]);
    check("> - a\n> it must b\n", &[]);
    check("<!-- - a\nit must b -->\n\n<!-- - [ ] c -->\n- d <!-- must e -->", &["d"]);
    check(
        "- [a page](https://example.com)\n- https://example.com/a\n- <https://example.com>\n- see [b](c)\n- ![d](e)",
        &["see b"],
    );
    check("# It must be a heading\n---\n- \n- !!!\n", &[]);
}

#[test]
fn duplicate_criteria_are_dropped() {
    let spec = "- Login page.\n- Logout page\n\nThe login page must load.";
    let expected = ["C1 login `page`", "C2 The login page must load.", "C3 Logout page"];
    assert_eq!(listed("- login `page`\n- The login page must load.", spec), expected);
}

#[test]
fn criteria_are_limited_in_number_and_length() {
    let many: String = (0..200).map(|number| format!("- item {number} {}\n", "ü".repeat(400))).collect();
    let criteria = read(&many, &many);
    assert_eq!(criteria.len(), MAX_CRITERIA);
    assert!(criteria.iter().all(|criterion| criterion.text.chars().count() == MAX_CHARS));
    assert_eq!(criteria[49].id, "C50");
}

#[test]
fn the_number_of_a_criterion_is_parsed_from_its_id() {
    for (id, expected) in
        [("C1", Some(1)), (" c12 ", Some(12)), ("C", None), ("C99999", None), ("1", None), ("Cx", None)]
    {
        assert_eq!(number(id), expected, "{id}");
    }
}

proptest! {
    #[test]
    fn any_text_gives_numbered_criteria_on_one_line(text in "([-*>#|`~:.!?\\[\\]()<a-z \n]|must|- |\n\n|```|<!--){0,80}") {
        let criteria = read(&text, &text);
        prop_assert!(criteria.len() <= MAX_CRITERIA);
        for (index, criterion) in criteria.iter().enumerate() {
            prop_assert_eq!(number(&criterion.id), u32::try_from(index + 1).ok());
            prop_assert!(!criterion.text.is_empty() && !criterion.text.contains('\n'));
        }
    }
}
