//! Settings and the first steps: prompts that two people edit, agents that are tried out, projects, the demo, the token.

use serde_json::json;

use crate::desk::{Desk, learns, works};
use crate::pages::browser::Browser;
use crate::pages::display::Theme;
use crate::pages::locator::{button, css, link, role, textbox};
use crate::pages::site::Site;
use crate::robustness::server::Server;
use crate::wait::wait_until;

const PROMPTS: &str = "/settings/prompts";
const TEMPLATE: &str = "#reviewPromptTemplate";
const CURRENT_TAB_IS_SEEN: &str = "(() => {
    const bar = document.querySelector('.tabs').getBoundingClientRect();
    const tab = document.querySelector('.tabs [aria-current]').getBoundingClientRect();
    return tab.left >= bar.left - 1 && tab.right <= bar.right + 1;
})()";

/// The prompts, once their script has read them.
fn open_prompts(browser: &Browser, path: &str) {
    browser.go(path);
    browser.until("document.querySelector('#save-state').textContent !== ''");
}

/// Chooses to write one's own.
fn customise(browser: &Browser, key: &str) {
    browser.click(css(&format!("input[name={key}-mode][value=custom]")));
    browser.until(&format!("!document.querySelector('#{key}').readOnly"));
}

#[test]
fn a_prompt_is_written_checked_shown_and_saved() {
    let site = Site::new(&learns());
    site.finish("Parse \u{202e}<b>text</b>");
    let browser = site.open();
    open_prompts(&browser, PROMPTS);
    browser.sees("In force: the default");
    assert!(browser.is(&format!("document.querySelector('{TEMPLATE}').readOnly")));
    // The preview of the prompt appears before any edit.
    browser.until("document.querySelector('[data-part=part]').textContent.includes('JSON.parse(text)')");
    browser.sees("tokens in one call");

    customise(&browser, "reviewPromptTemplate");
    browser.fill(css(TEMPLATE), "Look at ");
    browser.sees("`reviewPromptTemplate` has no `{gitDiff}`");
    browser.sees("8 of 200,000 characters");
    assert_eq!(browser.string(&format!("document.querySelector('{TEMPLATE}').ariaInvalid")), "true");
    browser.sees("Unsaved changes");
    browser.click(button("{featureTitle}"));
    browser.click(button("{gitDiff}"));
    browser.keys(" {gitDif}");
    browser.sees("did you mean `{gitDiff}`?");
    browser.sees_no_more("has no `{gitDiff}`");
    browser.until("document.querySelector('[data-part=shared]').textContent.includes('Look at ')");
    browser.until(r"document.querySelector('[data-part=shared]').textContent.includes('\\u{202e}<b>text</b>')");
    assert!(!browser.is("document.querySelector('.preview b')"));

    browser.click(button("Save"));
    browser.sees("Saved at");
    browser.sees("In force: the custom prompt for all projects");
    browser.reload();
    browser.until(&format!(
        "document.querySelector('{TEMPLATE}').value === 'Look at {{featureTitle}}{{gitDiff}} {{gitDif}}'"
    ));
    browser.axe();

    // A project takes it over until it has its own.
    open_prompts(&browser, &format!("{PROMPTS}?project={}", site.project));
    browser.sees("In force: the custom prompt for all projects");
    browser.click(css("input[name=reviewPromptTemplate-mode][value=default]"));
    browser.click(button("Save"));
    browser.sees("Saved at");
    browser.until("document.querySelectorAll('[data-used]')[1].textContent === 'In force: the default'");
    browser.axe();

    open_prompts(&browser, PROMPTS);
    browser.click(button("Reset All Code Review Prompts"));
    browser.click(button("Reset"));
    browser.sees("Unsaved changes");
    browser.click(button("Save"));
    browser.sees("Saved at");
    let stored = site.server.get("/api/settings/prompts").json();
    assert_eq!(stored["codeReview"], json!({}));
}

#[test]
fn of_two_who_write_the_second_is_told_and_loses_nothing() {
    let site = Site::new(&works());
    let (ada, grace) = (site.open(), site.open());
    for browser in [&ada, &grace] {
        open_prompts(browser, PROMPTS);
        customise(browser, "reviewSystemPrompt");
    }
    ada.fill(css("#reviewSystemPrompt"), "Be kind.");
    ada.click(button("Save"));
    ada.sees("Saved at");
    grace.forgive("412 (Precondition Failed)");
    grace.fill(css("#reviewSystemPrompt"), "Be strict.");
    grace.click(button("Save"));
    grace.sees("The prompts were changed in the meantime.");
    grace.click(button("Show theirs"));
    grace.sees("Be kind.");
    grace.axe();
    let stored = || site.server.get("/api/settings/prompts").json();
    assert_eq!(stored()["codeReview"]["reviewSystemPrompt"]["value"], "Be kind.");
    assert_eq!(grace.string("document.querySelector('#reviewSystemPrompt').value"), "Be strict.");
    grace.click(button("Save mine instead"));
    grace.sees("Saved at");
    assert_eq!(stored()["codeReview"]["reviewSystemPrompt"]["value"], "Be strict.");
    assert!(grace.is("document.querySelector('#conflict').hidden"));
}

#[test]
fn typed_text_survives_leaving_the_page() {
    let site = Site::new(&works());
    let browser = site.open();
    browser.forgive("dialog");
    browser.forgive("beforeunload");
    open_prompts(&browser, PROMPTS);
    customise(&browser, "reviewSystemPrompt");
    browser.fill(css("#reviewSystemPrompt"), "Half a thought");
    browser.sees("Unsaved changes");
    browser.go("/settings/gate");
    open_prompts(&browser, PROMPTS);
    browser.until("document.querySelector('#reviewSystemPrompt').value === 'Half a thought'");
    browser.sees("Unsaved changes");
    assert_eq!(site.server.get("/api/settings/prompts").json()["codeReview"], json!({}));
    browser.click(button("Discard changes"));
    browser.click(button("Discard"));
    browser.sees("No changes");
    assert!(browser.is("document.querySelector('#reviewSystemPrompt').readOnly"));
}

