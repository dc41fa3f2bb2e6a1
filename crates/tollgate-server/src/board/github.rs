//! The app of a real board.

use tollgate_engine::forge::app_registration::{self, AppRecord, AppRequest, ExistingApp};
use tollgate_engine::forge::github::{Address, convert_manifest};
use tollgate_engine::forge::host::HostError;

use super::BoardDesk;
use crate::desk::Answer;
use crate::desk::deliveries::{Deliveries as _, Wire};
use crate::desk::github::{AppState, Github};

/// So many pull requests in trouble are shown.
const MAX_TROUBLED: usize = 50;

impl Github for BoardDesk {
    fn app_state(&self) -> Answer<AppState> {
        let (home, settings) = (self.board.home(), self.board.settings());
        let github = &settings.github;
        let state = AppState {
            check_name: github.check_name(&settings.bot),
            bot: settings.bot.clone(),
            url: github.url.clone(),
            public_url: github.public_url.clone(),
            organization: self.organization.clone(),
            is_open: matches!(self.wire(), Wire::Open(_)),
            troubled: self.board.database().failing_pulls(MAX_TROUBLED)?,
            ..AppState::default()
        };
        Ok(match app_registration::find(github, &home.data, &home.variables) {
            Ok(None) => state,
            Ok(Some(app)) => AppState {
                is_key_open: app_registration::is_open_to_others(&app.key_file),
                key_file: Some(app.key_file.display().to_string()),
                secret_from: Some(app.secret_from),
                public_url: app.card.public_url.clone().or(state.public_url),
                app: Some(app.card),
                ..state
            },
            Err(failure) => AppState { problem: Some(failure), ..state },
        })
    }

    fn make_app(&self, wish: &AppRequest, code: &str, earlier: ExistingApp) -> Answer<AppRecord> {
        // The interface is where the configuration has it only for the GitHub that the configuration names.
        let github = &self.board.settings().github;
        let api_url = github.api_url.clone().filter(|_| github.url == wish.url());
        let address = Address::parse(wish.url(), api_url.as_deref())?;
        let made = convert_manifest(&address, code).map_err(HostError::into_failure)?;
        let card = AppRecord {
            id: made.id,
            slug: Some(made.slug),
            // A page of another site is not what is linked to.
            html_url: Some(made.html_url).filter(|page| page.starts_with(&format!("{}/", wish.url()))),
            url: wish.url().to_owned(),
            api_url,
            public_url: Some(wish.public_url().to_owned()),
        };
        app_registration::keep(&self.board.home().data, &card, &made.pem, &made.webhook_secret, earlier)?;
        Ok(card)
    }
}
