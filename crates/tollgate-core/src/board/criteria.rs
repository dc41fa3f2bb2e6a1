//! Extracts acceptance criteria from the description and the specification of a feature.
//!
//! ```text
//! Implement login with:                  C1 User registration endpoint
//! - User registration endpoint           C2 Passwords have 8 characters or more
//! - Passwords have 8 characters or more  C3 Errors must not show which part was wrong
//!
//! Errors must not show which part was wrong.
//! ```
//!
//! List items, sentences with `must` or `should`, and all text below a heading such as `Acceptance criteria` become
//! criteria. Code, quotes, comments, struck text and out-of-scope sections do not. The meaning of a sentence is not
//! analysed: a reviewer answers each criterion.

use std::collections::HashSet;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::board::Criterion;
use crate::fingerprint::normalise;
use crate::markdown;

mod sentence;

/// The most criteria of a feature.
pub const MAX_CRITERIA: usize = 50;
/// The most characters of one criterion.
pub const MAX_CHARS: usize = 300;
/// The most bytes of each text that are read.
const MAX_BYTES: usize = 256 * 1024;
/// The most characters of the lead sentence of a list that are put before each item: its end.
const MAX_LEAD_CHARS: usize = 150;
/// A heading or a label with more words than this is read as a sentence.
const MAX_LABEL_WORDS: usize = 6;

/// Phrases in headings below which all text is a criterion.
const REQUIRED: [&str; 11] = [
    "acceptance criteria",
    "acceptance criterion",
    "acceptance",
    "requirements",
    "requirement",
    "definition of done",
    "success criteria",
    "must have",
    "must haves",
    "expected behavior",
    "expected behaviour",
];
/// Phrases in headings below which no text is a criterion.
const OUT_OF_SCOPE: [&str; 14] = [
    "out of scope",
    "not in scope",
    "non goal",
    "non goals",
    "non requirements",
    "not required",
    "won t do",
    "future work",
    "open questions",
    "alternatives",
    "references",
    "resources",
    "links",
    "steps to reproduce",
];

/// Extracts the criteria of a description and a specification, without duplicates.
#[must_use]
pub fn read(description: &str, spec: &str) -> Vec<Criterion> {
    let mut known = HashSet::new();
    let mut criteria = Vec::new();
    for text in [description, spec] {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut reader = Reader::default();
        let options = Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for event in Parser::new_ext(&markdown::flatten(text), options) {
            reader.take(event);
        }
        reader.end_block();
        for text in reader.criteria {
            let key = normalise(&text);
            if criteria.len() < MAX_CRITERIA && !key.is_empty() && known.insert(key) {
                criteria.push(Criterion { id: format!("C{}", criteria.len() + 1), text: cut(&text) });
            }
        }
    }
    criteria
}

/// The number in the name of a criterion: 12 for `C12`.
#[must_use]
pub fn number(id: &str) -> Option<u32> {
    let digits = id.trim().strip_prefix(['C', 'c'])?;
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_CHARS - 1).collect();
    format!("{}…", head.trim_end())
}

/// How text below a heading is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Section {
    /// List items and requirement sentences are criteria.
    #[default]
    Plain,
    /// All text is a criterion.
    Required,
    /// No text is a criterion.
    OutOfScope,
}

/// An open list item.
#[derive(Debug, Default)]
struct Item {
    /// Its lead for the nested list: `The form must not:`.
    lead: Option<String>,
    /// True when the item is a criterion itself.
    is_criterion: bool,
}

