//! JUnit XML, which most build servers display.
//!
//! ```xml
//! <testsuites name="tollgate" tests="2" failures="1" errors="0" skipped="0">
//!   <testsuite name="tollgate review" tests="2" failures="1" errors="0" skipped="0">
//!     <testcase classname="tollgate" name="src/a.rs" file="src/a.rs"/>
//!     <testcase classname="tollgate" name="src/b.rs" file="src/b.rs" line="3">
//!       <failure message="1 finding, worst High: SQL injection" type="High">…</failure>
//!     </testcase>
//!   </testsuite>
//! </testsuites>
//! ```
//!
//! A test case is a file. It has one failure with all its findings, because several tools show only the first. A file
//! that was not fully reviewed is an error, one that was skipped by a rule is skipped.

use std::collections::BTreeMap;

use crate::coverage::HunkStatus;
use crate::finding::{Finding, Severity};
use crate::path::FilePath;
use crate::review::Review;
use crate::visible::visible;

/// The findings and coverage of one file.
#[derive(Default)]
struct Case<'a> {
    findings: Vec<&'a Finding>,
    not_reviewed: Vec<String>,
    skipped: Vec<&'a str>,
    reviewed: bool,
}

/// Writes a review as JUnit XML.
#[must_use]
pub fn write(review: &Review) -> String {
    let unsettled = unsettled(review);
    let cases = cases(review);
    let count = |test: fn(&Case<'_>) -> bool| cases.values().filter(|case| test(case)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len() + usize::from(unsettled.is_some()),
        count(|case| !case.findings.is_empty() && case.not_reviewed.is_empty()),
        count(|case| !case.not_reviewed.is_empty()) + usize::from(unsettled.is_some()),
        count(|case| case.is_skipped()),
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tollgate\" {counts}>\n  \
         <testsuite name=\"tollgate review\" {counts}>\n"
    );
    for (file, case) in &cases {
        text.push_str(&case.write(file));
    }
    text.push_str(unsettled.as_deref().unwrap_or_default());
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// A case for all but unreviewed hunks that makes the review incomplete.
fn unsettled(review: &Review) -> Option<String> {
    let skipped = review.coverage.iter().filter(|coverage| coverage.is_all_skipped());
    let skipped = skipped.filter_map(|coverage| coverage.incomplete_because());
    let unverified = review.unverified_blockers().map(|held| {
        let Finding { severity, location, summary, .. } = &held.finding;
        format!("unverified: {severity} {}:{} {summary} ({})", location.file, location.lines, held.why)
    });
    let doubts = review.doubts.iter().map(ToString::to_string);
    let reasons: Vec<String> = skipped.chain(unverified).chain(doubts).collect();
    let body = element("error", reasons.first()?, "not settled", &reasons.join("\n"));
    Some(format!("    <testcase classname=\"tollgate\" name=\"(review)\">\n{body}    </testcase>\n"))
}

fn cases(review: &Review) -> BTreeMap<&FilePath, Case<'_>> {
    let mut cases: BTreeMap<&FilePath, Case<'_>> = BTreeMap::new();
    for file in &review.files_reviewed {
        cases.entry(file).or_default().reviewed = true;
    }
    for finding in review.findings.iter().filter(|finding| finding.severity != Severity::Praise) {
        cases.entry(&finding.location.file).or_default().findings.push(finding);
    }
    for covered in review.coverage.iter().flat_map(|coverage| &coverage.hunks) {
        let case = cases.entry(&covered.file).or_default();
        match &covered.status {
            HunkStatus::Reviewed => case.reviewed = true,
            HunkStatus::Skipped(reason) => case.skipped.push(reason),
            HunkStatus::NotReviewed(reason) => {
                let lines = covered.lines.map_or_else(String::new, |lines| format!("lines {lines}: "));
                case.not_reviewed.push(format!("{lines}{reason}"));
            }
        }
    }
    cases
}

impl Case<'_> {
    fn is_skipped(&self) -> bool {
        !self.reviewed && !self.skipped.is_empty() && self.findings.is_empty() && self.not_reviewed.is_empty()
    }

    fn write(&self, file: &FilePath) -> String {
        let name = escape(file.as_str());
        let line = self.findings.iter().map(|finding| finding.location.lines.start()).min();
        let line = line.map_or_else(String::new, |line| format!(" line=\"{line}\""));
        let start = format!("    <testcase classname=\"tollgate\" name=\"{name}\" file=\"{name}\"{line}");
        let body = if !self.not_reviewed.is_empty() {
            let message = format!("not reviewed: {}", self.not_reviewed[0]);
            let text = [self.not_reviewed.join("\n"), self.listed()].join("\n");
            element("error", &message, "not reviewed", &text)
        } else if let Some(worst) = self.findings.iter().max_by_key(|finding| finding.severity) {
            let n_findings = self.findings.len();
            let noun = if n_findings == 1 { "finding" } else { "findings" };
            let message = format!("{n_findings} {noun}, worst {}: {}", worst.severity, worst.summary);
            element("failure", &message, worst.severity.as_str(), &self.listed())
        } else if self.is_skipped() {
            format!("      <skipped message=\"{}\"/>\n", escape(self.skipped[0]))
        } else {
            return format!("{start}/>\n");
        };
        format!("{start}>\n{body}    </testcase>\n")
    }

    /// All findings of the file, for people.
    fn listed(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let location = &finding.location;
            let kind = format!("{}/{}", finding.severity, finding.category);
            text.push_str(&format!("{}:{} [{kind}] {}\n", location.file, location.lines, finding.summary));
            for part in [finding.reason.as_deref(), Some(finding.evidence.as_str())].into_iter().flatten() {
                part.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
        }
        text
    }
}

fn element(name: &str, message: &str, kind: &str, text: &str) -> String {
    let (message, kind, text) = (escape(message), escape(kind), escape_text(text.trim()));
    format!("      <{name} message=\"{message}\" type=\"{kind}\">{text}</{name}>\n")
}

/// Escapes an attribute.
fn escape(text: &str) -> String {
    // A line break in an attribute would be read as a space.
    escape_text(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Escapes text between tags; characters that XML 1.0 forbids are replaced.
fn escape_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut escaped = String::with_capacity(text.len());
    for character in visible(&text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}
