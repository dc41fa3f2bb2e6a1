//! Every screen, as it looks, in both themes and on a phone.
//!
//! `TOLLGATE_SCREENS=1 cargo test -p tollgate --test it pages` updates the screenshots in `docs/screens`,
//! and screenshots of everything else into `tollgate-screens` in the temporary folder.

use crate::pages::display::Theme;
use crate::pages::fixtures::Scene;
use crate::pages::screens::{NOBODY, Screen, screens};

#[test]
fn pictures_are_taken_of_every_screen() {
    let scene = Scene::get();
    let browser = scene.open();
    browser.forgive(NOBODY);
    let is_asked_for = |screen: &Screen| screen.is_kept() || std::env::var_os("TOLLGATE_SCREENS").is_some();
    for screen in screens(scene).into_iter().filter(is_asked_for) {
        browser.go(&screen.path);
        for theme in Theme::BOTH {
            browser.theme(theme);
            screen.picture(&browser, theme.name());
        }
        browser.width(375);
        screen.picture(&browser, "phone");
        browser.width(1280);
    }
}
