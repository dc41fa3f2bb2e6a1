//! Plans which hunks a model is sent, with how much context, in how many calls.
//!
//! The unit is a hunk with its enclosing definition, rather than a file: whole files cost several times the patch. Units
//! are packed into calls of limited size; over the budget, units with the most risk per token come first. Context is
//! dropped before hunks. Every selected hunk is either sent as a whole or named in [`Plan::left_out`] with the reason.
//!
//! Texts and definitions are passed in, and tokens are [estimated](crate::tokens).

use std::ops::Range;

use crate::analysis::Analysis;
use crate::diff::{FileDiff, Hunk, Line, LineKind};
use crate::finding::{Finding, LineRange};
use crate::visible::grouped;

mod file_context;
mod item;
mod pack;
pub mod render;
mod risk;

pub use file_context::{Enclosing, FileContext};

/// The inputs of a plan.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// The files of the change, secrets masked.
    pub files: &'a [FileDiff],
    /// True when a hunk is selected, by the indices of its file and itself.
    pub wanted: &'a dyn Fn(usize, usize) -> bool,
    /// True when a line of the file with this index is new to the reviewer. Of a partly seen hunk, only the new lines
    /// and their surroundings are sent.
    pub fresh: &'a dyn Fn(usize, &Line<'_>) -> bool,
    /// Text and definitions of the file with this index, secrets masked.
    pub known: &'a dyn Fn(usize) -> Option<&'a FileContext>,
    /// The findings of the embedded rules.
    pub findings: &'a [Finding],
    /// The diff analysis.
    pub analysis: &'a Analysis,
    /// The token and call limits.
    pub limits: PlanLimits,
}

/// Token and call limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLimits {
    /// The most tokens of the change in one call, without the overhead.
    pub call_tokens: usize,
    /// The most tokens in all calls together, with the overhead.
    pub total_tokens: usize,
    /// The most calls.
    pub max_calls: usize,
    /// The tokens of each call besides the change: system prompt, shared part, template.
    pub overhead: usize,
}

/// The calls to a model, and the hunks that are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The calls, the riskiest first.
    pub calls: Vec<Call>,
    /// The selected hunks that are not sent as a whole, in the order of paths.
    pub left_out: Vec<LeftOut>,
}

/// The units of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The parts of the change, in the order of paths and lines.
    pub units: Vec<Unit>,
    /// Their estimated tokens, without the overhead.
    pub tokens: usize,
}

/// Hunks of one definition with their context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The file, by its index in the change.
    pub file: usize,
    /// The lines that are sent, in order.
    pub pieces: Vec<Piece>,
}

/// Lines of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Context lines that are not under review.
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
        /// The bytes kept of a single line that is too long.
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
    /// The reason, for people.
    pub why: String,
}

impl Plan {
    /// The estimated tokens of all calls.
    #[must_use]
    pub fn tokens(&self, limits: PlanLimits) -> usize {
        self.calls.iter().fold(0, |sum: usize, call| sum.saturating_add(call.tokens).saturating_add(limits.overhead))
    }
}

impl Call {
    /// The hunks in this call, by file and hunk index, each once.
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

/// Makes the plan.
#[must_use]
pub fn plan(material: &PlanInput<'_>) -> Plan {
    pack::pack(item::items(material), material)
}

/// The lines whose enclosing definitions a plan needs, two for each hunk: its first and its last change.
///
/// [`FileContext::new`] takes the definitions in the same order. Empty for a file without context: the diff has all of
/// it.
#[must_use]
pub fn places(file: &FileDiff) -> Vec<LineRange> {
    if file.old_path.is_none() || file.new_path.is_none() || file.binary {
        return Vec::new();
    }
    file.hunks.iter().flat_map(|hunk| edges(file, hunk)).collect()
}

/// The first and the last change of a hunk in new line numbers; a removal counts at the next line.
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
