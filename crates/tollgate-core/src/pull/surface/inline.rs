//! The comment about one finding, at its lines or its file.
//!
//! ````markdown
//! **Critical: Input is run as code**
//!
//! Whoever sends the request runs what they like.
//!
//! ```suggestion
//! parse(input)
//! ```
//!
//! <sub>`js-eval` · if this is wrong, reply `@tollgate dismiss` and why</sub>
//!
//! <!-- tollgate:finding fp-0123456789abcdef-01234567 -->
//! ````

use crate::comment::Label;
use crate::diff::FileDiff;
use crate::finding::{Finding, Fix, LineRange, Side};
use crate::language::Language;
use crate::pull::link;
use crate::pull::mark::Mark;
use crate::pull::place::{self, Placed, Places};
use crate::pull::post::{Inline, Span};
use crate::pull::surface::{Input, Keyed};
use crate::report::escape::{literal, shown};
use crate::report::markdown::escape::{code_span, visible_lines};
use crate::report::markdown::fence::{self, Kind};
use crate::report::prose;
use crate::visible::is_hidden;

/// The most characters of what is said about a finding, of the code it is about, and of advice.
const MAX_REASON: usize = 6000;
const MAX_EVIDENCE: usize = 2000;
const MAX_SUGGESTION: usize = 4000;
/// The most bytes of a replacement that can be committed from a comment.
const MAX_FIX: usize = 16 << 10;
/// The tag of a block that a host offers to commit.
const OFFER: &str = "suggestion";

