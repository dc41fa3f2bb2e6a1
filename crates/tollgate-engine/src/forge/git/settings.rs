//! What of the operator's and the repository's configuration matters to us.
//!
//! Filters that the repository configures (`filter.<any name>.clean`) would run
//! on a comparison with the working tree, whatever their name; they are found
//! by name and emptied. From the operator's own files we take how lines end,
//! what to ignore, and which folders of other users to trust. Git is asked only
//! when one of the files mentions such a thing at all: most do not, and a git
//! process costs more than reading them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{ConfigFiles, Environment, Git};
use crate::failure::Failure;

/// Words without which a configuration file cannot change what we do.
const WORDS: [&str; 6] = ["filter", "include", "autocrlf", "eol", "excludesfile", "safecrlf"];
/// A larger configuration file is asked about without looking.
const MAX_LOOKED_AT: u64 = 1024 * 1024;

/// One line of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// Whose file it is.
    pub(crate) scope: String,
    /// What is set, section and name in lower case.
    pub(crate) key: String,
    /// What to.
    pub(crate) value: String,
}

impl Value {
    /// True when the operator wrote it, and not somebody with access to the repository.
    pub(crate) fn is_operators(&self) -> bool {
        self.scope == "global" || self.scope == "system"
    }
}

impl Git {
    /// Empties the repository's filters and takes over the operator's plain values.
    ///
    /// `git_dirs` are the folders that hold the repository's own configuration.
    pub fn adopt_settings(&mut self, git_dirs: &[&Path]) -> Result<(), Failure> {
        let own = git_dirs.iter().flat_map(|dir| [dir.join("config"), dir.join("config.worktree")]);
        let files: Vec<PathBuf> = own.chain(operators_files(&self.environment)).collect();
        // Every repository has the first; when it is not where it should be, git knows better than we do.
        let found = git_dirs.iter().any(|dir| dir.join("config").is_file());
        if found && !files.iter().any(|file| mentions(file)) {
            return Ok(());
        }
        let pattern = r"^(filter\..*|core\.(autocrlf|eol|excludesfile|safecrlf))$";
        for Value { scope, key, value } in self.values(pattern)? {
            self.adopt(&scope, &key, &value);
        }
        Ok(())
    }

    fn adopt(&mut self, scope: &str, key: &str, value: &str) {
        if let Some(name) = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')).map(|(name, _)| name) {
            for (part, empty) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                let neutral = (format!("filter.{name}.{part}"), empty.to_owned());
                if !self.overrides.contains(&neutral) {
                    self.overrides.push(neutral);
                }
            }
        } else if scope == "global" || scope == "system" {
            self.forget(key);
            self.overrides.push((key.to_owned(), value.to_owned()));
        } else {
            // The repository's own value wins over the operator's, and an override would turn that round.
            self.forget(key);
        }
    }

    fn forget(&mut self, key: &str) {
        self.overrides.retain(|(known, _)| known != key);
    }

    /// All values of the keys that match, of the operator's files and the repository's, each with where it stands:
    /// `system`, `global`, `local`, `worktree`. The last of several holds.
    pub(crate) fn values(&self, pattern: &str) -> Result<Vec<Value>, Failure> {
        let args = ["config", "--null", "--includes", "--show-scope", "--get-regexp", pattern];
        let answer = Self { config_files: ConfigFiles::Operators, ..self.clone() }.ask(&args)?;
        // It also fails when nothing matches, but then without a word.
        if !answer.ok && answer.stderr.contains("fatal:") {
            return Err(self.explain(&args, &answer.stderr));
        }
        let mut fields = answer.stdout.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        let mut values = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            values.push(Value { scope: scope.into_owned(), key: key.to_owned(), value: value.to_owned() });
        }
        Ok(values)
    }

    /// The folders of other users that the operator trusts.
    pub(crate) fn trusted_folders(&self) -> Result<Vec<String>, Failure> {
        let args = ["config", "--null", "--global", "--includes", "--get-all", "safe.directory"];
        let answer = Self { config_files: ConfigFiles::Operators, ..self.clone() }.ask(&args)?;
        let values = answer.stdout.split(|&byte| byte == 0).filter(|value| !value.is_empty());
        Ok(values.map(|value| String::from_utf8_lossy(value).into_owned()).collect())
    }

    /// Trusts these folders although they belong to other users.
    pub(crate) fn trust(&mut self, folders: Vec<String>) {
        self.overrides.extend(folders.into_iter().map(|folder| ("safe.directory".to_owned(), folder)));
    }
}

/// The files in which the operator's configuration can stand.
fn operators_files(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.home.as_ref().map(PathBuf::from);
    let below_home = home.as_ref().map(|home| home.join(".config"));
    let config_home = environment.config_home.clone().filter(|home: &OsString| !home.is_empty()).map(PathBuf::from);
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(config_home.or(below_home).map(|home| home.join("git/config")));
    files
}

fn mentions(file: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(file) else {
        return false;
    };
    if metadata.len() > MAX_LOOKED_AT {
        return true;
    }
    let Ok(text) = std::fs::read(file) else {
        return true;
    };
    let text = text.to_ascii_lowercase();
    WORDS.iter().any(|word| text.windows(word.len()).any(|window| window == word.as_bytes()))
}
