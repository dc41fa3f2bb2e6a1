//! Hostile text is escaped on every page. Chromium's log is checked, too: a dialog, a violation of
//! its content security policy or a request elsewhere fails these tests like any other.

use serde_json::json;

use crate::desk::works;
use crate::pages::browser::Browser;
use crate::pages::fixtures::{Hostile, Scene, hostile};
use crate::pages::site::{LIVE, Site};

/// Foreign elements of the page, one line each.
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

/// Checks that the page has no foreign element and shows the hostile text as text.
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

/// How the project is called, as it is shown.
const PROJECT: &str = "\"><img src=x onerror=alert(4)>\\u{202e}tcejorp\\u{202c}";
const MARKUP: &str = "<img src=x onerror=alert(1)><script>alert(2)</script>";

#[test]
fn on_the_board_and_on_its_cards() {
    let scene = Hostile::get();
    let browser = scene.open();
    let board = format!("/projects/{}", scene.project);
    browser.go(&board);
    check(&browser, &[MARKUP, PROJECT, "\\u{202e}desrever"]);
    browser.forgive("422 (Unprocessable Entity)");
    browser.go(&format!("{board}?q=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&status=%3Cb%3E"));
    check(&browser, &[]);
    browser.go(&format!("{board}?q=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"));
    check(&browser, &[]);
    browser.go("/");
    check(&browser, &[]);
}

#[test]
fn intruders_are_found() {
    let browser = Scene::get().open();
    browser.value(
        "(() => {
            const link = document.createElement('a');
            link.setAttribute('href', 'javascript:alert(1)');
            const picture = document.createElement('img');
            picture.setAttribute('data-on', 'a\\u202eb');
            document.querySelector('main').append(link, picture, 'a\\u202eb', document.createComment(''));
        })()",
    );
    let found = browser.string(INTRUDERS);
    for part in ["leads to javascript:alert(1)", "a foreign picture", "hidden characters in data-on", "a comment"] {
        assert!(found.contains(part), "`{part}` is not in {found}");
    }
    assert_eq!(found.lines().count(), 5, "{found}");
}

#[test]
fn on_the_page_of_a_feature() {
    let scene = Hostile::get();
    let browser = scene.open();
    for id in [hostile::WORKED_ON, hostile::APPROVED, "hostile-idle", "hostile-status"] {
        browser.go(&scene.page_of(id));
        check(&browser, &[MARKUP]);
    }
    browser.forgive("422 (Unprocessable Entity)");
    browser.forgive("404 (Not Found)");
    for query in
        ["?iteration=1", "?iteration=1&view=split", "?compare=1,2", "?iteration=%3Cb%3E", "?view=%22%3E%3Cb%3E"]
    {
        browser.go(&format!("{}{query}", scene.page_of(hostile::WORKED_ON)));
        browser.value("for (const part of document.querySelectorAll('details')) part.open = true");
        browser.until("document.querySelector('.loading') === null");
        check(&browser, &[]);
    }
    // File name, content, agent output and review.
    browser.go(&format!("{}?iteration=1", scene.page_of(hostile::WORKED_ON)));
    browser.value("for (const part of document.querySelectorAll('details')) part.open = true");
    browser.sees("<script>alert(5)</script><img src=x onerror=alert(6)>");
    let shown = ["\"><img src=x onerror=alert(3)>.js", "export const a = \"</script><script>alert(1)</script>\";"];
    check(&browser, &shown);
}

#[test]
fn in_stored_reviews_trends_and_settings() {
    let scene = Hostile::get();
    let browser = scene.open();
    let runs = scene.server.get("/api/reviews?limit=1").json();
    let run = format!("/reviews/{}", runs["reviews"][0]["run"]);
    let hostile = "%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E";
    let prompts = format!("/settings/prompts?project={}", scene.project);
    let search = format!("/reviews?q={hostile}&rule={hostile}&file={hostile}");
    let pages =
        ["/reviews", &run, &search, "/trends", "/settings/prompts", &prompts, "/settings/agents", "/settings/gate"];
    for path in pages.into_iter().chain(["/settings/identity", "/settings/projects", "/settings/access"]) {
        browser.go(path);
        browser.value("for (const part of document.querySelectorAll('details')) part.open = true");
        check(&browser, &[]);
    }
    browser.go(&run);
    check(&browser, &[MARKUP]);
    browser.forgive("404 (Not Found)");
    browser.forgive("400 (Bad Request)");
    for path in [format!("/{hostile}"), format!("/projects/{hostile}"), format!("/reviews/{hostile}")] {
        browser.go(&path);
        check(&browser, &[]);
    }
}

#[test]
fn in_what_happens_while_somebody_looks() {
    let site = Site::new(&works());
    let browser = site.open();
    browser.go(&site.board());
    browser.until(LIVE);
    let text = hostile::text();
    let id = site.create(&json!({ "title": text, "description": text, "category": text }));
    browser.sees(MARKUP);
    check(&browser, &[MARKUP]);
    let second = site.open();
    second.go(&site.page_of(&id));
    second.until(LIVE);
    site.act(&id, "start", &json!({}));
    site.server.settled(site.project, &id);
    second.sees("Approved");
    site.act(&id, "reject", &json!({ "note": text }));
    site.server.settled(site.project, &id);
    second.until(&format!("document.getElementById('part-head') !== null || {LIVE}"));
    check(&second, &[MARKUP]);
    check(&browser, &[MARKUP]);
}
