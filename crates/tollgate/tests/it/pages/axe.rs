//! Accessibility, as axe-core checks it: all rules of WCAG 2.2 A and AA, and best practices.
//!
//! It runs in a world of its own, beside the page's scripts and behind its content security policy, which stays on.

use serde_json::{Value, json};

use crate::pages::browser::{Browser, result};
use crate::pages::chromium::brought;

const RUN: &str = "axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    resultTypes: ['violations'],
})";

impl Browser {
    /// Fails with a list of everything that is not accessible.
    #[track_caller]
    pub(crate) fn axe(&self) {
        let found = self.violations();
        assert!(found.is_empty(), "not accessible: {}\n{}\n", self.place(), found.join("\n"));
    }

    /// Everything that is not accessible, one line each.
    #[track_caller]
    pub(crate) fn violations(&self) -> Vec<String> {
        let source = std::fs::read_to_string(brought("axe-core/axe.min.js")).unwrap();
        let frame = &self.must("Page.getFrameTree", json!({}))["frameTree"]["frame"]["id"];
        let world = &self.must("Page.createIsolatedWorld", json!({ "frameId": frame }))["executionContextId"];
        let run = |expression: &str| {
            let asked = json!({
                "expression": expression, "contextId": world, "awaitPromise": true, "returnByValue": true,
            });
            result(self.must("Runtime.evaluate", asked)).unwrap()
        };
        run(&format!("{source}\ntrue"));
        // A button half beneath the bar of a scrolled page counts as too small.
        run("scrollTo({ top: 0, behavior: 'instant' })");
        let results = run(RUN);
        results["violations"].as_array().unwrap().iter().flat_map(lines).collect()
    }
}

/// A violation as text: the rule, then each violating element.
fn lines(violation: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let nodes = violation["nodes"].as_array().unwrap();
    let line = |node: &Value| {
        let html: String = text(&node["html"]).chars().take(200).collect();
        let (rule, help, why) = (text(&violation["id"]), text(&violation["help"]), text(&node["failureSummary"]));
        format!("{rule}: {help}: {} {html}\n    {why}", node["target"])
    };
    nodes.iter().take(5).map(line).collect()
}
