//! The registration of our GitHub App: its record, private key and webhook secret on this machine.
//!
//! `tollgate github setup` stores all of it in one directory that only its owner can read. For an app registered by
//! hand, the configuration has its number and the paths of its key and secret.
//!
//! ```text
//! <data>/github/app.json          {"id": 12, "slug": "tollgate-ada", "html_url": "…", "url": "https://github.com"}
//! <data>/github/private-key.pem
//! <data>/github/webhook-secret
//! ```
//!
//! This module makes no requests.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::github::{Address, App, AppSettings};
use super::host::Secret;
use crate::config::{Github, github};
use crate::failure::Failure;
use crate::redaction::hold;

mod failure;
mod manifest;

pub use manifest::{AppRequest, AppRequestError, EVENTS, PERMISSIONS, Permission, lacking};

/// The names of the files.
const CARD: &str = "app.json";
const KEY: &str = "private-key.pem";
const SECRET: &str = "webhook-secret";
/// The maximum size of these files.
const MAX_BYTES: u64 = 64 * 1024;

/// The registered app with its credentials.
#[derive(Debug, Clone)]
pub struct RegisteredApp {
    /// The public part.
    pub card: AppRecord,
    /// Its private key.
    pub key: Secret,
    /// The path of the private key.
    pub key_file: PathBuf,
    /// The webhook secrets: one, or two during a rotation.
    pub secrets: Vec<Secret>,
    /// The source of the first secret, for messages.
    pub secret_from: String,
}

impl RegisteredApp {
    /// A client that authenticates as the app.
    pub fn connect(&self, github: &Github) -> Result<App, Failure> {
        App::new(AppSettings {
            address: Address::parse(&self.card.url, self.card.api_url.as_deref())?,
            app_id: self.card.id,
            key_pem: self.key.clone(),
            key_from: self.key_file.display().to_string(),
            resolves_threads: github.resolve_threads,
        })
    }
}

/// The public part of an app's registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppRecord {
    /// Its number.
    pub id: u64,
    /// Its slug in URLs and mentions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html_url: Option<String>,
    /// The GitHub server it belongs to.
    pub url: String,
    /// The API of that server, if not at the default URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,
    /// The URL at which GitHub reaches us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

impl AppRecord {
    /// The page that installs the app in repositories.
    pub fn install_url(&self) -> Option<String> {
        Some(format!("{}/installations/new", self.html_url.as_ref()?))
    }
}

/// The treatment of an app that is already registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingApp {
    /// The existing app is kept, and the new one refused.
    Keep,
    /// The existing app is moved aside.
    Replace,
}

/// The directory of the registration.
pub fn folder(data: &Path) -> PathBuf {
    data.join("github")
}

/// Loads the registered app; `None` without a registration. An app without its key or secret is an error.
pub fn find(github: &Github, data: &Path, variables: &[(String, String)]) -> Result<Option<RegisteredApp>, Failure> {
    let kept = kept(data)?;
    let card = match (github.app_id, kept) {
        (Some(id), kept) => of_settings(id, github, kept),
        (None, Some(kept)) => AppRecord { public_url: github.public_url.clone().or(kept.public_url), ..kept },
        (None, None) if names_files(github) => return Err(failure::no_app_id()),
        (None, None) => return Ok(None),
    };
    let key_file = github.private_key_file.clone().unwrap_or_else(|| folder(data).join(KEY));
    let key = read(&key_file)?.ok_or_else(|| failure::no_key(&key_file))?;
    let (secrets, secret_from) = secrets(github, data, variables)?;
    hold(&key);
    Ok(Some(RegisteredApp { card, key: Secret::new(key), key_file, secrets, secret_from }))
}

/// Loads the stored record, if any.
pub fn kept(data: &Path) -> Result<Option<AppRecord>, Failure> {
    let path = folder(data).join(CARD);
    let Some(text) = read(&path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| failure::not_a_card(&path, &error.to_string()))
}

