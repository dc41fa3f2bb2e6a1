//! The git configuration that commits depend on: line endings, ignored files, author.
//!
//! The repository's own values win over the operator's, as in git. None of them is a program, except the clean filter
//! of Git LFS, and that only from the operator's own files.

use std::collections::BTreeSet;

use super::GitPaths;
use crate::failure::Failure;
use crate::forge::git::Value;

const PATTERN: &str = concat!(
    r"^(core\.(autocrlf|eol|excludesfile|filemode|symlinks|ignorecase|precomposeunicode)",
    r"|filter\..*\.(clean|process)|(user|author)\.(name|email))$"
);

/// The relevant configuration of a repository and its operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::forge) struct Settings {
    /// Keys and values to pass on.
    pub(in crate::forge) plain: Vec<(String, String)>,
    /// The command of the operator's Git LFS.
    pub(in crate::forge) lfs_clean: Option<String>,
    /// The names of all configured filters.
    pub(in crate::forge) filters: BTreeSet<String>,
    /// The author's name.
    pub(in crate::forge) name: Option<String>,
    /// The author's email address.
    pub(in crate::forge) email: Option<String>,
}

impl Settings {
    /// Reads the configuration of a checkout.
    pub(in crate::forge) fn read(paths: &GitPaths) -> Result<Self, Failure> {
        Ok(Self::of(&paths.git.values(PATTERN)?))
    }

    fn of(values: &[Value]) -> Self {
        let mut settings = Self::default();
        for value in values {
            settings.take(value);
        }
        let last = |key: &str| values.iter().rev().find(|value| value.key == key && !value.value.trim().is_empty());
        let either = |first: &str, second: &str| last(first).or_else(|| last(second)).map(|value| value.value.clone());
        if let Some(clean) = &settings.lfs_clean {
            settings.plain.push(("filter.lfs.clean".to_owned(), clean.clone()));
            settings.plain.push(("filter.lfs.required".to_owned(), "true".to_owned()));
        }
        settings.name = either("author.name", "user.name");
        settings.email = either("author.email", "user.email");
        settings
    }

    fn take(&mut self, value: &Value) {
        if let Some((name, part)) = value.key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')) {
            if !value.value.is_empty() {
                self.filters.insert(name.to_owned());
            }
            if name == "lfs" && part == "clean" && value.is_operators() {
                self.lfs_clean = Some(value.value.clone()).filter(|clean| !clean.is_empty());
            }
        } else if value.key.starts_with("core.") && (value.key != "core.excludesfile" || value.is_operators()) {
            self.plain.retain(|(known, _)| *known != value.key);
            self.plain.push((value.key.clone(), value.value.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[(&str, &str, &str)], expected: &str) {
        let values: Vec<Value> = values
            .iter()
            .map(|(scope, key, value)| Value {
                scope: (*scope).to_owned(),
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        let Settings { plain, filters, name, email, .. } = Settings::of(&values);
        let mut said: Vec<String> = plain.iter().map(|(key, value)| format!("{key}={value}")).collect();
        said.extend(filters.iter().map(|filter| format!("filter {filter}")));
        said.extend(name.map(|name| format!("name {name}")));
        said.extend(email.map(|email| format!("email {email}")));
        assert_eq!(said.join(", "), expected);
    }

    #[test]
    fn the_repository_wins_over_the_operator() {
        check(&[("global", "core.autocrlf", "true"), ("local", "core.autocrlf", "input")], "core.autocrlf=input");
        let names = [("global", "author.name", "a"), ("local", "user.name", "b"), ("global", "user.email", "x@y")];
        check(&names, "name a, email x@y");
    }

    #[test]
    fn only_the_operator_names_programs_and_files() {
        check(
            &[("local", "filter.lfs.clean", "evil"), ("global", "filter.lfs.clean", "git-lfs clean -- %f")],
            "filter.lfs.clean=git-lfs clean -- %f, filter.lfs.required=true, filter lfs",
        );
        check(&[("local", "filter.lfs.clean", "evil")], "filter lfs");
        check(&[("worktree", "filter.x.process", "evil")], "filter x");
        check(&[("local", "core.excludesfile", "/x")], "");
        check(&[("global", "core.excludesfile", "/x")], "core.excludesfile=/x");
    }
}
