//! The rows of a file's diff, as HTML shows them: paired lines, changed words, and the gaps between hunks.
//!
//! ```text
//! gap 0          12 lines before the first hunk
//! 13 | 13        context
//! 14 |           removed
//!    | 14        added
//! gap 1          the lines behind the last hunk
//! ```
//!
//! Every line of the diff stands in exactly one row, whether rows stand one after the other or side by side. The lines
//! between hunks are a [`DiffGap`], known by its numbers; its text comes from elsewhere.

use std::ops::Range;

use crate::diff::{FileDiff, Hunk, Line, LineKind};
use crate::word_diff::{Ranges, changed_words, pair_lines};

/// A row of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffRow {
    /// The lines that are not shown before the hunk of this index, or behind the last.
    Gap(usize),
    /// A line before and a line after the change; for context the same one.
    Lines {
        /// The index of the line before the change.
        left: Option<usize>,
        /// The index of the line after the change.
        right: Option<usize>,
    },
}

/// A line and the one it became or was.
#[derive(Debug, Clone, Copy)]
pub struct PairedLine<'a> {
    /// The line.
    pub line: Line<'a>,
    /// The index of the line on the other side of which it is a version.
    pub partner: Option<usize>,
}

/// Lines that are the same before and after, and not in the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffGap {
    /// The number of its first line before the change.
    pub old_start: u32,
    /// The number of its first line after the change.
    pub new_start: u32,
    /// How many lines it has; `None` when the diff contradicts itself.
    pub n_lines: Option<u32>,
}

/// The lines of one or more hunks.
#[derive(Debug)]
pub struct DiffLines<'a> {
    /// The lines of all hunks.
    pub lines: Vec<PairedLine<'a>>,
    /// The lines of each hunk.
    pub hunks: Vec<Range<usize>>,
    /// True when line ends are of two kinds, so that they are worth showing.
    has_mixed_ends: bool,
}

impl<'a> DiffLines<'a> {
    /// Pairs the lines of each hunk.
    pub fn new<L: IntoIterator<Item = Line<'a>>>(of_hunks: impl IntoIterator<Item = L>) -> Self {
        let (mut lines, mut hunks) = (Vec::new(), Vec::new());
        for hunk in of_hunks {
            let start = lines.len();
            lines.extend(hunk.into_iter().map(|line| PairedLine { line, partner: None }));
            hunks.push(start..lines.len());
        }
        for hunk in &hunks {
            pair(&mut lines, hunk.clone());
        }
        let mut ends = lines.iter().map(|line| line.line.text.ends_with(b"\r"));
        let first = ends.next();
        let has_mixed_ends = ends.any(|end| Some(end) != first);
        Self { lines, hunks, has_mixed_ends }
    }

    /// The bytes of a line that are shown.
    #[must_use]
    pub fn text(&self, index: usize) -> &'a [u8] {
        self.without_return(self.lines[index].line.text)
    }

    /// A line without its carriage return, unless line ends are of two kinds.
    #[must_use]
    pub fn without_return<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        if self.has_mixed_ends { text } else { text.strip_suffix(b"\r").unwrap_or(text) }
    }

    /// The changed words of a line, if it is a version of another one.
    #[must_use]
    pub fn changed(&self, index: usize) -> Option<Ranges> {
        let PairedLine { line, partner } = self.lines[index];
        let is_left = line.kind == LineKind::Removed;
        let (old, new) = if is_left { (index, partner?) } else { (partner?, index) };
        let text = |index: usize| str::from_utf8(self.text(index)).ok();
        let (left, right) = changed_words(text(old)?, text(new)?)?;
        Some(if is_left { left } else { right })
    }
}

/// The diff of a file.
#[derive(Debug)]
pub struct DiffBody<'a> {
    /// The file.
    pub file: &'a FileDiff,
    /// Its lines.
    pub lines: DiffLines<'a>,
    /// One before each hunk, and one behind the last.
    pub gaps: Vec<DiffGap>,
}

