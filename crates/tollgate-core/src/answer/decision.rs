//! Parses decisions in text: `**[APPROVED]**`, `Decision: REJECTED`, `## Verdict: request changes`.
//!
//! A decision counts only at the beginning of a line, and not when it repeats the prompt: `**[APPROVED]** - if the …`.

use crate::answer::Decision;
use crate::answer::markdown_lines::{heading, marker};
use crate::answer::vocabulary;

/// A decision and the text after it on the same line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StatedDecision<'a> {
    pub(super) decision: Decision,
    pub(super) trailing: &'a str,
}

/// Parses the decision at the beginning of a line.
pub(super) fn of_line(line: &str) -> Option<StatedDecision<'_>> {
    let (is_heading, text) = heading(line).map_or((false, line), |(_, text)| (true, text));
    let (is_item, text) = marker(text).map_or((false, text), |text| (true, text));
    // Code, or remains of JSON that could not be parsed.
    if text.starts_with(['`', '{', '"', '\'', '“']) || text.starts_with("[{") {
        return None;
    }
    let (labelled, text) = label(text).map_or((false, text), |rest| (true, rest));
    let (word, bracketed, trailing) = word(text)?;
    let decision = vocabulary::decision(word)?;
    let plain = vocabulary::plain(word);
    let exact = matches!(plain.as_str(), "approved" | "rejected" | "not approved");
    let wide = labelled && !matches!(plain.as_str(), "yes" | "no" | "true" | "false");
    let shouted = exact && !word.chars().any(char::is_lowercase);
    let alone = vocabulary::plain(trailing).is_empty();
    let marked = match bracketed {
        Mark::Bracket => exact || wide,
        Mark::Bold => (exact && !is_item) || wide || (exact && alone),
        Mark::None => wide || (exact && (is_heading || alone)) || (shouted && !is_item && ends_here(trailing)),
    };
    let is_question = word.trim_end().ends_with('?') || trailing.trim_start().starts_with('?');
    (marked && !is_question && !is_instruction(trailing) && !names_both(text))
        .then(|| StatedDecision { decision, trailing: after(trailing) })
}

/// Parses the decision below a heading `Verdict`: `:yellow_circle: **Needs changes** -- 2 major issues`.
pub(super) fn of_verdict(line: &str) -> Option<StatedDecision<'_>> {
    let text = marker(line).unwrap_or(line);
    if text.starts_with('`') {
        return None;
    }
    let (word, _, trailing) = word(text)?;
    let decision = vocabulary::decision(word)
        .filter(|_| !matches!(vocabulary::plain(word).as_str(), "yes" | "no" | "true" | "false"))?;
    (!is_instruction(trailing)).then(|| StatedDecision { decision, trailing: after(trailing) })
}

/// True for a heading that introduces a decision without stating it.
pub(super) fn is_label(words: &str) -> bool {
    let words = vocabulary::plain(words);
    let fillers = ["final", "overall", "review", "approval", "my", "the", "code", "merge"];
    let mut rest = words.split(' ').skip_while(|word| fillers.contains(word));
    let named = matches!(
        rest.next(),
        Some("decision" | "verdict" | "recommendation" | "status" | "conclusion" | "result" | "outcome")
    );
    (named && matches!(rest.next(), None | Some("is")))
        || matches!(words.as_str(), "code review" | "review" | "final review" | "verdict update")
}

/// The text after `Decision:`, `**Verdict:**`, `Final verdict -`.
fn label(text: &str) -> Option<&str> {
    let end = text.char_indices().take_while(|(at, _)| *at < 60).find(|(at, part)| {
        matches!(part, ':' | '=' | '–' | '—') && *at > 0 || (*part == '-' && text[..*at].ends_with(' '))
    });
    let (at, mark) = end?;
    let (name, rest) = (&text[..at], &text[at + mark.len_utf8()..]);
    // `**Verdict:** APPROVED`: the emphasis ends after the colon.
    let rest = if name.starts_with("**") { rest.strip_prefix("**").unwrap_or(rest) } else { rest };
    is_label(name).then_some(rest)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Bracket,
    Bold,
    None,
}

