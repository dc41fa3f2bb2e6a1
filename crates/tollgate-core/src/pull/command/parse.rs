//! Parses the text behind the mention of the bot.

use crate::finding::FindingId;
use crate::finding_key::FindingKey;
use crate::fingerprint::Fingerprint;
use crate::pull::command::{Command, MAX_REASON, MAX_WORDS};

/// Parses a command.
pub(super) fn command(words: &str) -> Command {
    let words = words.trim_start_matches([',', ':']).trim();
    let (first, rest) = split_word(words);
    match first.to_ascii_lowercase().as_str() {
        "dismiss" => {
            let (rest, in_front) = without_everywhere(rest);
            let (finding, reason) = finding_in_front(rest);
            let (reason, behind) = without_everywhere(reason);
            Command::Dismiss { finding, reason: kept(reason, MAX_REASON), everywhere: in_front || behind }
        }
        "confirm" => match finding_in_front(rest) {
            (finding, rest) if is_polite(rest) => Command::Confirm { finding },
            _ => unknown(words),
        },
        "reject" => match finding_in_front(rest) {
            (finding, rest) if is_polite(rest) => Command::Reject { finding },
            _ => unknown(words),
        },
        "explain" => match finding_in_front(rest) {
            (finding, rest) if is_polite(rest) => Command::Explain { finding },
            _ => unknown(words),
        },
        _ => plain(words).unwrap_or_else(|| unknown(words)),
    }
}

fn unknown(words: &str) -> Command {
    Command::Unknown { words: kept(words, MAX_WORDS) }
}

/// The text without the word `--everywhere` at its beginning or end, and whether it was there.
fn without_everywhere(words: &str) -> (&str, bool) {
    let is_word = |rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    if let Some(rest) = words.strip_prefix("--everywhere").filter(|rest| is_word(rest)) {
        return (rest.trim_start(), true);
    }
    let front = words.trim_end().strip_suffix("--everywhere");
    match front.filter(|front| front.ends_with(char::is_whitespace)) {
        Some(front) => (front.trim_end(), true),
        None => (words, false),
    }
}

/// A command without arguments.
fn plain(words: &str) -> Option<Command> {
    // Longer texts are none of these commands.
    let words = words.get(..words.len().min(60)).filter(|head| head.len() == words.len())?.to_ascii_lowercase();
    let said: Vec<&str> = words.split([' ', '\t']).map(bare).filter(|word| !matches!(*word, "" | "please")).collect();
    Some(match said.as_slice() {
        ["review"] => Command::Review,
        ["full", "review"] | ["full-review"] => Command::FullReview,
        ["pause"] => Command::Pause,
        ["resume"] => Command::Resume,
        ["help"] => Command::Help,
        _ => return None,
    })
}

/// True for no words, or only polite ones.
fn is_polite(words: &str) -> bool {
    words.split_whitespace().map(bare).all(|word| word.is_empty() || word.eq_ignore_ascii_case("please"))
}

fn bare(word: &str) -> &str {
    word.trim_matches(['.', '!', '?', ',', '`'])
}

/// Splits off the id of a finding in normalised form, if the text begins with one.
fn finding_in_front(words: &str) -> (Option<String>, &str) {
    let (first, rest) = split_word(words);
    match id(first.trim_matches(['`', '[', ']', '(', ')', ':', ',', '.'])) {
        Some(id) if rest.trim_start_matches([':', ' ']).starts_with("--everywhere") => {
            (Some(id), rest.trim_start_matches([':', ' ']))
        }
        Some(id) => (Some(id), rest.trim_start_matches([':', '-', ' ']).trim_start()),
        None => (None, words),
    }
}

/// Normalises an id: `f3` and `F003` are one finding; `f-3c1e07d2` is a short id; a key begins with a fingerprint.
fn id(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    if FindingKey::is_short(&lower) {
        return Some(lower);
    }
    if let Some(digits) = lower.strip_prefix('f').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
        let index = digits.parse::<u32>().ok()?.checked_sub(1)?;
        return Some(FindingId::at(usize::try_from(index).ok()?).to_string());
    }
    let fingerprint = lower.get(..19)?;
    let is_tail = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'.');
    let fits = Fingerprint::parse(fingerprint).is_some() && lower.len() <= 40 && lower[19..].bytes().all(is_tail);
    fits.then_some(lower)
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn kept(text: &str, max_chars: usize) -> String {
    text.trim().chars().take(max_chars).collect()
}
