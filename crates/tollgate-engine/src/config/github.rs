//! The GitHub instance and the app.
//!
//! ```toml
//! [github]
//! app_id = 12345
//! private_key_file = "/etc/tollgate/app.pem"
//! webhook_secret_file = "/etc/tollgate/webhook-secret"
//! public_url = "https://tollgate.example"
//! ```
//!
//! Only the operator may set it: a repository's own file must not redirect the app's key. `tollgate github setup` creates
//! an app and stores its credentials in the data folder, so that nothing has to be set here. Secrets are never read from
//! this file: it names the files that hold them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::file::within;

/// The public GitHub.
pub const URL: &str = "https://github.com";
/// The variable that holds the secret which signs deliveries, instead of a file.
pub const SECRET: &str = "TOLLGATE_GITHUB_WEBHOOK_SECRET";
/// The variable that holds the previous secret during a rotation.
pub const OLD_SECRET: &str = "TOLLGATE_GITHUB_WEBHOOK_SECRET_OLD";

/// The GitHub instance and the app. Never set in a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GithubPart {
    /// The web URL; another than `https://github.com` for GitHub Enterprise.
    #[serde(deserialize_with = "site")]
    pub url: Option<String>,
    /// The API URL, if it is not the default.
    #[serde(deserialize_with = "address")]
    pub api_url: Option<String>,
    /// The app ID.
    #[serde(deserialize_with = "within::<_, 1, 9_223_372_036_854_775_807>")]
    #[schemars(range(min = 1))]
    pub app_id: Option<u64>,
    /// The slug of the app, for mentions with `@`; fetched from GitHub by default.
    #[serde(deserialize_with = "slug")]
    pub slug: Option<String>,
    /// The file that holds the app's private key.
    pub private_key_file: Option<String>,
    /// The file that holds the secret which signs deliveries.
    pub webhook_secret_file: Option<String>,
    /// The name of the check run; the name of the bot in lower case by default.
    #[serde(deserialize_with = "check_name")]
    #[schemars(length(min = 1, max = 100))]
    pub check_name: Option<String>,
    /// The public URL of this server.
    #[serde(deserialize_with = "anywhere")]
    pub public_url: Option<String>,
    /// Whether threads of resolved findings are resolved, too. Requires write access to the contents of the repository.
    pub resolve_threads: Option<bool>,
    /// The number of pull requests that are processed concurrently.
    #[serde(deserialize_with = "within::<_, 1, 64>")]
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: Option<u64>,
    /// The concurrency limit per repository, on all machines together; 0 for no limit.
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    #[schemars(range(max = 10_000))]
    pub concurrency_per_repository: Option<u64>,
    /// The concurrency limit per installation, on all machines together; 0 for no limit.
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    #[schemars(range(max = 10_000))]
    pub concurrency_per_installation: Option<u64>,
    /// The quota of reviews with models per repository in 24 hours; 0 for no limit.
    #[serde(deserialize_with = "within::<_, 0, 1_000_000>")]
    #[schemars(range(max = 1_000_000))]
    pub model_reviews_per_repository: Option<u64>,
    /// The same quota per author, in all repositories of an installation; 0 for no limit.
    #[serde(deserialize_with = "within::<_, 0, 1_000_000>")]
    #[schemars(range(max = 1_000_000))]
    pub model_reviews_per_author: Option<u64>,
}

/// The GitHub instance and the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Github {
    /// The web URL, without a slash at the end.
    pub url: String,
    /// The API URL, if it was set.
    pub api_url: Option<String>,
    /// The app ID, if it was set.
    pub app_id: Option<u64>,
    /// The slug of the app, if it was set.
    pub slug: Option<String>,
    /// The file that holds the app's private key, if it was set.
    pub private_key_file: Option<PathBuf>,
    /// The file that holds the secret which signs deliveries, if it was set.
    pub webhook_secret_file: Option<PathBuf>,
    /// The name of the check run, if it was set.
    pub check_name: Option<String>,
    /// The public URL of this server.
    pub public_url: Option<String>,
    /// True to resolve the threads of resolved findings.
    pub resolve_threads: bool,
    /// The number of pull requests that are processed concurrently.
    pub concurrency: usize,
    /// The concurrency limit per repository, on all machines together; 0 for no limit.
    pub concurrency_per_repository: u32,
    /// The concurrency limit per installation, on all machines together; 0 for no limit.
    pub concurrency_per_installation: u32,
    /// The quota of reviews with models per repository in 24 hours; 0 for no limit.
    pub model_reviews_per_repository: u32,
    /// The same quota per author, in all repositories of an installation; 0 for no limit.
    pub model_reviews_per_author: u32,
}

