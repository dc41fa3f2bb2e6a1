//! The scan requests for one file.

use std::borrow::Cow;

use tollgate_core::change::Content;
use tollgate_core::diff::{FileDiff, Hunk, LineKind, Status};
use tollgate_rules::lines::LineSet;
use tollgate_rules::script::{self, Host};
use tollgate_rules::select::{RuleIndex, Selector, grammar_name};
use tollgate_rules::worker::Scan;

use super::ReadContent;
use crate::failure::Failure;

/// A larger file is scanned in pieces, at most this many.
const MAX_PIECES: u64 = 16;

/// A file that is to be scanned.
#[derive(Debug)]
pub(super) struct Planned {
    /// Its index in the change.
    pub(super) index: usize,
    /// Its grammar; empty when it has none and holds scripts of another language.
    pub(super) grammar: &'static str,
    /// The scripts that it can hold.
    pub(super) script: Option<Host>,
    /// True for a test, in which some rules do not run.
    pub(super) in_test: bool,
    /// The embedded rules that can match.
    pub(super) rules: Vec<RuleIndex>,
    /// True when the user has rules for it, too.
    pub(super) for_user: bool,
}

/// The requests for a file: the file as a whole, or each of its hunks; none when no rule can match.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) index: usize,
    pub(super) parts: Vec<(Scan, Vec<u8>)>,
}

/// The files of a plan, each read when it is needed.
pub(super) struct Jobs<'a, 'r> {
    files: &'a [FileDiff],
    planned: std::slice::Iter<'a, Planned>,
    selector: &'a mut Selector,
    read: &'a mut ReadContent<'r>,
    max_bytes: u64,
}

/// The result of reading a file.
#[derive(Debug)]
pub(super) enum Next {
    /// A child has to scan it.
    Ask(Job),
    /// The file is done: nothing can be found in it, or for this reason it cannot be read.
    Done(usize, Result<(), String>),
}

impl<'a, 'r> Jobs<'a, 'r> {
    pub(super) fn new(
        files: &'a [FileDiff],
        planned: &'a [Planned],
        selector: &'a mut Selector,
        read: &'a mut ReadContent<'r>,
        max_bytes: u64,
    ) -> Self {
        Self { files, planned: planned.iter(), selector, read, max_bytes }
    }

    /// How many files are left.
    pub(super) fn n_left(&self) -> usize {
        self.planned.len()
    }

    /// Reads the next file.
    pub(super) fn next(&mut self) -> Result<Option<Next>, Failure> {
        let Some(plan) = self.planned.next() else {
            return Ok(None);
        };
        let file = &self.files[plan.index];
        let content = match text_of_new_file(file) {
            Some(text) => Content::Whole(text),
            None => (self.read)(file, self.max_bytes)?,
        };
        let max_bytes = self.max_bytes.saturating_mul(MAX_PIECES);
        let longest = file.hunks.iter().map(|hunk| file.body(hunk).len()).max().unwrap_or_default();
        if longest as u64 > max_bytes {
            return Ok(Some(Next::Done(plan.index, Err(format!("larger than {}", bytes(max_bytes))))));
        }
        let piece = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
        let job = plan.with_content(file, content, piece, self.selector);
        Ok(Some(if job.parts.is_empty() { Next::Done(plan.index, Ok(())) } else { Next::Ask(job) }))
    }
}

impl Planned {
    /// The questions for a file with this content, each about at most `max_bytes`.
    fn with_content(&self, file: &FileDiff, content: Content, max_bytes: usize, selector: &mut Selector) -> Job {
        let added = Cow::Owned(LineSet::added_by(file));
        let mut parts = Vec::new();
        match content {
            Content::Whole(text) if text.len() <= max_bytes && agrees(file, &text) => {
                parts.extend(self.script_part(file, &text, &added, selector));
                parts.extend(self.part(file, (1, text), added, selector));
            }
            // Without the file, or with one that changed since or is too large, each hunk is scanned as a file of its own.
            _ => {
                for hunk in file.hunks.iter().filter(|hunk| hunk.new_len > 0) {
                    for piece in pieces(hunk.new_start, text_of(file, hunk), max_bytes) {
                        parts.extend(self.part(file, piece, Cow::Borrowed(&*added), selector));
                    }
                }
            }
        }
        Job { index: self.index, parts }
    }

