//! The findings of the last review in a prompt: which call asks about which of them, and how they are written.
//!
//! ```text
//! P1 High/Logic src/gate.rs:42: The key is not checked
//!   reason: Any key opens the gate.
//!   quote: self.open(key)
//! P2 High/Test whole change: Nothing tests it
//! ```
//!
//! A call asks about the findings on its files. Of several calls with lines of one file, those nearest to the finding ask.
//! The first call asks about findings without a file.

use std::fmt::Write as _;

use crate::answer::prior_id;
use crate::boundary::one_line;
use crate::diff::FileDiff;
use crate::finding::{Finding, LineRange, Side};
use crate::path::FilePath;
use crate::plan::render::Position;
use crate::plan::{Call, Piece, Plan, thousands};

/// The most findings of the last review in one call.
const MAX_FINDINGS: usize = 50;
/// The most bytes of their text in one call.
const MAX_BYTES: usize = 16 << 10;
/// The most characters of a reason.
const MAX_REASON: usize = 400;
/// The most characters of a quote.
const MAX_QUOTE: usize = 300;

/// A finding of the last review that was open. Its name in the prompt follows from its index: `P1` for the first.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorFinding {
    /// The finding, at its place of now where that is known.
    pub finding: Finding,
    /// What its location means.
    pub place: PriorPlace,
}

/// The place of a finding of the last review in the change as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorPlace {
    /// Its lines are untouched, and its location is where they are now.
    Lines,
    /// Its lines were changed or removed; only the file of its location is of now.
    ChangedLines,
    /// It is about the change as a whole.
    WholeChange,
}

/// The findings that each call of a plan asks about, by their indices, within the limits of a call.
pub(super) fn asked(prior: &[PriorFinding], plan: &Plan, files: &[FileDiff]) -> Vec<Vec<usize>> {
    let mut asked: Vec<Vec<usize>> = plan.calls.iter().map(|_| Vec::new()).collect();
    if prior.is_empty() {
        return asked;
    }
    let shown: Vec<Vec<ShownLines>> = plan.calls.iter().map(|call| shown_lines(call, files)).collect();
    for (index, finding) in prior.iter().enumerate() {
        for call in calls_about(finding, &shown) {
            asked[call].push(index);
        }
    }
    asked
}

/// Lines of a file in a call.
struct ShownLines {
    file: FilePath,
    side: Side,
    lines: LineRange,
}

fn shown_lines(call: &Call, files: &[FileDiff]) -> Vec<ShownLines> {
    let mut shown = Vec::new();
    for unit in &call.units {
        let Some(file) = files.get(unit.file) else { continue };
        let (new, old) = (file.new_path.as_ref(), file.old_path.as_ref());
        for piece in &unit.pieces {
            let (right, left) = lines_of(piece, file);
            let sides = [(new, Side::Right, right), (old, Side::Left, left)];
            shown.extend(sides.into_iter().filter_map(|(path, side, lines)| {
                Some(ShownLines { file: FilePath::of_repo_path(path?), side, lines: lines? })
            }));
        }
    }
    shown
}

/// The new and the old lines of a piece.
fn lines_of(piece: &Piece, file: &FileDiff) -> (Option<LineRange>, Option<LineRange>) {
    match piece {
        Piece::Around { first_line, text } => {
            let n_lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
            (LineRange::new(*first_line, first_line.saturating_add(n_lines - 1)), None)
        }
        Piece::Lines { hunk, lines, .. } => {
            let Some(hunk) = file.hunks.get(*hunk) else { return (None, None) };
            let mut at = Position::of(hunk);
            let mut rest = file.lines(hunk);
            rest.by_ref().take(lines.start).for_each(|line| at.pass(&line));
            let begin = at;
            rest.take(lines.len()).for_each(|line| at.pass(&line));
            // A side without lines is near the line that follows.
            let range = |from: u32, to: u32| LineRange::new(from.max(1), to.saturating_sub(1).max(from).max(1));
            (range(begin.new_line(), at.new_line()), range(begin.old_line(), at.old_line()))
        }
    }
}

/// The calls that ask about a finding.
fn calls_about(prior: &PriorFinding, shown: &[Vec<ShownLines>]) -> Vec<usize> {
    let location = &prior.finding.location;
    let distance = |call: &Vec<ShownLines>| {
        let on_file = call.iter().filter(|lines| lines.file == location.file);
        let on_file = on_file.map(|lines| match prior.place {
            PriorPlace::Lines if lines.side == location.side => lines.lines.distance(location.lines),
            PriorPlace::Lines => u32::MAX,
            PriorPlace::ChangedLines | PriorPlace::WholeChange => 0,
        });
        on_file.min()
    };
    if prior.place == PriorPlace::WholeChange {
        return if shown.is_empty() { Vec::new() } else { vec![0] };
    }
    let distances: Vec<Option<u32>> = shown.iter().map(distance).collect();
    let nearest = distances.iter().flatten().min();
    let is_nearest = |call: &usize| nearest.is_some() && distances[*call].as_ref() == nearest;
    (0..shown.len()).filter(is_nearest).collect()
}

