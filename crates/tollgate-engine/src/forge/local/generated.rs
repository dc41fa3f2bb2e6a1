//! Finds files that the repository calls generated: by the attribute `linguist-generated`, or by a manifest beside an
//! output folder.
//!
//! ```text
//! api/*.ts     linguist-generated
//! vendor/ours  -linguist-generated
//! ```
//!
//! Both are read at the base of the change, or at the commit whose settings apply where the author chose the
//! base. They are never read from the change, whose author can write `.gitattributes` and manifests, nor from the git
//! directory, which agents can write. If git cannot tell, no file counts as generated, so none is skipped.

use std::collections::BTreeSet;
use std::path::Path;

use tollgate_core::analysis::manifests_of_output;
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
    /// The files that the repository called generated, or not, before the change.
    pub(super) fn generated(&self, base: &Sha, files: &[FileDiff]) -> Generated {
        let base = self.settings_commit.as_ref().unwrap_or(base);
        if base.is_null() || files.is_empty() || self.repository.is_none() {
            return Generated::default();
        }
        // An attribute is the repository's explicit word: it takes precedence.
        self.beside_manifests(base, files).into_iter().chain(self.attributes(base, files)).collect()
    }

    /// The files in folders that a tool writes, by the tool's manifest beside them.
    fn beside_manifests(&self, base: &Sha, files: &[FileDiff]) -> Vec<(Vec<u8>, bool)> {
        let outputs = || files.iter().map(|file| (file.path().as_bytes(), manifests_of_output(file.path().as_bytes())));
        // One line of git's input names one file.
        let askable = |manifest: &Vec<u8>| !manifest.contains(&b'\n');
        let manifests: BTreeSet<Vec<u8>> = outputs().flat_map(|(_, manifests)| manifests).filter(askable).collect();
        if manifests.is_empty() {
            return Vec::new();
        }
        let mut input = Vec::new();
        for manifest in &manifests {
            input.extend_from_slice(format!("{base}:").as_bytes());
            input.extend_from_slice(manifest);
            input.push(b'\n');
        }
        let Ok(answer) = self.git.feed(&["cat-file", "--batch-check=%(objecttype)"], &input) else { return Vec::new() };
        let types = answer.stdout.split(|&byte| byte == b'\n');
        let there = manifests.iter().zip(types).filter(|(_, kind)| *kind == b"blob").map(|(manifest, _)| manifest);
        let there: BTreeSet<&Vec<u8>> = there.filter(|_| answer.ok).collect();
        let written = outputs().filter(|(_, manifests)| manifests.iter().any(|manifest| there.contains(manifest)));
        written.map(|(path, _)| (path.to_vec(), true)).collect()
    }

    /// The attribute of these files.
    fn attributes(&self, base: &Sha, files: &[FileDiff]) -> Vec<(Vec<u8>, bool)> {
        if !self.may_say(files) || self.says_more() {
            return Vec::new();
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
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// False when attribute files are impossible, which saves a process: the working tree has none above these files,
    /// and the change deletes none.
    fn may_say(&self, files: &[FileDiff]) -> bool {
        let Some(root) = self.root().filter(|_| self.ends_in_the_tree()) else { return true };
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
fn read(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
    let said = fields.chunks_exact(3).filter_map(|fields| match fields[2] {
        b"unspecified" => None,
        value => Some((fields[0].to_vec(), !matches!(value, b"unset" | b"false"))),
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use tollgate_core::change::Generated;

    use super::read;

    #[test]
    fn every_value_but_false_counts_as_true() {
        let said: Generated = read(
            b"a\0linguist-generated\0set\0b\0linguist-generated\0unset\0c\0linguist-generated\0unspecified\0\
              d\0linguist-generated\0true\0e\0linguist-generated\0false\0f\nf\0linguist-generated\0set\0",
        )
        .into_iter()
        .collect();
        let all = ["a", "b", "c", "d", "e", "f\nf", "g"].map(|path| said.attribute(path.as_bytes()));
        assert_eq!(all, [Some(true), Some(false), None, Some(true), Some(false), Some(true), None]);
        assert_eq!(read(b""), []);
    }
}
