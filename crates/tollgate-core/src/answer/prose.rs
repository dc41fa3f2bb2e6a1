//! Parses answers in prose: a list of issues, review Markdown, a pull request comment, or a mixture.
//!
//! ```text
//! **[REJECTED]**
//!
//! ### Issues Found
//! - **[CODE]** - High: No check of the length
//!   - File: src/a.rs
//!   - Line: 12
//!
//! ### Summary
//! One thing to repair.
//! ```
//!
//! One pass handles all formats, because reviewers mix them; the formats that occurred determine the form.

use crate::answer::bot_comments::{folded_file, is_footer, is_tag, linked, place_line};
use crate::answer::criterion::{self, CriteriaAnswers};
use crate::answer::draft::{Claims, Draft, Problems, one_line};
use crate::answer::field_label::{self, Label};
use crate::answer::finding_header::{self, HeaderContext, Shape};
use crate::answer::json_answer::denies_findings;
use crate::answer::markdown_lines::{self, Kind, Line, heading, marker};
use crate::answer::prior::{self, PriorAnswers};
use crate::answer::section::{self, Section, found_issues, pseudo_heading, severity_line};
use crate::answer::{Decision, Form, PromptQuestions, decision, location, table, vocabulary};

/// The parts of an answer found in prose.
#[derive(Debug)]
pub(super) struct Prose {
    pub(super) form: Form,
    pub(super) decisions: Vec<Decision>,
    pub(super) claims: Claims,
    pub(super) summary: Option<String>,
    pub(super) criteria: CriteriaAnswers,
    pub(super) prior: PriorAnswers,
    /// True when a code block was not closed.
    pub(super) cut: bool,
}

/// Parses a text that answers a prompt.
pub(super) fn read(text: &str, asked: PromptQuestions<'_>, problems: &mut Problems) -> Prose {
    let PromptQuestions { criteria, n_prior } = asked;
    let (lines, cut) = markdown_lines::scan(text);
    let mut reader = Reader::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if let Some(answer) = criterion::of_line(line.text, criteria).filter(|_| line.kind == Kind::Text) {
            // An open finding does not continue after a table.
            reader.close();
            reader.criteria.take(answer, problems);
            at += 1;
            continue;
        }
        if let Some(answer) = prior::of_line(line.text, n_prior).filter(|_| line.kind == Kind::Text) {
            reader.close();
            reader.prior.take(answer, problems);
            at += 1;
            continue;
        }
        at += match table::read(&lines[at..]).filter(|_| line.kind == Kind::Text) {
            Some((drafts, n_lines)) => {
                if !drafts.is_empty() {
                    reader.close();
                }
                reader.done.extend(drafts.into_iter().map(|draft| (draft, Shape::Item)));
                let rows = || lines[at..at + n_lines].iter();
                let met = rows().filter_map(|row| criterion::of_line(row.text, criteria));
                met.for_each(|answer| reader.criteria.take(answer, problems));
                let stated = rows().filter_map(|row| prior::of_line(row.text, n_prior));
                stated.for_each(|answer| reader.prior.take(answer, problems));
                n_lines
            }
            None => {
                reader.line(line);
                1
            }
        };
    }
    reader.close();
    reader.finish(cut, problems)
}

/// The field to which text is appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Reason,
    Evidence,
    Suggestion,
    Replacement,
    Nowhere,
}

/// The finding being parsed.
#[derive(Debug)]
struct OpenFinding {
    draft: Draft,
    shape: Shape,
    indent: usize,
    field: Field,
    /// True when the last line was empty.
    blank: bool,
    /// The language and lines of the code block being parsed.
    code: Option<(String, Vec<String>)>,
}

