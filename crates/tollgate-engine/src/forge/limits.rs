//! Collects a diff of any size up to a limit.
//!
//! A diff that is too large is cut by file: a file that does not fit is left out and remembered by its header, and
//! smaller ones after it are still kept. Content lines of a diff begin with a marker, so a line that begins with `diff
//! --git` always begins a file.

/// The maximum size of the headers of omitted files.
const MAX_HEADERS: usize = 16 * 1024 * 1024;
/// The maximum length of a header line.
const MAX_LINE: usize = 64 * 1024;

/// Collects a diff in chunks.
#[derive(Debug)]
pub(crate) struct Collector {
    limit: usize,
    kept: Vec<u8>,
    /// The headers of the omitted files.
    headers: Vec<u8>,
    /// The state of cutting, once the limit was reached.
    cutting: Option<Cutting>,
}

#[derive(Debug, Default)]
struct Cutting {
    /// The current file; only its header once it is known not to fit.
    file: Vec<u8>,
    fits: bool,
    in_header: bool,
    /// An incomplete line.
    line: Vec<u8>,
    /// True in the middle of a line too long for `line`.
    mid_line: bool,
}

/// A diff, and the headers of the omitted files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    pub(crate) diff: Vec<u8>,
    pub(crate) left_out: Vec<u8>,
}

impl Collector {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), headers: Vec::new(), cutting: None }
    }

    /// Adds a chunk; false when no more is needed.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> bool {
        if self.cutting.is_none() {
            self.kept.extend_from_slice(chunk);
            if self.kept.len() <= self.limit {
                return true;
            }
            let last_file = last_file_start(&self.kept, self.limit);
            let rest = self.kept.split_off(last_file);
            self.cutting = Some(Cutting::default());
            return self.cut(&rest);
        }
        self.cut(chunk)
    }

    /// Returns the collected diff.
    pub(crate) fn finish(mut self) -> Collected {
        if let Some(mut cutting) = self.cutting.take() {
            let line = std::mem::take(&mut cutting.line);
            self.line(&mut cutting, &line);
            self.end_file(&mut cutting);
        }
        Collected { diff: self.kept, left_out: self.headers }
    }

    fn cut(&mut self, chunk: &[u8]) -> bool {
        let Some(mut cutting) = self.cutting.take() else {
            return false;
        };
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if cutting.mid_line {
                self.content(&mut cutting, piece);
                cutting.mid_line = !ends;
                continue;
            }
            cutting.line.extend_from_slice(piece);
            if ends || cutting.line.len() > MAX_LINE {
                let line = std::mem::take(&mut cutting.line);
                self.line(&mut cutting, &line);
                cutting.mid_line = !ends;
            }
        }
        self.cutting = Some(cutting);
        self.headers.len() <= MAX_HEADERS
    }

    fn line(&mut self, cutting: &mut Cutting, line: &[u8]) {
        if line.starts_with(b"diff --") {
            self.end_file(cutting);
            (cutting.fits, cutting.in_header) = (true, true);
        } else if line.starts_with(b"@@") {
            cutting.in_header = false;
        }
        self.content(cutting, line);
    }

    fn content(&self, cutting: &mut Cutting, bytes: &[u8]) {
        if cutting.fits && self.kept.len() + cutting.file.len() + bytes.len() > self.limit {
            cutting.fits = false;
            let header = header_end(&cutting.file);
            cutting.file.truncate(header);
        }
        if cutting.fits || cutting.in_header {
            cutting.file.extend_from_slice(bytes);
        }
    }

    fn end_file(&mut self, cutting: &mut Cutting) {
        let file = std::mem::take(&mut cutting.file);
        if cutting.fits {
            self.kept.extend_from_slice(&file);
        } else {
            self.headers.extend_from_slice(&file);
        }
    }
}

/// The offset of the first hunk of a file.
fn header_end(file: &[u8]) -> usize {
    let mut at = 0;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"@@") {
            return at;
        }
        at += line.len();
    }
    file.len()
}

/// The offset of the last file whose predecessors all fit.
fn last_file_start(diff: &[u8], limit: usize) -> usize {
    let mark = b"\ndiff --";
    let within = &diff[..diff.len().min(limit.saturating_add(mark.len() - 1))];
    within.windows(mark.len()).rposition(|window| window == mark).map_or(0, |before| before + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(name: &str, n_lines: usize) -> String {
        let body = "+line\n".repeat(n_lines);
        format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1,{n_lines} @@\n{body}")
    }

    fn collect(diff: &str, limit: usize, step: usize) -> (String, String) {
        let mut collector = Collector::new(limit);
        for chunk in diff.as_bytes().chunks(step) {
            assert!(collector.take(chunk));
        }
        let collected = collector.finish();
        (String::from_utf8(collected.diff).unwrap(), String::from_utf8(collected.left_out).unwrap())
    }

    #[test]
    fn a_file_that_does_not_fit_is_left_out_and_smaller_ones_after_it_are_kept() {
        let (small, large, last) = (file("a", 2), file("b", 500), file("c", 2));
        let diff = [small.clone(), large, last.clone()].concat();
        let (kept, left_out) = collect(&diff, 400, 7);
        assert_eq!(kept, [small, last].concat());
        insta::assert_snapshot!(left_out, @r"
        diff --git a/b b/b
        --- a/b
        +++ b/b
        ");
    }

    #[test]
    fn a_line_longer_than_any_header_is_content() {
        let long = format!("{}+{}\n", file("a", 0), "x".repeat(MAX_LINE * 3));
        let diff = [long, file("b", 1)].concat();
        let (kept, left_out) = collect(&diff, 1000, 1 << 14);
        assert_eq!(kept, file("b", 1));
        assert!(left_out.starts_with("diff --git a/a b/a\n") && left_out.len() < 100);
    }

    proptest! {
        #[test]
        fn each_file_is_kept_whole_or_left_out_however_the_pieces_fall(
            sizes in prop::collection::vec(0usize..40, 1..6), limit in 0usize..800, step in 1usize..300,
        ) {
            let files: Vec<String> = sizes.iter().enumerate().map(|(n, &size)| file(&format!("f{n}"), size)).collect();
            let (kept, left_out) = collect(&files.concat(), limit, step);
            prop_assert!(kept.len() <= limit || left_out.is_empty());
            let mut expected = String::new();
            for (n, file) in files.iter().enumerate() {
                let header = format!("diff --git a/f{n} ");
                prop_assert!(kept.contains(&header) != left_out.contains(&header));
                if kept.contains(&header) {
                    expected.push_str(file);
                }
            }
            prop_assert_eq!(kept, expected);
        }
    }
}
