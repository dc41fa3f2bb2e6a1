//! Streaming diff parser: events that borrow from the input.
//!
//! It finds files and hunks, and skips lines by the counts of the hunk headers. Other text (mail headers, commit messages,
//! diffstats, signatures) is skipped. Both [`parse`](super::parse) and the analysis of a change are built on it.

use std::ops::Range;

use crate::diff::Refused;
use crate::diff::header::{self, Damage, Header};
use crate::diff::hunk::{self, Broken, HunkHead};
use crate::diff::mail;

/// An iterator over the events of a diff.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    text: &'a [u8],
    at: usize,
    /// The end of the range to parse; later bytes are only used for lookahead.
    end: usize,
    line_number: u32,
    position: Position,
    pending: Option<Refused>,
}

/// The parser state between two pieces of a diff.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resume {
    line_number: u32,
    position: Position,
}

impl Resume {
    /// True before the first piece.
    pub(crate) fn is_start(self) -> bool {
        self.line_number == 1
    }
}

impl Default for Resume {
    fn default() -> Self {
        Self { line_number: 1, position: Position::Outside }
    }
}

/// An event of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffEvent<'a> {
    /// A file begins.
    File(Header<'a>),
    /// A hunk of the current file.
    Hunk(HunkEvent<'a>),
    /// A part that cannot be parsed.
    Refused(Refused),
}

/// A hunk with correct counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkEvent<'a> {
    /// Its header.
    pub head: HunkHead<'a>,
    /// The lines with their markers.
    pub body: &'a [u8],
    /// The byte range of the hunk, header included.
    pub span: Range<usize>,
    /// Number of added lines.
    pub n_added: u32,
    /// Number of removed lines.
    pub n_removed: u32,
    /// True when a context line is empty without its leading space.
    pub(super) has_bare_blanks: bool,
    /// A byte range that covers all added lines of the hunk and ends at a line boundary.
    pub(crate) added: Range<usize>,
}

/// The position of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Outside of a file: in the text of a mail or between two diffs.
    Outside,
    /// After a file header.
    Header {
        /// True when a hunk must follow.
        promises_hunk: bool,
    },
    /// After a hunk.
    Hunks,
    /// After a syntax error: only an unambiguous header counts.
    Lost,
    /// In the text of a mail, up to the line `---`: a diff in it is prose.
    MailText,
}

