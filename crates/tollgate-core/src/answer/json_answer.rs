//! Extracts an answer from JSON: recognizes findings, answers, and envelopes around an answer.
//!
//! ```json
//! {"decision": "rejected", "findings": [{"title": "…"}]}
//! {"review": {"issues": {"high": [{"message": "…"}]}}}
//! {"type": "result", "is_error": false, "result": "{\"findings\": […]}"}
//! ```

use crate::answer::Decision;
use crate::answer::criterion::{self, CriteriaAnswers};
use crate::answer::draft::{Claims, Draft, Problems, is_nothing, one_line};
use crate::answer::finding_header::{self, HeaderContext};
use crate::answer::json_fields::{self, find, key, text};
use crate::answer::lenient_json::{List, Node, Object};
use crate::answer::prior::{self, PriorAnswers};
use crate::answer::{location, vocabulary};
use crate::finding::Severity;

/// The parts of an answer found in one or more JSON values.
#[derive(Debug, Default)]
pub(super) struct AnswerParts {
    pub(super) claims: Claims,
    pub(super) decisions: Vec<Decision>,
    pub(super) summary: Option<String>,
    /// The answers to acceptance criteria.
    pub(super) criteria: CriteriaAnswers,
    /// The answers about findings of the last review.
    pub(super) prior: PriorAnswers,
    /// True when there was a list of findings, even an empty one.
    pub(super) lists_findings: bool,
    /// True when the key of the list names findings.
    pub(super) names_findings: bool,
    /// True when part of the answer was truncated.
    pub(super) cut: bool,
    /// The text of the last error message.
    pub(super) error: Option<String>,
    /// Why the model stopped before the end of its answer.
    pub(super) stopped: Option<String>,
    /// True when a stream or a completion states its regular end.
    pub(super) finished: bool,
    /// True for events of a stream, which must state its end.
    pub(super) is_stream: bool,
    /// What was lost, as clauses about the answer.
    pub(super) losses: Vec<String>,
    /// Texts of an envelope that may contain the answer.
    pub(super) texts: Vec<WrappedText>,
}

/// A text inside an envelope.
#[derive(Debug)]
pub(super) struct WrappedText {
    pub(super) text: String,
    /// True for a chunk of a stream that continues in the next one.
    pub(super) is_piece: bool,
}

impl AnswerParts {
    /// True when any part of an answer was found.
    pub(super) fn is_answer(&self) -> bool {
        !self.claims.is_empty() || !self.decisions.is_empty() || self.lists_findings || self.cut
    }
}

const LISTS: &[&str] = &[
    "findings",
    "issues",
    "comments",
    "problems",
    "reviewcomments",
    "inlinecomments",
    "observations",
    "violations",
    "vulnerabilities",
    "bugs",
    "concerns",
    "defects",
    "keyissues",
    "keyissuestoreview",
    "codesuggestions",
    "remarks",
    "annotations",
    "issuesfound",
    "diagnostics",
    "codereviewfindings",
    "reviewfindings",
];
const DECISIONS: &[&str] = &[
    "decision",
    "verdict",
    "approved",
    "isapproved",
    "approval",
    "approvaldecision",
    "reviewdecision",
    "lgtm",
    "overallcorrectness",
    "finaldecision",
];
/// Keys that hold a decision only next to findings.
const STATES: &[&str] =
    &["status", "result", "outcome", "conclusion", "recommendation", "state", "reviewstatus", "event"];
const SUMMARY: &[&str] = &[
    "summary",
    "overallexplanation",
    "overview",
    "overallassessment",
    "assessment",
    "reviewernotes",
    "overallcomment",
    "explanation",
    "rationale",
    "reason",
    "notes",
    "feedback",
    "message",
    "description",
    "body",
];
/// Keys under which agent programs put the model's text.
const TEXTS: &[&str] = &[
    "result",
    "response",
    "output",
    "text",
    "content",
    "message",
    "answer",
    "review",
    "arguments",
    "input",
    "body",
    "completion",
    "data",
    "outputtext",
    "lastmessage",
    "generatedtext",
    "reply",
    "structuredoutput",
    "finalmessage",
    "parsed",
    "args",
    "json",
];

