//! Redacts secrets in a change before it is shown.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::FileDiff;

/// The number of characters of a secret that stay visible, so that it can be identified.
const KEPT: usize = 4;

/// Copies files, replacing every byte range that `find` reports with `*`.
///
/// Lines keep their length, so that all offsets stay valid.
#[must_use]
pub fn redact(files: &[FileDiff], find: &dyn Fn(&[u8]) -> Vec<Range<usize>>) -> Vec<FileDiff> {
    let mut texts: HashMap<usize, Vec<u8>> = HashMap::new();
    let key = |file: &FileDiff| Arc::as_ptr(&file.text) as usize;
    for file in files {
        let (joined, places) = join(file);
        for range in find(&joined) {
            let text = texts.entry(key(file)).or_insert_with(|| file.text.to_vec());
            hide(text, &joined, &places, range);
        }
    }
    let texts: HashMap<usize, Arc<Vec<u8>>> = texts.into_iter().map(|(key, text)| (key, Arc::new(text))).collect();
    files
        .iter()
        .map(|file| match texts.get(&key(file)) {
            Some(text) => FileDiff { text: Arc::clone(text), ..file.clone() },
            None => file.clone(),
        })
        .collect()
}

/// The lines of a file without diff markers, and for each its offset there and in the diff.
fn join(file: &FileDiff) -> (Vec<u8>, Vec<(usize, usize)>) {
    let (mut joined, mut places) = (Vec::new(), Vec::new());
    let start = file.text.as_ptr() as usize;
    for line in file.hunks.iter().flat_map(|hunk| file.lines(hunk)) {
        places.push((joined.len(), (line.text.as_ptr() as usize).saturating_sub(start)));
        joined.extend_from_slice(line.text);
        joined.push(b'\n');
    }
    (joined, places)
}

fn hide(text: &mut [u8], joined: &[u8], places: &[(usize, usize)], range: Range<usize>) {
    let kept = if range.len() >= 4 * KEPT { KEPT } else { 0 };
    for (at, _) in
        joined.iter().enumerate().take(range.end).skip(range.start + kept).filter(|(_, byte)| **byte != b'\n')
    {
        let line = places.partition_point(|(line, _)| *line <= at).checked_sub(1).and_then(|index| places.get(index));
        if let Some(byte) = line.and_then(|(line, in_diff)| text.get_mut(in_diff + (at - line))) {
            *byte = b'*';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn secrets_are_replaced_and_the_rest_is_kept() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n keep\n-old\n+key=0123456789abcdef0123\n";
        let (files, _) = parse(text.as_bytes().to_vec());
        let find = |joined: &[u8]| {
            let at = joined.windows(4).position(|window| window == b"key=").unwrap();
            std::iter::once(at + 4..at + 24).collect()
        };
        let shown = redact(&files, &find);
        assert_eq!(shown[0].added().collect::<Vec<_>>(), [(2, &b"key=0123****************"[..])]);
        assert_eq!(shown[0].removed().collect::<Vec<_>>(), files[0].removed().collect::<Vec<_>>());
    }

    #[test]
    fn a_secret_over_several_lines_keeps_the_line_breaks() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,3 @@\n+aaa\n+bbb\n+ccc\n";
        let (files, _) = parse(text.as_bytes().to_vec());
        let shown = redact(&files, &|_| std::iter::once(1..10).collect());
        let lines: Vec<&[u8]> = shown[0].added().map(|(_, line)| line).collect();
        assert_eq!(lines, [&b"a**"[..], b"***", b"**c"]);
    }
}
