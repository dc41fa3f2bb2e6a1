//! Making a GitHub App in a browser: what a person sees and does, there and back.

use serde_json::Value;

use crate::desk::works;
use crate::fake_app_setup::FakeAppSetup;
use crate::pages::display::Theme;
use crate::pages::locator::{button, css, link};
use crate::pages::site::Site;
use crate::wait::wait_until;

#[test]
fn an_app_is_made_there_and_back() {
    let (site, registrar) = (Site::new(&works()), FakeAppSetup::start());
    let browser = site.open();
    browser.forgive(&registrar.url());
    browser.go("/settings/github");
    browser.sees("Make an app");
    browser.fill(css("#publicUrl"), "http://127.0.0.1:7420");
    browser.click(button("Go on"));
    // GitHub could not reach that.
    browser.forgive("422 (Unprocessable");
    browser.sees("GitHub cannot reach this machine by that name");
    assert_eq!(browser.string("document.activeElement.id"), "publicUrl");
    for theme in Theme::BOTH {
        browser.theme(theme);
        browser.axe();
        browser.screenshot(&format!("settings-github-refused-{}", theme.name()));
    }

    browser.value("document.querySelector('#githubUrl').value = ''");
    browser.fill(css("#githubUrl"), &registrar.url());
    browser.fill(css("#organization"), "acme");
    browser.click(button("Go on"));
    browser.sees("What is asked for");
    browser.sees("http://127.0.0.1:7420/webhooks/github");
    for theme in Theme::BOTH {
        browser.theme(theme);
        browser.axe();
        browser.screenshot(&format!("github-setup-{}", theme.name()));
    }
    browser.width(375);
    assert_eq!(browser.sideways(), 0.0);
    browser.screenshot("github-setup-phone");
    browser.width(1280);

    browser.click(button("Make it at GitHub"));
    browser.click(link("Create GitHub App"));
    browser.sees("@kodiai-test");
    assert_eq!(browser.place(), "/settings/github");
    browser.sees("number 815");
    browser.sees("Install it in repositories");
    let asked = registrar.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let (path, manifest) = asked[0].split_once(' ').unwrap();
    assert!(path.starts_with("/organizations/acme/settings/apps/new?state="), "{path}");
    let manifest: Value = serde_json::from_str(manifest).unwrap();
    let origin = format!("http://{}", site.server.address);
    assert_eq!(manifest["redirect_url"], format!("{origin}/github/callback"));
    assert_eq!(manifest["default_permissions"]["contents"], "read");
    wait_until("deliveries are taken", || site.server.log().contains("reviewed as @kodiai-test"));
    browser.reload();
    browser.sees("✓ taken");
    for theme in Theme::BOTH {
        browser.theme(theme);
        browser.axe();
        browser.screenshot(&format!("settings-github-made-{}", theme.name()));
    }
    browser.width(375);
    assert_eq!(browser.sideways(), 0.0);
    browser.screenshot("settings-github-made-phone");
}
