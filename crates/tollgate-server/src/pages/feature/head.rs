//! The header of the page: title, state, and the verdict with its reason.

use tollgate_core::board::Iteration;
use tollgate_core::board::machine::{Pause, Status, Work};
use tollgate_core::report::head_state;
use tollgate_core::verdict::Colour;
use tollgate_core::visible::grouped;

use super::Loaded;
use super::query::{Query, Which};
use crate::pages::words::{self, sentence};

/// A word with a sign and a colour that say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chip {
    pub(super) kind: &'static str,
    pub(super) icon: &'static str,
    pub(super) words: String,
}

/// A review to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tab {
    pub(super) number: u32,
    pub(super) href: String,
    pub(super) is_current: bool,
    /// How it ended, in words.
    pub(super) outcome: &'static str,
    /// The class of its pip.
    pub(super) pip: &'static str,
}

/// Something that has to be seen before all else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Banner {
    pub(super) kind: &'static str,
    pub(super) words: String,
    pub(super) hint: String,
}

/// The top of the page.
pub(super) struct Head {
    pub(super) title: String,
    pub(super) status: Chip,
    /// Where it is, in a sentence.
    pub(super) state: String,
    /// Since when, while something runs.
    pub(super) since: Option<String>,
    pub(super) banners: Vec<Banner>,
    pub(super) verdict: Chip,
    /// Why, in words.
    pub(super) reason: String,
    pub(super) tabs: Vec<Tab>,
    /// The address of the comparison, when there is something to compare.
    pub(super) compare: Option<String>,
    pub(super) is_compared: bool,
    /// The round that is under way and has no review yet.
    pub(super) pending: Option<u32>,
    /// Rounds in words: `2 of 3`.
    pub(super) rounds: String,
    pub(super) facts: Vec<Fact>,
}

/// Something to be known: what, and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// All of it, when the value is only its beginning.
    pub(super) whole: String,
    pub(super) is_code: bool,
}

impl Head {
    pub(super) fn new(loaded: &Loaded, query: &Query, base: &str) -> Self {
        let feature = &loaded.feature;
        let state = &feature.state;
        let shown = loaded.shown();
        let is_running = state.work != Work::Nothing;
        let number = loaded.number();
        let tab = |review: &Iteration| Tab {
            number: review.number,
            href: format!("{base}{}", query.of(Which::One(review.number)).tail()),
            is_current: number == Some(review.number) && !loaded.is_compared(),
            outcome: review.outcome_in_words(),
            pip: if review.is_unchecked() { "unchecked" } else { review.outcome.as_str() },
        };
        let tabs: Vec<Tab> = loaded.reviews.iter().map(tab).collect();
        let last_two = match &loaded.reviews[..] {
            [.., one, two] => Some(Which::Two(one.number, two.number)),
            _ => None,
        };
        let is_reviewed = loaded.reviews.iter().any(|review| review.number == state.iteration);
        Self {
            title: loaded.title(),
            status: status(&state.status, loaded.step.as_deref()),
            // Why it waits stands in a banner already.
            state: if state.pause.is_some() { String::new() } else { sentence(&state.in_words()) },
            since: loaded.history.last().filter(|_| is_running).map(|step| step.at.clone()),
            banners: banners(loaded),
            verdict: verdict(shown, loaded),
            reason: reason(shown, loaded),
            tabs,
            compare: last_two.map(|two| format!("{base}{}", query.of(two).tail())),
            is_compared: loaded.is_compared(),
            pending: (state.iteration > 0 && !is_reviewed).then_some(state.iteration),
            rounds: format!(
                "{} of {}",
                state.round.max(u32::from(state.iteration > 0)),
                feature.code_review_spec.max_iterations
            ),
            facts: facts(loaded),
        }
    }
}

/// The column as a word; a step by its name, if it has one.
fn status(status: &Status, step_name: Option<&str>) -> Chip {
    let chip = |kind, icon, words: &str| Chip { kind, icon, words: words.to_owned() };
    match status {
        Status::Backlog => chip("muted", "○", "Backlog"),
        Status::InProgress => chip("accent", "▶", "In progress"),
        Status::CodeReview => chip("info", "◆", "Code review"),
        Status::Step(step) => {
            let words = step_name.map_or_else(|| format!("Step: {step}"), |name| format!("Step: {name}"));
            chip("info", "◇", &words)
        }
        Status::WaitingApproval => chip("warn", "⚑", "Waiting for approval"),
        Status::Verified => chip("ok", "✔", "Verified"),
        Status::Completed => chip("muted", "■", "Completed"),
        Status::Other(word) => chip("muted", "?", word),
    }
}

fn verdict(shown: Option<&Iteration>, loaded: &Loaded) -> Chip {
    let chip = |kind, icon, words: &str| Chip { kind, icon, words: words.to_owned() };
    let is_reviewing = loaded.feature.state.work == Work::Reviewing;
    match shown {
        None if is_reviewing => chip("info", "◆", "Being reviewed"),
        None => chip("muted", "○", "Not reviewed yet"),
        Some(review) if review.overridden.is_some() => chip("ok", "✔", head_state::BY_HAND),
        Some(review) => {
            let (colour, label) = head_state::at_gate(review.outcome, review.is_unchecked());
            let (kind, icon) = match colour {
                Colour::Green => ("ok", "✔"),
                Colour::Yellow if review.is_unchecked() => ("warn", "?"),
                Colour::Yellow | Colour::Blue => ("warn", "▲"),
                Colour::Red => ("bad", "✖"),
            };
            chip(kind, icon, label)
        }
    }
}

