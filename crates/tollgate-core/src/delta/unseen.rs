//! Finds the lines of a change that its last review did not see.
//!
//! Compares patch with patch: commits that a rebase brings in are in neither patch, so a pure rebase leaves nothing to
//! review. Lines are compared by content and order, so moved lines are unseen. Where lines of the old patch were removed,
//! the lines next to the gap are unseen, too: without the check that preceded it, a line means something else.

use std::collections::{HashMap, HashSet};

use crate::delta::pairing;
use crate::delta::snapshot::{FileSnapshot, SeenLine, Snapshot};
use crate::finding::{LineRange, Side};
use crate::path::FilePath;

/// The changed lines that the last review did not see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnseenLines {
    right: HashMap<FilePath, Vec<u32>>,
    left: HashMap<FilePath, Vec<u32>>,
    /// The lines of the new file beside lines that were taken out.
    gaps: HashMap<FilePath, Vec<u32>>,
    /// The unseen lines of both sides without those that are only next to a gap.
    own: [HashMap<FilePath, Vec<u32>>; 2],
    n_added: usize,
    n_removed: usize,
    n_gone: usize,
    n_restored: usize,
}

/// Finds the added and removed lines of the new patch that the old patch did not have.
#[must_use]
pub fn unseen_lines(old: &Snapshot, new: &Snapshot) -> UnseenLines {
    let mut fresh = UnseenLines::default();
    let pairs = pairing::pair(old, new);
    let mut n_partners: HashMap<*const FileSnapshot, usize> = HashMap::new();
    for pair in &pairs {
        *n_partners.entry(std::ptr::from_ref(pair.old)).or_default() += 1;
    }
    let n_partners = |file: &FileSnapshot| n_partners.get(&std::ptr::from_ref(file)).copied().unwrap_or_default();
    for file in old.files.iter().filter(|file| n_partners(file) == 0) {
        fresh.n_gone += file.right.iter().filter(|line| line.changed).count();
        fresh.n_restored += file.left.iter().filter(|line| line.changed).count();
    }
    let partners: HashMap<usize, _> = pairs.iter().map(|pair| (pair.new_index, pair)).collect();
    for (index, file) in new.files.iter().enumerate() {
        let (right, left) = match partners.get(&index) {
            Some(pair) => {
                (unseen(&pair.old.right, &file.right, &pair.right()), unseen(&pair.old.left, &file.left, &pair.left()))
            }
            None => (unseen(&[], &file.right, &[]), unseen(&[], &file.left, &[])),
        };
        fresh.n_added += right.own.len();
        // A file that was renamed since is deleted and added for the base, and nothing of it was removed.
        let is_renamed = file.new_path.is_none() && partners.get(&index).is_some_and(|pair| n_partners(pair.old) > 1);
        if !is_renamed {
            fresh.n_removed += left.own.len();
            fresh.n_gone += right.n_gone;
            fresh.n_restored += left.n_gone;
        }
        add(&mut fresh.own[0], file.new_path.as_ref(), right.own);
        add(&mut fresh.own[1], file.old_path.as_ref(), left.own);
        add(&mut fresh.right, file.new_path.as_ref(), right.numbers);
        add(&mut fresh.gaps, file.new_path.as_ref(), right.gaps);
        add(&mut fresh.left, file.old_path.as_ref(), left.numbers);
    }
    fresh
}

impl UnseenLines {
    /// True when the change adds (on the left side: removes) this line and the last review did not see it.
    #[must_use]
    pub fn contains(&self, file: &FilePath, line_number: u32, side: Side) -> bool {
        self.touches(file, LineRange::line(line_number), side)
    }

    /// True when this line itself is unseen, not only next to lines that were taken out.
    #[must_use]
    pub fn is_new(&self, file: &FilePath, line_number: u32, side: Side) -> bool {
        let files = match side {
            Side::Right => &self.own[0],
            Side::Left => &self.own[1],
        };
        files.get(file).is_some_and(|own| has_one(own, LineRange::line(line_number)))
    }

