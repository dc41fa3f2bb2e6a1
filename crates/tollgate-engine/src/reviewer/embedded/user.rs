//! The user's own rule files, read and bounded; they are compiled in the child.

use std::path::Path;

use tollgate_rules::user::RuleSource;

use crate::failure::{self, Failure};
use crate::tree::{self, Entry};

/// Where the user's rules are, below the top of the repository.
pub const FOLDER: &str = ".tollgate/rules";
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 256 * 1024;
const MAX_DEPTH: usize = 8;

/// Reads every `.yml` and `.yaml` file of the user's rules, in order of their paths.
pub(super) fn read_sources(root: &Path) -> Result<Vec<RuleSource>, Failure> {
    let mut paths = Vec::new();
    list(root, FOLDER, 0, &mut paths)?;
    paths.sort();
    paths.into_iter().map(|path| read(root, path)).collect()
}

/// Selects the rule files among texts that were read elsewhere.
pub(super) fn of_texts(texts: &[(String, Vec<u8>)]) -> Result<Vec<RuleSource>, Failure> {
    let rules: Vec<_> = texts.iter().filter(|(path, _)| is_rule_file(path)).collect();
    if rules.len() > MAX_FILES {
        return Err(too_many());
    }
    rules.into_iter().map(|(path, text)| source(path.clone(), text.clone())).collect()
}

fn is_rule_file(name: &str) -> bool {
    name.ends_with(".yml") || name.ends_with(".yaml")
}

fn too_many() -> Failure {
    failure::bad_rule(FOLDER, &format!("there are more than {MAX_FILES} rule files"))
}

fn list(root: &Path, folder: &str, depth: usize, paths: &mut Vec<String>) -> Result<(), Failure> {
    let dir = root.join(folder);
    // A linked folder could lead out of the repository.
    let real = dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !real || depth > MAX_DEPTH {
        return Ok(());
    }
    let entries = std::fs::read_dir(&dir).map_err(|error| failure::unreadable(&dir, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failure::unreadable(&dir, &error))?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{folder}/{name}");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            list(root, &path, depth + 1, paths)?;
        } else if is_rule_file(&name) {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            return Err(too_many());
        }
    }
    Ok(())
}

fn read(root: &Path, path: String) -> Result<RuleSource, Failure> {
    let content = match tree::read(root, path.as_bytes(), MAX_BYTES) {
        Ok(Entry::File { content, .. }) => content,
        Ok(Entry::TooLarge(_)) => {
            return Err(failure::bad_rule(&path, &format!("the file is larger than {} KiB", MAX_BYTES / 1024)));
        }
        Ok(Entry::Link(_)) => return Err(failure::bad_rule(&path, "symbolic links are not followed")),
        Ok(Entry::Other) => return Err(failure::bad_rule(&path, "not a plain file")),
        Err(error) => return Err(failure::unreadable(Path::new(&path), &error)),
    };
    source(path, content)
}

fn source(path: String, content: Vec<u8>) -> Result<RuleSource, Failure> {
    let yaml = String::from_utf8(content).map_err(|_| failure::bad_rule(&path, "the file is not UTF-8"))?;
    Ok(RuleSource { path, yaml })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_files_are_read_from_all_folders_in_order() {
        let root = tempfile::tempdir().unwrap();
        let rules = root.path().join(FOLDER);
        std::fs::create_dir_all(rules.join("deep")).unwrap();
        for (name, text) in [("b.yaml", "b"), ("deep/a.yml", "a"), ("README.md", "no rule")] {
            std::fs::write(rules.join(name), text).unwrap();
        }
        let sources = read_sources(root.path()).unwrap();
        let names: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
        assert_eq!(names, [".tollgate/rules/b.yaml", ".tollgate/rules/deep/a.yml"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_among_the_rules_are_refused_or_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let rules = root.path().join(FOLDER);
        std::fs::create_dir_all(&rules).unwrap();
        std::os::unix::fs::symlink("/etc", rules.join("folder")).unwrap();
        assert_eq!(read_sources(root.path()).unwrap().len(), 0);
        std::os::unix::fs::symlink("/etc/passwd", rules.join("a.yml")).unwrap();
        let failure = read_sources(root.path()).unwrap_err();
        assert_eq!(failure.message, ".tollgate/rules/a.yml: symbolic links are not followed");
    }
}