/// Splits off the first words of a text, with their emphasis.
fn word(text: &str) -> Option<(&str, Mark, &str)> {
    let decoration =
        |part: char| !part.is_alphanumeric() && !matches!(part, '[' | '*' | '_' | '`' | '>' | '<' | '"' | '\'' | '(');
    let mut text = text.trim_start_matches(decoration);
    // `:white_check_mark: `
    while let Some((name, rest)) = text.split_once(": ").filter(|(name, _)| name.contains('_') && !name.contains(' ')) {
        if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            break;
        }
        text = rest.trim_start_matches(decoration);
    }
    let inner = text.trim_start_matches(['*', '_']);
    let is_bold = text.starts_with("**") || text.starts_with("__");
    if let Some((word, rest)) =
        inner.trim_start_matches(decoration).strip_prefix('[').and_then(|rest| rest.split_once(']'))
    {
        // Unclosed bold text was truncated.
        let closes = !is_bold || rest.contains(&text[..2]);
        let is_link = rest.starts_with('(');
        return (closes && !is_link).then(|| (word, Mark::Bracket, rest.trim_start_matches(['*', '_'])));
    }
    if is_bold {
        let (word, rest) = inner.split_once(&text[..2])?;
        // `**APPROVED:** …` and `**APPROVED - …**`
        let (head, tail) = word.split_once([':', '–', '—']).unwrap_or((word, ""));
        return Some(if tail.trim().is_empty() { (head, Mark::Bold, rest) } else { (head, Mark::Bold, tail) });
    }
    let end = text.find([':', '.', ',', ';', '!', '–', '—', '(', '*', '|']).unwrap_or(text.len());
    let end = text.find(" - ").map_or(end, |dash| dash.min(end));
    let end = text.find(" -- ").map_or(end, |dash| dash.min(end));
    let (words, rest) = text.split_at(end);
    if vocabulary::decision(words).is_some() {
        return Some((words, Mark::None, rest));
    }
    let (word, rest) = words.split_at(words.find(' ').unwrap_or(words.len()));
    Some((word, Mark::None, if rest.is_empty() { &text[end..] } else { &text[word.len()..] }))
}

/// True when a word in capitals is a decision: the line ends, or an explanation follows.
fn ends_here(trailing: &str) -> bool {
    let trailing = trailing.trim_start();
    let explains = ["because", "due", "since", "with", "until", "pending"];
    if explains.contains(&trailing.split(' ').next().unwrap_or_default()) {
        return true;
    }
    trailing.is_empty() || trailing.starts_with([':', '-', '–', '—', '.', ',', ';', '!', '(', '✅', '❌'])
}

/// True for text that follows a decision in the prompt, or that names both decisions.
fn is_instruction(trailing: &str) -> bool {
    let words = vocabulary::plain(trailing);
    let first = words.split(' ').next().unwrap_or_default();
    names_both(trailing)
        || matches!(first, "if" | "when" | "or" | "rejected" | "approved")
        || trailing.trim_start().starts_with(['|', '/'])
}

fn names_both(text: &str) -> bool {
    let words = vocabulary::plain(text);
    let has = |wanted| words.split(' ').any(|word| word == wanted);
    has("approved") && has("rejected")
}

/// The text after a decision, without the separator.
fn after(trailing: &str) -> &str {
    let joins =
        |part: char| part.is_whitespace() || matches!(part, '-' | ':' | '–' | '—' | '*' | '_' | '.' | '!' | ',');
    trailing.trim_start_matches(joins).trim_end_matches(['*', '_', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(Decision, &str)>) {
        assert_eq!(of_line(line).map(|stated| (stated.decision, stated.trailing)), expected, "{line}");
    }

    #[test]
    fn decisions_are_read_in_their_usual_shapes() {
        for line in [
            "[APPROVED]",
            "**[APPROVED]**",
            "**APPROVED**",
            "## APPROVED",
            "Approved.",
            "Decision: approve",
            "**Decision:** **[APPROVED]**",
            "**Verdict: APPROVED**",
            "✅ **APPROVED**",
            "### Final Verdict: Approved",
            "- **[APPROVED]**",
        ] {
            check(line, Some((Decision::Approved, "")));
        }
        check("**[REJECTED]** - no tests", Some((Decision::Rejected, "no tests")));
        check("VERDICT: REJECTED (no tests)", Some((Decision::Rejected, "(no tests)")));
        check("REJECTED because it leaks", Some((Decision::Rejected, "because it leaks")));
        check("Verdict: request changes", Some((Decision::Rejected, "")));
        check("Decision: NOT APPROVED", Some((Decision::Rejected, "")));
    }

    #[test]
    fn mentioning_a_decision_does_not_state_it() {
        for line in [
            "**[APPROVED]** - if the implementation satisfies requirements",
            "**[APPROVED]** or **[REJECTED]**",
            "Decision: APPROVED / REJECTED",
            "APPROVED?",
            "**[APPROVED]**?",
            "Start with an APPROVAL DECISION:",
            "I would say [APPROVED]",
            "`[APPROVED]`",
            "{\"decision\": \"approved\",",
            "\"decision\": \"approved\",",
            "Approved by the team last week",
            "APPROVED changes need a second look",
            "[APPROVED](https://example.com)",
            "**[APPROVED",
            "**[APPROVED]",
            "Rejected promises are not handled",
            "",
        ] {
            check(line, None);
        }
    }
}
