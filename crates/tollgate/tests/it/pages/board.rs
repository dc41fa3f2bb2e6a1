//! The board as people work on it: cards are added, found, dragged and decided about, with the mouse and without.

use serde_json::json;

use crate::desk::{BAD, works};
use crate::pages::browser::Browser;
use crate::pages::locator::{button, css, link, role, textbox};
use crate::pages::site::{LIVE, Site};

impl Site {
    /// A browser on the board with a live event stream.
    #[track_caller]
    fn on_board(&self) -> Browser {
        let browser = self.open();
        browser.go(&self.board());
        browser.until(LIVE);
        browser
    }

    /// The column of a feature, as the server says.
    #[track_caller]
    fn status(&self, feature: &str) -> String {
        let path = format!("/api/projects/{}/features/{feature}", self.project);
        self.server.get(&path).json()["status"].as_str().unwrap().to_owned()
    }
}

/// An agent that never learns, so that a person has to decide.
fn insists() -> String {
    format!("echo '{BAD}' > b.js; echo done")
}

fn card(id: &str) -> String {
    format!("#card-{id}")
}

fn column(status: &str) -> String {
    format!(".column[data-status={status}] .column-head")
}

/// True when the card is in a column.
fn is_in(id: &str, status: &str) -> String {
    format!("document.getElementById('card-{id}')?.closest('[data-status]')?.dataset.status === '{status}'")
}

/// The titles of the cards that are shown, in order.
const TITLES: &str = "[...document.querySelectorAll('.card-title a')].map((link) => link.textContent).join('|')";

#[test]
fn a_feature_is_added_with_all_that_belongs_to_it_and_nothing_typed_is_lost() {
    let site = Site::new(&works());
    site.add("Store users");
    let browser = site.on_board();
    browser.press("n");
    browser.finds(role("dialog", "Add a feature"));
    browser.axe();
    browser.click(button("Add"));
    browser.sees("Say what is wanted.");
    assert_eq!(browser.string("document.activeElement.id"), "add-description", "the focus is where something is wrong");
    browser.fill(textbox("Title"), "Sign in");
    browser.fill(textbox("Description"), "People sign in.\n- passwords have 8 characters\n- errors must be kind");
    browser.until("document.querySelectorAll('#criteria li').length === 2");
    browser.sees("errors must be kind");
    browser.choose(css("#add-priority"), "High");
    browser.fill(css("#add-category"), "Accounts");
    browser.fill(css("#add-depends"), "store");
    browser.until("document.querySelector('#add-features option')?.value === 'Store users'");
    browser.press("Enter");
    browser.finds(button("Does not depend on Store users"));
    // A reload in the middle costs nothing.
    browser.reload();
    browser.until(LIVE);
    browser.press("n");
    browser.until("document.querySelector('#add-title-field').value === 'Sign in'");
    browser.finds(button("Does not depend on Store users"));
    browser.until("document.querySelectorAll('#criteria li').length === 2");
    browser.click(button("Add"));
    browser.until("document.activeElement.textContent === 'Sign in'");
    browser.sees("blocked by Store users");
    browser.sees("Accounts");
    assert_eq!(browser.string(TITLES), "Sign in|Store users", "the most urgent is on top");
    assert!(browser.is("sessionStorage.getItem(`tollgate:draft:${document.body.dataset.project}`) === null"));
    let path = format!("/api/projects/{}/features?q=sign", site.project);
    let added = &site.server.get(&path).json()["features"][0];
    assert_eq!((&added["priority"], &added["category"]), (&json!(1), &json!("Accounts")));
}

#[test]
fn a_card_goes_where_it_is_dragged_if_it_may() {
    let site = Site::new(&works());
    let id = site.add("Read JSON");
    let browser = site.on_board();
    browser.drag(css(&card(&id)), css(&column("in_progress")));
    browser.sees("Started: Read JSON");
    site.server.settled(site.project, &id);
    browser.until(&is_in(&id, "waiting_approval"));
    // What passed goes back to the agent with a note only.
    browser.drag(css(&card(&id)), css(&column("in_progress")));
    browser.finds(role("dialog", "Send back"));
    browser.press("Escape");
    assert_eq!(site.status(&id), "waiting_approval");
    browser.drag(css(&card(&id)), css(&column("backlog")));
    // It appears immediately, and the confirmation follows the server's response.
    browser.sees("Moved: Read JSON");
    assert!(browser.is(&is_in(&id, "backlog")));
    assert_eq!(site.status(&id), "backlog");
    browser.until("document.querySelector('[data-n=waiting_approval]').textContent === '0'");
}

