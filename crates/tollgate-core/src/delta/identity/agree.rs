//! Decides whether two findings about shared code are one defect.
//!
//! The decision is symmetric. It needs fewer words in common the more the code agrees: none for the same quote and
//! category; related words for the same lines and category; similar words for another category, and for a prior
//! finding that a reviewer gave an answer about.

use crate::delta::identity::words::FindingWords;
use crate::delta::identity::{ComparedFinding, is_distinctive, without_space};
use crate::finding::{Category, Severity};
use crate::fingerprint::normalise;

/// The least similarity of two findings on the same lines, from 0 to 1.
const SAME_LINES: f64 = 0.39;
/// The least similarity in different categories.
const OTHER_CATEGORY: f64 = 0.45;
/// The least similarity of two titles without reasons, which have fewer words to tell them apart.
const BARE_TITLES: f64 = 0.59;
/// The least similarity of two findings that share no code, only their file and category.
const NO_CODE: f64 = 0.7;
/// The score of two findings of one rule.
const SAME_RULE: f64 = 2.0;
/// An edited line shares at least this part of its words with the line it replaces.
const EDITED: f64 = 0.5;

/// The code that two findings share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SharedCode {
    /// They quote the same code.
    Quote,
    /// Their lines overlap.
    Lines,
    /// A line of one was replaced by one or a few lines of the other.
    EditedLine,
    /// Lines of one are in a block that was replaced by lines of the other.
    EditedBlock,
}

/// A finding and its words.
#[derive(Debug)]
pub(super) struct ReadFinding<'a> {
    pub(super) claim: ComparedFinding<'a>,
    pub(super) words: FindingWords,
}

impl<'a> ReadFinding<'a> {
    pub(super) fn of(claim: ComparedFinding<'a>) -> Self {
        Self { words: FindingWords::of(&claim), claim }
    }

    /// The similarity of two findings that share code, if they are one defect.
    pub(super) fn agrees(&self, other: &Self, code: SharedCode) -> Option<f64> {
        let (a, b) = (&self.claim, &other.claim);
        if (a.severity == Severity::Praise) != (b.severity == Severity::Praise) {
            return None;
        }
        match (a.rule, b.rule) {
            (Some(rule), Some(other_rule)) if rule == other_rule => {
                (code != SharedCode::EditedBlock || is_edited_form(a.evidence, b.evidence)).then_some(SAME_RULE)
            }
            // The message of a rule does not depend on the code: rules of two tools on one quote mean the same.
            (Some(_), Some(_)) => {
                let is_one = a.reviewer != b.reviewer && code == SharedCode::Quote && a.category == b.category;
                is_one.then_some(1.0)
            }
            _ => self.is_worded_as(other, code),
        }
    }

    /// The similarity of two findings that share no code, if their words are nearly equal.
    pub(super) fn is_nearly_worded_as(&self, other: &Self) -> Option<f64> {
        let is_praise = |read: &Self| read.claim.severity == Severity::Praise;
        let score = self.words.score(&other.words);
        let are_alike = is_praise(self) == is_praise(other) && self.words.are_related(&other.words);
        (score >= NO_CODE && are_alike).then_some(score)
    }

    fn is_worded_as(&self, other: &Self, code: SharedCode) -> Option<f64> {
        let (a, b) = (&self.claim, &other.claim);
        let is_category = a.category == b.category;
        let is_answered = a.is_answered || b.is_answered;
        let score = self.words.score(&other.words);
        let wanted = match code {
            SharedCode::EditedLine | SharedCode::EditedBlock if !is_category => return None,
            // The same consequence under another title is the same defect.
            SharedCode::Quote if is_answered && is_category && is_same_reason(a, b) => return Some(score),
            _ if is_answered => OTHER_CATEGORY,
            SharedCode::Quote if is_category || is_rule_and_model(a, b) => {
                return (!self.words.differ_in_one_detail(&other.words)).then_some(score);
            }
            SharedCode::Quote | SharedCode::Lines if !is_category => OTHER_CATEGORY,
            _ => SAME_LINES,
        };
        (score >= wanted && self.words.are_related(&other.words)).then_some(score)
    }
}

impl FindingWords {
    /// True when two findings can be about one defect by their words alone.
    fn are_related(&self, other: &Self) -> bool {
        let is_enough = (self.has_reason && other.has_reason) || self.score(other) >= BARE_TITLES;
        is_enough && !self.are_unrelated(other)
    }
}

/// True when the words of two findings alone show that they are about one defect, so that one text stands for both.
pub(crate) fn are_worded_alike(a: ComparedFinding<'_>, b: ComparedFinding<'_>) -> bool {
    let (a, b) = (FindingWords::of(&a), FindingWords::of(&b));
    a.score(&b) >= SAME_LINES && a.are_related(&b)
}

/// True for a finding of a rule and one of a model, if both are about the behaviour of the code.
fn is_rule_and_model(a: &ComparedFinding<'_>, b: &ComparedFinding<'_>) -> bool {
    let is_behaviour =
        |category| matches!(category, Category::Security | Category::Logic | Category::Error | Category::Type);
    a.rule.is_some() != b.rule.is_some() && is_behaviour(a.category) && is_behaviour(b.category)
}

/// True when two findings give the same reason.
fn is_same_reason(a: &ComparedFinding<'_>, b: &ComparedFinding<'_>) -> bool {
    let reason = normalise(a.reason);
    !reason.is_empty() && reason == normalise(b.reason)
}

/// True when two quotes are equal, or one contains the other.
pub(crate) fn is_same_quote(a: &str, b: &str) -> bool {
    let (a, b) = (without_space(a), without_space(b));
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    !short.is_empty() && (short == long || (is_distinctive(&short) && long.contains(&short)))
}

/// True when the same quote is enough for two findings to be one, wherever they are.
pub(super) fn are_kin(a: &ComparedFinding<'_>, b: &ComparedFinding<'_>) -> bool {
    let is_rule = a.rule.is_some() && a.rule == b.rule;
    is_rule || a.category == b.category || is_rule_and_model(a, b)
}

/// True when one line of code can be an edited form of the other.
pub(super) fn is_edited_form(a: &str, b: &str) -> bool {
    let words = |code: &str| {
        let words = code.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut words: Vec<String> = words.map(str::to_lowercase).collect();
        words.sort_unstable();
        words.dedup();
        words
    };
    let (a, b) = (words(a), words(b));
    let n_shared = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
    a.is_empty() || b.is_empty() || n_shared as f64 * 2.0 >= EDITED * (a.len() + b.len()) as f64
}