impl Default for Github {
    fn default() -> Self {
        Self {
            url: URL.to_owned(),
            api_url: None,
            app_id: None,
            slug: None,
            private_key_file: None,
            webhook_secret_file: None,
            check_name: None,
            public_url: None,
            resolve_threads: false,
            concurrency: 2,
            concurrency_per_repository: 0,
            concurrency_per_installation: 0,
            model_reviews_per_repository: 500,
            model_reviews_per_author: 100,
        }
    }
}

impl Github {
    /// The name of the check run: the one that was set, or that of the bot in lower case.
    pub fn check_name(&self, bot: &str) -> String {
        self.check_name.clone().unwrap_or_else(|| bot.to_lowercase())
    }

    pub(super) fn take(&mut self, part: &GithubPart) {
        let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
        self.url = part.url.clone().unwrap_or_else(|| std::mem::take(&mut self.url));
        self.api_url = part.api_url.clone().or(self.api_url.take());
        self.app_id = part.app_id.or(self.app_id);
        self.slug = part.slug.clone().or(self.slug.take());
        self.private_key_file = path(&part.private_key_file).or(self.private_key_file.take());
        self.webhook_secret_file = path(&part.webhook_secret_file).or(self.webhook_secret_file.take());
        self.check_name = part.check_name.clone().or(self.check_name.take());
        self.public_url = part.public_url.clone().or(self.public_url.take());
        self.resolve_threads = part.resolve_threads.unwrap_or(self.resolve_threads);
        let number = part.concurrency.and_then(|number| usize::try_from(number).ok());
        self.concurrency = number.unwrap_or(self.concurrency);
        let daily = |set: Option<u64>, before| set.and_then(|number| u32::try_from(number).ok()).unwrap_or(before);
        self.concurrency_per_repository = daily(part.concurrency_per_repository, self.concurrency_per_repository);
        self.concurrency_per_installation = daily(part.concurrency_per_installation, self.concurrency_per_installation);
        self.model_reviews_per_repository = daily(part.model_reviews_per_repository, self.model_reviews_per_repository);
        self.model_reviews_per_author = daily(part.model_reviews_per_author, self.model_reviews_per_author);
    }
}

/// Parses a URL to which a key is sent: HTTPS, unless it is a loopback address.
pub fn parse_site(text: &str) -> Result<String, String> {
    let url = parse_address(text)?;
    let host = url.split("://").nth(1).unwrap_or_default();
    if host.contains('/') {
        return Err("expected an address without a path, as `https://github.example`".to_owned());
    }
    Ok(url)
}

/// Parses the public URL of this server; HTTP is fine, since deliveries are signed.
pub fn parse_public(text: &str) -> Result<String, String> {
    let url = text.trim().trim_end_matches('/');
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = host.map(|rest| rest.split('/').next().unwrap_or_default());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    match host {
        Some(host) if !host.is_empty() && url.len() <= 500 && url.bytes().all(is_plain) => Ok(url.to_owned()),
        _ => Err("expected an address that begins with `https://` or `http://`, and nothing after the path".to_owned()),
    }
}

fn parse_address(text: &str) -> Result<String, String> {
    let url = parse_public(text)?;
    let Some(rest) = url.strip_prefix("http://") else { return Ok(url) };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = if authority.starts_with('[') { authority.split(']').next() } else { authority.split(':').next() };
    if ["127.0.0.1", "localhost", "[::1"].contains(&host.unwrap_or_default()) {
        Ok(url)
    } else {
        Err("expected an address that begins with `https://`; only this machine is spoken to in the open".to_owned())
    }
}

