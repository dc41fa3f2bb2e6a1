//! Review policy: severity floor, comment cap and categories, from configuration and the author's intent.
//!
//! Tags override the configuration, which overrides the profile. Findings that the policy withholds are still listed and
//! stored. A blocker is never withheld because of its category, and a Critical never at all, since the author of a change
//! also writes its title.

use crate::finding::{Category, Finding, Severity};
use crate::intent::{Intent, Type};
use crate::profile::Profile;

mod explanation;

/// The configured policy; unset fields are those of the profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configured {
    /// The profile.
    pub profile: Option<Profile>,
    /// The mildest severity that becomes a comment.
    pub floor: Option<Severity>,
    /// The most comments.
    pub cap: Option<usize>,
    /// Ignored categories, in addition to those of the profile.
    pub ignored: Vec<Category>,
    /// Categories in focus, which the profile does not ignore.
    pub focus: Vec<Category>,
}

/// The effect of the declared type on a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// `feat` without a declared breaking change: removed or changed public API is one severity higher.
    UndeclaredBreaksCountMore,
    /// `fix`: tests are expected to change.
    TestsExpected,
    /// `docs`: documentation files get a lighter review.
    LighterDocs,
}

/// The policy of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The effective profile.
    pub profile: Profile,
    /// The mildest severity that becomes a comment.
    pub floor: Severity,
    /// The most comments; critical findings may exceed it.
    pub cap: usize,
    /// Ignored categories.
    pub ignored: Vec<Category>,
    /// Categories in focus.
    pub focus: Vec<Category>,
    /// True for work in progress, which gets only the important findings.
    pub early_feedback: bool,
    /// The effect of the declared type.
    pub effect: Option<Effect>,
    /// One sentence per effect of the author's declarations.
    pub changes: Vec<String>,
}

/// The decision on a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The finding counts.
    Counts,
    /// The finding is below the severity floor.
    BelowFloor,
    /// The category of the finding is ignored.
    IgnoredArea(Category),
}

/// The embedded rules about the review itself. No pattern disables them, and no floor or ignored category hides them:
/// what silences a review would hide that it is there.
pub const REVIEW_RULES: [&str; 2] = ["review-config-weakened", "suppression-added"];

/// The severity floor of documentation files in a `docs` change, and of work in progress.
const LIGHT_FLOOR: Severity = Severity::Medium;

/// The embedded rules that find removed or changed public API.
const API_RULES: [&str; 2] = ["api-removed", "api-changed"];

/// Resolves the policy from the author's intent and the configuration.
#[must_use]
pub fn resolve(intent: &Intent, configured: &Configured) -> Policy {
    let asked = intent.profile();
    let profile = asked.or(configured.profile).unwrap_or_default();
    let (floor, cap) = match asked {
        // The configured limits were meant for the configured profile.
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
    /// The effects of tags, without that of the declared type, which is the same in every review.
    #[must_use]
    pub fn changes_by_tags(&self) -> &[String] {
        &self.changes[..self.changes.len() - usize::from(self.effect.is_some() && !self.changes.is_empty())]
    }

    /// The effective severity of a finding. Applied once, before any decision.
    #[must_use]
    pub fn weigh(&self, finding: &Finding) -> Severity {
        let about_api = finding.origin.rule.as_deref().is_some_and(|rule| API_RULES.contains(&rule));
        if self.effect == Some(Effect::UndeclaredBreaksCountMore) && about_api {
            one_more(finding.severity)
        } else {
            finding.severity
        }
    }

    /// The decision on a finding.
    #[must_use]
    pub fn decide(&self, finding: &Finding, is_docs_file: bool) -> Decision {
        let (severity, area) = (finding.severity, finding.category);
        let about_review = finding.origin.rule.as_deref().is_some_and(|rule| REVIEW_RULES.contains(&rule));
        if about_review || matches!(severity, Severity::Critical | Severity::Praise) {
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

    /// Splits findings into comments and those over the cap, by index: worst first, otherwise in order.
    ///
    /// Criticals are never over the cap. Praise does not count towards it and is never over it.
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
