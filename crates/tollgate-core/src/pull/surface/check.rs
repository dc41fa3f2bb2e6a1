//! The check run of a review: conclusion, output and annotations.

use crate::comment::Label;
use crate::finding::{Finding, Severity, Side};
use crate::gate::Gate;
use crate::markdown::escape::{inert, shown};
use crate::pull::anchor::{self, AnchorIndex};
use crate::pull::check_run::{Annotation, AnnotationLevel, CheckOutput, Conclusion};
use crate::pull::link;
use crate::pull::surface::SurfaceInput;
use crate::report::summary::draft::Draft;
use crate::report::summary::phrases::{counts, plural};
use crate::report::summary::{details, first_review};
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
/// It passes only when the gate is open and the coverage is complete.
#[must_use]
pub fn conclusion(gate: Gate, review: &Review) -> Conclusion {
    let is_complete = review.coverage.as_ref().is_some_and(crate::coverage::Coverage::is_complete);
    match gate {
        Gate::Open if is_complete => Conclusion::Success,
        Gate::Closed => Conclusion::Failure,
        Gate::Open | Gate::Partial | Gate::Skipped => Conclusion::ActionRequired,
    }
}

/// Writes the output of the check.
pub(super) fn text(input: &SurfaceInput<'_>, places: &AnchorIndex<'_>) -> CheckOutput {
    let (annotations, n_left_out) = annotations(input, places);
    CheckOutput { title: title(input), summary: summary(input, n_left_out), annotations }
}

fn remarks(review: &Review) -> impl Iterator<Item = &Finding> {
    review.findings.iter().filter(|finding| finding.severity != Severity::Praise)
}

/// `2 blocking findings`.
fn title(input: &SurfaceInput<'_>) -> String {
    let n_remarks = remarks(input.review).count() as u64;
    let n_blocking = remarks(input.review).filter(|finding| finding.severity.blocks()).count() as u64;
    let partly = if input.review.is_complete() { "" } else { "; review incomplete" };
    match (conclusion(input.gate, input.review), n_blocking, n_remarks) {
        (Conclusion::Failure, 0, _) => format!("{}, gate closed{partly}", plural(n_remarks, "finding")),
        (Conclusion::Failure, ..) => format!("{}{partly}", plural(n_blocking, "blocking finding")),
        (Conclusion::ActionRequired | Conclusion::Neutral, ..) => "Review incomplete".to_owned(),
        (Conclusion::Success, 0, 0) => "No findings".to_owned(),
        (Conclusion::Success, 0, _) => format!("{}, none blocking", plural(n_remarks, "finding")),
        (Conclusion::Success, ..) => {
            format!("{}, allowed by configuration", plural(n_blocking, "blocking finding"))
        }
    }
}

fn summary(input: &SurfaceInput<'_>, n_left_out: usize) -> String {
    let review = input.review;
    let mut draft = Draft::default();
    draft.push(format!("{}\n\n", first_review::verdict(review)));
    draft.push(format!("- Commit: {} against {}\n", input.head.short(), review.base.short()));
    let counts = counts(review.findings.iter().map(|finding| finding.severity));
    let counts = counts.map(|(label, n)| format!("{n} {}", label.heading().to_lowercase()));
    draft.push(format!("- Findings: {}\n", counts.join(", ")));
    match &review.coverage {
        Some(coverage) => details::covered(&mut draft, coverage),
        None => draft.push("- Coverage: unknown\n"),
    }
    if n_left_out > 0 {
        let said = plural(n_left_out as u64, "finding");
        draft.push(format!("- Without an annotation: {said}, kept in the stored review\n"));
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

/// The annotations, the worst first, and the number of findings without one.
fn annotations(input: &SurfaceInput<'_>, places: &AnchorIndex<'_>) -> (Vec<Annotation>, usize) {
    let mut findings: Vec<&Finding> = remarks(input.review).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let n_findings = findings.len();
    let annotations = findings.into_iter().filter_map(|finding| annotation(finding, places));
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

fn annotation(finding: &Finding, places: &AnchorIndex<'_>) -> Option<Annotation> {
    let location = &finding.location;
    let (path, start_line, end_line) = anchor(finding, places)?;
    let label = Label::of(finding.severity)?;
    let title = shown(&format!("{}: {}", label.heading(), finding.summary), MAX_TITLE);
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
