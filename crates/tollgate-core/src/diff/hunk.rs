//! Parses hunks: the header, and the lines that its counts claim.
//!
//! ```text
//! @@ -1,2 +1,2 @@ fn main() {          one parent
//! @@@ -1,2 -1,2 +1,3 @@@ fn main() {   a merge of two parents
//! ```

use std::ops::Range;

use crate::diff::line_feeds::Feeds;
use crate::diff::line_marks::{self, Marks};

/// The parsed header of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkHead<'a> {
    /// First line before the change (in a merge: in the first parent); 0 when there is none.
    pub old_start: u32,
    /// Number of lines before the change.
    pub old_len: u32,
    /// First line after the change; 0 when there is none.
    pub new_start: u32,
    /// Number of lines after the change.
    pub new_len: u32,
    /// The number of parents: 1, or more in a combined diff.
    pub n_parents: u8,
    /// The text after the last `@@`, with its leading space.
    pub section: &'a [u8],
    /// In a merge, the ranges of every parent, as text: `-1,2 -1,2 `.
    parents: &'a [u8],
}

/// The body of a hunk, delimited by its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    /// Bytes of the body.
    pub(super) len: usize,
    /// Lines of the body, `\ No newline` lines included.
    pub(super) n_lines: u32,
    /// Lines only after the change.
    pub(super) n_added: u32,
    /// Lines only before the change.
    pub(super) n_removed: u32,
    /// True when a context line is empty without its leading space.
    pub(super) has_bare_blanks: bool,
    /// A byte range that covers all added lines, not necessarily minimal.
    pub(super) added: Range<usize>,
}

/// The position at which a hunk contradicts its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    /// Bytes before the offending line.
    pub(super) at: usize,
    /// Lines before it.
    pub(super) n_lines: u32,
    /// Lines before the change that are still missing.
    pub(super) old_left: u32,
    /// Lines after the change that are still missing.
    pub(super) new_left: u32,
}

/// Parses a hunk header, without its line feed.
pub(crate) fn head(line: &[u8]) -> Option<HunkHead<'_>> {
    match line.strip_prefix(b"@@ -") {
        Some(parents) => {
            let ((old_start, old_len), rest) = range(parents)?;
            let ((new_start, new_len), rest) = range(rest.strip_prefix(b" +")?)?;
            let section = rest.strip_prefix(b" @@")?;
            Some(HunkHead { old_start, old_len, new_start, new_len, n_parents: 1, section, parents: &[] })
        }
        None => combined_head(line),
    }
}

/// Parses the hunk header of a merge: one more `@` and range per parent.
fn combined_head(line: &[u8]) -> Option<HunkHead<'_>> {
    let n_ats = line.iter().take_while(|&&byte| byte == b'@').count();
    let n_parents = u8::try_from(n_ats.checked_sub(1)?).ok().filter(|&n_parents| n_parents > 1)?;
    let parents = line[n_ats..].strip_prefix(b" ")?;
    let mut rest = parents;
    let mut first = None;
    for _ in 0..n_parents {
        let (place, behind) = range(rest.strip_prefix(b"-")?)?;
        first.get_or_insert(place);
        rest = behind.strip_prefix(b" ")?;
    }
    let parents = &parents[..parents.len() - rest.len()];
    let ((new_start, new_len), behind) = range(rest.strip_prefix(b"+")?)?;
    let section = behind.strip_prefix(b" ")?.strip_prefix(&line[..n_ats])?;
    let (old_start, old_len) = first?;
    Some(HunkHead { old_start, old_len, new_start, new_len, n_parents, section, parents })
}

/// Parses `12,3` or `12`. Lines are counted from 1, and the number of the last one must not overflow.
#[inline]
fn range(text: &[u8]) -> Option<((u32, u32), &[u8])> {
    let (start, rest) = number(text)?;
    let (len, rest) = match rest.strip_prefix(b",") {
        Some(rest) => number(rest)?,
        None => (1, rest),
    };
    start.checked_add(len)?;
    Some(((start, len), rest)).filter(|_| start > 0 || len == 0)
}