/// The findings of one call as text, and how many of them it has; the rest does not fit.
pub(super) fn written(prior: &[PriorFinding], asked: &[usize]) -> (String, usize) {
    let mut text = String::new();
    for (n_written, index) in asked.iter().enumerate() {
        let Some(finding) = prior.get(*index) else { continue };
        let entry = in_words(&prior_id(*index), finding);
        if n_written == MAX_FINDINGS || text.len() + entry.len() > MAX_BYTES {
            return (text, n_written);
        }
        text.push_str(&entry);
    }
    (text, asked.len())
}

/// Says that some findings did not fit.
pub(super) fn left_out(n_left: usize) -> String {
    match n_left {
        0 => String::new(),
        1 => " 1 more does not fit here and stays open.".to_owned(),
        n_left => format!(" {} more do not fit here and stay open.", thousands(n_left)),
    }
}

fn in_words(id: &str, prior: &PriorFinding) -> String {
    let Finding { severity, category, location, summary, reason, evidence, .. } = &prior.finding;
    let file = one_line(location.file.as_str());
    let side = if location.side == Side::Left { " (removed)" } else { "" };
    let place = match prior.place {
        PriorPlace::Lines => format!("{file}:{}{side}", location.lines),
        PriorPlace::ChangedLines => format!("{file} (its lines were changed since)"),
        PriorPlace::WholeChange => "whole change".to_owned(),
    };
    let mut text = format!("{id} {severity}/{category} {place}: {}\n", one_line(summary.as_str()));
    // Writing to a string cannot fail.
    if let Some(reason) = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()) {
        let _ = writeln!(text, "  reason: {}", short(reason, MAX_REASON));
    }
    if !evidence.trim().is_empty() && prior.place != PriorPlace::WholeChange {
        let _ = writeln!(text, "  quote: {}", short(evidence.trim(), MAX_QUOTE));
    }
    text
}

fn short(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => one_line(text).into_owned(),
        Some((end, _)) => format!("{} […]", one_line(&text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff;
    use crate::finding::{Category, FindingId, Location, Origin, Severity, Summary};
    use crate::plan::Unit;

    fn prior(file: &str, line: u32, place: PriorPlace, text: &str) -> PriorFinding {
        let location =
            Location { file: FilePath::parse(file).unwrap(), lines: LineRange::line(line), side: Side::Right };
        let finding = Finding {
            id: FindingId::at(0),
            severity: Severity::High,
            category: Category::Logic,
            location,
            summary: Summary::shorten("Wrong").0,
            reason: Some(text.to_owned()),
            evidence: text.to_owned(),
            suggestion: None,
            fix: None,
            origin: Origin::default(),
            extra: serde_json::Map::new(),
        };
        PriorFinding { finding, place }
    }

    /// Two files; the first has two hunks, far apart.
    fn change() -> Vec<FileDiff> {
        let hunk = |line: u32| format!("@@ -{line} +{line} @@\n-a\n+b\n");
        let text = format!(
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n{}{}diff --git a/b b/b\n--- a/b\n+++ b/b\n{}",
            hunk(10),
            hunk(90),
            hunk(5)
        );
        diff::parse(text.into_bytes()).0
    }

    fn call(file: usize, hunk: usize) -> Call {
        let pieces = vec![Piece::Lines { hunk, lines: 0..2, cut: None }];
        Call { units: vec![Unit { file, pieces }], tokens: 0 }
    }

    #[test]
    fn a_finding_is_asked_about_where_lines_near_it_are_shown() {
        let plan = Plan { calls: vec![call(1, 0), call(0, 0), call(0, 1)], left_out: Vec::new() };
        let findings = [
            prior("a", 80, PriorPlace::Lines, "x"),
            prior("a", 11, PriorPlace::Lines, "x"),
            prior("a", 11, PriorPlace::ChangedLines, "x"),
            prior("b", 400, PriorPlace::Lines, "x"),
            prior("c", 1, PriorPlace::Lines, "x"),
            prior("unknown", 1, PriorPlace::WholeChange, "x"),
        ];
        assert_eq!(asked(&findings, &plan, &change()), [vec![3, 5], vec![1, 2], vec![0, 2]]);
        assert_eq!(asked(&findings, &Plan::default(), &change()), [[0_usize; 0]; 0]);
    }

    #[test]
    fn findings_are_bounded_in_number_and_bytes() {
        let many: Vec<PriorFinding> = (0..60).map(|line| prior("a", line + 1, PriorPlace::Lines, "x")).collect();
        let all: Vec<usize> = (0..60).collect();
        let (text, n_written) = written(&many, &all);
        assert_eq!((n_written, text.matches("  quote: x\n").count()), (50, 50));
        assert_eq!(left_out(10), " 10 more do not fit here and stay open.");
        let long: Vec<PriorFinding> =
            (0..60).map(|line| prior("a", line + 1, PriorPlace::Lines, &"ü".repeat(9_000))).collect();
        let (text, n_written) = written(&long, &all);
        assert!(text.len() <= MAX_BYTES && (10..12).contains(&n_written), "{n_written}");
        assert!(text.contains(&format!("  quote: {} […]\n", "ü".repeat(300))));
    }
}
