//! How much a review looks for, and what the author's declarations change in that.
//!
//! A tag beats the configuration, the configuration beats the profile's
//! figures. Findings that are held back are not lost: they are listed and
//! stored by whoever asks. A blocker is never held back because of its area,
//! and a critical one for no reason at all, since the author of a change
//! writes its title, too.

use crate::finding::{Category, Finding, Severity};
use crate::intent::{Intent, Type};
use crate::profile::Profile;

mod explanation;

/// What the configuration says; what it leaves open is the profile's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configured {
    /// The profile.
    pub profile: Option<Profile>,
    /// The mildest severity that is commented on.
    pub floor: Option<Severity>,
    /// The most comments.
    pub cap: Option<usize>,
    /// What is not looked at, beside what the profile leaves out.
    pub ignored: Vec<Category>,
    /// What is looked at with more care; the profile does not leave it out.
    pub focus: Vec<Category>,
}

/// What the declared type changes in a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// `feat` without a declared breaking change: removed or changed public API counts one level more.
    UndeclaredBreaksCountMore,
    /// `fix`: tests should have changed.
    TestsExpected,
    /// `docs`: documentation files get a lighter review.
    LighterDocs,
}

/// How much this review looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The profile that holds.
    pub profile: Profile,
    /// The mildest severity that is commented on.
    pub floor: Severity,
    /// The most comments; critical findings may exceed it.
    pub cap: usize,
    /// What is not looked at.
    pub ignored: Vec<Category>,
    /// What is looked at with more care.
    pub focus: Vec<Category>,
    /// True when the author wants to hear early what matters, and no more.
    pub early_feedback: bool,
    /// What the declared type changes.
    pub effect: Option<Effect>,
    /// One sentence for each thing that the author's declarations changed.
    pub changes: Vec<String>,
}

/// What becomes of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It counts.
    Counts,
    /// It is too mild.
    BelowFloor,
    /// It is about something that is not looked at.
    IgnoredArea(Category),
}

/// The floor and the areas of documentation files in a change that declares itself to be documentation, and of
/// unfinished work.
const LIGHT_FLOOR: Severity = Severity::Medium;

/// The embedded rules that find removed or changed public API.
const API_RULES: [&str; 2] = ["api-removed", "api-changed"];

/// Joins what the author declared with what the configuration says.
#[must_use]
pub fn resolve(intent: &Intent, configured: &Configured) -> Policy {
    let asked = intent.profile();
    let profile = asked.or(configured.profile).unwrap_or_default();
    let (floor, cap) = match asked {
        // The figures of the configuration were meant for its own profile.
        Some(_) => (profile.floor(), profile.cap()),
        None => (configured.floor.unwrap_or(profile.floor()), configured.cap.unwrap_or(profile.cap())),
    };
    let wanted = |area: &&Category| !configured.focus.contains(area);
    let mut policy = Policy {
        profile,
        floor,
        cap,
        ignored: profile.ignored().iter().filter(wanted).copied().collect(),
        focus: profile.focus().to_vec(),
        early_feedback: intent.is_wip() && !intent.draft,
        effect: effect(intent),
        changes: Vec::new(),
    };
    add(&mut policy.ignored, &configured.ignored);
    add(&mut policy.focus, &configured.focus);
    add(&mut policy.focus, &intent.focus());
    if intent.style_ok() {
        add(&mut policy.ignored, &[Category::Style]);
    }
    if policy.early_feedback {
        add(&mut policy.ignored, &[Category::Style]);
        policy.floor = policy.floor.max(LIGHT_FLOOR);
        policy.cap = (policy.cap / 2).max(1);
    }
    policy.changes = explanation::sentences(intent, &policy);
    policy
}

impl Policy {
    /// What the author's tags changed; what the declared type changed is the same in every review.
    #[must_use]
    pub fn changes_by_tags(&self) -> &[String] {
        &self.changes[..self.changes.len() - usize::from(self.effect.is_some() && !self.changes.is_empty())]
    }

    /// The severity by which a finding counts in this review. Asked once, before anything is decided.
    #[must_use]
    pub fn weigh(&self, finding: &Finding) -> Severity {
        let about_api = finding.origin.rule.as_deref().is_some_and(|rule| API_RULES.contains(&rule));
        if self.effect == Some(Effect::UndeclaredBreaksCountMore) && about_api {
            one_more(finding.severity)
        } else {
            finding.severity
        }
    }

    /// What becomes of a finding.
    #[must_use]
    pub fn decide(&self, finding: &Finding, is_docs_file: bool) -> Decision {
        let (severity, area) = (finding.severity, finding.category);
        if matches!(severity, Severity::Critical | Severity::Praise) {
            return Decision::Counts;
        }
        let light = is_docs_file && self.effect == Some(Effect::LighterDocs);
        let ignored = self.ignored.contains(&area) || light && area == Category::Style;
        if ignored && !severity.blocks() {
            return Decision::IgnoredArea(area);
        }
        let floor = if light { self.floor.max(LIGHT_FLOOR) } else { self.floor };
        if severity < floor { Decision::BelowFloor } else { Decision::Counts }
    }

    /// Which findings become comments and which are over the cap, by index: the worst first, else as they come.
    ///
    /// Criticals are never over the cap. Praise takes no place and is never over it either.
    #[must_use]
    pub fn cut(&self, findings: &[Finding]) -> (Vec<usize>, Vec<usize>) {
        let mut order: Vec<usize> = (0..findings.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(findings[index].severity));
        let mut n_comments = 0;
        order.into_iter().partition(|&index| {
            let severity = findings[index].severity;
            n_comments += usize::from(severity != Severity::Praise);
            n_comments <= self.cap || matches!(severity, Severity::Critical | Severity::Praise)
        })
    }
}

fn effect(intent: &Intent) -> Option<Effect> {
    match intent.conventional.as_ref()?.kind {
        Type::Feat if !intent.is_breaking() => Some(Effect::UndeclaredBreaksCountMore),
        Type::Fix => Some(Effect::TestsExpected),
        Type::Docs => Some(Effect::LighterDocs),
        _ => None,
    }
}

fn add(areas: &mut Vec<Category>, more: &[Category]) {
    for area in more {
        if !areas.contains(area) {
            areas.push(*area);
        }
    }
}

fn one_more(severity: Severity) -> Severity {
    match severity {
        Severity::Praise => Severity::Praise,
        Severity::Nit => Severity::Low,
        Severity::Low => Severity::Medium,
        Severity::Medium => Severity::High,
        Severity::High | Severity::Critical => Severity::Critical,
    }
}

#[cfg(test)]
mod tests;
