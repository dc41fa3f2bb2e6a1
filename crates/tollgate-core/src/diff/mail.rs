//! The text of a mail before its patch, as `git format-patch` and mail programs write it.
//!
//! ```text
//! From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
//! From: Ada <ada@example.org>
//! Subject: [PATCH] quote a diff
//!
//! The change before this one was
//! diff --git a/x b/x
//! ---
//!  y | 1 +
//! ```
//!
//! Up to the line `---` a mail is prose, also where it looks like a diff. `git am` would take such lines for a part of the
//! patch, so [`files_in_text`] names the files they would change.

use std::ops::Range;

use crate::diff::header;
use crate::diff::hunk::end_of_line;
use crate::path::RepoPath;

/// The line that ends the text of a mail.
pub(super) const SEPARATOR: &[u8] = b"---";

/// Longer texts are not searched for their end; diffs in them are taken for files.
const MAX_TEXT: usize = 1024 * 1024;

/// The fields that a mail without the line of a mailbox may begin with.
const FIELDS: [&[u8]; 8] = [
    b"From: ",
    b"Subject: ",
    b"Date: ",
    b"Message-Id: ",
    b"Message-ID: ",
    b"Received: ",
    b"Return-Path: ",
    b"MIME-Version: ",
];

/// The text of the mail that begins at `at`, up to its `---` line; `None` when no mail with such a line begins there.
pub(super) fn text(text: &[u8], at: usize) -> Option<Range<usize>> {
    let first = text.get(at..)?;
    let begins = is_mailbox_line(first) || at == 0 && FIELDS.iter().any(|field| first.starts_with(field));
    if !begins {
        return None;
    }
    let start = end_of_line(text, at);
    let mut line = start;
    while line < text.len().min(start + MAX_TEXT) && !is_mailbox_line(&text[line..]) {
        if header::line_at(text, line) == SEPARATOR {
            return Some(start..line);
        }
        line = end_of_line(text, line);
    }
    None
}

/// The start of the last mail in a piece of a patch, when the text of that mail may end behind the piece.
pub(crate) fn open_at_end(piece: &[u8], is_first_piece: bool) -> Option<usize> {
    let tail = piece.len().saturating_sub(MAX_TEXT);
    let lines = memchr::memmem::rfind_iter(&piece[tail..], b"\nFrom ").map(|feed| tail + feed + 1);
    let start = lines
        .into_iter()
        .find(|&line| is_mailbox_line(&piece[line..]))
        .or((is_first_piece && tail == 0).then_some(0))?;
    let begins = is_mailbox_line(&piece[start..]) || FIELDS.iter().any(|field| piece.starts_with(field));
    (begins && text(piece, start).is_none()).then_some(start)
}

/// True for `From 0123… Mon Sep 17 00:00:00 2001`.
fn is_mailbox_line(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"From ") else { return false };
    let n_digits = rest.iter().take(65).take_while(|byte| byte.is_ascii_hexdigit()).count();
    matches!(n_digits, 40 | 64) && rest.get(n_digits) == Some(&b' ')
}

/// The files of diffs in the texts of mails, which are not part of the parsed change.
#[must_use]
pub fn files_in_text(patch: &[u8]) -> Vec<RepoPath> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < patch.len() {
        if let Some(range) = text(patch, at) {
            at = range.end;
            let (files, _) = super::parse(patch[range].to_vec());
            paths.extend(files.into_iter().filter(|file| !file.hunks.is_empty()).map(|file| file.path().clone()));
        }
        at = end_of_line(patch, at);
    }
    paths
}