/// True when a file is readable by others than its owner.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(path).is_ok_and(|about| about.mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Stores a registration atomically. An existing one is never deleted.
pub fn keep(data: &Path, card: &AppRecord, key: &Secret, secret: &Secret, earlier: ExistingApp) -> Result<(), Failure> {
    let (folder, fresh) = (folder(data), data.join("github.new"));
    let wrong = |error: io::Error| failure::cannot_keep(&folder, &error);
    if earlier == ExistingApp::Keep && folder.exists() {
        return Err(failure::is_there(&folder));
    }
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(wrong)?;
    }
    make_folder(&fresh).map_err(wrong)?;
    let card_text = serde_json::to_string_pretty(card).unwrap_or_default();
    for (name, text) in [(KEY, key.expose()), (SECRET, secret.expose()), (CARD, &card_text)] {
        write(&fresh.join(name), text).map_err(wrong)?;
    }
    sync(&fresh).map_err(wrong)?;
    if earlier == ExistingApp::Replace && folder.exists() {
        fs::rename(&folder, aside(data)).map_err(wrong)?;
    }
    // A rename does not replace a directory with files: of two concurrent registrations the second is refused.
    match fs::rename(&fresh, &folder) {
        Err(error) if [ErrorKind::DirectoryNotEmpty, ErrorKind::AlreadyExists].contains(&error.kind()) => {
            Err(failure::is_there(&folder))
        }
        renamed => renamed.and_then(|()| sync(data)).map_err(wrong),
    }
}

/// A free name for an existing registration.
fn aside(data: &Path) -> PathBuf {
    let numbered = (1_u32..).map(|number| data.join(format!("github.before-{number}")));
    numbered.into_iter().find(|path| !path.exists()).unwrap_or_else(|| data.join("github.before"))
}

/// The record of the configured app; a stored record of the same app supplies the rest.
fn of_settings(id: u64, github: &Github, kept: Option<AppRecord>) -> AppRecord {
    let same = kept.filter(|kept| kept.id == id);
    let slug = github.slug.clone().or_else(|| same.as_ref()?.slug.clone());
    let public_url = github.public_url.clone().or_else(|| same.as_ref()?.public_url.clone());
    let html_url = same.and_then(|kept| kept.html_url);
    AppRecord { id, slug, html_url, url: github.url.clone(), api_url: github.api_url.clone(), public_url }
}

fn names_files(github: &Github) -> bool {
    github.private_key_file.is_some() || github.webhook_secret_file.is_some()
}

/// The webhook secrets, and the source of the first.
fn secrets(github: &Github, data: &Path, variables: &[(String, String)]) -> Result<(Vec<Secret>, String), Failure> {
    let variable = |name: &str| {
        let value = variables.iter().find(|(found, _)| found == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty()).map(|value| Secret::new(value.to_owned()))
    };
    let path = github.webhook_secret_file.clone().unwrap_or_else(|| folder(data).join(SECRET));
    let (current, from) = match variable(github::SECRET) {
        Some(secret) => (secret, format!("the variable `{}`", github::SECRET)),
        None => {
            let text = read(&path)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            let text = text.ok_or_else(|| failure::no_secret(&path))?;
            (Secret::new(text), path.display().to_string())
        }
    };
    let secrets: Vec<Secret> = std::iter::once(current).chain(variable(github::OLD_SECRET)).collect();
    secrets.iter().for_each(|secret| hold(secret.expose()));
    Ok((secrets, from))
}

