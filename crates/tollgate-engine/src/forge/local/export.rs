//! Exports the reviewed files into a plain directory for agents.
//!
//! The copy has no git directory and no links, and nothing in the repository's configuration can run: git lists the
//! files, and this module writes them.

use std::io::Write as _;
use std::path::Path;

use tollgate_core::sha::Sha;

use super::{Local, Trigger};
use crate::failure::{self, Failure};
use crate::forge::git::Blob;
use crate::tree::{self, Entry};

/// The limits of an export.
const MAX_FILES: usize = 200_000;
const MAX_BYTES: u64 = 2 << 30;
/// The maximum size of a file.
const MAX_FILE: u64 = 16 << 20;

impl Local {
    /// Writes the files after the change into an existing empty directory. A patch has none.
    pub fn export_after(&self, head: &Sha, into: &Path) -> Result<(), Failure> {
        match &self.trigger {
            Trigger::Patch { .. } => Ok(()),
            _ if self.ends_in_the_tree() => self.copy_tree(into),
            Trigger::Staged => {
                let listed = self.list(&["ls-files", "-s", "-z", "--full-name", ":/"])?;
                // `100644 <name> 0<tab>path`
                self.copy_blobs(&listed, into, |head| {
                    let mut words = head.split(' ');
                    Some((words.next()?.to_owned(), words.next()?.to_owned()))
                })
            }
            _ => {
                let listed = self.list(&["ls-tree", "-r", "-z", "--full-tree", head.as_str()])?;
                // `100644 blob <name><tab>path`
                self.copy_blobs(&listed, into, |head| {
                    let mut words = head.split(' ');
                    Some((words.next()?.to_owned(), words.nth(1)?.to_owned()))
                })
            }
        }
    }

    fn list(&self, args: &[&str]) -> Result<Vec<Vec<u8>>, Failure> {
        let mut list = Vec::new();
        self.git.run_into(args, &mut |chunk| {
            list.extend_from_slice(chunk);
            list.len() <= super::MAX_PATH_LIST
        })?;
        let entries: Vec<Vec<u8>> =
            list.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()).map(<[u8]>::to_vec).collect();
        if list.len() > super::MAX_PATH_LIST || entries.len() > MAX_FILES {
            return Err(failure::too_large_to_copy(MAX_FILES, MAX_BYTES >> 30));
        }
        Ok(entries)
    }

    fn copy_tree(&self, into: &Path) -> Result<(), Failure> {
        let Some(root) = self.root() else {
            return Err(failure::no_working_tree("a copy for an agent"));
        };
        let mut budget = ExportBudget { left: MAX_BYTES };
        let paths =
            self.list(&["ls-files", "-z", "--full-name", "--cached", "--others", "--exclude-standard", ":/"])?;
        for path in paths {
            // Unreadable files are skipped; the agent gets the diff separately.
            if let Ok(Entry::File { content, executable }) = tree::read(root, &path, MAX_FILE) {
                budget.write(into, &path, &content, executable)?;
            }
        }
        Ok(())
    }

    fn copy_blobs(
        &self,
        entries: &[Vec<u8>],
        into: &Path,
        read: impl Fn(&str) -> Option<(String, String)>,
    ) -> Result<(), Failure> {
        let mut blobs = self.git.blobs()?;
        let mut budget = ExportBudget { left: MAX_BYTES };
        for entry in entries {
            let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else { continue };
            let Some((mode, name)) = read(&String::from_utf8_lossy(&entry[..tab])) else { continue };
            if !matches!(mode.as_str(), "100644" | "100755") {
                continue;
            }
            if let Blob::Whole(content) = blobs.read(&name, MAX_FILE)? {
                budget.write(into, &entry[tab + 1..], &content, mode == "100755")?;
            }
        }
        Ok(())
    }
}

struct ExportBudget {
    left: u64,
}

impl ExportBudget {
    fn write(&mut self, into: &Path, path: &[u8], content: &[u8], executable: bool) -> Result<(), Failure> {
        let Ok(path) = std::str::from_utf8(path) else { return Ok(()) };
        let mut steps = path.split('/');
        if steps.any(|step| matches!(step, "" | "." | "..") || step.eq_ignore_ascii_case(".git") || step.contains('\\'))
        {
            return Ok(());
        }
        self.left = match self.left.checked_sub(content.len() as u64) {
            Some(left) => left,
            None => return Err(failure::too_large_to_copy(MAX_FILES, MAX_BYTES >> 30)),
        };
        let file = into.join(path);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::File::create(&file)?.write_all(content)?;
            if executable { make_executable(&file) } else { Ok(()) }
        };
        write().map_err(|error| failure::cannot_copy(&file, &error))
    }
}

#[cfg(unix)]
fn make_executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_file: &Path) -> std::io::Result<()> {
    Ok(())
}
