//! Reads a project's guidance files (`CLAUDE.md`, `AGENTS.md`, `.automaker/context`) as they were before the change.
//!
//! The author of a change can edit these files too, so changed files are read from the base and never from the change.
//! Where the author also chose the base, another commit is read.

use std::path::Path;

use tollgate_core::change::Change;
use tollgate_core::sha::Sha;

use super::base::is_empty_tree;
use super::{Local, Range, Trigger};
use crate::failure::Failure;
use crate::forge::git::Blob;
use crate::tree::{self, Entry};

/// The guidance files.
pub(crate) const GUIDANCE: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];
/// The directory with more guidance.
pub(crate) const GUIDANCE_FOLDER: &str = ".automaker/context";
/// The project's own prompts.
pub(crate) const PROJECT_PROMPTS: &str = ".automaker/settings.json";
/// The maximum number of files of a directory.
const MAX_FILES: usize = 50;
/// The maximum number of files below a directory.
const MAX_BELOW: usize = 1_000;
/// The maximum size of such a file.
const MAX_BELOW_BYTES: u64 = 256 * 1024;

impl Local {
    /// Reads these files and the files in these directories as they were before the change. Missing files and files
    /// larger than `max_bytes` are omitted. A patch outside of a repository has none.
    pub fn before(
        &self,
        change: &Change,
        files: &[&str],
        folders: &[&str],
        max_bytes: u64,
    ) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        match (&self.trigger, self.root()) {
            // When the change ends in the working tree, unchanged files can be read there.
            (Trigger::Default | Trigger::Worktree | Trigger::Range(_), Some(root)) if self.ends_in_the_tree() => {
                let mut paths: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
                paths.extend(folders.iter().flat_map(|folder| list(root, folder)));
                let touched = |path: &str| is_touched(change, path);
                let (touched, untouched): (Vec<String>, Vec<String>) =
                    paths.into_iter().partition(|path| touched(path));
                let mut found: Vec<_> = untouched.into_iter().filter_map(|path| read(root, path, max_bytes)).collect();
                let removed = change.files.iter().chain(&change.known).filter_map(|file| file.old_path.as_ref());
                let removed = removed.map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
                let below = |path: &String| folders.iter().any(|folder| path.starts_with(&format!("{folder}/")));
                let mut touched: Vec<String> = touched.into_iter().chain(removed.filter(below)).collect();
                touched.sort();
                touched.dedup();
                found.extend(self.at_base(change, &touched, max_bytes)?);
                found.sort();
                Ok(found)
            }
            (Trigger::Default | Trigger::Worktree | Trigger::Range(_) | Trigger::Staged, _) => {
                let folders = folders.iter().map(|folder| format!("{folder}/"));
                let paths: Vec<String> = files.iter().map(|file| (*file).to_owned()).chain(folders).collect();
                self.at_base(change, &paths, max_bytes)
            }
            (Trigger::Patch { .. }, _) => Ok(Vec::new()),
        }
    }

    /// True when the change has a base whose files can be read: not a patch, and not the first commit.
    pub(crate) fn has_base(&self, change: &Change) -> bool {
        let base = self.settings_commit.as_ref().unwrap_or(&change.base);
        !matches!(self.trigger, Trigger::Patch { .. }) && !base.is_null() && !is_empty_tree(base)
    }

    /// Reads all files below a directory as they were before the change.
    pub(crate) fn before_below(&self, change: &Change, folder: &str) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        self.listed_at_base(change, &["-r"], &[format!("{folder}/")], (MAX_BELOW, MAX_BELOW_BYTES))
    }

    /// Reads files of the base; a path that ends with `/` means the files of a directory.
    fn at_base(&self, change: &Change, paths: &[String], max_bytes: u64) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        self.listed_at_base(change, &[], paths, (MAX_FILES, max_bytes))
    }

    fn listed_at_base(
        &self,
        change: &Change,
        options: &[&str],
        paths: &[String],
        (max_files, max_bytes): (usize, u64),
    ) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let base = self.settings_commit.as_ref().unwrap_or(&change.base);
        if paths.is_empty() || base.is_null() {
            return Ok(Vec::new());
        }
        let mut args = vec!["ls-tree", "-z", "--full-tree"];
        args.extend(options);
        args.extend([base.as_str(), "--"]);
        args.extend(paths.iter().map(String::as_str));
        let listed = self.git.run(&args)?;
        let mut found = Vec::new();
        let mut blobs = None;
        for entry in listed.split(|&byte| byte == 0).take(max_files) {
            let entry = String::from_utf8_lossy(entry);
            let Some((head, path)) = entry.split_once('\t') else { continue };
            let mut words = head.split(' ');
            let (Some("100644" | "100755"), Some("blob"), Some(name)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let blobs = match &mut blobs {
                Some(blobs) => blobs,
                None => blobs.insert(self.git.blobs()?),
            };
            if let Blob::Whole(content) = blobs.read(name, max_bytes)? {
                found.push((path.to_owned(), content));
            }
        }
        Ok(found)
    }

    /// Reads guidance and attributes from another commit.
    #[must_use]
    pub(in crate::forge) fn with_settings_of(mut self, commit: &Sha) -> Self {
        self.settings_commit = Some(commit.clone());
        self
    }

    /// True when the files after the change are in the working tree.
    pub(super) fn ends_in_the_tree(&self) -> bool {
        match (&self.trigger, &self.range) {
            (Trigger::Default | Trigger::Worktree, _) | (Trigger::Range(_), Some(Range::Since(_))) => true,
            (Trigger::Range(_) | Trigger::Staged | Trigger::Patch { .. }, _) => false,
        }
    }
}

fn is_touched(change: &Change, path: &str) -> bool {
    change.files.iter().chain(&change.known).any(|file| {
        let mut paths = file.old_path.iter().chain(&file.new_path);
        paths.any(|touched| touched.as_bytes() == path.as_bytes())
    })
}

fn read(root: &Path, path: String, max_bytes: u64) -> Option<(String, Vec<u8>)> {
    match tree::read(root, path.as_bytes(), max_bytes) {
        Ok(Entry::File { content, .. }) => Some((path, content)),
        Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => None,
    }
}

/// The sorted names in a directory.
fn list(root: &Path, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().take(MAX_FILES).flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter().map(|name| format!("{folder}/{name}")).collect()
}
