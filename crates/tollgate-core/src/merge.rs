//! Merges the findings of several reviewers into one list.
//!
//! Two reviewers' findings that are one by [`crate::delta::identity`] become one finding that names both. It has
//! the higher severity and ranks before equally severe findings of one reviewer: agreement is the best sign that a finding
//! is right. Different findings at one location stay separate, and so do two findings of one reviewer.
//!
//! Several passes of one model are several voices of one reviewer, distinguished by `x_pass`. [`consensus`] requires a
//! number of voices for findings of models.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::delta::identity::{self, ComparedFinding, is_same_quote, match_findings};
use crate::delta::line_map::LineMap;
use crate::finding::{Category, Finding, REVIEWERS, Side};
use crate::fingerprint::normalise;
use crate::path::FilePath;
use crate::review::{Withheld, WithheldFinding};
use crate::verify::VERIFICATION;

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
    // A reviewer that reports two findings means two defects, so only findings of different voices are matched.
    let mut by_voices: BTreeMap<Vec<String>, Vec<MergedFinding>> = BTreeMap::new();
    for finding in findings {
        push_once(by_voices.entry(voices(&finding)).or_default(), MergedFinding::new(finding));
    }
    let mut merged: Vec<MergedFinding> = Vec::new();
    for (voices, findings) in by_voices {
        join_voices(&mut merged, &voices, findings);
    }
    let mut merged: Vec<Finding> = merged.into_iter().map(|merged_finding| merged_finding.finding).collect();
    merged.sort_by(|a, b| {
        let rank = |finding: &Finding| (Reverse(finding.severity), Reverse(n_voices(finding)), doubt(finding));
        rank(a).cmp(&rank(b)).then_with(|| place(a).cmp(&place(b)))
    });
    merged
}

/// Adds a finding of a voice, unless the voice repeats itself.
fn push_once(findings: &mut Vec<MergedFinding>, finding: MergedFinding) {
    let is_here = |known: &&mut MergedFinding| known.finding.location == finding.finding.location;
    // Sorted by location and rule, so a repetition is among the last few.
    let mut near = findings.iter_mut().rev().take(WINDOW).take_while(is_here);
    match near.find(|known| is_repeated(&known.finding, &finding.finding)) {
        Some(known) => known.join(finding),
        None => findings.push(finding),
    }
}

/// True when one voice says the same twice of the same lines.
fn is_repeated(a: &Finding, b: &Finding) -> bool {
    match (&a.origin.rule, &b.origin.rule) {
        (None, None) => normalise(a.summary.as_str()) == normalise(b.summary.as_str()),
        (rule, other) => rule == other,
    }
}

/// Joins the findings of one more voice with those of the others.
fn join_voices(merged: &mut Vec<MergedFinding>, voices: &[String], findings: Vec<MergedFinding>) {
    let is_of_others = |known: &MergedFinding| !self::voices(&known.finding).iter().any(|voice| voices.contains(voice));
    let of_others: Vec<usize> = (0..merged.len()).filter(|&index| is_of_others(&merged[index])).collect();
    let known: Vec<ComparedFinding<'_>> = of_others.iter().map(|&index| merged[index].compared()).collect();
    let heard: Vec<ComparedFinding<'_>> = findings.iter().map(MergedFinding::compared).collect();
    let pairs = match_findings(&known, &heard, &LineMap::unchanged()).pairs;
    let mut joins: Vec<Option<usize>> = vec![None; findings.len()];
    for (i, j) in pairs {
        joins[j] = Some(of_others[i]);
    }
    for (finding, joins) in findings.into_iter().zip(joins) {
        match joins {
            Some(index) => merged[index].join(finding),
            None => merged.push(finding),
        }
    }
}

/// Keeps the findings that enough models agree on; the others are withheld.
///
/// Blockers about the behaviour of the same quoted code agree that it is defective, whatever they call the defect: all of
/// them are kept.
///
/// Each pass of each reviewer is a voice. Findings of rules and other tools need no second voice.
#[must_use]
pub fn consensus(
    findings: Vec<Finding>,
    needed: usize,
    is_model: &dyn Fn(&str) -> bool,
) -> (Vec<Finding>, Vec<WithheldFinding>) {
    let is_alone = |finding: &Finding| {
        let names = reviewers(finding);
        !names.is_empty() && names.iter().all(|name| is_model(name)) && n_voices(finding) < needed
    };
    let agreed = agreed_places(&findings, needed, &is_alone);
    let (mut kept, mut withheld) = (Vec::with_capacity(findings.len()), Vec::new());
    for (index, finding) in findings.into_iter().enumerate() {
        let voices = n_voices(&finding);
        if is_alone(&finding) && !agreed.contains(&index) {
            withheld.push(WithheldFinding { finding, why: Withheld::NoConsensus { voices, needed } });
        } else {
            kept.push(finding);
        }
    }
    (kept, withheld)
}

