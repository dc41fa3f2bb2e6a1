//! Adopts the few safe values of git's configuration and disables configured filters.
//!
//! Filters that the repository configures (`filter.<any name>.clean`) would run on a comparison with the working tree;
//! each is found by its name and emptied. From the operator's own files we take line endings, ignored files, and
//! trusted directories of other users. Git is asked only when one of the files contains such a key: most do not, and a
//! git process costs more than reading them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{ConfigFiles, Environment, Git};
use crate::failure::Failure;

/// A configuration file without any of these words cannot affect us.
const WORDS: [&str; 6] = ["filter", "include", "autocrlf", "eol", "excludesfile", "safecrlf"];
/// A larger configuration file is not searched; git is asked instead.
const MAX_LOOKED_AT: u64 = 1024 * 1024;

/// One entry of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// The scope of the file: `system`, `global`, `local`, `worktree`.
    pub(crate) scope: String,
    /// The key, section and name in lower case.
    pub(crate) key: String,
    /// The value.
    pub(crate) value: String,
}

impl Value {
    /// True for entries of the operator's own files; others can write to the repository's.
    pub(crate) fn is_operators(&self) -> bool {
        self.scope == "global" || self.scope == "system"
    }
}

impl Git {
    /// Empties the repository's filters and adopts the operator's plain values.
    ///
    /// `git_dirs` are the directories with the repository's own configuration.
    pub(crate) fn adopt_settings(&mut self, git_dirs: &[&Path]) -> Result<(), Failure> {
        let own = git_dirs.iter().flat_map(|dir| [dir.join("config"), dir.join("config.worktree")]);
        let files: Vec<PathBuf> = own.chain(operators_files(&self.environment)).collect();
        // Every repository has `config`; if it is elsewhere, only git can find it.
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
            // The repository's own value wins over the operator's; an override would reverse that.
            self.forget(key);
        }
    }

    fn forget(&mut self, key: &str) {
        self.overrides.retain(|(known, _)| known != key);
    }

    /// All values of the matching keys in the operator's and the repository's files, each with its scope. The last one
    /// wins.
    pub(crate) fn values(&self, pattern: &str) -> Result<Vec<Value>, Failure> {
        let args = ["config", "--null", "--includes", "--show-scope", "--get-regexp", pattern];
        let answer = Self { config_files: ConfigFiles::Operators, ..self.clone() }.ask(&args)?;
        // The command also fails when nothing matches, but then without an error message.
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

    /// The operator's `safe.directory` entries.
    pub(crate) fn trusted_folders(&self) -> Result<Vec<String>, Failure> {
        let args = ["config", "--null", "--global", "--includes", "--get-all", "safe.directory"];
        let answer = Self { config_files: ConfigFiles::Operators, ..self.clone() }.ask(&args)?;
        let values = answer.stdout.split(|&byte| byte == 0).filter(|value| !value.is_empty());
        Ok(values.map(|value| String::from_utf8_lossy(value).into_owned()).collect())
    }

    /// Adds `safe.directory` entries.
    pub(crate) fn trust(&mut self, folders: Vec<String>) {
        self.overrides.extend(folders.into_iter().map(|folder| ("safe.directory".to_owned(), folder)));
    }
}

/// The paths of the operator's configuration files.
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
