//! The command palette and configurable keyboard shortcuts.

use crate::desk::works;
use crate::pages::display::Theme;
use crate::pages::locator::{button, css};
use crate::pages::site::{LIVE, Site};

const FIRST: &str = "document.querySelector('#palette-list [aria-selected=true]')?.textContent ?? ''";

#[test]
fn commands_sections_and_features_are_found_by_name() {
    let site = Site::new(&works());
    site.add("Write CSV");
    let id = site.add("Read JSON");
    let browser = site.open();
    browser.go(&site.board());
    browser.until(LIVE);
    browser.press("Control+k");
    browser.keys("read j");
    browser.until(&format!("({FIRST}).includes('Read JSON')"));
    browser.until("!document.getElementById('palette-list').textContent.includes('Write CSV')");
    browser.axe();
    browser.press("Enter");
    browser.until(&format!("location.pathname === '{}'", site.page_of(&id)));
    browser.until(LIVE);
    browser.press(":");
    browser.keys("trend");
    browser.until(&format!("({FIRST}).includes('Trends')"));
    browser.press("Enter");
    browser.until("location.pathname === '/trends'");
    browser.press("Control+k");
    browser.keys("no such thing at all");
    browser.sees("Nothing has this in its name.");
    browser.press("Escape");
    browser.until("!document.querySelector('dialog')");
    // `g` and a letter lead to a section.
    browser.press("g");
    browser.press("r");
    browser.until("location.pathname === '/reviews'");
}

#[test]
fn a_key_is_changed_remembered_and_given_back() {
    let site = Site::new(&works());
    let browser = site.open();
    let open = "document.querySelector('dialog[open]') !== null";
    browser.go(&site.board());
    browser.until(LIVE);
    browser.press("?");
    browser.click(button("n: Add a feature. Press to choose another key."));
    browser.press("j");
    browser.sees("“j” is taken");
    browser.press("Enter");
    browser.press("y");
    browser.sees("“y”: Add a feature.");
    browser.axe();
    browser.press("Escape");
    browser.reload();
    browser.until(LIVE);
    browser.press("n");
    assert!(!browser.is(open), "the old key is free");
    browser.press("y");
    browser.until(open);
    browser.press("Escape");
    browser.until(&format!("!({open})"));
    // Shortcuts are off while typing.
    browser.press("/");
    browser.until("document.activeElement.matches('input[type=search]')");
    browser.keys("yn?");
    assert_eq!(browser.string("document.activeElement.value"), "yn?");
    assert!(!browser.is(open));
    browser.press("Escape");
    browser.press("?");
    browser.click(button("Use the usual keys again"));
    browser.press("Escape");
    browser.press("n");
    browser.until(open);
}

#[test]
fn light_or_dark_is_as_the_system_has_it_until_somebody_chooses() {
    let site = Site::new(&works());
    let browser = site.open();
    let is_dark = "getComputedStyle(document.body).backgroundColor === 'rgb(16, 20, 27)'";
    browser.go(&site.board());
    for (theme, dark) in [(Theme::Light, false), (Theme::Dark, true)] {
        browser.theme(theme);
        assert_eq!(browser.is(is_dark), dark, "{}", theme.name());
    }
    browser.click(css("#theme-button"));
    browser.until(&format!("!({is_dark})"));
    browser.until("document.getElementById('theme-button').title === 'Theme: light'");
    browser.reload();
    assert!(!browser.is(is_dark), "light was chosen, whatever the system has");
    browser.click(css("#theme-button"));
    browser.theme(Theme::Light);
    browser.until(is_dark);
}
