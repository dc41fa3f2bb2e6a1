//! Writes SARIF.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use crate::coverage::HunkStatus;
use crate::finding::{Category, Finding, Fix, LineRange, Severity, Side};
use crate::fingerprint::Fingerprint;
use crate::path::{FilePath, percent_encode};
use crate::report::caveats;
use crate::report::sarif::hash::line_hashes;
use crate::review::{Review, Suppressor, Withheld};

/// The longest description that GitHub accepts.
const MAX_DESCRIPTION: usize = 1024;

/// The description of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its id, as in findings.
    pub id: String,
    /// The defect, in one line.
    pub short: String,
    /// The defect and its consequence.
    pub full: String,
    /// The remedy, for people.
    pub help: String,
}

/// Options of the writer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The version of the program.
    pub version: Option<&'a str>,
    /// Distinguishes several runs on one commit.
    pub category: Option<&'a str>,
    /// The text of files after the change, for the line hashes.
    pub sources: Option<&'a HashMap<FilePath, String>>,
    /// The known rules; others are described by their findings.
    pub rules: &'a [Rule],
}

/// Writes a review as SARIF, indented, with a line break at the end.
#[must_use]
pub fn write(review: &Review, options: Options<'_>) -> String {
    let mut texts = HashMap::new();
    let withheld = review.withheld.iter().map(|withheld| (&withheld.finding, Some(&withheld.why)));
    let all: Vec<_> = review.findings.iter().map(|finding| (finding, None)).chain(withheld).collect();
    let (rules, index_of) = rules(all.iter().map(|(finding, _)| *finding), options.rules);
    let results = all.iter().map(|(finding, why)| {
        let rule_id = rule_id(finding);
        let mut result = result(finding, &rule_id, index_of.get(&rule_id).copied().unwrap_or(0));
        if let Some(text) = text_of(finding, options.sources, &mut texts) {
            let line_index = |line_number: u32| usize::try_from(line_number).unwrap_or(usize::MAX).saturating_sub(1);
            let lines = finding.location.lines;
            if let Some(hash) = text.hashes.get(line_index(lines.start())) {
                result["partialFingerprints"]["primaryLocationLineHash"] = json!(hash);
            }
            if let Some(width) = text.widths.get(line_index(lines.end())) {
                result["locations"][0]["physicalLocation"]["region"]["endColumn"] = json!(width + 1);
            }
        }
        if let Some(why) = why {
            result["suppressions"] = json!([suppression(why)]);
        }
        result
    });
    let results: Vec<Value> = results.collect();
    let mut driver = json!({ "name": "tollgate", "rules": rules });
    if let Some(version) = options.version.filter(|version| !version.is_empty()) {
        driver["semanticVersion"] = json!(version);
    }
    let category = options.category.filter(|category| !category.is_empty()).unwrap_or("tollgate");
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "automationDetails": { "id": format!("{category}/") },
            "invocations": [invocation(review)],
            "results": results,
            "columnKind": "utf16CodeUnits",
            "properties": {
                "verdict": review.verdict().as_str(),
                "reviewedSha": review.reviewed.as_str(),
                "baseSha": review.base.as_str(),
            },
        }],
    });
    format!("{document:#}\n")
}

/// The rule id of a finding; by category when it has none.
fn rule_id(finding: &Finding) -> String {
    match finding.origin.rule.as_deref().filter(|rule| !rule.trim().is_empty()) {
        Some(rule) => rule.to_owned(),
        None => format!("review-{}", finding.category.as_str().to_lowercase()),
    }
}

fn rules<'a>(findings: impl Iterator<Item = &'a Finding>, known: &[Rule]) -> (Vec<Value>, HashMap<String, usize>) {
    // The worst finding of a rule describes it; sorted by id for a deterministic output.
    let mut worst: BTreeMap<String, &Finding> = BTreeMap::new();
    for finding in findings {
        let entry = worst.entry(rule_id(finding)).or_insert(finding);
        if finding.severity > entry.severity {
            *entry = finding;
        }
    }
    let index_of = worst.keys().enumerate().map(|(index, id)| (id.clone(), index)).collect();
    let rules = worst.iter().map(|(id, finding)| rule(id, finding, known.iter().find(|rule| rule.id == *id)));
    (rules.collect(), index_of)
}

