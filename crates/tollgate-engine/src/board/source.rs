//! The files of a change as they were before and after it, for showing what is around its hunks, and in colours.
//!
//! A diff names the blobs it is made of, so a text is found by its content and not by a path, and what was looked at
//! lately is kept by that name. Secrets are covered before anything leaves. What is not to be had is said: a diff can be
//! shown without it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_rules::text::mask;

use super::{Board, Refused};
use crate::forge::git::Blob;
use crate::forge::project::Project as Repository;
use crate::reviewer::embedded::colour::{self, Span};

/// Larger files are not shown around their hunks.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// At most so many texts are asked for at once.
const MAX_WANTED: usize = 512;

/// So much is kept of what was looked at lately.
const MAX_KEPT: usize = 48 * 1024 * 1024;

/// A text that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the blob.
    pub blob: String,
    /// A path it has, which tells its grammar.
    pub path: Vec<u8>,
}

/// What there is of a text.
#[derive(Debug, Clone)]
pub enum Source {
    /// The text.
    Text(Arc<Text>),
    /// It is too large to be shown; its size in bytes.
    TooLarge(u64),
    /// The repository does not have it any more.
    Gone,
}

/// A text by its lines, secrets covered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    bytes: Vec<u8>,
    /// Where each line begins.
    starts: Vec<u32>,
    spans: Vec<Span>,
}

impl Text {
    /// A text and what its words are, in order and apart.
    #[must_use]
    pub fn new(bytes: Vec<u8>, spans: Vec<Span>) -> Self {
        let after = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let ends = memchr::memchr_iter(b'\n', &bytes).map(after).filter(|start| (*start as usize) < bytes.len());
        let starts = if bytes.is_empty() { Vec::new() } else { std::iter::once(0).chain(ends).collect() };
        Self { bytes, starts, spans }
    }

    /// How many lines it has.
    #[must_use]
    pub fn n_lines(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// A line by its number from 1, without its line feed.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&[u8]> {
        let (start, end) = self.bounds(number)?;
        let line = self.bytes.get(start..end)?;
        Some(line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// What the words of a line are, with places in that line.
    pub fn spans(&self, number: u32) -> impl Iterator<Item = Span> {
        let (start, end) = self.bounds(number).unwrap_or((0, 0));
        let (start, end) = (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX));
        let first = self.spans.partition_point(|span| span.1 <= start);
        let here = self.spans[first..].iter().take_while(move |span| span.0 < end);
        here.map(move |Span(from, to, class)| Span((*from).max(start) - start, (*to).min(end) - start, *class))
    }

    /// True when the last line ends with a line feed.
    #[must_use]
    pub fn ends_with_newline(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    fn bounds(&self, number: u32) -> Option<(usize, usize)> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let start = *self.starts.get(index)? as usize;
        Some((start, self.starts.get(index + 1).map_or(self.bytes.len(), |end| *end as usize)))
    }

    fn size(&self) -> usize {
        self.bytes.len() + 4 * self.starts.len() + size_of::<Span>() * self.spans.len()
    }
}

impl Board {
    /// What the repository of a project has of some texts, in the order in which they are asked for.
    ///
    /// More than a page can show at once are not looked for, and are gone.
    pub fn sources(&self, project: i64, wanted: &[Wanted]) -> Result<Vec<Source>, Refused> {
        let cache = &self.inner.sources;
        let mut found: Vec<Option<Source>> =
            wanted.iter().map(|wanted| cache.get(&Key::of(project, wanted)).map(Source::Text)).collect();
        let missing: Vec<usize> = (0..wanted.len()).filter(|&index| found[index].is_none()).take(MAX_WANTED).collect();
        if !missing.is_empty() {
            let row = self.project(project)?;
            let names: Vec<&str> = missing.iter().map(|&index| wanted[index].blob.as_str()).collect();
            // A repository that is not there any more has nothing of it, and the diff is still there.
            let blobs = Repository::open(&row.path, self.home().git.clone())
                .and_then(|repository| repository.blobs(&names, MAX_BYTES))
                .unwrap_or_else(|_| vec![Blob::Missing; names.len()]);
            for (index, source) in missing.iter().zip(self.coloured(&missing, wanted, blobs)) {
                if let Source::Text(text) = &source {
                    cache.put(Key::of(project, &wanted[*index]), Arc::clone(text));
                }
                found[*index] = Some(source);
            }
        }
        Ok(found.into_iter().map(|source| source.unwrap_or(Source::Gone)).collect())
    }

