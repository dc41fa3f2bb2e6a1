//! Parses the answer of a model or an agent into a decision and claims, none of which is trusted yet.
//!
//! An [`Answer`] is parsed from structured output, JSON in prose, or one of three text forms. Its [`Claim`]s become findings
//! only when `verify` finds their location and evidence in the change; its decision never becomes the verdict.
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
//! Parsing is lenient about form and strict about approvals: an approval counts only at the beginning of a line outside of
//! code, or in JSON next to findings, and only when no part of the answer was lost.

mod bot_comments;
mod contrary;
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
mod prior;
mod prose;
mod schema;
mod section;
mod table;
mod tag_characters;
mod vocabulary;

use serde_json::Value;

use crate::answer::draft::{Claims, Problems};
use crate::answer::json_answer::AnswerParts;
use crate::answer::lenient_json::{Document, End, Node};
use crate::answer::prior::PriorAnswers;
use crate::board::{Criterion, Met};
use crate::finding::NOTHING_QUOTED;
use crate::finding::{Category, LineRange, Severity, Side};
use crate::report::{self, Content, Strictness};
use crate::verdict::Verdict;

pub use prior::{PriorAnswer, PriorState, prior_id, prior_index};

/// The longest accepted answer, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// The most claims of one answer; far more than any real review has.
pub const MAX_CLAIMS: usize = 2_000;
/// How many envelopes may wrap an answer as text.
const MAX_WRAPPERS: usize = 3;

/// The parsed answer of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Approved or rejected, if the answer states it.
    pub decision: Option<Decision>,
    /// The form that was recognized.
    pub form: Form,
    /// True when the answer was truncated; only complete claims are kept.
    pub truncated: bool,
    /// The claims, in the order of the answer.
    pub claims: Vec<Claim>,
    /// The overall summary.
    pub summary: Option<String>,
    /// The answer to each acceptance criterion, by criterion id.
    pub criteria: Vec<(String, Met)>,
    /// The answer about each finding of the last review, by its name in the prompt.
    pub prior: Vec<PriorAnswer>,
    /// What was lost or can be read in several ways, as clauses about the answer: `has the key `findings` twice`.
    pub losses: Vec<String>,
    /// Human-readable notes on irregularities of the answer and how they were handled.
    pub problems: Vec<String>,
}

impl Answer {
    /// The decision after the rest of the answer was weighed: an approval beside a blocking finding or an unmet criterion
    /// contradicts itself and is a rejection.
    #[must_use]
    pub fn settled_decision(&self) -> Option<Decision> {
        if self.contradiction().is_some() { Some(Decision::Rejected) } else { self.decision }
    }

    /// Why an approval contradicts the rest of the answer; `None` when it does not.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        if self.decision != Some(Decision::Approved) {
            return None;
        }
        let n_blockers = self.claims.iter().filter(|claim| claim.severity.blocks()).count();
        let n_unmet = self.criteria.iter().filter(|(_, met)| matches!(met, Met::No { .. })).count();
        let what = match (n_blockers, n_unmet) {
            (0, 0) => return None,
            (0, 1) => "an unmet criterion".to_owned(),
            (0, n_unmet) => format!("{n_unmet} unmet criteria"),
            (1, _) => "a blocking finding".to_owned(),
            (n_blockers, _) => format!("{n_blockers} blocking findings"),
        };
        Some(format!("it says approved beside {what}; treated as rejected"))
    }
}

/// The reviewer's own decision on the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The reviewer approves the change.
    Approved,
    /// The reviewer rejects the change.
    Rejected,
}

/// The form of an answer.
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

