//! The app that we are at GitHub: what is kept of it on this machine.
//!
//! Made by `tollgate github setup`, all of it is in one folder that only its owner can read. Made by hand, its number is in
//! the configuration, which also says where its key and its secret are.
//!
//! ```text
//! <data>/github/app.json          {"id": 12, "slug": "tollgate-ada", "html_url": "…", "url": "https://github.com"}
//! <data>/github/private-key.pem
//! <data>/github/webhook-secret
//! ```
//!
//! Nothing here talks to anybody.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::host::Hidden;
use crate::config::{Github, github};
use crate::failure::Failure;

mod failure;
mod manifest;

pub use manifest::{EVENTS, PERMISSIONS, Permission, Wish, WishError, lacking};

/// The names of the files.
const CARD: &str = "app.json";
const KEY: &str = "private-key.pem";
const SECRET: &str = "webhook-secret";
/// A larger file is none of ours.
const MAX_BYTES: u64 = 64 * 1024;

/// The app that we are.
#[derive(Debug, Clone)]
pub struct OwnApp {
    /// What everybody may know of it.
    pub card: Card,
    /// Its private key.
    pub key: Hidden,
    /// Where that is.
    pub key_file: PathBuf,
    /// What signs its deliveries: one, or two while they change places.
    pub secrets: Vec<Hidden>,
    /// Where the first of them is, for people.
    pub secret_from: String,
}

/// What everybody may know of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Its number.
    pub id: u64,
    /// Its name in addresses, which people put behind `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html_url: Option<String>,
    /// The GitHub that it belongs to.
    pub url: String,
    /// The interface of that GitHub, where it is not where it usually is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,
    /// Where GitHub reaches us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

impl Card {
    /// The page on which the app is installed in repositories.
    #[must_use]
    pub fn install_url(&self) -> Option<String> {
        Some(format!("{}/installations/new", self.html_url.as_ref()?))
    }
}

/// What to do with an app that is kept already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// It stays, and another one is refused.
    Stays,
    /// It is put aside.
    PutAside,
}

/// Where an app is kept.
#[must_use]
pub fn folder(data: &Path) -> PathBuf {
    data.join("github")
}

/// The app that we are; `None` when nobody set one up. An app without its key or its secret is a mistake.
pub fn find(github: &Github, data: &Path, variables: &[(String, String)]) -> Result<Option<OwnApp>, Failure> {
    let kept = kept(data)?;
    let card = match (github.app_id, kept) {
        (Some(id), kept) => of_settings(id, github, kept),
        (None, Some(kept)) => Card { public_url: github.public_url.clone().or(kept.public_url), ..kept },
        (None, None) if names_files(github) => return Err(failure::no_app_id()),
        (None, None) => return Ok(None),
    };
    let key_file = github.private_key_file.clone().unwrap_or_else(|| folder(data).join(KEY));
    let key = read(&key_file)?.ok_or_else(|| failure::no_key(&key_file))?;
    let (secrets, secret_from) = secrets(github, data, variables)?;
    Ok(Some(OwnApp { card, key: Hidden::new(key), key_file, secrets, secret_from }))
}

/// What is known of the app that is kept, if there is one.
pub fn kept(data: &Path) -> Result<Option<Card>, Failure> {
    let path = folder(data).join(CARD);
    let Some(text) = read(&path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| failure::not_a_card(&path, &error.to_string()))
}

/// True when others than its owner can read a file.
#[must_use]
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

