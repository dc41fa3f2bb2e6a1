//! Prints a parsed diff in git's format.
//!
//! Headers and the text between diffs are copied; hunks are rebuilt from their lines, so that `print` after `parse` returns
//! the input only if every line was parsed correctly.

use crate::diff::{FileDiff, Hunk, LineKind};

/// Prints the files of one input. For output of git, the result equals the input.
#[must_use]
pub fn print(files: &[FileDiff]) -> Vec<u8> {
    let mut out = Vec::new();
    for file in files {
        out.extend_from_slice(file.before.of(&file.text));
        out.extend_from_slice(file.header.of(&file.text));
        for hunk in &file.hunks {
            out.extend_from_slice(hunk.between.of(&file.text));
            print_head(&mut out, file, hunk);
            print_lines(&mut out, file, hunk);
        }
        out.extend_from_slice(file.after.of(&file.text));
    }
    out
}

fn print_head(out: &mut Vec<u8>, file: &FileDiff, hunk: &Hunk) {
    if hunk.n_parents > 1 {
        out.extend_from_slice(hunk.head.of(&file.text));
        return;
    }
    let span = |start: u32, len: u32| if len == 1 { start.to_string() } else { format!("{start},{len}") };
    let (old, new) = (span(hunk.old_start, hunk.old_len), span(hunk.new_start, hunk.new_len));
    out.extend_from_slice(format!("@@ -{old} +{new} @@").as_bytes());
    out.extend_from_slice(hunk.section.of(&file.text));
    out.push(b'\n');
}

fn print_lines(out: &mut Vec<u8>, file: &FileDiff, hunk: &Hunk) {
    let mut lines = file.lines(hunk);
    while let Some((marks, line)) = lines.next_with_marks() {
        let mark: &[u8] = match line.kind {
            _ if hunk.n_parents > 1 => marks,
            LineKind::Context if hunk.has_bare_blanks && line.text.is_empty() => b"",
            LineKind::Context => b" ",
            LineKind::Added => b"+",
            LineKind::Removed => b"-",
        };
        out.extend_from_slice(mark);
        out.extend_from_slice(line.text);
        out.push(b'\n');
        if !line.newline {
            out.extend_from_slice(b"\\ No newline at end of file\n");
        }
    }
}
