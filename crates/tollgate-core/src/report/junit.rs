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
//! A test case is a file, with all its findings in one element, because several tools show only the first. It fails
//! when a finding closes the gate; findings that do not are the output of a case that passes, so that the build server
//! and the exit code agree. What makes a review incomplete is an error, one case for each reason with all its files;
//! where the gate never closes, it is a skipped case. A file that a rule skipped is skipped, and so is a blocker that
//! does not count, with the reason.

use std::collections::BTreeMap;

use crate::coverage::{Coverage, HunkStatus, NotReviewedGroup};
use crate::finding::{Finding, Severity};
use crate::gate::FailOn;
use crate::path::FilePath;
use crate::report::caveats;
use crate::report::summary::phrases::plural;
use crate::review::{Review, WithheldFinding};
use crate::visible::visible;

/// The findings and coverage of one file.
#[derive(Default)]
struct File<'a> {
    findings: Vec<&'a Finding>,
    skipped: Vec<&'a str>,
    reviewed: bool,
    /// True when hunks were not reviewed; another case says why.
    partial: bool,
}

/// The outcome of a test case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Error,
    Skipped,
}

/// A test case.
struct Case {
    outcome: Outcome,
    name: String,
    place: Option<(FilePath, Option<u32>)>,
    /// The element inside, empty for none.
    body: String,
}

/// Writes a review as JUnit XML. Findings that close the gate are failures.
#[must_use]
pub fn write(review: &Review, fail_on: FailOn) -> String {
    let files = files(review);
    let mut cases: Vec<Case> = files.iter().filter_map(|(file, content)| content.case(file, fail_on)).collect();
    let groups = review.coverage.iter().flat_map(Coverage::not_reviewed);
    cases.extend(groups.map(|group| not_reviewed(&group, fail_on)));
    cases.extend(unsettled(review, fail_on));
    cases.extend(review.uncounted_blockers().map(not_counted));
    let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len(),
        count(Outcome::Failed),
        count(Outcome::Error),
        count(Outcome::Skipped),
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tollgate\" {counts}>\n  \
         <testsuite name=\"tollgate review\" {counts}>\n"
    );
    cases.iter().for_each(|case| text.push_str(&case.write()));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// The hunks that were not reviewed for one reason.
fn not_reviewed(group: &NotReviewedGroup<'_>, fail_on: FailOn) -> Case {
    let message = format!("not reviewed: {}", group.why);
    let (outcome, body) = incomplete(&message, "not reviewed", &caveats::places(group), fail_on);
    match group.files.as_slice() {
        [file] => {
            let line = group.only_lines.map(|lines| lines.start());
            Case { outcome, name: file.to_string(), place: Some(((*file).clone(), line)), body }
        }
        files => {
            let name = format!("(not reviewed: {})", plural(files.len() as u64, "file"));
            Case { outcome, name, place: None, body }
        }
    }
}

/// A case for all but unreviewed hunks that makes the review incomplete.
fn unsettled(review: &Review, fail_on: FailOn) -> Option<Case> {
    let reasons = caveats::unsettled(review);
    let (outcome, body) = incomplete(reasons.first()?, "not settled", &reasons[1..].join("\n"), fail_on);
    Some(Case { outcome, name: "(review)".to_owned(), place: None, body })
}

/// What makes the review incomplete is an error, except where the gate never closes.
fn incomplete(message: &str, kind: &str, text: &str, fail_on: FailOn) -> (Outcome, String) {
    match fail_on {
        FailOn::Severity(_) => (Outcome::Error, element("error", message, kind, text)),
        FailOn::Never => (Outcome::Skipped, element("skipped", message, kind, text)),
    }
}

/// A blocker that does not count.
fn not_counted(held: &WithheldFinding) -> Case {
    let finding = &held.finding;
    let location = &finding.location;
    let name = format!("{} {} {}:{} {}", finding.id, finding.severity, location.file, location.lines, finding.summary);
    let body = format!("      <skipped message=\"{}\"/>\n", escape(&caveats::why_not_counted(held)));
    let place = Some((location.file.clone(), Some(location.lines.start())));
    Case { outcome: Outcome::Skipped, name, place, body }
}

fn files(review: &Review) -> BTreeMap<&FilePath, File<'_>> {
    let mut files: BTreeMap<&FilePath, File<'_>> = BTreeMap::new();
    for file in &review.files_reviewed {
        files.entry(file).or_default().reviewed = true;
    }
    for finding in review.findings.iter().filter(|finding| finding.severity != Severity::Praise) {
        files.entry(&finding.location.file).or_default().findings.push(finding);
    }
    for covered in review.coverage.iter().flat_map(|coverage| &coverage.hunks) {
        let file = files.entry(&covered.file).or_default();
        match &covered.status {
            HunkStatus::Reviewed => file.reviewed = true,
            HunkStatus::Skipped(reason) => file.skipped.push(reason),
            HunkStatus::NotReviewed(_) => file.partial = true,
        }
    }
    files
}

impl File<'_> {
    /// The case of the file; `None` when another case says that it was not reviewed and it has no findings.
    fn case(&self, file: &FilePath, fail_on: FailOn) -> Option<Case> {
        let line = self.findings.iter().map(|finding| finding.location.lines.start()).min();
        let (outcome, body) = if let Some(worst) = self.findings.iter().max_by_key(|finding| finding.severity) {
            if fail_on.closes(worst.severity) {
                let n_findings = plural(self.findings.len() as u64, "finding");
                let message = format!("{n_findings}, worst {}: {}", worst.severity, worst.summary);
                (Outcome::Failed, element("failure", &message, worst.severity.as_str(), &self.listed()))
            } else {
                let text = escape_text(self.listed().trim());
                (Outcome::Passed, format!("      <system-out>{text}</system-out>\n"))
            }
        } else if self.partial {
            return None;
        } else if let Some(rule) = self.skipped.first().filter(|_| !self.reviewed) {
            (Outcome::Skipped, format!("      <skipped message=\"{}\"/>\n", escape(rule)))
        } else {
            (Outcome::Passed, String::new())
        };
        Some(Case { outcome, name: file.to_string(), place: Some((file.clone(), line)), body })
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

impl Case {
    fn write(&self) -> String {
        let mut start = format!("    <testcase classname=\"tollgate\" name=\"{}\"", escape(&self.name));
        if let Some((file, line)) = &self.place {
            start.push_str(&format!(" file=\"{}\"", escape(file.as_str())));
            start.push_str(&line.map_or_else(String::new, |line| format!(" line=\"{line}\"")));
        }
        match self.body.as_str() {
            "" => format!("{start}/>\n"),
            body => format!("{start}>\n{body}    </testcase>\n"),
        }
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