#[inline]
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (mut value, mut n_digits) = (0u64, 0);
    while let Some(digit @ b'0'..=b'9') = text.get(n_digits) {
        value = value * 10 + u64::from(digit - b'0');
        n_digits += 1;
        if value > u64::from(u32::MAX) {
            return None;
        }
    }
    Some((u32::try_from(value).ok()?, &text[n_digits..])).filter(|_| n_digits > 0)
}

/// Skips the lines that a hunk header claims; `text` begins after the header.
pub(super) fn body(head: &HunkHead<'_>, text: &[u8]) -> Result<Body, Broken> {
    if head.n_parents > 1 {
        return combined_body(head, text);
    }
    let (old, new) = (head.old_len, head.new_len);
    let mut left = Left { old, new, n_context: 0, first_added: usize::MAX, last_added: 0 };
    let (mut at, mut n_marks) = (0, 0);
    let mut has_bare_blanks = false;
    let mut feeds = Feeds::default();
    while left.old != 0 || left.new != 0 {
        let mark = text.get(at);
        let both_lack = left.old != 0 && left.new != 0;
        match mark {
            // Hunks usually begin and end with context, so this case comes first.
            _ if both_lack && mark == Some(&b' ') => left.take_context(),
            Some(b'+') if left.new != 0 => {
                left.new -= 1;
                (left.first_added, left.last_added) = (left.first_added.min(at), at);
            }
            Some(b'-') if left.old != 0 => left.old -= 1,
            Some(b'\n') if both_lack => {
                left.take_context();
                has_bare_blanks = true;
            }
            Some(b'\\') if at > 0 => n_marks += 1,
            _ => {
                let n_read = (head.old_len - left.old) + (head.new_len - left.new) - left.n_context + n_marks;
                return Err(Broken { at, n_lines: n_read, old_left: left.old, new_left: left.new });
            }
        }
        if at == 0 {
            feeds = Feeds::starting_at(text, left.pass_blocks(text));
        }
        // The last line may have no line feed.
        at = feeds.next().map_or(text.len(), |feed| feed + 1);
    }
    if text.get(at) == Some(&b'\\') {
        at = end_of_line(text, at);
        n_marks += 1;
    }
    let (n_added, n_removed) = (head.new_len - left.n_context, head.old_len - left.n_context);
    let n_lines = left.n_context + n_added + n_removed + n_marks;
    let added = if n_added == 0 { 0..0 } else { left.first_added..end_of_line(text, left.last_added) };
    Ok(Body { len: at, n_lines, n_added, n_removed, has_bare_blanks, added })
}

/// The lines that a hunk still lacks, and its context lines so far.
struct Left {
    old: u32,
    new: u32,
    n_context: u32,
    /// An offset before the first added line, at most a block away; past the text when there is none.
    first_added: usize,
    /// An offset in the last line that may be added.
    last_added: usize,
}

impl Left {
    fn take_context(&mut self) {
        (self.old, self.new, self.n_context) = (self.old - 1, self.new - 1, self.n_context + 1);
    }

    /// Counts lines block by block, as long as whole blocks belong to the hunk. Returns the offset from which the end of the
    /// last counted line must be searched.
    fn pass_blocks(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        // With fewer lines left, the hunk usually ends within the block.
        while self.old.max(self.new) > (line_marks::BLOCK / 32) as u32
            && let Some(marks) = text.get(at..).and_then(Marks::of_block)
            && marks.n_other == 0
            && let Some(old) = self.old.checked_sub(marks.n_removed + marks.n_context)
            && let Some(new) = self.new.checked_sub(marks.n_added + marks.n_context)
        {
            (self.old, self.new, self.n_context) = (old, new, self.n_context + marks.n_context);
            if marks.n_added > 0 {
                (self.first_added, self.last_added) = (self.first_added.min(at), at + line_marks::BLOCK);
            }
            at += line_marks::BLOCK;
        }
        at
    }
}

