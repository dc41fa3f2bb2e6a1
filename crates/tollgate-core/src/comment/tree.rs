//! The Markdown tree of a comment: headings, texts and collapsed blocks with their offsets.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::comment::html::{self, Token};

/// A parsed comment.
pub(super) struct Tree<'a> {
    pub(super) source: &'a str,
    /// The rendered blocks, in order.
    pub(super) leaves: Vec<Leaf<'a>>,
    /// The `<details>` elements, in the order in which they begin.
    pub(super) details: Vec<Details>,
    /// The `<summary>` elements.
    pub(super) summaries: Vec<Summary>,
    /// Offsets of unmatched `</details>`.
    pub(super) stray: Vec<usize>,
    /// Markdown directly after HTML, which is parsed as HTML.
    pub(super) swallowed: Vec<Swallowed>,
    /// The offset of each line.
    line_starts: Vec<usize>,
}

/// A block without nested blocks.
pub(super) struct Leaf<'a> {
    pub(super) kind: LeafKind,
    pub(super) start: usize,
    /// True inside a quote or a footnote.
    pub(super) quoted: bool,
    /// The outermost enclosing list item.
    pub(super) item: Option<Item>,
    /// The innermost enclosing `<details>`.
    pub(super) details: Option<usize>,
    /// The lines; none for code.
    pub(super) lines: Vec<Line<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    Heading(u8),
    Text,
    Code,
    /// HTML text or tags, and any other rendered content.
    Other,
}

/// A list item, by its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) start: usize,
    pub(super) checkbox: bool,
}

/// A line of text, as source and as rendered text.
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) source: &'a str,
    pub(super) text: String,
    /// The offsets of bold text.
    pub(super) bold: Vec<usize>,
}

/// A `<details>` element.
pub(super) struct Details {
    pub(super) parent: Option<usize>,
    pub(super) start: usize,
    /// The offset of its `</details>`.
    pub(super) end: Option<usize>,
    /// The enclosing quote, item or footnote.
    container: usize,
}

/// A `<summary>` element.
pub(super) struct Summary {
    pub(super) start: usize,
    pub(super) text: String,
    pub(super) details: Option<usize>,
    /// True at the top level: not in a quote, a list or a footnote.
    pub(super) at_top: bool,
}

/// Markdown that is parsed as HTML.
pub(super) struct Swallowed {
    pub(super) start: usize,
    /// True when it follows a `</summary>`, false after another tag of a collapsed block.
    pub(super) after_summary: bool,
}

impl<'a> Tree<'a> {
    pub(super) fn parse(source: &'a str) -> Self {
        let mut reader = Reader::new(source);
        for (event, range) in Parser::new_ext(source, github()).into_offset_iter() {
            reader.take(event, range);
        }
        reader.finish()
    }

    /// The line number of an offset, from 1.
    pub(super) fn line_number(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// The start of the line of an offset.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.line_starts[self.line_number(at) - 1]
    }

    /// True when an offset is inside a `<details>`; an unclosed one extends to the end.
    pub(super) fn is_inside(&self, at: usize, details: usize) -> bool {
        let details = &self.details[details];
        at >= details.start && details.end.is_none_or(|end| at <= end)
    }
}

/// The Markdown extensions of GitHub.
fn github() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
}

/// Builds the tree from parser events.
struct Reader<'a> {
    tree: Tree<'a>,
    /// The open quotes, items and footnotes: their offsets, and whether each is an item.
    containers: Vec<(usize, bool)>,
    /// The open `<details>` elements.
    open: Vec<usize>,
    /// The current leaf.
    leaf: Option<Leaf<'a>>,
    /// The current HTML block: its text, and the source offsets of its pieces.
    html: Option<(String, Vec<(usize, usize)>)>,
    /// The current `<summary>`.
    summary: Option<Summary>,
    in_code: bool,
}

impl<'a> Reader<'a> {
    fn new(source: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(source.match_indices('\n').map(|(feed, _)| feed + 1)).collect();
        let tree = Tree {
            source,
            leaves: Vec::new(),
            details: Vec::new(),
            summaries: Vec::new(),
            stray: Vec::new(),
            swallowed: Vec::new(),
            line_starts,
        };
        Self { tree, containers: Vec::new(), open: Vec::new(), leaf: None, html: None, summary: None, in_code: false }
    }

