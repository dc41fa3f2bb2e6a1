//! A feature as a card: title, state, result of the last review, and the event it waits for.

use tollgate_core::board::machine::{self, Action, MAX_TRIES, Pause, State, Status, Work};
use tollgate_core::board::{Outcome, UNCHECKED};
use tollgate_core::visible::grouped;
use tollgate_engine::board::iso;
use tollgate_engine::store::board::{Card, Counts, Lane, Progress};

use super::cards::{BoardPlace, Frame};
use super::column::Slug;
use super::feature_href;
use crate::app::ProjectId;
use crate::pages::words;

/// The most pips of a card; of more rounds the last are shown.
const MAX_PIPS: usize = 6;
/// The most characters of an error; the feature page shows all of it.
const MAX_PROBLEM: usize = 240;
/// The category of a file without one.
const UNSORTED: &str = "Uncategorized";
/// The most characters of a title.
const MAX_TITLE: usize = 300;

/// A card, as it is shown.
pub(super) struct CardView {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) title: String,
    /// The place it stands in.
    pub(super) place: String,
    pub(super) priority: u32,
    pub(super) category: Option<String>,
    /// A status that belongs to another program.
    pub(super) foreign: Option<String>,
    pub(super) line: Option<Line>,
    pub(super) pips: Option<Pips>,
    pub(super) verdict: Option<Verdict>,
    pub(super) findings: Vec<(&'static str, String)>,
    pub(super) progress: Option<String>,
    pub(super) blocked: Option<String>,
    pub(super) problem: Option<String>,
    pub(super) broken: Option<String>,
    pub(super) agents: Option<String>,
    pub(super) cost: Option<String>,
    /// The primary action in the card's column.
    pub(super) first: Option<First>,
    /// What a drop on a column does: `in_progress:start backlog:move`.
    pub(super) ways: String,
    pub(super) created_ms: u64,
    pub(super) since_ms: u64,
    pub(super) rev: u64,
}

/// The activity of a feature, or the event that it waits for.
pub(super) struct Line {
    /// How much it matters: the class of the line.
    pub(super) kind: &'static str,
    pub(super) sign: &'static str,
    pub(super) words: String,
    /// Since when, for a script and in words.
    pub(super) since: String,
    pub(super) elapsed: String,
    /// True when the time goes on because work does.
    pub(super) is_running: bool,
}

/// How the rounds of a feature ended.
pub(super) struct Pips {
    /// Their classes.
    pub(super) each: Vec<&'static str>,
    /// `2/3`
    pub(super) short: String,
    pub(super) words: String,
}

/// What the last review said.
pub(super) struct Verdict {
    pub(super) kind: &'static str,
    pub(super) sign: &'static str,
    pub(super) words: &'static str,
}

/// A button on a card.
pub(super) struct First {
    pub(super) act: &'static str,
    /// The column it leads to, for a move.
    pub(super) to: String,
    pub(super) words: &'static str,
}

impl CardView {
    pub(super) fn new(project: ProjectId, card: Card, frame: &Frame, now_ms: u64) -> Self {
        let rules = frame.rules(card.facts.skip_tests);
        let is_broken = card.broken.is_some();
        let ways = if is_broken { String::new() } else { ways(&card.state, frame, &rules) };
        let state = &card.state;
        Self {
            href: feature_href(project, &card.id),
            title: title(&card),
            place: Slug(&place(&card, frame)).to_string(),
            foreign: match &state.status {
                Status::Other(word) => Some(word.clone()),
                _ => None,
            },
            line: line(&card, now_ms),
            pips: pips(&card, frame.max_rounds),
            verdict: verdict(&card),
            findings: findings(&card),
            progress: card.progress.and_then(progress),
            blocked: blocked(&card),
            problem: card.problem.as_deref().map(|problem| cut(problem, MAX_PROBLEM)),
            agents: agents(&card, frame),
            cost: (card.cost_usd > 0.0).then(|| words::cost(card.cost_usd)),
            first: if is_broken { None } else { first(state, &rules) },
            ways,
            priority: card.facts.priority,
            id: card.id.to_string(),
            category: card.facts.category.filter(|category| category != UNSORTED),
            broken: card.broken.as_deref().map(|broken| cut(broken, MAX_PROBLEM)),
            created_ms: card.created_ms,
            since_ms: card.since_ms,
            rev: card.rev,
        }
    }
}

