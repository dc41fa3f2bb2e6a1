//! The diff: colours, gaps, long and many files, places, with and without JavaScript.
//!
//! `cargo test -p tollgate --test it pages::diff::cost -- --nocapture` prints what large diffs cost the browser.

use std::fmt::Write as _;

use serde_json::json;

use crate::desk::Desk;
use crate::pages::browser::Browser;
use crate::pages::display::Theme;
use crate::pages::locator::{css, link};
use crate::pages::site::Site;
use crate::wait::wait_until;

mod cost;

/// Changes files of every kind; the rules object to one line.
const SCRIPT: &str = r##"
sed -i 's/let value_60 = 60;/let value_60 = compute(60, "sixty"); \/\/ why/; s/let value_120 = 120;/let value_121 = 120;/' src/values.rs
printf 'export const f = (text) => eval(text);\n// \342\200\256 gnihtyna \342\200\254\n' > src/bad.js
awk 'BEGIN { for (l = 1; l <= 1300; l++) printf "pub const LINE_%d: u32 = %d;\n", l, l }' > src/long.rs
printf '{ "name": "shop", "lockfileVersion": 3 }\n' > package-lock.json
awk 'BEGIN { for (l = 1; l <= 4000; l++) printf "word%d ", l; print "" }' > wide.txt
git mv src/old_name.rs src/new_name.rs
rm src/gone.rs
chmod +x run.sh
printf 'one\r\ntwo!\r\n' > crlf.txt
printf '\000\001\003' > logo.bin
printf 'سلة التسوق\nשלום עולם' > texts.txt
printf 'a\n' > "$(printf 'a-name-that-goes-on-%.0s' 1 2 3 4 5 6 7 8 9 10)"
echo done
"##;

/// A feature whose change has everything, and the page of its diff.
fn site() -> (Site, String) {
    let desk = Desk::new(SCRIPT);
    let project = desk.path("project");
    std::fs::create_dir_all(project.join("src")).unwrap();
    let values = (1..=200).fold(String::from("fn values() {\n"), |mut text, n| {
        let _ = writeln!(text, "    let value_{n} = {n};");
        text
    });
    for (name, text) in [
        ("src/values.rs", format!("{values}}}\n")),
        ("src/old_name.rs", "pub fn stays() {}\n".repeat(5)),
        ("src/gone.rs", "pub fn gone() {}\n".to_owned()),
        ("run.sh", "#!/bin/sh\n".to_owned()),
        ("crlf.txt", "one\r\ntwo\r\n".to_owned()),
        ("logo.bin", "\0\u{1}\u{2}".to_owned()),
    ] {
        std::fs::write(project.join(name), text).unwrap();
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "-m", "more"]);
    let site = Site::of(desk);
    let feature = site.create(&json!({ "title": "Everything", "description": "Everything" }));
    site.act(&feature, "start", &json!({}));
    site.server.settled(site.project, &feature);
    let page = format!("/projects/{}/features/{feature}/iterations/1/files", site.project);
    (site, page)
}

#[track_caller]
fn open(site: &Site, page: &str) -> Browser {
    let browser = Browser::new(site.server.address);
    browser.sign_in(page, &site.server.token);
    browser
}

/// The index of a file on the page.
#[track_caller]
fn file(browser: &Browser, name: &str) -> String {
    let found = format!(
        "[...document.querySelectorAll('.diff-file')].find((file) => file.querySelector('.file-name').innerText === {})?.id",
        json!(name)
    );
    browser.until(&format!("{found} !== undefined"));
    browser.string(&found)
}

/// No place is there twice.
#[track_caller]
fn places_are_unique(browser: &Browser) {
    let twice = browser.value(
        "(() => { const seen = new Set(), twice = [];
            for (const { id } of document.querySelectorAll('[id]')) { if (seen.has(id)) twice.push(id); seen.add(id); }
            return twice })()",
    );
    assert_eq!(twice, json!([]));
}

#[test]
fn a_change_of_every_kind_can_be_read() {
    let (site, page) = site();
    let browser = open(&site, &page);
    for text in [
        "src/bad.js",
        "Renamed without a change.",
        "the file became executable",
        "Binary file",
        "folded: 1,300 changed lines",
        "folded: 1 changed line, written by a program",
        "\\u{202e} gnihtyna",
        "no newline at end of file",
        "سلة التسوق",
        "… show all",
    ] {
        browser.sees(text);
    }
    let values = file(&browser, "src/values.rs");
    assert!(browser.count(&format!("#{values} .add .k")) > 0 && browser.count(&format!("#{values} .add .n")) > 0);
    assert_eq!(browser.text(&format!("#{values} .del del")), "value_120");
    let bad = file(&browser, "src/bad.js");
    assert_eq!(browser.count(&format!("#{bad} .finding-row")), 2);
    places_are_unique(&browser);
    for theme in Theme::BOTH {
        browser.theme(theme);
        for width in [1280, 375] {
            browser.width(width);
            assert_eq!(browser.sideways(), 0.0, "{theme:?} {width}");
            browser.axe();
            browser.screenshot(&format!("diff-{}-{width}", theme.name()));
        }
    }
}

