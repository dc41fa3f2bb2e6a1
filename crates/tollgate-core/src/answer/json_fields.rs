//! Builds a claim from a JSON object, tolerating any key names and value types.
//!
//! ```json
//! {"severity": "major", "path": "src/a.rs:12-15", "message": "No check", "suggestion": {"code": "…"}}
//! ```

use crate::answer::draft::{Draft, is_nothing};
use crate::answer::lenient_json::{List, Node, Object};
use crate::answer::{location, vocabulary};
use crate::finding::{LineRange, Side};

const TITLE: &[&str] = &[
    "title",
    "summary",
    "headline",
    "shortdescription",
    "issue",
    "problem",
    "finding",
    "name",
    "heading",
    "subject",
    "message",
    "what",
    "claim",
    "error",
    "violation",
    "concern",
];
const REASON: &[&str] = &[
    "reason",
    "description",
    "details",
    "detail",
    "explanation",
    "body",
    "why",
    "impact",
    "rationale",
    "comment",
    "content",
    "text",
    "analysis",
    "note",
    "notes",
    "feedback",
    "message",
    "longdescription",
    "issuecontent",
    "issueheader",
    "consequence",
    "onesentencesummary",
];
const EVIDENCE: &[&str] = &[
    "evidence",
    "code",
    "snippet",
    "codesnippet",
    "quote",
    "codequote",
    "existingcode",
    "original",
    "originalcode",
    "excerpt",
    "currentcode",
    "linecontent",
    "affectedcode",
    "codecontext",
    "quotedcode",
];
const SUGGESTION: &[&str] = &[
    "suggestion",
    "fix",
    "recommendation",
    "suggestedfix",
    "remedy",
    "remediation",
    "solution",
    "howtofix",
    "proposedfix",
    "action",
    "resolution",
    "suggestions",
    "recommendedfix",
    "suggestioncontent",
    "advice",
    "recommendations",
    "proposal",
];
const REPLACEMENT: &[&str] =
    &["replacement", "improvedcode", "suggestedcode", "newcode", "fixedcode", "replacementcode", "codefix"];
const SEVERITY: &[&str] = &["severity", "priority", "importance", "criticality", "level", "risk", "sev", "risklevel"];
const CATEGORY: &[&str] =
    &["xcategory", "category", "type", "kind", "class", "area", "tag", "label", "categories", "tags"];
const FILE: &[&str] = &[
    "file",
    "path",
    "filename",
    "filepath",
    "absolutefilepath",
    "relativefilepath",
    "relevantfile",
    "uri",
    "where",
    "sourcefile",
    "files",
    "absolutepath",
    "relativepath",
    "codefile",
];
const PLACE: &[&str] = &["location", "codelocation", "position", "loc", "locations", "place", "physicallocation"];
const START: &[&str] = &[
    "linestart",
    "startline",
    "line",
    "linenumber",
    "lineno",
    "lines",
    "linerange",
    "range",
    "linenumbers",
    "span",
    "start",
    "from",
    "region",
    "relevantlinesstart",
    "originalline",
    "linestartnumber",
    "beginline",
    "firstline",
];
const END: &[&str] = &["lineend", "endline", "end", "to", "relevantlinesend", "lineendnumber", "lastline"];

/// Normalizes a key: `line_start`, `lineStart` and `Line start` are the same.
pub(super) fn key(text: &str) -> String {
    text.chars().filter(|part| part.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The first field that is present, by alternative names.
pub(super) fn find<'a>(object: &'a Object, names: &[&str]) -> Option<&'a Node> {
    names.iter().find_map(|name| {
        let mut fields = object.fields.iter().filter(|(found, _)| key(found) == *name);
        fields.find(|(_, value)| !is_empty(value)).map(|(_, value)| value)
    })
}

fn is_empty(node: &Node) -> bool {
    match node {
        Node::Null | Node::Cut(_) => true,
        Node::Text(text) => is_nothing(text),
        Node::List(list) => list.items.is_empty(),
        Node::Object(object) => object.fields.is_empty(),
        Node::Bool(_) | Node::Number(_) => false,
    }
}

/// True for an object that is clearly a finding: it has a title, and a severity or a location.
pub(super) fn is_finding(object: &Object) -> bool {
    let says = find(object, &TITLE[..6]).or_else(|| find(object, REASON)).or_else(|| find(object, &["message"]));
    let severity = find(object, &SEVERITY[..4]).and_then(text).is_some();
    let file = find(object, FILE).or_else(|| find(object, PLACE)).is_some();
    let category = find(object, &["category", "level"]).is_some();
    let line = find(object, &["line", "lines", "linestart", "startline", "linenumber", "linerange"]).is_some();
    let severity_word = find(object, SEVERITY).and_then(text).and_then(|word| vocabulary::severity(&word));
    let graded = severity && (severity_word.is_some() || file || category);
    says.is_some() && (graded || (file && (line || severity_word.is_some())))
}

