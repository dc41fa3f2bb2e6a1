//! Maps lines of an earlier state to their current positions.
//!
//! A map comes from a diff between two trees ([`LineMap::of_diff`]), or from two patches by their content
//! ([`LineMap::between`]), which also works when the old commits are gone: amended, rebased, or never committed.
//! Renamed files are followed. Blocks that moved within a file or to another are not: they are removed in one position
//! and new in the other.

use std::collections::{HashMap, HashSet};

use crate::delta::pairing::{self, Pair};
use crate::delta::snapshot::{FileSnapshot, SeenLine, Snapshot};
use crate::diff::{FileDiff, Status};
use crate::finding::{LineRange, Location, Side};
use crate::path::FilePath;

/// The current position of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapped {
    /// Untouched, at this location.
    At(Location),
    /// Edited, or other lines were inserted between them.
    Changed,
    /// Removed, or no longer part of the change.
    Gone,
}

/// A map from the lines of an earlier state to the current ones.
#[derive(Debug, Clone, Default)]
pub struct LineMap {
    right: HashMap<FilePath, FileMap>,
    left: HashMap<FilePath, FileMap>,
    /// True when unlisted files are deleted, false when they are unchanged.
    closed: bool,
    /// True when the edits are unknown: lines are assumed to stay, and may have moved.
    assumed: bool,
}

/// The most lines around a changed line that are searched for unchanged neighbours.
const MAX_GAP: usize = 200;

#[derive(Debug, Clone)]
struct FileMap {
    /// The current path; `None` when the file is deleted.
    to: Option<FilePath>,
    lines: Lines,
}

#[derive(Debug, Clone)]
enum Lines {
    /// Nothing changed.
    Same,
    /// The change cannot be described by lines.
    Opaque,
    /// These edits were made, in order; all other lines are shifted.
    Edited(Vec<Edit>),
    /// Only these lines are known, in order.
    Seen {
        fates: Vec<(u32, Fate)>,
        /// True when unknown lines are unchanged.
        rest_is_same: bool,
    },
}

/// A range of lines that was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    start: u32,
    n_old: u32,
    n_new: u32,
    /// The shift of the lines after it, including all earlier edits.
    shift: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    At(u32),
    Changed,
    Gone,
}

impl LineMap {
    /// The map for unknown edits: lines are assumed to stay.
    #[must_use]
    pub fn identity() -> Self {
        Self::default().assumed()
    }

    /// The map between equal states.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// The same map, with the edits of lines unknown.
    #[must_use]
    pub fn assumed(self) -> Self {
        Self { assumed: true, ..self }
    }

    /// True when the edits are unknown, so that lines may have moved.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// Builds a map from a diff between two states, and from renames that the diff does not show.
    ///
    /// The diff describes the reviewed state (the right side), not the base it was compared with: locations on the left
    /// side stay. A file that is deleted and added elsewhere with most of its lines counts as renamed, as in git.
    #[must_use]
    pub fn of_diff(files: &[FileDiff], renames: &[(FilePath, FilePath)]) -> Self {
        let mut map = Self::default();
        // The source of a copy is unchanged.
        for file in files.iter().filter(|file| file.status != Status::Copied) {
            let Some(from) = file.old_path.as_ref().map(FilePath::of_repo_path) else { continue };
            let to = file.new_path.as_ref().map(FilePath::of_repo_path);
            let lines = if file.binary { Lines::Opaque } else { Lines::edited(edits(file)) };
            map.right.entry(from).or_insert(FileMap { to, lines });
        }
        map.add_renames(files, renames);
        map
    }

    /// Builds a map from two patches by their content.
    #[must_use]
    pub fn between(old: &Snapshot, new: &Snapshot) -> Self {
        let mut map = Self { closed: true, ..Self::default() };
        for pair in pairing::pair(old, new) {
            let Pair { old, new, .. } = pair;
            if let (Some(from), to @ Some(_)) = (&old.new_path, &new.new_path) {
                let fates = fates(&old.right, &new.right, &pair.right());
                let lines = Lines::Seen { fates, rest_is_same: pair.same_blob() };
                map.right.entry(from.clone()).or_insert(FileMap { to: to.clone(), lines });
            }
            if let (Some(from), to @ Some(_)) = (&old.old_path, &new.old_path) {
                let fates = fates(&old.left, &new.left, &pair.left());
                let lines = Lines::Seen { fates, rest_is_same: false };
                map.left.entry(from.clone()).or_insert(FileMap { to: to.clone(), lines });
            }
        }
        map
    }

