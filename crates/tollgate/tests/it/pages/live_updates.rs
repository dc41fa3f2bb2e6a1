//! Live updates reach all open pages, and a reconnected page catches up on missed events.

use serde_json::json;

use crate::desk::works;
use crate::pages::locator::button;
use crate::pages::site::{LIVE, Site};

#[test]
fn two_people_see_what_the_other_does() {
    let site = Site::new(&works());
    let (ada, ben) = (site.open(), site.open());
    for browser in [&ada, &ben] {
        browser.go(&site.board());
        browser.until(LIVE);
    }
    let id = site.add("Read JSON");
    ada.sees("Read JSON");
    ben.sees("Read JSON");
    // Ada starts it on its page; Ben's board moves the card live.
    ada.go(&site.page_of(&id));
    ada.until(LIVE);
    ada.click(button("Start"));
    site.server.settled(site.project, &id);
    let column = format!("document.getElementById('card-{id}')?.closest('[data-status]')?.dataset.status");
    ben.until(&format!("{column} === 'waiting_approval'"));
    // And Ben's decision reaches Ada's page.
    site.act(&id, "move", &json!({ "status": "completed" }));
    ada.sees("Completed");
}

#[test]
fn a_lost_server_is_said_and_what_was_missed_is_caught_up_with() {
    let mut site = Site::new(&works());
    let id = site.add("Before");
    let browser = site.open();
    browser.go(&site.board());
    browser.until(LIVE);
    for expected in ["ERR_CONNECTION_REFUSED", "WebSocket connection", "ERR_CONNECTION_RESET"] {
        browser.forgive(expected);
    }
    site.stop();
    browser.sees("The connection to the server is lost.");
    assert!(browser.is("getComputedStyle(document.querySelector('[data-act]')).cursor === 'not-allowed'"));
    browser.axe();
    // A card is edited while the page is disconnected.
    let file = site.desk.path("project/.automaker/features").join(&id).join("feature.json");
    let card = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, card.replace("\"title\": \"Before\"", "\"title\": \"After\"")).unwrap();
    site.restart();
    browser.until(LIVE);
    browser.sees("After");
    browser.until("document.querySelector('#lost').hidden");
}
