//! What a model or an agent said of a change, before anything of it is believed.
//!
//! An [`Answer`] is read from whatever came back: structured output, JSON in prose, or one of three text forms. Its
//! [`Claim`]s become findings only when their place and evidence are found in the change; its decision never becomes
//! the verdict.
//!
//! ```text
//! **[REJECTED]**
//!
//! ### Issues Found
//! - **[CODE]** - High: No check of the length
//!   - File: src/a.rs
//!   - Line: 12
//! ```
//!
//! Reading is generous with shapes and strict with approvals: an approval counts only at the beginning of a line
//! outside of code, or in JSON beside findings, and only when nothing of the answer was lost.

mod bot_comments;
mod criterion;
mod decision;
mod draft;
mod field_label;
mod finding_header;
pub mod json;
mod json_answer;
mod json_fields;
mod lenient_json;
mod location;
mod markdown_lines;
mod not_a_review;
mod prose;
mod schema;
mod section;
mod table;
mod vocabulary;

use serde_json::Value;

use crate::answer::draft::{Claims, Problems};
use crate::answer::json_answer::AnswerParts;
use crate::answer::lenient_json::{End, Node};
use crate::board::{Criterion, Met};
use crate::finding::{Category, LineRange, Severity, Side};
use crate::report::{self, Content, Strictness};
use crate::verdict::Verdict;

/// The longest answer that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// The most claims of one answer; a guard that no review comes near.
pub const MAX_CLAIMS: usize = 2_000;
/// How deep an answer may be wrapped as a text in other answers.
const MAX_WRAPPERS: usize = 3;

/// What a reviewer said of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it would let the change pass, if it said so.
    pub decision: Option<Decision>,
    /// The form that was recognised.
    pub form: Form,
    /// True when the answer was cut off; the claims are those that came whole.
    pub truncated: bool,
    /// What it remarks, in its order.
    pub claims: Vec<Claim>,
    /// What it says in general.
    pub summary: Option<String>,
    /// What it says of each acceptance criterion, by the name that it gives it.
    pub criteria: Vec<(String, Met)>,
    /// What was odd about the answer and how it was taken, for people.
    pub problems: Vec<String>,
}

/// Whether a reviewer would let a change pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It would.
    Approved,
    /// It would not.
    Rejected,
}

/// The forms in which answers come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A tool call or structured output in the answer schema.
    Structured,
    /// JSON somewhere in a text.
    Json,
    /// A decision in brackets and a list of issues.
    Text,
    /// The Markdown of a review.
    Markdown,
    /// A comment on a pull request.
    Comment,
}

/// One remark as it was made: nothing of it is checked against the change yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// How much it matters; an unknown word counts as Medium.
    pub severity: Severity,
    /// What it is about; an unknown word counts as Logic.
    pub category: Category,
    /// The file as it was named, which may be no path of the change.
    pub file: Option<String>,
    /// The lines as they were named.
    pub lines: Option<LineRange>,
    /// Before or after the change, if it says so.
    pub side: Option<Side>,
    /// What is wrong, in the reviewer's words, not empty.
    pub title: String,
    /// Why it matters.
    pub reason: Option<String>,
    /// The code it quotes.
    pub evidence: Option<String>,
    /// What to do instead, for people.
    pub suggestion: Option<String>,
    /// What to write in place of the named lines, ready to apply.
    pub replacement: Option<String>,
}

/// Why something is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Nothing came back.
    #[error("the answer is empty")]
    Empty,
    /// It is something else, and asking again in the same way will bring the same.
    #[error("the answer is no review but {0}")]
    NotAReview(String),
    /// It may be meant as a review and cannot be read as one.
    #[error("the answer cannot be read: {0}")]
    Unparsable(String),
}

impl NoAnswer {
    /// True when the reviewer may do better if it is told what was wrong.
    #[must_use]
    pub fn is_worth_repairing(&self) -> bool {
        match self {
            Self::Empty | Self::Unparsable(_) => true,
            Self::NotAReview(_) => false,
        }
    }
}

/// Reads an answer in any of the forms.
pub fn read(text: &str) -> Result<Answer, NoAnswer> {
    read_with_criteria(text, &[])
}

