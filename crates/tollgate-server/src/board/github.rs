//! The app of a real board.

use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::own_app::{self, Card, Earlier, Wish};

use super::BoardDesk;
use crate::desk::Answer;
use crate::desk::deliveries::{Deliveries as _, Wire};
use crate::desk::github::{AppState, Github};

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
            ..AppState::default()
        };
        Ok(match own_app::find(github, &home.data, &home.variables) {
            Ok(None) => state,
            Ok(Some(app)) => AppState {
                is_key_open: own_app::is_open_to_others(&app.key_file),
                key_file: Some(app.key_file.display().to_string()),
                secret_from: Some(app.secret_from),
                public_url: app.card.public_url.clone().or(state.public_url),
                app: Some(app.card),
                ..state
            },
            Err(failure) => AppState { problem: Some(failure), ..state },
        })
    }

    fn make_app(&self, _: &Wish, _: &str, _: Earlier) -> Answer<Card> {
        Err(Failure::new(Kind::Internal, "not yet").into())
    }
}