/// What to call a feature: its title, or what else it is known by.
fn title(card: &Card) -> String {
    let facts = &card.facts;
    let texts = [facts.title.trim(), facts.first_line.trim(), card.id.as_str()];
    let text = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    cut(text, MAX_TITLE)
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn place(card: &Card, frame: &Frame) -> BoardPlace {
    let status = &card.state.status;
    match status {
        Status::CodeReview => BoardPlace::Gate(lane(card)),
        _ if frame.columns().contains(status) => BoardPlace::Column(status.clone()),
        _ => BoardPlace::Elsewhere,
    }
}

fn lane(card: &Card) -> Lane {
    match card.state.work {
        Work::Nothing => Lane::NeedsYou,
        _ if card.is_claimed => Lane::Running,
        _ => Lane::Queued,
    }
}

fn line(card: &Card, now_ms: u64) -> Option<Line> {
    let state = &card.state;
    let (kind, sign, words) = doing(card).or_else(|| waiting(card))?;
    Some(Line {
        kind,
        sign,
        words,
        since: iso(card.since_ms),
        elapsed: words::duration(now_ms.saturating_sub(card.since_ms)),
        is_running: state.work != Work::Nothing,
    })
}

/// The work on a feature, in words.
fn doing(card: &Card) -> Option<(&'static str, &'static str, String)> {
    let state = &card.state;
    let again = || if state.tries > 0 { format!(", try {} of {MAX_TRIES}", state.tries + 1) } else { String::new() };
    let running = |words: &str| Some(("running", "▶", words.to_owned()));
    match (state.work, card.is_claimed) {
        (Work::Nothing, _) => None,
        (Work::Queued, _) if !card.blocked_by.is_empty() => {
            Some(("queued", "⏸", "waits for what it depends on".to_owned()))
        }
        (Work::Queued, _) => Some(("queued", "◷", "queued for an agent".to_owned())),
        (Work::Implementing, _) => running("agent at work"),
        (Work::Committing | Work::CommittingStep, _) => running("committing"),
        (Work::Stepping, _) => running("agent at this step"),
        (Work::Reviewing, true) => running(&format!("under review{}", again())),
        (Work::Reviewing, false) => Some(("queued", "◷", format!("queued for review{}", again()))),
    }
}

/// The event that a feature without a running job waits for, in words.
fn waiting(card: &Card) -> Option<(&'static str, &'static str, String)> {
    let state = &card.state;
    let needs = |why: &str| Some(("needs", "⚑", format!("needs you: {why}")));
    match (state.pause, &state.status) {
        (Some(Pause::MaxIterations), _) => needs("all rounds used up"),
        (Some(Pause::NoProgress), _) => needs("no progress"),
        (Some(Pause::AgentFailed), _) => needs("the agent failed"),
        (Some(Pause::CommitFailed), _) => needs("the commit failed"),
        (Some(Pause::ReviewFailed), _) => needs("the review brought no answer"),
        (Some(Pause::Interrupted), _) => needs("interrupted too often"),
        (Some(Pause::Stopped), _) => needs("stopped"),
        (Some(Pause::Budget), _) => needs("the budget is used up"),
        (Some(Pause::MainChanged), _) => needs("the main checkout changed"),
        (None, Status::WaitingApproval) if card.is_unchecked => {
            Some(("needs", "⚑", "check the requirements, then approve it".to_owned()))
        }
        (None, Status::WaitingApproval) => Some(("needs", "⚑", "approved, awaiting your approval".to_owned())),
        (None, Status::InProgress) => Some(("idle", "○", "no worker on this host".to_owned())),
        (None, Status::CodeReview | Status::Step(_)) => Some(("idle", "○", "nothing runs".to_owned())),
        (None, Status::Backlog | Status::Verified | Status::Completed | Status::Other(_)) => None,
    }
}

fn pips(card: &Card, max_rounds: u32) -> Option<Pips> {
    let state = &card.state;
    if state.iteration == 0 {
        return None;
    }
    let mut each: Vec<(&'static str, &'static str)> = card.pips.iter().map(|outcome| pip(*outcome)).collect();
    if let Some(last) = each.last_mut().filter(|_| card.is_unchecked) {
        *last = ("unchecked", UNCHECKED);
    }
    let is_under_way = state.work != Work::Nothing && each.len() < usize::try_from(state.iteration).unwrap_or(0);
    if is_under_way {
        each.push(("running", "under way"));
    }
    // Reviews of steps and rounds before a person resumed it do not use up the limit.
    let round = state.round.max(1);
    let n_seen = each.len().max(usize::try_from(state.iteration).unwrap_or(0));
    let n_left = usize::try_from(max_rounds.saturating_sub(round)).unwrap_or(0);
    while each.len() < n_seen.saturating_add(n_left) {
        each.push(("open", ""));
    }
    let named: Vec<&str> = each.iter().map(|(_, words)| *words).filter(|words| !words.is_empty()).collect();
    let short = format!("{round}/{max_rounds}");
    let said = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    let words = format!("iteration {}{said}", grouped(u64::from(state.iteration)));
    let hidden = each.len().saturating_sub(MAX_PIPS);
    Some(Pips { each: each.into_iter().skip(hidden).map(|(class, _)| class).collect(), short, words })
}

fn pip(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Approved => ("approved", "approved"),
        Outcome::Rejected => ("rejected", "rejected"),
        Outcome::Failed => ("failed", "no answer"),
    }
}

