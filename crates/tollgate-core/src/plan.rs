//! What of a change is sent to a model, and in how many calls.
//!
//! The unit is a hunk with what encloses it, rather than a file: whole files cost several times the patch. What is
//! wanted is put into calls of limited size; when it is too much for the budget, what carries most risk for its tokens
//! comes first. Context is given up before a hunk is. Every hunk that was wanted is either sent as a whole or named in
//! [`Plan::left_out`] with the reason.
//!
//! Nothing here reads a file, parses code or counts tokens exactly: texts and definitions are passed in, and tokens
//! are [estimated](crate::tokens).

use std::ops::Range;

use crate::analysis::Analysis;
use crate::diff::{FileDiff, Hunk, Line, LineKind};
use crate::finding::{Finding, LineRange};
use crate::visible::grouped;

mod item;
mod known;
mod pack;
mod risk;

pub use known::{Enclosing, Known};

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The files of the change, secrets masked.
    pub files: &'a [FileDiff],
    /// True when the hunk with this index in the file with this index is to be sent.
    pub wanted: &'a dyn Fn(usize, usize) -> bool,
    /// True when a line of the file with this index is new to the reviewer. Of a hunk of which it has seen most, only
    /// what is around its new lines is sent.
    pub fresh: &'a dyn Fn(usize, &Line<'_>) -> bool,
    /// What is known of the file with this index beyond its diff, secrets masked.
    pub known: &'a dyn Fn(usize) -> Option<&'a Known>,
    /// What the rules say of the change.
    pub findings: &'a [Finding],
    /// What the change is made of.
    pub analysis: &'a Analysis,
    /// How much may be sent.
    pub limits: Limits,
}

/// How much may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most tokens of the change in one call, without what all calls share.
    pub call_tokens: usize,
    /// The most tokens in all calls together, with what they share.
    pub total_tokens: usize,
    /// The most calls.
    pub max_calls: usize,
    /// The tokens that each call has beside the change: system prompt, shared part, template.
    pub overhead: usize,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The calls, that with the most risk first.
    pub calls: Vec<Call>,
    /// The wanted hunks that are not sent as a whole, in the order of paths.
    pub left_out: Vec<LeftOut>,
}

/// What is sent in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The parts of the change, in the order of paths and lines.
    pub units: Vec<Unit>,
    /// About how many tokens they are, without what all calls share.
    pub tokens: usize,
}

/// Hunks of one definition and what is around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The file, by its index in the change.
    pub file: usize,
    /// What is shown, in the order of lines.
    pub pieces: Vec<Piece>,
}

/// Lines of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Lines that are not under review, for orientation.
    Around {
        /// The number of the first, after the change.
        first_line: u32,
        /// The lines, with a line feed between them.
        text: String,
    },
    /// Lines of a hunk.
    Lines {
        /// The hunk, by its index in the file.
        hunk: usize,
        /// Which of its lines, counted from 0.
        lines: Range<usize>,
        /// How many bytes are kept of the line, when it is a single one that is too long.
        cut: Option<usize>,
    },
}

/// A hunk that is not sent as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file, by its index in the change.
    pub file: usize,
    /// The hunk, by its index in the file.
    pub hunk: usize,
    /// Why, for people.
    pub why: String,
}

impl Plan {
    /// About how many tokens are sent in all.
    #[must_use]
    pub fn tokens(&self, limits: Limits) -> usize {
        self.calls.iter().fold(0, |sum: usize, call| sum.saturating_add(call.tokens).saturating_add(limits.overhead))
    }
}

impl Call {
    /// The hunks of which lines are in this call, by file and hunk, each once.
    #[must_use]
    pub fn hunks(&self) -> Vec<(usize, usize)> {
        let pieces = self.units.iter().flat_map(|unit| unit.pieces.iter().map(|piece| (unit.file, piece)));
        let mut hunks: Vec<(usize, usize)> = pieces
            .filter_map(|(file, piece)| match piece {
                Piece::Lines { hunk, .. } => Some((file, *hunk)),
                Piece::Around { .. } => None,
            })
            .collect();
        hunks.sort_unstable();
        hunks.dedup();
        hunks
    }
}

/// Plans what is sent.
#[must_use]
pub fn plan(material: &Material<'_>) -> Plan {
    pack::pack(item::items(material), material)
}

/// The places in a file of which one should know what encloses them, two for each hunk: its first and its last change.
///
/// What is asked by these and answered in the same order goes into [`Known::new`]. Empty for a file that needs no
/// context, since the diff has all of it.
#[must_use]
pub fn places(file: &FileDiff) -> Vec<LineRange> {
    if file.old_path.is_none() || file.new_path.is_none() || file.binary {
        return Vec::new();
    }
    file.hunks.iter().flat_map(|hunk| edges(file, hunk)).collect()
}

/// The first and the last change of a hunk, after the change. What only removes is where it was: between two lines.
fn edges(file: &FileDiff, hunk: &Hunk) -> [LineRange; 2] {
    let mut next = hunk.new_start;
    let mut edges: Option<(u32, u32)> = None;
    for line in file.lines(hunk) {
        if line.kind != LineKind::Context {
            let number = line.new.unwrap_or(next);
            edges = Some((edges.map_or(number, |(first, _)| first), number));
        }
        next = line.new.map_or(next, |number| number.saturating_add(1));
    }
    let (first, last) = edges.unwrap_or((hunk.new_start, hunk.new_start));
    [LineRange::line(first), LineRange::line(last)]
}

/// A number for people.
pub(crate) fn thousands(number: usize) -> String {
    grouped(number as u64)
}

#[cfg(test)]
mod tests;