/// Keeps an app: all of it, or nothing. An earlier one is never deleted.
pub fn keep(data: &Path, card: &Card, key: &Hidden, secret: &Hidden, earlier: Earlier) -> Result<(), Failure> {
    let (folder, fresh) = (folder(data), data.join("github.new"));
    let wrong = |error: io::Error| failure::cannot_keep(&folder, &error);
    if earlier == Earlier::Stays && folder.exists() {
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
    if earlier == Earlier::PutAside && folder.exists() {
        fs::rename(&folder, aside(data)).map_err(wrong)?;
    }
    // A folder with something in it is not replaced by this: of two that make an app at once the second is refused.
    match fs::rename(&fresh, &folder) {
        Err(error) if [ErrorKind::DirectoryNotEmpty, ErrorKind::AlreadyExists].contains(&error.kind()) => {
            Err(failure::is_there(&folder))
        }
        renamed => renamed.and_then(|()| sync(data)).map_err(wrong),
    }
}

/// A name that is free, for what was there before.
fn aside(data: &Path) -> PathBuf {
    let numbered = (1_u32..).map(|number| data.join(format!("github.before-{number}")));
    numbered.into_iter().find(|path| !path.exists()).unwrap_or_else(|| data.join("github.before"))
}

/// The app whose number the configuration has; what is kept of the same one says the rest.
fn of_settings(id: u64, github: &Github, kept: Option<Card>) -> Card {
    let same = kept.filter(|kept| kept.id == id);
    let slug = github.slug.clone().or_else(|| same.as_ref()?.slug.clone());
    let public_url = github.public_url.clone().or_else(|| same.as_ref()?.public_url.clone());
    let html_url = same.and_then(|kept| kept.html_url);
    Card { id, slug, html_url, url: github.url.clone(), api_url: github.api_url.clone(), public_url }
}

fn names_files(github: &Github) -> bool {
    github.private_key_file.is_some() || github.webhook_secret_file.is_some()
}

/// What signs deliveries, and where it was found.
fn secrets(github: &Github, data: &Path, variables: &[(String, String)]) -> Result<(Vec<Hidden>, String), Failure> {
    let variable = |name: &str| {
        let value = variables.iter().find(|(found, _)| found == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty()).map(|value| Hidden::new(value.to_owned()))
    };
    let path = github.webhook_secret_file.clone().unwrap_or_else(|| folder(data).join(SECRET));
    let (current, from) = match variable(github::SECRET) {
        Some(secret) => (secret, format!("the variable `{}`", github::SECRET)),
        None => {
            let text = read(&path)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            let text = text.ok_or_else(|| failure::no_secret(&path))?;
            (Hidden::new(text), path.display().to_string())
        }
    };
    Ok((std::iter::once(current).chain(variable(github::OLD_SECRET)).collect(), from))
}

/// The text of a file of the operator's; `None` when it is not there.
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

/// Writes a file that never exists with other rights than its owner's.
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

/// Has the names in a folder on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn card(id: u64) -> Card {
        let text = |text: &str| Some(text.to_owned());
        Card {
            id,
            slug: text("tollgate-ada"),
            html_url: text("https://github.com/apps/tollgate-ada"),
            url: github::URL.to_owned(),
            api_url: None,
            public_url: text("https://tollgate.example"),
        }
    }

    fn keep_one(data: &Path, id: u64, earlier: Earlier) -> Result<(), Failure> {
        let hidden = |text: &str| Hidden::new(format!("{text} {id}"));
        keep(data, &card(id), &hidden("the key"), &hidden("the secret"), earlier)
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// What is wrong when the settings are these and nothing is kept.
    fn problem(github: &Github, pairs: &[(&str, &str)]) -> String {
        let data = tempfile::tempdir().unwrap();
        let failure = find(github, data.path(), &variables(pairs)).unwrap_err();
        failure.message.replace(&data.path().display().to_string(), "<data>")
    }

    #[test]
    fn what_is_kept_is_found_again_and_only_its_owner_can_read_it() {
        let data = tempfile::tempdir().unwrap();
        assert!(find(&Github::default(), data.path(), &[]).unwrap().is_none());
        keep_one(data.path(), 12, Earlier::Stays).unwrap();
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
        keep_one(data.path(), 1, Earlier::PutAside).unwrap();
        let refused = keep_one(data.path(), 2, Earlier::Stays).unwrap_err();
        assert!(refused.message.contains("an app is kept"), "{refused}");
        assert_eq!(kept(data.path()).unwrap().unwrap().id, 1);
        keep_one(data.path(), 2, Earlier::PutAside).unwrap();
        keep_one(data.path(), 3, Earlier::PutAside).unwrap();
        assert_eq!(kept(data.path()).unwrap().unwrap().id, 3);
        let key = |folder: &str| fs::read_to_string(data.path().join(folder).join(KEY)).unwrap();
        assert_eq!(
            (key("github.before-1"), key("github.before-2")),
            ("the key 1\n".to_owned(), "the key 2\n".to_owned())
        );
    }

    #[test]
    fn what_was_half_written_when_the_machine_went_down_is_no_app() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join("github.new")).unwrap();
        fs::write(data.path().join("github.new").join(KEY), "half").unwrap();
        assert!(find(&Github::default(), data.path(), &[]).unwrap().is_none());
        keep_one(data.path(), 1, Earlier::Stays).unwrap();
        assert!(!data.path().join("github.new").exists());
    }

    #[test]
    fn an_app_without_its_key_or_its_secret_is_a_mistake() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("k.pem");
        fs::write(&key, "the key").unwrap();
        let with_id = Github { app_id: Some(7), ..Github::default() };
        let with_key = Github { private_key_file: Some(key.clone()), ..with_id.clone() };
        assert_snapshot!(problem(&with_id, &[(github::SECRET, "s")]), @"the private key of the GitHub App is not in `<data>/github/private-key.pem`");
        assert_snapshot!(problem(&with_key, &[]), @"the GitHub App has no webhook secret: it is neither in `TOLLGATE_GITHUB_WEBHOOK_SECRET` nor in `<data>/github/webhook-secret`");
        assert!(problem(&with_key, &[(github::SECRET, " ")]).contains("no webhook secret"));
        let without_id = Github { app_id: None, ..with_key.clone() };
        assert_snapshot!(problem(&without_id, &[]), @"`github` names files of an app, and not its number");
        let pairs = variables(&[(github::SECRET, "new"), (github::OLD_SECRET, "old")]);
        let app = find(&with_key, folder.path(), &pairs).unwrap().unwrap();
        let secrets: Vec<&str> = app.secrets.iter().map(Hidden::expose).collect();
        assert_eq!((app.card.id, app.card.slug, secrets), (7, None, vec!["new", "old"]));
    }

    #[test]
    fn the_configuration_goes_before_what_is_kept_and_knows_its_own_app() {
        let data = tempfile::tempdir().unwrap();
        keep_one(data.path(), 12, Earlier::Stays).unwrap();
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
