//! Finds words around an approval that say the contrary: `I cannot approve this.`, `… ends here. REJECTED.`
//!
//! A decision counts only at the beginning of a line. An approval counts only where nothing else in the answer takes it
//! back, so a rejection is looked for at the beginning of every sentence, and in the words that reviewers use for it.
//! Words about the code ("invalid tokens must be rejected") are none about the change.

use crate::answer::{Decision, decision, vocabulary};

/// Words that take an approval back, whatever stands around them.
const PHRASES: [&str; 12] = [
    "cannot approve",
    "can not approve",
    "can t approve",
    "not approve this",
    "should not be merged",
    "must not be merged",
    "cannot be merged",
    "not ready to merge",
    "not ready to be merged",
    "do not merge this",
    "should not be approved",
    "must not be approved",
];
/// What a reviewer rejects, as opposed to the code.
const CHANGES: [&str; 8] = ["change", "changes", "pr", "pull", "patch", "diff", "commit", "merge"];
/// Words before a rejection that turn it around.
const NEGATIONS: [&str; 8] = ["not", "no", "never", "don", "t", "nothing", "without", "if"];

/// True when a text beside an approval rejects the change.
pub(super) fn rejects(text: &str) -> bool {
    let mut is_code = false;
    text.lines().any(|line| {
        let line = line.trim();
        is_code ^= line.starts_with("```");
        !is_code && !line.starts_with(['>', '`']) && sentences(line).any(is_rejection)
    })
}

fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let is_end = |(at, part): (usize, char)| {
        let end = at + part.len_utf8();
        (matches!(part, '.' | '!' | '?' | ':' | ';') && line[end..].starts_with(' ')).then_some(end)
    };
    let ends: Vec<usize> = line.char_indices().filter_map(is_end).collect();
    let starts = [0].into_iter().chain(ends.clone());
    starts.zip(ends.into_iter().chain([line.len()])).map(|(start, end)| line[start..end].trim())
}

fn is_rejection(sentence: &str) -> bool {
    let is_stated = decision::of_line(sentence).is_some_and(|stated| stated.decision == Decision::Rejected);
    let words = vocabulary::plain(sentence);
    is_stated || PHRASES.iter().any(|phrase| has_phrase(&words, phrase)) || rejects_the_change(&words)
}

fn has_phrase(words: &str, phrase: &str) -> bool {
    let at = words.find(phrase);
    at.is_some_and(|at| {
        let (before, after) = (&words[..at], &words[at + phrase.len()..]);
        (before.is_empty() || before.ends_with(' ')) && (after.is_empty() || after.starts_with(' '))
    })
}

/// `I must reject this change`, `this PR should be rejected`.
fn rejects_the_change(words: &str) -> bool {
    let words: Vec<&str> = words.split(' ').collect();
    let is_change = |words: &[&str]| words.iter().any(|word| CHANGES.contains(word));
    words.iter().enumerate().any(|(index, word)| {
        let (before, after) = (&words[index.saturating_sub(4)..index], &words[index + 1..]);
        let object = &after[..after.len().min(3)];
        let is_verb = matches!(*word, "reject" | "rejecting") && object.first() == Some(&"this") && is_change(object);
        let is_passive = *word == "rejected" && before.contains(&"be") && before.contains(&"this") && is_change(before);
        (is_verb || is_passive) && !before.iter().any(|word| NEGATIONS.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_take_an_approval_back_are_found() {
        for text in [
            "I must reject this change: it deletes the database.",
            "This should not be merged. REJECTED.",
            "On second thought: [REJECTED] the loop never ends.",
            "Fine so far.\nHowever, I cannot approve it.",
            "I can't approve this as it is.",
            "This PR should be rejected.",
            "It is not ready to merge.",
        ] {
            assert!(rejects(text), "{text}");
        }
    }

    #[test]
    fn words_about_the_code_do_not_take_an_approval_back() {
        for text in [
            "Invalid tokens must be rejected, and they are.",
            "The order moves to REJECTED when the card is declined.",
            "There is no reason to reject this change.",
            "I would not reject this change.",
            "`REJECTED. x`",
            "> REJECTED.",
            "```\nREJECTED\n```",
            "APPROVED or REJECTED: one of both.",
        ] {
            assert!(!rejects(text), "{text}");
        }
    }
}
