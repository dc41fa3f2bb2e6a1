//! What a pull request's body says outside of code, quotes, comments and empty boxes.
//!
//! ```text
//! ## Breaking changes        a heading, answered by what follows:
//! None                       nothing is declared
//!
//! - [ ] Breaking change      an empty box of a template says nothing
//! - [x] Breaking change      a ticked one does
//! ```
//!
//! The body is read by a Markdown parser, and only when a phrase may be in it.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::intent::breaking::{self, Phrase};
use crate::markdown::{self, html};

/// The most of a body that is read; the hosts allow less.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// The excerpt of the first declaration of a breaking change.
pub(crate) fn find(body: &str) -> Option<String> {
    let body = cut(body);
    if breaking::may_declare(body) { find_in(&blocks(&markdown::flatten(body))) } else { None }
}

fn find_in(blocks: &[Block]) -> Option<String> {
    (0..blocks.len()).find_map(|index| {
        let block = &blocks[index];
        let phrases = breaking::phrases(&block.text, &block.code);
        let asked = asked(block, &phrases);
        let mut declared = phrases.iter().filter(|phrase| !phrase.negated).peekable();
        let plain = declared.next_if(|phrase| phrase.range.start < asked);
        let found = plain.or_else(|| declared.next().filter(|_| says_yes(blocks, index, &phrases)))?;
        Some(breaking::excerpt(&block.text, &found.range))
    })
}

/// The part of a body that is read.
pub(crate) fn cut(body: &str) -> &str {
    &body[..body.floor_char_boundary(MAX_BYTES)]
}

/// One piece of text: a paragraph, a heading, the line of a list.
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
    /// The line of a ticked box: it is an answer itself.
    Ticked,
}

/// From where on a block only asks: it is a label such as `Breaking changes:`, or it ends with a question.
fn asked(block: &Block, phrases: &[Phrase]) -> usize {
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

/// True for a phrase that stands alone, but for a word or two before it: `:boom: Breaking changes:`.
fn is_label(block: &Block, phrases: &[Phrase]) -> bool {
    let [phrase] = phrases else { return false };
    let (before, after) = (&block.text[..phrase.range.start], &block.text[phrase.range.end..]);
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    !after.contains(char::is_alphanumeric) && before.split_whitespace().filter(is_word).count() <= 2
}

/// True unless what follows a question or a label says that nothing breaks, or says nothing.
fn says_yes(blocks: &[Block], index: usize, phrases: &[Phrase]) -> bool {
    let block = &blocks[index];
    let below = |other: &&Block| match (block.kind, other.kind) {
        (Kind::Heading(ours), Kind::Heading(theirs)) => theirs > ours,
        (_, Kind::Heading(_)) => false,
        _ => true,
    };
    let next = blocks.get(index + 1);
    let Some(answer) = next.filter(below) else {
        // A question is no declaration, and neither is the heading of a template that was left empty.
        let is_empty_section = matches!(block.kind, Kind::Heading(_)) && next.is_some() && is_label(block, phrases);
        return !block.text.contains('?') && !is_empty_section;
    };
    let answers = breaking::phrases(&answer.text, &answer.code);
    let denied = !answers.is_empty() && answers.iter().all(|phrase| phrase.negated);
    // Boxes without the mark of a list are lines of text.
    let mut lines = answer.text.lines().filter(|line| !breaking::is_unticked(line));
    let said = lines.clone().find(|line| strip_tick(line).len() < line.len()).or_else(|| lines.next());
    !denied && said.is_some_and(|line| !breaking::is_none(strip_tick(line)))
}

fn strip_tick(line: &str) -> &str {
    ["[x]", "[X]", "☑"].iter().find_map(|tick| line.trim_start().strip_prefix(tick)).unwrap_or(line)
}

/// What can be read in a body, in order.
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
    /// How many quotes, blocks of code and images are open.
    n_hidden: usize,
    /// For each open item of a list, whether its box is empty, ticked or not there.
    items: Vec<Option<bool>>,
    /// What is shown of the block of HTML that is being read.
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
            // None of these is asked for.
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
                self.push_shown(&text);
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
            self.push_shown(text);
        }
    }

    fn push_shown(&mut self, text: &str) {
        // What is below an empty box belongs to it, unless it has a box of its own.
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
