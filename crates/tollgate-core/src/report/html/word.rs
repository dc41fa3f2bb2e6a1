//! What changed inside a line.

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::report::html::escape::code;

/// Longer lines are shown without their changed words.
const MAX_BYTES: usize = 600;

/// Shows a line before and after with the changed words marked, if enough of it stayed the same.
pub(super) fn marked(old: &str, new: &str) -> Option<(String, String)> {
    if old.len() > MAX_BYTES || new.len() > MAX_BYTES {
        return None;
    }
    let (before, after) = (words(old), words(new));
    let ops = capture_diff_slices(Algorithm::Myers, &before, &after);
    let weight = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    let (mut left, mut right, mut same) = (String::new(), String::new(), 0);
    for op in ops {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        let (old_words, new_words) = (&before[old_range], &after[new_range]);
        if tag == DiffTag::Equal {
            same += weight(old_words);
            left.push_str(&code(&old_words.concat()));
            right.push_str(&code(&new_words.concat()));
        } else {
            push(&mut left, "del", old_words);
            push(&mut right, "ins", new_words);
        }
    }
    // Two lines with little in common are two lines, not one that changed.
    let enough = same * 5 >= weight(&before).max(weight(&after)) * 2;
    enough.then_some((left, right))
}

fn push(html: &mut String, tag: &str, words: &[&str]) {
    if !words.is_empty() {
        html.push_str(&format!("<{tag}>{}</{tag}>", code(&words.concat())));
    }
}

/// Cuts a line into names, numbers, runs of blanks and single marks.
fn words(line: &str) -> Vec<&str> {
    let kind = |character: char| match character {
        '_' => 1,
        letter if letter.is_alphanumeric() => 1,
        blank if blank.is_whitespace() => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (index, character) in line.char_indices() {
        let kind = kind(character);
        if last.is_some_and(|last| last != kind || kind == 0) {
            words.push(&line[start..index]);
            start = index;
        }
        last = Some(kind);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_are_marked_on_both_sides() {
        let (old, new) = marked("let a = foo(x);", "let a = bar(x);").unwrap();
        assert_eq!(old, "let a = <del>foo</del>(x);");
        assert_eq!(new, "let a = <ins>bar</ins>(x);");
    }

    #[test]
    fn lines_that_share_little_are_not_compared() {
        assert_eq!(marked("return 1;", "import something_else from there;"), None);
        assert_eq!(marked(&"a".repeat(601), "b"), None);
    }
}
