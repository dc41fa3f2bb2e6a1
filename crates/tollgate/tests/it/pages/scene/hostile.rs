//! Texts that were written to break a page, for every field that somebody else fills in.

use serde_json::json;

use crate::pages::scene::cards::Card;

/// Markup, scripts, entities, templates, terminal escapes, directions and what looks like our own words.
pub(crate) const TEXT: &str = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'><svg onload=alert(3)> &lt;b&gt; \
                               {{ 7*7 }} ${7*7} \u{202e}desrever\u{202c} \u{1b}[31mred\u{1b}[0m \u{0} \u{200b}|";

/// The name of the project.
pub(crate) const PROJECT: &str = "\"><img src=x onerror=alert(4)>\u{202e}tcejorp\u{202c}";

/// The feature that is worked on.
pub(crate) const WORKED_ON: &str = "hostile";

/// The feature that a person lets pass.
pub(crate) const APPROVED: &str = "hostile-approved";

/// The text without what no card and no request can hold.
pub(crate) fn text() -> String {
    TEXT.replace('\0', "\u{1}")
}

/// The cards of the project: two that are worked on, two that nobody touches.
pub(crate) fn cards() -> Vec<Card> {
    let text = text();
    let link = "https://example.com/\"onmouseover=\"alert(5) [a](javascript:alert(6)) <https://example.com/a.js>";
    let description = format!("{text}\n- {text}\n- {link} must be text\n</textarea></template></title><h1>big</h1>");
    let card = |id: &str| {
        Card::new(id, &format!("Hostile {text}"), &description)
            .with("spec", json!(text))
            .with("category", json!(text))
            .with("model", json!("m\"><b>model</b>"))
            .with("summary", json!(text))
            .with("error", json!(text))
    };
    vec![
        card(WORKED_ON).waits("in_progress"),
        card(APPROVED).waits("in_progress"),
        card("hostile-idle").with("branchName", json!("feature/<b>\"'&")).with("priority", json!("<b>1</b>")),
        card("hostile-status").with("status", json!("<img src=x onerror=alert(7)>")),
    ]
}
