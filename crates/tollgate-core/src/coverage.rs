//! Coverage of a review: the status of every hunk.
//!
//! Every hunk of a change is reviewed, skipped by a named rule, or not reviewed for a stated reason. Files without hunks
//! (binary files, pure renames, mode changes) have one entry each.

use std::collections::{HashMap, HashSet};

use crate::finding::LineRange;
use crate::path::FilePath;
use crate::sha::Sha;

/// The beginning of the rule by which hunks are skipped that an earlier review has seen.
const UNCHANGED: &str = "unchanged since the review of ";
/// The most rules that are named.
const MAX_RULES: usize = 4;

/// The status of a hunk, or of a file without hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkStatus {
    /// A reviewer covered it.
    Reviewed,
    /// Skipped by this rule.
    Skipped(String),
    /// Not reviewed although it should have been, for this reason.
    NotReviewed(String),
}

impl HunkStatus {
    /// The status of a hunk that the review of this commit has seen and that has not changed since.
    #[must_use]
    pub fn unchanged_since(reviewed: &Sha) -> Self {
        Self::Skipped(unchanged_since(reviewed))
    }

    /// True for a hunk that an earlier review has seen.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        matches!(self, Self::Skipped(rule) if rule.starts_with(UNCHANGED))
    }
}

/// The rule by which hunks are skipped that the review of this commit has seen, for people.
#[must_use]
pub fn unchanged_since(reviewed: &Sha) -> String {
    format!("{UNCHANGED}{}", reviewed.short())
}

/// A hunk, or a file without hunks, with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredHunk {
    /// The file, by its new path or, if deleted, its old one.
    pub file: FilePath,
    /// The lines of the hunk after the change; before it for a pure deletion; `None` for a file without hunks.
    pub lines: Option<LineRange>,
    /// The status.
    pub status: HunkStatus,
}

/// The coverage of a review, in the order of the change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// One entry per hunk.
    pub hunks: Vec<CoveredHunk>,
}

/// The words for hunks that a rule skips.
const SKIPPED_BY_RULE: &str = "skipped by a rule";

/// Unreviewed hunks with the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReviewedGroup<'a> {
    /// The reason.
    pub why: &'a str,
    /// The number of hunks.
    pub n_hunks: usize,
    /// The files, each once, in the order of the change.
    pub files: Vec<&'a FilePath>,
    /// The lines of the only hunk.
    pub only_lines: Option<LineRange>,
}

/// The most files that a group names.
const MAX_FILES: usize = 5;

impl NotReviewedGroup<'_> {
    /// The place of the only hunk, or the files with their number of hunks: `a.rs:3-9`, `a.rs, b.rs and 3 more (7 hunks)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let named: Vec<&str> = self.files.iter().take(MAX_FILES).map(|file| file.as_str()).collect();
        let more = match self.files.len() - named.len() {
            0 => String::new(),
            n_more => format!(" and {n_more} more"),
        };
        let named = named.join(", ");
        match (self.only_lines, self.n_hunks) {
            (Some(lines), _) => format!("{named}:{lines}"),
            (None, n_hunks) if n_hunks > 1 => format!("{named}{more} ({n_hunks} hunks)"),
            (None, _) => format!("{named}{more}"),
        }
    }
}

/// The number of hunks per status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoverageCount {
    /// Reviewed hunks.
    pub reviewed: usize,
    /// Hunks skipped by a rule.
    pub skipped: usize,
    /// Hunks that should have been reviewed and were not.
    pub not_reviewed: usize,
}

