//! Inline comments: one finding at its lines or its file, with a committable suggestion.
//!
//! ````markdown
//! **Critical: Input is run as code**
//!
//! Attackers run arbitrary code.
//!
//! ```suggestion
//! parse(input)
//! ```
//!
//! <sub>f-3c1e07d2 · `js-eval` · false positive? reply `@tollgate dismiss` with a reason</sub>
//!
//! <!-- tollgate:finding fp-0123456789abcdef-01234567 -->
//! ````

use crate::comment::Label;
use crate::diff::FileDiff;
use crate::finding::{Finding, Fix, LineRange, Side};
use crate::finding_key::FindingKey;
use crate::language::Language;
use crate::markdown::escape::{code_span, literal, shown, visible_lines};
use crate::markdown::fence::{self, FenceKind};
use crate::markdown::prose;
use crate::pull::anchor::{self, Anchor, AnchorIndex};
use crate::pull::inline_comment::{InlineComment, LineSpan};
use crate::pull::link;
use crate::pull::marker::Marker;
use crate::pull::surface::{Keyed, SurfaceInput};
use crate::visible::is_hidden;

/// The most characters of a reason, of quoted evidence and of a suggestion.
const MAX_REASON: usize = 6000;
const MAX_EVIDENCE: usize = 2000;
const MAX_SUGGESTION: usize = 4000;
/// The most bytes of a committable suggestion.
const MAX_FIX: usize = 16 << 10;
/// The fence tag of a committable suggestion.
const OFFER: &str = "suggestion";

