//! What large diffs cost the browser. Times are printed and prove nothing; counts are checked.

use serde_json::json;

use super::open;
use crate::desk::Desk;
use crate::pages::browser::Browser;
use crate::pages::display::Metrics;
use crate::pages::site::Site;

/// The diff of a feature changed by this script, with a limit of initial elements.
#[track_caller]
fn shown(name: &str, script: &str, most_elements: usize) -> (Site, Browser) {
    let site = Site::of(Desk::new(script));
    let feature = site.create(&json!({ "title": name, "description": name }));
    site.act(&feature, "start", &json!({}));
    site.server.settled(site.project, &feature);
    let page = format!("/projects/{}/features/{feature}/iterations/1/files", site.project);
    let browser = open(&site, &page);
    browser.go(&page);
    let metrics = told(&browser, name);
    assert!(metrics.n_elements <= most_elements, "{metrics:?}");
    (site, browser)
}

#[expect(clippy::print_stdout, reason = "the figures are what one wants to know")]
fn told(browser: &Browser, name: &str) -> Metrics {
    let metrics = browser.metrics();
    println!(
        "{name}: {} elements, {} nodes, longest task {:.0} ms, interactive after {:.0} ms",
        metrics.n_elements, metrics.n_nodes, metrics.longest_task, metrics.interactive
    );
    metrics
}

#[test]
fn a_file_of_twenty_thousand_lines_stays_usable() {
    let script = r#"awk 'BEGIN { for (l = 0; l < 20000; l++) printf "export const value_%d = compute(%d, \"%d\"); // line\n", l, l, l }' > big.js"#;
    let (_site, browser) = shown("one file of 20,000 lines", script, 600);
    browser.value("document.querySelector('.diff-file').open = true");
    // To the end, as fast as it goes.
    browser.value("performance.mark('begun')");
    browser.until("(() => { const more = document.querySelector('.more'); more?.scrollIntoView(); return !more })()");
    let took = browser.number("performance.now() - performance.getEntriesByName('begun')[0].startTime");
    assert_eq!(browser.count(".lines td.code.add"), 20_000);
    told(&browser, &format!("  all of it after {took:.0} ms"));
}

#[test]
fn four_hundred_files_stay_usable() {
    let script = r#"mkdir src; awk 'BEGIN { for (f = 0; f < 400; f++) for (l = 0; l < 50; l++) printf "export const value_%d = compute(%d, \"%d\"); // line\n", l, l, l > ("src/part" f ".js") }'"#;
    let (_site, browser) = shown("400 files of 50 lines", script, 45_000);
    // The last line of the last file, which is neither in the list of the page nor loaded.
    browser
        .value("performance.mark('begun'); location.hash = 'f399-R50'; dispatchEvent(new PopStateEvent('popstate'))");
    browser.until("document.querySelector('#f399 tr.here')");
    let took = browser.number("performance.now() - performance.getEntriesByName('begun')[0].startTime");
    told(&browser, &format!("  at the last line after {took:.0} ms"));
    assert_eq!(browser.count(".diff-file"), 400);
}