    /// Maps a location.
    #[must_use]
    pub fn locate(&self, location: &Location) -> Mapped {
        let Location { file, lines, side } = location;
        let Some(found) = self.file(file, *side) else {
            return if self.closed { Mapped::Gone } else { Mapped::At(location.clone()) };
        };
        let Some(to) = &found.to else { return Mapped::Gone };
        match found.lines.locate(*lines) {
            Ok(lines) => Mapped::At(Location { file: to.clone(), lines, side: *side }),
            Err(Fate::Gone) => Mapped::Gone,
            Err(_) => Mapped::Changed,
        }
    }

    /// The current lines that replace changed ones; `None` when nothing does, or too much changed around them.
    #[must_use]
    pub fn replaced(&self, location: &Location) -> Option<LineRange> {
        match &self.file(&location.file, location.side)?.lines {
            Lines::Same | Lines::Opaque => None,
            Lines::Edited(edits) => replaced_by_edits(edits, location.lines),
            Lines::Seen { fates, .. } => replaced_in_seen(fates, location.lines),
        }
    }

    /// Maps a path; `None` when the file is deleted.
    #[must_use]
    pub fn path<'a>(&'a self, file: &'a FilePath, side: Side) -> Option<&'a FilePath> {
        match self.file(file, side) {
            Some(found) => found.to.as_ref(),
            None => (!self.closed).then_some(file),
        }
    }

    /// True when nothing in the file changed, as far as is known.
    #[must_use]
    pub fn is_untouched(&self, file: &FilePath, side: Side) -> bool {
        match self.file(file, side) {
            Some(found) => found.to.is_some() && found.lines.is_untouched(),
            None => !self.closed,
        }
    }

    fn file(&self, file: &FilePath, side: Side) -> Option<&FileMap> {
        match side {
            Side::Right => self.right.get(file),
            Side::Left => self.left.get(file),
        }
    }

    fn add_renames(&mut self, files: &[FileDiff], told: &[(FilePath, FilePath)]) {
        let of = |status| files.iter().filter(move |file| file.status == status && !file.binary);
        let mut deleted: Vec<FileSnapshot> = of(Status::Deleted).map(FileSnapshot::of).collect();
        let mut added: Vec<FileSnapshot> = of(Status::Added).map(FileSnapshot::of).collect();
        for (from, to) in told {
            let old = take(&mut deleted, |file| file.old_path.as_ref() == Some(from));
            let new = take(&mut added, |file| file.new_path.as_ref() == Some(to));
            let lines = match (old, new) {
                (Some(old), Some(new)) => moved(&old.left, &new.right),
                // Deleted, and not part of the diff under its new path.
                (Some(_), None) => Lines::Opaque,
                (None, _) => self.right.remove(from).map_or(Lines::Same, |file| file.lines),
            };
            self.right.insert(from.clone(), FileMap { to: Some(to.clone()), lines });
        }
        let old: Vec<&[SeenLine]> = deleted.iter().map(|file| file.left.as_slice()).collect();
        let new: Vec<&[SeenLine]> = added.iter().map(|file| file.right.as_slice()).collect();
        for (i, j) in pairing::renames(&old, &new) {
            if let (Some(from), to @ Some(_)) = (&deleted[i].old_path, &added[j].new_path) {
                self.right.insert(from.clone(), FileMap { to: to.clone(), lines: moved(old[i], new[j]) });
            }
        }
    }
}

fn take(files: &mut Vec<FileSnapshot>, is_wanted: impl Fn(&FileSnapshot) -> bool) -> Option<FileSnapshot> {
    files.iter().position(is_wanted).map(|index| files.remove(index))
}