fn rule(id: &str, finding: &Finding, known: Option<&Rule>) -> Value {
    let generic = finding.origin.rule.is_none();
    let about = format!("Remarks on {}", finding.category.as_str().to_lowercase());
    let summary = if generic { about.as_str() } else { finding.summary.as_str() };
    let reason = if generic { None } else { finding.reason.as_deref() };
    let short = known.map_or(summary, |rule| &rule.short);
    let full = known.map_or(reason.unwrap_or(summary), |rule| &rule.full);
    let help = known.map_or(full, |rule| &rule.help);
    let mut tags = vec![finding.category.as_str().to_lowercase()];
    tags.extend(finding.origin.reviewer.clone().filter(|reviewer| !reviewer.is_empty()));
    let mut properties = json!({ "tags": tags, "problem.severity": problem_severity(finding.severity) });
    if finding.category == Category::Security {
        properties["security-severity"] = json!(security_severity(finding.severity));
    }
    let mut rule = json!({
        "id": id,
        "name": id,
        "shortDescription": { "text": text(short, MAX_DESCRIPTION) },
        "fullDescription": { "text": text(full, MAX_DESCRIPTION) },
        "help": { "text": text(help, usize::MAX) },
        "defaultConfiguration": { "level": level(finding.severity) },
        "properties": properties,
    });
    if let Some(url) = finding.origin.rule_url.as_deref().filter(|url| is_address(url)) {
        rule["helpUri"] = json!(url);
    }
    rule
}

fn result(finding: &Finding, rule_id: &str, rule_index: usize) -> Value {
    let message = match finding.reason.as_deref() {
        Some(reason) if !reason.trim().is_empty() => format!("{}\n\n{reason}", finding.summary),
        _ => finding.summary.to_string(),
    };
    let uri = percent_encode(finding.location.file.as_str());
    let lines = finding.location.lines;
    let mut place = Map::new();
    // GitHub requires all four; the end column needs the text of the file and is added later.
    for (key, value) in [("startLine", lines.start()), ("startColumn", 1), ("endLine", lines.end())] {
        place.insert(key.to_owned(), json!(value));
    }
    place.insert("snippet".to_owned(), json!({ "text": text(&finding.evidence, usize::MAX) }));
    let mut result = json!({
        "ruleId": rule_id,
        "ruleIndex": rule_index,
        "level": level(finding.severity),
        "message": { "text": text(&message, usize::MAX) },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri }, "region": place } }],
        "partialFingerprints": { "tollgate/v1": Fingerprint::of(finding).to_string() },
        "properties": properties(finding),
    });
    if finding.severity == Severity::Praise {
        result["kind"] = json!("informational");
    }
    if let Some(fix) = &finding.fix {
        result["fixes"] = json!([fixed(fix, &uri)]);
    }
    result
}

/// Our extension properties of a result.
fn properties(finding: &Finding) -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert("severity".to_owned(), json!(finding.severity.as_str()));
    properties.insert("category".to_owned(), json!(finding.category.as_str()));
    let optional = [
        ("side", (finding.location.side == Side::Left).then_some("LEFT")),
        ("reviewer", finding.origin.reviewer.as_deref()),
        ("suggestion", finding.suggestion.as_deref()),
    ];
    for (key, value) in optional {
        properties.extend(value.filter(|value| !value.is_empty()).map(|value| (key.to_owned(), json!(value))));
    }
    properties
}

fn region(lines: LineRange) -> Map<String, Value> {
    let mut region = Map::new();
    region.insert("startLine".to_owned(), json!(lines.start()));
    if lines.end() != lines.start() {
        region.insert("endLine".to_owned(), json!(lines.end()));
    }
    region
}