    /// True when one of these lines is unseen.
    #[must_use]
    pub fn touches(&self, file: &FilePath, lines: LineRange, side: Side) -> bool {
        let files = match side {
            Side::Right => &self.right,
            Side::Left => &self.left,
        };
        files.get(file).is_some_and(|fresh| has_one(fresh, lines))
    }

    /// True when lines were taken out of these lines of the new file since the last review, or next to them.
    #[must_use]
    pub fn is_beside_gap(&self, file: &FilePath, lines: LineRange) -> bool {
        self.gaps.get(file).is_some_and(|gaps| has_one(gaps, lines))
    }

    /// True when the last review saw all lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.right.is_empty() && self.left.is_empty()
    }

    /// The files with unseen lines, by their paths on either side; a path may occur twice.
    pub fn files(&self) -> impl Iterator<Item = &FilePath> {
        self.right.keys().chain(self.left.keys())
    }

    /// The number of unseen added lines, without those next to a gap.
    #[must_use]
    pub fn n_added(&self) -> usize {
        self.n_added
    }

    /// How many lines were added and removed since the last review, as a diff of both states counts them. A line that the
    /// change had added and that is gone is removed; one that it had removed and that is back is added.
    #[must_use]
    pub fn since_last(&self) -> (usize, usize) {
        (self.n_added + self.n_restored, self.n_removed + self.n_gone)
    }

    /// The number of unseen added or removed lines.
    #[must_use]
    pub fn n_lines(&self) -> usize {
        self.n_added + self.n_removed
    }
}

/// The unseen lines of one side of a file.
struct UnseenInFile {
    /// Their numbers, including lines next to a gap.
    numbers: Vec<u32>,
    /// The lines next to a gap, also those that the change does not add.
    gaps: Vec<u32>,
    /// Their numbers without lines that are only next to a gap.
    own: Vec<u32>,
    /// The number of lines that vanished.
    n_gone: usize,
}

/// True when one of the sorted line numbers is in a range.
fn has_one(numbers: &[u32], lines: LineRange) -> bool {
    numbers.get(numbers.partition_point(|line| *line < lines.start())).is_some_and(|line| *line <= lines.end())
}

fn add(files: &mut HashMap<FilePath, Vec<u32>>, path: Option<&FilePath>, lines: Vec<u32>) {
    if let Some(path) = path.filter(|_| !lines.is_empty()) {
        let all = files.entry(path.clone()).or_default();
        all.extend(lines);
        all.sort_unstable();
        all.dedup();
    }
}

fn unseen(old: &[SeenLine], new: &[SeenLine], pairs: &[(usize, usize)]) -> UnseenInFile {
    let (mut unseen, mut gaps) = (Vec::new(), Vec::new());
    let (mut own, mut n_gone) = (Vec::new(), 0);
    let (mut from, mut to) = (0, 0);
    for (i, j) in pairs.iter().copied().chain([(old.len(), new.len())]) {
        let gap = &new[to..j];
        own.extend(gap.iter().filter(|line| line.changed).map(|line| line.number));
        // Lines that are context now were merged into the base, so nothing was removed.
        let here: HashSet<u128> = gap.iter().map(|line| line.hash).collect();
        let vanished = |line: &SeenLine| line.changed && !here.contains(&line.hash);
        let n_vanished = old[from..i].iter().filter(|line| vanished(line)).count();
        n_gone += n_vanished;
        if n_vanished > 0 {
            let before = to.checked_sub(1).and_then(|index| new.get(index));
            let beside = || [before, new.get(j)].into_iter().flatten();
            gaps.extend(beside().map(|line| line.number));
            let beside = beside();
            unseen.extend(beside.filter(|line| line.changed).map(|line| line.number));
        }
        (from, to) = (i + 1, j + 1);
    }
    unseen.extend(&own);
    unseen.sort_unstable();
    unseen.dedup();
    UnseenInFile { numbers: unseen, gaps, own, n_gone }
}
