//! Every screen, as it looks, in both themes and on a phone. With `TOLLGATE_SCREENS=1` the pictures are those of the
//! documents, `docs/screens`.

use crate::pages::look::Theme;
use crate::pages::scene::Scene;
use crate::pages::screens::{NOBODY, screens};

#[test]
fn pictures_are_taken_of_every_screen() {
    let scene = Scene::get();
    let browser = scene.open();
    browser.forgive(NOBODY);
    for screen in screens(scene) {
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
