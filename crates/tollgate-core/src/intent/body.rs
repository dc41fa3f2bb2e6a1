//! Finds breaking changes declared in the body of a pull request.
//!
//! ```text
//! ## Breaking changes        a heading, answered by the next block:
//! None                       nothing is declared
//!
//! - [ ] Breaking change      an empty box of a template says nothing
//! - [x] Breaking change      a ticked one does
//! ```
//!
//! Code, quotes, comments and unticked boxes do not count. The body goes through a Markdown parser only when it may contain
//! a phrase.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::intent::breaking::{self, Phrase};
use crate::markdown::{self, html};

/// The parsed prefix of a body, in bytes; GitHub allows less.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// Finds the first declaration of a breaking change; returns an excerpt.
pub(crate) fn find(body: &str) -> Option<String> {
    let body = cut(body);
    if breaking::may_declare(body) { find_in(&blocks(&markdown::flatten(body))) } else { None }
}

fn find_in(blocks: &[Block]) -> Option<String> {
    (0..blocks.len()).find_map(|index| {
        let block = &blocks[index];
        let phrases = breaking::phrases(&block.text, &block.code);
        let question_start = question_start(block, &phrases);
        let mut declared = phrases.iter().filter(|phrase| !phrase.negated).peekable();
        let plain = declared.next_if(|phrase| phrase.range.start < question_start);
        let found = plain.or_else(|| declared.next().filter(|_| is_confirmed(blocks, index, &phrases)))?;
        Some(breaking::excerpt(&block.text, &found.range))
    })
}

/// The prefix of a body that is parsed.
pub(crate) fn cut(body: &str) -> &str {
    &body[..body.floor_char_boundary(MAX_BYTES)]
}

/// A block of text: a paragraph, a heading, or a list item.
#[derive(Debug, Default)]
struct Block {
    text: String,
    code: Vec<Range<usize>>,
    kind: Kind,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[default]
    Text,
    Heading(HeadingLevel),
    /// A ticked box, which is an answer by itself.
    Ticked,
}

/// The offset from which a block is only a question: a label such as `Breaking changes:`, or a sentence with `?`.
fn question_start(block: &Block, phrases: &[Phrase]) -> usize {
    let nowhere = block.text.len();
    if block.kind == Kind::Ticked || phrases.is_empty() {
        return nowhere;
    }
    let text = block.text.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?');
    if let Some(question) = text.strip_suffix('?') {
        return question.rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    }
    let asks = matches!(block.kind, Kind::Heading(_)) || is_label(block, phrases);
    if asks { 0 } else { nowhere }
}

/// True for a phrase on its own, with at most two words before it: `:boom: Breaking changes:`.
fn is_label(block: &Block, phrases: &[Phrase]) -> bool {
    let [phrase] = phrases else { return false };
    let (before, after) = (&block.text[..phrase.range.start], &block.text[phrase.range.end..]);
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    !after.contains(char::is_alphanumeric) && before.split_whitespace().filter(is_word).count() <= 2
}

/// False when the block after a question or a label is empty or denies a breaking change.
fn is_confirmed(blocks: &[Block], index: usize, phrases: &[Phrase]) -> bool {
    let block = &blocks[index];
    let below = |other: &&Block| match (block.kind, other.kind) {
        (Kind::Heading(ours), Kind::Heading(theirs)) => theirs > ours,
        (_, Kind::Heading(_)) => false,
        _ => true,
    };
    let next = blocks.get(index + 1);
    let Some(answer) = next.filter(below) else {
        // Neither a question nor an empty template section is a declaration.
        let is_empty_section = matches!(block.kind, Kind::Heading(_)) && next.is_some() && is_label(block, phrases);
        return !block.text.contains('?') && !is_empty_section;
    };
    let answers = breaking::phrases(&answer.text, &answer.code);
    let denied = !answers.is_empty() && answers.iter().all(|phrase| phrase.negated);
    // Boxes without a list marker are lines of text.
    let mut lines = answer.text.lines().filter(|line| !breaking::is_unticked(line));
    let said = lines.clone().find(|line| strip_tick(line).len() < line.len()).or_else(|| lines.next());
    !denied && said.is_some_and(|line| !breaking::is_none(strip_tick(line)))
}

fn strip_tick(line: &str) -> &str {
    ["[x]", "[X]", "☑"].iter().find_map(|tick| line.trim_start().strip_prefix(tick)).unwrap_or(line)
}

/// The rendered text blocks of a body, in order.
fn blocks(body: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    for event in Parser::new_ext(body, Options::ENABLE_TASKLISTS) {
        reader.take(event);
    }
    reader.end_block();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    block: Block,
    /// The number of open quotes, code blocks and images.
    n_hidden: usize,
    /// For each open list item, whether its box is ticked; `None` without a box.
    items: Vec<Option<bool>>,
    /// The rendered text of the current HTML block.
    html: String,
    markup: html::Markup,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push(&text),
            Event::Code(text) => {
                let start = self.block.text.len();
                self.push(&text);
                self.block.code.push(start..self.block.text.len());
            }
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Html(line) => self.markup.take_line(&line, &mut self.html),
            Event::InlineHtml(html) => self.markup.take_inline(&html),
            Event::TaskListMarker(ticked) => self.tick(ticked),
            Event::Rule => self.end_block(),
            // These extensions are not enabled.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::BlockQuote(_) | Tag::CodeBlock(_) => {
                self.end_block();
                self.n_hidden += 1;
            }
            Tag::Image { .. } => self.n_hidden += 1,
            Tag::Heading { level, .. } => {
                self.end_block();
                self.block.kind = Kind::Heading(*level);
            }
            Tag::Item => {
                self.end_block();
                self.items.push(None);
            }
            Tag::Paragraph | Tag::List(_) | Tag::HtmlBlock => self.end_block(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) | TagEnd::CodeBlock => self.n_hidden = self.n_hidden.saturating_sub(1),
            TagEnd::Image => self.n_hidden = self.n_hidden.saturating_sub(1),
            TagEnd::Item => {
                self.end_block();
                self.items.pop();
            }
            TagEnd::HtmlBlock => {
                let text = std::mem::take(&mut self.html);
                self.push_visible(&text);
                self.end_block();
            }
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::List(_) => self.end_block(),
            _ => {}
        }
    }

    fn tick(&mut self, ticked: bool) {
        if let Some(item) = self.items.last_mut() {
            *item = Some(ticked);
        }
    }

    fn push(&mut self, text: &str) {
        if !self.markup.hides() {
            self.push_visible(text);
        }
    }

    fn push_visible(&mut self, text: &str) {
        // Content below an unticked box belongs to it, unless it has a box of its own.
        let ticked = self.items.iter().rev().find_map(|item| *item);
        if self.n_hidden > 0 || ticked == Some(false) {
            return;
        }
        if self.items.last() == Some(&Some(true)) {
            self.block.kind = Kind::Ticked;
        }
        self.block.text.push_str(text);
    }

    fn end_block(&mut self) {
        self.markup.end_block();
        let block = std::mem::take(&mut self.block);
        if !block.text.trim().is_empty() {
            self.blocks.push(block);
        }
    }
}

#[cfg(test)]
mod tests;
