//! Code spans in a title, whose content is not a declaration.
//!
//! ```text
//! fix: ``a`b`` and `[wip]` but not ` this
//! ```
//!
//! A run of backticks opens code that the next run of the same length closes;
//! a run without a partner is text.

use std::collections::HashMap;
use std::ops::Range;

/// The ranges of code spans, backticks included, in order.
pub(crate) fn ranges(text: &str) -> Vec<Range<usize>> {
    if memchr::memchr(b'`', text.as_bytes()).is_none() {
        return Vec::new();
    }
    let runs = runs(text.as_bytes());
    // From the end, so that each run finds its nearest later partner in linear time.
    let mut nearest: HashMap<usize, usize> = HashMap::new();
    let mut partner = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        partner[index] = nearest.insert(run.len(), index);
    }
    let (mut found, mut index) = (Vec::new(), 0);
    while index < runs.len() {
        if let Some(end) = partner[index] {
            found.push(runs[index].start..runs[end].end);
            index = end;
        }
        index += 1;
    }
    found
}

/// True when one of the sorted ranges shares a byte with another range.
pub(crate) fn overlaps(sorted: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = sorted.partition_point(|code| code.end <= range.start);
    sorted.get(next).is_some_and(|code| code.start < range.end)
}

fn runs(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr_iter(b'`', bytes) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = ranges(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn runs_of_the_same_length_belong_together() {
        check("a `b` c ``d`e`` f", &["`b`", "``d`e``"]);
        check("```a` b```", &["```a` b```"]);
    }

    #[test]
    fn a_run_without_a_partner_is_text() {
        check("a ` b", &[]);
        check("`` a `b` c", &["`b`"]);
        check("no code", &[]);
    }

    #[test]
    fn code_is_found_under_a_range() {
        let ranges = ranges("`a` b `c`");
        assert!(overlaps(&ranges, &(0..1)) && overlaps(&ranges, &(2..5)) && overlaps(&ranges, &(5..7)));
        assert!(!overlaps(&ranges, &(3..6)) && !overlaps(&ranges, &(9..9)));
    }
}
