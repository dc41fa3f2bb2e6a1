//! Splits text into sentences and recognises requirements.

/// The words that mark a requirement.
const WORDS: [&str; 6] = ["must", "mustn", "should", "shouldn", "shall", "required"];
/// The words that negate a sentence. Those with an apostrophe are cut there.
const DENIALS: [&str; 9] = ["not", "no", "never", "avoid", "without", "except", "don", "doesn", "cannot"];
/// Abbreviations, whose full stop ends no sentence.
const SHORT: [&str; 6] = ["e.g", "i.e", "etc", "vs", "cf", "approx"];

/// The requirement sentences of a paragraph.
pub(super) fn requirements(text: &str) -> Vec<String> {
    sentences(text).into_iter().filter(|sentence| is_requirement(sentence)).collect()
}

/// All sentences of a paragraph that have words.
pub(super) fn all(text: &str) -> Vec<String> {
    sentences(text).into_iter().filter(|sentence| sentence.contains(char::is_alphanumeric)).collect()
}

/// Splits off the last sentence of a paragraph.
pub(super) fn last(text: &str) -> (&str, &str) {
    let end = ends(text).filter(|end| *end < text.trim_end().len()).last().unwrap_or(0);
    (&text[..end], text[end..].trim())
}

/// True for a sentence with `must`, `should` or `shall`, unless it is a question.
pub(super) fn is_requirement(sentence: &str) -> bool {
    let is_word = |word: &str| WORDS.iter().any(|wanted| word.eq_ignore_ascii_case(wanted));
    let outside_of_code = sentence.split('`').step_by(2);
    let mut words = outside_of_code.flat_map(|part| part.split(|part: char| !part.is_alphanumeric()));
    !sentence.trim_end().ends_with('?') && words.any(is_word)
}

/// True for a sentence that negates the list after it: `Do not use:`.
pub(super) fn is_negation(sentence: &str) -> bool {
    let mut words = sentence.split(|part: char| !part.is_alphanumeric());
    words.any(|word| DENIALS.iter().any(|denial| word.eq_ignore_ascii_case(denial)))
}

/// A text on one line.
pub(super) fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for end in ends(text).chain([text.len()]) {
        sentences.extend(lines(&text[start..end]));
        start = end;
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// The ends of sentences: behind a mark that white space follows, unless it belongs to an abbreviation.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    let mut is_code = false;
    text.char_indices().filter_map(move |(at, part)| {
        is_code ^= part == '`';
        if is_code || !matches!(part, '.' | '!' | '?') {
            return None;
        }
        let (before, after) = (&text[..at], &text[at + 1..]);
        let is_short = SHORT.iter().any(|word| before.ends_with(word));
        let goes_on = after.trim_start().starts_with(|next: char| next.is_lowercase());
        (after.starts_with(char::is_whitespace) && !is_short && !goes_on).then_some(at + 1)
    })
}

/// A sentence on one line, or several when each line is a requirement and begins with a capital: people leave out
/// full stops at the end of a line.
fn lines(text: &str) -> Vec<String> {
    let mut found: Vec<(String, bool)> = Vec::new();
    for line in text.lines().map(joined).filter(|line| !line.is_empty()) {
        let is_one = is_requirement(&line);
        match found.last_mut() {
            Some((_, true)) if is_one && line.starts_with(char::is_uppercase) => found.push((line, is_one)),
            Some((last, any)) => {
                last.push(' ');
                last.push_str(&line);
                *any |= is_one;
            }
            None => found.push((line, is_one)),
        }
    }
    found.into_iter().map(|(sentence, _)| sentence).collect()
}