#[test]
fn a_card_that_is_dragged_where_it_may_not_go_goes_back_and_one_is_told_why() {
    let site = Site::new(&works());
    let id = site.add("Read JSON");
    let browser = site.on_board();
    browser.drag(css(&card(&id)), css(&column("code_review")));
    browser.reduced_motion();
    browser.sees("“Read JSON” cannot go to Code review: a feature enters code review by itself");
    assert!(browser.is(&is_in(&id, "backlog")));
    // A page that is out of date believes that it may: the server knows better.
    browser.forgive("409 (Conflict)");
    browser.value(&format!("document.getElementById('card-{id}').dataset.ways = 'verified:move'"));
    browser.drag(css(&card(&id)), css(&column("verified")));
    browser.sees("cannot move it there: only the gate sets this status");
    browser.until(&is_in(&id, "backlog"));
    assert_eq!(site.status(&id), "backlog");
}

#[test]
fn the_keyboard_alone_is_enough() {
    let site = Site::new(&works());
    let (first, second) = (site.add("First"), site.add("Second"));
    let passed = site.finish("Passed");
    let browser = site.on_board();
    let focused = "document.activeElement.textContent";
    for (key, expected) in
        [("j", "First"), ("j", "Second"), ("j", "Second"), ("k", "First"), ("l", "Passed"), ("h", "First")]
    {
        browser.press(key);
        assert_eq!(browser.string(focused), expected, "after {key}");
    }
    browser.press("Down");
    assert_eq!(browser.string(focused), "Second");
    // Available actions, and reasons for the unavailable ones.
    browser.press(".");
    browser.finds(role("dialog", "Second"));
    browser.sees("a feature enters code review by itself");
    browser.axe();
    assert_eq!(browser.string(focused), "Start");
    browser.press("Escape");
    browser.until("document.querySelector('dialog[open]') === null");
    assert_eq!(browser.string(focused), "Second", "the focus is back on the card");
    browser.press(".");
    browser.finds(role("dialog", "Second"));
    browser.press("Enter");
    browser.sees("Started: Second");
    site.server.settled(site.project, &second);
    browser.until(&is_in(&second, "waiting_approval"));
    // A card removed by another user passes the focus to its neighbour.
    browser.press("j");
    assert_eq!(browser.string(focused), "Passed");
    site.act(&passed, "move", &json!({ "status": "completed" }));
    browser.until(&format!("document.getElementById('card-{passed}') === null"));
    assert_eq!(browser.string(focused), "Second");
    browser.press("/");
    assert_eq!(browser.string("document.activeElement.id"), "q");
    browser.keys("fir");
    browser.until(&format!("{TITLES} === 'First'"));
    browser.press("Escape");
    browser.press("j");
    browser.press("Enter");
    browser.until(&format!("location.pathname.endsWith('/features/{first}')"));
}

#[test]
fn filters_are_kept_in_the_url() {
    let site = Site::new(&works());
    site.create(&json!({ "title": "Log in", "description": "x", "priority": 1, "category": "Core" }));
    site.create(&json!({ "title": "Log out", "description": "x", "category": "Core" }));
    site.create(&json!({ "title": "Pay", "description": "x" }));
    let browser = site.on_board();
    browser.fill(css("#q"), "log");
    browser.until(&format!("{TITLES} === 'Log in|Log out'"));
    browser.sees("2 of 3 features match");
    browser.choose(css("#priority"), "High");
    browser.until(&format!("{TITLES} === 'Log in'"));
    assert_eq!(browser.place(), format!("{}?q=log&priority=1", site.board()));
    browser.reload();
    assert_eq!(browser.string(TITLES), "Log in");
    assert_eq!(browser.string("document.querySelector('#priority').value"), "1");
    browser.until(LIVE);
    // New cards appear only if they match the filter.
    site.create(&json!({ "title": "Unlog", "description": "x" }));
    site.create(&json!({ "title": "Log more", "description": "x", "priority": 1 }));
    browser.until(&format!("{TITLES} === 'Log in|Log more'"));
    browser.fill(css("#q"), "nothing like it");
    browser.sees("No matching features");
    browser.click(css(".empty a"));
    browser.until(&format!("{TITLES}.split('|').length === 5"));
    assert_eq!(browser.place(), site.board());
    browser.back();
    browser.sees("No matching features");
    browser.choose(css("#status"), "Verified");
    browser.until("document.querySelectorAll('.column').length === 1");
}