/// The lines of a whole file that was deleted in one place and added in another.
fn moved(old: &[SeenLine], new: &[SeenLine]) -> Lines {
    Lines::Seen { fates: fates(old, new, &pairing::aligned(old, new)), rest_is_same: false }
}

/// The fate of each line of an old patch, given its pairs in the new one.
fn fates(old: &[SeenLine], new: &[SeenLine], pairs: &[(usize, usize)]) -> Vec<(u32, Fate)> {
    let mut fates = Vec::with_capacity(old.len());
    let (mut from, mut to) = (0, 0);
    for (i, j) in pairs.iter().copied().chain([(old.len(), new.len())]) {
        let gap = &new[to..j];
        let context: HashSet<u128> = gap.iter().filter(|line| !line.changed).map(|line| line.hash).collect();
        let is_edited = context.len() < gap.len();
        let fate = |line: &SeenLine| match line.changed {
            // The line was merged into the base and is no longer part of the change.
            true if context.contains(&line.hash) => Fate::Gone,
            true if !is_edited => Fate::Gone,
            _ => Fate::Changed,
        };
        fates.extend(old[from..i].iter().map(|line| (line.number, fate(line))));
        if let (Some(old), Some(new)) = (old.get(i), new.get(j)) {
            fates.push((old.number, Fate::At(new.number)));
        }
        (from, to) = (i + 1, j + 1);
    }
    fates
}

/// The edits of a file, from the lines of its hunks.
fn edits(file: &FileDiff) -> Vec<Edit> {
    let mut edits = Vec::new();
    for hunk in &file.hunks {
        // A hunk without old lines has the number of the line before it.
        let mut next = hunk.old_start.saturating_add(u32::from(hunk.old_len == 0));
        let mut edit = Edit { start: next, n_old: 0, n_new: 0, shift: 0 };
        let mut push = |edit: &mut Edit, next| {
            let done = std::mem::replace(edit, Edit { start: next, n_old: 0, n_new: 0, shift: 0 });
            edits.extend((done.n_old + done.n_new > 0).then_some(done));
        };
        for line in file.lines(hunk) {
            next = line.old.map_or(next, |number| number.saturating_add(1));
            match (line.old, line.new) {
                (Some(_), Some(_)) => push(&mut edit, next),
                (old, new) => {
                    edit.n_old = edit.n_old.saturating_add(u32::from(old.is_some()));
                    edit.n_new = edit.n_new.saturating_add(u32::from(new.is_some()));
                }
            }
        }
        push(&mut edit, next);
    }
    edits
}

impl Lines {
    /// Sorts edits. Overlapping edits of a malformed diff are merged.
    fn edited(mut edits: Vec<Edit>) -> Self {
        if edits.is_empty() {
            return Self::Same;
        }
        edits.sort_unstable_by_key(|edit| (edit.start, edit.n_old));
        let mut joined: Vec<Edit> = Vec::with_capacity(edits.len());
        for edit in edits {
            match joined.last_mut() {
                Some(last) if edit.start <= last.end() => {
                    last.n_old = last.end().max(edit.end()) - last.start;
                    last.n_new = last.n_new.saturating_add(edit.n_new);
                }
                _ => joined.push(edit),
            }
        }
        let mut shift = 0;
        for edit in &mut joined {
            shift += i64::from(edit.n_new) - i64::from(edit.n_old);
            edit.shift = shift;
        }
        Self::Edited(joined)
    }

    fn is_untouched(&self) -> bool {
        match self {
            Self::Same => true,
            Self::Opaque => false,
            Self::Edited(edits) => edits.is_empty(),
            Self::Seen { fates, .. } => fates.iter().all(|(_, fate)| matches!(fate, Fate::At(_))),
        }
    }

    fn locate(&self, lines: LineRange) -> Result<LineRange, Fate> {
        match self {
            Self::Same => Ok(lines),
            Self::Opaque => Err(Fate::Changed),
            Self::Edited(edits) => locate_edited(edits, lines),
            Self::Seen { fates, rest_is_same } => locate_seen(fates, *rest_is_same, lines),
        }
    }
}

impl Edit {
    /// The first line after the replaced range.
    fn end(&self) -> u32 {
        self.start.saturating_add(self.n_old)
    }
}