    /// The question for the scripts in a file of another language, unless no rule can match them.
    fn script_part(
        &self,
        file: &FileDiff,
        text: &[u8],
        added: &LineSet,
        selector: &mut Selector,
    ) -> Option<(Scan, Vec<u8>)> {
        let (grammar, text) = script::extract(self.script?, text)?;
        let grammar = grammar_name(grammar);
        let mut rules = selector.select_as(file, grammar, self.in_test);
        selector.confirm(&mut rules, &text);
        let (path, grammar) = (file.path().to_string(), grammar.to_owned());
        (!rules.is_empty()).then(|| (Scan { path, grammar, first_line: 1, added: added.clone(), rules }, text))
    }

    /// The question for a text that begins at this line, unless no rule can match it.
    fn part(
        &self,
        file: &FileDiff,
        (first_line, text): (u32, Vec<u8>),
        added: Cow<'_, LineSet>,
        selector: &mut Selector,
    ) -> Option<(Scan, Vec<u8>)> {
        let mut rules = self.rules.clone();
        selector.confirm(&mut rules, &text);
        if self.grammar.is_empty() || (rules.is_empty() && !self.for_user) {
            return None;
        }
        let (path, grammar) = (file.path().to_string(), self.grammar.to_owned());
        Some((Scan { path, grammar, first_line, added: added.into_owned(), rules }, text))
    }
}

/// The text of a file that the change adds: the diff has it from the first byte to the last.
fn text_of_new_file(file: &FileDiff) -> Option<Vec<u8>> {
    match file.hunks.as_slice() {
        [hunk] if file.status == Status::Added && hunk.new_start == 1 && hunk.n_parents == 1 => {
            Some(text_of(file, hunk))
        }
        _ => None,
    }
}

/// Cuts a text at line ends into pieces of at most this size, each with its first line; a longer line stays whole.
fn pieces(first_line: u32, text: Vec<u8>, max_bytes: usize) -> Vec<(u32, Vec<u8>)> {
    if text.len() <= max_bytes {
        return vec![(first_line, text)];
    }
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    for (line, number) in text.split_inclusive(|byte| *byte == b'\n').zip(first_line..) {
        match pieces.last_mut() {
            Some((_, piece)) if piece.len() + line.len() <= max_bytes => piece.extend_from_slice(line),
            _ => pieces.push((number, line.to_vec())),
        }
    }
    pieces
}

