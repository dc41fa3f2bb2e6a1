//! The purpose of a change in one to three sentences, for `## What Changed`.
//!
//! The words come from the title, the description (what the change is for), the summary of a reviewer (how it does it) and
//! the commits. A reviewer's summary counts only when every file and symbol that it names is in the change; without it and
//! without a description the commit subjects follow the title. The text is untrusted and not escaped.

use crate::diff::FileDiff;
use crate::intent::without_declarations;
use crate::report::summary::phrases::sentences;

/// The most commits that are named.
const MAX_COMMITS: usize = 3;
/// The most bytes of a title, a subject and a description that are read.
const MAX_TEXT: usize = 4_000;

/// Words of a reviewer about the result of the review, which the verdict line gives.
const JUDGEMENTS: [&str; 14] = [
    "approve",
    "reject",
    "lgtm",
    "looks good",
    "no issue",
    "no problem",
    "no finding",
    "may pass",
    "can be merged",
    "ready to merge",
    "must be fixed",
    "finding",
    "blocker",
    "criteria",
];

/// What is said about a change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// The title; the name of a branch is none.
    pub title: Option<&'a str>,
    /// The description.
    pub body: Option<&'a str>,
    /// The first lines of the commit messages, oldest first; in a re-review those since the last reviewed head.
    pub commits: &'a [String],
    /// The summaries of reviewers.
    pub reviewers: &'a [&'a str],
}

/// The purpose of a change.
#[must_use]
pub fn purpose(told: &Told<'_>, files: &[FileDiff]) -> Option<String> {
    let title = told.title.filter(|title| title.trim().contains(char::is_whitespace)).and_then(subject);
    let mut parts: Vec<String> = title.iter().cloned().collect();
    let reviewer = told.reviewers.iter().find_map(|summary| said(summary, files));
    let n_sentences = if reviewer.is_some() { 1 } else { 2 };
    let body = told.body.and_then(|body| described(body, n_sentences)).filter(|said| Some(said) != title.as_ref());
    if body.is_none() && reviewer.is_none() {
        parts.extend(commits(told.commits, title.as_deref()));
    }
    parts.extend(body.into_iter().chain(reviewer));
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// What the commits since the last reviewed head do.
#[must_use]
pub fn since_last(told: &Told<'_>, files: &[FileDiff]) -> Option<String> {
    let commits = commits(told.commits, None);
    commits.or_else(|| told.reviewers.iter().find_map(|summary| said(summary, files)))
}

/// The subjects of commits as one sentence.
fn commits(subjects: &[String], title: Option<&str>) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for subject in subjects.iter().filter_map(|text| subject(text)) {
        if title != Some(subject.as_str()) && !named.contains(&subject) {
            named.push(subject);
        }
    }
    let n_more = named.len().saturating_sub(MAX_COMMITS);
    named.truncate(MAX_COMMITS);
    let [first, rest @ ..] = named.as_slice() else { return None };
    if rest.is_empty() {
        return Some(first.clone());
    }
    let listed: Vec<&str> = named.iter().map(|subject| subject.trim_end_matches('.')).collect();
    let more = if n_more == 0 { String::new() } else { format!("; and {n_more} more commits") };
    Some(format!("{}{more}.", listed.join("; ")))
}

/// A title or subject as a sentence: without tags in brackets and without its type.
fn subject(text: &str) -> Option<String> {
    let words = without_declarations(beginning(text).lines().next()?).trim();
    let mut characters = words.chars();
    let first = characters.next()?;
    // An identifier keeps its case.
    let is_word = words.split_whitespace().next().is_some_and(|word| word.chars().skip(1).all(char::is_lowercase));
    let first = if is_word { first.to_uppercase().collect() } else { first.to_string() };
    let sentence = format!("{first}{}", characters.as_str());
    let is_ended = sentence.ends_with(['.', '!', '?', '…', '。']);
    Some(if is_ended { sentence } else { format!("{sentence}.") })
}

/// The first sentences of the first paragraph of prose, below its heading if it has one.
fn described(body: &str, n_sentences: usize) -> Option<String> {
    let body = beginning(body).replace("\r\n", "\n");
    let below_heading = |text: &str| -> String {
        text.lines().skip_while(|line| line.starts_with('#')).collect::<Vec<_>>().join("\n").trim().to_owned()
    };
    let mut paragraphs = body.split("\n\n").map(str::trim).map(below_heading);
    let is_prose = |text: &String| {
        let starts = ["<", "- ", "* ", "+ ", "|", "```", "!", "[", ">", "1."];
        !text.is_empty() && !starts.iter().any(|start| text.starts_with(start)) && text.contains(' ')
    };
    let text = sentences(&paragraphs.find(is_prose)?, n_sentences);
    (!text.is_empty()).then_some(text)
}