#[derive(Debug, Default)]
struct Reader {
    section: Section,
    /// The severity of the enclosing heading.
    severity: Option<String>,
    /// The file of the enclosing fold.
    file: Option<String>,
    /// A heading that may be the title of a finding.
    pending: Option<String>,
    open: Option<OpenFinding>,
    /// A code block before any finding; some bots put the location there.
    stray: Option<Vec<String>>,
    done: Vec<(Draft, Shape)>,
    decisions: Vec<Decision>,
    beside: Option<String>,
    summary: Vec<String>,
    criteria: CriteriaAnswers,
    prior: PriorAnswers,
    is_markdown: bool,
    is_comment: bool,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) {
        match line.kind {
            Kind::Open => self.code_begins(line),
            Kind::Code if self.open.as_ref().is_some_and(|open| open.code.is_some()) => self.code(line),
            Kind::Code if self.stray.is_some() => self.stray.get_or_insert_default().push(line.raw.to_owned()),
            Kind::Close => self.code_ends(),
            Kind::Code => {}
            Kind::Hidden => self.hidden(line.text),
            Kind::Quote => self.quote(line),
            Kind::Text if line.text.is_empty() => {
                if let Some(open) = &mut self.open {
                    open.blank = true;
                }
                if self.section == Section::Summary && self.open.is_none() {
                    self.summary.push(String::new());
                }
            }
            Kind::Text => self.text(line),
        }
    }

    fn text(&mut self, line: &Line<'_>) {
        let stated = if line.indent <= 3 { decision::of_line(line.text) } else { None };
        if let Some(stated) = stated {
            self.close();
            self.decide(stated);
            self.section = if self.section == Section::Verdict { Section::Quiet } else { self.section };
        } else if let Some((level, text)) = heading(line.text) {
            self.heading(level, text);
        } else if let Some(draft) = finding_header::badge(line.text) {
            self.begin(draft, Shape::Remark, line.indent);
        } else if let Some(title) = pseudo_heading(line) {
            self.heading(0, title);
        } else if matches!(line.text, "---" | "***" | "___" | "===") {
            self.close();
        } else if self.section == Section::Verdict && line.indent <= 3 {
            self.verdict(line.text);
        } else if !self.head(line) && !self.label(line) && !self.item(line) {
            self.body(line);
        }
    }

    fn decide(&mut self, stated: decision::StatedDecision<'_>) {
        self.decisions.push(stated.decision);
        if self.beside.is_none() && !vocabulary::plain(stated.trailing).is_empty() {
            self.beside = Some(one_line(stated.trailing));
        }
        if self.section == Section::Start && self.beside.is_none() {
            self.section = Section::Summary;
        }
    }

    fn verdict(&mut self, text: &str) {
        if let Some(stated) = decision::of_verdict(text) {
            self.decide(stated);
        }
        self.section = Section::Quiet;
    }

    fn heading(&mut self, level: usize, text: &str) {
        let words = vocabulary::plain(text);
        if level > 0
            && let Some(draft) =
                finding_header::of_heading(text).filter(|_| self.section != Section::Quiet || level > 2)
        {
            self.begin(draft, Shape::Heading, 0);
            return;
        }
        if let Some((section, severity)) = section::begins(text) {
            self.close();
            (self.section, self.severity, self.pending) = (section, severity, None);
            self.is_comment |= matches!(words.as_str(), "what changed" | "verdict update" | "observations");
            self.is_markdown |= matches!(words.as_str(), "files reviewed" | "reviewer notes");
            return;
        }
        if level == 0 {
            self.bold_line(text);
            return;
        }
        // A numbered heading in the list of issues is a finding; other headings may be.
        let title = marker(text)
            .or_else(|| text.strip_prefix("Issue ").and_then(|rest| rest.split_once(": ")).map(|(_, title)| title));
        match title.filter(|_| self.section == Section::Issues) {
            Some(title) => {
                let mut draft = Draft::default();
                finding_header::set_title(&mut draft, title);
                self.begin(draft, Shape::Heading, 0);
            }
            None => {
                self.close();
                self.pending = Some(one_line(text));
                if level <= 2 && self.section != Section::Start {
                    (self.section, self.severity) = (Section::Quiet, None);
                }
            }
        }
    }

    /// A bold line: the title of the open finding or of the next one.
    fn bold_line(&mut self, text: &str) {
        match &mut self.open {
            Some(open) if open.draft.title.is_none() => open.draft.title = Some(one_line(text)),
            Some(open) if open.shape == Shape::Item && open.blank => {
                self.close();
                self.pending = Some(one_line(text));
            }
            Some(open) => Draft::join(&mut open.draft.reason, text, "\n"),
            None => self.pending = Some(one_line(text)),
        }
    }

    /// The first line of a finding.
    fn head(&mut self, line: &Line<'_>) -> bool {
        if is_settled(line.text) {
            self.close();
            return true;
        }
        if let Some(name) = folded_file(line.text) {
            self.close();
            self.file = Some(name.to_owned());
            return true;
        }
        if let Some(draft) = self.in_file(line.text).or_else(|| linked(line.text)) {
            self.begin(draft, Shape::Remark, line.indent);
            return true;
        }
        let nested =
            self.open.as_ref().is_some_and(|open| line.indent > open.indent + 1 || open.shape == Shape::Heading);
        if nested && (field_label::read(line.text).is_some() || marker(line.text).is_none()) {
            return false;
        }
        let around = HeaderContext {
            issues: self.section == Section::Issues && !nested,
            graded: self.severity.is_some(),
            quiet: self.section == Section::Quiet || nested,
        };
        match finding_header::read(line.text, around) {
            // A remark nested in a finding with a heading is part of its explanation.
            Some((draft, _)) if nested && draft.severity.is_none() => false,
            Some((draft, _)) if draft.title.as_deref().is_some_and(denies_findings) => {
                self.close();
                true
            }
            Some((draft, shape)) => {
                self.begin(draft, shape, line.indent);
                true
            }
            None => false,
        }
    }

    /// `` `12-15`: **title** `` below the name of a file.
    fn in_file(&self, text: &str) -> Option<Draft> {
        let file = self.file.clone()?;
        let (lines, title) = text.strip_prefix('`')?.split_once("`:")?;
        let lines = location::parse_lines(lines)?;
        let title = Some(one_line(title)).filter(|title| !title.is_empty());
        let draft = title.as_deref().and_then(|title| {
            finding_header::read(title, HeaderContext { issues: false, graded: false, quiet: false })
        });
        let draft = draft.map_or(Draft { title, ..Draft::default() }, |(draft, _)| draft);
        Some(Draft { file: Some(file), lines: Some(lines), ..draft })
    }

    fn begin(&mut self, mut draft: Draft, shape: Shape, indent: usize) {
        self.close();
        self.pending = None;
        if draft.severity.is_none() {
            draft.severity.clone_from(&self.severity);
        }
        self.open = Some(OpenFinding { draft, shape, indent, field: Field::Reason, blank: false, code: None });
    }

    fn label(&mut self, line: &Line<'_>) -> bool {
        let Some((label, value)) = field_label::read(line.text) else { return false };
        if self.open.is_none() {
            if label == Label::Reason && self.section == Section::Summary {
                self.summary.push(value.to_owned());
                return true;
            }
            let Some(title) = self.pending.take().filter(|_| label.begins_finding()) else { return false };
            if denies_findings(&title) {
                return false;
            }
            let mut draft = Draft::default();
            finding_header::set_title(&mut draft, &title);
            self.begin(draft, Shape::Heading, 0);
        }
        let Some(open) = &mut self.open else { return false };
        open.blank = false;
        open.field = match label {
            Label::Reason => Field::Reason,
            Label::Evidence => Field::Evidence,
            Label::Suggestion => Field::Suggestion,
            Label::Replacement => Field::Replacement,
            Label::ClaimedLocation | Label::Lines | Label::Side | Label::Severity | Label::Category | Label::Title => {
                Field::Reason
            }
            Label::Other => Field::Nowhere,
        };
        if !value.is_empty() {
            field_label::set(&mut open.draft, label, value);
        }
        true
    }

    /// A list item without tags in the list of issues.
    fn item(&mut self, line: &Line<'_>) -> bool {
        let Some(text) = marker(line.text).filter(|_| self.section == Section::Issues) else { return false };
        let inside = |open: &OpenFinding| open.shape != Shape::Item || line.indent > open.indent;
        if self.open.as_ref().is_some_and(inside) || line.indent > 3 || denies_findings(text) {
            return false;
        }
        let mut draft = Draft::default();
        // `**Title**: explanation`
        let bold = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
        match bold.filter(|(title, _)| vocabulary::plain(title).contains(' ')) {
            Some((title, rest)) => {
                finding_header::set_title(&mut draft, title);
                let rest = rest.trim_start_matches([':', '-', '–', '—', ' ']);
                draft.reason = (!rest.is_empty()).then(|| rest.to_owned());
            }
            None => finding_header::set_title(&mut draft, text),
        }
        self.begin(draft, Shape::Item, line.indent);
        true
    }

    fn body(&mut self, line: &Line<'_>) {
        if let Some(open) = self.open.as_mut().filter(|open| open.draft.file.is_none())
            && let Some(place) = place_line(line.text)
        {
            open.draft.set_place(place);
            return;
        }
        let ends = |open: &OpenFinding| open.shape == Shape::Item && open.blank && line.indent <= open.indent;
        if self.open.as_ref().is_some_and(ends) {
            self.close();
        }
        let Some(open) = &mut self.open else {
            if let Some(severity) = severity_line(line.text)
                && let Some(title) = self.pending.take()
            {
                self.begin(
                    Draft { title: Some(title), severity: Some(severity), ..Draft::default() },
                    Shape::Heading,
                    0,
                );
            } else if found_issues(line.text) {
                self.section = Section::Issues;
            } else if self.section == Section::Summary && !is_tag(line.text) {
                self.summary.push(line.text.to_owned());
            }
            return;
        };
        if let Some(severity) = severity_line(line.text).filter(|_| open.draft.severity.is_none()) {
            open.draft.severity = Some(severity);
            return;
        }
        if is_tag(line.text) || is_footer(line.text) {
            return;
        }
        let between = if open.blank { "\n\n" } else { "\n" };
        open.blank = false;
        let text = line.text;
        match open.field {
            Field::Reason => Draft::join(&mut open.draft.reason, text, between),
            Field::Suggestion => Draft::join(&mut open.draft.suggestion, text, between),
            // Text after a line of evidence is explanation again, unless it continues directly.
            Field::Evidence if between == "\n" => Draft::join(&mut open.draft.evidence, text, between),
            Field::Replacement if between == "\n" => Draft::join(&mut open.draft.replacement, text, between),
            Field::Evidence | Field::Replacement => {
                open.field = Field::Reason;
                Draft::join(&mut open.draft.reason, text, between);
            }
            Field::Nowhere => {}
        }
    }

    /// Quoted text is part of the explanation.
    fn quote(&mut self, line: &Line<'_>) {
        let text = line.text.trim_start_matches(['>', ' ']);
        if let Some(open) = self.open.as_mut().filter(|open| open.field == Field::Evidence) {
            Draft::join(&mut open.draft.evidence, text, "\n");
        } else if let Some(open) = &mut self.open {
            Draft::join(&mut open.draft.reason, line.text, "\n");
        }
    }

    /// Some bots put locations into HTML comments.
    fn hidden(&mut self, text: &str) {
        let last = self.open.as_mut().map(|open| &mut open.draft).or(self.done.last_mut().map(|(draft, _)| draft));
        if let Some(draft) = last
            && text.contains("#L")
            && draft.file.is_none()
        {
            draft.set_place(text.trim_start_matches("<!--").trim_end_matches("-->"));
        }
    }

    fn code_begins(&mut self, line: &Line<'_>) {
        if let Some(open) = &mut self.open {
            // An unindented code block after an item still belongs to it.
            let info = marker(line.text).unwrap_or(line.text).trim_start_matches(['`', '~']);
            let language = info.split_whitespace().next().unwrap_or_default().to_lowercase();
            open.code = Some((language, Vec::new()));
            open.blank = false;
        } else {
            self.stray = Some(Vec::new());
        }
    }

    fn code(&mut self, line: &Line<'_>) {
        if let Some((_, lines)) = self.open.as_mut().and_then(|open| open.code.as_mut()) {
            lines.push(line.raw.to_owned());
        }
    }

    fn code_ends(&mut self) {
        if let Some(open) = &mut self.open
            && let Some((language, lines)) = open.code.take()
        {
            take_code(open, &language, &dedent(&lines), true);
        }
        let code = self.stray.take().map(|lines| dedent(&lines)).unwrap_or_default();
        if let Some(place) = field_label::prompt_place(&code).filter(|place| place.file.is_some()) {
            let said = code.split_once("Comment:\n").map(|(_, said)| said.to_owned());
            let title = self.pending.take();
            let draft = Draft { title, reason: said, file: place.file, lines: place.lines, ..Draft::default() };
            self.done.push((draft, Shape::Remark));
        }
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if let Some((language, lines)) = open.code.take() {
            take_code(&mut open, &language, &dedent(&lines), false);
        }
        let mentioned =
            || [&open.draft.title, &open.draft.reason].into_iter().flatten().find_map(|text| location::mentioned(text));
        if open.draft.file.is_none()
            && let Some(place) = mentioned()
        {
            (open.draft.file, open.draft.lines) = (place.file, place.lines);
        }
        self.done.push((open.draft, open.shape));
    }

    fn finish(self, cut: bool, problems: &mut Problems) -> Prose {
        let has = |wanted: Shape| self.done.iter().any(|(_, shape)| *shape == wanted);
        let form = if has(Shape::Item) {
            Form::Text
        } else if has(Shape::Heading) || (self.is_markdown && !has(Shape::Remark)) {
            Form::Markdown
        } else if has(Shape::Remark) || self.is_comment {
            Form::Comment
        } else {
            Form::Text
        };
        let mut claims = Claims::default();
        for (mut draft, _) in self.done {
            if draft.evidence.is_none() {
                draft.quotes =
                    [&draft.title, &draft.reason].into_iter().flatten().flat_map(|text| quotes(text)).collect();
            }
            claims.take(draft, problems);
        }
        let summary = self.summary.join("\n");
        let summary = Some(summary.trim().to_owned())
            .filter(|summary| !summary.is_empty() && !vocabulary::is_placeholder(summary));
        let (decisions, criteria, prior) = (self.decisions, self.criteria, self.prior);
        Prose { form, decisions, claims, summary: summary.or(self.beside), criteria, prior, cut }
    }
}

