//! The screens, for all that looks at each of them.

use crate::pages::browser::Browser;
use crate::pages::fixtures::Scene;

/// What Chromium says of a page that is not there, though it is shown.
pub(crate) const NOBODY: &str = "/features/nobody - Failed to load resource";

/// A page that people open.
pub(crate) struct Screen {
    pub(crate) name: &'static str,
    pub(crate) path: String,
}

/// The screens in the documentation.
const KEPT: &[&str] = &[
    "board",
    "feature",
    "feature-rejected",
    "feature-split",
    "feature-compared",
    "reviews",
    "review",
    "trends",
    "settings-prompts",
    "settings-agents",
    "settings-gate",
    "settings-identity",
    "settings-github",
    "settings-projects",
    "settings-access",
    "projects",
];
const KEPT_OF_A_PHONE: &[&str] = &["board", "feature", "settings-github"];

impl Screen {
    /// True when the documents show it.
    pub(crate) fn is_kept(&self) -> bool {
        KEPT.contains(&self.name)
    }

    /// Takes a picture of the page that is shown.
    #[track_caller]
    pub(crate) fn picture(&self, browser: &Browser, how: &str) {
        let name = format!("{}-{how}", self.name);
        let is_kept = if how == "phone" { KEPT_OF_A_PHONE.contains(&self.name) } else { self.is_kept() };
        if is_kept {
            browser.screenshot_to_keep(&name)
        } else {
            browser.screenshot(&name)
        };
    }
}

/// Every screen, in the states that matter to how it looks.
pub(crate) fn screens(scene: &Scene) -> Vec<Screen> {
    let board = |project: u64| format!("/projects/{project}");
    let feature = |id: &str, query: &str| format!("{}{query}", scene.page_of(id));
    let screen = |name, path| Screen { name, path };
    vec![
        screen("board", board(scene.shop)),
        screen("board-filtered", board(scene.shop) + "?q=nothing+like+this"),
        screen("board-empty", board(scene.empty)),
        screen("board-one", board(scene.single)),
        screen("feature", feature("checkout-totals", "")),
        screen("feature-rejected", feature("checkout-totals", "?iteration=1")),
        screen("feature-compared", feature("checkout-totals", "?compare=1,2")),
        screen("feature-split", feature("checkout-totals", "?iteration=1&view=split")),
        screen("feature-needs-you", feature("import-catalogue", "")),
        screen("feature-review-failed", feature("payment-webhooks", "")),
        screen("feature-at-work", feature("address-book", "")),
        screen("feature-backlog", feature("order-again", "")),
        screen("feature-broken", feature("broken-later", "")),
        screen("reviews", "/reviews".to_owned()),
        screen("review", format!("/reviews/{}", scene.run_of("checkout-totals", 1))),
        screen("trends", "/trends".to_owned()),
        screen("settings-prompts", "/settings/prompts".to_owned()),
        screen("settings-prompts-project", format!("/settings/prompts?project={}", scene.shop)),
        screen("settings-agents", "/settings/agents".to_owned()),
        screen("settings-gate", "/settings/gate".to_owned()),
        screen("settings-identity", "/settings/identity".to_owned()),
        screen("settings-github", "/settings/github".to_owned()),
        screen("settings-projects", "/settings/projects".to_owned()),
        screen("settings-access", "/settings/access".to_owned()),
        screen("projects", "/".to_owned()),
        screen("not-found", feature("nobody", "")),
    ]
}
