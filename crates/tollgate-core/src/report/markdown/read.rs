//! Reads a review from Markdown, ours or handwritten.
//!
//! The text is converted to the JSON form, our comments override its fields, and the JSON reader validates the result;
//! its JSON pointers are converted to line numbers.

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::markdown::fence::{self, FenceKind};
use crate::report::json::{self, parse};
use crate::report::markdown::escape::{read_code_span, read_comment, unblock, unline};
use crate::report::{InputPosition, Problem, Read, ReadError, Strictness, shorten};

/// Reads a review from Markdown.
pub fn read(text: &str, strictness: Strictness) -> Result<Read, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut document = Document::new(&text);
    let (fields, places) = document.review();
    let read = json::read_value(Value::Object(fields), document.problems, strictness);
    match read {
        Ok(read) => Ok(Read { notes: places.located(read.notes), ..read }),
        Err(error) => Err(ReadError { problems: places.located(error.problems) }),
    }
}

/// The JSON fields of a finding; problems are dropped.
pub(super) fn finding_fields(text: &str) -> Map<String, Value> {
    let mut document = Document::new(text);
    let all = 0..document.lines.len();
    document.finding(all).0
}

/// The JSON fields of a review; problems are dropped.
pub(super) fn review_fields(text: &str) -> Map<String, Value> {
    Document::new(text).review().0
}

/// The line numbers of the parts of a finding.
#[derive(Debug, Default)]
struct FindingLines {
    heading: usize,
    file: Option<usize>,
    evidence: Option<usize>,
}

/// The line numbers of the parts of the document.
#[derive(Debug, Default)]
struct LineMap {
    header: Vec<(&'static str, usize)>,
    findings: Vec<FindingLines>,
}

impl LineMap {
    fn located(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in &mut problems {
            if let InputPosition::Pointer(pointer) = &problem.place {
                problem.place = InputPosition::Line(self.line(pointer));
            }
        }
        problems.sort_by(|left, right| left.place.cmp(&right.place));
        problems
    }

    fn line(&self, pointer: &str) -> usize {
        let mut steps = pointer.split('/').skip(1);
        let key = steps.next().unwrap_or_default();
        let finding = steps.next().and_then(|index| self.findings.get(index.parse::<usize>().ok()?));
        match (key, finding) {
            ("findings", Some(places)) => match steps.next() {
                Some("location") => places.file.unwrap_or(places.heading),
                Some("evidence") => places.evidence.unwrap_or(places.heading),
                _ => places.heading,
            },
            _ => self.header.iter().find(|(name, _)| *name == key).map_or(1, |(_, line)| *line),
        }
    }
}

/// The section of a heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heading {
    Title,
    Files,
    Findings,
    Finding,
    Notes,
    Other,
}

struct Document<'a> {
    lines: Vec<&'a str>,
    kinds: Vec<FenceKind>,
    problems: Vec<Problem>,
}

impl<'a> Document<'a> {
    fn new(text: &'a str) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        let kinds = fence::kinds(&lines);
        Self { lines, kinds, problems: Vec::new() }
    }

    fn problem(&mut self, index: usize, rule: &'static str, message: impl Into<String>) {
        if self.problems.len() < 500 {
            let found = shorten(self.lines.get(index).map_or("", |line| line.trim()));
            self.problems.push(Problem { place: InputPosition::Line(index + 1), rule, found, message: message.into() });
        }
    }

    /// The headings outside of code, with their lines.
    fn headings(&self) -> Vec<(usize, Heading)> {
        let texts = self.lines.iter().enumerate().filter(|(index, _)| self.kinds[*index] == FenceKind::Text);
        texts.filter_map(|(index, line)| Some((index, heading(line)?))).collect()
    }

