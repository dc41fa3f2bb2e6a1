//! Merges the findings of several reviewers into one list.
//!
//! Two reviewers' findings about the same defect become one that names both. It has the higher severity and ranks before
//! equally severe findings of one reviewer: agreement is the best sign that a finding is right. Different findings at one
//! location stay separate, and so do two findings of one reviewer.
//!
//! Several passes of one model are several voices of one reviewer, distinguished by `x_pass`. [`consensus`] requires a
//! number of voices for findings of models.

mod agree;

use std::cell::OnceCell;
use std::cmp::Reverse;

use serde_json::Value;

use crate::finding::Finding;
use crate::fingerprint::normalise;
use crate::merge::agree::FindingWords;
use crate::review::{Withheld, WithheldFinding};
use crate::verify::VERIFICATION;

/// The extension field with all reviewers of a merged finding.
pub const REVIEWERS: &str = "x_reviewers";
/// The extension field with all voices of a merged finding, when one reviewer has several: `claude`, `claude#2`.
const VOICES: &str = "x_voices";
/// The extension field with the pass of a reviewer, from 1.
pub const PASS: &str = "x_pass";

/// Merges equivalent findings and sorts the list: worst first, then by number of voices, by quality of the verification,
/// and by location.
#[must_use]
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut findings = findings;
    findings.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| ties(a).cmp(&ties(b))));
    let mut merged: Vec<MergedFinding> = Vec::with_capacity(findings.len());
    // Sorted by file and first line, so an equivalent finding is among the last few; the window keeps this linear.
    for finding in findings.into_iter().map(MergedFinding::new) {
        let from = merged.len().saturating_sub(WINDOW);
        let near = merged[from..].iter_mut().filter_map(|known| Some((known.agrees(&finding)?, known)));
        // The best match; of equal ones the first.
        match near.reduce(|best, next| if next.0 > best.0 { next } else { best }) {
            Some((_, known)) => known.join(finding),
            None => merged.push(finding),
        }
    }
    let mut merged: Vec<Finding> = merged.into_iter().map(|merged_finding| merged_finding.finding).collect();
    merged.sort_by(|a, b| {
        let rank = |finding: &Finding| (Reverse(finding.severity), Reverse(n_voices(finding)), doubt(finding));
        rank(a).cmp(&rank(b)).then_with(|| place(a).cmp(&place(b)))
    });
    merged
}

/// Keeps the findings that enough models agree on; the others are withheld.
///
/// Each pass of each reviewer is a voice. Findings of rules and other tools need no second voice.
#[must_use]
pub fn consensus(
    findings: Vec<Finding>,
    needed: usize,
    is_model: &dyn Fn(&str) -> bool,
) -> (Vec<Finding>, Vec<WithheldFinding>) {
    let (mut kept, mut withheld) = (Vec::with_capacity(findings.len()), Vec::new());
    for finding in findings {
        let names = reviewers(&finding);
        let only_models = !names.is_empty() && names.iter().all(|name| is_model(name));
        let voices = n_voices(&finding);
        if only_models && voices < needed {
            withheld.push(WithheldFinding { finding, why: Withheld::NoConsensus { voices, needed } });
        } else {
            kept.push(finding);
        }
    }
    (kept, withheld)
}

/// The number of preceding findings that are compared.
const WINDOW: usize = 32;
/// The distance in lines within which two findings can be about the same defect.
const NEAR: u32 = 3;

type SortKey<'a> = (&'a crate::finding::Location, Option<&'a str>, &'a str, Option<&'a str>);

fn place(finding: &Finding) -> SortKey<'_> {
    let origin = &finding.origin;
    (&finding.location, origin.rule.as_deref(), finding.summary.as_str(), origin.reviewer.as_deref())
}

/// The tie-breaker of findings with the same location and title.
fn ties(finding: &Finding) -> (Reverse<crate::finding::Severity>, crate::finding::Category, u64, &str, Option<&str>) {
    (Reverse(finding.severity), finding.category, pass(finding), &finding.evidence, finding.reason.as_deref())
}

/// A finding, possibly merged from several, and its words.
struct MergedFinding {
    finding: Finding,
    words: OnceCell<FindingWords>,
}

impl MergedFinding {
    fn new(finding: Finding) -> Self {
        Self { finding, words: OnceCell::new() }
    }

    fn words(&self) -> &FindingWords {
        self.words.get_or_init(|| FindingWords::of(&self.finding))
    }

