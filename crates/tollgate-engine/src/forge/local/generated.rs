//! Finds files that the repository marks as `linguist-generated`.
//!
//! ```text
//! api/*.ts     linguist-generated
//! vendor/ours  -linguist-generated
//! ```
//!
//! The attribute is read at the base of the change, or at the commit whose settings apply where the author chose the
//! base. It is never read from the change, whose author can write `.gitattributes`, nor from the git directory, which
//! agents can write. If git cannot tell, no file counts as generated, so none is skipped.

use std::collections::BTreeSet;
use std::path::Path;

use tollgate_core::change::Generated;
use tollgate_core::diff::FileDiff;
use tollgate_core::sha::Sha;

use super::Local;
use crate::forge::git::null_device;

/// GitHub's attribute, which other hosts and tools know.
const ATTRIBUTE: &str = "linguist-generated";
/// The name of attribute files.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";

impl Local {
    /// The attribute of these files before the change.
    pub(super) fn generated(&self, base: &Sha, files: &[FileDiff]) -> Generated {
        let base = self.settings_commit.as_ref().unwrap_or(base);
        if base.is_null() || files.is_empty() || !self.may_say(files) || self.says_more() {
            return Generated::default();
        }
        let mut input = Vec::new();
        for file in files {
            input.extend_from_slice(file.path().as_bytes());
            input.push(0);
        }
        // Paths are relative to git's directory; the operator's own attributes file is not part of the repository.
        let mut git = self.git.clone().with_setting("core.attributesFile", null_device());
        if let Some(root) = self.root() {
            git = git.in_folder(root);
        }
        let source = format!("--source={base}");
        match git.feed(&["check-attr", &source, "--stdin", "-z", ATTRIBUTE], &input) {
            Ok(answer) if answer.ok => read(&answer.stdout),
            // Git before 2.40 cannot read the attributes of a commit.
            Ok(_) | Err(_) => Generated::default(),
        }
    }

    /// False when attribute files are impossible, which saves a process: the working tree has none above these files,
    /// and the change deletes none.
    fn may_say(&self, files: &[FileDiff]) -> bool {
        let Some(root) = self.root().filter(|_| self.ends_in_the_tree()) else { return self.repository.is_some() };
        let paths = || files.iter().flat_map(|file| [&file.old_path, &file.new_path]).flatten();
        if paths().any(|path| path.as_bytes().ends_with(ATTRIBUTES.as_bytes())) {
            return true;
        }
        let mut folders = BTreeSet::from([""]);
        for path in paths() {
            let Ok(path) = std::str::from_utf8(path.as_bytes()) else { return true };
            folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        folders.into_iter().any(|folder| is_there(&root.join(folder).join(ATTRIBUTES)))
    }

    /// True when the git directory has attributes of its own, which would take precedence.
    fn says_more(&self) -> bool {
        self.common_dir().is_some_and(|folder| is_there(&folder.join("info/attributes")))
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Parses path, attribute and value, each terminated by NUL. As on GitHub, every value but `false` counts as true.
fn read(bytes: &[u8]) -> Generated {
    let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
    let said = fields.chunks_exact(3).filter_map(|fields| match fields[2] {
        b"unspecified" => None,
        value => Some((fields[0].to_vec(), !matches!(value, b"unset" | b"false"))),
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn every_value_but_false_counts_as_true() {
        let said = read(
            b"a\0linguist-generated\0set\0b\0linguist-generated\0unset\0c\0linguist-generated\0unspecified\0\
              d\0linguist-generated\0true\0e\0linguist-generated\0false\0f\nf\0linguist-generated\0set\0",
        );
        let all = ["a", "b", "c", "d", "e", "f\nf", "g"].map(|path| said.attribute(path.as_bytes()));
        assert_eq!(all, [Some(true), Some(false), None, Some(true), Some(false), Some(true), None]);
        assert_eq!(read(b"").attribute(b""), None);
    }
}