/// The reason of the verdict.
fn reason(shown: Option<&Iteration>, loaded: &Loaded) -> String {
    let Some(review) = shown else {
        let state = &loaded.feature.state;
        return match (&state.status, state.work) {
            (Status::Backlog, _) => "Start it, and an agent works on it. What it does is reviewed here.".to_owned(),
            (_, Work::Queued | Work::Implementing | Work::Committing) => {
                "What the agent does is reviewed as soon as it is committed.".to_owned()
            }
            _ => "There is no review of it.".to_owned(),
        };
    };
    if let Some(by) = &review.overridden {
        return format!("{} let it pass: {}", by.who, by.reason);
    }
    let said = review.reason.as_ref().filter(|reason| !reason.trim().is_empty()).unwrap_or(&review.summary);
    said.clone()
}

fn banners(loaded: &Loaded) -> Vec<Banner> {
    let feature = &loaded.feature;
    let mut banners = Vec::new();
    if let Some(why) = &feature.broken {
        let words = format!("Its file cannot be read: {why}");
        let hint = "What you see is what was last read. Mend `feature.json`, and it is read again.".to_owned();
        banners.push(Banner { kind: "bad", words, hint });
    }
    if let Some(pause) = feature.state.pause {
        let words = sentence(&format!("it waits for you: {}", pause.in_words()));
        banners.push(Banner { kind: "warn", words, hint: next_step(pause).to_owned() });
    }
    if let Some(problem) = &feature.error {
        let kind = if feature.state.pause.is_some() { "bad" } else { "warn" };
        banners.push(Banner { kind, words: sentence(problem), hint: String::new() });
    }
    banners
}

/// What a person can do about a feature that waits.
fn next_step(pause: Pause) -> &'static str {
    match pause {
        Pause::MaxIterations | Pause::NoProgress => {
            "Resume it with a note to the agent, approve it with a reason, or dismiss what is wrong and review it again."
        }
        Pause::AgentFailed | Pause::CommitFailed | Pause::Interrupted => {
            "Retry it, or resume it with a note to the agent."
        }
        Pause::ReviewFailed => "Retry the review. It is never approved without an answer, unless you approve it.",
        Pause::Stopped => "Resume it when you want it to go on.",
        Pause::MainChanged => {
            "Look at the main checkout. Undo what the agent changed there, then retry it: its work is committed and \
             reviewed, and the agent does not run again."
        }
        Pause::Budget => "Raise `pipeline.usd` and resume it, or approve it by hand.",
    }
}

fn facts(loaded: &Loaded) -> Vec<Fact> {
    let feature = &loaded.feature;
    let plain = |name, value: String| Fact { name, whole: String::new(), value, is_code: false };
    let code = |name, whole: &str, n: usize| {
        let value: String = whole.chars().take(n).collect();
        Fact { name, whole: if value == whole { String::new() } else { whole.to_owned() }, value, is_code: true }
    };
    let mut facts = Vec::new();
    let shown = loaded.shown();
    if let Some(commit) = shown.and_then(|review| review.commit.as_ref()).or(feature.state.commit.as_ref()) {
        facts.push(code("Commit", commit, 10));
    }
    if let Some(base) = shown.and_then(|review| review.base.as_ref()) {
        facts.push(code("Compared with", base, 10));
    }
    if let Some(branch) = &feature.branch_name {
        facts.push(code("Branch", branch, usize::MAX));
    }
    if let Some(review) = shown.filter(|review| review.is_reviewed()) {
        let who = match (review.model.as_str(), review.provider.as_str()) {
            ("tollgate/offline", _) => "rules only".to_owned(),
            (model, provider) if provider.is_empty() || provider == model => model.to_owned(),
            (model, provider) => format!("{model} ({provider})"),
        };
        facts.push(plain("Reviewed by", who));
    }
    if let Some(run) = &loaded.run {
        facts.push(plain("Review took", words::duration(run.took_ms)));
    }
    if feature.cost_usd > 0.0 {
        facts.push(plain("Cost so far", words::cost(feature.cost_usd)));
    }
    if feature.tokens > 0 {
        facts.push(plain("Tokens so far", grouped(feature.tokens)));
    }
    facts.push(plain("Priority", feature.priority.to_string()));
    facts.push(plain("Group", feature.category.clone()));
    if let Some(model) = &feature.model {
        facts.push(plain("Model", model.clone()));
    }
    if !feature.dependencies.is_empty() {
        facts.push(plain("Comes after", feature.dependencies.join(", ")));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 17: the page showed the ID of a step.
    #[test]
    fn a_step_is_shown_by_its_name() {
        let at = Status::parse("pipeline_step_1");
        assert_eq!(status(&at, Some("Run the linters")).words, "Step: Run the linters");
        assert_eq!(status(&at, None).words, "Step: step_1", "a step that the project has no more");
    }

    #[test]
    fn every_pause_has_a_next_step() {
        for pause in Pause::ALL {
            assert!(next_step(pause).ends_with('.'), "{pause:?}");
        }
    }
}
