//! Pairs the files of two snapshots.
//!
//! Files are paired by path, by a rename that git reports, or by content: the file with most of the lines, and at least
//! half. Each file has at most one partner.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::delta::align;
use crate::delta::snapshot::{FileSnapshot, SeenLine, Snapshot};
use crate::path::FilePath;

/// A line that occurs in more files than this does not identify a file.
const MAX_FILES_OF_A_LINE: usize = 16;

/// One file in two snapshots.
pub(super) struct Pair<'a> {
    pub(super) old: &'a FileSnapshot,
    pub(super) new: &'a FileSnapshot,
    /// The index of `new` in its snapshot.
    pub(super) new_index: usize,
}

impl Pair<'_> {
    /// Equal lines of the right side, as index pairs.
    pub(super) fn right(&self) -> Vec<(usize, usize)> {
        aligned(&self.old.right, &self.new.right)
    }

    /// Equal removed lines, as index pairs.
    pub(super) fn left(&self) -> Vec<(usize, usize)> {
        aligned(&self.old.left, &self.new.left)
    }

    /// True when both have the same blob after the change.
    pub(super) fn same_blob(&self) -> bool {
        let (Some(old), Some(new)) = (&self.old.blob, &self.new.blob) else { return false };
        // Git abbreviates blob ids to different lengths.
        let n_digits = old.len().min(new.len());
        n_digits >= 7 && old.as_bytes()[..n_digits] == new.as_bytes()[..n_digits]
    }
}

/// Pairs each file of the old snapshot with one of the new snapshot.
pub(super) fn pair<'a>(old: &'a Snapshot, new: &'a Snapshot) -> Vec<Pair<'a>> {
    let mut by_path: HashMap<&FilePath, usize> = HashMap::new();
    let mut by_old_path: HashMap<&FilePath, usize> = HashMap::new();
    for (index, file) in new.files.iter().enumerate().rev() {
        by_path.extend(path(file).map(|path| (path, index)));
        by_old_path.extend(file.old_path.as_ref().map(|path| (path, index)));
    }
    let mut taken: HashSet<usize> = HashSet::new();
    let mut pairs = Vec::new();
    let mut lost: Vec<&FileSnapshot> = Vec::new();
    for file in &old.files {
        let same = path(file).and_then(|path| by_path.get(path)).filter(|index| taken.insert(**index));
        match same {
            Some(&index) => {
                let found = &new.files[index];
                pairs.push(Pair { old: file, new: found, new_index: index });
                // A file that is deleted now may be another one: renamed since, it is deleted and added for the base.
                if file.new_path.is_some() && found.new_path.is_none() {
                    lost.push(file);
                }
            }
            None => lost.push(file),
        }
    }
    lost.retain(|file| {
        let renamed = path(file).and_then(|path| by_old_path.get(path)).filter(|index| taken.insert(**index));
        pairs.extend(renamed.map(|&index| Pair { old: file, new: &new.files[index], new_index: index }));
        renamed.is_none()
    });
    let free: Vec<usize> = (0..new.files.len()).filter(|index| !taken.contains(index)).collect();
    let lost_lines: Vec<&[SeenLine]> = lost.iter().map(|file| file.right.as_slice()).collect();
    let free_lines: Vec<&[SeenLine]> = free.iter().map(|&index| new.files[index].right.as_slice()).collect();
    for (i, j) in renames(&lost_lines, &free_lines) {
        pairs.push(Pair { old: lost[i], new: &new.files[free[j]], new_index: free[j] });
    }
    pairs
}

fn path(file: &FileSnapshot) -> Option<&FilePath> {
    file.new_path.as_ref().or(file.old_path.as_ref())
}

/// Detects renamed files by content, best first, one-to-one.
pub(super) fn renames(old: &[&[SeenLine]], new: &[&[SeenLine]]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut from, mut to) = (vec![true; old.len()], vec![true; new.len()]);
    // Equal content first: it is certain, and cheap for any number of files.
    let mut whole: HashMap<Vec<u128>, Vec<usize>> = HashMap::new();
    for (j, lines) in new.iter().enumerate().rev().filter(|(_, lines)| !lines.is_empty()) {
        whole.entry(hashes(lines)).or_default().push(j);
    }
    for (i, lines) in old.iter().enumerate() {
        if let Some(j) = whole.get_mut(&hashes(lines)).and_then(Vec::pop) {
            pairs.push((i, j));
            (from[i], to[j]) = (false, false);
        }
    }
    let mut scored = similar(old, new, &from, &to);
    scored.sort_unstable_by_key(|&(n_shared, i, j)| (Reverse(n_shared), i, j));
    for (_, i, j) in scored {
        if from[i] && to[j] {
            pairs.push((i, j));
            (from[i], to[j]) = (false, false);
        }
    }
    pairs
}