    fn review(&mut self) -> (Map<String, Value>, LineMap) {
        let headings = self.headings();
        let mut fields = Map::new();
        let mut places = LineMap::default();
        let (mut findings, mut overlays) = (Vec::new(), Vec::new());
        let first_section = headings.iter().find(|(_, heading)| *heading != Heading::Title);
        self.header(0..first_section.map_or(self.lines.len(), |(index, _)| *index), &mut fields, &mut places);
        for (position, (start, heading)) in headings.iter().enumerate() {
            let end = headings.get(position + 1).map_or(self.lines.len(), |(index, _)| *index);
            let body = start + 1..end;
            match heading {
                Heading::Title => {}
                Heading::Files => {
                    places.header.push(("files_reviewed", start + 1));
                    let files = self.files(body, &mut overlays);
                    fields.insert("files_reviewed".to_owned(), files);
                }
                Heading::Findings | Heading::Other => {
                    self.rest(body, &mut overlays);
                    if *heading == Heading::Other {
                        self.problem(*start, "section", "not a section of a review");
                    }
                }
                Heading::Finding => {
                    let (finding, finding_places, after) = self.finding(*start..end);
                    findings.push(Value::Object(finding));
                    places.findings.push(finding_places);
                    self.rest(after..end, &mut overlays);
                }
                Heading::Notes => {
                    let notes = self.notes(body, end == self.lines.len(), &mut overlays);
                    fields.extend(notes.map(|notes| ("reviewer_notes".to_owned(), Value::String(notes))));
                }
            }
        }
        if findings.is_empty() && !headings.iter().any(|(_, heading)| *heading == Heading::Findings) {
            self.problem(0, "section", "expected a section `## Findings`");
        }
        fields.insert("findings".to_owned(), Value::Array(findings));
        for (index, text) in overlays {
            self.overlay(index, text, &mut fields);
        }
        (fields, places)
    }

    fn header(&mut self, range: Range<usize>, fields: &mut Map<String, Value>, places: &mut LineMap) {
        fields.insert("re_review_required".to_owned(), Value::Bool(false));
        let title =
            range.clone().find(|index| self.kinds[*index] == FenceKind::Text && self.lines[*index].starts_with("# "));
        match title {
            Some(index) => {
                let text = self.lines[index][2..].trim();
                let named = text.strip_prefix("Code Review").map_or(text, |rest| rest.trim_start_matches(':'));
                if !named.trim().is_empty() {
                    fields.insert("x_title".to_owned(), Value::String(unline(named.trim())));
                }
            }
            None => self.problem(0, "heading", "expected `# Code Review: …`"),
        }
        for (key, label) in HEADER {
            let Some((index, text)) =
                range.clone().find_map(|index| Some((index, labelled(self.lines[index], label)?)))
            else {
                continue;
            };
            places.header.push((key, index + 1));
            let value = match key {
                "blocking_count" => blocking_count(text),
                "re_review_required" => Some(text.trim().parse().map_or_else(|_| json!(text), Value::Bool)),
                _ => Some(json!(bare(text))),
            };
            match value {
                Some(value) => {
                    fields.insert(key.to_owned(), value);
                }
                None => self.problem(index, "blocking-count", "expected `N Critical, N High`"),
            }
        }
    }