fn verdict(card: &Card) -> Option<Verdict> {
    let last = card.pips.last()?;
    let (kind, sign, words) = match last {
        Outcome::Approved if card.is_unchecked => ("warn", "?", UNCHECKED),
        Outcome::Approved => ("ok", "✓", "approved"),
        _ if card.is_approved_by_hand() => ("ok", "✓", "approved by hand"),
        Outcome::Rejected => ("bad", "✕", "rejected"),
        Outcome::Failed => ("warn", "!", "review failed"),
    };
    Some(Verdict { kind, sign, words })
}

/// What the last review found, by how much it matters.
fn findings(card: &Card) -> Vec<(&'static str, String)> {
    if !matches!(card.pips.last(), Some(Outcome::Approved | Outcome::Rejected)) {
        return Vec::new();
    }
    let Counts { critical, high, medium, low, nit, late } = card.counts;
    let counted = [
        ("bad", critical.saturating_add(high), "error"),
        ("warn", medium, "warning"),
        ("muted", low.saturating_add(nit), "info"),
    ];
    let there = counted.into_iter().filter(|(_, n, _)| *n > 0);
    let mut found: Vec<_> = there.map(|(kind, n, word)| (kind, words::count(u64::from(n), word))).collect();
    if late > 0 {
        found.push(("muted", format!("{} late", grouped(u64::from(late)))));
    }
    if card.is_blocker_suppressed {
        found.push(("warn", "blocker dismissed".to_owned()));
    }
    found
}

fn progress(Progress { n_new, n_resolved }: Progress) -> Option<String> {
    let resolved = (n_resolved > 0).then(|| format!("−{} resolved", grouped(u64::from(n_resolved))));
    let new = (n_new > 0).then(|| format!("+{} new", grouped(u64::from(n_new))));
    let both: Vec<String> = [resolved, new].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(" "))
}

/// Its unmet dependencies, while they still matter.
fn blocked(card: &Card) -> Option<String> {
    let is_ahead = card.state.status == Status::Backlog || card.state.work == Work::Queued;
    let first = card.blocked_by.first().filter(|_| is_ahead)?;
    let name = if first.title.trim().is_empty() { first.id.as_str() } else { first.title.trim() };
    let name = cut(name, 60);
    match card.blocked_by.len() - 1 {
        0 => Some(format!("blocked by {name}")),
        n => Some(format!("blocked by {name} and {n} more")),
    }
}

/// Who works on it and who reviews it, once that matters.
fn agents(card: &Card, frame: &Frame) -> Option<String> {
    let model = card.facts.model.as_deref();
    if card.state.iteration == 0 && card.state.work == Work::Nothing {
        return model.map(|model| format!("model {}", cut(model, 40)));
    }
    let implementer = frame.implementer.as_deref().unwrap_or("no agent");
    let implementer = match model {
        Some(model) => format!("{implementer} ({})", cut(model, 40)),
        None => implementer.to_owned(),
    };
    let reviewers = match &frame.reviewers[..] {
        [] => "rules".to_owned(),
        [one] => format!("rules, {one}"),
        many => format!("rules and {} more", many.len()),
    };
    Some(format!("{implementer} → {reviewers}"))
}

/// The primary action in the card's column.
fn first(state: &State, rules: &machine::Rules) -> Option<First> {
    // Reviewing the same commit again is seldom useful.
    let is_out_of_rounds = matches!(state.pause, Some(Pause::MaxIterations | Pause::NoProgress));
    let (retry, resume) = ((Action::Retry, "Retry"), (Action::Resume, "Resume"));
    let (one, other) = if is_out_of_rounds { (resume, retry) } else { (retry, resume) };
    let candidates =
        [one, other, (Action::Start, "Start"), (Action::Stop, "Stop"), (Action::Move(Status::Completed), "Complete")];
    let (act, words) = candidates.into_iter().find(|(act, _)| act.target(state, rules).is_ok())?;
    let to = match &act {
        Action::Move(status) => status.to_string(),
        _ => String::new(),
    };
    Some(First { act: act.as_str(), to, words })
}

/// What a drop on each column does, where it does something.
fn ways(state: &State, frame: &Frame, rules: &machine::Rules) -> String {
    let other = frame.columns().into_iter().filter(|status| *status != state.status);
    let way = |status: Status| {
        let act = machine::action_towards(&status, state, rules).ok()?;
        Some(format!("{status}:{}", act.as_str()))
    };
    other.filter_map(way).collect::<Vec<_>>().join(" ")
}
