//! Detects responses that are not reviews: refusals, rate limits, errors, HTML pages, questions.

use crate::answer::vocabulary;

/// Phrases of bot notices that are never a review, regardless of other content.
const BOTS: &[(&str, &str)] = &[
    ("rate limited by coderabbit.ai", "a rate-limit notice"),
    ("auto-generated comment: rate limited", "a rate-limit notice"),
    ("auto-generated comment: skip review", "a notice that no review was made"),
    ("bugbot couldn't run", "a notice that no review was made"),
];

/// Phrases of notices, and their kinds.
const MARKS: &[(&str, &str)] = &[
    ("rate limit exceeded", "a rate-limit notice"),
    ("usage limit reached", "a notice that a limit is reached"),
    ("you've hit your usage limit", "a notice that a limit is reached"),
    ("you have reached your codex usage limits", "a notice that a limit is reached"),
    ("review skipped", "a notice that no review was made"),
    ("actions performed", "a notice of what a bot did"),
    ("couldn't run", "a notice that no review was made"),
    ("invalid api key", "a message that the key is wrong"),
    ("not logged in", "a request to log in"),
    ("please run /login", "a request to log in"),
    ("credit balance is too low", "a notice that a limit is reached"),
    ("too many requests", "a rate-limit notice"),
    ("overloaded_error", "a notice of overload"),
    ("prompt is too long", "a message that the question was too long"),
    ("context length exceeded", "a message that the question was too long"),
    ("maximum context length", "a message that the question was too long"),
];

/// Beginnings of refusals.
const REFUSALS: &[&str] = &[
    "i m sorry but",
    "i am sorry but",
    "sorry but i",
    "sorry i can",
    "i can t help",
    "i can t assist",
    "i can t review",
    "i can t provide",
    "i can t comply",
    "i cannot help",
    "i cannot assist",
    "i cannot review",
    "i cannot provide",
    "i cannot fulfill",
    "i cannot comply",
    "i m unable to",
    "i am unable to",
    "i won t be able",
    "i m not able to",
    "i am not able to",
    "i apologize but",
    "as an ai",
    "unfortunately i can",
    "unfortunately i m unable",
];

/// Detects formats that cannot contain a review, by their beginning.
pub(super) fn page(text: &str) -> Option<String> {
    let head = lower_head(text, 4_000);
    let head = head.trim_start();
    if !(head.starts_with("<!doctype html") || head.starts_with("<html") || head.starts_with("<?xml")) {
        return None;
    }
    let is_login = ["log in", "login", "sign in", "signin", "password"].iter().any(|word| head.contains(word));
    let title =
        head.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).map(|(title, _)| title.trim());
    Some(match title {
        _ if is_login => "a login page".to_owned(),
        Some(title) if !title.is_empty() => format!("a web page with the title `{}`", super::draft::shown(title)),
        _ => "a web page".to_owned(),
    })
}

/// Detects bot notices in a text without findings, even if it seems to state a decision.
pub(super) fn notice(text: &str) -> Option<&'static str> {
    marked(text, BOTS)
}

/// Detects a statement that the change was not reviewed, which no approval goes with: `I could not review it`.
pub(super) fn excuse(text: &str) -> Option<&'static str> {
    const VERBS: [&str; 8] = ["review", "reviewed", "read", "access", "open", "see", "inspect", "examine"];
    const OBJECTS: [&str; 14] = [
        "it",
        "the change",
        "the changes",
        "the diff",
        "this change",
        "this diff",
        "these changes",
        "the code",
        "this",
        "the patch",
        "the files",
        "any of it",
        "the pull request",
        "this pull request",
    ];
    let plain = vocabulary::plain(&lower_head(text, 3_000).replace('’', "'"));
    let is_excuse = [
        "i could not ",
        "i couldn t ",
        "i was unable to ",
        "i was not able to ",
        "i have not ",
        "i did not ",
        "i didn t ",
    ]
    .iter()
    .flat_map(|start| plain.match_indices(start).map(|(at, start)| &plain[at + start.len()..]))
    .any(|rest| {
        let Some((verb, rest)) = rest.split_once(' ') else { return false };
        VERBS.contains(&verb) && OBJECTS.iter().any(|object| rest == *object || rest.starts_with(&format!("{object} ")))
    });
    is_excuse.then_some("a statement that no review was made")
}

fn marked(text: &str, marks: &[(&str, &'static str)]) -> Option<&'static str> {
    // Notices are short, or identify themselves at the beginning.
    let head = lower_head(text, 3_000).replace('’', "'");
    marks.iter().find(|(mark, _)| head.contains(mark)).map(|(_, what)| *what)
}

/// Classifies a text without decision and findings.
pub(super) fn guess(text: &str) -> Option<&'static str> {
    let words = vocabulary::plain(&lower_head(text, 600));
    if REFUSALS.iter().any(|refusal| words.starts_with(refusal)) || refuses_later(&words) {
        return Some("a refusal");
    }
    if words.starts_with("error ") || words.starts_with("api error") || words.starts_with("traceback ") {
        return Some("an error message");
    }
    let n_words = words.split(' ').count();
    let asks = ["review", "full review", "re review", "resume", "pause", "summary", "help"];
    if n_words <= 4
        && (text.trim_start().starts_with(['/', '@'])
            || words == "auggie review"
            || words == "bugbot run"
            || words == "cursor review")
        && asks.iter().any(|ask| words.ends_with(ask))
        || matches!(words.as_str(), "auggie review" | "bugbot run" | "cursor review" | "review")
    {
        return Some("a request for a review");
    }
    marked(text, MARKS)
}

/// `I understand the request. However, I can't assist with that.`
fn refuses_later(words: &str) -> bool {
    words.len() < 400
        && ["i can t assist with", "i cannot assist with", "i can t help with", "i cannot help with"]
            .iter()
            .any(|refusal| words.contains(refusal))
}

fn lower_head(text: &str, n_chars: usize) -> String {
    let end = text.char_indices().nth(n_chars).map_or(text.len(), |(end, _)| end);
    text[..end].to_lowercase()
}