fn site<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parse_site(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parse_address(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

fn anywhere<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parse_public(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

fn slug<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let slug = String::deserialize(from)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=100).contains(&slug.len()) && slug.bytes().all(is_plain) && !slug.starts_with('-') {
        Ok(Some(slug))
    } else {
        Err(D::Error::custom("expected the name of an app as it stands in its address: letters, digits, `-`"))
    }
}

// Branch protection rules name it, so it is plain text.
fn check_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    let is_plain = |character: char| character.is_alphanumeric() || " -_./".contains(character);
    if (1..=100).contains(&name.chars().count()) && name.trim() == name && name.chars().all(is_plain) {
        Ok(Some(name))
    } else {
        Err(D::Error::custom("expected a name of 1 to 100 letters, digits, ` `, `-`, `_`, `.`, `/`"))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::config::{Layer, Settings, load_at};

    fn own(text: &str) -> Result<Settings, crate::failure::Failure> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tollgate")).unwrap();
        std::fs::write(folder.path().join("tollgate/config.toml"), text).unwrap();
        load_at(None, Some(folder.path()), &[], Layer::default())
    }

    #[track_caller]
    fn check(text: &str, url: &str, api_url: Option<&str>) {
        let github = own(text).unwrap().github;
        assert_eq!((github.url.as_str(), github.api_url.as_deref()), (url, api_url), "{text}");
    }

    #[test]
    fn github_is_where_most_peoples_is_unless_somebody_says_otherwise() {
        check("", "https://github.com", None);
        check("github.url = 'https://git.example/'", "https://git.example", None);
        check("github.url = 'http://127.0.0.1:8080'", "http://127.0.0.1:8080", None);
        check("github.api_url = 'http://[::1]:1/x/'", "https://github.com", Some("http://[::1]:1/x"));
    }

    #[test]
    fn a_key_is_not_sent_in_the_open() {
        let wrong = |text: &str| own(text).unwrap_err().message.split_once(": ").unwrap().1.to_owned();
        for address in ["http://git.example", "http://127.0.0.1.example", "http://localhost.example:80"] {
            assert!(wrong(&format!("github.url = '{address}'")).contains("`https://`"), "{address}");
            assert!(wrong(&format!("github.api_url = '{address}'")).contains("`https://`"), "{address}");
        }
        for address in ["ftp://x", "https://", "https://u:p@x", "https://x?y", "https://x/#y", "https://x y", "x"] {
            assert!(wrong(&format!("github.url = '{address}'")).contains("expected an address"), "{address}");
            assert!(wrong(&format!("github.public_url = '{address}'")).contains("expected an address"), "{address}");
        }
        assert_snapshot!(wrong("github.url = 'https://git.example/x'"), @"expected an address without a path, as `https://github.example`");
        assert_eq!(
            own("github.public_url = 'http://tollgate.example/x/'").unwrap().github.public_url.unwrap(),
            "http://tollgate.example/x"
        );
    }

    #[test]
    fn variables_name_everything_but_secrets() {
        let variables = [
            ("TOLLGATE_GITHUB_APP_ID", "12"),
            ("TOLLGATE_GITHUB_URL", "https://git.example"),
            ("TOLLGATE_GITHUB_PRIVATE_KEY_FILE", "/k.pem"),
            ("TOLLGATE_GITHUB_CONCURRENCY", "3"),
            ("TOLLGATE_GITHUB_CONCURRENCY_PER_REPOSITORY", "4"),
            ("TOLLGATE_GITHUB_CONCURRENCY_PER_INSTALLATION", "5"),
            ("TOLLGATE_GITHUB_MODEL_REVIEWS_PER_REPOSITORY", "0"),
            ("TOLLGATE_GITHUB_MODEL_REVIEWS_PER_AUTHOR", "7"),
            (SECRET, "not to be shown"),
            (OLD_SECRET, "not to be shown"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let settings = load_at(None, None, &variables, Layer::default()).unwrap();
        let github = &settings.github;
        assert_eq!((github.app_id, github.url.as_str(), github.concurrency), (Some(12), "https://git.example", 3));
        assert_eq!((github.concurrency_per_repository, github.concurrency_per_installation), (4, 5));
        assert_eq!((github.model_reviews_per_repository, github.model_reviews_per_author), (0, 7));
        assert_eq!(github.private_key_file, Some(PathBuf::from("/k.pem")));
        assert!(!format!("{settings:?}").contains("not to be shown"));
        let key = settings.shown.iter().find(|shown| shown.key == "github.app_id").unwrap();
        assert_eq!((key.value.as_str(), key.source.as_str()), ("12", "TOLLGATE_GITHUB_APP_ID"));
    }

    #[test]
    fn a_secret_itself_is_refused_in_the_file() {
        let said = own("github.webhook_secret = 'x'").unwrap_err();
        assert!(said.message.contains("looks like a secret"), "{said}");
    }

    #[test]
    fn a_repository_cannot_say_which_app_is_ours() {
        let failure = load_at(Some(b"[github]\nurl = 'https://evil.example'\n".into()), None, &[], Layer::default());
        let failure = failure.unwrap_err();
        assert_snapshot!(failure.message, @".tollgate.toml: `github` cannot be set in a repository, whose author could then have the app's key sent elsewhere");
        assert_snapshot!(failure.hint.unwrap(), @"Set it in your own `~/.config/tollgate/config.toml`, or with `TOLLGATE_GITHUB_*` variables.");
    }

    #[test]
    fn the_check_is_called_as_the_bot_unless_somebody_says_otherwise() {
        assert_eq!(Github::default().check_name("Kodiai"), "kodiai");
        assert_eq!(own("github.check_name = 'gate / review'").unwrap().github.check_name("Kodiai"), "gate / review");
        for wrong in ["''", "' x'", "'a\"b'", "'<b>'"] {
            assert!(own(&format!("github.check_name = {wrong}")).is_err(), "{wrong}");
        }
        for wrong in [
            "app_id = 0",
            "app_id = 'x'",
            "slug = '-x'",
            "slug = 'a/b'",
            "concurrency = 0",
            "concurrency_per_repository = -1",
            "concurrency_per_installation = 10001",
            "model_reviews_per_author = -1",
        ] {
            assert!(own(&format!("[github]\n{wrong}")).is_err(), "{wrong}");
        }
    }
}
