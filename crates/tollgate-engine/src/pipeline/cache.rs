//! Caches the hits of rules by file content, and the paths of a commit, in the store of past reviews.
//!
//! A second review of a branch scans only the files that changed: the hits for
//! a text depend only on the text, the enabled rules and this program, and all
//! of that is in the cache key. Hits are stored with secrets masked.

use std::path::Path;
use std::time::UNIX_EPOCH;

use sha2::{Digest as _, Sha256};
use tollgate_core::diff::FileDiff;
use tollgate_core::sha::Sha;
use tollgate_rules::hit::Hit;
use tollgate_rules::text::mask::{KnownSecrets, mask};

use super::Memory;
use crate::reviewer::embedded::Remembered;
use crate::store::Store;

/// A longer list of paths is not cached.
const MAX_PATHS: usize = 1024 * 1024;

/// Cached hits, and new ones to be stored.
pub(super) struct Cache<'a> {
    store: Option<&'a mut Store>,
    /// A hash that identifies this build of the program.
    program: Sha256,
    new: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Cache<'a> {
    pub(super) fn new(memory: &'a mut Memory, executable: &Path) -> Self {
        let store = match memory {
            Memory::Open(store) => Some(store),
            Memory::Off | Memory::Unavailable(_) => None,
        };
        let mut program = Sha256::new_with_prefix(env!("CARGO_PKG_VERSION"));
        // Another build of the same version may have other rules.
        if let Ok(file) = std::fs::metadata(executable) {
            program.update(file.len().to_le_bytes());
            let built = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            program.update(built.as_nanos().to_le_bytes());
        }
        Self { store, program, new: Vec::new() }
    }

    /// The paths of all files of a commit, which never change.
    pub(super) fn paths(&mut self, commit: &Sha, list: impl FnOnce() -> Vec<String>) -> Vec<String> {
        let Some(store) = self.store.as_ref() else {
            return list();
        };
        let key = Sha256::digest(format!("paths of {commit}")).to_vec();
        if let Ok(Some(text)) = store.scanned(&key) {
            return String::from_utf8_lossy(&text).split_terminator('\0').map(str::to_owned).collect();
        }
        let paths = list();
        let text: String = paths.iter().flat_map(|path| [path.as_str(), "\0"]).collect();
        if !paths.is_empty() && text.len() <= MAX_PATHS {
            self.new.push((key, text.into_bytes()));
        }
        paths
    }

    /// Stores the new entries, except those that quote a secret of the change. A failure does not matter, because they can
    /// be computed again.
    pub(super) fn store(mut self, files: &[FileDiff]) {
        if let Some(store) = self.store {
            let secrets = KnownSecrets::of(if self.new.is_empty() { &[] } else { files });
            self.new.retain(|(_, entry)| !secrets.are_in(entry));
            let _ = store.remember_scanned(&self.new);
        }
    }
}

impl Remembered for Cache<'_> {
    fn key(&self, parts: &[&[u8]]) -> Option<Vec<u8>> {
        self.store.as_ref()?;
        let mut key = self.program.clone();
        for part in parts {
            key.update((part.len() as u64).to_le_bytes());
            key.update(part);
        }
        Some(key.finalize().to_vec())
    }

    fn recall(&mut self, key: &[u8]) -> Option<Vec<Hit>> {
        let hits = self.store.as_ref()?.scanned(key).ok()??;
        serde_json::from_slice(&hits).ok()
    }

    fn remember(&mut self, key: Vec<u8>, hits: &[Hit]) {
        let is_masked = |text: &str| mask(text) == text;
        let hides = |hit: &Hit| hit.fix.as_ref().is_some_and(|(_, _, text)| !is_masked(text));
        if self.store.is_none() || hits.iter().any(hides) {
            return;
        }
        let masked: Vec<Hit> = hits
            .iter()
            .cloned()
            .map(|hit| Hit {
                evidence: mask(&hit.evidence).into_owned(),
                message: hit.message.map(|message| mask(&message).into_owned()),
                ..hit
            })
            .collect();
        if let Ok(hits) = serde_json::to_vec(&masked) {
            self.new.push((key, hits));
        }
    }
}
