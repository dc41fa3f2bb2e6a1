//! Pull requests on a forge as data: webhook events, bot commands, and the comments and checks of a review.
//!
//! ```text
//! delivery ─► WebhookEvent ─► (job) ─► Review ─► Surface: summary, inline comments, check run
//! ```
//!
//! [`Repo`] and [`PullRef`] are validated names that are safe in URLs. The network client is outside this crate.

pub mod anchor;
pub mod check_run;
pub mod command;
#[cfg(test)]
mod hostile;
pub mod inline_comment;
mod link;
pub mod marker;
pub mod not_reviewed;
pub mod reply;
#[cfg(test)]
pub(crate) mod sample;
pub mod surface;
pub mod webhook_event;

use std::fmt;

use crate::visible::visible;

/// The longest name of an owner and of a repository.
const MAX_OWNER: usize = 39;
const MAX_NAME: usize = 100;

/// A repository on a forge: `owner/name`.
///
/// Comparison ignores case, as forges do; the spelling is kept.
#[derive(Debug, Clone)]
pub struct Repo {
    owner: String,
    name: String,
}

/// A text is not a repository name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the name of a repository, which is `owner/name`", visible(.found))]
pub struct RepoError {
    /// The text.
    pub found: String,
}

impl Repo {
    /// Parses `owner/name`; refuses characters that are special in URLs or file systems.
    pub fn parse(text: &str) -> Result<Self, RepoError> {
        let wrong = || RepoError { found: text.chars().take(200).collect() };
        let (owner, name) = text.split_once('/').ok_or_else(wrong)?;
        let is_owner = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        let is_name = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        let fits = (1..=MAX_OWNER).contains(&owner.len())
            && owner.chars().all(is_owner)
            && !owner.starts_with('-')
            && (1..=MAX_NAME).contains(&name.len())
            && name.chars().all(is_name)
            && !name.starts_with('-')
            && ![".", "..", ".git"].contains(&name.to_ascii_lowercase().as_str());
        if fits { Ok(Self { owner: owner.to_owned(), name: name.to_owned() }) } else { Err(wrong()) }
    }

    /// The owner.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name without the owner.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The normalised form: `owner/name` in lower case.
    #[must_use]
    pub fn key(&self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl PartialEq for Repo {
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl Eq for Repo {}

/// A pull request by its URL: `https://github.com/owner/name/pull/12`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRef {
    /// The base URL of the forge without a final slash: `https://github.com`.
    pub host: String,
    /// The repository.
    pub repo: Repo,
    /// Its number.
    pub number: u64,
}

/// A text is not the URL of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the address of a pull request, as `https://github.com/owner/name/pull/12` is", visible(.found))]
pub struct PullRefError {
    /// The text.
    pub found: String,
}

impl PullRef {
    /// Parses a URL; a suffix behind the number (`/files`, `#issuecomment-1`) is ignored.
    pub fn parse(text: &str) -> Result<Self, PullRefError> {
        let wrong = || PullRefError { found: text.chars().take(200).collect() };
        let (scheme, rest) = text.trim().split_once("://").ok_or_else(wrong)?;
        let mut parts = rest.split('/');
        let mut next = || parts.next().ok_or_else(wrong);
        let (host, owner, name, pull, number) = (next()?, next()?, next()?, next()?, next()?);
        let number = number.split(['#', '?']).next().unwrap_or_default();
        let is_host = |character: char| character.is_ascii_alphanumeric() || "-.:[]".contains(character);
        let fits = ["https", "http"].contains(&scheme) && !host.is_empty() && host.chars().all(is_host);
        if !fits || pull != "pull" || number.starts_with('0') || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let repo = Repo::parse(&format!("{owner}/{name}")).map_err(|_| wrong())?;
        let number = number.parse().map_err(|_| wrong())?;
        Ok(Self { host: format!("{scheme}://{}", host.to_ascii_lowercase()), repo, number })
    }
}

impl fmt::Display for PullRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/pull/{}", self.host, self.repo, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_names_with_special_characters_are_refused() {
        for good in ["a/b", "Octo-Org/hello.world", "octo_cat/_x", "a/b.git", "a/.github"] {
            assert_eq!(Repo::parse(good).map(|repo| repo.to_string()).as_deref(), Ok(good));
        }
        for bad in [
            "", "a", "a/", "/b", "a/b/c", "../x", "a/..", "a/.", "a/.Git", "-a/b", "a/-b", "a b/c", "a/b?c", "ä/b",
            "a/b\n",
        ] {
            assert!(Repo::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Repo::parse(&format!("{}/b", "a".repeat(40))).is_err());
        assert!(Repo::parse(&format!("a/{}", "b".repeat(101))).is_err());
        assert_eq!(Repo::parse("A/b").unwrap(), Repo::parse("a/B").unwrap());
    }

    #[test]
    fn errors_show_invisible_characters() {
        let text = "a\u{1b}[2J\u{202e}\n";
        let said = [
            Repo::parse(text).unwrap_err().to_string(),
            PullRef::parse(text).unwrap_err().to_string(),
            crate::sha::Sha::parse(text).unwrap_err().to_string(),
        ];
        for said in said {
            assert!(said.contains("`a") && !said.contains(crate::visible::is_hidden), "{said:?}");
        }
    }

    #[test]
    fn pull_request_urls_are_parsed() {
        let of = |text: &str| PullRef::parse(text).map(|pull| pull.to_string());
        let plain = "https://github.com/a/b/pull/12";
        for text in [
            plain,
            "https://github.com/a/b/pull/12/files#diff-1",
            "https://GitHub.com/a/b/pull/12?w=1",
            " https://github.com/a/b/pull/12\n",
        ] {
            assert_eq!(of(text).as_deref(), Ok(plain), "{text:?}");
        }
        assert_eq!(of("http://127.0.0.1:8080/a/b/pull/1").as_deref(), Ok("http://127.0.0.1:8080/a/b/pull/1"));
        for bad in [
            "",
            "12",
            "a/b#12",
            "https://github.com/a/b",
            "https://github.com/a/b/issues/1",
            "https://github.com/a/b/pull/",
            "https://github.com/a/b/pull/0",
            "https://github.com/a/b/pull/x",
            "https://u:p@github.com/a/b/pull/1",
            "file:///a/b/pull/1",
            "https://github.com/../b/pull/1",
            "https://github.com/a/b/pull/99999999999999999999",
        ] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
