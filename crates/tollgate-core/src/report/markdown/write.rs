//! Writes a review as Markdown.

use serde_json::{Map, Value};

use crate::finding::{Finding, Side};
use crate::language::Language;
use crate::markdown::escape::{code_span, visible_lines};
use crate::markdown::prose::code_block;
use crate::path::FilePath;
use crate::report::caveats;
use crate::report::json::{self, Form, Options};
use crate::report::markdown::escape::{block, comment, line};
use crate::report::markdown::read;
use crate::review::Review;

/// The most blockers that do not count and are named.
const MAX_NOT_COUNTED: usize = 50;

/// Writes a review as Markdown.
#[must_use]
pub fn write(review: &Review) -> String {
    let mut text = header(review);
    text.push_str("\n---\n\n## Files Reviewed\n\n");
    for file in &review.files_reviewed {
        text.push_str(&format!("- {}\n", code_span(file.as_str())));
    }
    if review.files_reviewed.is_empty() {
        text.push_str("_None._\n");
    }
    text.push_str("\n---\n\n## Findings\n\n");
    let findings: Vec<String> = review.findings.iter().map(finding).collect();
    text.push_str(&findings.join("\n---\n\n"));
    if findings.is_empty() {
        text.push_str("_No findings._\n");
    }
    if let Some(notes) = review.notes.as_deref().filter(|notes| !notes.trim().is_empty()) {
        text.push_str(&format!("\n---\n\n## Reviewer Notes\n\n{}\n", block(notes)));
    }
    let rest = rest_of_review(review, &text);
    if !rest.is_empty() {
        text.push_str(&format!("\n---\n\n{}\n", comment(&Value::Object(rest))));
    }
    text
}

fn header(review: &Review) -> String {
    let title = review.title.as_deref().map(line).filter(|title| !title.trim().is_empty());
    let title = title.map_or_else(String::new, |title| format!(": {title}"));
    let count = review.blocking_count();
    let mut text = format!(
        "# Code Review{title}\n\n**Reviewed SHA:** `{}`\n**Base SHA:** `{}`\n**Verdict:** {}\n\
         **Blocking Issues:** {} Critical, {} High\n",
        review.reviewed,
        review.base,
        review.verdict().as_str(),
        count.critical,
        count.high,
    );
    if review.re_review_required {
        text.push_str("**Re-review Required:** true\n");
    }
    for reason in review.incomplete_because() {
        // For people only, the lists are in the comment: a partial or mild verdict must not look plain.
        text.push_str(&format!("**Incomplete:** {}\n", line(&reason)));
    }
    for held in review.uncounted_blockers().take(MAX_NOT_COUNTED) {
        text.push_str(&format!("**Not Counted:** {}\n", line(&caveats::not_counted(held))));
    }
    match review.uncounted_blockers().count().saturating_sub(MAX_NOT_COUNTED) {
        0 => {}
        n_more => text.push_str(&format!("**Not Counted:** and {n_more} more\n")),
    }
    text
}

/// One finding, from its heading to its last line.
fn finding(finding: &Finding) -> String {
    let location = &finding.location;
    let lines = location.lines;
    let place = code_span(&format!("{}:{}", location.file, lines.start()));
    let end = if lines.end() == lines.start() { String::new() } else { format!("-{}", lines.end()) };
    let mut text = format!(
        "### {}: [{}/{}] {}\n\n**File:** {place}{end}\n",
        finding.id,
        finding.severity,
        finding.category.in_schema(),
        line(finding.summary.as_str()),
    );
    if location.side == Side::Left {
        text.push_str("**Side:** LEFT\n");
    }
    if let Some(reason) = finding.reason.as_deref().filter(|reason| !reason.trim().is_empty()) {
        text.push_str(&format!("\n{}\n", block(reason)));
    }
    text.push_str(&format!("\n**Evidence:**\n{}", fenced(&finding.evidence, &location.file)));
    if let Some(suggestion) = finding.suggestion.as_deref().filter(|suggestion| !suggestion.is_empty()) {
        text.push_str(&format!("\n**Suggested Fix:**\n{}", fenced(suggestion, &location.file)));
    }
    let rest = rest_of_finding(finding, &text);
    if !rest.is_empty() {
        text.push_str(&format!("\n{}\n", comment(&Value::Object(rest))));
    }
    text
}

fn fenced(text: &str, file: &FilePath) -> String {
    let tag = Language::of_path(file.as_str().as_bytes()).map_or("", Language::fence);
    format!("{}\n", code_block(&visible_lines(text), tag))
}

/// The fields of a finding that the text does not carry.
fn rest_of_finding(finding: &Finding, text: &str) -> Map<String, Value> {
    let real = json::finding_value(finding, Form::Short);
    let shown = read::finding_fields(text);
    differing(real, &shown)
}

/// The fields of a review that the text does not carry.
fn rest_of_review(review: &Review, text: &str) -> Map<String, Value> {
    let mut real = json::review_value(&Review { findings: Vec::new(), ..review.clone() }, Options::default());
    // Both are computed from the findings.
    for key in ["findings", "verdict"] {
        real.as_object_mut().and_then(|map| map.shift_remove(key));
    }
    if review.extra.get("blocking_count").is_none() {
        real.as_object_mut().and_then(|map| map.shift_remove("blocking_count"));
    }
    let shown = read::review_fields(text);
    let mut rest = differing(real, &shown);
    if let Some(more) = review.extra.get("blocking_count").cloned() {
        rest.insert("blocking_count".to_owned(), more);
    }
    rest
}

fn differing(real: Value, shown: &Map<String, Value>) -> Map<String, Value> {
    let Value::Object(mut real) = real else { return Map::new() };
    // The fingerprint is always computed.
    real.shift_remove("x_fingerprint");
    real.into_iter().filter(|(key, value)| shown.get(key) != Some(value)).collect()
}