#[test]
fn gaps_open_from_their_ends_until_nothing_is_left() {
    let (site, page) = site();
    let browser = open(&site, &page);
    let values = file(&browser, "src/values.rs");
    let n_rows = format!("document.querySelectorAll('#{values} .lines td.code').length");
    let before = browser.number(&n_rows);
    browser.click(css(&format!("#{values}-g1 a.step[title^='Show 20 lines below']")));
    browser.until(&format!("{n_rows} === {}", before + 20.0));
    browser.click(css(&format!("#{values}-g1 a.step[title^='Show 20 lines above']")));
    browser.until(&format!("{n_rows} === {}", before + 40.0));
    browser.click(css(&format!("#{values}-g1 a.step[title^='Show all']")));
    browser.until(&format!("!document.querySelector('#{values}-g1 .gap-row')"));
    places_are_unique(&browser);
    // The lines come from the file, in colours, and the numbers go on without a hole.
    let numbers = format!(
        "[...document.querySelectorAll('#{values} a[id^=\"{values}-R\"]')].map((line) => Number(line.innerText))"
    );
    assert!(browser.is(&format!("{numbers}.every((n, at, all) => at === 0 || n === all[at - 1] + 1)")));
    assert!(browser.count(&format!("#{values}-g1 .k")) > 20);
}

#[test]
fn both_sides_stand_beside_each_other_at_an_address_of_its_own() {
    let (site, page) = site();
    let browser = open(&site, &page);
    browser.click(link("Split"));
    browser.until("document.querySelector('.lines.split')");
    assert!(browser.place().contains("view=split"), "{}", browser.place());
    places_are_unique(&browser);
    let values = file(&browser, "src/values.rs");
    browser.click(css(&format!("#{values}-g1 a.step[title^='Show all']")));
    browser.until(&format!("!document.querySelector('#{values}-g1 .gap-row')"));
    assert_eq!(browser.text(&format!("#{values} tr:has(.del) td.add")), browser.text(&format!("#{values} td.add")));
    browser.axe();
    for theme in Theme::BOTH {
        browser.theme(theme);
        browser.screenshot(&format!("diff-split-{}", theme.name()));
    }
    browser.width(375);
    assert_eq!(browser.sideways(), 0.0);
}

#[test]
fn a_folded_file_opens_and_comes_in_parts() {
    let (site, page) = site();
    let browser = open(&site, &page);
    let long = file(&browser, "src/long.rs");
    assert_eq!(browser.count(&format!("#{long} td.code")), 0);
    browser.click(css(&format!("#{long} > summary")));
    browser.until(&format!("document.querySelectorAll('#{long} td.code.add').length >= 500"));
    // Files near the viewport load by themselves.
    browser.until(&format!(
        "(() => {{ const more = document.querySelector('#{long} .more'); more?.scrollIntoView(); return !more }})()"
    ));
    assert_eq!(browser.count(&format!("#{long} td.code.add")), 1300);
    places_are_unique(&browser);
}

#[test]
fn an_address_leads_to_a_line_that_is_not_on_the_page_yet() {
    let (site, page) = site();
    let browser = open(&site, &page);
    let long = file(&browser, "src/long.rs");
    browser.go(&format!("{page}?view=unified#{long}-R1200"));
    let target = format!("document.getElementById('{long}-R1200')");
    browser.until(&format!(
        "{target} && {target}.getBoundingClientRect().top > 0 && {target}.getBoundingClientRect().top < innerHeight"
    ));
    let here = format!("document.querySelector('#{long} tr.here td.code')?.textContent.trim()");
    browser.until(&format!("{here} === 'pub const LINE_1200: u32 = 1200;'"));
    places_are_unique(&browser);
}

#[test]
fn a_long_line_is_shown_on_request() {
    let (site, page) = site();
    let browser = open(&site, &page);
    let wide = file(&browser, "wide.txt");
    assert!(!browser.all_text().contains("word4000"));
    browser.click(css(&format!("#{wide} a.long")));
    browser.sees("word4000");
}

/// Opens a page without scripts and returns its text. The driver does not wait for such pages to be there.
#[track_caller]
fn read(browser: &Browser, path: &str) -> String {
    browser.go(path);
    wait_until(&format!("{path} is loaded"), || browser.value("document.readyState") == "complete");
    // Includes text outside the viewport, which is not laid out yet.
    browser.string("document.body.textContent")
}

/// Follows a link of a page without scripts.
#[track_caller]
fn follow(browser: &Browser, selector: &str) -> String {
    let link = browser.string(&format!("document.querySelector({}).getAttribute('href')", json!(selector)));
    read(browser, &link)
}

#[test]
fn without_a_script_every_part_is_a_page() {
    let (site, page) = site();
    let browser = open(&site, &page);
    let (values, long, wide) =
        (file(&browser, "src/values.rs"), file(&browser, "src/long.rs"), file(&browser, "wide.txt"));
    browser.javascript_off();
    assert!(read(&browser, &page).contains("folded: 1,300 changed lines"));
    assert!(follow(&browser, &format!("#{long} .more a")).contains("LINE_500: u32 = 500;"));
    assert!(follow(&browser, ".more a").contains("LINE_501: u32 = 501;"));
    assert!(follow(&browser, ".page-head a").contains("Everything"));
    for (selector, text) in [
        (format!("#{values}-g1 a.step[title^='Show all']"), "let value_90 = 90;"),
        (format!("#{wide} a.long"), "word4000"),
        (".views a:last-child".to_owned(), "let value_121 = 120;"),
    ] {
        read(&browser, &page);
        assert!(follow(&browser, &selector).contains(text), "{selector}");
    }
}

#[test]
fn when_the_repository_is_gone_the_hunks_are_still_there() {
    let (site, page) = site();
    std::fs::rename(site.desk.path("project"), site.desk.path("moved")).unwrap();
    let browser = open(&site, &page);
    browser.sees("The repository does not have this version any more");
    browser.sees("let value_121 = 120;");
    assert_eq!(browser.count(".lines .k") + browser.count("a.step"), 0);
}
