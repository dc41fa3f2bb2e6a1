//! Claims become findings only when they are true of the change.
//!
//! A model names a file, lines and code. [`verify`] looks the code up in what the model was shown and puts the finding
//! where the code really is. A claim about a file that is not in the change, or with code that is nowhere in it, is
//! *unverified*: kept, shown apart, and never part of the verdict. What was corrected is written into the finding:
//!
//! ```json
//! "x_verification": {
//!   "state": "whitespace",
//!   "claimed": { "file": "b/src/a.rs", "line_start": 40, "line_end": 41 },
//!   "changed": ["file", "line"]
//! }
//! ```
//!
//! [`settle`] holds a reviewer's decision against its own remarks; [`comply()`] makes one answer of what several say of
//! what was asked for. Whether a fix leaves a file that parses is not checked here: that takes a parser, and those run in
//! child processes.

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
use crate::finding::Finding;
use crate::review::WithheldFinding;

pub use consistency::{Weight, check_consistency};
pub use criteria::{CriteriaAnswers, combine_criteria};
pub use fix::fixed;

/// The extension field that says how a finding was verified.
pub const VERIFICATION: &str = "x_verification";

/// What a reviewer was shown.
#[derive(Clone, Copy)]
pub struct ShownChange<'a> {
    /// The change as it was shown: secrets masked.
    pub files: &'a [FileDiff],
    /// Whether a hunk was shown, by the indices of its file and of itself.
    pub sent: &'a dyn Fn(usize, usize) -> bool,
    /// What further lines of the new file were shown, by number, for the index of a file.
    pub around: &'a dyn Fn(usize) -> &'a [(u32, String)],
    /// Who was shown it.
    pub reviewer: &'a str,
}

/// What became of claims: each is in one of the two lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Those that are true of the change, as far as a program can tell.
    pub findings: Vec<Finding>,
    /// Those that are not, with the reason.
    pub withheld: Vec<WithheldFinding>,
}

/// Holds claims against the change and puts them where their evidence is.
#[must_use]
pub fn verify(claims: Vec<Claim>, shown: &ShownChange<'_>) -> Verified {
    counted(claims, shown).0
}

/// [`verify`], and how many places of the change were compared.
fn counted(claims: Vec<Claim>, shown: &ShownChange<'_>) -> (Verified, u64) {
    let verifier = claim::ClaimVerifier::new(*shown);
    let mut verified = Verified::default();
    for claim in claims {
        match verifier.verify_claim(claim) {
            claim::ClaimOutcome::Counts(finding) => verified.findings.push(finding),
            claim::ClaimOutcome::Withheld(withheld) => verified.withheld.push(withheld),
        }
    }
    (verified, verifier.n_compared())
}

#[cfg(test)]
mod tests;
