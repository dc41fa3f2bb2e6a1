//! File texts around the hunks of a reviewed diff, with secrets redacted and syntax highlighting.
//!
//! A diff names its blobs, so texts are found by content and cached by blob name. Secrets are redacted before a text
//! is returned. A missing text is reported, and the diff is shown without it. The parsed diff is served here as well,
//! redacted in the same way.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_core::board::FeatureId;
use tollgate_core::diff::{self, FileDiff};
use tollgate_rules::text::mask;

use super::{Board, Part, Refused};
use crate::forge::git::Blob;
use crate::forge::project::Project as Repository;
use crate::reviewer::embedded::colour::{self, Span};

/// The maximum size of a file.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// The maximum number of texts per request.
const MAX_WANTED: usize = 512;

/// The maximum size of the cache of texts, and of that of diffs.
const MAX_KEPT: usize = 48 * 1024 * 1024;

/// A reviewed diff with secrets redacted.
#[derive(Debug, Clone, Default)]
pub struct ReviewedDiff {
    /// Its files.
    pub files: Vec<FileDiff>,
    /// The unparsable parts.
    pub refused: Vec<diff::Refused>,
}

impl ReviewedDiff {
    /// Parses a diff and redacts its secrets.
    pub fn of(diff: Vec<u8>) -> Self {
        let (files, refused) = diff::parse(diff);
        Self { files: mask::mask_files(&files), refused }
    }
}

/// A request for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRequest {
    /// The name of the blob.
    pub blob: String,
    /// A path of the blob, which determines its grammar.
    pub path: Vec<u8>,
}

/// A text, or the reason why it is missing.
#[derive(Debug, Clone)]
pub enum Source {
    /// The text.
    Text(Arc<SourceText>),
    /// Too large; its size in bytes.
    TooLarge(u64),
    /// The repository no longer has the blob.
    Gone,
}

/// A text by lines, with secrets redacted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceText {
    bytes: Vec<u8>,
    /// The offset of each line.
    starts: Vec<u32>,
    spans: Vec<Span>,
}

impl SourceText {
    /// A text with its sorted, disjoint highlighting spans.
    pub fn new(bytes: Vec<u8>, spans: Vec<Span>) -> Self {
        let after = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let ends = memchr::memchr_iter(b'\n', &bytes).map(after).filter(|start| (*start as usize) < bytes.len());
        let starts = if bytes.is_empty() { Vec::new() } else { std::iter::once(0).chain(ends).collect() };
        Self { bytes, starts, spans }
    }

    /// The number of lines.
    pub fn n_lines(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// A line by its number from 1, without its line feed.
    pub fn line(&self, number: u32) -> Option<&[u8]> {
        let (start, end) = self.bounds(number)?;
        let line = self.bytes.get(start..end)?;
        Some(line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// The highlighting spans of a line, relative to its start.
    pub fn spans(&self, number: u32) -> impl Iterator<Item = Span> {
        let (start, end) = self.bounds(number).unwrap_or((0, 0));
        let (start, end) = (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX));
        let first = self.spans.partition_point(|span| span.1 <= start);
        let here = self.spans[first..].iter().take_while(move |span| span.0 < end);
        here.map(move |Span(from, to, class)| Span((*from).max(start) - start, (*to).min(end) - start, *class))
    }

    /// True when the last line ends with a line feed.
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
    /// The reviewed diff of an iteration.
    pub fn shown(&self, project: i64, id: &FeatureId, number: u32, part: Part) -> Result<Arc<ReviewedDiff>, Refused> {
        let row = self.iteration(project, id, number)?;
        let Some(hash) = row.change(part) else { return Ok(Arc::default()) };
        let cache = &self.inner.sources.changes;
        if let Some(shown) = cache.get(&hash) {
            return Ok(shown);
        }
        let diff = self.database().diff(&hash)?.unwrap_or_default();
        // The parsed diff is about as large as its text.
        let size = 2 * diff.len();
        let shown = Arc::new(ReviewedDiff::of(diff));
        cache.put(hash, Arc::clone(&shown), size);
        Ok(shown)
    }

    /// Texts of a project's repository, in the order of the requests.
    ///
    /// Requests beyond the maximum are not served.
    pub fn sources(&self, project: i64, wanted: &[BlobRequest]) -> Result<Vec<Source>, Refused> {
        let cache = &self.inner.sources.texts;
        let mut found: Vec<Option<Source>> =
            wanted.iter().map(|wanted| cache.get(&Key::of(project, wanted)).map(Source::Text)).collect();
        let missing: Vec<usize> = (0..wanted.len()).filter(|&index| found[index].is_none()).take(MAX_WANTED).collect();
        if !missing.is_empty() {
            let row = self.project(project)?;
            let names: Vec<&str> = missing.iter().map(|&index| wanted[index].blob.as_str()).collect();
            // Without its repository, a project's diffs are still shown.
            let blobs = (self.check_here(&row))
                .and_then(|()| Repository::open(&row.path, self.home().git.clone()))
                .and_then(|repository| repository.blobs(&names, MAX_BYTES))
                .unwrap_or_else(|_| vec![Blob::Missing; names.len()]);
            for (index, source) in missing.iter().zip(self.coloured(&missing, wanted, blobs)) {
                if let Source::Text(text) = &source {
                    cache.put(Key::of(project, &wanted[*index]), Arc::clone(text), text.size());
                }
                found[*index] = Some(source);
            }
        }
        Ok(found.into_iter().map(|source| source.unwrap_or(Source::Gone)).collect())
    }

    fn coloured(&self, missing: &[usize], wanted: &[BlobRequest], blobs: Vec<Blob>) -> Vec<Source> {
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
                Source::Text(Arc::new(SourceText::new(mask::mask_same_length(bytes), spans)))
            }
            Blob::TooLarge(size) => Source::TooLarge(size),
            Blob::Missing => Source::Gone,
        };
        blobs.into_iter().enumerate().map(source).collect()
    }
}

