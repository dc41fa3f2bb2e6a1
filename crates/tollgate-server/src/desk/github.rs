//! What the pages about GitHub ask for: which app we are, and to become one.

use tollgate_engine::failure::Failure;
use tollgate_engine::forge::app_registration::{AppRecord, AppRequest, ExistingApp};
use tollgate_engine::store::pulls::FailingPull;

use crate::desk::Answer;

/// How it stands with the app that we are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppState {
    /// The app, once there is one.
    pub app: Option<AppRecord>,
    /// What is wrong with it.
    pub problem: Option<Failure>,
    /// True when deliveries are taken.
    pub is_open: bool,
    /// Where its key is.
    pub key_file: Option<String>,
    /// True when others than its owner can read that file.
    pub is_key_open: bool,
    /// Where its secret is.
    pub secret_from: Option<String>,
    /// The name of our check.
    pub check_name: String,
    /// The name of the bot, of which that of an app is made.
    pub bot: String,
    /// Which GitHub the configuration names.
    pub url: String,
    /// Where it reaches us, as far as somebody said.
    pub public_url: Option<String>,
    /// Whose an app is to be, as far as somebody said.
    pub organization: Option<String>,
    /// Pull requests with which something is the matter, the newest first.
    pub troubled: Vec<FailingPull>,
}

/// What the pages about GitHub ask for.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Github {
    /// How it stands with the app that we are.
    fn app_state(&self) -> Answer<AppState>;
    /// Changes the code that GitHub handed back for an app, and keeps it. Over the network, and within a bound.
    fn make_app(&self, wish: &AppRequest, code: &str, earlier: ExistingApp) -> Answer<AppRecord>;
}
