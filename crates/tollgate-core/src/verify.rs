//! Verifies the claims of models against the change: only claims with evidence become findings.
//!
//! A model names a file, lines and code. [`verify`] searches the code in the text that the model was shown and anchors the
//! finding where the code is. A claim about a file outside the change, without code, or with code that does not occur, is
//! *unverified*: stored, reported separately, and never part of the verdict. Code on an unchanged line of a function that
//! the change touches counts, and is anchored at the nearest changed line of that function. Corrections are recorded in the
//! finding:
//!
//! ```json
//! "x_verification": {
//!   "state": "whitespace",
//!   "claimed": { "file": "b/src/a.rs", "line_start": 40, "line_end": 41 },
//!   "changed": ["file", "line"],
//!   "anchored": { "line_start": 40, "line_end": 41 }
//! }
//! ```
//!
//! [`check_consistency`] compares a reviewer's decision with its findings; [`combine_criteria`] merges the answers of several
//! reviewers to acceptance criteria. Whether a fixed file still parses is checked elsewhere, because parsers run in child
//! processes.

mod claim;
mod consistency;
mod criteria;
mod file_lookup;
mod fix;
mod fuzzy_match;
mod line_anchor;
mod quote;
mod search_text;

use crate::answer::Claim;
use crate::diff::FileDiff;
use crate::finding::{Finding, LineRange};
pub use crate::finding::{NOTHING_QUOTED, VERIFICATION, is_about_whole_change};
use crate::review::WithheldFinding;

pub use consistency::check_consistency;
pub use criteria::{CriteriaAnswers, combine_criteria};
pub use fix::fixed;

/// The extension field with the reason why a fix was refused.
const FIX_WITHHELD: &str = "x_fix_withheld";
/// The extension field with the text of a refused fix.
const FIX_REFUSED: &str = "x_fix_refused";

/// The text that was sent to a reviewer.
#[derive(Clone, Copy)]
pub struct ShownChange<'a> {
    /// The change with secrets masked.
    pub files: &'a [FileDiff],
    /// True when a hunk was sent, by file index and hunk index.
    pub sent: &'a dyn Fn(usize, usize) -> bool,
    /// Context lines of the new file that were sent, with their numbers, by file index.
    pub around: &'a dyn Fn(usize) -> &'a [(u32, String)],
    /// The lines of the functions that the change touches, after the change, by file index.
    pub functions: &'a dyn Fn(usize) -> Vec<LineRange>,
    /// The name of the reviewer.
    pub reviewer: &'a str,
}

/// The result of the verification; each claim is in one of the two lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Claims that were verified, as findings.
    pub findings: Vec<Finding>,
    /// Claims that were not, with the reason.
    pub withheld: Vec<WithheldFinding>,
    /// True for each claim that was verified, in the order of the claims.
    pub counts: Vec<bool>,
}

/// Verifies claims and anchors them where their evidence is.
#[must_use]
pub fn verify(claims: Vec<Claim>, shown: &ShownChange<'_>) -> Verified {
    counted(claims, shown).0
}

/// [`verify`], and the number of positions that were compared.
fn counted(claims: Vec<Claim>, shown: &ShownChange<'_>) -> (Verified, u64) {
    let verifier = claim::ClaimVerifier::new(*shown);
    let mut verified = Verified::default();
    for claim in claims {
        let outcome = verifier.verify_claim(claim);
        verified.counts.push(matches!(outcome, claim::ClaimOutcome::Counts(_)));
        match outcome {
            claim::ClaimOutcome::Counts(finding) => verified.findings.push(finding),
            claim::ClaimOutcome::Withheld(withheld) => verified.withheld.push(withheld),
        }
    }
    (verified, verifier.n_compared())
}

/// Records that a fix was refused. Its text is kept, and no report shows it as a fix or as a suggestion.
pub fn withhold_fix(finding: &mut Finding, why: &str, text: String) {
    if finding.suggestion.as_ref() == Some(&text) {
        finding.suggestion = None;
    }
    finding.extra.insert(FIX_WITHHELD.to_owned(), why.into());
    finding.extra.insert(FIX_REFUSED.to_owned(), text.into());
}

/// Collapses whitespace and truncates a text to one line.
fn one_line(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Truncates a text, marking the end with `…`.
fn truncate(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