/// One remark of a reviewer, not yet verified against the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The severity; an unknown word counts as Medium.
    pub severity: Severity,
    /// The category; an unknown word counts as Logic.
    pub category: Category,
    /// The file as written by the reviewer; not necessarily a path of the change.
    pub file: Option<String>,
    /// The lines as written by the reviewer.
    pub lines: Option<LineRange>,
    /// Before or after the change, if stated.
    pub side: Option<Side>,
    /// The defect in the reviewer's words; not empty.
    pub title: String,
    /// Why it matters.
    pub reason: Option<String>,
    /// The quoted code.
    pub evidence: Option<String>,
    /// Code that an answer in prose quotes in backticks, where it has no evidence: its forms have no field for a quote.
    pub quotes: Vec<String>,
    /// The suggested change in prose.
    pub suggestion: Option<String>,
    /// Replacement text for the claimed lines, ready to apply.
    pub replacement: Option<String>,
}

/// Why a response is not an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The response is empty.
    #[error("the answer is empty")]
    Empty,
    /// The response is something else, such as a refusal; asking again would give the same.
    #[error("the answer is not a review but {0}")]
    NotAReview(String),
    /// The response may be meant as a review but cannot be parsed.
    #[error("the answer cannot be read: {0}")]
    Unparsable(String),
}

impl NoAnswer {
    /// True when a second request that names the problem may succeed.
    #[must_use]
    pub fn is_worth_repairing(&self) -> bool {
        match self {
            Self::Empty | Self::Unparsable(_) => true,
            Self::NotAReview(_) => false,
        }
    }
}

/// The questions of a prompt besides the review itself, as far as they are known.
///
/// A line such as `C1: met – …` counts only when a criterion has that id: some reviewers number critical findings the same
/// way.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptQuestions<'a> {
    /// The acceptance criteria.
    pub criteria: &'a [Criterion],
    /// The number of findings of the last review; `None` when it is not known, and answers about any count.
    pub n_prior: Option<usize>,
}

/// Which questions an answer schema has besides the review itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asks {
    /// Acceptance criteria.
    pub criteria: bool,
    /// Findings of the last review.
    pub prior: bool,
}

/// Parses an answer in any form.
pub fn read(text: &str) -> Result<Answer, NoAnswer> {
    read_asked(text, PromptQuestions::default())
}

/// Parses an answer to a prompt with further questions.
pub fn read_asked(text: &str, asked: PromptQuestions<'_>) -> Result<Answer, NoAnswer> {
    read_wrapped(text, asked, 0).map(tag_characters::reveal)
}

/// Parses an answer from a tool call or structured output.
pub fn read_structured(value: &Value) -> Result<Answer, NoAnswer> {
    let node = lenient_json::of_value(value);
    let mut problems = Problems::default();
    let mut found = AnswerParts::default();
    json_answer::take(&node, &mut found, &mut problems);
    let broke_off = broke_off(&found, found.error.is_some(), "");
    if !found.is_answer() {
        return inner(found, broke_off, PromptQuestions::default(), 0, &mut problems);
    }
    if let Some(why) = broke_off {
        problems.add(why);
        found.cut = true;
    }
    let form = Form::Structured;
    PendingAnswer { form, found, problems }.conclude().map(tag_characters::reveal)
}

/// The JSON Schema of an answer, sent to models.
#[must_use]
pub fn schema(asks: Asks) -> Value {
    schema::schema(asks)
}