/// Writes comments, one after the other: what one offers to replace, no other does.
pub(super) struct Writer<'a> {
    input: &'a Input<'a>,
    places: &'a Places<'a>,
    offered: Vec<(String, LineRange)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(input: &'a Input<'a>, places: &'a Places<'a>) -> Self {
        Self { input, places, offered: Vec::new() }
    }

    /// Writes the comment about a finding that has a file in the diff.
    pub(super) fn write(&mut self, keyed: Keyed<'_>, placed: Placed) -> Option<Inline> {
        let Keyed { finding, key } = keyed;
        let file = self.places.file(&finding.location)?;
        let path = place::path(file)?;
        let offered = self.offer(finding, file, path, placed);
        let at = match (placed, &offered) {
            (_, Some((lines, _))) => Some(Span { start: lines.start(), line: lines.end(), side: Side::Right }),
            (Placed::At(span) | Placed::Near(span), None) => Some(span),
            (Placed::File | Placed::Nowhere, None) => None,
        };
        let parts = [
            Some(title(finding)),
            self.about(finding, placed),
            finding.reason.as_deref().map(|reason| prose::render(&cut(reason, MAX_REASON))),
            is_elsewhere(placed).then(|| evidence(finding)),
            advice(finding),
            match offered {
                Some((_, block)) => Some(block),
                None => finding.fix.as_ref().map(|fix| replacement(finding, fix)),
            },
            Some(self.footer(finding)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect();
        let body = Mark::Finding { key }.below(&parts.join("\n\n"));
        Some(Inline { path: path.to_owned(), at, body, key: key.to_string() })
    }

    /// The replacement that people can commit from the comment, and the lines it replaces.
    fn offer(&mut self, finding: &Finding, file: &FileDiff, path: &str, placed: Placed) -> Option<(LineRange, String)> {
        let fix = finding.fix.as_ref()?;
        let location = &finding.location;
        let is_there = matches!(placed, Placed::At(_) | Placed::Near(_));
        if !is_there || location.side != Side::Right || !fix.lines.overlaps(location.lines) {
            return None;
        }
        let is_taken = |(other, lines): &(String, LineRange)| other == path && lines.overlaps(fix.lines);
        let block = committable(file, fix).filter(|_| !self.offered.iter().any(is_taken))?;
        self.offered.push((path.to_owned(), fix.lines));
        Some((fix.lines, block))
    }

    /// Says what the comment is about where it cannot stand there.
    fn about(&self, finding: &Finding, placed: Placed) -> Option<String> {
        let location = &finding.location;
        let to_place = || {
            let url = (self.input.url_of)(&location.file, Some(location.lines), location.side);
            link::to_place(location, &url)
        };
        match placed {
            Placed::At(span) if span.line == location.lines.end() => None,
            Placed::At(_) => Some(format!("About all of {}.", to_place())),
            Placed::Near(_) => Some(format!("About {}, where no comment can stand.", to_place())),
            Placed::File | Placed::Nowhere => Some(format!("About {}.", to_place())),
        }
    }

    fn footer(&self, finding: &Finding) -> String {
        let rule = finding.origin.rule.as_deref().map(|rule| shown(rule, 100)).filter(|rule| !rule.is_empty());
        let rule = rule.map_or_else(String::new, |rule| format!("{} · ", code_span(&rule)));
        let dismiss = code_span(&format!("@{} dismiss", self.input.mention));
        format!("<sub>{rule}if this is wrong, reply {dismiss} and why</sub>")
    }
}

impl Inline {
    /// The same for its file as a whole, or for a text elsewhere.
    ///
    /// A host commits what is offered over the very lines of the comment, whatever they are; so what could be committed
    /// where it stood is only shown, with the lines it is for.
    #[must_use]
    pub fn at_file(&self) -> Self {
        let body = self.at.map_or_else(|| self.body.clone(), |at| withdrawn(&self.body, at, &self.path));
        Self { at: None, body, ..self.clone() }
    }
}

/// A text in which nothing is offered to be committed.
fn withdrawn(body: &str, at: Span, path: &str) -> String {
    let Some(lines) = LineRange::new(at.start, at.line) else { return body.to_owned() };
    let language = Language::of_path(path.as_bytes()).map_or("", Language::fence);
    let texts: Vec<&str> = body.split('\n').collect();
    let kinds = fence::kinds(&texts);
    let mut shown: Vec<String> = Vec::with_capacity(texts.len());
    let mut is_nothing = false;
    for (index, text) in texts.iter().enumerate() {
        let fence = text.trim_end().strip_suffix(OFFER).filter(|_| matches!(kinds[index], Kind::Open(_)));
        match fence {
            Some(_) if kinds.get(index + 1) == Some(&Kind::Close) => {
                shown.push(could_go(lines));
                is_nothing = true;
            }
            Some(fence) => shown.extend([could_become(lines), String::new(), format!("{fence}{language}")]),
            None if is_nothing => is_nothing = false,
            None => shown.push((*text).to_owned()),
        }
    }
    shown.join("\n")
}

/// `**Critical: Input is run as code**`.
pub(super) fn title(finding: &Finding) -> String {
    let label = Label::of(finding.severity).map_or("Praise", Label::heading);
    format!("**{label}: {}**", literal(&shown(finding.summary.as_str(), 200)))
}

fn is_elsewhere(placed: Placed) -> bool {
    match placed {
        Placed::At(_) => false,
        Placed::Near(_) | Placed::File | Placed::Nowhere => true,
    }
}

fn evidence(finding: &Finding) -> String {
    match finding.evidence.trim_matches('\n') {
        evidence if evidence.trim().is_empty() => String::new(),
        evidence => code(finding, &cut(evidence, MAX_EVIDENCE)),
    }
}

fn code(finding: &Finding, text: &str) -> String {
    let language = Language::of_path(finding.location.file.as_str().as_bytes());
    prose::code_block(&visible_lines(text), language.map_or("", Language::fence))
}

/// What a reviewer says is to be done, unless that is nothing but the replacement.
fn advice(finding: &Finding) -> Option<String> {
    let text = finding.suggestion.as_deref()?.trim();
    let is_fix = finding.fix.as_ref().is_some_and(|fix| fix.replacement.trim() == text);
    let text = Some(cut(text, MAX_SUGGESTION)).filter(|_| !is_fix)?;
    Some(if prose::is_code(&text) { code(finding, &text) } else { prose::render(&text) })
}

/// A replacement that is only shown.
fn replacement(finding: &Finding, fix: &Fix) -> String {
    match fix.replacement.trim_matches('\n') {
        "" => could_go(fix.lines),
        text => format!("{}\n\n{}", could_become(fix.lines), code(finding, &cut(text, MAX_SUGGESTION))),
    }
}

fn could_go(lines: LineRange) -> String {
    format!("{} could go.", named(lines))
}

fn could_become(lines: LineRange) -> String {
    format!("{} could become:", named(lines))
}

/// `Line 3` or `Lines 3-5`.
fn named(lines: LineRange) -> String {
    format!("{} {lines}", if lines.start() == lines.end() { "Line" } else { "Lines" })
}

/// The block that a host offers to commit: it replaces exactly the lines of its comment.
///
/// Hosts refuse one that changes nothing. Line breaks are taken from the block, so they must be those of the file.
/// Code with what cannot be seen, or with what a program would take for a command, is only shown.
fn committable(file: &FileDiff, fix: &Fix) -> Option<String> {
    let there = place::texts(file, fix.lines)?;
    let text = fix.replacement.replace("\r\n", "\n");
    let is_harmless = !text.contains(is_hidden) && !text.lines().any(prose::begins_command);
    if text.len() > MAX_FIX || !is_harmless {
        return None;
    }
    let without_return = |line: &&[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    let is_same =
        !text.is_empty() && there.iter().map(without_return).eq(text.split('\n').map(|line| line.as_bytes().to_vec()));
    if is_same {
        return None;
    }
    let end = if there.iter().all(|line| line.ends_with(b"\r")) { "\r\n" } else { "\n" };
    let fence = fence::around(&text);
    // Nothing at all deletes the lines.
    let inside = if text.is_empty() { String::new() } else { format!("{}{end}", text.replace('\n', end)) };
    Some(format!("{fence}{OFFER}{end}{inside}{fence}"))
}

/// A text within so many characters, cut between words.
fn cut(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let head = &text[..end];
    let head = head.rfind(char::is_whitespace).filter(|space| *space > end / 2).map_or(head, |space| &head[..space]);
    format!("{} …", head.trim_end())
}
