//! The check of a commit: how it ends, what it says, and its annotations.

use crate::comment::Label;
use crate::finding::{Finding, Severity, Side};
use crate::gate::Gate;
use crate::pull::link;
use crate::pull::place::{self, Places};
use crate::pull::post::{Annotation, CheckText, Conclusion, Level};
use crate::pull::surface::Input;
use crate::report::escape::{inert, shown};
use crate::report::summary::draft::Draft;
use crate::report::summary::words::{counts, plural};
use crate::report::summary::{details, first};
use crate::review::Review;

/// The most annotations of one check: they are sent in parts of 50, and each part is a request. Hosts take 80 of these
/// in a minute from one who writes nothing else.
const MAX_ANNOTATIONS: usize = 2000;
/// The most characters of an annotation's text, and of its title.
const MAX_MESSAGE: usize = 8000;
const MAX_TITLE: usize = 255;
/// The most bytes of what the check says.
const MAX_SUMMARY: usize = 60_000;
/// Hosts count lines in 31 bits.
const MAX_LINE: u32 = i32::MAX as u32;

/// Decides how a check ends.
///
/// It passes only when the gate is open and the review says of every hunk that somebody looked at it or need not.
#[must_use]
pub fn conclusion(gate: Gate, review: &Review) -> Conclusion {
    let is_complete = review.coverage.as_ref().is_some_and(crate::coverage::Coverage::is_complete);
    match gate {
        Gate::Open if is_complete => Conclusion::Success,
        Gate::Closed => Conclusion::Failure,
        Gate::Open | Gate::Partial | Gate::Skipped => Conclusion::ActionRequired,
    }
}

/// Writes what the check says.
pub(super) fn text(input: &Input<'_>, places: &Places<'_>) -> CheckText {
    let (annotations, n_left_out) = annotations(input, places);
    CheckText { title: title(input), summary: summary(input, n_left_out), annotations }
}

fn remarks(review: &Review) -> impl Iterator<Item = &Finding> {
    review.findings.iter().filter(|finding| finding.severity != Severity::Praise)
}

/// `2 blocking findings`.
fn title(input: &Input<'_>) -> String {
    let n_remarks = remarks(input.review).count() as u64;
    let n_blocking = remarks(input.review).filter(|finding| finding.severity.blocks()).count() as u64;
    let partly = if input.review.is_complete() { "" } else { "; not all of it was reviewed" };
    match (conclusion(input.gate, input.review), n_blocking, n_remarks) {
        (Conclusion::Failure, 0, _) => format!("{}, enough to close the gate{partly}", plural(n_remarks, "finding")),
        (Conclusion::Failure, ..) => format!("{}{partly}", plural(n_blocking, "blocking finding")),
        (Conclusion::ActionRequired | Conclusion::Neutral, ..) => "Not all of it was reviewed".to_owned(),
        (Conclusion::Success, 0, 0) => "No findings".to_owned(),
        (Conclusion::Success, 0, _) => format!("{}, none blocking", plural(n_remarks, "finding")),
        (Conclusion::Success, ..) => {
            format!("{}, let pass by configuration", plural(n_blocking, "blocking finding"))
        }
    }
}

fn summary(input: &Input<'_>, n_left_out: usize) -> String {
    let review = input.review;
    let mut draft = Draft::default();
    draft.push(format!("{}\n\n", first::verdict(review)));
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
        draft.push(format!(
            "- Without an annotation, for want of a line or of room: {said}, kept in the stored review\n"
        ));
    }
    if let Some(url) = input.details_url {
        draft.push(format!("- {}\n", link::link("All of the review", url)));
    }
    draft.finish(MAX_SUMMARY)
}

/// True when the check shows each of these findings.
pub(super) fn shows<'a>(review: &Review, findings: impl Iterator<Item = &'a Finding>, places: &Places<'_>) -> bool {
    let mut findings = findings;
    remarks(review).count() <= MAX_ANNOTATIONS && findings.all(|finding| anchor(finding, places).is_some())
}

/// The annotations, the worst first, and how many findings have none.
fn annotations(input: &Input<'_>, places: &Places<'_>) -> (Vec<Annotation>, usize) {
    let mut findings: Vec<&Finding> = remarks(input.review).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let n_findings = findings.len();
    let annotations = findings.into_iter().filter_map(|finding| annotation(finding, places));
    let annotations: Vec<Annotation> = annotations.take(MAX_ANNOTATIONS).collect();
    let n_left_out = n_findings - annotations.len();
    (annotations, n_left_out)
}

/// The path and the lines of an annotation; `None` where there is no line to put it.
fn anchor<'a>(finding: &'a Finding, places: &Places<'a>) -> Option<(&'a str, u32, u32)> {
    let location = &finding.location;
    let (start, end) = (location.lines.start(), location.lines.end());
    match (places.file(location), location.side) {
        (Some(file), Side::Right) => Some((place::path(file)?, start, end)),
        (Some(file), Side::Left) => {
            let beside = place::beside(file, start)?;
            Some((place::path(file)?, beside, beside))
        }
        (None, Side::Right) if !location.file.as_str().contains('\u{fffd}') => {
            Some((location.file.as_str(), start, end))
        }
        (None, _) => None,
    }
}

fn annotation(finding: &Finding, places: &Places<'_>) -> Option<Annotation> {
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

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Critical | Severity::High => Level::Failure,
        Severity::Medium => Level::Warning,
        Severity::Low | Severity::Nit | Severity::Praise => Level::Notice,
    }
}
