//! Finds the line of a comment that mentions the bot.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::markdown;
use crate::markdown::html::Markup;

/// The most bytes of a comment that are read; forges allow less.
const MAX_BYTES: usize = 256 * 1024;

/// The text behind the mention in the first line of plain text that begins with it.
pub(super) fn addressed(body: &str, mention: &str) -> Option<String> {
    let body = &body[..body.floor_char_boundary(MAX_BYTES)];
    // A fast path: every comment is checked, and most do not mention the bot.
    if mention.is_empty() || !names(body, mention) {
        return None;
    }
    let body = markdown::flatten(body);
    let mut reader = Reader::new(&body, mention);
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    Parser::new_ext(&body, options).into_offset_iter().find_map(|(event, range)| reader.take(&event, range))
}

/// True when the text contains the mention.
fn names(body: &str, mention: &str) -> bool {
    memchr::memchr_iter(b'@', body.as_bytes()).any(|at| after_name(&body[at..], mention).is_some())
}

/// The text behind `@name` or `@name[bot]`; `None` for a longer name.
fn after_name<'a>(text: &'a str, mention: &str) -> Option<&'a str> {
    let (name, rest) = text.strip_prefix('@')?.split_at_checked(mention.len())?;
    if !name.eq_ignore_ascii_case(mention) {
        return None;
    }
    let tag = rest.get(..5).filter(|tag| tag.eq_ignore_ascii_case("[bot]"));
    let rest = &rest[tag.map_or(0, str::len)..];
    let ends = rest.chars().next().is_none_or(|next| next.is_whitespace() || matches!(next, ',' | ':'));
    ends.then_some(rest)
}

/// Searches paragraph by paragraph.
struct Reader<'a> {
    body: &'a str,
    mention: &'a str,
    /// The open quotes, lists, tables and footnotes.
    n_inside: usize,
    /// The span of the current paragraph.
    paragraph: Option<Range<usize>>,
    /// The spans of the paragraph that are code, HTML, or hidden by HTML.
    not_text: Vec<Range<usize>>,
    markup: Markup,
    hidden_from: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(body: &'a str, mention: &'a str) -> Self {
        let (not_text, markup) = (Vec::new(), Markup::default());
        Self { body, mention, n_inside: 0, paragraph: None, not_text, markup, hidden_from: None }
    }

    fn take(&mut self, event: &Event<'_>, range: Range<usize>) -> Option<String> {
        match event {
            Event::Start(Tag::Paragraph) if self.n_inside == 0 => {
                self.paragraph = Some(range);
                self.not_text.clear();
            }
            Event::End(TagEnd::Paragraph) => {
                if let Some(hidden) = self.hidden_from.take() {
                    self.not_text.push(hidden..range.end);
                }
                self.markup.end_block();
                return self.paragraph.take().and_then(|paragraph| self.find(paragraph));
            }
            // Inside a hidden span, code would break the order of the spans.
            Event::Code(_) if self.hidden_from.is_none() => self.not_text.push(range),
            Event::InlineHtml(html) => {
                self.markup.take_inline(html);
                match self.hidden_from {
                    None if self.markup.hides() => self.hidden_from = Some(range.start),
                    Some(hidden) if !self.markup.hides() => {
                        self.not_text.push(hidden..range.end);
                        self.hidden_from = None;
                    }
                    None => self.not_text.push(range),
                    Some(_) => {}
                }
            }
            Event::Start(tag) if is_container(tag) => self.n_inside += 1,
            Event::End(end) if closes_container(*end) => self.n_inside = self.n_inside.saturating_sub(1),
            _ => {}
        }
        None
    }

    /// The first line of a paragraph that begins with the mention.
    fn find(&self, paragraph: Range<usize>) -> Option<String> {
        let mut not_text = self.not_text.iter().peekable();
        let mut start = paragraph.start;
        for line in self.body[paragraph].split_inclusive('\n') {
            let begins = start + (line.len() - line.trim_start().len());
            let end = start + line.trim_end().len();
            start += line.len();
            while not_text.next_if(|hidden| hidden.end <= begins).is_some() {}
            if not_text.peek().is_some_and(|hidden| hidden.start <= begins) {
                continue;
            }
            if let Some(rest) = self.body.get(begins..end).and_then(|line| after_name(line, self.mention)) {
                return Some(self.without_html(end - rest.len()..end));
            }
        }
        None
    }

    /// A part of the text without HTML comments and tags; code stays.
    fn without_html(&self, range: Range<usize>) -> String {
        let mut text = String::new();
        let mut at = range.start;
        for hidden in &self.not_text {
            if hidden.start >= range.end || hidden.end <= at || !self.body[hidden.start..].starts_with('<') {
                continue;
            }
            text.push_str(&self.body[at..hidden.start.max(at)]);
            text.push(' ');
            at = hidden.end.min(range.end);
        }
        text.push_str(&self.body[at..range.end]);
        text
    }
}

fn is_container(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::BlockQuote(_) | Tag::List(_) | Tag::Table(_) | Tag::FootnoteDefinition(_))
}

fn closes_container(end: TagEnd) -> bool {
    matches!(end, TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Table | TagEnd::FootnoteDefinition)
}
