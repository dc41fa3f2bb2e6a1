//! GitHub workflow annotations, printed to the log.
//!
//! ```text
//! ::error file=src/a.rs,line=3,endLine=5,title=High/Security%3A SQL injection::The id is pasted in.
//! ```
//!
//! Annotations need no token, so they also work for forks. GitHub shows ten errors, ten warnings and ten notices of a
//! step; a note says when there are more. One warning says why a review is incomplete, and one notice names the
//! blockers that do not count.

use crate::finding::{Finding, Severity, Side};
use crate::report::caveats;
use crate::review::Review;
use crate::visible::visible;

/// The most annotations of one level that GitHub shows for a step.
const MAX_SHOWN: usize = 10;

/// Annotations and a note on GitHub's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotations {
    /// One annotation a line, the worst first.
    pub text: String,
    /// A note that GitHub shows fewer than there are.
    pub note: Option<String>,
}

/// Writes the findings as annotations. Praise is left out.
#[must_use]
pub fn write(review: &Review) -> Annotations {
    let mut findings: Vec<&Finding> = review.findings.iter().collect();
    findings.retain(|finding| finding.severity != Severity::Praise);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut text: String = findings.iter().map(|finding| annotation(finding)).collect();
    let (partial, not_counted) = (incomplete(review), not_counted(review));
    text.push_str(partial.as_deref().unwrap_or_default());
    // GitHub drops the last notices.
    text.insert_str(0, not_counted.as_deref().unwrap_or_default());

    let count = |level| findings.iter().filter(|finding| self::level(finding.severity) == level).count();
    let warnings = count("warning") + usize::from(partial.is_some());
    let notices = count("notice") + usize::from(not_counted.is_some());
    let kinds = [("errors", count("error")), ("warnings", warnings), ("notices", notices)];
    let over = kinds.iter().filter(|(_, count)| *count > MAX_SHOWN);
    let over: Vec<String> = over.map(|(kind, count)| format!("{MAX_SHOWN} of {count} {kind}")).collect();
    let note = (!over.is_empty()).then(|| format!("GitHub shows only {}; the log has them all", over.join(" and ")));
    Annotations { text, note }
}

fn annotation(finding: &Finding) -> String {
    let location = &finding.location;
    let title = format!("{}/{}: {}", finding.severity, finding.category, finding.summary);
    let mut message = finding.reason.clone().filter(|reason| !reason.trim().is_empty());
    // GitHub counts new lines, so a removed line is named in the message.
    let place = match location.side {
        Side::Right => format!(",line={},endLine={}", location.lines.start(), location.lines.end()),
        Side::Left => {
            let reason = message.take().unwrap_or_else(|| finding.summary.to_string());
            message = Some(format!("{reason}\n(removed, was line {})", location.lines));
            String::new()
        }
    };
    let mut message = message.unwrap_or_else(|| finding.summary.to_string());
    if let Some(rule) = finding.origin.rule.as_deref().filter(|rule| !rule.is_empty()) {
        message.push_str(&format!("\n[{rule}]"));
    }
    let level = level(finding.severity);
    let file = property(location.file.as_str());
    format!("::{level} file={file}{place},title={}::{}\n", property(&title), data(&message))
}

/// One warning with all that makes the review incomplete.
fn incomplete(review: &Review) -> Option<String> {
    let reasons = caveats::incomplete(review);
    let title = property("The review is not complete");
    (!reasons.is_empty()).then(|| format!("::warning title={title}::{}\n", data(&reasons.join("\n"))))
}

/// One notice with the blockers that do not count.
fn not_counted(review: &Review) -> Option<String> {
    let blockers: Vec<String> = review.uncounted_blockers().map(caveats::not_counted).collect();
    let title = match blockers.len() {
        0 => return None,
        1 => "1 blocking finding does not count".to_owned(),
        n_blockers => format!("{n_blockers} blocking findings do not count"),
    };
    Some(format!("::notice title={}::{}\n", property(&title), data(&blockers.join("\n"))))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Nit | Severity::Praise => "notice",
    }
}

fn data(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    visible(&text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