/// Skips the lines of a merge hunk, which have a marker column and a count per parent.
fn combined_body(head: &HunkHead<'_>, text: &[u8]) -> Result<Body, Broken> {
    let mut lefts = parent_lens(head);
    let mut new_left = head.new_len;
    let mut body = Body { len: 0, n_lines: 0, n_added: 0, n_removed: 0, has_bare_blanks: false, added: 0..0 };
    loop {
        let done = new_left == 0 && lefts.iter().all(|&left| left == 0);
        let next = text.get(body.len);
        if done && next != Some(&b'\\') {
            return Ok(Body { added: 0..body.len, ..body });
        }
        let end = end_of_line(text, body.len);
        if next != Some(&b'\\') || body.len == 0 {
            let marks = text.get(body.len..body.len + lefts.len()).filter(|marks| !marks.contains(&b'\n'));
            let taken = marks.is_some_and(|marks| take(marks, &mut lefts, &mut new_left, &mut body));
            // When all parents lose the same lines, git miscounts the parents, but never the result.
            if !taken && new_left == 0 && body.n_lines > 0 {
                return Ok(Body { added: 0..body.len, ..body });
            }
            if !taken {
                let old_left = lefts.first().copied().unwrap_or(0);
                return Err(Broken { at: body.len, n_lines: body.n_lines, old_left, new_left });
            }
        }
        body.len = end;
        body.n_lines += 1;
    }
}

/// Counts one line of a merge; false when its markers are invalid, or the result has no line left.
fn take(marks: &[u8], lefts: &mut [u32], new_left: &mut u32, body: &mut Body) -> bool {
    let gone = marks.contains(&b'-');
    // In a line of the result, `+` means that the parent lacks it; in a removed line, `-` means that the parent has it.
    for (mark, left) in marks.iter().zip(lefts) {
        let has = match (mark, gone) {
            (b'-', _) => true,
            (b' ', gone) => !gone,
            (b'+', false) => false,
            _ => return false,
        };
        *left = left.saturating_sub(u32::from(has));
    }
    if gone {
        body.n_removed += 1;
        return true;
    }
    let Some(fewer) = new_left.checked_sub(1) else { return false };
    *new_left = fewer;
    body.n_added += u32::from(marks.contains(&b'+'));
    true
}

fn parent_lens(head: &HunkHead<'_>) -> Vec<u32> {
    let places = head.parents.split(|&byte| byte == b' ').filter_map(|text| range(text.strip_prefix(b"-")?));
    places.map(|((_, len), _)| len).collect()
}

