//! The GitHub App of this server: its state, and its registration by a manifest.

use tollgate_engine::board::Board;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::app_registration::{self, AppRecord, AppRequest, ExistingApp};
use tollgate_engine::forge::github::{Address, convert_manifest};
use tollgate_engine::forge::host::HostError;
use tollgate_engine::store::pulls::FailingPull;

/// The most failing pull requests that are listed.
const MAX_FAILING: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AppState {
    /// The app, once it is registered.
    pub(crate) app: Option<AppRecord>,
    /// The reason why it cannot be used.
    pub(crate) problem: Option<Failure>,
    /// True when deliveries are accepted.
    pub(crate) is_ready: bool,
    /// The file of its private key.
    pub(crate) key_file: Option<String>,
    /// True when users other than its owner can read that file.
    pub(crate) is_key_open: bool,
    /// The source of its webhook secret.
    pub(crate) secret_from: Option<String>,
    /// The name of the check run.
    pub(crate) check_name: String,
    /// The name of the bot, from which the name of the app is made.
    pub(crate) bot: String,
    /// The GitHub of the configuration.
    pub(crate) url: String,
    /// The public address of this server, if configured.
    pub(crate) public_url: Option<String>,
    /// The organization that is to own a new app, if given.
    pub(crate) organization: Option<String>,
    /// Pull requests whose jobs fail, newest first.
    pub(crate) failing: Vec<FailingPull>,
}

impl AppState {
    /// Reads the state of the app from the configuration and the data folder.
    pub(crate) fn read(board: &Board, organization: Option<String>, is_ready: bool) -> Result<Self, Failure> {
        let (home, settings) = (board.home(), board.settings());
        let github = &settings.github;
        let state = Self {
            check_name: github.check_name(&settings.bot),
            bot: settings.bot.clone(),
            url: github.url.clone(),
            public_url: github.public_url.clone(),
            organization,
            is_ready,
            failing: board.database().failing_pulls(MAX_FAILING)?,
            ..Self::default()
        };
        Ok(match app_registration::find(github, &home.data, &home.variables) {
            Ok(None) => state,
            Ok(Some(app)) => Self {
                is_key_open: app_registration::is_open_to_others(&app.key_file),
                key_file: Some(app.key_file.display().to_string()),
                secret_from: Some(app.secret_from),
                public_url: app.card.public_url.clone().or(state.public_url),
                app: Some(app.card),
                ..state
            },
            Err(failure) => Self { problem: Some(failure), ..state },
        })
    }
}

/// Registers the app: exchanges the code that GitHub returned for its credentials, and stores them.
pub(crate) fn register(board: &Board, request: &AppRequest, code: &str, existing: ExistingApp) -> Result<(), Failure> {
    // The configured API address belongs to the configured GitHub only.
    let github = &board.settings().github;
    let api_url = github.api_url.clone().filter(|_| github.url == request.url());
    let address = Address::parse(request.url(), api_url.as_deref())?;
    let made = convert_manifest(&address, code).map_err(HostError::into_failure)?;
    let card = AppRecord {
        id: made.id,
        slug: Some(made.slug),
        // A page of another site is never linked to.
        html_url: Some(made.html_url).filter(|page| page.starts_with(&format!("{}/", request.url()))),
        url: request.url().to_owned(),
        api_url,
        public_url: Some(request.public_url().to_owned()),
    };
    app_registration::keep(&board.home().data, &card, &made.pem, &made.webhook_secret, existing)
}
