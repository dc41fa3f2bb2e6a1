//! The vocabulary of answers: synonyms of severities, categories and decisions.

use crate::answer::Decision;
use crate::finding::{Category, Severity};

/// Parses a severity: `High`, `🔴 Critical`, `High Severity`, `P1`, `must-fix`.
pub(super) fn severity(text: &str) -> Option<Severity> {
    let words = plain(text);
    if let Some(severity) = Severity::parse_lenient(&words).or_else(|| other_severity(&words)) {
        return Some(severity);
    }
    let filler = ["severity", "priority", "issue", "issues", "risk", "level", "badge", "finding", "findings"];
    let rest: Vec<&str> = words.split(' ').filter(|word| !filler.contains(word)).collect();
    match rest.as_slice() {
        [only] => Severity::parse_lenient(only).or_else(|| other_severity(only)),
        // `HIGH (8.1)`
        [word, number] if number.parse::<f64>().is_ok() => Severity::parse_lenient(word),
        [word, and, other] if *and == "to" || *and == "or" => {
            Severity::parse_lenient(word).max(Severity::parse_lenient(other))
        }
        _ => None,
    }
}

/// Parses a severity in other words, as the worst one that they name: `High (see below)`, `HIGH/Security`, `sev-1`. A
/// number is blocking where 1 is the worst, and where 10 is.
pub(super) fn loose_severity(text: &str) -> Option<Severity> {
    let words = plain(text);
    let words: Vec<&str> = words.split(' ').take(20).collect();
    let is_negated =
        |index: usize| index > 0 && matches!(words[index - 1], "not" | "non" | "no" | "isn" | "t" | "never");
    let named = words.iter().enumerate().filter(|(index, _)| !is_negated(*index));
    let named = named.filter_map(|(_, word)| Severity::parse_lenient(word).or_else(|| other_severity(word)));
    named.max().or_else(|| {
        let digits = words
            .iter()
            .find_map(|word| word.trim_start_matches(|part: char| part.is_alphabetic()).parse::<f64>().ok());
        digits.filter(|number| *number <= 1.0 || *number >= 7.0).map(|_| Severity::High)
    })
}

/// True for a word that no other tool uses for a severity.
pub(super) fn is_unusual_severity(text: &str) -> bool {
    Severity::parse_lenient(&plain(text)).is_none() && other_severity(&plain(text)) == Some(Severity::Critical)
}

fn other_severity(words: &str) -> Option<Severity> {
    Some(match words {
        "urgent" | "catastrophic" | "very high" | "show stopper" | "showstopper" => Severity::Critical,
        "must fix" | "blocking" | "serious" | "significant" | "errors" | "high priority" => Severity::High,
        "should fix" | "normal" | "average" | "warnings" | "caution" | "medium priority" => Severity::Medium,
        "suggestion" | "suggestions" | "recommendation" | "low priority" | "advisory" | "infos" => Severity::Low,
        "optional" | "nits" | "nitpicks" | "cosmetic" | "nice to have" => Severity::Nit,
        "strengths" | "good" | "compliment" => Severity::Praise,
        _ => return None,
    })
}

/// Parses a category: `Security`, `potential bug`, `Code Quality`, `error_handling`.
pub(super) fn category(text: &str) -> Option<Category> {
    if let Some(category) = exact_category(text) {
        return Some(category);
    }
    let words = plain(text);
    let words: Vec<&str> = words.split(' ').collect();
    let known = |word: &&str| Category::parse_lenient(word).or_else(|| other_category(word));
    if words.len() > 4 { None } else { words.iter().find_map(known) }
}

/// Parses a category that is the whole text.
pub(super) fn exact_category(text: &str) -> Option<Category> {
    let words = plain(text);
    Category::parse_lenient(&words).or_else(|| other_category(&words))
}

fn other_category(words: &str) -> Option<Category> {
    Some(match words {
        "spec" | "specification" | "feature compliance" | "scope" | "acceptance" => Category::Compliance,
        "vulnerabilities" | "injection" | "auth" | "authentication" | "authorization" | "privacy" | "crypto" => {
            Category::Security
        }
        "bugs" | "logic error" | "functional" | "functionality" | "potential issue" | "possible issue"
        | "edge case" | "race condition" | "race" | "data integrity" | "behavior" | "behaviour" | "null safety"
        | "possible bug" => Category::Logic,
        "exception handling" | "exceptions" | "resilience" | "resource leak" => Category::Error,
        "test coverage" | "unit tests" => Category::Test,
        "memory" | "latency" | "scalability" | "optimization" | "optimisation" => Category::Perf,
        "api design" | "structure" | "coupling" | "modularity" => Category::Architecture,
        "code quality"
        | "best practice"
        | "best practices"
        | "refactor"
        | "refactoring"
        | "refactor suggestion"
        | "duplication"
        | "code style"
        | "lint"
        | "convention"
        | "conventions"
        | "quality" => Category::Style,
        _ => return None,
    })
}