/// The first sentence of a reviewer about the change itself, if all that it names is in the change.
fn said(summary: &str, files: &[FileDiff]) -> Option<String> {
    let text = sentences(beginning(summary), 1);
    let lower = text.to_lowercase();
    let judges = JUDGEMENTS.iter().any(|word| lower.contains(word));
    let is_known = text.split_whitespace().filter(|word| is_name(word)).all(|word| is_in(files, word));
    (text.split_whitespace().count() > 3 && !judges && is_known).then_some(text)
}

/// True for a word that names a file or a symbol: `a/b.rs`, `max_len`, `Vec::new`, `parseUrl`, `run()`, or in backticks.
fn is_name(word: &str) -> bool {
    let plain = bare(word);
    let mid_capital =
        plain.chars().zip(plain.chars().skip(1)).any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    let has_mark = plain.contains(['/', '_']) || plain.contains("::") || word.contains("()") || word.contains('`');
    let is_dotted = plain.split('.').filter(|part| !part.is_empty()).count() > 1 && plain.len() > 4;
    has_mark || mid_capital || is_dotted
}

fn bare(word: &str) -> &str {
    word.trim_matches(|character: char| !character.is_alphanumeric() && !matches!(character, '_' | '/'))
}

/// True when the change has a path or a line with this name.
fn is_in(files: &[FileDiff], word: &str) -> bool {
    let name = bare(word).as_bytes();
    let has = |text: &[u8]| memchr::memmem::find(text, name).is_some();
    name.is_empty()
        || files.iter().any(|file| {
            has(file.path().as_bytes()) || file.hunks.iter().any(|hunk| has(file.body(hunk)) || has(file.section(hunk)))
        })
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff;

    const DIFF: &str = "--- a/src/retry.rs\n+++ b/src/retry.rs\n@@ -1 +1 @@ fn retry() {\n-a\n+let max_delay = 3;\n";

    #[track_caller]
    fn check(told: &Told<'_>, expected: Option<&str>) {
        let (files, _) = diff::parse(DIFF.as_bytes().to_vec());
        assert_eq!(purpose(told, &files).as_deref(), expected);
    }

    #[test]
    fn the_title_and_the_description_say_what_a_change_is_for() {
        let told = Told { title: Some("[WIP] fix(retry): cap the delay"), ..Told::default() };
        check(&told, Some("Cap the delay."));
        let body = Some("## Why\n\nRequests waited an hour. Now they wait a minute. More.\n\n- a list");
        check(&Told { body, ..told }, Some("Cap the delay. Requests waited an hour. Now they wait a minute."));
        let commits = ["fix: cap the delay".to_owned(), "test: a busy server".to_owned(), "Tidy up.".to_owned()];
        check(&Told { commits: &commits, ..told }, Some("Cap the delay. A busy server; Tidy up."));
        check(&Told { title: Some("topic"), ..Told::default() }, None);
    }

    #[test]
    fn the_description_says_what_for_and_a_reviewer_says_how() {
        let reviewers = ["Limits `max_delay` in src/retry.rs to three. Fine."];
        let body = Some("## Why\r\nRequests waited an hour. Now they do not.\r\n\r\nMore.");
        let told = Told { title: Some("Cap the delay"), body, reviewers: &reviewers, ..Told::default() };
        let how = "Limits `max_delay` in src/retry.rs to three.";
        check(&told, Some(&format!("Cap the delay. Requests waited an hour. {how}")));
        check(&Told { body: Some("Cap the delay."), ..told }, Some(&format!("Cap the delay. {how}")));
    }

    #[test]
    fn a_reviewer_is_quoted_when_all_it_names_is_in_the_change() {
        let title = Some("Cap the delay");
        let of = |summary: &str, expected: &str| {
            check(&Told { title, reviewers: &[summary], ..Told::default() }, Some(expected));
        };
        of(
            "Limits `max_delay` in src/retry.rs to three. Fine.",
            "Cap the delay. Limits `max_delay` in src/retry.rs to three.",
        );
        of("Limits the delay in src/backoff.rs to three.", "Cap the delay.");
        of("Calls resetTimer() before each retry.", "Cap the delay.");
        of("The change is approved without any remark.", "Cap the delay.");
    }
}