/// Reads a file; `None` when it is missing.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure::unreadable(path, &error)),
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file that is never readable by others, not even for a moment.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.trim_end().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Syncs a directory.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn card(id: u64) -> AppRecord {
        let text = |text: &str| Some(text.to_owned());
        AppRecord {
            id,
            slug: text("tollgate-ada"),
            html_url: text("https://github.com/apps/tollgate-ada"),
            url: github::URL.to_owned(),
            api_url: None,
            public_url: text("https://tollgate.example"),
        }
    }

    fn keep_one(data: &Path, id: u64, earlier: ExistingApp) -> Result<(), Failure> {
        let hidden = |text: &str| Secret::new(format!("{text} {id}"));
        keep(data, &card(id), &hidden("the key"), &hidden("the secret"), earlier)
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The error for these settings without a stored registration.
    fn problem(github: &Github, pairs: &[(&str, &str)]) -> String {
        let data = tempfile::tempdir().unwrap();
        let failure = find(github, data.path(), &variables(pairs)).unwrap_err();
        failure.message.replace(&data.path().display().to_string(), "<data>")
    }

    #[test]
    fn a_stored_registration_is_found_and_readable_by_its_owner_only() {
        let data = tempfile::tempdir().unwrap();
        assert!(find(&Github::default(), data.path(), &[]).unwrap().is_none());
        keep_one(data.path(), 12, ExistingApp::Keep).unwrap();
        let app = find(&Github::default(), data.path(), &[]).unwrap().unwrap();
        assert_eq!(app.card, card(12));
        assert_eq!(
            (app.key.expose(), app.secrets[0].expose(), app.secrets.len()),
            ("the key 12\n", "the secret 12", 1)
        );
        assert!(!format!("{app:?}").contains("the secret"));
        let folder = folder(data.path());
        for name in ["", CARD, KEY, SECRET] {
            assert!(!is_open_to_others(&folder.join(name)), "{name}");
        }
    }

    #[test]
    fn an_app_is_never_lost_to_another() {
        let data = tempfile::tempdir().unwrap();
        keep_one(data.path(), 1, ExistingApp::Replace).unwrap();
        let refused = keep_one(data.path(), 2, ExistingApp::Keep).unwrap_err();
        assert!(refused.message.contains("already registered"), "{refused}");
        assert_eq!(kept(data.path()).unwrap().unwrap().id, 1);
        keep_one(data.path(), 2, ExistingApp::Replace).unwrap();
        keep_one(data.path(), 3, ExistingApp::Replace).unwrap();
        assert_eq!(kept(data.path()).unwrap().unwrap().id, 3);
        let key = |folder: &str| fs::read_to_string(data.path().join(folder).join(KEY)).unwrap();
        assert_eq!(
            (key("github.before-1"), key("github.before-2")),
            ("the key 1\n".to_owned(), "the key 2\n".to_owned())
        );
    }

    #[test]
    fn a_registration_half_written_at_a_crash_is_ignored() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join("github.new")).unwrap();
        fs::write(data.path().join("github.new").join(KEY), "half").unwrap();
        assert!(find(&Github::default(), data.path(), &[]).unwrap().is_none());
        keep_one(data.path(), 1, ExistingApp::Keep).unwrap();
        assert!(!data.path().join("github.new").exists());
    }

    #[test]
    fn an_app_without_key_or_secret_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("k.pem");
        fs::write(&key, "the key").unwrap();
        let with_id = Github { app_id: Some(7), ..Github::default() };
        let with_key = Github { private_key_file: Some(key.clone()), ..with_id.clone() };
        assert_snapshot!(problem(&with_id, &[(github::SECRET, "s")]), @"the private key of the GitHub App is not in `<data>/github/private-key.pem`");
        assert_snapshot!(problem(&with_key, &[]), @"the GitHub App has no webhook secret: it is neither in `TOLLGATE_GITHUB_WEBHOOK_SECRET` nor in `<data>/github/webhook-secret`");
        assert!(problem(&with_key, &[(github::SECRET, " ")]).contains("no webhook secret"));
        let without_id = Github { app_id: None, ..with_key.clone() };
        assert_snapshot!(problem(&without_id, &[]), @"`github` names files of an app, but `github.app_id` is not set");
        let pairs = variables(&[(github::SECRET, "new"), (github::OLD_SECRET, "old")]);
        let app = find(&with_key, folder.path(), &pairs).unwrap().unwrap();
        let secrets: Vec<&str> = app.secrets.iter().map(Secret::expose).collect();
        assert_eq!((app.card.id, app.card.slug, secrets), (7, None, vec!["new", "old"]));
    }

    #[test]
    fn the_configuration_overrides_the_stored_registration() {
        let data = tempfile::tempdir().unwrap();
        keep_one(data.path(), 12, ExistingApp::Keep).unwrap();
        let of = |app_id: u64| {
            let github = Github { app_id: Some(app_id), ..Github::default() };
            find(&github, data.path(), &[]).unwrap().unwrap().card
        };
        assert_eq!(of(12), card(12));
        assert_eq!((of(13).id, of(13).slug), (13, None));
        let moved = Github { public_url: Some("https://moved.example".to_owned()), ..Github::default() };
        let card = find(&moved, data.path(), &[]).unwrap().unwrap().card;
        assert_eq!((card.id, card.public_url), (12, moved.public_url));
        fs::write(folder(data.path()).join(CARD), "{").unwrap();
        assert!(find(&Github::default(), data.path(), &[]).unwrap_err().message.contains("cannot be read"));
    }
}
