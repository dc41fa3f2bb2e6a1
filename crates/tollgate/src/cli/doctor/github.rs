//! The app that this server is at GitHub: its number, its key and its secret, and what it may do.

use std::path::Path;

use tollgate_engine::config::{Github, Settings};
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::github::{Address, App, AppSettings};
use tollgate_engine::forge::own_app::{self, OwnApp};

use super::{Check, Found, Place};

/// Looks at the app; nothing is missed where there is none.
pub(super) fn check_all(settings: &Settings, data: &Path, online: bool) -> Vec<Check> {
    let app = match own_app::find(&settings.github, data, &Place::variables()) {
        Ok(Some(app)) => app,
        Ok(None) => {
            let why = "no app is set up; `tollgate github setup` makes one".to_owned();
            return vec![Check { name: "app".to_owned(), found: Found::Missing(why) }];
        }
        Err(failure) => return vec![Check { name: "app".to_owned(), found: Found::Wrong(failure) }],
    };
    let name = app.card.slug.as_ref().map_or_else(String::new, |slug| format!(" @{slug}"));
    let rotating = if app.secrets.len() > 1 { ", and the one before it is still taken" } else { "" };
    let mut checks = vec![
        Check::new("app", Ok(format!("number {}{name} at {}", app.card.id, app.card.url))),
        Check::new("private key", key(&app)),
        Check::new("webhook secret", Ok(format!("{}{rotating}", app.secret_from))),
    ];
    if online {
        checks.push(Check::new("permissions", permissions(&app, &settings.github)));
    }
    checks
}

fn key(app: &OwnApp) -> Result<String, Failure> {
    let path = app.key_file.display();
    if own_app::is_open_to_others(&app.key_file) {
        return Err(Failure::new(Kind::Config, format!("others can read `{path}`"))
            .hint(format!("Run `chmod 600 {path}`: whoever has the key can act as the app.")));
    }
    Ok(path.to_string())
}

/// Asks GitHub whether it knows the key, and what the app may do.
fn permissions(app: &OwnApp, github: &Github) -> Result<String, Failure> {
    let about = connect(app, github)?.about().map_err(|error| error.into_failure())?;
    let mut lacking = own_app::lacking(&about.permissions);
    if github.resolve_threads && about.permissions.get("contents").is_none_or(|access| access != "write") {
        lacking.push("contents: write, which `github.resolve_threads` needs".to_owned());
    }
    if lacking.is_empty() {
        let told = about.events.len();
        return Ok(format!(
            "GitHub knows the app as @{}; it may do what it needs, and is told {told} events",
            about.me.mention
        ));
    }
    Err(Failure::new(Kind::Config, format!("the app may not do all it needs; it lacks {}", lacking.join(", ")))
        .hint("Add that on the app's page at GitHub, and have its owner accept it where it is installed."))
}

/// The app, ready to be asked.
pub(crate) fn connect(app: &OwnApp, github: &Github) -> Result<App, Failure> {
    App::new(AppSettings {
        address: Address::parse(&app.card.url, app.card.api_url.as_deref())?,
        app_id: app.card.id,
        key_pem: app.key.clone(),
        key_from: app.key_file.display().to_string(),
        resolves_threads: github.resolve_threads,
    })
}
