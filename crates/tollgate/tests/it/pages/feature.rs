//! The page of a feature, as people use it: every act once, live, by keyboard, and without scripts.

use serde_json::json;

use crate::desk::{BAD, learns, works};
use crate::pages::browser::Browser;
use crate::pages::locator::{button, css, link, textbox};
use crate::pages::site::{LIVE, Site};

/// A stubborn agent: each iteration keeps the defect and changes something else.
fn insists() -> String {
    format!("echo '{BAD}' > b.js; date +%s%N > notes.txt; echo written")
}

/// The page of a feature that was rejected until a person has to decide.
fn rejected() -> (Site, String, Browser) {
    let site = Site::new(&insists());
    let id = site.finish("Read JSON");
    let browser = site.open();
    open(&site, &browser, &id);
    (site, id, browser)
}

fn open(site: &Site, browser: &Browser, id: &str) {
    browser.go(&site.page_of(id));
    browser.until(LIVE);
    // A reload would lose this marker.
    browser.value("window.isFirst = true");
}

#[track_caller]
fn check_first(browser: &Browser) {
    assert!(browser.is("window.isFirst === true"), "the page was loaded again");
}

const VERDICT: &str = "document.querySelector('.verdict-words').innerText";

#[test]
fn a_feature_is_started_and_its_page_follows_it_through_the_gate() {
    let site = Site::new(&learns());
    let id = site.add("Read JSON");
    let browser = site.open();
    open(&site, &browser, &id);
    browser.sees("Not reviewed yet");
    browser.click(button("Start"));
    browser.until(&format!("{VERDICT}.includes('Approved')"));
    browser.until("document.querySelectorAll('.iterations a[data-number]').length === 2");
    browser.sees("Nothing blocking");
    browser.until("document.querySelector('#part-changes .diff-file') !== null");
    browser.sees("JSON.parse");
    check_first(&browser);
    // Iterations one by one, and beside each other.
    browser.press("1");
    browser.sees("Rejected");
    assert!(browser.place().ends_with("?iteration=1"), "{}", browser.place());
    browser.press("c");
    browser.sees("1 resolved, 0 still open, 0 new");
    browser.choose(css("#compare-one"), "2");
    browser.sees("Choose two different iterations.");
    browser.press("2");
    browser.until(&format!("{VERDICT}.includes('Approved')"));
    browser.click(button("Complete"));
    browser.sees("Completed");
    browser.press("Escape");
    browser.until("location.pathname.split('/').length === 3");
}

#[test]
fn agent_output_is_shown_live_until_the_agent_is_stopped() {
    let site = Site::new("echo begun '<script>alert(1)</script>'; sleep 100");
    let id = site.add("Read JSON");
    let browser = site.open();
    open(&site, &browser, &id);
    browser.click(button("Start"));
    browser.until("document.querySelector('#output-text')?.textContent.includes('begun <script>')");
    assert!(browser.is("document.querySelector('#output').open && document.querySelector('#follow').checked"));
    browser.click(button("Stop"));
    browser.sees("Backlog");
    check_first(&browser);
}

#[test]
fn a_person_approves_with_a_reason_or_not_at_all() {
    let (_site, _, browser) = rejected();
    browser.sees("It waits for you");
    // Unavailable actions show a reason.
    browser.press(".");
    browser.until("document.activeElement.closest('#acts-menu') !== null");
    browser.value("document.querySelector('#acts-menu [data-act=start]').click()");
    browser.sees("Not now: it is paused");
    browser.press("Escape");
    browser.until("!document.querySelector('#acts-menu').open");
    browser.press("a");
    browser.finds(textbox("Reason"));
    browser.press("Control+Enter");
    browser.sees("Reason is needed.");
    browser.fill(textbox("Reason"), "It is a toy.");
    browser.press("Control+Enter");
    browser.until(&format!("{VERDICT}.includes('Approved by hand')"));
    browser.sees("let it pass: It is a toy.");
    check_first(&browser);
    browser.axe();
}

#[test]
fn a_feature_goes_back_or_on_with_a_note_to_the_agent() {
    let (site, id, browser) = rejected();
    browser.press("x");
    browser.fill(textbox("Note"), "Parse it instead.");
    browser.press("Control+Enter");
    browser.until("document.querySelectorAll('.iterations a[data-number]').length > 3 || document.body.innerText.includes('under way')");
    site.server.settled(site.project, &id);
    browser.sees("It waits for you");
    browser.click(button("Resume …"));
    browser.fill(textbox("Note to the agent"), "Once more, please.");
    browser.click(css("dialog .button.primary"));
    site.server.settled(site.project, &id);
    browser.click(css("[data-key=timeline] summary"));
    browser.sees("Parse it instead.");
    browser.sees("Once more, please.");
    check_first(&browser);
}