#[derive(Debug, Default)]
struct Reader {
    criteria: Vec<String>,
    /// The open headings: their level and how text below them is read.
    sections: Vec<(HeadingLevel, Section)>,
    items: Vec<Item>,
    /// The lead sentence before a list, which applies to each item.
    lead: Option<String>,
    /// True when the paragraph before a list puts the list out of scope.
    is_list_out_of_scope: bool,
    is_heading: Option<HeadingLevel>,
    /// How many quotes, blocks of code, pictures and struck texts are open.
    n_hidden: usize,
    n_links: usize,
    text: String,
    /// True when the text has words outside links.
    is_more_than_links: bool,
    n_strong: usize,
    /// True when the text has words that are not bold.
    is_more_than_bold: bool,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push(&text),
            Event::Code(code) => self.push(&format!("`{}`", code.replace('`', "'"))),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => self.end_block(),
            Event::TaskListMarker(_) | Event::Html(_) | Event::InlineHtml(_) => {}
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::TableHead => {
                self.end_block();
                self.n_hidden += 1;
            }
            Tag::Image { .. } | Tag::Strikethrough => self.n_hidden += 1,
            Tag::Link { .. } => self.n_links += 1,
            Tag::Strong => self.n_strong += 1,
            Tag::Heading { level, .. } => {
                self.end_block();
                self.is_heading = Some(*level);
            }
            Tag::List(_) | Tag::Paragraph | Tag::HtmlBlock | Tag::TableRow => self.end_block(),
            Tag::TableCell if !self.text.is_empty() => self.push(" – "),
            Tag::Item => {
                self.end_block();
                self.items.push(Item::default());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) | TagEnd::CodeBlock | TagEnd::TableHead | TagEnd::Image | TagEnd::Strikethrough => {
                self.n_hidden = self.n_hidden.saturating_sub(1);
            }
            TagEnd::Strong => self.n_strong = self.n_strong.saturating_sub(1),
            TagEnd::Link => self.n_links = self.n_links.saturating_sub(1),
            TagEnd::Item => {
                self.end_block();
                self.items.pop();
            }
            TagEnd::List(_) => {
                self.end_block();
                if self.items.is_empty() {
                    (self.lead, self.is_list_out_of_scope) = (None, false);
                }
            }
            TagEnd::TableRow => self.row(),
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if self.n_hidden == 0 {
            self.text.push_str(text);
            let has_words = text.contains(char::is_alphanumeric);
            let is_address = text.split_whitespace().all(|word| word.contains("://"));
            self.is_more_than_links |= has_words && self.n_links == 0 && !is_address;
            self.is_more_than_bold |= has_words && self.n_strong == 0;
        }
    }

    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text);
        let is_more_than_links = std::mem::take(&mut self.is_more_than_links);
        let is_bold = !std::mem::take(&mut self.is_more_than_bold);
        let heading = self.is_heading.take();
        let text = text.trim();
        if let Some(level) = heading {
            self.heading(level, text);
        } else if is_more_than_links && !self.items.is_empty() {
            self.item(text);
        } else if is_more_than_links {
            self.paragraph(text, is_bold);
        }
    }

    fn heading(&mut self, level: HeadingLevel, text: &str) {
        (self.lead, self.is_list_out_of_scope) = (None, false);
        self.sections.retain(|(open, _)| *open < level);
        let around = self.section();
        self.sections.push((level, named(text).unwrap_or(around)));
    }

    fn section(&self) -> Section {
        self.sections.last().map_or(Section::Plain, |(_, section)| *section)
    }

    fn item(&mut self, text: &str) {
        if self.section() == Section::OutOfScope || self.is_list_out_of_scope {
            return;
        }
        let (text, is_lead) = (sentence::joined(text), text.ends_with(':'));
        let leads: Vec<&str> = self
            .lead
            .iter()
            .chain(self.items.iter().filter_map(|item| item.lead.as_ref()))
            .map(String::as_str)
            .collect();
        let whole = leads.into_iter().chain([text.as_str()]).collect::<Vec<_>>().join(" ");
        let Some(item) = self.items.last_mut() else { return };
        if is_lead && !item.is_criterion {
            item.lead = Some(end_of(&text));
        } else if !item.is_criterion {
            item.is_criterion = true;
            self.criteria.push(whole);
        } else {
            // Further paragraphs of an item explain it; only requirement sentences count.
            self.criteria.extend(sentence::requirements(&text));
        }
    }

    fn paragraph(&mut self, text: &str, is_bold: bool) {
        (self.lead, self.is_list_out_of_scope) = (None, false);
        let label = if is_bold || text.ends_with(':') { named(text) } else { None };
        if label.is_some() {
            self.is_list_out_of_scope = label == Some(Section::OutOfScope);
            return;
        }
        let text = match text.ends_with(':').then(|| sentence::last(text)) {
            Some((before, lead)) => {
                let applies_to_items = sentence::is_requirement(lead) || sentence::is_negation(lead);
                self.lead = applies_to_items.then(|| end_of(&sentence::joined(lead)));
                before
            }
            None => text,
        };
        match self.section() {
            Section::Plain => self.criteria.extend(sentence::requirements(text)),
            Section::Required => self.criteria.extend(sentence::all(text)),
            Section::OutOfScope => {}
        }
    }

    /// A table row is a criterion only below a requirements heading: most tables hold other data.
    fn row(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.section() == Section::Required && std::mem::take(&mut self.is_more_than_links) {
            self.criteria.push(sentence::joined(&text));
        }
    }
}

/// The end of a lead sentence, where a `not` stands.
fn end_of(lead: &str) -> String {
    match lead.char_indices().rev().nth(MAX_LEAD_CHARS) {
        Some((start, first)) => format!("…{}", &lead[start + first.len_utf8()..]),
        None => lead.to_owned(),
    }
}

/// How text below a heading of these words is read; `None` for an ordinary heading.
fn named(heading: &str) -> Option<Section> {
    let words = normalise(heading);
    let n_words = words.split(' ').count();
    let has = |phrase: &&str| format!(" {words} ").contains(&format!(" {phrase} "));
    if words.is_empty() || n_words > MAX_LABEL_WORDS {
        return None;
    }
    if OUT_OF_SCOPE.iter().any(&has) {
        return Some(Section::OutOfScope);
    }
    REQUIRED.iter().any(has).then_some(Section::Required)
}

#[cfg(test)]
mod tests;