/// Collects the parts of an answer from a value.
pub(super) fn take(node: &Node, found: &mut AnswerParts, problems: &mut Problems) {
    Walk { found, problems }.walk(node, &Draft::default(), false);
}

/// Collects findings of a list whose beginning was lost.
pub(super) fn take_listed(node: &Node, found: &mut AnswerParts, problems: &mut Problems) {
    Walk { found, problems }.listed(node, &Draft::default());
}

struct Walk<'a> {
    found: &'a mut AnswerParts,
    problems: &'a mut Problems,
}

impl Walk<'_> {
    fn walk(&mut self, node: &Node, around: &Draft, is_piece: bool) {
        match node {
            Node::Object(object) => self.object(object, around, is_piece),
            Node::List(list) => {
                for item in &list.items {
                    self.walk(item, around, is_piece);
                }
                let findings = |item: &Node| matches!(item, Node::Object(object) if json_fields::is_finding(object));
                self.found.cut |= !list.whole && list.items.iter().any(findings);
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &Object, around: &Draft, is_piece: bool) {
        if is_of_others(object) || is_schema(object) {
            return;
        }
        self.ending(object);
        let is_answer_to_one = object.whole && !json_fields::is_finding(object);
        if let Some(answer) = criterion::of_object(object).filter(|_| is_answer_to_one) {
            self.found.criteria.take(answer, self.problems);
            return;
        }
        if let Some(answer) = prior::of_object(object).filter(|_| is_answer_to_one) {
            self.found.prior.take(answer, self.problems);
            return;
        }
        let lists: Vec<(&str, &Node)> = lists(object).collect();
        let (is_answer, is_finding) = (!lists.is_empty() || states_decision(object), json_fields::is_finding(object));
        if is_finding && lists.is_empty() && find(object, DECISIONS).is_none() {
            self.finding(object, around);
        } else if is_answer {
            self.answer(object, &lists, around);
        } else if let Some(error) = error(object) {
            self.found.error = Some(error);
        } else {
            self.envelope(object, around, is_piece);
        }
    }

    /// Reads why a completion ended. An unknown reason is not a regular end.
    fn ending(&mut self, object: &Object) {
        const REASONS: &[&str] = &["finishreason", "stopreason", "donereason"];
        const REGULAR: &[&str] = &[
            "stop",
            "endturn",
            "stopsequence",
            "toolcalls",
            "tooluse",
            "functioncall",
            "completed",
            "eos",
            "eostoken",
        ];
        const ENDS: &[&str] = &["messagestop", "responsecompleted", "responsedone", "turncompleted", "result"];
        let kind = find(object, &["type"]).and_then(text).map(|kind| key(&kind)).unwrap_or_default();
        // Events of `claude` and `cursor-agent`, which end with a `result`, and of `codex`, which end with `turn.completed`.
        let is_message = kind == "assistant" && find(object, &["sessionid", "parenttooluseid"]).is_some();
        self.found.is_stream |=
            is_message || matches!(kind.as_str(), "itemcompleted" | "turnstarted" | "threadstarted");
        for (name, value) in &object.fields {
            let (name, word) = (key(name), text(value).unwrap_or_default());
            // Messages of `ollama`.
            match (name.as_str(), value) {
                ("done", Node::Bool(true)) => self.found.finished = true,
                ("done", Node::Bool(false)) => self.found.is_stream = true,
                _ => {}
            }
            let is_reason = REASONS.contains(&name.as_str()) && matches!(value, Node::Text(_)) && !word.is_empty();
            if is_reason && REGULAR.contains(&key(&word).as_str())
                || name == "type" && ENDS.contains(&key(&word).as_str())
            {
                self.found.finished = true;
            } else if is_reason || (name == "incompletedetails" && matches!(value, Node::Object(_))) {
                self.found.stopped = Some(crate::answer::draft::shown(&word));
            }
        }
    }

    fn finding(&mut self, object: &Object, around: &Draft) {
        if !object.whole {
            self.found.cut = true;
            return;
        }
        let mut draft = json_fields::draft(object);
        inherit(&mut draft, around);
        if self.found.claims.take(draft, self.problems) {
            return;
        }
        // The finding may be inside: `{"item": {"finding": {…}}}`.
        let n_before = self.found.claims.n_taken();
        for (_, value) in object.fields.iter().filter(|(_, value)| matches!(value, Node::List(_) | Node::Object(_))) {
            self.listed(value, around);
        }
        if self.found.claims.n_taken() == n_before && !object.fields.is_empty() {
            self.lose("lists a finding that cannot be read");
        }
    }

    fn lose(&mut self, loss: &str) {
        if !self.found.losses.iter().any(|known| known == loss) {
            self.found.losses.push(loss.to_owned());
        }
    }

    /// Notes findings that are neither a list nor absent: `"findings": "the check is missing"`.
    fn unlisted(&mut self, object: &Object) {
        const FINDINGS: &[&str] =
            &["findings", "issues", "problems", "vulnerabilities", "bugs", "violations", "defects"];
        let says = |value: &Node| match value {
            Node::Text(text) => !is_nothing(text) && !denies_findings(text),
            Node::Number(number) => number.parse::<f64>().is_ok_and(|number| number != 0.0),
            Node::Bool(value) => *value,
            _ => false,
        };
        let names = |name: &str| FINDINGS.contains(&key(name).as_str());
        if object.fields.iter().any(|(name, value)| names(name) && says(value)) {
            self.lose("has findings that are not a list");
        }
        // `"critical_issues": "division by zero"`
        for (name, value) in &object.fields {
            if let (Some(severity), Node::Text(text)) = (blocking_list(name), value) {
                let around = Draft { severity: Some(severity.as_str().to_owned()), ..Draft::default() };
                self.sentence(text, &around);
            }
        }
    }

    fn answer(&mut self, object: &Object, lists: &[(&str, &Node)], around: &Draft) {
        self.found.cut |= !object.whole;
        self.unlisted(object);
        let mut around = around.clone();
        if let Some(file) = find(object, &["file", "path", "filename"]).and_then(text) {
            around.file = Some(file);
        }
        let plain = |node: &&Node| matches!(node, Node::Text(_) | Node::Number(_));
        let summary = SUMMARY.iter().find_map(|name| find(object, &[name]).filter(plain).and_then(text));
        self.decide(object, !lists.is_empty() || summary.is_some());
        for (name, list) in lists {
            self.found.names_findings |= key(name) == "findings";
            match list_severity(name) {
                Some(severity) => {
                    let around = Draft { severity: Some(severity.as_str().to_owned()), ..around.clone() };
                    self.listed(list, &around);
                }
                None => self.listed(list, &around),
            }
        }
        if self.found.summary.is_none() {
            self.found.summary = summary.filter(|summary| !vocabulary::is_placeholder(summary));
        }
        // An answer may contain another: `{"decision": …, "review": {"findings": …}}`.
        let listed = |value: &Node| lists.iter().any(|(_, list)| std::ptr::eq(*list, value));
        let nested = |value: &Node| matches!(value, Node::List(_) | Node::Object(_));
        for (name, value) in object.fields.iter().filter(|(_, value)| nested(value) && !listed(value)) {
            match value {
                Node::Object(inner) if criterion::is_list(name) => self.criteria(inner, &around),
                value if prior::is_list(name) => self.prior(value, &around),
                value => self.walk(value, &around, false),
            }
        }
    }

    /// `"criteria": {"C1": "met"}`
    fn criteria(&mut self, object: &Object, around: &Draft) {
        match criterion::of_map(object).filter(|_| object.whole) {
            Some(answers) => answers.into_iter().for_each(|answer| self.found.criteria.take(answer, self.problems)),
            None => self.object(object, around, false),
        }
    }

    /// `"prior": [{"id": "P1", "state": "fixed"}]`, `"prior": {"P1": "fixed"}`
    fn prior(&mut self, node: &Node, around: &Draft) {
        match node {
            Node::List(list) => list.items.iter().for_each(|item| self.prior(item, around)),
            Node::Object(object) => {
                let one = prior::of_object(object).map(|answer| vec![answer]);
                match one.or_else(|| prior::of_map(object)).filter(|_| object.whole) {
                    Some(answers) => answers.into_iter().for_each(|it| self.found.prior.take(it, self.problems)),
                    None if object.whole => self.object(object, around, false),
                    None => {}
                }
            }
            Node::Text(line) => {
                if let Some(answer) = prior::of_line(line, None) {
                    self.found.prior.take(answer, self.problems);
                }
            }
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::Cut(_) => {}
        }
    }

    fn decide(&mut self, object: &Object, with_content: bool) {
        for (name, value) in &object.fields {
            let name = key(name);
            let is_state = STATES.contains(&name.as_str()) && with_content;
            if !DECISIONS.contains(&name.as_str()) && !is_state {
                continue;
            }
            let words = match value {
                Node::Object(inner) => inner.fields.iter().find_map(|(_, value)| text(value)),
                value => text(value),
            };
            let Some(words) = words else { continue };
            match vocabulary::decision(&words) {
                // An isolated `approved`, for example in a code sample, approves nothing.
                Some(Decision::Approved) if !with_content => {
                    self.problems.add("an approval without findings and without a summary does not count");
                }
                Some(decision) => self.found.decisions.push(decision),
                None if is_state || is_comment(&words) => {}
                None => {
                    let words = crate::answer::draft::shown(&words);
                    self.problems.add(format!("the decision `{words}` is neither approved nor rejected"));
                }
            }
        }
    }

    /// Collects a list of findings; every element counts as a finding.
    fn listed(&mut self, node: &Node, around: &Draft) {
        match node {
            Node::List(List { items, whole }) => {
                self.found.lists_findings = true;
                self.found.cut |= !whole;
                for item in items {
                    self.listed(item, around);
                }
            }
            Node::Object(object) if lists(object).next().is_some() => self.object(object, around, false),
            Node::Object(object) if is_group(object) => {
                self.found.lists_findings = true;
                self.found.cut |= !object.whole;
                for (name, value) in &object.fields {
                    self.listed(value, &grouped(name, around));
                }
            }
            Node::Object(object) => self.finding(object, around),
            Node::Text(text) => self.sentence(text, around),
            Node::Bool(_) | Node::Number(_) => self.lose("lists a finding that cannot be read"),
            Node::Null | Node::Cut(_) => {}
        }
    }

    /// Parses a finding that is only a string: `src/a.rs:12: no check`, `[HIGH] src/a.rs:12 - no check`.
    fn sentence(&mut self, text: &str, around: &Draft) {
        if is_nothing(text) || denies_findings(text) {
            return;
        }
        let context = HeaderContext { issues: true, graded: around.severity.is_some(), quiet: false };
        let mut draft = match finding_header::read(text.trim(), context) {
            Some((draft, _)) => draft,
            None => {
                let mut draft = Draft::default();
                finding_header::set_title(&mut draft, text);
                draft
            }
        };
        if draft.title.as_deref().is_none_or(|title| title.trim().is_empty()) {
            draft.title = Some(one_line(text));
        }
        if draft.file.is_none()
            && let Some(place) = location::mentioned(text).or_else(|| location::in_words(text))
        {
            (draft.file, draft.lines) = (place.file, draft.lines.or(place.lines));
        }
        inherit(&mut draft, around);
        self.found.claims.take(draft, self.problems);
    }

    fn envelope(&mut self, object: &Object, around: &Draft, is_piece: bool) {
        let mut around = around.clone();
        if let Some(file) = find(object, &["file", "path", "filename"]).and_then(text) {
            around.file = Some(file);
        }
        let kind = find(object, &["type"]).and_then(text).unwrap_or_default();
        let is_piece = is_piece || matches!(find(object, &["done"]), Some(Node::Bool(_)));
        for (name, value) in &object.fields {
            let name = key(name);
            let is_piece = is_piece || name == "delta" || kind.ends_with("delta");
            match value {
                Node::Text(text) | Node::Cut(text) if TEXTS.contains(&name.as_str()) => {
                    self.found.texts.push(WrappedText { text: text.clone(), is_piece });
                }
                value => self.walk(value, &around, is_piece),
            }
        }
    }
}

/// The fields of an object that list findings.
fn lists(object: &Object) -> impl Iterator<Item = (&str, &Node)> {
    let in_answer = states_decision(object)
        || object
            .fields
            .iter()
            .any(|(name, value)| LISTS.contains(&key(name).as_str()) && matches!(value, Node::List(_)));
    object.fields.iter().filter_map(move |(name, value)| {
        let plain = key(name);
        let is_list = match value {
            Node::List(list) if LISTS.contains(&plain.as_str()) => {
                list.items.is_empty() || has_objects(list) || lists_sentences(&plain, list)
            }
            Node::Object(inner) if LISTS.contains(&plain.as_str()) => {
                is_group(inner) || json_fields::is_finding(inner) || inner.fields.is_empty() || !inner.whole
            }
            Node::List(list) if plain == "suggestions" => {
                let finding = |item: &Node| matches!(item, Node::Object(object) if json_fields::is_finding(object));
                list.items.iter().any(finding)
            }
            Node::List(list) => {
                let has_texts = || list.items.iter().any(|item| matches!(item, Node::Text(_)));
                let is_graded = GRADED.contains(&plain.as_str());
                is_graded && (has_objects(list) || in_answer && has_texts())
                    || blocking_list(name).is_some() && (has_objects(list) || has_texts())
            }
            _ => false,
        };
        is_list.then_some((name.as_str(), value))
    })
}

/// Keys that are a severity.
const GRADED: &[&str] = &["critical", "high", "major", "medium", "minor", "low", "blocker", "blockers", "nit", "nits"];

fn has_objects(list: &List) -> bool {
    list.items.iter().any(|item| matches!(item, Node::Object(_)))
}

/// True when strings under a key are findings. `"comments": ["…"]` is a discussion, unless they are tagged.
fn lists_sentences(plain: &str, list: &List) -> bool {
    const DISCUSSION: &[&str] =
        &["comments", "reviewcomments", "observations", "concerns", "remarks", "annotations", "codesuggestions"];
    let context = HeaderContext { issues: false, graded: false, quiet: true };
    let is_tagged = |item: &Node| match item {
        Node::Text(text) => {
            finding_header::read(text.trim(), context).is_some_and(|(draft, _)| draft.severity.is_some())
        }
        _ => false,
    };
    !DISCUSSION.contains(&plain) || list.items.iter().any(is_tagged)
}

/// The severity that the key of a list gives its findings: `high`, `criticalIssues`.
fn list_severity(name: &str) -> Option<Severity> {
    if LISTS.contains(&key(name).as_str()) {
        return None;
    }
    vocabulary::severity(name).or_else(|| blocking_list(name))
}

/// The severity of a key that names blocking findings, in any words: `critical_issues`, `mustFixBeforeMerge`.
fn blocking_list(name: &str) -> Option<Severity> {
    let plain = key(name);
    let denies = ["non", "not", "no", "resolved", "fixed", "is", "has", "count", "number", "total"];
    let is_denied = denies.iter().any(|word| plain.starts_with(word) || plain.ends_with(word));
    let names = [
        "issue",
        "finding",
        "problem",
        "bug",
        "defect",
        "concern",
        "vulnerabilit",
        "error",
        "blocker",
        "fix",
        "comment",
    ];
    if is_denied || !names.iter().any(|word| plain.contains(word)) {
        return None;
    }
    let words = [
        ("critical", Severity::Critical),
        ("blocker", Severity::Critical),
        ("severe", Severity::Critical),
        ("blocking", Severity::High),
        ("major", Severity::High),
        ("mustfix", Severity::High),
        ("high", Severity::High),
    ];
    words.iter().find(|(word, _)| plain.contains(word)).map(|(_, severity)| *severity)
}

/// True for an object whose values are lists: findings by severity, by category or by file.
fn is_group(object: &Object) -> bool {
    let names_group = |name: &str| {
        vocabulary::severity(name).is_some() || vocabulary::exact_category(name).is_some() || location::is_path(name)
    };
    let is_list = |node: &Node| matches!(node, Node::List(_) | Node::Null);
    !object.fields.is_empty() && object.fields.iter().all(|(name, value)| is_list(value) && names_group(name))
}

fn grouped(name: &str, around: &Draft) -> Draft {
    let mut around = around.clone();
    if location::is_path(name) {
        around.set_place(name);
    } else if vocabulary::severity(name).is_some() {
        around.severity = Some(name.to_owned());
    } else if vocabulary::category(name).is_some() {
        around.category = Some(name.to_owned());
    }
    around
}

fn inherit(draft: &mut Draft, around: &Draft) {
    if draft.file.is_none() {
        draft.file.clone_from(&around.file);
        draft.lines = draft.lines.or(around.lines);
    }
    if draft.severity.is_none() {
        draft.severity.clone_from(&around.severity);
    }
    if draft.category.is_none() {
        draft.category.clone_from(&around.category);
    }
}

fn states_decision(object: &Object) -> bool {
    let states = |node: &Node| match node {
        Node::Text(text) => vocabulary::decision(text).is_some() || is_comment(text),
        Node::Bool(_) => true,
        Node::Object(inner) => {
            inner.fields.iter().any(|(_, value)| text(value).is_some_and(|text| vocabulary::decision(&text).is_some()))
        }
        _ => false,
    };
    find(object, DECISIONS).is_some_and(states)
}

/// True for review states that neither approve nor reject.
fn is_comment(words: &str) -> bool {
    matches!(vocabulary::plain(words).as_str(), "commented" | "comment" | "neutral")
}

/// True for messages of other roles: the prompt, tool output, reasoning.
fn is_of_others(object: &Object) -> bool {
    let role = find(object, &["role", "author"]).and_then(text).unwrap_or_default();
    let kind = find(object, &["type"]).and_then(text).unwrap_or_default();
    let others = [
        "user",
        "tool_result",
        "system",
        "thinking",
        "reasoning",
        "command_execution",
        "redacted_thinking",
        "function_call_output",
        "mcp_tool_call",
        "file_change",
    ];
    matches!(role.as_str(), "user" | "system" | "tool" | "function" | "developer") || others.contains(&kind.as_str())
}

/// True for a JSON Schema. Small models repeat the schema instead of filling it in; its properties are not findings.
fn is_schema(object: &Object) -> bool {
    let is_typed = |(_, node): &(String, Node)| matches!(node, Node::Object(of) if find(of, &["type"]).is_some());
    let Some(Node::Object(properties)) = find(object, &["properties"]) else { return false };
    !properties.fields.is_empty() && properties.fields.iter().all(is_typed)
}

/// The message of an object that is an error.
fn error(object: &Object) -> Option<String> {
    let is_error = object.fields.iter().any(|(name, value)| {
        let name = key(name);
        matches!((name.as_str(), value), ("iserror", Node::Bool(true)) | ("success", Node::Bool(false)))
    });
    let kind = find(object, &["type"]).and_then(text).unwrap_or_default();
    let is_error = is_error || find(object, &["subtype"]).and_then(text).is_some_and(|kind| kind.starts_with("error"));
    let error = find(object, &["error", "errors"]).filter(|node| !matches!(node, Node::Bool(false)));
    if error.is_none() && !is_error && kind != "error" {
        return None;
    }
    let inner = error.and_then(|node| match node {
        Node::Object(inner) => find(inner, &["message", "detail", "type", "code"]).and_then(text),
        node => text(node),
    });
    let said = inner.or_else(|| find(object, &["message", "result", "detail", "text"]).and_then(text));
    Some(crate::answer::draft::shown(&said.unwrap_or_default()))
}

/// True for titles that say there is no finding: `No critical issues found.`
pub(super) fn denies_findings(title: &str) -> bool {
    let words = vocabulary::plain(title);
    let mut words = words.split(' ').skip_while(|word| matches!(*word, "there" | "are" | "were" | "i" | "found"));
    match words.next() {
        None | Some("" | "lgtm") => true,
        Some("none" | "nothing" | "n") => {
            matches!(words.next(), None | Some("found" | "identified" | "a" | "to")) && words.next().is_none()
        }
        Some("looks") => words.next() == Some("good") && words.next().is_none(),
        Some("no" | "zero" | "0") => {
            let mut words = words.skip_while(|word| is_adjective(word));
            let noun = matches!(
                words.next(),
                Some("issues" | "issue" | "problems" | "findings" | "concerns" | "bugs" | "blockers")
            );
            noun && matches!(
                words.next(),
                None | Some(
                    "found" | "identified" | "detected" | "were" | "was" | "in" | "to" | "at" | "noted" | "remain"
                )
            )
        }
        Some(_) => false,
    }
}

fn is_adjective(word: &str) -> bool {
    let known = ["blocking", "other", "further", "significant", "security", "code", "performance", "remaining", "new"];
    known.contains(&word) || vocabulary::severity(word).is_some()
}