impl<'a> DiffBody<'a> {
    /// The lines of a file, which has so many after the change if that is known.
    #[must_use]
    pub fn new(file: &'a FileDiff, n_after: Option<u32>) -> Self {
        let lines = DiffLines::new(file.hunks.iter().map(|hunk| file.lines(hunk)));
        Self { file, lines, gaps: gaps(file, n_after) }
    }

    /// The rows with one line after the other.
    #[must_use]
    pub fn unified(&self) -> Vec<DiffRow> {
        self.rows(|rows, hunk| rows.extend(hunk.map(|line| self.alone(line))))
    }

    /// The rows with both sides beside each other.
    #[must_use]
    pub fn split(&self) -> Vec<DiffRow> {
        self.rows(|rows, hunk| self.push_split(rows, hunk))
    }

    /// The text behind the header of the hunk after a gap.
    #[must_use]
    pub fn section(&self, gap: usize) -> String {
        let section = self.file.hunks.get(gap).map(|hunk| self.file.section(hunk)).unwrap_or_default();
        String::from_utf8_lossy(section).into_owned()
    }

    fn rows(&self, push: impl Fn(&mut Vec<DiffRow>, Range<usize>)) -> Vec<DiffRow> {
        let mut rows = Vec::with_capacity(self.lines.lines.len() + self.gaps.len());
        for (index, hunk) in self.lines.hunks.iter().enumerate() {
            self.push_gap(&mut rows, index);
            push(&mut rows, hunk.clone());
        }
        self.push_gap(&mut rows, self.lines.hunks.len());
        rows
    }

    fn push_gap(&self, rows: &mut Vec<DiffRow>, index: usize) {
        if self.gaps.get(index).is_some_and(|gap| gap.n_lines != Some(0)) {
            rows.push(DiffRow::Gap(index));
        }
    }

    fn alone(&self, index: usize) -> DiffRow {
        match self.lines.lines[index].line.kind {
            LineKind::Context => DiffRow::Lines { left: Some(index), right: Some(index) },
            LineKind::Removed => DiffRow::Lines { left: Some(index), right: None },
            LineKind::Added => DiffRow::Lines { left: None, right: Some(index) },
        }
    }

    fn push_split(&self, rows: &mut Vec<DiffRow>, hunk: Range<usize>) {
        let mut at = hunk.start;
        while at < hunk.end {
            let (removed, added) = block(&self.lines.lines, at..hunk.end);
            if removed.is_empty() && added.is_empty() {
                rows.push(self.alone(at));
                at += 1;
                continue;
            }
            at = added.end;
            let (mut left, mut right) = (removed.start, added.start);
            while left < removed.end || right < added.end {
                // Up to the next two that belong together, lines stand beside each other as they come.
                let next = (left..removed.end).find_map(|index| Some((index, self.lines.lines[index].partner?)));
                let (stop_left, stop_right) = next.unwrap_or((removed.end, added.end));
                while left < stop_left || right < stop_right {
                    let one = (left < stop_left).then_some(left);
                    let other = (right < stop_right).then_some(right);
                    rows.push(DiffRow::Lines { left: one, right: other });
                    left += usize::from(one.is_some());
                    right += usize::from(other.is_some());
                }
                if next.is_some() {
                    rows.push(DiffRow::Lines { left: Some(left), right: Some(right) });
                    (left, right) = (left + 1, right + 1);
                }
            }
        }
    }
}

