//! Classifies phrases by their instruction and its audience.
//!
//! An *instruction* alone is no attack on a review: prompts, their tests and ordinary prose are full of instructions.
//! An injection combines one with a reference to a review: `ignore previous instructions` and `this pull request`,
//! `AI reviewers` and `do not report any issues`.

/// The audience of an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Audience {
    /// Any model that reads the text.
    Model,
    /// A model that reviews the change.
    Reviewer,
}

/// Classifies a piece of text together with its surroundings.
///
/// The texts are lower-case words with single spaces, `own` those of one line; `raw` is that line unchanged.
pub(super) fn classify(text: &str, around: &str, own: &str, raw: &str) -> Option<Audience> {
    fn words(text: &str) -> Vec<&str> {
        text.split(' ').filter(|word| !word.is_empty()).collect()
    }
    let (text, around, own) = (words(text), words(around), words(own));
    let overrides = overrides(&text);
    let orders = [approves(&text), silences(&text), answers(&text), stops(&text)];
    let n_orders = orders.iter().filter(|is_given| **is_given).count();
    let [_, silences, answers, _] = orders;
    let becomes = becomes(&text);
    let poses = has_role(raw);
    let to_reviewer = (overrides && (reviews(&around) || approves_alone(&own)))
        || (names_reviewer(&around) && (n_orders > 0 || becomes))
        || (poses && (overrides || n_orders > 0) && (reviews(&around) || names_reviewer(&around)))
        || (becomes && n_orders > 0 && reviews(&around))
        || (answers && !offers_choice(&around))
        || (silences && n_orders > 1 && reviews(&around));
    match (to_reviewer, overrides) {
        (true, _) => Some(Audience::Reviewer),
        (false, true) => Some(Audience::Model),
        (false, false) => None,
    }
}

/// `ignore all previous instructions`
fn overrides(words: &[&str]) -> bool {
    let orders = ["ignore", "disregard", "forget"];
    let earlier = ["previous", "prior", "above", "earlier", "preceding", "foregoing", "existing", "original"];
    let nouns = ["instructions", "instruction", "prompts", "prompt", "directions", "directives", "guidelines", "rules"];
    at(words, &orders).any(|order| {
        let noun = within(words, order, 6, &nouns);
        let is_whole = |noun: usize| {
            let between = &words[order + 1..noun];
            let clear = words[noun].starts_with("instruction") || words[noun].starts_with("prompt");
            between.iter().any(|word| earlier.contains(word))
                || (clear && between.iter().any(|word| ["your", "system"].contains(word)))
                || (clear && words.get(noun + 1).is_some_and(|word| ["above", "before", "given"].contains(word)))
        };
        noun.is_some_and(is_whole)
    })
}

const CHANGE: &[&str] = &[
    "pr",
    "prs",
    "pull",
    "merge",
    "mr",
    "change",
    "changes",
    "changeset",
    "diff",
    "patch",
    "commit",
    "commits",
    "code",
    "file",
    "files",
    "submission",
];

/// `approve this pull request`, `mark this code as safe`, `verdict: approved`
fn approves(words: &[&str]) -> bool {
    let fine = ["approved", "approve", "safe", "secure", "clean", "pass", "passed", "passing", "lgtm", "correct"];
    let lets_pass = at(words, &["approve", "accept", "merge", "pass"]).any(|order| {
        let article = within(words, order, 1, &["this", "the", "these", "my"]);
        article.is_some_and(|article| within(words, article, 2, CHANGE).is_some())
    });
    let calls = at(words, &["mark", "rate", "consider", "treat", "classify", "report", "declare"]).any(|order| {
        let what = within(words, order, 3, CHANGE).or_else(|| within(words, order, 1, &["it", "this", "everything"]));
        what.is_some_and(|what| within(words, what, 3, &fine).is_some())
    });
    let verdict = at(words, &["verdict", "decision"]).any(|noun| within(words, noun, 4, &fine[..2]).is_some());
    lets_pass || calls || verdict || words.contains(&"lgtm")
}

/// `approve` without another object that could be approved.
fn approves_alone(words: &[&str]) -> bool {
    at(words, &["approve", "approved", "lgtm"]).any(|order| {
        let next = words.get(order + 1);
        next.is_none_or(|next| ["it", "and", "immediately", "now", "without", "this"].contains(next))
            && words.get(order + 2).is_none_or(|next| words.get(order + 1) != Some(&"this") || CHANGE.contains(next))
    })
}

