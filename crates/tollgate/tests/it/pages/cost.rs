//! What pages cost: bytes on the wire, elements in the browser. Times are printed and prove nothing; counts are checked.
//!
//! `cargo test -p tollgate --test it pages::cost -- --nocapture` prints the figures.

#![expect(clippy::print_stdout, reason = "what was measured is printed")]

use crate::pages::browser::Browser;
use crate::pages::fixtures::{LARGE, Large, Scene};
use crate::pages::page_log::Request;

/// Everything that a first visit to a page loads, in bytes on the wire.
fn weight(requests: &[Request]) -> u64 {
    requests.iter().map(|request| request.n_bytes).sum()
}

/// Checks how much a page has, and prints how long it took.
#[track_caller]
fn check(browser: &Browser, name: &str, path: &str, most_elements: usize) {
    browser.forget();
    browser.go(path);
    let metrics = browser.metrics();
    let kib = weight(&browser.requests()) / 1024;
    println!(
        "{name}: {} elements, {} nodes, longest task {:.0} ms, interactive after {:.0} ms, {kib} KiB",
        metrics.n_elements, metrics.n_nodes, metrics.longest_task, metrics.interactive
    );
    assert!(metrics.n_elements <= most_elements, "{name}: {metrics:?}");
}

#[test]
fn the_first_page_is_small() {
    let scene = Scene::get();
    for path in [format!("/projects/{}", scene.shop), scene.page_of("checkout-totals"), "/reviews".to_owned()] {
        let browser = scene.open();
        browser.must("Network.clearBrowserCache", serde_json::json!({}));
        browser.forget();
        browser.go(&path);
        browser.until("document.readyState === 'complete'");
        let requests = browser.requests();
        let n_bytes = weight(&requests);
        println!("{path}: {} requests, {n_bytes} bytes", requests.len());
        for request in &requests {
            println!("  {:6} {} {}", request.n_bytes, request.kind, request.url);
        }
        assert!(n_bytes < 100_000, "{path} weighs {n_bytes} bytes: {requests:#?}");
    }
}

#[test]
fn a_thousand_features_stay_usable() {
    let large = Large::get();
    let browser = large.open();
    check(&browser, "board of 1,000", &format!("/projects/{}", large.project), 4_000);
}

#[test]
fn twenty_thousand_lines_stay_usable() {
    let large = Large::get();
    let browser = large.open();
    check(&browser, "20,000 lines", &format!("/projects/{}/features/{LARGE}", large.project), 2_000);
}
