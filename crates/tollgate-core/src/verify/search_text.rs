//! The text sent to a reviewer, normalized and indexed for quote search.
//!
//! Whitespace is removed, except for one space between two words: `if ( x )` equals `if(x)`, but `return x` differs from
//! `returnx`. Every word is indexed, so a quote is looked up by its rarest word and compared only there: the cost of a
//! lookup does not depend on the size of the change.

use std::cell::Cell;
use std::ops::Range;

use crate::delta::title_words::is_unspaced;
use crate::diff::{FileDiff, LineKind};
use crate::visible::visible;

/// The differences allowed between a quote and the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Whitespace.
    Tight,
    /// Also the kind of quotation marks, escapes, commas and semicolons; never a word, a number or an operator.
    Loose,
}

/// The sequence of lines in a search text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The lines of hunks after the change.
    Right,
    /// The lines of hunks before the change.
    Left,
    /// The lines of hunks in diff order, removed before added.
    Both,
    /// The lines after the change, with the context that was sent.
    WithContext,
}

/// A line in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// The line number in this order; never decreases within a file.
    pub(super) number: u32,
    /// The index of the hunk; `None` for context outside of hunks.
    pub(super) group: Option<u32>,
    /// Added, removed or context.
    pub(super) kind: LineKind,
    /// The line number before the change.
    pub(super) old: Option<u32>,
    /// The line number after the change.
    pub(super) new: Option<u32>,
    pub(super) text: &'a [u8],
}

/// Context lines of a file with their numbers.
pub(super) type Around<'a> = &'a [(u32, String)];

/// The indexed length of a line, in bytes.
const MAX_ROW: usize = 64 << 10;
/// The most positions at which a quote is compared.
const MAX_COMPARED: usize = 256;
/// The most words of a quote that are considered for the rarest.
const MAX_WORDS: usize = 32;
/// The largest search text, in bytes; the rest is not searched.
const MAX_TEXT: usize = 1 << 30;

/// Normalized lines with a word index.
pub(super) struct SearchText<'a> {
    buffer: String,
    pub(super) rows: Vec<Row<'a>>,
    /// The start of each row in the buffer.
    starts: Vec<u32>,
    /// The rows of each file.
    files: Vec<Range<usize>>,
    /// The rows of each hunk; not valid for [`Order::WithContext`].
    pub(super) groups: Vec<Range<usize>>,
    /// The hash and position of each word, sorted.
    words: Vec<(u64, u32)>,
    n_compared: Cell<u64>,
}

impl<'a> SearchText<'a> {
    pub(super) fn new(
        files: &'a [FileDiff],
        sent: &dyn Fn(usize, usize) -> bool,
        around: &dyn Fn(usize) -> Around<'a>,
        order: Order,
        form: Form,
    ) -> Self {
        let mut text = Self {
            buffer: String::new(),
            rows: Vec::new(),
            starts: Vec::new(),
            files: Vec::new(),
            groups: Vec::new(),
            words: Vec::new(),
            n_compared: Cell::new(0),
        };
        for (index, file) in files.iter().enumerate() {
            let first = text.rows.len();
            let mut last = 0;
            for (_, hunk) in file.hunks.iter().enumerate().filter(|(at, _)| sent(index, *at)) {
                let group = u32::try_from(text.groups.len()).unwrap_or(u32::MAX);
                let begin = text.rows.len();
                for line in file.lines(hunk) {
                    let number = match order {
                        Order::Right | Order::WithContext => line.new,
                        Order::Left => line.old,
                        Order::Both => line.new.or(Some(last)),
                    };
                    let Some(number) = number else { continue };
                    last = number;
                    let (kind, old, new) = (line.kind, line.old, line.new);
                    text.rows.push(Row { number, group: Some(group), kind, old, new, text: line.text });
                }
                text.groups.push(begin..text.rows.len());
            }
            if order == Order::WithContext {
                text.add_around(first, around(index));
            }
            text.files.push(first..text.rows.len());
        }
        text.fill(form);
        text
    }

    /// Inserts context lines between the hunks, which shifts the rows of the hunks.
    fn add_around(&mut self, first: usize, around: Around<'a>) {
        if around.is_empty() {
            return;
        }
        let known: std::collections::HashSet<u32> = self.rows[first..].iter().map(|row| row.number).collect();
        for (number, text) in around.iter().filter(|(number, _)| !known.contains(number)) {
            let (kind, text) = (LineKind::Context, text.as_bytes());
            self.rows.push(Row { number: *number, group: None, kind, old: None, new: Some(*number), text });
        }
        self.rows[first..].sort_by_key(|row| row.number);
    }

