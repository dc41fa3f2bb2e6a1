//! What a child is asked about one file.

use tollgate_core::change::Content;
use tollgate_core::diff::{FileDiff, LineKind};
use tollgate_rules::lines::LineSet;
use tollgate_rules::select::RuleIndex;
use tollgate_rules::worker::Scan;

/// A file that is to be scanned.
#[derive(Debug)]
pub(super) struct Planned {
    /// Its place in the change.
    pub(super) index: usize,
    /// Its grammar.
    pub(super) grammar: &'static str,
    /// The embedded rules that can match.
    pub(super) rules: Vec<RuleIndex>,
}

/// What a child is asked: the file as a whole, or each of its hunks.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) index: usize,
    pub(super) parts: Vec<(Scan, Vec<u8>)>,
}

impl Planned {
    /// The questions for a file with this content.
    pub(super) fn with_content(&self, file: &FileDiff, content: Content) -> Job {
        let added = LineSet::added_by(file);
        let parts = match content {
            Content::Whole(text) if agrees(file, &text) => vec![(self.scan(file, 1, added), text)],
            // Without the file, or with one that has moved on since, each hunk is a file of its own.
            _ => {
                fragments(file).into_iter().map(|(first, text)| (self.scan(file, first, added.clone()), text)).collect()
            }
        };
        Job { index: self.index, parts }
    }

    fn scan(&self, file: &FileDiff, first_line: u32, added: LineSet) -> Scan {
        let path = file.path().to_string();
        Scan { path, grammar: self.grammar.to_owned(), first_line, added, rules: self.rules.clone() }
    }
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

/// The lines of each hunk after the change, with the number of the first.
fn fragments(file: &FileDiff) -> Vec<(u32, Vec<u8>)> {
    let text_of = |hunk| {
        let lines = file.lines(hunk).filter(|line| line.kind != LineKind::Removed);
        lines.flat_map(|line| [line.text, b"\n"]).flatten().copied().collect()
    };
    file.hunks.iter().filter(|hunk| hunk.new_len > 0).map(|hunk| (hunk.new_start, text_of(hunk))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n\
        @@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,1 +9,2 @@\n x\n+y\n";

    #[track_caller]
    fn check(content: Content, expected: &[(u32, &str)]) {
        let (files, _) = tollgate_core::diff::parse(DIFF.as_bytes().to_vec());
        let job = Planned { index: 0, grammar: "JavaScript", rules: Vec::new() }.with_content(&files[0], content);
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
}
