//! The author of gate commits.

use crate::failure::Failure;
use crate::forge::git::Git;
use crate::forge::project::{Project, Settings};

/// A git author: name and email address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name: `Ada Lovelace`.
    pub name: String,
    /// The email address: `ada@example.com`.
    pub email: String,
}

impl Author {
    /// The author in git's configuration; empty fields are filled by [`Self::written`].
    pub(super) fn configured(settings: &Settings) -> Self {
        let name = settings.name.clone().unwrap_or_default();
        let email = settings.email.clone().unwrap_or_default();
        Self { name, email }
    }

    /// The author of a project's commits.
    pub fn of(project: &Project) -> Result<Self, Failure> {
        Ok(Self::configured(&Settings::read(project.paths())?).written())
    }

    /// The author with characters that git rejects removed, and defaults for empty fields.
    fn written(&self) -> Self {
        Self {
            name: clean(&self.name).unwrap_or_else(|| "tollgate".to_owned()),
            email: clean(&self.email).unwrap_or_else(|| "tollgate@localhost".to_owned()),
        }
    }

    /// Configures git to write commits of this author at this time.
    pub(super) fn sign(&self, git: Git, time: u64) -> Git {
        let Self { name, email } = self.written();
        let date = format!("{time} +0000");
        git.with_variable("GIT_AUTHOR_NAME", &name)
            .with_variable("GIT_AUTHOR_EMAIL", &email)
            .with_variable("GIT_AUTHOR_DATE", &date)
            .with_variable("GIT_COMMITTER_NAME", &name)
            .with_variable("GIT_COMMITTER_EMAIL", &email)
            .with_variable("GIT_COMMITTER_DATE", &date)
    }
}

/// Sanitizes a name for git: one line, no angle brackets, more than punctuation.
fn clean(text: &str) -> Option<String> {
    let kept: String = text.chars().filter(|found| !found.is_control() && !"<>".contains(*found)).take(200).collect();
    kept.chars().any(char::is_alphanumeric).then(|| kept.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(clean(text).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn a_name_cannot_forge_a_line_of_the_commit() {
        check("Ada Lovelace", Some("Ada Lovelace"));
        check("a <b@c>\ncommitter x", Some("a b@ccommitter x"));
        check(" . ", None);
        check("\0\n", None);
        check("", None);
    }
}