    fn files(&mut self, range: Range<usize>, overlays: &mut Vec<(usize, &'a str)>) -> Value {
        let mut files = Vec::new();
        let mut others = Vec::new();
        for index in range {
            let line = self.lines[index];
            match line.trim_start().strip_prefix("- ").or_else(|| line.trim_start().strip_prefix("* ")) {
                Some(item) => files.push(json!(bare(item))),
                None => others.push(index),
            }
        }
        for index in others {
            self.rest(index..index + 1, overlays);
        }
        Value::Array(files)
    }

    /// Collects our comments from lines outside known sections.
    fn rest(&mut self, range: Range<usize>, overlays: &mut Vec<(usize, &'a str)>) {
        for index in range {
            let line = self.lines[index];
            if let Some(text) = read_comment(line).filter(|_| self.kinds[index] == FenceKind::Text) {
                overlays.push((index, text));
            } else if !matches!(line.trim(), "" | "---" | "_None._" | "_No findings._") {
                self.problem(index, "unexpected-text", "this text belongs to nothing and was left out");
            }
        }
    }

    fn notes(&mut self, range: Range<usize>, last: bool, overlays: &mut Vec<(usize, &'a str)>) -> Option<String> {
        let is_comment =
            |index: &usize| self.kinds[*index] == FenceKind::Text && read_comment(self.lines[*index]).is_some();
        let comment = range.clone().find(is_comment);
        let mut end = comment.unwrap_or(range.end);
        // The rule before a comment of ours or before another section belongs to neither.
        if comment.is_some() || !last {
            let rule = (range.start..end).rev().find(|index| !self.lines[*index].trim().is_empty());
            end = rule.filter(|index| self.lines[*index].trim_end() == "---").unwrap_or(end);
        }
        if let Some(comment) = comment {
            self.rest(comment..range.end, overlays);
        }
        let trimmed = self.trimmed(range.start..end);
        (!trimmed.is_empty()).then(|| unblock(&self.lines[trimmed]))
    }

    /// Reads the finding whose heading is the first line, its line numbers and its end.
    fn finding(&mut self, range: Range<usize>) -> (Map<String, Value>, FindingLines, usize) {
        let mut fields = Map::new();
        self.finding_heading(range.start, &mut fields);
        let mut places = FindingLines { heading: range.start + 1, ..FindingLines::default() };
        let body = range.start + 1..range.end;
        let evidence = self.find_label(body.clone(), "Evidence");
        let head = body.start..evidence.map_or_else(|| self.rule_in(body.clone()), |(index, _)| index);

        let mut reason_start = head.start;
        match self.find_label(head.clone(), "File") {
            Some((index, text)) => {
                places.file = Some(index + 1);
                reason_start = index + 1;
                let mut location = self.location(index, text);
                if let Some(side) = self.lines.get(reason_start).and_then(|line| labelled(line, "Side")) {
                    location.insert("side".to_owned(), json!(bare(side)));
                    reason_start += 1;
                }
                fields.insert("location".to_owned(), Value::Object(location));
            }
            None => self.problem(range.start, "file", "expected a line **File:** `path:line` in this finding"),
        }
        let reason = self.trimmed(reason_start..head.end.max(reason_start));
        if !reason.is_empty() {
            fields.insert("reason".to_owned(), Value::String(unblock(&self.lines[reason])));
        }

        let Some((index, text)) = evidence else {
            self.problem(range.start, "evidence", "expected **Evidence:** and a code block in this finding");
            return (fields, places, head.end);
        };
        places.evidence = Some(index + 1);
        let (text, mut next) = self.code(index, text, range.end);
        fields.extend(text.map(|text| ("evidence".to_owned(), Value::String(text))));
        let end = self.rule_in(next..range.end);
        let suggestion =
            self.find_label(next..end, "Suggested Fix").or_else(|| self.find_label(next..end, "Suggestion"));
        let mut overlays = Vec::new();
        if let Some((index, text)) = suggestion {
            self.rest(next..index, &mut overlays);
            let (text, after) = self.code(index, text, end);
            fields.extend(text.map(|text| ("suggestion".to_owned(), Value::String(text))));
            next = after;
        }
        let end = self.rule_in(next..range.end);
        self.rest(next..end, &mut overlays);
        for (index, text) in overlays {
            self.overlay(index, text, &mut fields);
        }
        (fields, places, end)
    }

    fn finding_heading(&mut self, index: usize, fields: &mut Map<String, Value>) {
        let text = self.lines[index].trim_start_matches('#').trim();
        let (id, rest) = text.split_at(text.find([':', '[', ' ']).unwrap_or(text.len()));
        fields.insert("id".to_owned(), json!(id));
        let rest = rest.trim_start_matches([':', ' ']);
        let kind = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let Some((kind, summary)) = kind else {
            self.problem(index, "heading", "expected `### F001: [Severity/Category] summary`");
            fields.insert("summary".to_owned(), json!(unline(rest)));
            return;
        };
        match kind.split_once('/') {
            Some((severity, category)) => {
                fields.insert("severity".to_owned(), json!(severity.trim()));
                fields.insert("category".to_owned(), json!(category.trim()));
            }
            None => {
                self.problem(index, "heading", "expected `[Severity/Category]`");
                fields.insert("severity".to_owned(), json!(kind.trim()));
            }
        }
        fields.insert("summary".to_owned(), json!(unline(summary.trim())));
    }

    /// Reads `` `path:12`-14 `` and variants.
    fn location(&mut self, index: usize, text: &str) -> Map<String, Value> {
        let (code, after) = read_code_span(text).unwrap_or((text.trim(), ""));
        let (file, lines) = match code.rsplit_once(':') {
            Some((file, lines)) if lines.starts_with(|first: char| first.is_ascii_digit()) => (file, lines),
            _ => (code, ""),
        };
        let mut location = Map::new();
        location.insert("file".to_owned(), json!(file));
        let range = [lines, after.trim()].concat().replace(['–', '—'], "-");
        let mut numbers = range.splitn(2, '-').map(|number| number.trim().parse::<u64>());
        match numbers.next() {
            Some(Ok(start)) => {
                location.insert("line_start".to_owned(), json!(start));
            }
            _ => self.problem(index, "line-start", "expected `path:line`"),
        }
        match numbers.next() {
            Some(Ok(end)) => {
                location.insert("line_end".to_owned(), json!(end));
            }
            Some(Err(_)) => self.problem(index, "line-end", "expected a line number behind the `-`"),
            None => {}
        }
        location
    }

    /// Reads the code block below a label, or the text beside it, and its end.
    fn code(&mut self, label: usize, beside: &str, end: usize) -> (Option<String>, usize) {
        if !beside.is_empty() {
            self.problem(label, "fence", "expected a code block on the next line");
            return (Some(bare(beside).to_owned()), label + 1);
        }
        let first = (label + 1..end).find(|index| !self.lines[*index].trim().is_empty());
        let Some(first) = first else { return (None, label + 1) };
        let FenceKind::Open(indent) = self.kinds[first] else {
            self.problem(first, "fence", "expected a code block");
            let stop = (first..end).find(|index| self.lines[*index].trim().is_empty()).unwrap_or(end);
            return (Some(self.lines[first..stop].join("\n")), stop);
        };
        let close = (first..end).find(|index| self.kinds[*index] == FenceKind::Close).unwrap_or(end);
        let lines = self.lines[first + 1..close].iter().map(|line| {
            let n_spaces = line.bytes().take(indent).take_while(|byte| *byte == b' ').count();
            &line[n_spaces..]
        });
        (Some(lines.collect::<Vec<_>>().join("\n")), (close + 1).min(end))
    }

    /// Finds a label, exactly or in a variant.
    fn find_label(&self, range: Range<usize>, name: &str) -> Option<(usize, &'a str)> {
        let texts = || range.clone().filter(|index| self.kinds[*index] == FenceKind::Text);
        let exact = format!("**{name}:**");
        let found = texts().find_map(|index| Some((index, self.lines[index].strip_prefix(exact.as_str())?.trim())));
        found.or_else(|| texts().find_map(|index| Some((index, labelled(self.lines[index], name)?))))
    }

    /// The first rule in a range, or its end.
    fn rule_in(&self, mut range: Range<usize>) -> usize {
        let end = range.end;
        let is_rule = |index: &usize| self.kinds[*index] == FenceKind::Text && self.lines[*index].trim_end() == "---";
        range.find(is_rule).unwrap_or(end)
    }

    /// The range without blank lines at its ends.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let full = |index: &usize| !self.lines[*index].trim().is_empty();
        let start = range.clone().find(full).unwrap_or(range.end);
        let end = range.clone().rev().find(full).map_or(start, |last| last + 1);
        start..end
    }

    /// Overrides fields by those of a comment.
    fn overlay(&mut self, index: usize, text: &str, fields: &mut Map<String, Value>) {
        match parse::parse(text.as_bytes()) {
            Ok((Value::Object(mut more), doubles)) => {
                for _ in doubles {
                    self.problem(index, "duplicate-key", "duplicate key in this comment");
                }
                if more.shift_remove("findings").is_some() {
                    self.problem(index, "comment", "findings stand under their headings, not in a comment");
                }
                merge(fields, more);
            }
            Ok(_) => self.problem(index, "comment", "expected a JSON object in this comment"),
            Err(error) => self.problem(index, "comment", error.problems[0].message.clone()),
        }
    }
}

/// The labels of the header and the fields they stand for.
const HEADER: [(&str, &str); 5] = [
    ("reviewed_sha", "Reviewed SHA"),
    ("base_sha", "Base SHA"),
    ("verdict", "Verdict"),
    ("blocking_count", "Blocking Issues"),
    ("re_review_required", "Re-review Required"),
];

fn merge(fields: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (fields.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            (_, value) => {
                fields.insert(key, value);
            }
        }
    }
}

fn heading(line: &str) -> Option<Heading> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    if level == 0 || level > 4 || !text.starts_with([' ', '\t']) {
        return None;
    }
    let text = text.trim();
    let digits = text.strip_prefix('F').map(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    let numbered = digits.is_some_and(|rest| rest.len() + 1 < text.len() && rest.trim_start().starts_with([':', '[']));
    match level {
        1 => Some(Heading::Title),
        2..=4 if numbered => Some(Heading::Finding),
        2 if text.eq_ignore_ascii_case("Files Reviewed") => Some(Heading::Files),
        2 if text.eq_ignore_ascii_case("Findings") => Some(Heading::Findings),
        2 if text.eq_ignore_ascii_case("Reviewer Notes") => Some(Heading::Notes),
        2 => Some(Heading::Other),
        _ => None,
    }
}

/// Reads `**Label:** text`, `- Label: text` and variants.
fn labelled<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (label, text) = line.trim_start_matches(['-', '*', '_', ' ']).split_once(':')?;
    let same = label.trim_matches(['*', '_', ' ']).eq_ignore_ascii_case(name);
    same.then(|| text.trim_start_matches(['*', '_']).trim())
}

/// Text without surrounding backticks.
fn bare(text: &str) -> &str {
    let text = text.trim();
    match read_code_span(text) {
        Some((code, "")) => code,
        _ => text,
    }
}

fn blocking_count(text: &str) -> Option<Value> {
    let (critical, high) = text.split_once(',')?;
    let number = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
    Some(json!({ "critical": number(critical)?, "high": number(high)? }))
}
