//! Counts and sentences in English.

use crate::comment::Label;
use crate::finding::Severity;

/// `1 file`, `2 files`.
pub(crate) fn plural(n: u64, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

/// The number of findings by label, worst first.
pub(crate) fn counts(severities: impl IntoIterator<Item = Severity>) -> [(Label, usize); 4] {
    let mut counts = Label::ALL.map(|label| (label, 0));
    for label in severities.into_iter().filter_map(Label::of) {
        counts[label as usize].1 += 1;
    }
    counts
}

/// `1 critical and 2 major findings`, `2 medium and 1 minor finding`; `None` when all are zero.
pub(crate) fn in_words(counts: &[(Label, usize)]) -> Option<String> {
    let named = counts.iter().filter(|(_, n)| *n > 0);
    // The noun agrees with the last number.
    let (_, n_last) = named.clone().next_back()?;
    let named: Vec<String> = named.map(|(label, n)| format!("{n} {}", label.heading().to_lowercase())).collect();
    let (last, rest) = named.split_last()?;
    let listed = if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) };
    Some(format!("{listed} {}", if *n_last == 1 { "finding" } else { "findings" }))
}

/// The first sentences of a text, in one line and without blocks of code.
pub(crate) fn sentences(text: &str, n_sentences: usize) -> String {
    let mut fence = false;
    let prose = text.lines().filter(|line| {
        let is_mark = line.trim_start().starts_with("```");
        fence ^= is_mark;
        !fence && !is_mark
    });
    let mut sentences: Vec<&str> = Vec::new();
    let mut n_ended = 0;
    // More words are never shown.
    for word in prose.flat_map(str::split_whitespace).take(500) {
        let begins = word.starts_with(|first: char| !first.is_lowercase());
        let ended = sentences.last().is_some_and(|last: &&str| last.ends_with(['.', '!', '?', '。', '！', '？']));
        n_ended += usize::from(ended && begins);
        if n_ended == n_sentences {
            break;
        }
        sentences.push(word);
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_name_labels_with_findings() {
        let said = |severities: &[Severity]| in_words(&counts(severities.iter().copied()));
        assert_eq!(said(&[Severity::Praise]), None);
        assert_eq!(said(&[Severity::Nit]).unwrap(), "1 minor finding");
        assert_eq!(said(&[Severity::Nit, Severity::Low]).unwrap(), "2 minor findings");
        assert_eq!(
            said(&[Severity::Low, Severity::Critical, Severity::High]).unwrap(),
            "1 critical, 1 major and 1 minor finding"
        );
        assert_eq!(
            said(&[Severity::High, Severity::Critical, Severity::High]).unwrap(),
            "1 critical and 2 major findings"
        );
    }

    #[test]
    fn sentences_end_where_the_next_begins() {
        assert_eq!(sentences("One, e.g. this. Two! Three? Four.", 2), "One, e.g. this. Two!");
        assert_eq!(sentences("Use it:\n\n```rust\nlet x;\n```\n\nThen go.", 3), "Use it: Then go.");
        assert_eq!(sentences("", 3), "");
    }
}
