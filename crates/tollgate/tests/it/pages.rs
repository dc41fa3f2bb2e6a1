//! The pages, in a real Chromium, over the real program.
//!
//! `scripts/browser-setup` brings the browser. A test opens it on a [`site::Site`] and does what a person does:
//!
//! ```text
//! let site = Site::new(&works());
//! let browser = site.open();
//! browser.go("/projects/1");
//! browser.click(button("Add feature"));
//! browser.fill(textbox("Title"), "Read JSON");
//! browser.press("Enter");
//! browser.sees("Read JSON");
//! ```
//!
//! Nothing sleeps: assertions wait, and are checked again when the page changes. At the end of a browser
//! the test fails if the page said an error, broke its own content security policy, asked another host for anything or
//! opened a dialog, unless the test said before that this would happen (`forgive`).

pub(crate) mod axe;
pub(crate) mod browser;
pub(crate) mod chromium;
pub(crate) mod clipboard;
pub(crate) mod display;
pub(crate) mod fixtures;
pub(crate) mod input;
pub(crate) mod locator;
pub(crate) mod page_log;
pub(crate) mod screens;
pub(crate) mod site;

mod access;
mod all_screens;
mod board;
mod cost;
mod diff;
mod feature;
mod github;
mod harness;
mod hostile;
mod live_updates;
mod reviews;
mod screenshots;
mod settings;
mod shortcuts;
mod without_javascript;