fn read_wrapped(text: &str, asked: PromptQuestions<'_>, depth: usize) -> Result<Answer, NoAnswer> {
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
    if let Some(answer) = own_markdown(text, asked) {
        return Ok(answer);
    }
    let text = without_thoughts(text);
    let mut problems = Problems::default();
    let json = find_json(text, asked, &mut problems);
    let mut in_prose = Problems::default();
    let prose = prose::read(&json.rest, asked, &mut in_prose);
    let says_nothing = !json.found.is_answer() && prose.claims.is_empty() && prose.decisions.is_empty();
    if says_nothing && !json.found.texts.is_empty() {
        let broke_off = json.broke_off.or_else(|| json.cut.then(|| "it was truncated".to_owned()));
        return inner(json.found, broke_off, asked, depth, &mut problems);
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
    found.prior.append(prose.prior, &mut problems);
    found.cut |= json.cut || prose.cut;
    let is_approved = found.decisions.contains(&Decision::Approved) && !found.decisions.contains(&Decision::Rejected);
    if is_approved && contrary::rejects(&json.rest) {
        found.decisions.push(Decision::Rejected);
    }
    if let Some(why) = &json.broke_off {
        problems.add(why);
        found.cut = true;
    }
    let approves = found.decisions.contains(&Decision::Approved) || found.names_findings;
    if found.claims.is_empty()
        && let Some(notice) = not_a_review::notice(text).or_else(|| not_a_review::excuse(text).filter(|_| approves))
    {
        return Err(NoAnswer::NotAReview(notice.to_owned()));
    }
    PendingAnswer { form, found, problems }.conclude().map_err(|none| explain(none, text))
}

/// Classifies a text that has neither a decision nor a finding.
fn explain(none: NoAnswer, text: &str) -> NoAnswer {
    match none {
        NoAnswer::Unparsable(_) => match not_a_review::guess(text) {
            Some(what) => NoAnswer::NotAReview(what.to_owned()),
            None => none,
        },
        none => none,
    }
}

/// A parsed answer before its decision and claims are checked for consistency.
struct PendingAnswer {
    form: Form,
    found: AnswerParts,
    problems: Problems,
}

impl PendingAnswer {
    fn conclude(mut self) -> Result<Answer, NoAnswer> {
        let echoes = self.found.claims.only_echoes();
        let (claims, dropped) = std::mem::take(&mut self.found.claims).finish(&mut self.problems);
        self.found.losses.extend(dropped);
        let approved = self.found.decisions.contains(&Decision::Approved);
        let takes_back = || self.found.summary.as_deref().is_some_and(contrary::rejects);
        let rejected = self.found.decisions.contains(&Decision::Rejected) || (approved && takes_back());
        let decision = match (approved, rejected) {
            (true, true) => {
                self.problems.add("it states both approved and rejected; treated as rejected");
                Some(Decision::Rejected)
            }
            (false, true) => Some(Decision::Rejected),
            (true, false) if self.found.cut || self.is_damaged() => {
                self.problems.add("the approval does not count because part of the answer is missing or damaged");
                None
            }
            (true, false) => Some(Decision::Approved),
            (false, false) => None,
        };
        if self.found.cut {
            self.problems.add("the answer was truncated");
        }
        let says_something = decision.is_some() || !claims.is_empty();
        let lists_nothing = self.found.names_findings && !self.found.cut && !self.is_damaged() && !echoes;
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
            prior: self.found.prior.finish(),
            losses: self.found.losses,
            problems: self.problems.finish(),
        })
    }

    /// True when part of the answer was lost or can be read in several ways.
    fn is_damaged(&self) -> bool {
        !self.found.losses.is_empty()
    }

    fn nothing(self, approved: bool, echoes: bool) -> NoAnswer {
        if let Some(error) = self.found.error {
            let said = if error.is_empty() { String::new() } else { format!(": {error}") };
            return NoAnswer::NotAReview(format!("an error message{said}"));
        }
        NoAnswer::Unparsable(match (self.found.cut || self.is_damaged(), approved) {
            (true, true) => "part of it is missing or damaged, so its approval does not count".to_owned(),
            (true, false) => "it was truncated before the first complete finding and decision".to_owned(),
            (false, _) if echoes => "it repeats the example of the prompt".to_owned(),
            (false, _) => "it has neither a decision nor a finding in any known form".to_owned(),
        })
    }
}

/// JSON found in a text, and the remaining text.
struct EmbeddedJson {
    form: Form,
    found: AnswerParts,
    rest: String,
    cut: bool,
    /// Why the stream or the completion around the answer did not end as it should.
    broke_off: Option<String>,
}