/// `do not report any issues`
fn silences(words: &[&str]) -> bool {
    let denials = at(words, &["not", "never", "don", "dont", "without", "refrain", "avoid", "no"]);
    let tells = [
        "report",
        "reporting",
        "mention",
        "mentioning",
        "flag",
        "flagging",
        "raise",
        "raising",
        "list",
        "comment",
        "commenting",
        "reject",
        "block",
        "criticize",
    ];
    let all = ["any", "anything", "all", "every", "this", "these", "it"];
    let faults = [
        "finding",
        "findings",
        "issue",
        "issues",
        "problem",
        "problems",
        "vulnerability",
        "vulnerabilities",
        "bug",
        "bugs",
        "concern",
        "concerns",
        "warning",
        "warnings",
        "anything",
        "change",
        "changes",
        "pr",
        "code",
        "file",
    ];
    denials.into_iter().any(|denial| {
        within(words, denial, 3, &tells).is_some_and(|tell| {
            within(words, tell, 2, &all).is_some_and(|all| {
                words[all] == "anything" || words[all] == "it" || within(words, all, 3, &faults).is_some()
            })
        })
    })
}

/// `respond only with APPROVED`
fn answers(words: &[&str]) -> bool {
    let (only, fine) = (["only", "just", "exactly", "simply"], ["approved", "approve", "lgtm"]);
    at(words, &["respond", "reply", "answer", "output", "say"]).any(|verb| {
        let before = verb.checked_sub(1).filter(|before| only.contains(&words[*before])).map(|_| verb);
        let from = before.or_else(|| within(words, verb, 2, &only));
        from.is_some_and(|from| within(words, from, 4, &fine).is_some())
    })
}

/// True when a prompt offers several verdicts, so that it dictates none.
fn offers_choice(words: &[&str]) -> bool {
    at(words, &["rejected", "reject", "changes", "denied", "request"]).next().is_some()
}

/// `skip the review of this file`
fn stops(words: &[&str]) -> bool {
    let orders = ["skip", "stop", "end", "abort", "cancel", "bypass"];
    let work = ["review", "reviewing", "analysis", "analyzing", "checks", "scanning"];
    let skips = at(words, &orders).any(|order| within(words, order, 3, &work).is_some());
    skips
        || at(words, &["not", "don", "dont", "never"])
            .any(|denial| within(words, denial, 2, &["review", "analyze"]).is_some())
}

/// `you are now an assistant that …`
fn becomes(words: &[&str]) -> bool {
    let now = words.windows(3).any(|three| {
        matches!(three, ["you", "are", "now"] | ["your", "new", "task" | "role" | "instructions" | "goal"])
    });
    now || words.windows(2).any(|two| matches!(two, ["new", "instructions"]))
}

/// Role markers of chat formats.
fn has_role(raw: &str) -> bool {
    const MARKS: &[&str] = &["<|im_start|>", "<|system|>", "[INST]", "<<SYS>>", "### System:", "### Instruction:"];
    MARKS.iter().any(|mark| raw.contains(mark))
}

/// Words that occur only in code reviews.
fn reviews(words: &[&str]) -> bool {
    let alone = ["reviewer", "reviewers", "pr", "lgtm", "changeset"];
    let pairs = |two: &[&str]| {
        matches!(
            two,
            ["pull" | "merge", "request" | "requests"]
                | ["code", "review" | "reviews"]
                | ["this", "diff" | "patch" | "commit" | "change"]
        )
    };
    words.iter().any(|word| alone.contains(word)) || words.windows(2).any(pairs)
}

/// Names of automated reviewers: `AI reviewer`, `automated code review`, `review bot`.
fn names_reviewer(words: &[&str]) -> bool {
    let programs = [
        "ai",
        "llm",
        "llms",
        "gpt",
        "chatgpt",
        "claude",
        "copilot",
        "gemini",
        "codex",
        "coderabbit",
        "tollgate",
        "assistant",
        "assistants",
        "automated",
        "automatic",
        "bot",
        "bots",
        "agent",
        "agents",
        "model",
        "models",
        "language",
    ];
    let persons = ["reviewer", "reviewers", "review", "reviewing", "reviews"];
    at(words, &programs).any(|program| {
        let behind = within(words, program, 3, &persons).is_some();
        let before = words[program.saturating_sub(2)..program].iter().any(|word| persons.contains(word));
        behind || (before && program > 0)
    })
}

/// The positions of any of the words.
fn at<'w>(words: &'w [&str], wanted: &'w [&str]) -> impl Iterator<Item = usize> + 'w {
    words.iter().enumerate().filter(|(_, word)| wanted.contains(*word)).map(|(index, _)| index)
}

/// The position of the first of the words within the next `n_words`.
fn within(words: &[&str], from: usize, n_words: usize, wanted: &[&str]) -> Option<usize> {
    (from + 1..words.len().min(from + 1 + n_words)).find(|index| wanted.contains(&words[*index]))
}