/// Parses a decision, unless the text names both: `APPROVED`, `request_changes`, `not approved`.
pub(super) fn decision(text: &str) -> Option<Decision> {
    let words = plain(text);
    let approved = [
        "approved",
        "approve",
        "accept",
        "accepted",
        "pass",
        "passed",
        "lgtm",
        "ship it",
        "ready to merge",
        "patch is correct",
        "approve with notes",
        "approved with notes",
        "approved with comments",
        "approve with comments",
        "approved with suggestions",
        "approve with suggestions",
        "approved with minor suggestions",
        "yes",
        "true",
    ];
    let rejected = [
        "rejected",
        "reject",
        "not approved",
        "not approve",
        "do not approve",
        "changes requested",
        "request changes",
        "requested changes",
        "requires changes",
        "changes required",
        "needs changes",
        "need changes",
        "needs work",
        "needs revision",
        "block",
        "blocked",
        "fail",
        "failed",
        "denied",
        "deny",
        "declined",
        "not ready",
        "not ready to merge",
        "do not merge",
        "patch is incorrect",
        "new blockers found",
        "blockers remain",
        "no",
        "false",
    ];
    if approved.contains(&words.as_str()) {
        Some(Decision::Approved)
    } else if rejected.contains(&words.as_str()) {
        Some(Decision::Rejected)
    } else {
        None
    }
}

/// Normalizes text: lower case, single spaces, no punctuation, no emoji, no emoji names such as `:red_circle:`.
pub(super) fn plain(text: &str) -> String {
    let mut words = String::new();
    for word in without_emoji_names(text).split(|part: char| !(part.is_alphanumeric() || part == '.')) {
        let word = word.trim_matches('.');
        if !word.is_empty() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&word.to_lowercase());
        }
    }
    words
}

/// Removes emoji names such as `:white_check_mark:`.
fn without_emoji_names(text: &str) -> String {
    let mut pieces = Vec::new();
    for (index, piece) in text.split(':').enumerate() {
        let is_name =
            index > 0 && piece.contains('_') && piece.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !is_name {
            pieces.push(piece);
        }
    }
    pieces.join(" ")
}

/// True for template placeholders: `{title}`, `<path>`, `path/to/file.ts`, `...`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let text = text.trim().trim_matches(['`', '"', '\'', '*']);
    let wrapped = |open, close| {
        text.strip_prefix(open)
            .and_then(|rest: &str| rest.strip_suffix(close))
            .is_some_and(|inner| inner.len() <= 60 && !inner.contains(['{', '<', '(', ';', '=']))
    };
    if wrapped('{', '}') || wrapped('<', '>') {
        return true;
    }
    let lower = text.to_lowercase();
    lower == "..."
        || lower == "…"
        || lower == "string"
        || lower.starts_with("path/to/file")
        || lower.starts_with("path/to/your")
        || lower.starts_with("string (")
        || ["issue title", "short title", "title here", "one-line description", "critical | high | medium"]
            .iter()
            .any(|placeholder| lower.starts_with(placeholder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_recognized_with_decoration() {
        for (words, expected) in [
            ("🔴 Critical", Some(Severity::Critical)),
            ("High Severity", Some(Severity::High)),
            ("P1 Badge", Some(Severity::High)),
            ("HIGH (8.1)", Some(Severity::High)),
            ("medium-priority", Some(Severity::Medium)),
            ("low to medium", Some(Severity::Medium)),
            ("must-fix", Some(Severity::High)),
            ("not critical", None),
            ("banana", None),
        ] {
            assert_eq!(severity(words), expected, "{words}");
        }
    }

    #[test]
    fn categories_are_recognized_by_one_word() {
        for (words, expected) in [
            ("error_handling", Some(Category::Error)),
            ("Potential Bug", Some(Category::Logic)),
            ("SQL injection", Some(Category::Security)),
            ("Code Quality", Some(Category::Style)),
            ("fruit", None),
        ] {
            assert_eq!(category(words), expected, "{words}");
        }
    }

    #[test]
    fn placeholders_are_distinguished_from_values() {
        for text in ["{title}", "<path>", "path/to/file.ts", "...", "<issue title>"] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["a < b > c", "{ a: 1 } is wrong", "src/path/to.rs", "<Foo> has no key {x}"] {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
