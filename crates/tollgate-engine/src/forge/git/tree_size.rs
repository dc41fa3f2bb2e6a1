//! Counts the paths of a change before git expands them.
//!
//! Trees share their subtrees: ten trees of ten entries, each of them the next tree, are 10^10 paths in ten objects. Each
//! tree is read once here, and the counts are multiplied, so the cost is that of the objects.

use std::collections::HashMap;

use super::{Blobs, Git};
use crate::failure::Failure;

/// A tree larger than this has too many entries in any case.
const MAX_TREE_BYTES: u64 = 64 << 20;
/// The number of trees that are read.
const MAX_TREES: usize = 200_000;
/// The depth of folders; git itself gives up at 2048.
const MAX_DEPTH: usize = 1_000;

impl Git {
    /// True when two commits or trees differ in more than `most` paths.
    pub(in crate::forge) fn differs_in_more_than(&self, most: u64, before: &str, after: &str) -> Result<bool, Failure> {
        let mut walk = Walk {
            blobs: self.blobs()?,
            n_id_bytes: after.len() / 2,
            sizes: HashMap::new(),
            differences: HashMap::new(),
            n_trees: 0,
        };
        let [before, after] = [before, after].map(|name| format!("{name}^{{tree}}"));
        Ok(walk.difference(&before, &after, 0)? > most)
    }
}

/// The walk over the trees of a change.
struct Walk {
    blobs: Blobs,
    n_id_bytes: usize,
    /// The number of paths below a tree.
    sizes: HashMap<String, u64>,
    /// The number of different paths below two trees.
    differences: HashMap<(String, String), u64>,
    n_trees: usize,
}

/// An entry of a tree: its name, whether it is a tree, and its id.
struct TreeEntry {
    name: Vec<u8>,
    is_tree: bool,
    id: String,
}

impl Walk {
    fn difference(&mut self, before: &str, after: &str, depth: usize) -> Result<u64, Failure> {
        if before == after {
            return Ok(0);
        }
        let key = (before.to_owned(), after.to_owned());
        if let Some(known) = self.differences.get(&key) {
            return Ok(*known);
        }
        let (Some(old), Some(new)) = (self.entries(before, depth)?, self.entries(after, depth)?) else {
            return Ok(u64::MAX);
        };
        let mut old: HashMap<Vec<u8>, TreeEntry> = old.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let mut n_paths = 0_u64;
        for entry in new {
            let n_more = match old.remove(&entry.name) {
                Some(same) if same.id == entry.id => 0,
                Some(other) if other.is_tree && entry.is_tree => self.difference(&other.id, &entry.id, depth + 1)?,
                Some(other) => self.size(&other, depth + 1)?.saturating_add(self.size(&entry, depth + 1)?),
                None => self.size(&entry, depth + 1)?,
            };
            n_paths = n_paths.saturating_add(n_more);
        }
        for entry in old.into_values() {
            n_paths = n_paths.saturating_add(self.size(&entry, depth + 1)?);
        }
        self.differences.insert(key, n_paths);
        Ok(n_paths)
    }

    /// The number of paths at and below an entry.
    fn size(&mut self, entry: &TreeEntry, depth: usize) -> Result<u64, Failure> {
        if !entry.is_tree {
            return Ok(1);
        }
        if let Some(known) = self.sizes.get(&entry.id) {
            return Ok(*known);
        }
        let Some(entries) = self.entries(&entry.id, depth)? else { return Ok(u64::MAX) };
        let mut n_paths = 0_u64;
        for below in &entries {
            n_paths = n_paths.saturating_add(self.size(below, depth + 1)?);
        }
        self.sizes.insert(entry.id.clone(), n_paths);
        Ok(n_paths)
    }

    /// The entries of a tree; `None` when there are too many, or too many trees were read.
    fn entries(&mut self, name: &str, depth: usize) -> Result<Option<Vec<TreeEntry>>, Failure> {
        self.n_trees += 1;
        if self.n_trees > MAX_TREES || depth > MAX_DEPTH {
            return Ok(None);
        }
        // A missing tree is a defect that git names itself.
        let Some(content) = self.blobs.read_tree(name, MAX_TREE_BYTES)? else { return Ok(Some(Vec::new())) };
        Ok(content.map(|bytes| entries(&bytes, self.n_id_bytes)))
    }
}

/// Parses `100644 name<NUL><id>` and so on.
fn entries(tree: &[u8], n_id_bytes: usize) -> Vec<TreeEntry> {
    let mut entries = Vec::new();
    let mut rest = tree;
    while let Some(nul) = memchr::memchr(0, rest) {
        let (head, after) = (&rest[..nul], &rest[nul + 1..]);
        let Some(id) = after.get(..n_id_bytes) else { break };
        let space = memchr::memchr(b' ', head).unwrap_or(0);
        entries.push(TreeEntry {
            name: head[space..].to_vec(),
            is_tree: matches!(&head[..space], b"40000" | b"040000"),
            id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
        rest = &after[n_id_bytes..];
    }
    entries
}
