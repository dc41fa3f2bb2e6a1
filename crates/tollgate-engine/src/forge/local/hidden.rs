//! Reveals text that an attribute of the change declares binary.
//!
//! `*.js -diff` in `.gitattributes` makes git print "Binary files differ" instead of text, so a change could hide its
//! code that way. Files that git calls binary, but whose content is text, are diffed again as text.

use std::ffi::OsStr;

use tollgate_core::change::{Change, Content};
use tollgate_core::diff;

use super::{Comparison, FetchOptions, Local, not_reviewed};
use crate::failure::Failure;
use crate::forge::untracked::is_binary;

/// The maximum size of a file that is checked for text.
const MAX_LOOKED_AT: u64 = 4 * 1024 * 1024;
/// The size from which git calls any file binary, by `core.bigFileThreshold`.
const BIG_FILE: u64 = 32 << 20;

impl Local {
    /// Replaces files that are hidden by an attribute with their text diff.
    pub(super) fn reveal_hidden(
        &self,
        change: &mut Change,
        comparison: &Comparison,
        options: &FetchOptions,
    ) -> Result<(), Failure> {
        if !change.files.iter().any(|file| file.binary) {
            return Ok(());
        }
        let mut contents = self.contents();
        let mut hidden = Vec::new();
        let mut too_large = Vec::new();
        for file in change.files.iter().filter(|file| file.binary) {
            match contents.read(file, MAX_LOOKED_AT)? {
                Content::Whole(content) if !is_binary(&content) => hidden.push(file.path().clone()),
                Content::TooLarge(n_bytes) if n_bytes >= BIG_FILE => too_large.push(file.path().clone()),
                Content::Whole(_) | Content::TooLarge(_) | Content::Unknown => {}
            }
        }
        let reason = format!("the file is larger than {} MiB", BIG_FILE >> 20);
        let left_out = change.files.extract_if(.., |file| too_large.contains(file.path()));
        change.left_out.extend(left_out.map(|file| not_reviewed(&file, &reason)));
        if hidden.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = hidden.iter().map(|path| as_argument(path.as_bytes())).collect();
        let mut args: Vec<&OsStr> = vec!["--text".as_ref(), "--no-renames".as_ref(), "--".as_ref()];
        args.extend(paths.iter().map(std::ffi::OsString::as_os_str));
        let collected = self.diff(comparison, options.max_diff_bytes, &args)?;
        let (shown, _) = diff::parse(collected.diff);
        change.files.retain(|file| !(file.binary && shown.iter().any(|text| text.path() == file.path())));
        let names: Vec<String> = shown.iter().map(|file| format!("`{}`", file.path())).collect();
        change.notes.push(format!("read as text, although an attribute calls it binary: {}", names.join(", ")));
        change.files.extend(shown);
        Ok(())
    }
}

/// A pathspec that matches exactly this file, from any directory.
pub(super) fn as_argument(path: &[u8]) -> std::ffi::OsString {
    with_magic(":(top,literal)", path)
}

/// A path with a pathspec magic prefix.
#[cfg(unix)]
pub(super) fn with_magic(magic: &str, path: &[u8]) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(&[magic.as_bytes(), path].concat()).to_owned()
}

#[cfg(not(unix))]
pub(super) fn with_magic(magic: &str, path: &[u8]) -> std::ffi::OsString {
    format!("{magic}{}", String::from_utf8_lossy(path)).into()
}