#[test]
fn a_finding_is_dismissed_taken_back_and_dismissed_again_and_then_the_review_passes() {
    let (site, id, ada) = rejected();
    let ben = site.open();
    open(&site, &ben, &id);
    let dismiss = |reason: &str| {
        ada.press("n");
        ada.until("document.activeElement.closest('.finding, .fi') !== null");
        ada.until("document.querySelector('.fi.here') !== null");
        ada.value("document.querySelector('#part-findings .fi details').open = true");
        ada.click(css("#part-findings [data-act=dismiss]"));
        ada.fill(textbox("Reason"), reason);
        ada.press("Control+Enter");
        ada.sees("F001 is dismissed.");
        ada.until("document.querySelector('#part-findings .fi.closed') !== null");
    };
    dismiss("The text is ours.");
    // In the diff, too, and for other viewers.
    ada.until("document.querySelector('#part-changes .finding.dismissed [data-act=restore]') !== null");
    ben.until("document.querySelector('#part-findings .fi.closed') !== null");
    ada.click(button("Undo"));
    ada.sees("It counts again");
    ada.until("document.querySelector('#part-findings .fi.closed') === null");
    ada.until("document.querySelector('#part-changes .finding.dismissed') === null");
    dismiss("It is ours, really.");
    ada.press("u");
    ada.sees("No matching findings.");
    assert!(ada.place().contains("open=1"), "{}", ada.place());
    ada.press("u");
    ada.press("r");
    for browser in [&ada, &ben] {
        browser.until(&format!("{VERDICT}.endsWith('✔ Approved')"));
    }
    // Who said so and why stands with the finding that was left out.
    ada.value("document.querySelector('[data-key=group-left-out]').open = true");
    ada.value("document.querySelector('[data-key=group-left-out] .fi details').open = true");
    ada.sees("really");
    for browser in [&ada, &ben] {
        check_first(browser);
        browser.axe();
    }
}

#[test]
fn findings_are_filtered_copied_and_taken_away() {
    let (_site, _, browser) = rejected();
    browser.value("document.querySelector('details.find').open = true");
    browser.choose(css("#filter-severity"), "warning");
    browser.sees("No matching findings.");
    assert!(browser.place().contains("severity=warning"), "{}", browser.place());
    browser.click(link("Clear"));
    browser.until("document.querySelectorAll('#part-findings .fi').length === 1");
    browser.fill(css("#filter-q"), "execution");
    browser.press("Enter");
    browser.until("location.search.includes('q=execution')");
    browser.until("document.querySelectorAll('#part-findings .fi').length === 1");
    check_first(&browser);
    browser.reload();
    browser.until(LIVE);
    assert_eq!(browser.string("document.querySelector('#filter-q').value"), "execution");
    // Onto the clipboard: all of it, and one finding.
    browser.value("navigator.clipboard.writeText = async (text) => { window.copied = text; }");
    browser.click(button("Copy as prompt"));
    browser.until("window.copied?.includes('Fix all the issues')");
    browser.value("window.copied = ''; document.querySelector('#part-findings .fi details').open = true");
    browser.click(css("#part-findings [data-act=copy]"));
    browser.until("window.copied.includes('eval')");
    // As files.
    let statuses =
        "Promise.all([...document.querySelectorAll('#export-menu a')].map((a) => fetch(a.href).then((r) => r.status)))";
    assert_eq!(browser.value(&format!("({statuses}).then(String)")), json!("200,200,200,200"));
    // Rule findings have no prompt.
    browser.click(css("#audit > summary"));
    browser.sees("no model or agent was asked");
}

#[test]
fn an_edit_that_meets_another_loses_neither() {
    let site = Site::new(&works());
    let id = site.add("Read JSON");
    let browser = site.open();
    open(&site, &browser, &id);
    browser.press("e");
    browser.fill(textbox("Title"), "Read JSON quickly");
    browser.fill(textbox("Description"), "");
    browser.click(button("Save"));
    browser.sees("A description is needed");
    browser.fill(textbox("Description"), "Reads a text.");
    let theirs = json!({ "title": "Read JSON slowly" }).to_string();
    let path = format!("/api/projects/{}/features/{id}", site.project);
    assert_eq!(site.server.exchange(&site.server.bytes("PATCH", &path, &[], &theirs)).unwrap().status, 200);
    browser.forgive("412");
    browser.click(button("Save"));
    browser.sees("The feature was changed in the meantime.");
    browser.sees("Read JSON slowly");
    assert_eq!(browser.string("document.querySelector('#edit-title').value"), "Read JSON quickly");
    browser.axe();
    browser.click(button("Save mine over it"));
    browser.until("document.querySelector('h1').innerText === 'Read JSON quickly'");
    check_first(&browser);
}

#[test]
fn a_feature_that_is_done_with_leaves_no_trace_on_the_board() {
    let site = Site::new(&works());
    let id = site.finish("Read JSON");
    let browser = site.open();
    open(&site, &browser, &id);
    browser.press(".");
    browser.click(css("#acts-menu [data-act=clean]"));
    browser.click(css("dialog .button.danger"));
    browser.sees("Its work tree is removed.");
    browser.press(".");
    browser.click(css("#acts-menu [data-act=delete]"));
    browser.click(css("dialog .button.danger"));
    browser.until("location.pathname.split('/').length === 3");
    browser.until("!document.body.innerText.includes('Read JSON')");
}

#[test]
fn without_scripts_everything_can_be_read_and_commands_are_named() {
    let (site, id, _) = rejected();
    let browser = site.open();
    browser.javascript_off();
    browser.go(&site.page_of(&id));
    for words in ["Rejected", "dynamic code execution", "eval(text)"] {
        browser.sees(words);
    }
    browser.sees(&format!("tollgate feature approve {id} --reason TEXT"));
    browser.click(link("Unresolved only"));
    browser.sees("dynamic code execution");
    assert!(browser.place().contains("open=1"), "{}", browser.place());
    browser.go(&format!("{}?iteration=1", site.page_of(&id)));
    browser.sees("Rejected");
    browser.width(375);
    assert!(browser.sideways() <= 0.0, "{}", browser.sideways());
}
