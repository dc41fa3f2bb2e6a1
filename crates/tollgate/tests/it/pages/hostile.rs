//! Text that somebody wrote to break a page is text on every page. Chromium's own opinion is asked, too: a dialog, a word of
//! its content security policy or a request elsewhere fails these tests like any other.

use crate::pages::browser::Browser;
use crate::pages::scene::{Scene, hostile};

/// What does not belong into a page of ours, one line each.
const INTRUDERS: &str = r#"(() => {
    const found = [];
    const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;
    const say = (element, why) => found.push(`${why}: ${element.cloneNode(false).outerHTML.slice(0, 300)}`);
    for (const element of document.querySelectorAll('*')) {
        const tag = element.localName;
        if (['style', 'iframe', 'object', 'embed', 'base', 'frame', 'portal'].includes(tag)) say(element, 'a foreign element');
        if (tag === 'script' && !element.getAttribute('src')?.startsWith('/assets/')) say(element, 'a foreign script');
        if (tag === 'img' && !element.getAttribute('src')?.startsWith('/assets/')) say(element, 'a foreign picture');
        for (const { name, value } of element.attributes) {
            if (name.startsWith('on')) say(element, `a handler ${name}`);
            if (name === 'style') say(element, 'a style');
            if (!/^[a-z][a-z0-9:-]*$/i.test(name)) say(element, `an odd attribute ${name}`);
            const leads = ['href', 'src', 'action', 'formaction', 'xlink:href', 'data'].includes(name);
            if (leads && !/^([#?]|\/(?![\/\\]))/.test(value) && !value.startsWith(location.origin + '/')) say(element, `leads to ${value}`);
            if (hidden.test(value) && !['value', 'placeholder'].includes(name)) say(element, `hidden characters in ${name}`);
        }
        for (const node of element.childNodes) {
            if (node.nodeType === Node.TEXT_NODE && hidden.test(node.data) && tag !== 'textarea') say(element, 'hidden characters');
            if (node.nodeType === Node.COMMENT_NODE) say(element, 'a comment');
        }
    }
    return found.join('\n');
})()"#;

/// Checks the page that is shown: nothing came in, and what was written is there to be read.
#[track_caller]
fn check(browser: &Browser, shown: &[&str]) {
    let intruders = browser.string(INTRUDERS);
    assert_eq!(intruders, "", "{}", browser.place());
    let text = browser.string("document.body.textContent");
    for part in shown {
        assert!(text.contains(part), "`{part}` is not on {}", browser.place());
    }
    browser.forget();
}

const MARKUP: &str = "<img src=x onerror=alert(1)><script>alert(2)</script>";

#[test]
fn on_the_board_and_on_its_cards() {
    let scene = Scene::get();
    let browser = scene.open();
    browser.go(&format!("/projects/{}", scene.hostile));
    check(&browser, &[MARKUP, "\"><img src=x onerror=alert(4)>", "\\u{202e}desrever"]);
    browser.forgive("422 (Unprocessable Entity)");
    browser.go(&format!("/projects/{}?q=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&status=%3Cb%3E", scene.hostile));
    check(&browser, &[]);
    browser.go("/");
    check(&browser, &["\"><img src=x onerror=alert(4)>"]);
}

#[test]
fn on_the_page_of_a_feature() {
    let scene = Scene::get();
    let browser = scene.open();
    for id in [hostile::WORKED_ON, "hostile-idle", "hostile-status"] {
        browser.go(&format!("/projects/{}/features/{id}", scene.hostile));
        check(&browser, &[MARKUP]);
    }
    for query in
        ["?iteration=1", "?iteration=1&view=split", "?compare=1,2", "?iteration=%3Cb%3E", "?view=%22%3E%3Cb%3E"]
    {
        browser.go(&format!("/projects/{}/features/{}{query}", scene.hostile, hostile::WORKED_ON));
        check(&browser, &[]);
    }
}
