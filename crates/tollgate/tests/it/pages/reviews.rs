//! Stored reviews and trends, as people use them: search, filters, one review, exports, and live updates.

use std::process::Command;

use crate::desk::{BAD, GOOD, learns};
use crate::pages::display::Theme;
use crate::pages::locator::{button, css, link, role};
use crate::pages::site::{LIVE, Site};

/// Reviews a file from the command line, with the server's store.
#[track_caller]
fn review(site: &Site, title: &str, code: &str) {
    let desk = &site.desk;
    if desk.git(&["branch", "--show-current"]) == "main" {
        desk.git(&["switch", "-q", "-c", "work"]);
    }
    std::fs::write(desk.path("project/c.js"), format!("{code}\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["review", "--title", title, "--format", "json"])
        .current_dir(desk.path("project"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", desk.path("home"))
        .env("XDG_CONFIG_HOME", desk.path("config"))
        .env("XDG_DATA_HOME", desk.path("data"))
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
}

/// A board with a feature that was reviewed twice, and two reviews of the command line.
#[track_caller]
fn site() -> Site {
    let site = Site::new(&learns());
    site.finish("Read JSON");
    review(&site, "Evaluate what users write", BAD);
    review(&site, "Parse what users write", GOOD);
    site
}

#[test]
fn reviews_are_searched_and_filtered_in_the_address() {
    let site = site();
    let browser = site.open();
    browser.go("/reviews");
    browser.sees("Showing 4 of 4");
    browser.press("/");
    browser.keys("evaluate");
    browser.press("Enter");
    browser.until("location.search === '?q=evaluate'");
    browser.sees("Evaluate what users write");
    browser.sees_no_more("Parse what users write");
    browser.click(link("text: evaluate"));
    browser.until("location.search === ''");
    // Choosing a filter searches immediately.
    browser.choose(role("combobox", "Verdict"), "approved");
    browser.until("location.search === '?verdict=approved'");
    browser.sees_no_more("Evaluate what users write");
    browser.choose(role("combobox", "From"), "pull request");
    browser.until("location.search.includes('origin=pull-request')");
    browser.sees("No matching reviews");
    browser.click(link("clear all of them"));
    browser.sees("Showing 4 of 4");
    browser.choose(role("combobox", "Order"), "most findings");
    browser.until("location.search === '?order=findings'");
    browser.back();
    browser.until("location.search === ''");
}

#[test]
fn one_goes_through_reviews_with_the_keyboard_alone() {
    let site = site();
    let browser = site.open();
    browser.go("/reviews");
    browser.until(LIVE);
    for key in ["j", "j", "k"] {
        browser.press(key);
    }
    browser.until("document.activeElement?.innerText === 'Parse what users write'");
    browser.press("j");
    browser.press("Enter");
    browser.until("location.pathname.startsWith('/reviews/')");
    browser.sees("Evaluate what users write");
    browser.press("n");
    browser.until("document.activeElement?.matches('article.finding')");
    browser.press("Escape");
    browser.until("location.pathname === '/reviews'");
    browser.press("f");
    browser.until("document.activeElement?.id === 'gate'");
}

#[test]
fn a_review_that_is_made_while_one_looks_is_announced() {
    let site = site();
    let browser = site.open();
    browser.go("/reviews?severity=High");
    browser.until(LIVE);
    // Reviews outside the filter are not announced.
    review(&site, "Say nothing", "export const one = 1;");
    review(&site, "Evaluate again", &format!("{BAD} // again"));
    browser.sees("1 new review");
    browser.axe();
    browser.click(link("Show"));
    browser.sees("Evaluate again");
    browser.sees_no_more("1 new review");
    assert!(browser.place().contains("severity=High"));
}

#[test]
fn a_review_of_a_feature_leads_to_it_and_is_compared_with_the_one_before() {
    let site = site();
    let browser = site.open();
    browser.go("/reviews?origin=pipeline&verdict=approved");
    browser.click(css("[data-row] a.title"));
    browser.sees("0 new");
    browser.sees("1 resolved");
    browser.click(css("#resolved > summary"));
    browser.sees("eval");
    browser.click(link("Read JSON"));
    browser.until("location.pathname.includes('/features/') && location.search === '?iteration=2'");
}

#[test]
fn a_review_is_exported_in_every_form() {
    let site = site();
    let browser = site.open();
    browser.go("/reviews?q=evaluate");
    browser.click(css("[data-row] a.title"));
    browser.click(css("details.menu.end > summary"));
    for form in ["Markdown", "JSON", "SARIF", "One HTML page"] {
        browser.finds(link(form));
    }
    let answers =
        "Promise.all([...document.querySelectorAll('a[download]')].map(async (a) => (await fetch(a.href)).status))";
    assert_eq!(browser.value(&format!("{answers}.then((all) => all.join())")), "200,200,200,200");
    browser.press("Escape");
    browser.until("!document.querySelector('details.menu.end').open");
}

#[test]
fn trends_are_drawn_with_the_figures_beside_them() {
    let site = site();
    let browser = site.open();
    browser.go("/trends");
    assert_eq!(browser.count("svg.chart rect[fill^=url]") > 0, browser.is("document.querySelector('.headlines')"));
    browser.sees("Findings by severity");
    browser.click(css("section[aria-labelledby=verdicts-heading] summary"));
    browser.sees("changes requested");
    // The last row is today, and leads to its reviews.
    browser.click(css("section[aria-labelledby=verdicts-heading] tbody tr:last-child a"));
    browser.sees("Showing 4 of 4");
    browser.go("/trends");
    browser.click(link("7 days"));
    browser.until("document.querySelector('.ranges [aria-current]')?.innerText === '7 days'");
    browser.click(button("Show"));
    // Only the form says for which repository.
    browser.until("location.search.includes('repository=')");
    browser.go("/trends?from=2020-01-01&to=2020-01-31");
    browser.sees("Nothing was reviewed in this time");
}

#[test]
fn without_a_script_all_of_it_can_be_read() {
    let site = site();
    let browser = site.open();
    browser.javascript_off();
    browser.go("/reviews");
    browser.fill(role("searchbox", "Search"), "evaluate");
    browser.click(button("Search"));
    browser.sees("Showing 1 of 1");
    browser.click(link("Evaluate what users write"));
    browser.sees("Must be fixed");
    browser.sees("tollgate history show");
    browser.go("/trends");
    browser.sees("Resolved rate");
    assert!(browser.count("svg.chart") > 3);
}

#[test]
fn with_nothing_stored_every_screen_says_what_to_do_in_both_themes_and_on_a_phone() {
    let site = Site::new(&learns());
    let browser = site.open();
    for (path, name) in [("/reviews", "reviews-empty"), ("/trends", "trends-empty")] {
        browser.go(path);
        browser.sees("tollgate review");
        for theme in Theme::BOTH {
            browser.theme(theme);
            browser.axe();
            browser.screenshot(&format!("{name}-{}", theme.name()));
        }
        browser.width(375);
        assert_eq!(browser.sideways(), 0.0, "{path}");
        browser.width(1280);
    }
}