fn locate_edited(edits: &[Edit], lines: LineRange) -> Result<LineRange, Fate> {
    let n_before = edits.partition_point(|edit| edit.end() <= lines.start());
    match edits.get(n_before) {
        // An insertion before the first line shifts all of them; before a later one, it is between them.
        Some(edit) if edit.start <= lines.end() => {
            let covered = edit.start <= lines.start() && lines.end() < edit.end();
            Err(if covered && edit.n_new == 0 { Fate::Gone } else { Fate::Changed })
        }
        _ => {
            let shift = n_before.checked_sub(1).map_or(0, |last| edits[last].shift);
            let moved = |line: u32| u32::try_from(i64::from(line) + shift).ok();
            let moved = moved(lines.start()).zip(moved(lines.end()));
            moved.and_then(|(start, end)| LineRange::new(start, end)).ok_or(Fate::Changed)
        }
    }
}

fn replaced_by_edits(edits: &[Edit], lines: LineRange) -> Option<LineRange> {
    let n_before = edits.partition_point(|edit| edit.end() <= lines.start());
    let n_touched = edits[n_before..].partition_point(|edit| edit.start <= lines.end());
    let (first, last) = (edits.get(n_before)?, edits[n_before..n_before + n_touched].last()?);
    let shift_before = n_before.checked_sub(1).map_or(0, |index| edits[index].shift);
    let start = i64::from(lines.start().min(first.start)) + shift_before;
    let end = i64::from(lines.end().max(last.end().saturating_sub(1))) + last.shift;
    LineRange::new(u32::try_from(start).ok()?, u32::try_from(end).ok()?)
}

fn replaced_in_seen(fates: &[(u32, Fate)], lines: LineRange) -> Option<LineRange> {
    let from = fates.partition_point(|(number, _)| *number < lines.start());
    let to = fates.partition_point(|(number, _)| *number <= lines.end());
    if from == to || fates[from..to].iter().all(|(_, fate)| *fate == Fate::Gone) {
        return None;
    }
    let kept = |(_, fate): &(u32, Fate)| match fate {
        Fate::At(number) => Some(*number),
        Fate::Changed | Fate::Gone => None,
    };
    let start = match kept(&fates[from]) {
        Some(number) => number,
        None => match fates[..from].iter().rev().take(MAX_GAP).find_map(kept) {
            Some(number) => number.saturating_add(1),
            // The changed lines are the first known ones.
            None if from < MAX_GAP => lines.start(),
            None => return None,
        },
    };
    let end = match kept(&fates[to - 1]) {
        Some(number) => number,
        None => match fates[to..].iter().take(MAX_GAP).find_map(kept) {
            Some(number) => number.saturating_sub(1),
            // The changed lines are the last known ones.
            None if fates.len() - to < MAX_GAP => start.saturating_add(lines.end() - lines.start()),
            None => return None,
        },
    };
    LineRange::new(start, end)
}

fn locate_seen(fates: &[(u32, Fate)], rest_is_same: bool, lines: LineRange) -> Result<LineRange, Fate> {
    let from = fates.partition_point(|(number, _)| *number < lines.start());
    let to = fates.partition_point(|(number, _)| *number <= lines.end());
    let seen = &fates[from..to];
    let all_seen = seen.len() as u64 == u64::from(lines.end() - lines.start()) + 1;
    if all_seen && seen.iter().all(|(_, fate)| *fate == Fate::Gone) {
        return Err(Fate::Gone);
    }
    if !all_seen {
        let same = |(number, fate): &(u32, Fate)| *fate == Fate::At(*number);
        return if rest_is_same && seen.iter().all(same) { Ok(lines) } else { Err(Fate::Changed) };
    }
    let Some((_, Fate::At(first))) = seen.first() else { return Err(Fate::Changed) };
    let in_order = seen.iter().zip(*first..).all(|((_, fate), number)| *fate == Fate::At(number));
    let last = first.saturating_add(lines.end() - lines.start());
    LineRange::new(*first, last).filter(|_| in_order).ok_or(Fate::Changed)
}

#[cfg(test)]
mod tests;
