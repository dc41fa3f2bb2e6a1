//! Signing in, as people do: by the address that the server prints, by the form, or not at all.

use serde_json::json;

use crate::desk::works;
use crate::pages::locator::{button, link, textbox};
use crate::pages::site::{LIVE, Site};

#[test]
fn the_printed_address_signs_in_and_leaves_no_token_behind() {
    let site = Site::new(&works());
    let browser = site.open_as_stranger();
    browser.sign_in(&site.board(), &site.server.token);
    assert_eq!(browser.place(), site.board());
    assert!(!browser.string("document.cookie").contains("session"), "scripts can read the session");
    browser.reload();
    assert!(browser.is("'signedIn' in document.body.dataset"));
    let asked = browser.requests();
    let told = asked.iter().filter(|request| request.url.contains(&site.server.token) && !request.url.contains('#'));
    assert_eq!(told.count(), 0, "the token is in the address of a request");
}

#[test]
fn the_form_signs_in_and_leads_on_with_a_script_and_without() {
    let site = Site::new(&works());
    for has_script in [true, false] {
        let browser = site.open_as_stranger();
        browser.forgive("401 (Unauthorized)");
        if !has_script {
            browser.javascript_off();
        }
        browser.go(&format!("{}?q=x", site.board()));
        browser.fill(textbox("Token"), "wrong");
        browser.click(button("Sign in"));
        browser.sees("This is not the server's token");
        browser.fill(textbox("Token"), &site.server.token);
        browser.click(button("Sign in"));
        browser.until("'signedIn' in document.body.dataset");
        assert_eq!(browser.place(), format!("{}?q=x", site.board()));
    }
}

#[test]
fn a_session_that_is_over_is_said_and_one_signs_in_again() {
    let mut site = Site::new(&works());
    let browser = site.open();
    browser.go(&site.board());
    browser.until(LIVE);
    for expected in ["401 (Unauthorized)", "WebSocket connection", "ERR_CONNECTION_REFUSED"] {
        browser.forgive(expected);
    }
    browser.must("Network.clearBrowserCookies", json!({}));
    // The connection ends and is reopened, and the session is gone.
    site.restart();
    browser.sees("You are signed out.");
    browser.click(link("Sign in again"));
    browser.fill(textbox("Token"), &site.server.token);
    browser.press("Enter");
    browser.until(LIVE);
    assert_eq!(browser.place(), site.board());
}