impl Coverage {
    /// True when there are hunks, none of them is left unreviewed, and not all of them were skipped.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.hunks.is_empty() && self.count().not_reviewed == 0 && !self.is_all_skipped()
    }

    /// True when there are hunks, and neither this review nor an earlier one has looked at any of them.
    #[must_use]
    pub fn is_all_skipped(&self) -> bool {
        let is_skipped =
            |covered: &CoveredHunk| matches!(covered.status, HunkStatus::Skipped(_)) && !covered.status.is_unchanged();
        !self.hunks.is_empty() && self.hunks.iter().all(is_skipped)
    }

    /// Why the coverage is not complete, as a clause for people; `None` when it is.
    #[must_use]
    pub fn incomplete_because(&self) -> Option<String> {
        let hunks = if self.hunks.len() == 1 { "1 hunk".to_owned() } else { format!("{} hunks", self.hunks.len()) };
        if self.hunks.is_empty() {
            return Some("there was nothing to review".to_owned());
        }
        if self.is_all_skipped() {
            let rules = self.rules().join(", ");
            return Some(format!("nothing was reviewed: {hunks} skipped by rule ({rules}); a person has to look"));
        }
        match self.count().not_reviewed {
            0 => None,
            1 => Some(format!("1 of {hunks} was not reviewed")),
            n_missing => Some(format!("{n_missing} of {hunks} were not reviewed")),
        }
    }

    /// The rules that skipped hunks, each once, the first few of them.
    fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = Vec::new();
        for covered in &self.hunks {
            if let HunkStatus::Skipped(rule) = &covered.status
                && !rules.contains(&rule.as_str())
                && rules.len() < MAX_RULES
            {
                rules.push(rule);
            }
        }
        rules
    }

    /// The hunks that were not reviewed, grouped by reason.
    #[must_use]
    pub fn not_reviewed(&self) -> Vec<NotReviewedGroup<'_>> {
        let mut groups: Vec<NotReviewedGroup<'_>> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut seen: HashSet<(&str, &FilePath)> = HashSet::new();
        for covered in &self.hunks {
            let HunkStatus::NotReviewed(why) = &covered.status else { continue };
            let index = *known.entry(why).or_insert(groups.len());
            if index == groups.len() {
                groups.push(NotReviewedGroup { why, n_hunks: 0, files: Vec::new(), only_lines: None });
            }
            let group = &mut groups[index];
            group.n_hunks += 1;
            group.only_lines = covered.lines.filter(|_| group.n_hunks == 1);
            if seen.insert((why, &covered.file)) {
                group.files.push(&covered.file);
            }
        }
        groups
    }

    /// The skipped hunks, counted by reason: `unchanged since the review of abc1234` for each such review, and
    /// `skipped by a rule` for all others.
    #[must_use]
    pub fn skipped(&self) -> Vec<(&str, usize)> {
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for covered in &self.hunks {
            let HunkStatus::Skipped(why) = &covered.status else { continue };
            let why = if why.starts_with(UNCHANGED) { why.as_str() } else { SKIPPED_BY_RULE };
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, n_hunks)) => *n_hunks += 1,
                None => reasons.push((why, 1)),
            }
        }
        reasons
    }

    /// The skipped hunks in words: `1 unchanged since the review of abc1234, 2 skipped by a rule`; `None` without any.
    #[must_use]
    pub fn skipped_in_words(&self) -> Option<String> {
        let skipped: Vec<String> = self.skipped().iter().map(|(why, n_hunks)| format!("{n_hunks} {why}")).collect();
        (!skipped.is_empty()).then(|| skipped.join(", "))
    }

    /// The number of hunks per status.
    #[must_use]
    pub fn count(&self) -> CoverageCount {
        let mut count = CoverageCount::default();
        for covered in &self.hunks {
            match covered.status {
                HunkStatus::Reviewed => count.reviewed += 1,
                HunkStatus::Skipped(_) => count.skipped += 1,
                HunkStatus::NotReviewed(_) => count.not_reviewed += 1,
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(file: &str, lines: Option<LineRange>, status: HunkStatus) -> CoveredHunk {
        CoveredHunk { file: FilePath::parse(file).unwrap(), lines, status }
    }

    // Issue 17: unchanged hunks were "skipped by a rule".
    #[test]
    fn unchanged_hunks_are_not_said_to_be_skipped_by_a_rule() {
        let unchanged = || HunkStatus::unchanged_since(&Sha::parse(&"a".repeat(40)).unwrap());
        let generated = || HunkStatus::Skipped("generated".to_owned());
        let of = |statuses: Vec<HunkStatus>| {
            let hunks = statuses.into_iter().map(|status| hunk("a.rs", None, status)).collect();
            Coverage { hunks }.skipped_in_words()
        };
        let both = of(vec![unchanged(), generated(), unchanged(), HunkStatus::Reviewed]);
        assert_eq!(both.as_deref(), Some("2 unchanged since the review of aaaaaaa, 1 skipped by a rule"));
        assert_eq!(of(vec![HunkStatus::Reviewed]), None);
    }

    // Issue 17: one failed call was listed once for each of 37 hunks.
    #[test]
    fn one_reason_for_many_files_is_one_group() {
        let failed = || HunkStatus::NotReviewed("the call failed".to_owned());
        let mut hunks = vec![hunk("z.rs", LineRange::new(3, 9), HunkStatus::NotReviewed("too large".to_owned()))];
        hunks.extend((0..37).map(|index| hunk(&format!("{}.rs", index % 8), Some(LineRange::line(1)), failed())));
        let coverage = Coverage { hunks };
        let said: Vec<String> = coverage.not_reviewed().iter().map(NotReviewedGroup::in_words).collect();
        assert_eq!(said, ["z.rs:3-9", "0.rs, 1.rs, 2.rs, 3.rs, 4.rs and 3 more (37 hunks)"]);
    }
}
