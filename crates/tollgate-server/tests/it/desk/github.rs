//! The app of a board in memory.

use tollgate_engine::forge::app_registration::{AppRecord, AppRequest, ExistingApp};
use tollgate_engine::store::pulls::FailingPull;
use tollgate_server::desk::github::{AppState, Github};
use tollgate_server::desk::{Answer, Refusal};

use super::{MemoryDesk, refuse};

impl MemoryDesk {
    /// Something is the matter with pull requests.
    pub(crate) fn has_trouble_with(&self, troubled: Vec<FailingPull>) {
        self.lock().troubled = troubled;
    }

    /// The code of which the app was made that is there.
    pub(crate) fn made_of(&self) -> Option<String> {
        self.lock().made.as_ref().map(|(_, code)| code.clone())
    }
}

impl Github for MemoryDesk {
    fn app_state(&self) -> Answer<AppState> {
        let app = self.lock().made.as_ref().map(|(card, _)| card.clone());
        Ok(AppState {
            is_open: app.is_some(),
            key_file: app.as_ref().map(|_| "/data/github/private-key.pem".to_owned()),
            is_key_open: true,
            app,
            check_name: "kodiai".to_owned(),
            bot: "Kodiai".to_owned(),
            url: "https://github.com".to_owned(),
            troubled: self.lock().troubled.clone(),
            ..AppState::default()
        })
    }

    fn make_app(&self, wish: &AppRequest, code: &str, earlier: ExistingApp) -> Answer<AppRecord> {
        let mut kept = self.lock();
        if kept.made.is_some() && earlier == ExistingApp::Keep {
            return refuse(Refusal::Conflict, "an app is kept already");
        }
        let card = AppRecord {
            id: 12,
            slug: Some("kodiai-<b>".to_owned()),
            html_url: Some("https://github.com/apps/kodiai".to_owned()),
            url: wish.url().to_owned(),
            api_url: None,
            public_url: Some(wish.public_url().to_owned()),
        };
        kept.made = Some((card.clone(), code.to_owned()));
        Ok(card)
    }
}
