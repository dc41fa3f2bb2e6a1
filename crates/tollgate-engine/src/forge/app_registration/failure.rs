//! Failures of the app registration.

use std::io;
use std::path::Path;

use crate::config::github;
use crate::failure::{Failure, Kind};

pub(super) fn no_app_id() -> Failure {
    Failure::new(Kind::Config, "`github` names files of an app, but `github.app_id` is not set")
        .hint("Set `github.app_id`; the app's page at GitHub shows it.")
}

pub(super) fn no_key(path: &Path) -> Failure {
    Failure::new(Kind::Config, format!("the private key of the GitHub App is not in `{}`", path.display()))
        .hint("Create one on the app's page at GitHub and name its file in `github.private_key_file`.")
}

pub(super) fn no_secret(path: &Path) -> Failure {
    let (variable, path) = (github::SECRET, path.display());
    let message = format!("the GitHub App has no webhook secret: it is neither in `{variable}` nor in `{path}`");
    Failure::new(Kind::Config, message)
        .hint("Set the one on the app's page at GitHub; without it deliveries could be forged.")
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Kind::Config, format!("cannot read `{}`: {error}", path.display()))
        .hint("The user that runs tollgate must be able to read it.")
}

pub(super) fn not_a_card(path: &Path, why: &str) -> Failure {
    Failure::new(Kind::Config, format!("`{}` cannot be read: {why}", path.display()))
        .hint("Set `github.app_id`, or put the folder aside and run `tollgate github setup`.")
}

pub(super) fn is_there(folder: &Path) -> Failure {
    Failure::new(Kind::User, format!("an app is already registered in `{}`", folder.display()))
        .hint("The setup page can replace it; the old one is moved aside.")
}

pub(super) fn cannot_keep(folder: &Path, error: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot store the app in `{}`: {error}", folder.display()))
        .hint("The app exists at GitHub; create a key and a secret on its page, or delete it and try again.")
}
