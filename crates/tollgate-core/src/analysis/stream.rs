//! Streaming analysis: reads a diff in pieces, so that a large one is never in memory as a whole.

use std::io::{self, Read};

use memchr::memmem;

use crate::analysis::merged_ranges::MergedRanges;
use crate::analysis::{Analysis, GeneratedAttribute, OpenFile};
use crate::diff::{DiffEvent, Events, Resume, mail};

/// The size of the read buffer: enough for most files, small enough for the processor cache.
const WINDOW: usize = 512 * 1024;

/// Bytes that must follow the position where a piece is cut, so that error messages can quote them.
const LOOK_AHEAD: usize = 64;

/// An analysis in progress.
pub struct Analyzer<'f> {
    analysis: Analysis,
    resume: Resume,
    attribute: GeneratedAttribute<'f>,
}

/// Analyzes a diff from a reader. The result equals that of [`analyze_bytes`](super::analyze_bytes) for the same bytes.
pub fn analyze_reader(mut reader: impl Read, attribute: GeneratedAttribute<'_>) -> io::Result<Analysis> {
    let mut analyzer = Analyzer::new(attribute);
    let mut window = vec![0; WINDOW];
    let mut n_buffered = 0;
    loop {
        if n_buffered == window.len() {
            let n_used = analyzer.push(&window);
            window.copy_within(n_used.., 0);
            n_buffered -= n_used;
            // A file larger than the window: the window grows until the file fits.
            if n_used == 0 {
                window.resize(window.len() * 2, 0);
            }
        }
        match reader.read(&mut window[n_buffered..]) {
            Ok(0) => return Ok(analyzer.finish(&window[..n_buffered])),
            Ok(n_read) => n_buffered += n_read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl<'f> Analyzer<'f> {
    /// Starts an analysis.
    #[must_use]
    pub fn new(attribute: GeneratedAttribute<'f>) -> Self {
        Self { analysis: Analysis::default(), resume: Resume::default(), attribute }
    }

    /// Analyzes the files that are complete in this piece. Returns the number of bytes consumed; the caller passes the rest
    /// again, with the bytes that follow.
    pub fn push(&mut self, piece: &[u8]) -> usize {
        let end = piece.len().saturating_sub(LOOK_AHEAD);
        let end = mail::open_at_end(piece, self.resume.is_start()).map_or(end, |mail| end.min(mail));
        let Some(feed) = last_file(piece, end) else { return 0 };
        self.read(piece, feed + 1);
        feed + 1
    }

    /// Analyzes the last piece.
    #[must_use]
    pub fn finish(mut self, piece: &[u8]) -> Analysis {
        self.read(piece, piece.len());
        self.analysis
    }

    fn read(&mut self, text: &[u8], end: usize) {
        let mut events = Events::resume(text, end, self.resume);
        let mut open: Option<OpenFile<'_>> = None;
        let mut added = MergedRanges::default();
        for event in &mut events {
            match event {
                DiffEvent::File(header) => {
                    if let Some(open) = open.as_mut().filter(|open| open.is_followed_by_other_type(&header)) {
                        open.change_type(header);
                    } else if let Some(open) = open.replace(OpenFile::new(header)) {
                        self.analysis.take(&open.section(text, &added), self.attribute);
                        added.clear();
                    }
                }
                DiffEvent::Hunk(hunk) => {
                    if let Some(open) = &mut open {
                        open.take(&hunk, &mut added);
                    }
                }
                DiffEvent::Refused(refused) => self.analysis.refused.push(refused),
            }
        }
        if let Some(open) = open {
            self.analysis.take(&open.section(text, &added), self.attribute);
        }
        self.resume = events.stopped();
    }
}

/// The line feed before the last file that begins before `end`. A file that changes its type is two files with the same
/// first line, a deleted and a new one, which are not separated.
fn last_file(piece: &[u8], mut end: usize) -> Option<usize> {
    const START: &[u8] = b"\ndiff --git ";
    loop {
        let last = memmem::rfind(&piece[..end], START)?;
        let before = memmem::rfind(&piece[..last], START).map(|feed| feed + 1);
        let before = before.or_else(|| piece.starts_with(&START[1..]).then_some(0));
        let mut lines = piece[last + 1..].split_inclusive(|&byte| byte == b'\n');
        let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let is_same = before.is_some_and(|before| piece[before..].starts_with(first));
        let may_be_new = !second.ends_with(b"\n") || second.starts_with(b"new file mode ");
        if !(is_same && may_be_new) {
            return Some(last);
        }
        end = last;
    }
}