    /// The similarity of two findings, if they are equivalent.
    fn agrees(&self, other: &Self) -> Option<f64> {
        const CERTAIN: f64 = 2.0;
        let (a, b) = (&self.finding, &other.finding);
        let (here, there) = (&a.location, &b.location);
        let gap = here.lines.distance(there.lines);
        if here.file != there.file || here.side != there.side || gap > NEAR {
            return None;
        }
        let same_rule = a.origin.rule.is_some() && a.origin.rule == b.origin.rule;
        let same_title = || normalise(a.summary.as_str()) == normalise(b.summary.as_str());
        if voices(a).iter().any(|voice| voices(b).contains(voice)) {
            // A reviewer that reports two findings means two defects.
            let of_models = a.origin.rule.is_none() && b.origin.rule.is_none();
            return (here == there && (same_rule || (of_models && same_title()))).then_some(CERTAIN);
        }
        let (overlap, same_category) = (gap == 0, a.category == b.category);
        if overlap && same_rule {
            return Some(CERTAIN);
        }
        if a.origin.rule.is_some() && b.origin.rule.is_some() {
            // The message of a rule does not depend on the code: two rules of one category on one quote mean the same.
            let same_evidence = a.evidence.split_whitespace().eq(b.evidence.split_whitespace());
            return (overlap && same_category && same_evidence).then_some(1.0);
        }
        self.words().agrees(other.words(), same_category, overlap)
    }

    fn join(&mut self, other: Self) {
        let names = joined(reviewers(&self.finding), reviewers(&other.finding));
        let voices = joined(voices(&self.finding), voices(&other.finding));
        let leads = |finding: &Finding| (finding.severity, finding.origin.rule.is_some());
        // The more severe one leads, because its severity needs its reason. Of equal ones a rule leads: its wording is stable.
        let mut led = other.finding;
        if leads(&led) > leads(&self.finding) {
            std::mem::swap(&mut self.finding, &mut led);
            self.words = other.words;
        }
        fill(&mut self.finding, led);
        let extra = &mut self.finding.extra;
        if voices.len() > 1 {
            extra.shift_remove(PASS);
        }
        if voices != names {
            extra.insert(VOICES.to_owned(), voices.into());
        }
        if names.len() > 1 {
            extra.insert(REVIEWERS.to_owned(), names.into());
        }
    }
}

fn joined(mut names: Vec<String>, others: Vec<String>) -> Vec<String> {
    names.extend(others);
    names.sort();
    names.dedup();
    names
}

fn fill(known: &mut Finding, other: Finding) {
    known.reason = known.reason.take().or(other.reason);
    if known.fix.is_none() && known.suggestion.is_none() {
        known.fix = other.fix;
        known.suggestion = other.suggestion;
    }
    // Suppressing the rule must suppress the merged finding.
    if known.origin.rule.is_none() {
        known.origin.rule = other.origin.rule;
        known.origin.rule_url = other.origin.rule_url;
    }
}

fn reviewers(finding: &Finding) -> Vec<String> {
    names(finding, REVIEWERS).unwrap_or_else(|| finding.origin.reviewer.iter().cloned().collect())
}

/// The voices of a finding, one per pass of each reviewer.
fn voices(finding: &Finding) -> Vec<String> {
    let own = || {
        let name = finding.origin.reviewer.as_deref()?;
        Some(match pass(finding) {
            0 | 1 => name.to_owned(),
            pass => format!("{name}#{pass}"),
        })
    };
    names(finding, VOICES).or_else(|| names(finding, REVIEWERS)).unwrap_or_else(|| own().into_iter().collect())
}

fn names(finding: &Finding, key: &str) -> Option<Vec<String>> {
    let names = finding.extra.get(key)?.as_array()?;
    Some(names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect())
}

fn pass(finding: &Finding) -> u64 {
    finding.extra.get(PASS).and_then(Value::as_u64).unwrap_or_default()
}

fn n_voices(finding: &Finding) -> usize {
    voices(finding).len().max(1)
}

/// The rank of the verification: 0 for a rule or an exact quote.
fn doubt(finding: &Finding) -> usize {
    const STATES: [&str; 5] = ["exact", "whitespace", "parts", "nearest", "place"];
    let state = finding.extra.get(VERIFICATION).and_then(|verification| verification["state"].as_str());
    state.map_or(0, |state| STATES.iter().position(|known| *known == state).unwrap_or(STATES.len()))
}

#[cfg(test)]
mod tests;