fn fixed(fix: &Fix, uri: &str) -> Value {
    let mut replacement = json!({ "deletedRegion": region(fix.lines) });
    if fix.replacement.is_empty() {
        // Deleting whole lines includes the line break, so the region ends on the next line.
        let next = fix.lines.end().saturating_add(1);
        replacement["deletedRegion"] =
            json!({ "startLine": fix.lines.start(), "startColumn": 1, "endLine": next, "endColumn": 1 });
    } else {
        replacement["insertedContent"] = json!({ "text": fix.replacement });
    }
    json!({
        "description": { "text": "Suggested fix" },
        "artifactChanges": [{ "artifactLocation": { "uri": uri }, "replacements": [replacement] }],
    })
}

fn suppression(why: &Withheld) -> Value {
    let (kind, justification) = match why {
        Withheld::Suppressed { by, reason, kind } => {
            let kind = if *kind == Suppressor::Comment { "inSource" } else { "external" };
            let said = reason.as_deref().filter(|reason| !reason.trim().is_empty());
            (kind, said.map_or_else(|| by.clone(), |reason| format!("{by}: {reason}")))
        }
        other => ("external", other.to_string()),
    };
    json!({ "kind": kind, "status": "accepted", "justification": text(&justification, usize::MAX) })
}

/// The invocation, with a notification for each reason that makes the review incomplete, at all its places.
fn invocation(review: &Review) -> Value {
    let mut notifications: Vec<Value> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for covered in review.coverage.iter().flat_map(|coverage| &coverage.hunks) {
        let HunkStatus::NotReviewed(reason) = &covered.status else { continue };
        let mut place = json!({ "artifactLocation": { "uri": percent_encode(covered.file.as_str()) } });
        if let Some(lines) = covered.lines {
            place["region"] = Value::Object(region(lines));
        }
        let index = *known.entry(reason).or_insert(notifications.len());
        if index == notifications.len() {
            let message = format!("not reviewed: {}", text(reason, MAX_DESCRIPTION));
            notifications.push(json!({ "level": "warning", "message": { "text": message }, "locations": [] }));
        }
        if let Some(places) = notifications[index]["locations"].as_array_mut() {
            places.push(json!({ "physicalLocation": place }));
        }
    }
    let unsettled = caveats::unsettled(review).into_iter();
    notifications.extend(
        unsettled.map(|reason| json!({ "level": "warning", "message": { "text": text(&reason, MAX_DESCRIPTION) } })),
    );
    let mut invocation = json!({ "executionSuccessful": true });
    if !notifications.is_empty() {
        invocation["toolExecutionNotifications"] = Value::Array(notifications);
    }
    invocation
}

/// The hashes and widths of the lines of a file.
struct Text {
    hashes: Vec<String>,
    /// Lengths in UTF-16 units.
    widths: Vec<usize>,
}

fn text_of<'a, 't>(
    finding: &'a Finding,
    sources: Option<&HashMap<FilePath, String>>,
    texts: &'t mut HashMap<&'a FilePath, Text>,
) -> Option<&'t Text> {
    let file = &finding.location.file;
    let source = sources?.get(file).filter(|_| finding.location.side == Side::Right)?;
    let text = || Text {
        hashes: line_hashes(source),
        widths: source.lines().map(|line| line.encode_utf16().count()).collect(),
    };
    Some(texts.entry(file).or_insert_with(text))
}

/// Text that is neither empty nor too long: GitHub refuses both.
fn text(text: &str, max: usize) -> String {
    if text.trim().is_empty() {
        return "(no text)".to_owned();
    }
    // The limit may count UTF-16 units; a character has at most two.
    if text.len() <= max || text.encode_utf16().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max / 2).chain(['…']).collect()
}

fn is_address(url: &str) -> bool {
    let scheme = url.starts_with("https://") || url.starts_with("http://");
    scheme && url.bytes().all(|byte| byte.is_ascii_graphic() && !br#"<>"\^`{|}[]"#.contains(&byte))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Nit => "note",
        Severity::Praise => "none",
    }
}

fn problem_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Nit | Severity::Praise => "recommendation",
    }
}

fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.5",
        Severity::Nit | Severity::Praise => "0.5",
    }
}