fn find_json(text: &str, asked: PromptQuestions<'_>, problems: &mut Problems) -> EmbeddedJson {
    // The evidence in such a line is code, which may end in an opening bracket.
    let is_statement = |line: &str| {
        prior::of_line(line, asked.n_prior).is_some() || criterion::of_line(line, asked.criteria).is_some()
    };
    let lenient_json::Documents { documents, is_exhausted, .. } = lenient_json::documents(text, is_statement);
    let mut all = AnswerParts::default();
    let mut losses = Losses::default();
    if is_exhausted {
        losses.add("is too tangled to be read to its end");
    }
    let mut ends_in_error = false;
    let (mut rest, mut at) = (String::new(), 0);
    let (mut cut, mut in_list) = (false, false);
    let mut form = Form::Json;
    for document in &documents {
        let mut found = AnswerParts { claims: Claims::after(&all.claims), ..AnswerParts::default() };
        // After a syntax error inside a list of findings, later objects still belong to the list.
        if in_list {
            json_answer::take_listed(&document.node, &mut found, problems)
        } else {
            json_answer::take(&document.node, &mut found, problems)
        }
        if is_example(&text[..document.span.start]) {
            problems.add("an approval in an example does not count");
            found.decisions.retain(|decision| *decision != Decision::Approved);
            (found.names_findings, found.lists_findings) = (false, false);
            found.texts.clear();
        }
        let is_answer = found.is_answer();
        found.cut &= document.end == End::Cut;
        let ends_text = document.span.end >= text.trim_end().len();
        cut |= document.end == End::Cut && (is_answer || ends_text);
        if is_answer {
            losses.of_document(document, &text[document.span.end..]);
        }
        for loss in std::mem::take(&mut found.losses) {
            losses.add(loss);
        }
        // An error that the program went on after, such as a lost connection, is not the end.
        ends_in_error = found.error.is_some() || (ends_in_error && !is_answer && found.texts.is_empty());
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
    let broke_off = broke_off(&all, ends_in_error, text);
    for loss in &losses.0 {
        problems.add(format!("the answer {loss}"));
    }
    all.losses = losses.0;
    EmbeddedJson { form, found: all, rest, cut, broke_off }
}

/// True when the text before a document calls it an example: `For example:`, `The format looks like this:`.
fn is_example(before: &str) -> bool {
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    let mut lines = before.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let above = lines.find(|line| !is_fence(line)).unwrap_or_default();
    let words = vocabulary::plain(above);
    let phrases = ["example", "for instance", "would look like", "looks like this", "format is", "expected format"];
    above.ends_with(':') && phrases.iter().any(|phrase| words.contains(phrase))
}

/// What was lost of an answer, each kind once.
#[derive(Default)]
struct Losses(Vec<String>);

impl Losses {
    fn add(&mut self, loss: impl Into<String>) {
        let loss = loss.into();
        if !self.0.contains(&loss) {
            self.0.push(loss);
        }
    }

    fn of_document(&mut self, document: &Document, after: &str) {
        if let Some(key) = &document.duplicate_key {
            self.add(format!("has the key `{}` twice in one object", draft::shown(key)));
        }
        if document.end == End::Broken {
            self.add("has JSON of which a part could not be parsed");
        }
        if document.guessed || goes_on(after) {
            self.add("has JSON that can be read in several ways");
        }
    }
}

/// Why a stream or a completion did not end as it should; `None` when it did, or when there is none.
fn broke_off(found: &AnswerParts, ends_in_error: bool, text: &str) -> Option<String> {
    if let Some(error) = found.error.as_ref().filter(|_| ends_in_error) {
        return Some(format!("it ends in an error: {error}"));
    }
    if let Some(reason) = &found.stopped {
        return Some(format!("the model stopped for the reason `{reason}`"));
    }
    let is_stream = found.is_stream || found.texts.iter().any(|text| text.is_piece);
    (is_stream && !found.finished && !text.contains("[DONE]")).then(|| "the stream has no end".to_owned())
}

/// True when JSON seems to continue after its last bracket, which means that it was misread.
fn goes_on(after: &str) -> bool {
    let after = after.trim_start();
    let more = after.strip_prefix(',').map(str::trim_start);
    after.starts_with([']', '}']) || more.is_some_and(|more| more.starts_with(['{', '[', '"']))
}

fn merge(all: &mut AnswerParts, found: AnswerParts, problems: &mut Problems) {
    all.criteria.append(found.criteria, problems);
    all.prior.append(found.prior, problems);
    all.claims.append(found.claims);
    all.decisions.extend(found.decisions);
    all.summary = all.summary.take().or(found.summary);
    all.lists_findings |= found.lists_findings;
    all.names_findings |= found.names_findings;
    all.cut |= found.cut;
    all.error = found.error.or(all.error.take());
    all.stopped = found.stopped.or(all.stopped.take());
    all.finished |= found.finished;
    all.is_stream |= found.is_stream;
    all.texts.extend(found.texts);
}

/// True for an answer with exactly the fields of the schema.
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
    let is_known = |name: &str| [schema::CRITERIA, schema::PRIOR].contains(&name) || schema::ANSWER.contains(&name);
    object.fields.iter().all(|(name, _)| is_known(name)) && list.items.iter().all(keeps)
}