    fn finish(mut self) -> Tree<'a> {
        self.close_leaf();
        self.close_summary();
        self.tree
    }

    fn take(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, range),
            Event::End(end) => self.end(end),
            Event::Text(_) if self.in_code => {}
            Event::Text(text) | Event::Code(text) => self.text(&text, range),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, range),
            Event::FootnoteReference(name) => self.text(&format!("[^{name}]"), range),
            Event::SoftBreak | Event::HardBreak => self.next_line(range.end),
            Event::Html(html) => match &mut self.html {
                Some((text, pieces)) => {
                    pieces.push((text.len(), range.start));
                    text.push_str(&html);
                }
                None => self.tags(&html, &[(0, range.start)], false),
            },
            Event::InlineHtml(html) => {
                self.ensure_leaf(range.start);
                self.tags(&html, &[(0, range.start)], true);
            }
            Event::Rule => self.other(range.start, String::new()),
            Event::TaskListMarker(_) => {
                self.ensure_leaf(range.start);
                if let Some(item) = self.leaf.as_mut().and_then(|leaf| leaf.item.as_mut()) {
                    item.checkbox = true;
                }
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::TableCell => self.open_leaf(LeafKind::Text, range.start),
            Tag::Heading { level, .. } => self.open_leaf(LeafKind::Heading(level_number(*level)), range.start),
            Tag::CodeBlock(_) => {
                self.open_leaf(LeafKind::Code, range.start);
                self.in_code = true;
            }
            Tag::HtmlBlock => {
                self.close_leaf();
                self.html = Some((String::new(), Vec::new()));
            }
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => {
                self.close_leaf();
                self.containers.push((range.start, false));
            }
            Tag::Item => {
                self.close_leaf();
                self.containers.push((range.start, true));
            }
            Tag::Strong => {
                self.ensure_leaf(range.start);
                if let Some(line) = self.leaf.as_mut().and_then(|leaf| leaf.lines.last_mut()) {
                    line.bold.push(range.start);
                }
            }
            Tag::Emphasis | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. } => self.ensure_leaf(range.start),
            _ => self.close_leaf(),
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell => self.close_leaf(),
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.close_leaf();
            }
            TagEnd::HtmlBlock => {
                if let Some((text, pieces)) = self.html.take() {
                    self.tags(&text, &pieces, false);
                }
            }
            TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition | TagEnd::Item => {
                self.close_leaf();
                self.containers.pop();
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, range: Range<usize>) {
        if let Some(summary) = &mut self.summary {
            summary.text.push_str(text);
            return;
        }
        self.ensure_leaf(range.start);
        if let Some(line) = self.leaf.as_mut().and_then(|leaf| leaf.lines.last_mut()) {
            line.text.push_str(text);
            line.source = self.tree.source[line.start..range.end.max(line.start)].trim();
        }
    }

    fn next_line(&mut self, at: usize) {
        let source = self.tree.source;
        if let Some(leaf) = &mut self.leaf {
            if let Some(line) = leaf.lines.last_mut() {
                let end = source[line.start..].find('\n').map_or(source.len(), |feed| line.start + feed);
                line.source = source[line.start..end].trim();
            }
            leaf.lines.push(line_at(source, at));
        }
    }

    /// Opens a leaf for the text of a tight list item, which has no paragraph.
    fn ensure_leaf(&mut self, at: usize) {
        if self.leaf.is_none() {
            // A backslash in front of the first character is not part of the event.
            let escaped = self.tree.source[..at].ends_with('\\');
            self.open_leaf(LeafKind::Text, at - usize::from(escaped));
        }
    }

    fn open_leaf(&mut self, kind: LeafKind, start: usize) {
        self.close_leaf();
        let mut leaf = self.leaf_at(kind, start);
        if kind != LeafKind::Code {
            leaf.lines.push(line_at(self.tree.source, start));
        }
        self.leaf = Some(leaf);
    }

    fn leaf_at(&self, kind: LeafKind, start: usize) -> Leaf<'a> {
        let quoted = self.containers.iter().any(|(_, is_item)| !is_item);
        let item = self.containers.iter().find(|(_, is_item)| *is_item);
        let item = item.map(|(start, _)| Item { start: *start, checkbox: false });
        Leaf { kind, start, quoted, item, details: self.open.last().copied(), lines: Vec::new() }
    }

    fn close_leaf(&mut self) {
        if let Some(mut leaf) = self.leaf.take() {
            let source = self.tree.source;
            if let (LeafKind::Text, Some(line)) = (leaf.kind, leaf.lines.last_mut()) {
                let end = source[line.start..].find('\n').map_or(source.len(), |feed| line.start + feed);
                line.source = source[line.start..end].trim();
            }
            self.tree.leaves.push(leaf);
        }
    }

    /// Adds rendered content that is neither Markdown text nor code.
    fn other(&mut self, start: usize, text: String) {
        self.close_leaf();
        let mut leaf = self.leaf_at(LeafKind::Other, start);
        leaf.lines.push(Line { start, source: "", text, bold: Vec::new() });
        self.tree.leaves.push(leaf);
    }

    fn tags(&mut self, html: &str, pieces: &[(usize, usize)], inline: bool) {
        let place = |at: usize| {
            let (piece, start) = pieces[pieces.partition_point(|(piece, _)| *piece <= at).max(1) - 1];
            start + (at - piece)
        };
        // The last tag of a collapsed block, and the number of other elements opened since.
        let mut after: Option<(bool, usize)> = None;
        for (token, range) in html::tokens(html) {
            let at = place(range.start);
            match token {
                Token::Open(name) if name == "details" => {
                    self.open_details(at);
                    after = Some((false, 0));
                }
                Token::Close(name) if name == "details" => {
                    self.close_details(at);
                    after = Some((false, 0));
                }
                Token::Open(name) if name == "summary" => self.open_summary(at),
                Token::Close(name) if name == "summary" => {
                    self.close_summary();
                    after = Some((true, 0));
                }
                Token::Hidden => {}
                Token::Open(_) | Token::Close(_) if self.summary.is_some() => {}
                Token::Open(name) => {
                    after = after.map(|(summary, n_open)| (summary, n_open + 1));
                    let shown = if name == "img" { "image" } else { "" };
                    if !inline {
                        self.other(at, shown.to_owned());
                    }
                }
                Token::Close(_) => after = after.map(|(summary, n_open)| (summary, n_open.saturating_sub(1))),
                Token::Text(text) => match &mut self.summary {
                    Some(summary) => summary.text.push_str(text),
                    None => {
                        if let Some((after_summary, 0)) = after
                            && self.containers.is_empty()
                        {
                            self.tree.swallowed.push(Swallowed { start: at, after_summary });
                            after = None;
                        }
                        self.other(at, text.to_owned());
                    }
                },
            }
        }
    }

    fn container(&self) -> usize {
        self.containers.last().map_or(usize::MAX, |(start, _)| *start)
    }

    fn open_details(&mut self, start: usize) {
        let details = Details { parent: self.open.last().copied(), start, end: None, container: self.container() };
        self.open.push(self.tree.details.len());
        self.tree.details.push(details);
    }

    fn close_details(&mut self, at: usize) {
        self.close_summary();
        match self.open.last() {
            Some(&index) if self.tree.details[index].container == self.container() => {
                self.tree.details[index].end = Some(at);
                self.open.pop();
            }
            _ => self.tree.stray.push(at),
        }
    }

    fn open_summary(&mut self, start: usize) {
        self.close_summary();
        let details = self.open.last().copied();
        let at_top = self.containers.is_empty();
        self.summary = Some(Summary { start, text: String::new(), details, at_top });
    }

    fn close_summary(&mut self) {
        if let Some(mut summary) = self.summary.take() {
            let words: Vec<&str> = summary.text.split_whitespace().collect();
            summary.text = crate::html::unescape(&words.join(" "));
            self.tree.summaries.push(summary);
        }
    }
}

fn line_at(source: &str, start: usize) -> Line<'_> {
    let blank = source[start..].len() - source[start..].trim_start_matches([' ', '\t']).len();
    Line { start: start + blank, source: "", text: String::new(), bold: Vec::new() }
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