/// Reads an answer to a question that asked for acceptance criteria.
///
/// A line such as `C1: met – …` says something of a criterion only when there is one of that name: reviewers also number
/// what is critical so.
pub fn read_with_criteria(text: &str, criteria: &[Criterion]) -> Result<Answer, NoAnswer> {
    read_wrapped(text, criteria, 0)
}

/// Reads an answer that came as a tool call or as structured output.
pub fn read_structured(value: &Value) -> Result<Answer, NoAnswer> {
    let node = lenient_json::of_value(value);
    let mut problems = Problems::default();
    let mut found = AnswerParts::default();
    json_answer::take(&node, &mut found, &mut problems);
    if !found.is_answer() {
        return inner(found, false, &[], 0, &mut problems);
    }
    let form = Form::Structured;
    PendingAnswer { form, found, lost: false, problems }.conclude()
}

/// The JSON Schema of an answer, which models are asked to keep to.
#[must_use]
pub fn schema() -> Value {
    schema::schema()
}

/// The JSON Schema of an answer that also says of each acceptance criterion whether it is met.
#[must_use]
pub fn schema_with_criteria() -> Value {
    schema::with_criteria()
}

fn read_wrapped(text: &str, criteria: &[Criterion], depth: usize) -> Result<Answer, NoAnswer> {
    if text.len() > MAX_BYTES {
        return Err(NoAnswer::Unparsable(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(NoAnswer::Empty);
    }
    if let Some(page) = not_a_review::page(text) {
        return Err(NoAnswer::NotAReview(page));
    }
    if let Some(answer) = own_markdown(text) {
        return Ok(answer);
    }
    let text = without_thoughts(text);
    let mut problems = Problems::default();
    let json = find_json(text, &mut problems);
    let mut in_prose = Problems::default();
    let prose = prose::read(&json.rest, criteria, &mut in_prose);
    let says_nothing = !json.found.is_answer() && prose.claims.is_empty() && prose.decisions.is_empty();
    if says_nothing && !json.found.texts.is_empty() {
        return inner(json.found, json.cut, criteria, depth, &mut problems);
    }
    let in_json = !json.found.claims.is_empty() || (json.found.is_answer() && prose.claims.is_empty());
    let (form, mut found) = if in_json {
        (json.form, AnswerParts { summary: json.found.summary.or(prose.summary), ..json.found })
    } else {
        problems.append(in_prose);
        let summary = prose.summary.or(json.found.summary);
        (prose.form, AnswerParts { claims: prose.claims, summary, ..json.found })
    };
    found.decisions.extend(prose.decisions);
    found.criteria.append(prose.criteria, &mut problems);
    found.cut |= json.cut || prose.cut;
    if found.claims.is_empty()
        && let Some(notice) = not_a_review::notice(text)
    {
        return Err(NoAnswer::NotAReview(notice.to_owned()));
    }
    PendingAnswer { form, found, lost: json.lost, problems }.conclude().map_err(|none| explain(none, text))
}

/// Says what a text is that has neither a decision nor a finding.
fn explain(none: NoAnswer, text: &str) -> NoAnswer {
    match none {
        NoAnswer::Unparsable(_) => match not_a_review::guess(text) {
            Some(what) => NoAnswer::NotAReview(what.to_owned()),
            None => none,
        },
        none => none,
    }
}

/// What was read, before it is weighed.
struct PendingAnswer {
    form: Form,
    found: AnswerParts,
    /// True when part of it could not be read.
    lost: bool,
    problems: Problems,
}

impl PendingAnswer {
    fn conclude(mut self) -> Result<Answer, NoAnswer> {
        let approved = self.found.decisions.contains(&Decision::Approved);
        let rejected = self.found.decisions.contains(&Decision::Rejected);
        let decision = match (approved, rejected) {
            (true, true) => {
                self.problems.add("it says both approved and rejected, which is taken as rejected");
                Some(Decision::Rejected)
            }
            (false, true) => Some(Decision::Rejected),
            (true, false) if self.found.cut || self.lost => {
                self.problems
                    .add("it says approved, which does not count because part of the answer is missing or damaged");
                None
            }
            (true, false) => Some(Decision::Approved),
            (false, false) => None,
        };
        if self.found.cut {
            self.problems.add("the answer was cut off");
        }
        let echoes = self.found.claims.only_echoes();
        let claims = std::mem::take(&mut self.found.claims).finish(&mut self.problems);
        let says_something = decision.is_some() || !claims.is_empty();
        let lists_nothing = self.found.names_findings && !self.found.cut && !self.lost && !echoes;
        if !says_something && (approved || !lists_nothing) {
            return Err(self.nothing(approved, echoes));
        }
        Ok(Answer {
            decision,
            form: self.form,
            truncated: self.found.cut,
            claims,
            summary: self.found.summary.map(|summary| summary.trim().to_owned()).filter(|summary| !summary.is_empty()),
            criteria: self.found.criteria.finish(),
            problems: self.problems.finish(),
        })
    }

    fn nothing(self, approved: bool, echoes: bool) -> NoAnswer {
        if let Some(error) = self.found.error {
            let said = if error.is_empty() { String::new() } else { format!(": {error}") };
            return NoAnswer::NotAReview(format!("an error message{said}"));
        }
        NoAnswer::Unparsable(match (self.found.cut || self.lost, approved) {
            (true, true) => "it says approved and part of it is missing or damaged, so it approves nothing".to_owned(),
            (true, false) => "it was cut off before the first finding and the decision were whole".to_owned(),
            (false, _) if echoes => "it repeats the example of the instructions".to_owned(),
            (false, _) => "it has neither a decision nor a finding in any form that is understood".to_owned(),
        })
    }
}

/// JSON in a text, and the text without what was recognised.
struct EmbeddedJson {
    form: Form,
    found: AnswerParts,
    rest: String,
    cut: bool,
    lost: bool,
}

fn find_json(text: &str, problems: &mut Problems) -> EmbeddedJson {
    let (documents, _) = lenient_json::documents(text);
    let mut all = AnswerParts::default();
    let (mut rest, mut at) = (String::new(), 0);
    let (mut cut, mut lost, mut damaged, mut in_list) = (false, false, false, false);
    let mut form = Form::Json;
    for document in &documents {
        let mut found = AnswerParts { claims: Claims::after(&all.claims), ..AnswerParts::default() };
        // Behind a break in a list of findings, what follows belongs to the list.
        if in_list {
            json_answer::take_listed(&document.node, &mut found, problems)
        } else {
            json_answer::take(&document.node, &mut found, problems)
        }
        let is_answer = found.is_answer();
        found.cut &= document.end == End::Cut;
        let ends_text = document.span.end >= text.trim_end().len();
        cut |= document.end == End::Cut && (is_answer || ends_text);
        lost |= document.end == End::Broken && is_answer;
        damaged |= is_answer && (document.guessed || goes_on(&text[document.span.end..]));
        in_list = (in_list || (is_answer && found.lists_findings)) && document.end == End::Broken;
        if is_answer {
            rest.push_str(&text[at..document.span.start]);
            at = document.span.end;
            let is_all = text.trim().len() == document.span.len();
            if is_all && is_schema(&document.node) && serde_json::from_str::<Value>(text.trim()).is_ok() {
                form = Form::Structured;
            }
        }
        merge(&mut all, found, problems);
    }
    rest.push_str(&text[at..]);
    if lost {
        problems.add("part of the JSON could not be read");
    }
    EmbeddedJson { form, found: all, rest, cut, lost: lost || damaged }
}

/// True when JSON seems to go on behind its last bracket, so that something in it was read amiss.
fn goes_on(after: &str) -> bool {
    let after = after.trim_start();
    let more = after.strip_prefix(',').map(str::trim_start);
    after.starts_with([']', '}']) || more.is_some_and(|more| more.starts_with(['{', '[', '"']))
}

fn merge(all: &mut AnswerParts, found: AnswerParts, problems: &mut Problems) {
    all.criteria.append(found.criteria, problems);
    all.claims.append(found.claims);
    all.decisions.extend(found.decisions);
    all.summary = all.summary.take().or(found.summary);
    all.lists_findings |= found.lists_findings;
    all.names_findings |= found.names_findings;
    all.cut |= found.cut;
    all.error = all.error.take().or(found.error);
    all.texts.extend(found.texts);
}

/// True for an answer with the fields of the schema and no others.
fn is_schema(node: &Node) -> bool {
    let Node::Object(object) = node else { return false };
    let list = object.fields.iter().find_map(|(name, value)| match value {
        Node::List(list) if name == "findings" => Some(list),
        _ => None,
    });
    let has_decision = object.fields.iter().any(|(name, _)| name == "decision");
    let Some(list) = list.filter(|_| has_decision) else { return false };
    let keeps = |node: &Node| match node {
        Node::Object(finding) => finding.fields.iter().all(|(name, _)| schema::FINDING.contains(&name.as_str())),
        _ => false,
    };
    let is_known = |name: &str| name == schema::CRITERIA || schema::ANSWER.contains(&name);
    object.fields.iter().all(|(name, _)| is_known(name)) && list.items.iter().all(keeps)
}

/// Reads the texts in an envelope as one answer.
fn inner(
    found: AnswerParts,
    cut: bool,
    criteria: &[Criterion],
    depth: usize,
    problems: &mut Problems,
) -> Result<Answer, NoAnswer> {
    let mut joined = String::new();
    let mut last: Option<&str> = None;
    for inner in &found.texts {
        // A stream often ends with its last message once more.
        if last == Some(inner.text.as_str()) && !inner.is_piece {
            continue;
        }
        if !joined.is_empty() && !inner.is_piece {
            joined.push_str("\n\n");
        }
        joined.push_str(&inner.text);
        last = Some(&inner.text);
    }
    if depth >= MAX_WRAPPERS || joined.trim().is_empty() {
        let error =
            PendingAnswer { form: Form::Json, found, lost: false, problems: std::mem::take(problems) }.conclude();
        return error;
    }
    let read = read_wrapped(&joined, criteria, depth + 1);
    match read {
        Ok(mut answer) => {
            if answer.form == Form::Structured {
                answer.form = Form::Json;
            }
            if cut {
                answer.truncated = true;
                answer.decision = answer.decision.filter(|decision| *decision == Decision::Rejected);
            }
            if answer.decision.is_none() && answer.claims.is_empty() && cut {
                return Err(NoAnswer::Unparsable(
                    "it was cut off before the first finding and the decision were whole".to_owned(),
                ));
            }
            Ok(answer)
        }
        Err(none) => match found.error {
            Some(error) => Err(NoAnswer::NotAReview(format!("an error message: {error}"))),
            None => Err(none),
        },
    }
}

/// The text behind the thoughts that a model puts in front of its answer.
fn without_thoughts(text: &str) -> &str {
    let start = text.trim_start();
    for (begin, end) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if start.starts_with(begin) {
            return start.split_once(end).map_or("", |(_, answer)| answer);
        }
    }
    text
}

/// A review in our own Markdown, which the reader of reviews knows best.
fn own_markdown(text: &str) -> Option<Answer> {
    if !text.contains("**Reviewed SHA:**") {
        return None;
    }
    let read = report::markdown::read(text, Strictness::Strict).ok()?;
    let Content::Review(review) = read.content else { return None };
    let decision = match review.verdict() {
        Verdict::Approved => Some(Decision::Approved),
        Verdict::ChangesRequested => Some(Decision::Rejected),
        Verdict::Commented => None,
    };
    let claims = review.findings.into_iter().map(|finding| Claim {
        severity: finding.severity,
        category: finding.category,
        file: Some(finding.location.file.as_str().to_owned()),
        lines: Some(finding.location.lines),
        // The side that is not written is not said.
        side: Some(finding.location.side).filter(|side| *side == Side::Left),
        title: finding.summary.as_str().to_owned(),
        reason: finding.reason,
        evidence: Some(finding.evidence),
        suggestion: finding.suggestion,
        replacement: finding.fix.map(|fix| fix.replacement),
    });
    Some(Answer {
        decision,
        form: Form::Markdown,
        truncated: false,
        claims: claims.collect(),
        summary: review.notes,
        criteria: Vec::new(),
        problems: Vec::new(),
    })
}