/// Writes inline comments; committable suggestions never overlap.
pub(super) struct Writer<'a> {
    input: &'a SurfaceInput<'a>,
    places: &'a AnchorIndex<'a>,
    offered: Vec<(String, LineRange)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(input: &'a SurfaceInput<'a>, places: &'a AnchorIndex<'a>) -> Self {
        Self { input, places, offered: Vec::new() }
    }

    /// Writes the comment about a finding that has a file in the diff.
    pub(super) fn write(&mut self, keyed: Keyed<'_>, placed: Anchor) -> Option<InlineComment> {
        let Keyed { finding, key } = keyed;
        let file = self.places.file(&finding.location)?;
        let path = anchor::path(file)?;
        let offered = self.offer(finding, file, path, placed);
        let at = match (placed, &offered) {
            (_, Some((lines, _))) => Some(LineSpan { start: lines.start(), line: lines.end(), side: Side::Right }),
            (Anchor::Exact(span) | Anchor::Nearest(span), None) => Some(span),
            (Anchor::File | Anchor::Outside, None) => None,
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
            Some(self.footer(finding, key)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect();
        let body = Marker::Finding { key }.below(&parts.join("\n\n"));
        Some(InlineComment { path: path.to_owned(), at, body, key: key.to_string() })
    }

    /// The committable suggestion and the lines it replaces.
    fn offer(&mut self, finding: &Finding, file: &FileDiff, path: &str, placed: Anchor) -> Option<(LineRange, String)> {
        let fix = finding.fix.as_ref()?;
        let location = &finding.location;
        let is_there = matches!(placed, Anchor::Exact(_) | Anchor::Nearest(_));
        if !is_there || location.side != Side::Right || !fix.lines.overlaps(location.lines) {
            return None;
        }
        let is_taken = |(other, lines): &(String, LineRange)| other == path && lines.overlaps(fix.lines);
        let block = committable(file, fix).filter(|_| !self.offered.iter().any(is_taken))?;
        self.offered.push((path.to_owned(), fix.lines));
        Some((fix.lines, block))
    }

    /// Names the location of the finding when the comment is anchored elsewhere.
    fn about(&self, finding: &Finding, placed: Anchor) -> Option<String> {
        let location = &finding.location;
        let to_location = || {
            let url = (self.input.url_of)(&location.file, Some(location.lines), location.side);
            link::to_location(location, &url)
        };
        match placed {
            Anchor::Exact(span) if span.line == location.lines.end() => None,
            Anchor::Exact(_) => Some(format!("Applies to {}.", to_location())),
            Anchor::Nearest(_) => Some(format!("Applies to {}, which is outside the diff.", to_location())),
            Anchor::File | Anchor::Outside => Some(format!("Applies to {}.", to_location())),
        }
    }

    /// The comment stays while the numbers of findings change with each push, so its id is the short one.
    fn footer(&self, finding: &Finding, key: FindingKey) -> String {
        let rule = finding.origin.rule.as_deref().map(|rule| shown(rule, 100)).filter(|rule| !rule.is_empty());
        let dismiss = self.input.mention.map(|mention| code_span(&format!("@{mention} dismiss")));
        let parts = [
            Some(key.short()),
            rule.map(|rule| code_span(&rule)),
            dismiss.map(|dismiss| format!("false positive? reply {dismiss} with a reason")),
        ];
        format!("<sub>{}</sub>", parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
    }
}

impl InlineComment {
    /// The comment for its whole file, or for a text elsewhere.
    ///
    /// A forge applies a suggestion to the lines of its comment, so a moved one is shown as plain code with its lines.
    #[must_use]
    pub fn at_file(&self) -> Self {
        let body = self.at.map_or_else(|| self.body.clone(), |at| withdrawn(&self.body, at, &self.path));
        Self { at: None, body, ..self.clone() }
    }
}

/// A text with its suggestions turned into plain code.
fn withdrawn(body: &str, at: LineSpan, path: &str) -> String {
    let Some(lines) = LineRange::new(at.start, at.line) else { return body.to_owned() };
    let language = Language::of_path(path.as_bytes()).map_or("", Language::fence);
    let texts: Vec<&str> = body.split('\n').collect();
    let kinds = fence::kinds(&texts);
    let mut shown: Vec<String> = Vec::with_capacity(texts.len());
    let mut is_nothing = false;
    for (index, text) in texts.iter().enumerate() {
        let fence = text.trim_end().strip_suffix(OFFER).filter(|_| matches!(kinds[index], FenceKind::Open(_)));
        match fence {
            Some(_) if kinds.get(index + 1) == Some(&FenceKind::Close) => {
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

fn is_elsewhere(placed: Anchor) -> bool {
    match placed {
        Anchor::Exact(_) => false,
        Anchor::Nearest(_) | Anchor::File | Anchor::Outside => true,
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

/// The suggestion of a reviewer, unless it is just the replacement.
fn advice(finding: &Finding) -> Option<String> {
    let text = finding.suggestion.as_deref()?.trim();
    let is_fix = finding.fix.as_ref().is_some_and(|fix| fix.replacement.trim() == text);
    let text = Some(cut(text, MAX_SUGGESTION)).filter(|_| !is_fix)?;
    Some(if prose::is_code(&text) { code(finding, &text) } else { prose::render(&text) })
}

/// A replacement that cannot be committed.
fn replacement(finding: &Finding, fix: &Fix) -> String {
    match fix.replacement.trim_matches('\n') {
        "" => could_go(fix.lines),
        text => format!("{}\n\n{}", could_become(fix.lines), code(finding, &cut(text, MAX_SUGGESTION))),
    }
}

fn could_go(lines: LineRange) -> String {
    format!("Suggested fix: delete {}.", named(lines))
}

fn could_become(lines: LineRange) -> String {
    format!("Suggested fix for {}:", named(lines))
}

/// `line 3` or `lines 3-5`.
fn named(lines: LineRange) -> String {
    format!("{} {lines}", if lines.start() == lines.end() { "line" } else { "lines" })
}

/// A suggestion block, which replaces exactly the lines of its comment.
///
/// Forges refuse one without changes. Line breaks are taken from the block, so they must match the file. Code with
/// invisible characters or bot commands is not committable.
fn committable(file: &FileDiff, fix: &Fix) -> Option<String> {
    let there = anchor::texts(file, fix.lines)?;
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
    // An empty block deletes the lines.
    let inside = if text.is_empty() { String::new() } else { format!("{}{end}", text.replace('\n', end)) };
    Some(format!("{fence}{OFFER}{end}{inside}{fence}"))
}

/// Truncates a text between words.
fn cut(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let head = &text[..end];
    let head = head.rfind(char::is_whitespace).filter(|space| *space > end / 2).map_or(head, |space| &head[..space]);
    format!("{} …", head.trim_end())
}