/// True when the lines that the diff adds are where it says they are.
fn agrees(file: &FileDiff, text: &[u8]) -> bool {
    let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
    let mut start = 0;
    let mut lines = ends.map(|end| &text[std::mem::replace(&mut start, end + 1)..end]).zip(1u32..);
    file.added().all(|(number, expected)| {
        let line = lines.find(|(_, at)| *at == number);
        line.is_some_and(|(line, _)| without_return(line) == without_return(expected))
    })
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The lines of a hunk after the change.
fn text_of(file: &FileDiff, hunk: &Hunk) -> Vec<u8> {
    let mut text = Vec::with_capacity(file.body(hunk).len());
    for line in file.lines(hunk).filter(|line| line.kind != LineKind::Removed) {
        text.extend_from_slice(line.text);
        if line.newline {
            text.push(b'\n');
        }
    }
    text
}

fn bytes(count: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if count.is_multiple_of(MIB) { format!("{} MiB", count / MIB) } else { format!("{count} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n\
        @@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,1 +9,2 @@\n x\n+y\n";

    #[track_caller]
    fn check(content: Content, expected: &[(u32, &str)]) {
        let (files, _) = tollgate_core::diff::parse(DIFF.as_bytes().to_vec());
        let planned = Planned {
            index: 0,
            grammar: "JavaScript",
            script: None,
            in_test: false,
            rules: Vec::new(),
            for_user: true,
        };
        let job = planned.with_content(&files[0], content, 1000, &mut Selector::default());
        let parts: Vec<(u32, String)> =
            job.parts.into_iter().map(|(scan, text)| (scan.first_line, String::from_utf8(text).unwrap())).collect();
        let parts: Vec<(u32, &str)> = parts.iter().map(|(first, text)| (*first, text.as_str())).collect();
        assert_eq!(parts, expected);
    }

    #[test]
    fn the_whole_file_is_asked_about_when_it_is_there() {
        let text = "a\r\nc\r\n3\n4\n5\n6\n7\n8\nx\ny\n";
        check(Content::Whole(text.as_bytes().to_vec()), &[(1, text)]);
    }

    #[test]
    fn each_hunk_is_asked_about_when_the_file_is_not_there_or_has_moved_on() {
        let fragments = [(1, "a\nc\n"), (9, "x\ny\n")];
        check(Content::Unknown, &fragments);
        check(Content::Whole(b"a\nchanged\n".to_vec()), &fragments);
        check(Content::Whole(Vec::new()), &fragments);
    }

    /// Plans a file whose content reads as this.
    #[track_caller]
    fn check_next(diff: &str, for_user: bool, max_bytes: u64, elsewhere: &str, expected: &str) {
        let (files, _) = tollgate_core::diff::parse(diff.as_bytes().to_vec());
        let mut selector = Selector::new(|_| true);
        let rules = selector.select(&files[0], false);
        let planned = [Planned { index: 0, grammar: "JavaScript", script: None, in_test: false, rules, for_user }];
        let read = &mut |_: &FileDiff, _: u64| Ok(Content::Whole(elsewhere.as_bytes().to_vec()));
        let mut jobs = Jobs::new(&files, &planned, &mut selector, read, max_bytes);
        let said = match jobs.next().unwrap().unwrap() {
            Next::Ask(job) => String::from_utf8(job.parts.into_iter().flat_map(|(_, text)| text).collect()).unwrap(),
            Next::Done(0, Ok(())) => "nothing to find".to_owned(),
            Next::Done(_, reason) => reason.unwrap_err(),
        };
        assert_eq!(said, expected);
        assert!(jobs.next().unwrap().is_none());
    }

    const NEW: &str = "diff --git a/a.js b/a.js\nnew file mode 100644\n--- /dev/null\n+++ b/a.js\n\
        @@ -0,0 +1,2 @@\n+try { f() }\n+catch {}\n\\ No newline at end of file\n";

    #[test]
    fn a_new_file_is_taken_from_the_diff() {
        check_next(NEW, false, 100, "elsewhere", "try { f() }\ncatch {}");
        check_next(NEW, false, 1, "elsewhere", "larger than 16 bytes");
    }

    #[test]
    fn a_large_text_is_cut_at_line_ends() {
        let cut = |max_bytes| pieces(5, b"ab\ncd\nefghij\nk".to_vec(), max_bytes);
        assert_eq!(cut(100), [(5, b"ab\ncd\nefghij\nk".to_vec())]);
        assert_eq!(cut(6), [(5, b"ab\ncd\n".to_vec()), (7, b"efghij\n".to_vec()), (8, b"k".to_vec())]);
        assert_eq!(cut(0).len(), 4);
    }

    #[test]
    fn a_file_in_which_no_rule_can_match_is_asked_about_only_for_the_user() {
        let handled = NEW.replace("catch {}", "catch { g() }");
        check_next(&handled, false, 100, "", "nothing to find");
        check_next(&handled, true, 100, "", "try { f() }\ncatch { g() }");
    }

    #[test]
    fn a_changed_file_is_read_to_see_whether_a_rule_can_match() {
        let changed = "diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n@@ -2 +2 @@\n-catch { g() }\n+catch\n";
        check_next(changed, false, 100, "try { f() }\ncatch\n{}\n", "try { f() }\ncatch\n{}\n");
        check_next(changed, false, 100, "try { f() }\ncatch\n{ h() }\n", "nothing to find");
    }
}