impl<'a> Events<'a> {
    /// Starts reading.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self::resume(text, text.len(), Resume::default())
    }

    /// Resumes at the end of the previous piece; `end` must be the start of a `diff --git` line.
    pub(crate) fn resume(text: &'a [u8], end: usize, from: Resume) -> Self {
        Self { text, at: 0, end, line_number: from.line_number, position: from.position, pending: None }
    }

    /// The state for parsing the next piece.
    pub(crate) fn stopped(&self) -> Resume {
        Resume { line_number: self.line_number, position: self.position }
    }

    fn step(&mut self, end: usize, n_lines: u32) {
        self.at = end;
        self.line_number = self.line_number.saturating_add(n_lines);
    }

    fn refuse(&mut self, line_number: u32, problem: String) -> DiffEvent<'a> {
        self.position = Position::Lost;
        DiffEvent::Refused(Refused { line_number, problem })
    }

    fn file(&mut self, header: Header<'a>) -> DiffEvent<'a> {
        self.step(header.span.end, header.n_lines);
        self.position = Position::Header { promises_hunk: header.promises_hunk };
        if let Some(damage) = header.damage {
            let found = excerpt(self.text, self.at);
            let problem = match damage {
                Damage::BinaryCut => format!("expected more of the binary patch, found {found}"),
                Damage::Cut => format!("expected more of the file's header or its lines, found {found}"),
                Damage::NoFile => "expected a file on one side, found `/dev/null` on both".to_owned(),
            };
            self.pending = Some(Refused { line_number: self.line_number, problem });
        }
        DiffEvent::File(header)
    }

    /// True at a hunk header. Outside of a file it must be valid, since prose may look like one.
    fn is_hunk(&self) -> bool {
        self.text[self.at..].starts_with(b"@@")
            && (self.position != Position::Outside || hunk::head(header::line_at(self.text, self.at)).is_some())
    }

    fn hunk(&mut self) -> DiffEvent<'a> {
        let start = self.at;
        let body_start = hunk::end_of_line(self.text, start);
        let Some(head) = hunk::head(header::without_end(&self.text[start..body_start])) else {
            let found = excerpt(self.text, start);
            let event = self.refuse(self.line_number, format!("expected a hunk header, found {found}"));
            self.step(body_start, 1);
            return event;
        };
        if self.position == Position::Outside {
            let event = self.refuse(self.line_number, "expected a file before this hunk, found none".to_owned());
            self.step(body_start, 1);
            return event;
        }
        match hunk::body(&head, &self.text[body_start..]) {
            Ok(body) => {
                let end = body_start + body.len;
                self.step(end, body.n_lines.saturating_add(1));
                self.position = Position::Hunks;
                DiffEvent::Hunk(HunkEvent {
                    head,
                    body: &self.text[body_start..end],
                    span: start..end,
                    n_added: body.n_added,
                    n_removed: body.n_removed,
                    has_bare_blanks: body.has_bare_blanks,
                    added: body_start + body.added.start..body_start + body.added.end,
                })
            }
            Err(broken) => {
                let event = self.broken(body_start, broken);
                // Parse the lines again: the wrong counts may have swallowed the header of the next file.
                self.step(body_start, 1);
                event
            }
        }
    }

    fn broken(&mut self, body_start: usize, broken: Broken) -> DiffEvent<'a> {
        let line_number = self.line_number.saturating_add(1).saturating_add(broken.n_lines);
        let found = excerpt(self.text, body_start + broken.at);
        let Broken { old_left, new_left, .. } = broken;
        let problem = format!("expected {old_left} more old and {new_left} more new lines of the hunk, found {found}");
        self.refuse(line_number, problem)
    }

    /// True at the last line, when it is the beginning of `diff --git`.
    fn is_cut_header(&self) -> bool {
        let rest = &self.text[self.at..];
        matches!(rest.len(), 4..=10) && b"diff --git".starts_with(rest)
    }

    /// The error when a hunk is missing after a header, or when lines follow a complete hunk.
    fn out_of_place(&self) -> Option<String> {
        let rest = &self.text[self.at..];
        let expected = match self.position {
            Position::Header { promises_hunk: true } if !rest.starts_with(b"@@") => "a hunk header",
            Position::Hunks if matches!(rest.first(), Some(b'+' | b'-' | b' ')) && !is_signature(rest) => {
                "the hunk to end"
            }
            _ => return None,
        };
        Some(format!("expected {expected}, found {}", excerpt(self.text, self.at)))
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = DiffEvent<'a>;

    fn next(&mut self) -> Option<DiffEvent<'a>> {
        if let Some(refused) = self.pending.take() {
            self.position = Position::Lost;
            return Some(DiffEvent::Refused(refused));
        }
        while self.at < self.end {
            let first = self.text[self.at];
            if self.position == Position::MailText {
                let ends = header::line_at(self.text, self.at) == mail::SEPARATOR;
                self.step(hunk::end_of_line(self.text, self.at), 1);
                self.position = if ends { Position::Outside } else { Position::MailText };
                continue;
            }
            if self.position != (Position::Header { promises_hunk: true }) && mail::text(self.text, self.at).is_some() {
                self.position = Position::MailText;
                continue;
            }
            if self.is_cut_header() {
                let event = self.refuse(self.line_number, "expected a whole line, found the end".to_owned());
                self.step(self.text.len(), 1);
                return Some(event);
            }
            if first == ESCAPE && is_coloured(header::line_at(self.text, self.at)) {
                let problem = format!("{COLOURED}, found {}", excerpt(self.text, self.at));
                let event = self.refuse(self.line_number, problem);
                self.step(hunk::end_of_line(self.text, self.at), 1);
                return Some(event);
            }
            if matches!(first, b'd' | b'-' | b'S')
                && self.position != (Position::Header { promises_hunk: true })
                && let Some(header) = header::read(self.text, self.at)
            {
                return Some(self.file(header));
            }
            if let Some(problem) = self.out_of_place() {
                return Some(self.refuse(self.line_number, problem));
            }
            if first == b'@' && self.is_hunk() {
                return Some(self.hunk());
            }
            self.step(hunk::end_of_line(self.text, self.at), 1);
            if self.position != Position::Lost {
                self.position = Position::Outside;
            }
        }
        let problem = self.out_of_place()?;
        Some(self.refuse(self.line_number, problem))
    }
}

/// The problem of a line that is colored for a terminal.
pub const COLOURED: &str = "expected a diff without colors";

/// The character that begins an escape sequence of a terminal.
const ESCAPE: u8 = 0x1b;

/// True for a line of a diff behind the escape sequences by which git colors it.
fn is_coloured(line: &[u8]) -> bool {
    let mut rest = line;
    while let Some(sequence) = rest.strip_prefix(b"\x1b[") {
        let end = sequence.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';')).unwrap_or(sequence.len());
        rest = sequence.get(end + 1..).unwrap_or_default();
    }
    [&b"diff --"[..], b"--- ", b"+++ ", b"@@ "].iter().any(|start| rest.starts_with(start))
}

/// True for the `-- ` line above git's version at the end of a mail.
fn is_signature(text: &[u8]) -> bool {
    matches!(text.strip_prefix(b"--"), Some([] | [b' ' | b'\r' | b'\n', ..]))
}

/// The line at `at`, shortened for a message.
fn excerpt(text: &[u8], at: usize) -> String {
    const MAX_BYTES: usize = 40;
    if at >= text.len() {
        return "the end".to_owned();
    }
    let line = header::line_at(text, at);
    let cut = line.len() > MAX_BYTES;
    let shown = String::from_utf8_lossy(&line[..line.len().min(MAX_BYTES)]);
    let shown: String = shown.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect();
    format!("`{shown}{}`", if cut { "…" } else { "" })
}
