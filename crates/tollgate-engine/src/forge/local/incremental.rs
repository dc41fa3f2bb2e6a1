//! Incremental reading: skips files that an earlier review already covered.
//!
//! `git diff --raw` lists the files of a change with their blobs without comparing them, which is cheap; files with a
//! known blob are kept by name only.

use std::ffi::{OsStr, OsString};

use tollgate_core::change::Change;
use tollgate_core::diff::{FileDiff, Status};
use tollgate_core::path::{FilePath, RepoPath};
use tollgate_core::sha::Sha;

use super::hidden::as_argument;
use super::{Comparison, FetchOptions, Local, Trigger};
use crate::failure::Failure;
use crate::forge::limits::Collector;

/// With more unknown files, naming them all costs more than it saves.
const MAX_NAMED: usize = 300;

/// Lists blobs instead of lines.
pub(super) const RAW: &str = "--raw";

/// Whether a file is known, by its path before and after and its blob.
pub type HasFile<'a> = dyn Fn(Option<&FilePath>, Option<&FilePath>, Option<&str>) -> bool + 'a;

/// The files known from an earlier review of the same base.
pub struct Known<'a> {
    /// The base of the earlier review.
    pub base: &'a Sha,
    /// Whether it covered a file.
    pub has: &'a HasFile<'a>,
}

/// One file of a raw diff.
struct Entry {
    old_path: Option<RepoPath>,
    new_path: Option<RepoPath>,
    status: Status,
    same_mode: bool,
    /// The blob after the change; `None` when git has not computed it.
    blob: Option<String>,
}

impl Local {
    /// Reads the change except for known files.
    pub fn fetch_unknown(&mut self, options: &FetchOptions, known: &Known<'_>) -> Result<Change, Failure> {
        if matches!(self.trigger, Trigger::Patch { .. }) {
            return self.fetch(options);
        }
        let comparison = self.compare(options)?;
        if comparison.base != *known.base || self.has_too_many_paths(&comparison)? {
            return self.read(comparison, options);
        }
        let (known, unknown): (Vec<Entry>, Vec<Entry>) =
            self.raw(&comparison)?.into_iter().partition(|entry| entry.is_in(known));
        if known.is_empty() || unknown.len() > MAX_NAMED {
            return self.read(comparison, options);
        }
        let paths = unknown.iter().flat_map(|entry| [&entry.old_path, &entry.new_path]).flatten();
        let mut paths: Vec<OsString> = paths.map(|path| as_argument(path.as_bytes())).collect();
        paths.sort();
        paths.dedup();
        let mut args: Vec<&OsStr> = vec!["--".as_ref()];
        args.extend(paths.iter().map(OsString::as_os_str));
        // An empty list of pathspecs would match every path.
        let collected = if paths.is_empty() {
            Collector::new(0).finish()
        } else {
            self.diff(&comparison, options.max_diff_bytes, &args)?
        };
        let mut change = self.build_change(comparison, options, collected)?;
        change.known =
            known.into_iter().map(|entry| FileDiff::named(entry.old_path, entry.new_path, entry.status)).collect();
        Ok(change)
    }

    fn raw(&self, comparison: &Comparison) -> Result<Vec<Entry>, Failure> {
        let args: [&OsStr; 3] = [RAW.as_ref(), "--no-abbrev".as_ref(), "-z".as_ref()];
        let mut bytes = Vec::new();
        self.run_diff(comparison, &args, &mut |chunk| {
            bytes.extend_from_slice(chunk);
            true
        })?;
        Ok(entries(&bytes))
    }
}

impl Entry {
    fn is_in(&self, known: &Known<'_>) -> bool {
        // Content without a blob name may be anything.
        if self.new_path.is_some() != self.blob.is_some() || !self.same_mode {
            return false;
        }
        let path = |path: &Option<RepoPath>| path.as_ref().map(FilePath::of_repo_path);
        (known.has)(path(&self.old_path).as_ref(), path(&self.new_path).as_ref(), self.blob.as_deref())
    }
}

/// Parses `:100644 100644 <blob> <blob> M` and one path, or two for a rename, each terminated by NUL.
fn entries(bytes: &[u8]) -> Vec<Entry> {
    let mut fields = bytes.split(|&byte| byte == 0);
    let mut entries = Vec::new();
    while let Some(head) = fields.next() {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, _, blob, letter] = words[..] else {
            continue;
        };
        let mut path = || fields.next().filter(|path| !path.is_empty()).map(RepoPath::from_bytes);
        let Some(first) = path() else {
            break;
        };
        let (old_path, new_path, status) = match letter.as_bytes().first() {
            Some(b'A') => (None, Some(first), Status::Added),
            Some(b'D') => (Some(first), None, Status::Deleted),
            Some(b'R') => (Some(first), path(), Status::Renamed),
            Some(b'C') => (Some(first), path(), Status::Copied),
            _ => (Some(first.clone()), Some(first), Status::Modified),
        };
        let blob = Some(blob).filter(|blob| !blob.bytes().all(|byte| byte == b'0')).map(str::to_owned);
        let same_mode = old_mode == new_mode || matches!(status, Status::Added | Status::Deleted);
        entries.push(Entry { old_path, new_path, status, same_mode, blob });
    }
    entries
}
