//! What large diffs cost the browser. Times are printed and prove nothing; counts are checked.

use serde_json::json;

use super::open;
use crate::desk::Desk;
use crate::pages::site::Site;

/// A feature with a change by this script, shown and scrolled through.
#[track_caller]
fn check(name: &str, script: &str, most_elements: usize, unfold: bool) {
    let site = Site::of(Desk::new(script));
    let feature = site.create(&json!({ "title": name, "description": name }));
    site.act(&feature, "start", &json!({}));
    site.server.settled(site.project, &feature);
    let page = format!("/projects/{}/features/{feature}/iterations/1/files", site.project);
    let browser = open(&site, &page);
    browser.go(&page);
    let first = browser.metrics();
    println!(
        "{name}: {} elements, {} nodes, longest task {:.0} ms, interactive after {:.0} ms",
        first.n_elements, first.n_nodes, first.longest_task, first.interactive
    );
    assert!(first.n_elements <= most_elements, "{first:?}");
    if unfold {
        browser.value("document.querySelectorAll('.diff-file').forEach((file) => { file.open = true })");
    }
    // To the end, as fast as it goes.
    browser.value("performance.mark('scroll')");
    browser.until(
        "(() => { const more = document.querySelector('.more, .more-files'); more?.scrollIntoView(); return !more })()",
    );
    let took = browser.number("performance.now() - performance.getEntriesByName('scroll')[0].startTime");
    let all = browser.metrics();
    let n_lines = browser.count(".lines td.code.add");
    println!(
        "  to the end in {took:.0} ms: {n_lines} lines, {} elements, {} nodes, longest task {:.0} ms",
        all.n_elements, all.n_nodes, all.longest_task
    );
    assert_eq!(n_lines, 20_000);
}

#[test]
fn a_file_of_twenty_thousand_lines_stays_usable() {
    let script = r#"awk 'BEGIN { for (l = 0; l < 20000; l++) printf "export const value_%d = compute(%d, \"%d\"); // line\n", l, l, l }' > big.js"#;
    check("one file of 20,000 lines", script, 600, true);
}

#[test]
fn four_hundred_files_stay_usable() {
    let script = r#"mkdir src; awk 'BEGIN { for (f = 0; f < 400; f++) for (l = 0; l < 50; l++) printf "export const value_%d = compute(%d, \"%d\"); // line\n", l, l, l > ("src/part" f ".js") }'"#;
    check("400 files of 50 lines", script, 45_000, false);
}
