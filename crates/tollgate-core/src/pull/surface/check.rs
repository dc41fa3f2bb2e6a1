//! The check run of a review: conclusion, output and annotations.

use std::collections::HashSet;

use crate::comment::Label;
use crate::finding::{Finding, Severity, Side};
use crate::gate::Gate;
use crate::markdown::escape::{inert, shown};
use crate::pull::anchor::{self, AnchorIndex};
use crate::pull::check_run::{Annotation, AnnotationLevel, CheckOutput, Conclusion};
use crate::pull::link;
use crate::pull::surface::{Keyed, SurfaceInput, keyed};
use crate::report::head_state::HeadState;
use crate::report::summary::details;
use crate::report::summary::draft::Draft;
use crate::report::summary::phrases::plural;
use crate::review::Review;

/// The most annotations of one check: they are sent in batches of 50, and the forge rate limits to 80 requests a minute.
const MAX_ANNOTATIONS: usize = 2000;
/// The most characters of an annotation's text, and of its title.
const MAX_MESSAGE: usize = 8000;
const MAX_TITLE: usize = 255;
/// The most bytes of the summary.
const MAX_SUMMARY: usize = 60_000;
/// Forges count lines in 31 bits.
const MAX_LINE: u32 = i32::MAX as u32;

/// Decides the conclusion of a check.
///
/// It passes only when the gate is open, and the review is complete and tells its coverage.
#[must_use]
pub fn conclusion(state: &HeadState, review: &Review) -> Conclusion {
    let is_complete = review.coverage.is_some() && review.is_complete();
    match state.gate() {
        Gate::Open if is_complete => Conclusion::Success,
        Gate::Closed => Conclusion::Failure,
        Gate::Open | Gate::Partial | Gate::Skipped => Conclusion::ActionRequired,
    }
}

/// Writes the output of the check; `commented` are the keys of findings that get an inline comment now.
pub(super) fn text(input: &SurfaceInput<'_>, places: &AnchorIndex<'_>, commented: &HashSet<&str>) -> CheckOutput {
    let (annotations, n_left_out) = annotations(input, places, commented);
    let title = inert(&shown(&input.state.plain(), MAX_TITLE), MAX_TITLE);
    CheckOutput { title, summary: summary(input, n_left_out), annotations }
}

fn remarks(review: &Review) -> impl Iterator<Item = &Finding> {
    review.findings.iter().filter(|finding| finding.severity != Severity::Praise)
}

fn summary(input: &SurfaceInput<'_>, n_left_out: usize) -> String {
    let review = input.review;
    let mut draft = Draft::default();
    draft.push(format!("{}\n\n", input.state.markdown()));
    draft.push(format!("- Commit: {} against {}\n", input.head.short(), review.base.short()));
    draft.push(format!("- Findings: {}\n", input.state.counts().in_words()));
    match &review.coverage {
        Some(coverage) => details::covered(&mut draft, coverage),
        None => draft.push("- Coverage: unknown\n"),
    }
    details::unsettled(&mut draft, review);
    if n_left_out > 0 {
        let said = plural(n_left_out as u64, "finding");
        draft.push(format!("- Without a comment or an annotation: {said}, kept in the stored review\n"));
    }
    if let Some(url) = input.details_url {
        draft.push(format!("- {}\n", link::link("Full review", url)));
    }
    draft.finish(MAX_SUMMARY)
}

/// True when the check has an annotation for each of these findings.
pub(super) fn shows<'a>(
    review: &Review,
    findings: impl Iterator<Item = &'a Finding>,
    places: &AnchorIndex<'_>,
) -> bool {
    let mut findings = findings;
    remarks(review).count() <= MAX_ANNOTATIONS && findings.all(|finding| anchor(finding, places).is_some())
}

/// The annotations of findings without an inline comment, the worst first, and the number of those without one.
fn annotations(
    input: &SurfaceInput<'_>,
    places: &AnchorIndex<'_>,
    commented: &HashSet<&str>,
) -> (Vec<Annotation>, usize) {
    let has_comment = |key: &str| commented.contains(key) || input.known.contains(key);
    let mut findings: Vec<Keyed<'_>> = keyed(input)
        .filter(|keyed| keyed.finding.severity != Severity::Praise && !has_comment(&keyed.key.to_string()))
        .collect();
    findings.sort_by_key(|keyed| std::cmp::Reverse(keyed.finding.severity));
    let n_findings = findings.len();
    let annotations = findings.into_iter().filter_map(|keyed| annotation(keyed, places));
    let annotations: Vec<Annotation> = annotations.take(MAX_ANNOTATIONS).collect();
    let n_left_out = n_findings - annotations.len();
    (annotations, n_left_out)
}

/// The path and the lines of an annotation; `None` without a line in the diff.
fn anchor<'a>(finding: &'a Finding, places: &AnchorIndex<'a>) -> Option<(&'a str, u32, u32)> {
    let location = &finding.location;
    let (start, end) = (location.lines.start(), location.lines.end());
    match (places.file(location), location.side) {
        (Some(file), Side::Right) => Some((anchor::path(file)?, start, end)),
        (Some(file), Side::Left) => {
            let beside = anchor::beside(file, start)?;
            Some((anchor::path(file)?, beside, beside))
        }
        (None, Side::Right) if !location.file.as_str().contains('\u{fffd}') => {
            Some((location.file.as_str(), start, end))
        }
        (None, _) => None,
    }
}

fn annotation(Keyed { finding, key }: Keyed<'_>, places: &AnchorIndex<'_>) -> Option<Annotation> {
    let location = &finding.location;
    let (path, start_line, end_line) = anchor(finding, places)?;
    let label = Label::of(finding.severity)?;
    let title = shown(&format!("{}: {} ({})", label.heading(), finding.summary, key.short()), MAX_TITLE);
    let mut message = finding.reason.clone().unwrap_or_default();
    if message.trim().is_empty() {
        message = finding.summary.to_string();
    }
    if location.side == Side::Left {
        message.push_str(&format!("\n(removed, was line {})", location.lines));
    }
    if let Some(rule) = finding.origin.rule.as_deref().filter(|rule| !rule.trim().is_empty()) {
        message.push_str(&format!("\n[{rule}]"));
    }
    Some(Annotation {
        path: path.to_owned(),
        start_line: start_line.min(MAX_LINE),
        end_line: end_line.min(MAX_LINE),
        level: level(finding.severity),
        title: inert(&title, MAX_TITLE),
        message: inert(&message, MAX_MESSAGE),
    })
}

fn level(severity: Severity) -> AnnotationLevel {
    match severity {
        Severity::Critical | Severity::High => AnnotationLevel::Failure,
        Severity::Medium => AnnotationLevel::Warning,
        Severity::Low | Severity::Nit | Severity::Praise => AnnotationLevel::Notice,
    }
}