#[test]
fn agents_are_tried_out_and_what_to_write_is_copied() {
    let site = Site::new(&works());
    let browser = site.open();
    browser.go("/settings/agents");
    browser.sees("Embedded reviewer");
    browser.sees("always works");
    browser.click(css("[data-agent=rules] [data-trial=ask]"));
    browser.sees("a scanning child was started and found what it should");
    // The agent of this board writes wherever it is, so it must not review.
    browser.click(css("[data-agent=script] [data-trial=hands]"));
    browser.sees("is not read-only");
    browser.click(css(".snippet [data-copy]"));
    assert!(browser.wait(|| browser.clipboard().contains("agent = \"claude\"")));
    browser.axe();
}

#[test]
fn a_project_is_added_with_what_is_wrong_said_at_the_field_and_removed_again() {
    let site = Site::new(&works());
    let browser = site.open();
    for status in ["422", "409"] {
        browser.forgive(status);
    }
    browser.go("/settings/projects");
    let add = |path: &str| {
        browser.fill(textbox("Path of the project"), path);
        browser.press("Enter");
    };
    add("shop");
    browser.sees("is not an absolute path");
    let plain = site.desk.path("home").display().to_string();
    add(&plain);
    browser.until("document.querySelector('#project-path-error').textContent.length > 20");
    assert_eq!(browser.string("document.querySelector('#project-path').ariaInvalid"), "true");
    browser.axe();
    add(&site.desk.path("project").display().to_string());
    browser.sees("It is a project of the board already");

    let other = site.desk.path("other");
    site.desk.git_in(&site.desk.path("home"), &["init", "-q", "-b", "main", &other.display().to_string()]);
    add(&other.display().to_string());
    browser.until("location.pathname.startsWith('/projects/')");
    browser.go("/");
    browser.sees("Projects");
    browser.finds(link("other"));
    browser.axe();

    browser.go("/settings/projects");
    browser.click(button("Remove other"));
    browser.sees("stay as they are");
    browser.click(button("Remove"));
    browser.until("document.querySelectorAll('[data-project-row]').length === 1");
    assert!(other.join(".git").is_dir());
}

#[test]
fn the_demo_is_loaded_plays_and_is_removed_by_one_button() {
    let desk = Desk::new("echo 'never asked' >&2; exit 1");
    let server = Server::start(&desk);
    let browser = Browser::signed_in(server.address, &server.token);
    browser.go("/");
    browser.sees("Welcome to tollgate");
    browser.axe();
    browser.width(375);
    assert!(browser.sideways() <= 0.0);
    browser.theme(Theme::Dark);
    browser.axe();
    browser.width(1280);
    browser.click(button("Load the demo"));
    browser.until("location.pathname.startsWith('/projects/')");
    browser.sees("Find customers by name");
    let mut features = json!(null);
    wait_until("the demo waits for a person", || {
        features = server.get("/api/projects/1/features").json();
        features["features"][0]["status"] == "waiting_approval"
    });
    assert_eq!(features["features"][0]["outcomes"], json!(["rejected", "approved"]), "{features}");
    let demos = desk.path("data/tollgate/demo");
    assert_eq!(std::fs::read_dir(&demos).unwrap().count(), 1);

    browser.go("/settings/projects");
    browser.click(button("Remove the demo"));
    browser.click(role("button", "Remove the demo"));
    browser.sees("No project yet");
    assert_eq!(std::fs::read_dir(&demos).unwrap().count(), 0);
}

#[test]
fn a_new_token_signs_the_others_out() {
    let site = Site::new(&works());
    let (mine, theirs) = (site.open(), site.open());
    for expected in ["401 (Unauthorized)", "WebSocket connection"] {
        theirs.forgive(expected);
        mine.forgive(expected);
    }
    theirs.go("/settings/access");
    theirs.until(crate::pages::site::LIVE);
    mine.go("/settings/access");
    mine.sees("which only its owner can read");
    mine.axe();
    mine.click(button("Make a new token"));
    mine.sees("Everybody is signed out at once");
    mine.click(role("button", "Make a new token"));
    mine.sees("There is a new token");
    theirs.sees("You are signed out.");
    mine.reload();
    mine.until("'signedIn' in document.body.dataset");
    let file = std::fs::read_to_string(site.desk.path("data/tollgate/token")).unwrap();
    assert_ne!(file.trim(), site.server.token);
    assert_eq!(site.server.get("/api/projects").status, 401);
    mine.click(button("Sign out"));
    mine.sees("This board needs the token of its server.");
}

#[test]
fn every_part_of_the_settings_fits_a_phone_and_breaks_no_rule() {
    let site = Site::new(&works());
    let browser = site.open();
    for theme in [Theme::Light, Theme::Dark] {
        browser.theme(theme);
        for part in ["prompts", "agents", "gate", "identity", "github", "projects", "access"] {
            for width in [1280, 375] {
                browser.width(width);
                browser.go(&format!("/settings/{part}"));
                assert!(browser.sideways() <= 0.0, "{part} at {width}");
                browser.axe();
                // Tabs that do not fit are scrolled until the current one is seen.
                browser.until(CURRENT_TAB_IS_SEEN);
            }
        }
        // A phone that is turned shows it, too.
        browser.width(1280);
        browser.go("/settings/access");
        browser.width(375);
        browser.until(CURRENT_TAB_IS_SEEN);
    }
}