/// The end of the line at `at`, line feed included.
#[inline]
pub(super) fn end_of_line(text: &[u8], at: usize) -> usize {
    match memchr::memchr(b'\n', &text[at..]) {
        Some(len) => at + len + 1,
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(header: &str, text: &str, expected: &str) {
        let shown = match head(header.as_bytes()) {
            None => "no header".to_owned(),
            Some(head) => match body(&head, text.as_bytes()) {
                Ok(body) => {
                    format!("+{} -{} in {} lines, {} bytes", body.n_added, body.n_removed, body.n_lines, body.len)
                }
                Err(broken) => {
                    format!("broken after {} lines, -{} +{} missing", broken.n_lines, broken.old_left, broken.new_left)
                }
            },
        };
        assert_eq!(shown, expected, "{header}");
    }

    #[test]
    fn the_counts_decide_where_a_hunk_ends() {
        check("@@ -1,2 +1,1 @@ fn f()", "--- a/x\n keep\n--- a/y\n", "+0 -1 in 2 lines, 14 bytes");
        check("@@ -1 +1 @@", "-a\n\\ No newline at end of file\n+b\n\\ No newline\n+c\n", "+1 -1 in 4 lines, 47 bytes");
        check("@@ -1,2 +1,2 @@", "\n a", "+0 -0 in 2 lines, 3 bytes");
        check("@@ -0,0 +0,0 @@", "+x\n", "+0 -0 in 0 lines, 0 bytes");
    }

    #[test]
    fn lines_beyond_the_counts_are_errors() {
        check("@@ -1,2 +1,2 @@", " a\n+b\n", "broken after 2 lines, -1 +0 missing");
        check("@@ -1,2 +1,2 @@", " a\ndiff --git a/x b/x\n", "broken after 1 lines, -1 +1 missing");
        check("@@ -1 +0,0 @@", "+a\n", "broken after 0 lines, -1 +0 missing");
        check("@@ -1 +1 @@", "\\ No newline\n", "broken after 0 lines, -1 +1 missing");
    }

    #[test]
    fn every_parent_of_a_merge_has_its_own_count() {
        check("@@@ -1,2 -1,1 +1,3 @@@ f", "  a\n+ b\n -c\n", "broken after 3 lines, -1 +1 missing");
        check("@@@ -1,2 -1,2 +1,3 @@@ f", "  a\n +b\n+ c\n", "+2 -0 in 3 lines, 12 bytes");
        check("@@@ -1,2 -1,1 +1,1 @@@", "  a\n- b\n", "+0 -1 in 2 lines, 8 bytes");
        check("@@@@ -1 -1 -1 +1 @@@@", "---a\n+++b\n", "+1 -1 in 2 lines, 10 bytes");
    }

    #[test]
    fn parents_that_git_miscounts_do_not_break_a_merge() {
        check("@@@ -1,9 -1,1 +1,1 @@@ f", "  a\n- b\n@@@ -20 -20 +20 @@@", "+0 -1 in 2 lines, 8 bytes");
        check("@@@ -1,2 -1,9 +1,1 @@@ f", "  a\n- b\n\ncommit", "+0 -1 in 2 lines, 8 bytes");
    }

    #[test]
    fn headers_that_cannot_be_counted_are_refused() {
        for header in [
            "@@ -1 +1",
            "@@ -1,a +1 @@",
            "@@ +1 -1 @@",
            "@@@ -1 +1 @@@",
            "@@ -1,4294967296 +1 @@",
            "@@ -4294967295,1 +1 @@",
            "@ -1 +1 @",
            "@@-1 +1 @@",
            "@@ - + @@",
        ] {
            check(header, "", "no header");
        }
    }

    /// A reference implementation, line by line.
    fn straightforward(head: &HunkHead<'_>, text: &[u8]) -> Option<(usize, u32, u32)> {
        let (mut old, mut new, mut len) = (head.old_len, head.new_len, 0);
        let (mut n_added, mut n_removed) = (0, 0);
        while old > 0 || new > 0 {
            match text.get(len)? {
                b'+' => (new, n_added) = (new.checked_sub(1)?, n_added + 1),
                b'-' => (old, n_removed) = (old.checked_sub(1)?, n_removed + 1),
                b' ' | b'\n' => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
                b'\\' if len > 0 => {}
                _ => return None,
            }
            len = end_of_line(text, len);
        }
        if text.get(len) == Some(&b'\\') {
            len = end_of_line(text, len);
        }
        Some((len, n_added, n_removed))
    }

    proptest! {
        #[test]
        fn blocks_are_counted_like_lines(
            lines in prop::collection::vec("[-+ ]([a-z+\\- ]{0,9}|[a-z]{60,200})|[-+ ][a-z]{20}|\\\\|@|", 0..80),
            (n_claimed, n_more) in (0..80usize, prop::sample::select(vec![0, 0, 0, 1])),
        ) {
            let claimed = || lines.iter().take(n_claimed);
            let old_len = claimed().filter(|line| line.is_empty() || line.starts_with([' ', '-'])).count() + n_more;
            let new_len = claimed().filter(|line| line.is_empty() || line.starts_with([' ', '+'])).count();
            let line = format!("@@ -1,{old_len} +1,{new_len} @@");
            let (head, text) = (head(line.as_bytes()).unwrap(), lines.join("\n"));
            let found = body(&head, text.as_bytes());
            let shown = found.as_ref().ok().map(|body| (body.len, body.n_added, body.n_removed));
            prop_assert_eq!(shown, straightforward(&head, text.as_bytes()));
            if let Ok(body) = found {
                let starts = text[..body.len].match_indices('\n').map(|(feed, _)| feed + 1).chain([0]);
                let added = |start: &usize| *start < body.len && text[*start..].starts_with('+');
                prop_assert!(starts.filter(added).all(|start| body.added.contains(&start)));
            }
        }
    }
}
