//! Without JavaScript there is everything to read, and words for what cannot be done.

use crate::pages::scene::Scene;

#[test]
fn board_feature_and_reviews_can_be_read_without_a_script() {
    let scene = Scene::get();
    let browser = scene.open();
    browser.javascript_off();
    for (path, texts) in [
        (
            format!("/projects/{}", scene.shop),
            &["Round totals to the cent at checkout", "Sell gift cards", "Wish lists"][..],
        ),
        (
            scene.page_of("checkout-totals") + "?iteration=1",
            &[
                "Rounding each position makes the sum wrong",
                "src/basket.js",
                "const items = eval(text);",
                "off by a cent",
            ],
        ),
        (scene.page_of("checkout-totals"), &["The sum is rounded once", "JSON.parse(text)", "src/shop.js"]),
        ("/reviews".to_owned(), &["Round totals to the cent at checkout"]),
        ("/trends".to_owned(), &[]),
        ("/settings/prompts".to_owned(), &["Prompts"]),
    ] {
        browser.go(&path);
        let text = browser.all_text();
        for part in texts {
            assert!(text.contains(part), "`{part}` is not on {path}:\n{text}");
        }
    }
}