/// The removed lines at the beginning of a range, and the added ones behind them.
fn block(lines: &[PairedLine<'_>], range: Range<usize>) -> (Range<usize>, Range<usize>) {
    let run = |from: usize, kind: LineKind| {
        let n_lines = lines[from..range.end].iter().take_while(|line| line.line.kind == kind).count();
        from..from + n_lines
    };
    let removed = run(range.start, LineKind::Removed);
    let added = run(removed.end, LineKind::Added);
    (removed, added)
}

/// Finds for each removed line the one that it became.
fn pair(lines: &mut [PairedLine<'_>], hunk: Range<usize>) {
    let mut at = hunk.start;
    while at < hunk.end {
        let (removed, added) = block(lines, at..hunk.end);
        let texts = |range: &Range<usize>| lines[range.clone()].iter().map(|line| line.line.text).collect::<Vec<_>>();
        let pairs = if removed.is_empty() || added.is_empty() {
            Vec::new()
        } else {
            pair_lines(&texts(&removed), &texts(&added))
        };
        for (left, right) in pairs {
            let (left, right) = (removed.start + left, added.start + right);
            lines[left].partner = Some(right);
            lines[right].partner = Some(left);
        }
        at = added.end.max(at + 1);
    }
}

fn gaps(file: &FileDiff, n_after: Option<u32>) -> Vec<DiffGap> {
    // A hunk without lines on a side stands behind the line that it names.
    let first = |start: u32, len: u32| if len == 0 { start.saturating_add(1) } else { start };
    let is_merge = |hunk: &Hunk| hunk.n_parents != 1;
    let (mut old, mut new) = (1_u32, 1_u32);
    let mut gaps = Vec::with_capacity(file.hunks.len() + 1);
    for hunk in &file.hunks {
        let (next_old, next_new) = (first(hunk.old_start, hunk.old_len), first(hunk.new_start, hunk.new_len));
        let n_lines = next_new.checked_sub(new).filter(|n| Some(*n) == next_old.checked_sub(old) && !is_merge(hunk));
        gaps.push(DiffGap { old_start: old, new_start: new, n_lines });
        (old, new) = (next_old.saturating_add(hunk.old_len), next_new.saturating_add(hunk.new_len));
    }
    let is_sound = gaps.iter().all(|gap| gap.n_lines.is_some());
    let n_left = n_after.filter(|_| is_sound && !file.hunks.is_empty()).map_or(0, |n| (n + 1).saturating_sub(new));
    gaps.push(DiffGap { old_start: old, new_start: new, n_lines: Some(n_left) });
    gaps
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;
    use crate::diff::parse;

    type Rows = fn(&DiffBody<'_>) -> Vec<DiffRow>;

    /// Rows as `left | right` with the numbers of lines.
    fn shown(hunks: &str, n_after: Option<u32>, rows: Rows) -> String {
        let (files, refused) = parse(format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n{hunks}").into_bytes());
        assert_eq!(refused, []);
        let body = DiffBody::new(&files[0], n_after);
        let side = |index: Option<usize>, number: fn(&Line<'_>) -> Option<u32>| {
            let line = index.map(|index| body.lines.lines[index].line);
            line.map_or(String::new(), |line| {
                format!("{} {}", number(&line).map_or(0, |number| number), String::from_utf8_lossy(line.text))
            })
        };
        let row = |row: DiffRow| match row {
            DiffRow::Gap(index) => format!("gap {:?}", body.gaps[index].n_lines),
            DiffRow::Lines { left, right } => {
                format!("{:8} | {}", side(left, |line| line.old), side(right, |line| line.new)).trim_end().to_owned()
            }
        };
        rows(&body).into_iter().map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_stand_one_after_the_other_or_side_by_side() {
        let hunks = "@@ -3,3 +3,4 @@\n keep\n-let total = 1;\n+// why\n+let total = 2;\n+more\n last\n";
        let hunks = hunks.replace("-3,3 +3,4", "-3,3 +3,5");
        assert_snapshot!(shown(&hunks, None, |body| body.unified()), @"
        gap Some(2)
        3 keep   | 3 keep
        4 let total = 1; |
                 | 4 // why
                 | 5 let total = 2;
                 | 6 more
        5 last   | 7 last
        ");
        assert_snapshot!(shown(&hunks, Some(20), |body| body.split()), @"
        gap Some(2)
        3 keep   | 3 keep
                 | 4 // why
        4 let total = 1; | 5 let total = 2;
                 | 6 more
        5 last   | 7 last
        gap Some(13)
        ");
    }

    #[test]
    fn lines_outside_the_diff_are_a_gap() {
        let hunks = "@@ -10,1 +10,2 @@\n a\n+b\n@@ -20,1 +21,1 @@\n-c\n+d\n";
        assert_snapshot!(shown(hunks, Some(25), |body| body.unified()), @"
        gap Some(9)
        10 a     | 10 a
                 | 11 b
        gap Some(9)
        20 c     |
                 | 21 d
        gap Some(4)
        ");
        // A diff that contradicts itself has gaps of which nothing is known.
        assert_snapshot!(shown("@@ -10,1 +10,2 @@\n a\n+b\n@@ -5,1 +21,1 @@\n-c\n+d\n", Some(25), |body| body.unified()), @"
        gap Some(9)
        10 a     | 10 a
                 | 11 b
        gap None
        5 c      |
                 | 21 d
        ");
        // A new file has none, and neither has one whose length is not known.
        assert_snapshot!(shown("@@ -0,0 +1,1 @@\n+a\n", Some(1), |body| body.split()), @"         | 1 a");
        // Lines that only went are told by the line before them.
        assert_snapshot!(shown("@@ -5,1 +4,0 @@\n-gone\n", Some(9), |body| body.split()), @"
        gap Some(4)
        5 gone   |
        gap Some(5)
        ");
    }

    /// The text of any diff of one file: hunks in order, with any lines.
    fn any_diff() -> impl Strategy<Value = String> {
        let line = ("[ +-]", "[a-c =]{0,5}").prop_map(|(mark, text)| format!("{mark}{text}\n"));
        let hunk = (0_u32..9, prop::collection::vec(line, 1..12));
        prop::collection::vec(hunk, 1..5).prop_map(|hunks| {
            let (mut old, mut new, mut text) = (1, 1, String::from("diff --git a/x b/x\n--- a/x\n+++ b/x\n"));
            for (gap, lines) in hunks {
                (old, new) = (old + gap, new + gap);
                let count = |not: char| {
                    let n_lines = lines.iter().filter(|line| !line.starts_with(not)).count();
                    u32::try_from(n_lines).unwrap_or_default()
                };
                let (n_old, n_new) = (count('+'), count('-'));
                let start = |at: u32, n: u32| if n == 0 { at - 1 } else { at };
                text +=
                    &format!("@@ -{},{n_old} +{},{n_new} @@\n{}", start(old, n_old), start(new, n_new), lines.concat());
                (old, new) = (old + n_old, new + n_new);
            }
            text
        })
    }

    proptest! {
        #[test]
        fn every_line_stands_in_exactly_one_row_of_either_view(text in any_diff()) {
            let (files, refused) = parse(text.into_bytes());
            prop_assert_eq!(refused, []);
            for file in &files {
                let body = DiffBody::new(file, None);
                for rows in [body.unified(), body.split()] {
                    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
                    for row in rows {
                        if let DiffRow::Lines { left, right } = row {
                            lefts.extend(left);
                            rights.extend(right);
                        }
                    }
                    let of = |not: LineKind| {
                        let wanted = |index: &usize| body.lines.lines[*index].line.kind != not;
                        (0..body.lines.lines.len()).filter(wanted).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(&lefts, &of(LineKind::Added));
                    prop_assert_eq!(&rights, &of(LineKind::Removed));
                }
            }
        }

        #[test]
        fn gaps_and_hunks_together_are_the_whole_file(text in any_diff(), more in 0_u32..9) {
            let (files, _) = parse(text.into_bytes());
            let file = &files[0];
            let known = DiffBody::new(file, None);
            let end = known.gaps.last().unwrap().new_start;
            let body = DiffBody::new(file, Some(end - 1 + more));
            let mut numbers: Vec<u32> = body.lines.lines.iter().filter_map(|line| line.line.new).collect();
            for gap in &body.gaps {
                prop_assert!(gap.n_lines.is_some());
                numbers.extend((0..gap.n_lines.unwrap_or_default()).map(|n| gap.new_start + n));
            }
            numbers.sort_unstable();
            let n_more = if file.hunks.is_empty() { 0 } else { more };
            prop_assert_eq!(numbers, (1..end + n_more).collect::<Vec<_>>());
        }
    }
}