    fn fill(&mut self, form: Form) {
        let mut canon = Canon::new(form);
        for range in &self.files {
            canon.part();
            for row in &self.rows[range.clone()] {
                if canon.out.len() > MAX_TEXT {
                    break;
                }
                let text = row.text.strip_suffix(b"\r").unwrap_or(row.text);
                let start = canon.out.len();
                // Invisible characters were sent as escapes.
                canon.push(&visible(&String::from_utf8_lossy(&text[..text.len().min(MAX_ROW)])));
                // A separating space belongs to neither row.
                let start = start + usize::from(canon.out[start..].starts_with(' '));
                self.starts.push(u32::try_from(start).unwrap_or(u32::MAX));
                canon.gap();
            }
        }
        self.starts.resize(self.rows.len(), u32::MAX);
        canon.finish();
        self.words = (canon.words.iter())
            .map(|word| (hash(&canon.out[word.clone()]), u32::try_from(word.start).unwrap_or(u32::MAX)))
            .collect();
        self.words.sort_unstable();
        self.buffer = canon.out;
    }

    /// The rows of a file.
    pub(super) fn file(&self, file: usize) -> Range<usize> {
        self.files.get(file).cloned().unwrap_or_default()
    }

    /// The file of a row.
    pub(super) fn file_of(&self, row: usize) -> usize {
        self.files.partition_point(|range| range.end <= row)
    }

    /// The first row of a file with this number or a higher one.
    pub(super) fn row_at(&self, file: usize, number: u32) -> usize {
        let range = self.file(file);
        range.start + self.rows[range].partition_point(|row| row.number < number)
    }

    /// The number of positions compared so far.
    pub(super) fn n_compared(&self) -> u64 {
        self.n_compared.get()
    }

    /// Finds a quote: the first and last row of each match, nearest to `near` first.
    ///
    /// The second value is false when there were too many candidates to compare all.
    pub(super) fn find(&self, quote: &Quote, rows: Range<usize>, near: usize) -> (Vec<(usize, usize)>, bool) {
        self.find_among(quote, rows, near, MAX_COMPARED)
    }

    /// [`Self::find`] with a limit on the candidates.
    pub(super) fn find_among(
        &self,
        quote: &Quote,
        rows: Range<usize>,
        near: usize,
        max_compared: usize,
    ) -> (Vec<(usize, usize)>, bool) {
        let from = |row: usize| self.starts.get(row).map_or(self.buffer.len(), |start| *start as usize);
        let (begin, end) = (from(rows.start), from(rows.end));
        let Some((offset, places)) = self.rarest(quote, begin..end) else { return (Vec::new(), true) };
        let middle = places.partition_point(|(_, place)| (*place as usize) < from(near));
        let (mut before, mut after) = (middle, middle);
        let mut found = Vec::new();
        for _ in 0..places.len().min(max_compared) {
            // From `near` outwards, by distance.
            let distance = |index: usize| places.get(index).map(|(_, place)| (*place as usize).abs_diff(from(near)));
            let behind = before.checked_sub(1).and_then(distance);
            let index = match (behind, distance(after)) {
                (Some(behind), ahead) if ahead.is_none_or(|ahead| behind < ahead) => {
                    before -= 1;
                    before
                }
                _ => {
                    after += 1;
                    after - 1
                }
            };
            let Some((_, place)) = places.get(index) else { break };
            found.extend(self.matches(quote, *place as usize, offset, begin..end));
        }
        (found, places.len() <= max_compared)
    }

    /// The positions of the rarest word of a quote, and its offset in the quote.
    fn rarest(&self, quote: &Quote, within: Range<usize>) -> Option<(usize, &[(u64, u32)])> {
        let places = |word: &Range<usize>| {
            let hash = hash(&quote.text[word.clone()]);
            let at = |place: usize| (hash, u32::try_from(place).unwrap_or(u32::MAX));
            let start = self.words.partition_point(|entry| *entry < at(within.start));
            let end = self.words.partition_point(|entry| *entry < at(within.end));
            (word.start, &self.words[start..end.max(start)])
        };
        self.n_compared.set(self.n_compared.get() + 1);
        quote.words.iter().take(MAX_WORDS).map(places).min_by_key(|(_, places)| places.len())
    }

    fn matches(&self, quote: &Quote, place: usize, offset: usize, within: Range<usize>) -> Option<(usize, usize)> {
        self.n_compared.set(self.n_compared.get() + 1);
        let start = place.checked_sub(offset).filter(|start| *start >= within.start)?;
        let end = start.checked_add(quote.text.len()).filter(|end| *end <= within.end)?;
        if self.buffer.get(start..end)? != quote.text {
            return None;
        }
        if self.cuts_a_word(start..end) {
            return None;
        }
        let row = |place: usize| self.starts.partition_point(|start| *start as usize <= place).saturating_sub(1);
        Some((row(start), row(end - 1)))
    }

