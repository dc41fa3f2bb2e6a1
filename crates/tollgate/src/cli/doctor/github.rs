//! Checks the GitHub App: its ID, private key, webhook secret and permissions.

use std::path::Path;

use tollgate_engine::config::{Github, Settings};
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::app_registration::{self, RegisteredApp};

use super::{Check, CliContext, Found};

/// Checks the app, if one is set up.
pub(super) fn check_all(settings: &Settings, data: &Path, online: bool) -> Vec<Check> {
    let app = match app_registration::find(&settings.github, data, &CliContext::variables()) {
        Ok(Some(app)) => app,
        Ok(None) => {
            let why = "not set up; `tollgate github setup` creates an app".to_owned();
            return vec![Check { name: "app".to_owned(), found: Found::Missing(why) }];
        }
        Err(failure) => return vec![Check { name: "app".to_owned(), found: Found::Wrong(failure) }],
    };
    let name = app.card.slug.as_ref().map_or_else(String::new, |slug| format!(" @{slug}"));
    let rotating = if app.secrets.len() > 1 { ", and the previous one is still accepted" } else { "" };
    let mut checks = vec![
        Check::new("app", Ok(format!("ID {}{name} at {}", app.card.id, app.card.url))),
        Check::new("private key", key(&app)),
        Check::new("webhook secret", Ok(format!("{}{rotating}", app.secret_from))),
    ];
    if online {
        checks.push(Check::new("permissions", permissions(&app, &settings.github)));
    }
    checks
}

fn key(app: &RegisteredApp) -> Result<String, Failure> {
    let path = app.key_file.display();
    if app_registration::is_open_to_others(&app.key_file) {
        return Err(Failure::new(Kind::Config, format!("`{path}` is readable by other users"))
            .hint(format!("Run `chmod 600 {path}`: the key lets its holder act as the app.")));
    }
    Ok(path.to_string())
}

/// Checks the key and the permissions of the app with GitHub.
fn permissions(app: &RegisteredApp, github: &Github) -> Result<String, Failure> {
    let about = app.connect(github)?.about().map_err(|error| error.into_failure())?;
    let mut lacking = app_registration::lacking(&about.permissions);
    if github.resolve_threads && about.permissions.get("contents").is_none_or(|access| access != "write") {
        lacking.push("contents: write, which `github.resolve_threads` needs".to_owned());
    }
    if lacking.is_empty() {
        let n_events = about.events.len();
        return Ok(format!("authenticated as @{}, with all permissions and {n_events} events", about.me.mention));
    }
    Err(Failure::new(Kind::Config, format!("the app lacks permissions: {}", lacking.join(", ")))
        .hint("Add them on the app's page on GitHub, and accept the change in each installation."))
}
