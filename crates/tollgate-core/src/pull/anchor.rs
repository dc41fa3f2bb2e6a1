//! Anchors findings in the diff of a pull request.
//!
//! Forges accept a comment only at lines of the diff: both ends in one hunk, on the new side added or context lines, on
//! the old side removed lines. One invalid comment makes the forge refuse the whole review, so each is checked against
//! the hunks first. A finding without such a line falls back to the nearest one, to its file, or to the review body.

use std::collections::HashMap;

use crate::diff::{FileDiff, Hunk, LineKind};
use crate::finding::{LineRange, Location, Side};
use crate::path::{FilePath, RepoPath};
use crate::pull::inline_comment::LineSpan;

/// The anchor of a finding in the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At its own lines, or at those of them that are in the diff, if the first one is.
    Exact(LineSpan),
    /// At the nearest line of the diff.
    Nearest(LineSpan),
    /// At its file: the diff has no line of it on that side.
    File,
    /// None: its file is not in the diff, or its path is not UTF-8.
    Outside,
}

/// The files of a diff by path.
pub(super) struct AnchorIndex<'a> {
    old: HashMap<FilePath, &'a FileDiff>,
    new: HashMap<FilePath, &'a FileDiff>,
}

impl<'a> AnchorIndex<'a> {
    pub(super) fn new(files: &'a [FileDiff]) -> Self {
        let by = |path: fn(&FileDiff) -> Option<&RepoPath>| {
            let mut named: Vec<(&RepoPath, &FileDiff)> =
                files.iter().filter_map(|file| path(file).map(|path| (path, file))).collect();
            // A path that is not UTF-8 may look like another one, which wins.
            named.sort_by_key(|(path, _)| std::str::from_utf8(path.as_bytes()).is_ok());
            named.into_iter().map(|(path, file)| (FilePath::of_repo_path(path), file)).collect()
        };
        Self { old: by(|file| file.old_path.as_ref()), new: by(|file| file.new_path.as_ref()) }
    }

    /// The file of a location. A reviewer may name the old side of a renamed file by its new path.
    pub(super) fn file(&self, location: &Location) -> Option<&'a FileDiff> {
        let (first, second) = match location.side {
            Side::Left => (&self.old, &self.new),
            Side::Right => (&self.new, &self.old),
        };
        first.get(&location.file).or_else(|| second.get(&location.file)).copied()
    }

    pub(super) fn of(&self, location: &Location) -> Anchor {
        match self.file(location) {
            Some(file) if path(file).is_some() => place_in(file, location.lines, location.side),
            _ => Anchor::Outside,
        }
    }
}

/// The path of a file on the forge; `None` when it is not UTF-8, which JSON cannot hold.
pub(super) fn path(file: &FileDiff) -> Option<&str> {
    std::str::from_utf8(file.path().as_bytes()).ok()
}

fn place_in(file: &FileDiff, wanted: LineRange, side: Side) -> Anchor {
    let mut best: Option<(u32, LineSpan)> = None;
    for hunk in &file.hunks {
        let Some(reach) = reach(hunk, side) else { continue };
        if best.is_some_and(|(gap, _)| gap <= self::gap(reach, wanted)) {
            continue;
        }
        let Some((first, last)) = nearest(file, hunk, reach, wanted, side) else { continue };
        let gap = self::gap((first, last), wanted);
        if best.is_none_or(|(least, _)| gap < least) {
            best = Some((gap, LineSpan { start: first, line: last, side }));
        }
    }
    match best {
        Some((0, span)) if span.start == wanted.start() => Anchor::Exact(span),
        Some((_, span)) => Anchor::Nearest(span),
        None => Anchor::File,
    }
}

/// The first and the last line of a hunk on one side.
fn reach(hunk: &Hunk, side: Side) -> Option<(u32, u32)> {
    let (start, len) = match side {
        Side::Left => (hunk.old_start, hunk.old_len),
        Side::Right => (hunk.new_start, hunk.new_len),
    };
    (start > 0).then(|| start.checked_add(len.checked_sub(1)?)).flatten().map(|end| (start, end))
}

/// The distance of two ranges in lines; 0 when they meet.
fn gap((first, last): (u32, u32), wanted: LineRange) -> u32 {
    wanted.start().saturating_sub(last).max(first.saturating_sub(wanted.end()))
}

/// The requested lines of a hunk, or the nearest one.
fn nearest(file: &FileDiff, hunk: &Hunk, reach: (u32, u32), wanted: LineRange, side: Side) -> Option<(u32, u32)> {
    let (first, last) = reach;
    match side {
        // The new side of a hunk has no gaps.
        Side::Right if wanted.end() < first => Some((first, first)),
        Side::Right if wanted.start() > last => Some((last, last)),
        Side::Right => Some((wanted.start().max(first), wanted.end().min(last))),
        Side::Left => {
            let removed = || file.lines(hunk).filter(|line| line.kind == LineKind::Removed).filter_map(|line| line.old);
            let mut among = removed().filter(|number| wanted.contains(*number));
            match among.next() {
                Some(first) => Some((first, among.last().unwrap_or(first))),
                None => {
                    removed().min_by_key(|number| gap((*number, *number), wanted)).map(|nearest| (nearest, nearest))
                }
            }
        }
    }
}