/// The most bytes of prose that are searched for quotes.
const MAX_PROSE: usize = 8 << 10;
/// The most quotes of one text.
const MAX_QUOTES: usize = 16;

/// Code between backticks in prose. An identifier alone is not a quote: identifiers are mentioned for many reasons.
fn quotes(prose: &str) -> impl Iterator<Item = String> {
    let is_code = |piece: &&str| piece.contains(['(', '=', '[', '<', '>', '+', '"', '\'', '{', '!', '&', '|', ' ']);
    let mut end = prose.len().min(MAX_PROSE);
    while !prose.is_char_boundary(end) {
        end -= 1;
    }
    let pieces = prose[..end].split('`').skip(1).step_by(2);
    pieces.filter(|piece| !piece.trim().is_empty()).filter(is_code).take(MAX_QUOTES).map(str::to_owned)
}

/// Assigns a code block to evidence, suggestion or replacement.
fn take_code(open: &mut OpenFinding, language: &str, code: &str, whole: bool) {
    if let Some(place) = field_label::prompt_place(code) {
        if open.draft.file.is_none() {
            (open.draft.file, open.draft.lines) = (place.file, place.lines.or(open.draft.lines));
        }
        return;
    }
    let draft = &mut open.draft;
    match open.field {
        // A truncated replacement must never be applied.
        _ if language == "suggestion" => {
            draft.replacement = whole.then(|| code.to_owned()).or(draft.replacement.take())
        }
        Field::Replacement => draft.replacement = whole.then(|| code.to_owned()).or(draft.replacement.take()),
        Field::Suggestion => Draft::join(&mut draft.suggestion, code, "\n"),
        Field::Evidence => Draft::join(&mut draft.evidence, code, "\n"),
        Field::Nowhere => {}
        Field::Reason if language == "diff" || draft.evidence.is_some() => {
            if draft.suggestion.is_none() {
                draft.suggestion = Some(code.to_owned());
            }
        }
        Field::Reason => draft.evidence = Some(code.to_owned()),
    }
    open.field = if open.field == Field::Nowhere { Field::Nowhere } else { Field::Reason };
}

/// Removes the common indentation.
fn dedent(lines: &[String]) -> String {
    let indent = |line: &String| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(shared..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// True for praise and for resolved findings: `:white_check_mark: [MAJOR] … -- resolved`.
fn is_settled(text: &str) -> bool {
    let text = marker(text).unwrap_or(text);
    text.starts_with(":white_check_mark:") || text.starts_with('✅') || text.ends_with(" -- resolved")
}