/// The blockers whose quoted code enough models call defective in different words, by their indices.
fn agreed_places(findings: &[Finding], needed: usize, is_alone: &dyn Fn(&Finding) -> bool) -> HashSet<usize> {
    let is_candidate = |finding: &Finding| finding.severity.blocks() && is_behaviour(finding.category);
    let blockers = findings.iter().enumerate().filter(|(_, finding)| is_candidate(finding) && is_alone(finding));
    let mut by_file: BTreeMap<(&FilePath, Side), Vec<(usize, &Finding)>> = BTreeMap::new();
    for (index, finding) in blockers {
        by_file.entry((&finding.location.file, finding.location.side)).or_default().push((index, finding));
    }
    let mut agreed = HashSet::new();
    for blockers in by_file.values_mut() {
        blockers.sort_by_key(|(index, finding)| (finding.location.lines, *index));
        for (at, (index, one)) in blockers.iter().enumerate() {
            let near = blockers[at.saturating_sub(WINDOW)..].iter().take(2 * WINDOW + 1);
            let is_same_place = |other: &Finding| {
                other.location.lines.overlaps(one.location.lines) && is_same_quote(&other.evidence, &one.evidence)
            };
            let same = near.filter(|(_, other)| is_same_place(other));
            let all = same.fold(Vec::new(), |all, (_, other)| joined(all, voices(other)));
            if all.len() >= needed {
                agreed.insert(*index);
            }
        }
    }
    agreed
}

/// True for the categories of defects in what the code does.
fn is_behaviour(category: Category) -> bool {
    use Category::{Compliance, Error, Logic, Security, Type};
    matches!(category, Logic | Error | Type | Security | Compliance)
}

/// The number of preceding findings of a voice that are compared.
const WINDOW: usize = 32;

type SortKey<'a> = (&'a crate::finding::Location, Option<&'a str>, &'a str, Option<&'a str>);

fn place(finding: &Finding) -> SortKey<'_> {
    let origin = &finding.origin;
    (&finding.location, origin.rule.as_deref(), finding.summary.as_str(), origin.reviewer.as_deref())
}

/// The tie-breaker of findings with the same location and title.
fn ties(finding: &Finding) -> (Reverse<crate::finding::Severity>, crate::finding::Category, u64, &str, Option<&str>) {
    (Reverse(finding.severity), finding.category, pass(finding), &finding.evidence, finding.reason.as_deref())
}

/// A finding, possibly merged from several.
struct MergedFinding {
    finding: Finding,
    /// The reasons and titles of all of them, for comparison.
    said: String,
}

impl MergedFinding {
    fn new(finding: Finding) -> Self {
        Self { said: finding.reason.clone().unwrap_or_default(), finding }
    }

    fn compared(&self) -> ComparedFinding<'_> {
        ComparedFinding { reason: &self.said, ..ComparedFinding::from(&self.finding) }
    }

    fn join(&mut self, other: Self) {
        let names = joined(reviewers(&self.finding), reviewers(&other.finding));
        let voices = joined(voices(&self.finding), voices(&other.finding));
        let is_one_text = identity::are_worded_alike(self.compared(), other.compared());
        let leads = |finding: &Finding| (finding.severity, finding.origin.rule.is_some());
        // The more severe one leads, because its severity needs its reason. Of equal ones a rule leads: its wording is stable.
        let Self { finding: mut led, said } = other;
        if leads(&led) > leads(&self.finding) {
            std::mem::swap(&mut self.finding, &mut led);
        }
        self.said = [&self.said, led.summary.as_str(), &said].join("\n");
        if !is_one_text {
            add_words(&mut self.finding, &led);
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

/// Adds the words of a joined finding to the reason, so that none of two remarks about the same code is lost.
fn add_words(finding: &mut Finding, led: &Finding) {
    let name = led.origin.reviewer.as_deref().unwrap_or("another reviewer");
    let mut words = format!("Reported by {name} as: {}", led.summary);
    words.extend(led.reason.iter().flat_map(|reason| ["\n\n", reason]));
    finding.reason = Some(match finding.reason.take() {
        Some(reason) => format!("{reason}\n\n{words}"),
        None => words,
    });
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

/// The reviewers that made a finding.
#[must_use]
pub fn reviewers(finding: &Finding) -> Vec<String> {
    finding.reviewers().into_iter().map(str::to_owned).collect()
}

/// Adds a reviewer that vouches for a finding: it is one of its voices from now on.
pub fn add_reviewer(finding: &mut Finding, reviewer: &str) {
    let own = || vec![reviewer.to_owned()];
    let (names, voices) = (joined(reviewers(finding), own()), joined(voices(finding), own()));
    if voices != names {
        finding.extra.insert(VOICES.to_owned(), voices.into());
    }
    if names.len() > 1 {
        finding.extra.insert(REVIEWERS.to_owned(), names.into());
    }
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