/// Pairs of files that share at least half of their distinctive lines, with the number of shared lines.
fn similar(old: &[&[SeenLine]], new: &[&[SeenLine]], from: &[bool], to: &[bool]) -> Vec<(usize, usize, usize)> {
    let mut holders: HashMap<u128, Vec<usize>> = HashMap::new();
    for (j, lines) in new.iter().enumerate().filter(|(j, _)| to[*j]) {
        let distinct: HashSet<u128> = lines.iter().map(|line| line.hash).collect();
        for hash in distinct {
            let holders = holders.entry(hash).or_default();
            // One more than is used, to detect that there are more.
            if holders.len() <= MAX_FILES_OF_A_LINE {
                holders.push(j);
            }
        }
    }
    let mut scored = Vec::new();
    for (i, lines) in old.iter().enumerate().filter(|(i, _)| from[*i]) {
        let distinct: HashSet<u128> = lines.iter().map(|line| line.hash).collect();
        let (mut n_telling, mut shared) = (0, HashMap::<usize, usize>::new());
        for hash in distinct {
            let holders = holders.get(&hash).map_or(&[][..], Vec::as_slice);
            if holders.len() <= MAX_FILES_OF_A_LINE {
                n_telling += 1;
                holders.iter().for_each(|j| *shared.entry(*j).or_default() += 1);
            }
        }
        scored.extend(shared.into_iter().filter(|(_, n)| n * 2 >= n_telling).map(|(j, n)| (n, i, j)));
    }
    scored
}

fn hashes(lines: &[SeenLine]) -> Vec<u128> {
    lines.iter().map(|line| line.hash).collect()
}

/// Aligns lines by content; an added line only matches an added one.
pub(super) fn aligned(old: &[SeenLine], new: &[SeenLine]) -> Vec<(usize, usize)> {
    let mut ids: HashMap<(u128, bool), u32> = HashMap::new();
    let mut number = |lines: &[SeenLine]| -> Vec<u32> {
        let id = |line: &SeenLine| {
            let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            *ids.entry((line.hash, line.changed)).or_insert(next)
        };
        lines.iter().map(id).collect()
    };
    let (old, new) = (number(old), number(new));
    align::align(&old, &new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<SeenLine> {
        let line =
            |(index, hash): (usize, char)| SeenLine { number: index as u32 + 1, hash: hash.into(), changed: true };
        text.chars().enumerate().map(line).collect()
    }

    #[track_caller]
    fn check(old: &[&str], new: &[&str], expected: &[(usize, usize)]) {
        let old: Vec<Vec<SeenLine>> = old.iter().map(|text| lines(text)).collect();
        let new: Vec<Vec<SeenLine>> = new.iter().map(|text| lines(text)).collect();
        let old: Vec<&[SeenLine]> = old.iter().map(Vec::as_slice).collect();
        let new: Vec<&[SeenLine]> = new.iter().map(Vec::as_slice).collect();
        let mut pairs = renames(&old, &new);
        pairs.sort_unstable();
        assert_eq!(pairs, expected);
    }

    #[test]
    fn the_file_with_most_of_the_lines_is_the_partner() {
        check(&["abcd"], &["ab", "abcx", "axyz"], &[(0, 1)]);
        check(&["abcd"], &["axyz", "xyz"], &[]);
        check(&["abcd", "abcdef"], &["abcdef"], &[(1, 0)]);
        check(&[""], &[""], &[]);
    }

    #[test]
    fn many_equal_files_are_paired_in_order() {
        check(&["ab"; 20], &["ab"; 30], &(0..20).map(|index| (index, index)).collect::<Vec<_>>());
    }

    #[test]
    fn lines_in_every_file_do_not_identify_one() {
        let new: Vec<String> = (0..20).map(|index| format!("ab{}", char::from(b'c' + index))).collect();
        let new: Vec<&str> = new.iter().map(String::as_str).collect();
        check(&["abX", "abe"], &new, &[(1, 2)]);
    }
}