/// The cache key of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    project: i64,
    blob: String,
    grammar: Option<&'static str>,
}

impl Key {
    fn of(project: i64, wanted: &BlobRequest) -> Self {
        Self { project, blob: wanted.blob.clone(), grammar: colour::grammar(&wanted.path) }
    }
}

/// The cache. A text that could not be highlighted is cached as well, or each view would try again.
#[derive(Debug, Default)]
pub(super) struct RecentTexts {
    texts: Cache<Key, SourceText>,
    changes: Cache<[u8; 32], ReviewedDiff>,
}

/// A cache that evicts the least recently used entries.
#[derive(Debug)]
struct Cache<K, V>(Mutex<CacheEntries<K, V>>);

#[derive(Debug)]
struct CacheEntries<K, V> {
    things: HashMap<K, Entry<V>>,
    size: usize,
    /// Counts accesses.
    now: u64,
}

#[derive(Debug)]
struct Entry<V> {
    used: u64,
    size: usize,
    thing: Arc<V>,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::new(CacheEntries { things: HashMap::new(), size: 0, now: 0 }))
    }
}

impl<K: Clone + Eq + Hash, V> Cache<K, V> {
    fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.now += 1;
        let now = entries.now;
        let entry = entries.things.get_mut(key)?;
        entry.used = now;
        Some(Arc::clone(&entry.thing))
    }

    fn put(&self, key: K, thing: Arc<V>, size: usize) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.now += 1;
        entries.size += size;
        let used = entries.now;
        if let Some(before) = entries.things.insert(key, Entry { used, size, thing }) {
            entries.size -= before.size;
        }
        while entries.size > MAX_KEPT && entries.things.len() > 1 {
            let oldest = entries.things.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|oldest| entries.things.remove(&oldest)) else { return };
            entries.size -= entry.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reviewer::embedded::colour::Class;

    fn text(bytes: &str) -> SourceText {
        SourceText::new(bytes.as_bytes().to_vec(), vec![])
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
        let text = SourceText::new(b"a /* b\n c\n */ d\n".to_vec(), vec![Span(2, 13, comment)]);
        let spans = |number| text.spans(number).collect::<Vec<_>>();
        assert_eq!(spans(1), [Span(2, 7, comment)]);
        assert_eq!(spans(2), [Span(0, 3, comment)]);
        assert_eq!(spans(3), [Span(0, 3, comment)]);
        assert_eq!(spans(4), []);
    }

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let cache: Cache<&str, ()> = Cache::default();
        let put = |name| cache.put(name, Arc::default(), MAX_KEPT / 2);
        put("a");
        put("b");
        assert!(cache.get(&"a").is_some());
        put("c");
        let known = ["a", "b", "c"].map(|name| cache.get(&name).is_some());
        assert_eq!(known, [true, false, true]);
        // The same once more takes no more room.
        put("c");
        assert!(cache.get(&"a").is_some());
    }

    #[test]
    fn a_diff_is_shown_without_its_secrets() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+token = \"9f8Tq2LmWz7Rk4Yb\"\n";
        let shown = ReviewedDiff::of(diff.as_bytes().to_vec());
        let lines: Vec<_> = shown.files[0].added().map(|(_, line)| String::from_utf8_lossy(line)).collect();
        assert_eq!(lines, ["token = \"9f8T************\""]);
    }
}
