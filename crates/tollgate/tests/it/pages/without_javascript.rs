//! Pages without JavaScript: all content is readable, and unavailable actions are explained.

use crate::pages::fixtures::Scene;

#[track_caller]
fn check(path: impl Fn(&Scene) -> String, shown: &[&str]) {
    let scene = Scene::get();
    let browser = scene.open();
    browser.javascript_off();
    browser.go(&path(scene));
    let text = browser.all_text();
    for part in shown {
        assert!(text.contains(part), "`{part}` is not there:\n{text}");
    }
}

#[test]
fn the_board_is_there_with_its_cards_and_the_commands_for_them() {
    let cards = ["Round totals to the cent at checkout", "Sell gift cards", "Wish lists", "tollgate feature add"];
    check(|scene| format!("/projects/{}", scene.shop), &cards);
}

#[test]
fn a_feature_is_there_with_verdict_findings_diff_and_criteria() {
    let shown = [
        "Rejected",
        "Rounding each position makes the sum wrong",
        "src/basket.js",
        "const items = eval(text);",
        "each position is rounded, not the sum",
        "tollgate feature",
    ];
    check(|scene| scene.page_of("checkout-totals") + "?iteration=1", &shown);
    check(|scene| scene.page_of("checkout-totals"), &["The sum is rounded once", "JSON.parse(text)"]);
}

#[test]
fn stored_reviews_are_there() {
    check(|_| "/reviews".to_owned(), &["Round totals to the cent at checkout", "tollgate history"]);
    let shown = ["Rounding each position makes the sum wrong", "Add up first, then round the sum once."];
    check(|scene| format!("/reviews/{}", scene.run_of("checkout-totals", 1)), &shown);
}

#[test]
fn settings_are_there_and_say_what_needs_a_script() {
    check(|_| "/settings/prompts".to_owned(), &["System prompt", "needs JavaScript"]);
    check(|_| "/settings/gate".to_owned(), &["Rounds"]);
}