/// The texts of new lines, which must all be in one hunk.
pub(super) fn texts(file: &FileDiff, lines: LineRange) -> Option<Vec<&[u8]>> {
    let is_inside = |reach: (u32, u32)| LineRange::new(reach.0, reach.1).is_some_and(|hunk| hunk.contains(lines.end()));
    let hunk = file
        .hunks
        .iter()
        .find(|hunk| reach(hunk, Side::Right).is_some_and(|reach| reach.0 <= lines.start() && is_inside(reach)))?;
    let inside = file.lines(hunk).filter(|line| line.new.is_some_and(|number| lines.contains(number)));
    Some(inside.map(|line| line.text).collect())
}

/// The new line nearest to a removed one; `None` for a deleted file.
pub(super) fn beside(file: &FileDiff, removed: u32) -> Option<u32> {
    file.new_path.as_ref()?;
    let holds = |hunk: &&Hunk| reach(hunk, Side::Left).is_some_and(|(first, last)| (first..=last).contains(&removed));
    let hunk = file.hunks.iter().find(holds)?;
    let (mut before, mut is_past) = (None, false);
    for line in file.lines(hunk) {
        is_past |= line.old.is_some_and(|number| number >= removed);
        match line.new {
            Some(number) if line.old == Some(removed) => return Some(number),
            Some(number) if is_past => return Some(before.unwrap_or(number)),
            Some(number) => before = Some(number),
            None => {}
        }
    }
    // The header of a pure removal names the line before it.
    before.or(Some(hunk.new_start)).filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff::Status;
    use crate::finding::Finding;
    use crate::pull::sample::{files, finding};

    /// Lines 3 to 5 and 10 to 12 of the old file, 3 to 6 and 11 to 12 of the new one.
    const DIFF: &str = "\
diff --git a/old.rs b/new.rs
similarity index 50%
rename from old.rs
rename to new.rs
--- a/old.rs
+++ b/new.rs
@@ -3,3 +3,4 @@ fn a()
 context 3
-removed 4
+added 4
+added 5
 context 6
@@ -10,3 +11,2 @@
-removed 10
 context 11
-removed 12
+added 12
diff --git a/gone.rs b/gone.rs
deleted file mode 100644
--- a/gone.rs
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
diff --git a/a.png b/a.png
index 0123456..89abcde 100644
Binary files a/a.png and b/a.png differ
diff --git \"a/\\377.rs\" \"b/\\377.rs\"
--- \"a/\\377.rs\"
+++ \"b/\\377.rs\"
@@ -1 +1 @@
-a
+b
";

    fn anchor(finding: &Finding, files: &[FileDiff]) -> Anchor {
        AnchorIndex::new(files).of(&finding.location)
    }

    fn shown(placed: Anchor) -> String {
        let span = |span: LineSpan| format!("{}-{} {}", span.start, span.line, span.side.as_str());
        match placed {
            Anchor::Exact(at) => format!("at {}", span(at)),
            Anchor::Nearest(near) => format!("near {}", span(near)),
            Anchor::File => "file".to_owned(),
            Anchor::Outside => "nowhere".to_owned(),
        }
    }

    #[track_caller]
    fn check(at: &str, expected: &str) {
        assert_eq!(shown(anchor(&finding(at, "High", "x"), &files(DIFF))), expected, "{at}");
    }

    #[test]
    fn lines_of_one_hunk_are_exact() {
        check("new.rs:4", "at 4-4 RIGHT");
        check("new.rs:3-6", "at 3-6 RIGHT");
        check("new.rs:12", "at 12-12 RIGHT");
    }

    #[test]
    fn ranges_are_clipped_to_the_hunk() {
        check("new.rs:5-9", "at 5-6 RIGHT");
        check("new.rs:6-12", "at 6-6 RIGHT");
        check("new.rs:1-4", "near 3-4 RIGHT");
        check("new.rs:1-40", "near 3-6 RIGHT");
    }

    #[test]
    fn other_lines_of_the_file_get_the_nearest_line() {
        check("new.rs:1", "near 3-3 RIGHT");
        check("new.rs:8", "near 6-6 RIGHT");
        check("new.rs:9-10", "near 11-11 RIGHT");
        check("new.rs:4294967295", "near 12-12 RIGHT");
    }

    #[test]
    fn the_old_side_anchors_to_removed_lines_only() {
        check("old.rs:4:LEFT", "at 4-4 LEFT");
        check("old.rs:10-12:LEFT", "at 10-12 LEFT");
        check("old.rs:3:LEFT", "near 4-4 LEFT");
        check("old.rs:3-5:LEFT", "near 4-4 LEFT");
        check("old.rs:11:LEFT", "near 10-10 LEFT");
        check("old.rs:99:LEFT", "near 12-12 LEFT");
        check("gone.rs:1-2:LEFT", "at 1-2 LEFT");
        // By the path of the other side.
        check("new.rs:4:LEFT", "at 4-4 LEFT");
    }

    #[test]
    fn a_file_without_lines_is_anchored_as_a_whole() {
        check("a.png:1", "file");
        check("gone.rs:1", "file");
    }

    #[test]
    fn files_outside_the_diff_have_no_anchor() {
        check("other.rs:1", "nowhere");
        check("\u{fffd}.rs:1", "nowhere");
    }

    #[test]
    fn paths_are_new_ones_or_those_of_deleted_files() {
        let files = files(DIFF);
        let paths: Vec<_> = files.iter().map(path).collect();
        assert_eq!(paths, [Some("new.rs"), Some("gone.rs"), Some("a.png"), None]);
    }

    #[test]
    fn texts_of_lines_are_those_of_one_hunk() {
        let files = files(DIFF);
        let of = |start, end| texts(&files[0], LineRange::new(start, end).unwrap());
        assert_eq!(of(4, 6).unwrap(), [&b"added 4"[..], b"added 5", b"context 6"]);
        for (start, end) in [(2, 3), (6, 7), (6, 11), (20, 20)] {
            assert_eq!(of(start, end), None, "{start}-{end}");
        }
    }

    #[test]
    fn a_removed_line_has_a_nearest_new_line_unless_the_file_is_deleted() {
        let files = files(DIFF);
        assert_eq!([4, 5, 10, 12].map(|line| beside(&files[0], line)), [Some(3), Some(6), Some(11), Some(11)]);
        assert_eq!(beside(&files[0], 8), None);
        assert_eq!(beside(&files[1], 1), None);
        let only_removes = self::files("--- a/a\n+++ b/a\n@@ -5 +4,0 @@\n-x\n");
        assert_eq!(beside(&only_removes[0], 5), Some(4));
    }

    /// A diff of one file: for each hunk the lines before it and its lines, by their marks.
    fn diff(hunks: &[(u32, Vec<char>)]) -> Vec<FileDiff> {
        let mut text = String::from("diff --git a/a b/a\n--- a/a\n+++ b/a\n");
        let (mut old, mut new) = (1, 1);
        for (between, marks) in hunks {
            (old, new) = (old + between, new + between);
            let count = |left_out: char| marks.iter().filter(|mark| **mark != left_out).count() as u32;
            let (n_old, n_new) = (count('+'), count('-'));
            // Git names the line before where a side has none.
            let (old_shown, new_shown) = (old - u32::from(n_old == 0), new - u32::from(n_new == 0));
            text.push_str(&format!("@@ -{old_shown},{n_old} +{new_shown},{n_new} @@\n"));
            text.extend(marks.iter().flat_map(|mark| [*mark, 'x', '\n']));
            (old, new) = (old + n_old, new + n_new);
        }
        files(&text)
    }

    proptest! {
        #[test]
        fn every_anchor_is_valid_for_the_forge(
            hunks in proptest::collection::vec(
                (1_u32..6, proptest::collection::vec(proptest::sample::select(&[' ', '+', '-'][..]), 1..8)), 0..4),
            start in 1_u32..40, more in 0_u32..12, is_left in any::<bool>(),
        ) {
            let side = if is_left { Side::Left } else { Side::Right };
            let unseen = || vec![FileDiff::named(None, Some(RepoPath::from_bytes(b"a")), Status::Modified)];
            let files = if hunks.is_empty() { unseen() } else { diff(&hunks) };
            let place_name = format!("a:{start}-{}{}", start + more, if is_left { ":LEFT" } else { "" });
            let finding = finding(&place_name, "High", "x");
            let shown = |hunk: &Hunk| -> Vec<u32> {
                let lines = files[0].lines(hunk);
                let is_removed = |line: &crate::diff::Line<'_>| line.kind == LineKind::Removed;
                match side {
                    Side::Left => lines.filter(is_removed).filter_map(|line| line.old).collect(),
                    Side::Right => lines.filter_map(|line| line.new).collect(),
                }
            };
            let all: Vec<u32> = files[0].hunks.iter().flat_map(&shown).collect();
            match anchor(&finding, &files) {
                Anchor::Exact(span) | Anchor::Nearest(span) => {
                    prop_assert!(span.start <= span.line && span.side == side);
                    let holds = |hunk: &Hunk| shown(hunk).contains(&span.start) && shown(hunk).contains(&span.line);
                    prop_assert!(files[0].hunks.iter().any(holds));
                    // No nearer line exists.
                    let gap = |line: &u32| super::gap((*line, *line), finding.location.lines);
                    prop_assert_eq!(all.iter().map(gap).min(), Some(gap(&span.start)));
                }
                Anchor::File => prop_assert!(all.is_empty()),
                Anchor::Outside => prop_assert!(false),
            }
            let is_at = matches!(anchor(&finding, &files), Anchor::Exact(_));
            prop_assert_eq!(is_at, all.contains(&start));
        }
    }
}
