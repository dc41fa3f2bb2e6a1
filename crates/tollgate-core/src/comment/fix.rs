//! Repairs comments without changing their meaning: blank lines, section order, empty sections.

use crate::comment::section::{Need, Page, Section, template};
use crate::comment::tree::Tree;
use crate::comment::{BYTE_ORDER_MARK, CheckedComment, Problem, check, fitting};
use crate::markdown;

/// A repaired comment, which is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedComment {
    /// The comment; unchanged bytes when nothing was repaired.
    pub text: String,
    /// Human-readable descriptions of the repairs.
    pub done: Vec<String>,
}

/// Repairs a comment.
///
/// The result satisfies every rule. A comment that cannot be repaired without a change of meaning is refused with all of
/// its violations.
pub fn fix(text: &str, bot: &str) -> Result<FixedComment, Vec<Problem>> {
    let CheckedComment { errors, .. } = check(text, bot);
    if errors.is_empty() {
        return Ok(FixedComment { text: text.to_owned(), done: Vec::new() });
    }
    let mut done = Vec::new();
    let plain = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let (mark, text) = text.split_at(text.len() - plain.len());
    // Only part of the text was checked, so the offsets are not those of the original.
    if fitting(text) < text.len() || markdown::flatten(text) != text {
        return Err(errors);
    }
    let mut fixed = with_blank_lines(text);
    if fixed != text {
        done.push("put blank lines between HTML and Markdown".to_owned());
    }
    fixed = without_empty_sections(&fixed, bot, &mut done);
    fixed = in_order(&fixed, bot, &mut done);
    if check(&fixed, bot).is_valid() { Ok(FixedComment { text: format!("{mark}{fixed}"), done }) } else { Err(errors) }
}

/// Inserts blank lines between HTML and Markdown that follows it directly.
pub(super) fn with_blank_lines(text: &str) -> String {
    let mut spaced = text.to_owned();
    // A line break can turn text into another HTML block, so repeat until nothing changes.
    for _ in 0..8 {
        let tree = Tree::parse(&spaced);
        if tree.swallowed.is_empty() {
            break;
        }
        let line_end = line_end(text);
        let mut next = String::with_capacity(spaced.len() + tree.swallowed.len() * 4);
        let mut copied = 0;
        for swallowed in &tree.swallowed {
            let at = swallowed.start;
            let line_start = tree.line_start(at);
            let begins_line = spaced[line_start..at].trim().is_empty();
            let place = if begins_line { line_start } else { at };
            next.push_str(&spaced[copied..place]);
            next.push_str(&line_end.repeat(if begins_line { 1 } else { 2 }));
            copied = place;
        }
        next.push_str(&spaced[copied..]);
        spaced = next;
    }
    spaced
}

/// Maps line numbers of the text with inserted blank lines to the original ones.
pub(super) fn line_mapper(text: &str, spaced: &str) -> impl Fn(usize) -> usize {
    let (mut at, mut line) = (0, 1);
    let mut map = vec![1, 1];
    // Only line breaks were inserted, so a byte that differs from the text is one of them.
    for byte in spaced.bytes() {
        let goes_on = text.as_bytes().get(at) == Some(&byte);
        at += usize::from(goes_on);
        line += usize::from(goes_on && byte == b'\n');
        if byte == b'\n' {
            map.push(line);
        }
    }
    move |number| map.get(number).copied().unwrap_or(line)
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn without_empty_sections(text: &str, bot: &str, done: &mut Vec<String>) -> String {
    let tree = Tree::parse(text);
    let Some(page) = Page::find(&tree, bot) else { return text.to_owned() };
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    for (index, section) in page.sections.iter().enumerate() {
        let need = section.position.map(|position| template(page.kind)[position].1);
        if matches!(need, Some(Need::Optional | Need::Delta)) && section.is_empty(&tree, true) {
            let (start, end) = span(&tree, &page, index);
            kept.push_str(&text[copied..start]);
            copied = end;
            done.push(format!("left out the empty section `{}`", section.name));
        }
    }
    kept + &text[copied..]
}

fn in_order(text: &str, bot: &str, done: &mut Vec<String>) -> String {
    let tree = Tree::parse(text);
    let Some(page) = Page::find(&tree, bot) else { return text.to_owned() };
    let positions: Vec<usize> = page.sections.iter().filter_map(|section| section.position).collect();
    if positions.len() < page.sections.len() || positions.is_sorted() {
        return text.to_owned();
    }
    let spans: Vec<(usize, usize)> = (0..page.sections.len()).map(|index| span(&tree, &page, index)).collect();
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&index| positions[index]);
    let line_end = line_end(text);
    let mut moved = text[..spans[0].0].to_owned();
    for index in order {
        let section = text[spans[index].0..spans[index].1].trim_end();
        moved.push_str(section);
        moved.push_str(&line_end.repeat(2));
    }
    moved.push_str(&text[spans[spans.len() - 1].1..]);
    let names: Vec<&str> = page.sections.iter().map(|section: &Section| section.name.as_str()).collect();
    done.push(format!("put the sections in order, they were {}", names.join(", ")));
    moved
}

/// The byte range of a section.
fn span(tree: &Tree<'_>, page: &Page, index: usize) -> (usize, usize) {
    let start = tree.line_start(page.sections[index].start);
    let end = page.details.and_then(|details| tree.details[details].end).unwrap_or(tree.source.len());
    let end = match page.sections.get(index + 1) {
        Some(next) => tree.line_start(next.start),
        // The closing tag may follow text on the same line.
        None if tree.source[tree.line_start(end)..end].trim().is_empty() => tree.line_start(end),
        None => end,
    };
    (start, end.max(start))
}