/// Builds a draft claim from an object.
pub(super) fn draft(object: &Object) -> Draft {
    let mut draft = Draft { severity: severity(object), category: None, ..Draft::default() };
    draft.category = find(object, CATEGORY).and_then(text);
    place_of(object, &mut draft, 0);
    let title_key = TITLE.iter().find(|name| find(object, &[name]).is_some());
    draft.title = title_key.and_then(|name| find(object, &[name])).and_then(text);
    for name in REASON.iter().filter(|name| Some(*name) != title_key) {
        if let Some(said) = find(object, &[name]).and_then(text) {
            Draft::join(&mut draft.reason, &said, "\n\n");
        }
    }
    draft.evidence = find(object, EVIDENCE).and_then(text);
    draft.suggestion = find(object, SUGGESTION).and_then(text);
    // An empty replacement deletes the lines, so it differs from a missing one.
    let fields = || object.fields.iter();
    let replacement = fields().find(|(name, _)| REPLACEMENT.contains(&key(name).as_str()));
    draft.replacement = match replacement {
        Some((_, Node::Text(text))) => Some(text.clone()),
        Some((_, lines @ Node::List(_))) => text(lines),
        _ => None,
    };
    if let Some(Node::Object(fix)) = find(object, &["xfix"]) {
        let replacement = fix.fields.iter().find(|(name, _)| key(name) == "replacement");
        draft.replacement = replacement.and_then(|(_, value)| text(value)).or(draft.replacement);
    }
    draft
}

fn severity(object: &Object) -> Option<String> {
    for name in SEVERITY {
        match find(object, &[name]) {
            Some(Node::Number(number)) if *name == "priority" => return Some(format!("p{number}")),
            Some(node) => return text(node),
            None => {}
        }
    }
    // `"type": "error"` names a severity when nothing else does.
    let kind = find(object, &["type", "kind", "label"]).and_then(text)?;
    vocabulary::severity(&kind).map(|severity| severity.as_str().to_owned())
}

/// Sets the file and the lines, also from nested objects.
fn place_of(object: &Object, draft: &mut Draft, depth: usize) {
    match find(object, FILE) {
        Some(Node::Object(inner)) if depth < 4 => place_of(inner, draft, depth + 1),
        Some(Node::List(list)) => draft.set_place(&list.items.first().and_then(text).unwrap_or_default()),
        Some(node) => draft.set_place(&text(node).unwrap_or_default()),
        None => {}
    }
    if let Some(lines) = lines_of(object, depth) {
        draft.lines = Some(lines);
    }
    draft.side = draft.side.or_else(|| find(object, &["side"]).and_then(text).and_then(|word| side(&word)));
    for name in PLACE {
        match find(object, &[name]) {
            Some(Node::Text(text)) => {
                draft.set_place(text);
                if draft.lines.is_none() {
                    draft.lines = location::parse_lines(text);
                }
            }
            Some(Node::Object(inner)) if depth < 4 => place_of(inner, draft, depth + 1),
            Some(Node::List(list)) if depth < 4 => match list.items.first() {
                Some(Node::Object(inner)) => place_of(inner, draft, depth + 1),
                Some(Node::Text(text)) => draft.set_place(text),
                _ => {}
            },
            _ => {}
        }
    }
    if draft.lines.is_none()
        && depth < 4
        && let Some(Node::Object(inner)) = find(object, &["artifactlocation"])
    {
        place_of(inner, draft, depth + 1);
    }
}

fn side(word: &str) -> Option<Side> {
    match key(word).as_str() {
        "left" | "old" | "before" | "base" | "deleted" | "removed" => Some(Side::Left),
        "right" | "new" | "after" | "head" | "added" => Some(Side::Right),
        _ => None,
    }
}

fn lines_of(object: &Object, depth: usize) -> Option<LineRange> {
    let start = START.iter().find_map(|name| lines_in(find(object, &[name])?, depth));
    let end = END.iter().find_map(|name| lines_in(find(object, &[name])?, depth));
    // GitHub's comments have a start line, and `line` is the end.
    let begins = find(object, &["startline", "linestart"]).is_some();
    let end = end.or_else(|| find(object, &["line"]).filter(|_| begins).and_then(|line| lines_in(line, depth)));
    match (start, end) {
        (Some(start), Some(end)) => {
            let (first, last) = (start.start().min(end.start()), start.end().max(end.end()));
            LineRange::new(first, last)
        }
        (start, end) => start.or(end),
    }
}

/// Parses line numbers from a number, a string, a list, or an object with start and end.
fn lines_in(node: &Node, depth: usize) -> Option<LineRange> {
    match node {
        Node::Number(number) => {
            let number = number.parse::<f64>().ok().filter(|number| (1.0..=f64::from(u32::MAX)).contains(number))?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
            Some(LineRange::line(number as u32))
        }
        Node::Text(text) => location::parse_lines(text),
        Node::List(list) if depth < 4 => {
            let ranges: Vec<LineRange> = list.items.iter().filter_map(|item| lines_in(item, depth + 1)).collect();
            let (start, end) =
                (ranges.iter().map(|range| range.start()).min(), ranges.iter().map(|range| range.end()).max());
            LineRange::new(start?, end?)
        }
        Node::Object(object) if depth < 4 => lines_of(object, depth + 1),
        _ => None,
    }
}

/// A value of any type as text.
pub(super) fn text(node: &Node) -> Option<String> {
    let said = match node {
        Node::Null | Node::Cut(_) => return None,
        Node::Bool(value) => value.to_string(),
        Node::Number(number) => number.clone(),
        Node::Text(text) => text.clone(),
        Node::List(List { items, .. }) => items.iter().filter_map(text).collect::<Vec<_>>().join("\n"),
        Node::Object(object) => {
            let fields = object.fields.iter().filter_map(|(_, value)| text(value));
            fields.collect::<Vec<_>>().join("\n")
        }
    };
    (!is_nothing(&said)).then_some(said)
}