    fn coloured(&self, missing: &[usize], wanted: &[Wanted], blobs: Vec<Blob>) -> Vec<Source> {
        let mut asked: Vec<usize> = Vec::new();
        let mut texts: Vec<(&str, &[u8])> = Vec::new();
        for (position, (&index, blob)) in missing.iter().zip(&blobs).enumerate() {
            if let (Blob::Whole(bytes), Some(grammar)) = (blob, colour::grammar(&wanted[index].path)) {
                asked.push(position);
                texts.push((grammar, bytes));
            }
        }
        let limits = self.settings().limits;
        let coloured = colour::colour(&self.home().executable, limits, &texts);
        let mut spans: HashMap<usize, Vec<Span>> = HashMap::new();
        for (position, found) in asked.into_iter().zip(coloured) {
            spans.extend(found.map(|found| (position, found)));
        }
        let source = |(position, blob)| match blob {
            Blob::Whole(bytes) => {
                let spans = spans.remove(&position).unwrap_or_default();
                Source::Text(Arc::new(Text::new(mask::covered(bytes), spans)))
            }
            Blob::TooLarge(size) => Source::TooLarge(size),
            Blob::Missing => Source::Gone,
        };
        blobs.into_iter().enumerate().map(source).collect()
    }
}

/// What a text is kept by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    project: i64,
    blob: String,
    grammar: Option<&'static str>,
}

impl Key {
    fn of(project: i64, wanted: &Wanted) -> Self {
        Self { project, blob: wanted.blob.clone(), grammar: colour::grammar(&wanted.path) }
    }
}

/// Texts that were looked at lately. One that nobody could colour is kept as well, or every look at it would cost as much.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    texts: HashMap<Key, (u64, Arc<Text>)>,
    size: usize,
    /// Counts looks.
    now: u64,
}

impl Cache {
    fn get(&self, key: &Key) -> Option<Arc<Text>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.now += 1;
        let now = kept.now;
        let (used, text) = kept.texts.get_mut(key)?;
        *used = now;
        Some(Arc::clone(text))
    }

    fn put(&self, key: Key, text: Arc<Text>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.now += 1;
        let now = kept.now;
        kept.size += text.size();
        if let Some((_, before)) = kept.texts.insert(key, (now, text)) {
            kept.size -= before.size();
        }
        while kept.size > MAX_KEPT && kept.texts.len() > 1 {
            let Some(oldest) = kept.texts.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some((_, text)) = kept.texts.remove(&oldest) {
                kept.size -= text.size();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reviewer::embedded::colour::Class;

    fn text(bytes: &str) -> Text {
        Text::new(bytes.as_bytes().to_vec(), vec![])
    }

    #[test]
    fn lines_are_counted_as_git_counts_them() {
        for (bytes, expected) in [
            ("", vec![]),
            ("\n", vec![""]),
            ("a", vec!["a"]),
            ("a\n", vec!["a"]),
            ("a\n\nb", vec!["a", "", "b"]),
            ("a\r\nb\n", vec!["a\r", "b"]),
        ] {
            let text = text(bytes);
            let lines: Vec<_> = (1..=text.n_lines()).map(|number| text.line(number).unwrap()).collect();
            assert_eq!(lines, expected.iter().map(|line| line.as_bytes()).collect::<Vec<_>>(), "{bytes:?}");
            assert_eq!((text.line(0), text.line(text.n_lines() + 1)), (None, None));
        }
    }

    #[test]
    fn a_word_over_several_lines_is_a_word_on_each() {
        let comment = Class::Comment;
        let text = Text::new(b"a /* b\n c\n */ d\n".to_vec(), vec![Span(2, 13, comment)]);
        let spans = |number| text.spans(number).collect::<Vec<_>>();
        assert_eq!(spans(1), [Span(2, 7, comment)]);
        assert_eq!(spans(2), [Span(0, 3, comment)]);
        assert_eq!(spans(3), [Span(0, 3, comment)]);
        assert_eq!(spans(4), []);
    }

    #[test]
    fn what_was_looked_at_least_lately_makes_room() {
        let key = |blob: &str| Key { project: 1, blob: blob.to_owned(), grammar: None };
        let large = || Arc::new(Text::new(vec![b'x'; MAX_KEPT / 2 - 100], vec![]));
        let cache = Cache::default();
        cache.put(key("a"), large());
        cache.put(key("b"), large());
        assert!(cache.get(&key("a")).is_some());
        cache.put(key("c"), large());
        let known = ["a", "b", "c"].map(|blob| cache.get(&key(blob)).is_some());
        assert_eq!(known, [true, false, true]);
        // The same once more takes no more room.
        cache.put(key("c"), large());
        assert!(cache.get(&key("a")).is_some());
    }
}