/// Parses the texts of an envelope as one answer.
fn inner(
    found: AnswerParts,
    broke_off: Option<String>,
    asked: PromptQuestions<'_>,
    depth: usize,
    problems: &mut Problems,
) -> Result<Answer, NoAnswer> {
    let mut joined = String::new();
    let mut last: Option<&str> = None;
    for inner in &found.texts {
        // A stream often repeats its last message at the end.
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
        let error = PendingAnswer { form: Form::Json, found, problems: std::mem::take(problems) }.conclude();
        return error;
    }
    let read = read_wrapped(&joined, asked, depth + 1);
    match read {
        Ok(mut answer) => {
            if answer.form == Form::Structured {
                answer.form = Form::Json;
            }
            let Some(why) = broke_off else { return Ok(answer) };
            answer.truncated = true;
            if answer.decision == Some(Decision::Approved) {
                answer.decision = None;
                answer.problems.push("the approval does not count because part of the answer is missing".to_owned());
            }
            if answer.decision.is_none() && answer.claims.is_empty() {
                let why = format!("{why}, before the first complete finding and decision that counts");
                return Err(NoAnswer::Unparsable(why));
            }
            answer.problems.push(why);
            Ok(answer)
        }
        Err(none) => match found.error {
            Some(error) => Err(NoAnswer::NotAReview(format!("an error message: {error}"))),
            None => Err(none),
        },
    }
}

/// The text after the model's reasoning block.
fn without_thoughts(text: &str) -> &str {
    let start = text.trim_start();
    for (begin, end) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if start.starts_with(begin) {
            return start.split_once(end).map_or("", |(_, answer)| answer);
        }
    }
    text
}

/// Parses a review in tollgate's own Markdown format.
fn own_markdown(text: &str, asked: PromptQuestions<'_>) -> Option<Answer> {
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
        // Right is the default of the format, so it is not a statement of the reviewer.
        side: Some(finding.location.side).filter(|side| *side == Side::Left),
        title: finding.summary.as_str().to_owned(),
        reason: finding.reason,
        evidence: Some(finding.evidence).filter(|evidence| evidence != NOTHING_QUOTED),
        quotes: Vec::new(),
        suggestion: finding.suggestion,
        replacement: finding.fix.map(|fix| fix.replacement),
    });
    // The format has no place of its own for them.
    let mut prior = PriorAnswers::default();
    let stated =
        review.notes.iter().flat_map(|notes| notes.lines()).filter_map(|line| prior::of_line(line, asked.n_prior));
    stated.for_each(|answer| prior.take(answer, &mut Problems::default()));
    Some(Answer {
        decision,
        form: Form::Markdown,
        truncated: false,
        claims: claims.collect(),
        summary: review.notes,
        criteria: Vec::new(),
        prior: prior.finish(),
        losses: Vec::new(),
        problems: Vec::new(),
    })
}