#[test]
fn a_long_column_is_shown_in_parts_and_stays_in_order() {
    let site = Site::new(&works());
    for number in 0..60 {
        let title = format!("Feature {number:02}");
        site.create(&json!({ "title": title, "description": "x", "priority": if number == 59 { 1 } else { 2 } }));
    }
    let browser = site.on_board();
    assert_eq!(browser.count("[data-feature]"), 50);
    browser.click(link("Show 10 more of 60"));
    browser.until("document.querySelectorAll('[data-feature]').length === 60");
    assert!(browser.string(TITLES).starts_with("Feature 59|Feature 00|Feature 01"));
    assert!(!browser.has(link("more of 60")));
    assert_eq!(
        browser.string("document.activeElement.textContent"),
        "Feature 49",
        "the focus is on the first new card"
    );
}

#[test]
fn pending_decisions_are_announced_and_made_on_the_card() {
    let site = Site::new(&insists());
    let id = site.finish("Read JSON");
    let browser = site.on_board();
    let text = browser.text(&card(&id));
    for part in ["needs you: no progress", "rejected", "2 errors", "Resume"] {
        assert!(text.contains(part), "`{part}` is not on the card:\n{text}");
    }
    browser.click(css("label.check"));
    browser.until(&format!("{TITLES} === 'Read JSON'"));
    browser.click(css(&format!("{} [data-menu]", card(&id))));
    browser.click(button("Approve anyway"));
    browser.finds(role("dialog", "Approve anyway"));
    browser.click(button("Approve"));
    browser.sees("Reason is needed.");
    browser.fill(textbox("Reason"), "It is a toy.");
    browser.click(button("Approve"));
    browser.until(&is_in(&id, "waiting_approval"));
    browser.sees("approved by hand");
    browser.click(button("Complete Read JSON"));
    browser.sees("Moved: Read JSON");
    assert_eq!(site.status(&id), "completed");
}

#[test]
fn work_is_stopped_and_tried_again_from_the_card() {
    let site = Site::new("sleep 600 & wait");
    let id = site.add("Read JSON");
    let browser = site.on_board();
    browser.click(button("Start Read JSON"));
    browser.sees("agent at work");
    browser.until("/\\d s/.test(document.querySelector('.card-line time').textContent)");
    // To the backlog means to stop, which is asked for first.
    browser.drag(css(&card(&id)), css(&column("backlog")));
    browser.finds(role("dialog", "Stop the work"));
    browser.press("Escape");
    assert_eq!(site.status(&id), "in_progress");
    browser.click(button("Stop Read JSON"));
    browser.until(&is_in(&id, "backlog"));
    let path = format!("/api/projects/{}/features/{id}", site.project);
    assert_eq!(site.server.exchange(&site.server.bytes("DELETE", &path, &[], "")).unwrap().status, 204);
    browser.until(&format!("document.getElementById('card-{id}') === null"));
    browser.sees("No features yet");
}

#[test]
fn a_card_whose_file_cannot_be_read_says_so_until_it_can() {
    let site = Site::new(&works());
    let id = site.add("Read JSON");
    let browser = site.on_board();
    let file = site.desk.path("project/.automaker/features").join(&id).join("feature.json");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "{").unwrap();
    browser.sees("its file cannot be read");
    assert!(!browser.has(button("Start Read JSON")));
    std::fs::write(&file, good).unwrap();
    browser.sees_no_more("its file cannot be read");
}
