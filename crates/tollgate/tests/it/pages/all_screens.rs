//! Checks of every screen: it is accessible in both themes, fits a phone, respects reduced motion, and is usable
//! with the keyboard alone.

use serde_json::Value;

use crate::desk::{Desk, works};
use crate::pages::browser::Browser;
use crate::pages::display::Theme;
use crate::pages::fixtures::Scene;
use crate::pages::screens::{NOBODY, screens};
use crate::robustness::server::Server;

/// Checks a condition on every screen, and reports all failures.
#[track_caller]
fn check(prepare: impl Fn(&Browser), is_so: impl Fn(&Browser) -> Vec<String>) {
    let scene = Scene::get();
    let browser = scene.open();
    browser.forgive(NOBODY);
    prepare(&browser);
    let mut problems = Vec::new();
    for screen in screens(scene) {
        browser.go(&screen.path);
        problems.extend(is_so(&browser).into_iter().map(|problem| format!("{}: {problem}", screen.name)));
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// With all that is folded open, which is more than is seen at first.
fn accessible(theme: Theme) {
    check(
        |browser| browser.theme(theme),
        |browser| {
            browser.value("for (const part of document.querySelectorAll('main details')) part.open = true");
            browser.violations()
        },
    );
}

#[test]
fn accessible_in_light() {
    accessible(Theme::Light);
}

#[test]
fn accessible_in_dark() {
    accessible(Theme::Dark);
}

/// Checks a page that is there only in the beginning.
#[track_caller]
fn first(browser: &Browser, name: &str) {
    for theme in Theme::BOTH {
        browser.theme(theme);
        browser.axe();
        browser.screenshot_to_keep(&format!("{name}-{}", theme.name()));
    }
    browser.width(375);
    assert_eq!(browser.sideways(), 0.0);
}

#[test]
fn the_form_to_sign_in_is_as_good() {
    let browser = Browser::new(Scene::get().server.address);
    browser.forgive("401 (Unauthorized)");
    browser.go("/");
    first(&browser, "sign-in");
}

#[test]
fn the_first_page_of_all_is_as_good() {
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let browser = Browser::signed_in(server.address, &server.token);
    first(&browser, "welcome");
}

#[test]
fn fits_a_phone() {
    let beyond = "[...document.querySelectorAll('main *, header *')].filter((element) => {
        const box = element.getBoundingClientRect();
        if (box.width === 0 || box.right <= innerWidth + 1 || !element.checkVisibility()) return false;
        for (let parent = element.parentElement; parent; parent = parent.parentElement) {
            if (getComputedStyle(parent).overflowX !== 'visible') return false;
        }
        return true;
    }).slice(0, 3).map((element) => element.cloneNode(false).outerHTML.slice(0, 150))";
    check(
        |browser| browser.width(375),
        |browser| {
            let mut problems = Vec::new();
            for menus in ["", " with open menus"] {
                let sideways = browser.sideways();
                if sideways > 0.0 {
                    problems.push(format!("{sideways} pixels too wide{menus}"));
                }
                problems.extend(strings(&browser.value(beyond)));
                browser.value("for (const menu of document.querySelectorAll('details.menu')) menu.open = true");
            }
            problems
        },
    );
}

#[test]
fn moves_nothing_for_those_who_asked() {
    let moving = "document.getAnimations().map((animation) => animation.effect.getComputedTiming())
        .filter((timing) => timing.endTime > 100).map((timing) => `moves for ${timing.endTime} ms`)";
    check(Browser::reduced_motion, |browser| strings(&browser.value(moving)));
}

/// The interactive elements, and whether Tab reaches them: collected by pressing Tab from top to end.
const REACHED: &str = "(() => {
    const here = document.activeElement;
    if (!here || here === document.body) return null;
    globalThis.__reached ??= new Set();
    globalThis.__order ??= [];
    // A field for a date has several stops of its own.
    if (here === globalThis.__order.at(-1)) return '';
    if (globalThis.__reached.has(here)) return null;
    globalThis.__reached.add(here);
    globalThis.__order.push(here);
    const style = getComputedStyle(here);
    const isSeen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
    const box = here.getBoundingClientRect();
    const isIn = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const name = here.cloneNode(false).outerHTML.slice(0, 150);
    if (!isSeen) return `the focus cannot be seen on ${name}`;
    if (!isIn) return `the focus is out of sight on ${name}`;
    return '';
})()";

const MISSED: &str = "(() => {
    const all = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [contenteditable]';
    const missed = [...document.querySelectorAll(all)].filter((element) => {
        if (globalThis.__reached?.has(element) || element.matches(':disabled, [tabindex=\"-1\"]')) return false;
        if (!element.checkVisibility({ visibilityProperty: true })) return false;
        // One of a group of radio buttons, or of tabs, stands for all: arrows lead to the others.
        return !element.matches('[type=radio], [role=tab], [role=option], [role=menuitem]');
    });
    const found = missed.slice(0, 5).map((element) => `cannot be reached: ${element.cloneNode(false).outerHTML.slice(0, 150)}`);
    const order = globalThis.__order ?? [];
    for (let index = 1; index < order.length; index += 1) {
        const follows = order[index - 1].compareDocumentPosition(order[index]) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (!follows) found.push(`comes too late: ${order[index].cloneNode(false).outerHTML.slice(0, 150)}`);
    }
    return found;
})()";

#[test]
fn everything_is_reached_by_the_keyboard_and_the_focus_is_seen() {
    check(
        |_| {},
        |browser| {
            browser.value("(document.activeElement?.blur(), scrollTo(0, 0))");
            let mut problems = Vec::new();
            for _ in 0..400 {
                browser.press("Tab");
                match browser.value(REACHED) {
                    Value::String(problem) if problem.is_empty() => {}
                    Value::String(problem) => problems.push(problem),
                    _ => break,
                }
            }
            problems.extend(strings(&browser.value(MISSED)));
            problems
        },
    );
}

#[test]
fn the_keys_are_shown_by_a_question_mark_and_go_away_with_escape() {
    check(
        |_| {},
        |browser| {
            // A page that only says that there is nothing has no keys.
            if browser.count("#help-button") == 0 {
                return Vec::new();
            }
            browser.value("document.activeElement?.blur()");
            browser.press("?");
            browser.until("document.querySelector('dialog[open]')?.innerText.includes('Keyboard shortcuts')");
            browser.press("Escape");
            browser.until("document.querySelector('dialog[open]') === null");
            Vec::new()
        },
    );
}

#[test]
fn dialogs_are_accessible_and_return_the_focus() {
    let scene = Scene::get();
    let browser = scene.open();
    for theme in Theme::BOTH {
        browser.theme(theme);
        browser.go(&format!("/projects/{}", scene.shop));
        for key in ["?", "n", "Control+k"] {
            browser.value("document.querySelector('#columns a').focus()");
            browser.press(key);
            browser.until("document.querySelector('dialog[open]')?.contains(document.activeElement)");
            browser.axe();
            browser.press("Escape");
            browser.until("document.querySelector('dialog[open]') === null");
            browser.until("document.activeElement === document.querySelector('#columns a')");
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}