    /// True when a quote occurs in these rows, even a single character.
    pub(super) fn has(&self, quote: &Quote, rows: Range<usize>) -> bool {
        let from = |row: usize| self.starts.get(row).map_or(self.buffer.len(), |start| *start as usize);
        let (begin, end) = (from(rows.start), from(rows.end).min(from(rows.start).saturating_add(MAX_ROW)));
        let Some(text) = self.buffer.get(begin..end) else { return false };
        self.n_compared.set(self.n_compared.get() + 1);
        !quote.text.is_empty()
            && text
                .match_indices(&quote.text)
                .any(|(at, found)| !self.cuts_a_word(begin + at..begin + at + found.len()))
    }

    /// True when a match begins or ends inside a word: part of an identifier is another identifier.
    fn cuts_a_word(&self, place: Range<usize>) -> bool {
        let is_word = |character: Option<char>| character.is_some_and(is_word);
        let (before, after) = (&self.buffer[..place.start], &self.buffer[place.end..]);
        let inside = &self.buffer[place];
        (is_word(inside.chars().next()) && is_word(before.chars().next_back()))
            || (is_word(inside.chars().next_back()) && is_word(after.chars().next()))
    }
}

/// A normalized quote.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) text: String,
    words: Vec<Range<usize>>,
}

impl Quote {
    pub(super) fn new(text: &str, form: Form) -> Self {
        let mut canon = Canon::new(form);
        canon.push(&visible(text));
        canon.finish();
        Self { text: canon.out, words: canon.words }
    }

    /// How many characters it has.
    pub(super) fn len(&self) -> usize {
        self.text.chars().filter(|character| *character != ' ').count()
    }

    /// False for code that occurs everywhere: `}`, `return`, `x`.
    pub(super) fn is_distinctive(&self) -> bool {
        let words = || self.words.iter().map(|word| &self.text[word.clone()]);
        let n_unspaced = words().filter(|word| word.chars().any(is_unspaced)).count();
        let says = |word: &str| word.chars().count() >= 3 && !KEYWORDS.contains(&word);
        // `return n / 3;` has no distinctive word, but the combination is.
        let says_together = self.len() >= 8 && words().count() >= 3;
        n_unspaced >= 4 || (self.len() >= 6 && words().any(says)) || says_together
    }
}

/// Words too common to be distinctive.
const KEYWORDS: &[&str] = &[
    "and",
    "async",
    "await",
    "begin",
    "bool",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "done",
    "elif",
    "else",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "false",
    "False",
    "final",
    "finally",
    "float",
    "for",
    "from",
    "func",
    "function",
    "impl",
    "import",
    "int",
    "interface",
    "let",
    "long",
    "match",
    "mod",
    "mut",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "return",
    "returns",
    "self",
    "static",
    "string",
    "String",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "throws",
    "true",
    "True",
    "try",
    "type",
    "undefined",
    "use",
    "using",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// Normalizes text incrementally.
struct Canon {
    form: Form,
    out: String,
    words: Vec<Range<usize>>,
    word: Option<usize>,
    gap: bool,
}

impl Canon {
    fn new(form: Form) -> Self {
        Self { form, out: String::new(), words: Vec::new(), word: None, gap: false }
    }

    /// Starts a section that no quote spans.
    fn part(&mut self) {
        self.finish();
        self.out.push('\0');
        self.gap = false;
    }

    fn gap(&mut self) {
        self.finish();
        self.gap = true;
    }

    fn finish(&mut self) {
        if let Some(start) = self.word.take() {
            self.words.push(start..self.out.len());
        }
    }

    fn push(&mut self, text: &str) {
        for character in text.chars() {
            let character = match self.form {
                Form::Tight => Some(character),
                Form::Loose => loosened(character),
            };
            let Some(character) = character.filter(|character| !is_space(*character)) else {
                self.gap();
                continue;
            };
            if !is_word(character) {
                self.finish();
                let start = self.out.len();
                self.out.push(character);
                if is_unspaced(character) {
                    self.words.push(start..self.out.len());
                }
            } else if self.word.is_none() {
                if self.gap && self.out.chars().next_back().is_some_and(is_word) {
                    self.out.push(' ');
                }
                self.word = Some(self.out.len());
                self.out.push(character);
            } else {
                self.out.push(character);
            }
            self.gap = false;
        }
    }
}

/// Normalizes a character for [`Form::Loose`]; `None` drops it.
fn loosened(character: char) -> Option<char> {
    match character {
        '\'' | '`' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => Some('"'),
        '\u{2010}'..='\u{2015}' => Some('-'),
        '\\' | ';' | ',' => None,
        other => Some(other),
    }
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}

fn is_word(character: char) -> bool {
    character == '_' || (character.is_alphanumeric() && !is_unspaced(character))
}

/// FNV-1a; equal hashes are compared again.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
