//! Explores all reachable states and events, and compares the transitions with a table under version control.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Write as _;

use super::*;

/// The exploration stops here: transitions do not depend on higher iteration numbers.
const MAX_ITERATION: u32 = 6;

fn steps(names: &[&str]) -> Vec<StepId> {
    names.iter().map(|name| StepId::parse(name).unwrap()).collect()
}

fn all_rules() -> Vec<Rules> {
    let one = |skip_tests, names: &[&str]| Rules {
        skip_tests,
        unchecked: false,
        steps: steps(names),
        max_rounds: MAX_ROUNDS,
    };
    let unchecked = Rules { unchecked: true, ..one(false, &[]) };
    vec![one(true, &[]), one(false, &[]), one(true, &["lint", "docs"]), unchecked]
}

/// Every event with the commit of this state; those with a commit also with a wrong one.
fn events(state: &State) -> Vec<(&'static str, Event)> {
    let current = state.commit.clone().unwrap_or_default();
    let other = format!("c{}", state.iteration);
    let edited = |status| Event::Edited(status);
    vec![
        ("start", Event::Start),
        ("stop", Event::Stop),
        ("resume", Event::Resume),
        ("approve", Event::Approve),
        ("send back", Event::SendBack),
        ("retry", Event::Retry),
        ("shelve", Event::Shelve),
        ("complete", Event::Complete),
        ("edited to backlog", edited(Status::Backlog)),
        ("edited to in_progress", edited(Status::InProgress)),
        ("edited to code_review", edited(Status::CodeReview)),
        ("edited to waiting_approval", edited(Status::WaitingApproval)),
        ("edited to verified", edited(Status::Verified)),
        ("edited to completed", edited(Status::Completed)),
        ("edited to another's word", edited(Status::Other("interrupted".to_owned()))),
        ("agent started", Event::AgentStarted),
        ("agent done", Event::AgentDone),
        ("agent failed", Event::AgentFailed),
        ("main changed", Event::MainChanged),
        ("interrupted", Event::Interrupted),
        ("over budget", Event::OverBudget),
        ("committed", Event::Committed(other.clone())),
        ("nothing changed", Event::NothingChanged),
        ("hook refused", Event::HookRefused),
        ("commit failed", Event::CommitFailed),
        ("approved", Event::Approved(current.clone())),
        ("approved another commit", Event::Approved("elsewhere".to_owned())),
        ("rejected", Event::Rejected { commit: current.clone(), same_again: false }),
        ("rejected the same again", Event::Rejected { commit: current.clone(), same_again: true }),
        ("rejected another commit", Event::Rejected { commit: "elsewhere".to_owned(), same_again: false }),
        ("review failed", Event::ReviewFailed),
        ("review refused", Event::ReviewRefused),
        ("head moved", Event::HeadMoved(format!("{other}b"))),
        ("step done", Event::StepDone),
        ("step failed", Event::StepFailed),
        ("step changed nothing", Event::StepCommitted(current)),
        ("step committed", Event::StepCommitted(format!("{other}s"))),
    ]
}

/// Every state that can be reached from a new feature.
fn reachable(rules: &Rules) -> Vec<State> {
    let mut seen = HashSet::from([State::new()]);
    let mut pending = VecDeque::from([State::new()]);
    let mut states = Vec::new();
    while let Some(state) = pending.pop_front() {
        for (_, event) in events(&state) {
            if let Ok((after, _)) = next(&state, &event, rules)
                && after.iteration <= MAX_ITERATION
                && after.restarts <= 1
                && seen.insert(after.clone())
            {
                pending.push_back(after);
            }
        }
        states.push(state);
    }
    states
}

/// Where a state is, without its numbers.
fn place(state: &State) -> String {
    let mut place = state.status.to_string();
    if state.work != Work::Nothing {
        let _ = write!(place, ", {}", state.work.as_str());
    }
    if let Some(pause) = state.pause {
        let _ = write!(place, ", paused: {}", pause.as_str());
    }
    let _ = write!(place, " ({}{})", state.review.as_str(), if state.committed { ", committed" } else { "" });
    place
}

/// The transition table: the next states for each state and event, with the effects.
fn table() -> String {
    let mut rows: BTreeMap<String, BTreeMap<usize, (&'static str, std::collections::BTreeSet<String>)>> =
        BTreeMap::new();
    for rules in all_rules() {
        for state in reachable(&rules) {
            let row = rows.entry(place(&state)).or_default();
            for (index, (name, event)) in events(&state).into_iter().enumerate() {
                let cell = row.entry(index).or_insert_with(|| (name, Default::default()));
                cell.1.insert(match next(&state, &event, &rules) {
                    Ok((after, effects)) if effects.is_empty() => place(&after),
                    Ok((after, effects)) => format!("{} + {}", place(&after), in_words(&effects)),
                    Err(_) => "–".to_owned(),
                });
            }
        }
    }
    let mut table = String::new();
    for (place, events) in rows {
        let _ = writeln!(table, "{place}");
        let is_refused = |after: &std::collections::BTreeSet<String>| after.len() == 1 && after.contains("–");
        for (name, after) in events.values().filter(|(_, after)| !is_refused(after)) {
            let after: Vec<&str> = after.iter().map(String::as_str).collect();
            let _ = writeln!(table, "    {name} -> {}", after.join(" | "));
        }
        let refused: Vec<&str> =
            events.values().filter(|(_, after)| is_refused(after)).map(|(name, _)| *name).collect();
        let _ = writeln!(table, "    refused: {}\n", wrapped(&refused));
    }
    table
}

fn wrapped(words: &[&str]) -> String {
    words.chunks(6).map(|words| words.join(", ")).collect::<Vec<_>>().join(",\n        ")
}

fn in_words(effects: &[Effect]) -> String {
    let word = |effect: &Effect| match effect {
        Effect::EndWork => "end work".to_owned(),
        Effect::Clean => "clean".to_owned(),
        Effect::RecordNothing => "record nothing".to_owned(),
        Effect::ReviewStarted => "started".to_owned(),
        Effect::ReviewCompleted => "completed".to_owned(),
        Effect::ReviewApproved(status) => format!("approved for {status}"),
        Effect::ReviewRejected => "rejected".to_owned(),
        Effect::ReviewFailed => "failed".to_owned(),
        Effect::MaxIterations => "max iterations".to_owned(),
        Effect::Paused(_) => "paused".to_owned(),
    };
    effects.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_transition_matches_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/board/machine/table.txt");
    let table = table();
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert!(table == expected, "the table differs; TOLLGATE_BLESS=1 writes it anew, `git diff` shows what changed");
}

#[test]
fn every_reachable_state_keeps_the_invariants() {
    for rules in all_rules() {
        let states = reachable(&rules);
        assert!(states.len() > 100, "{}", states.len());
        for state in states {
            assert!(state.round <= rules.max_rounds, "{state:?}");
            assert!(state.pause.is_none() || state.work == Work::Nothing, "{state:?}");
            let passed = matches!(state.status, Status::Step(_) | Status::WaitingApproval | Status::Verified);
            // One that never came here may be anywhere; nothing says then that it passed.
            let is_others = state.iteration == 0 && state.review == Review::Pending;
            assert!(!passed || is_others || (state.commit.is_some() && state.review == Review::Approved), "{state:?}");
            assert!(state.work != Work::Reviewing || state.commit.is_some(), "{state:?}");
            let at_gate = state.work == Work::Reviewing;
            assert!(!at_gate || (state.status == Status::CodeReview && state.review == Review::Reviewing), "{state:?}");
            for (name, event) in events(&state) {
                let Ok((after, effects)) = next(&state, &event, &rules) else { continue };
                let arrives = after.review == Review::Approved && state.review != Review::Approved;
                let may = matches!(event, Event::Approved(_) | Event::Approve);
                assert!(!arrives || may, "{state:?} was approved by {name}");
                assert!(after.iteration >= state.iteration && after.iteration <= state.iteration + 1, "{name}");
                let ends = state.work != Work::Nothing && after.work == Work::Nothing;
                let by_person = matches!(event, Event::Stop | Event::OverBudget);
                assert!(!(ends && by_person) || effects.contains(&Effect::EndWork), "{state:?} {name}");
            }
        }
    }
}

/// Drives a feature through events and gives back where it ends.
#[track_caller]
fn drive(rules: &Rules, events: &[Event]) -> (State, Vec<Effect>) {
    let mut state = State::new();
    let mut all = Vec::new();
    for event in events {
        let (after, effects) = next(&state, event, rules).unwrap_or_else(|illegal| panic!("{event:?}: {illegal}"));
        state = after;
        all.extend(effects);
    }
    (state, all)
}

fn implemented(commit: &str) -> Vec<Event> {
    vec![Event::AgentStarted, Event::AgentDone, Event::Committed(commit.to_owned())]
}

fn rejected(commit: &str) -> Event {
    Event::Rejected { commit: commit.to_owned(), same_again: false }
}

#[test]
fn the_third_rejection_pauses_and_resuming_grants_three_more_iterations() {
    let rules = Rules::default();
    let mut events = vec![Event::Start];
    for commit in ["a", "b", "c"] {
        events.extend(implemented(commit));
        events.push(rejected(commit));
    }
    let (state, effects) = drive(&rules, &events);
    assert_eq!(
        (state.status.clone(), state.work, state.pause),
        (Status::InProgress, Work::Nothing, Some(Pause::MaxIterations))
    );
    assert_eq!((state.iteration, state.round), (3, 3));
    assert_eq!(effects.iter().filter(|effect| **effect == Effect::MaxIterations).count(), 1);

    events.push(Event::Resume);
    for commit in ["d", "e", "f"] {
        events.extend(implemented(commit));
        events.push(rejected(commit));
    }
    let (state, _) = drive(&rules, &events);
    assert_eq!((state.iteration, state.round, state.pause), (6, 3, Some(Pause::MaxIterations)));
}

#[test]
fn retrying_at_the_iteration_limit_reviews_the_same_commit_again() {
    let mut events = vec![Event::Start];
    for commit in ["a", "b", "c"] {
        events.extend(implemented(commit));
        events.push(rejected(commit));
    }
    events.push(Event::Retry);
    let (state, effects) = drive(&Rules::default(), &events);
    assert_eq!((state.status, state.work, state.pause), (Status::CodeReview, Work::Reviewing, None));
    assert_eq!((state.iteration, state.round, state.commit.as_deref()), (3, 3, Some("c")));
    assert_eq!(effects.last(), Some(&Effect::ReviewStarted));

    let (state, _) = drive(&Rules::default(), &[&events[..], &[rejected("c")]].concat());
    assert_eq!((state.work, state.pause, state.iteration), (Work::Nothing, Some(Pause::MaxIterations), 3));
    let (state, _) = drive(&Rules::default(), &[&events[..], &[Event::Approved("c".to_owned())]].concat());
    assert_eq!((state.status, state.iteration), (Status::WaitingApproval, 3));
}

#[test]
fn retrying_without_any_commit_is_refused() {
    let idle = [Event::AgentStarted, Event::AgentDone, Event::NothingChanged];
    let (state, _) = drive(&Rules::default(), &[&[Event::Start][..], &idle, &idle].concat());
    let refused = next(&state, &Event::Retry, &Rules::default()).unwrap_err();
    assert!(refused.why.starts_with("it has no commit to review again"), "{refused}");
}

#[test]
fn a_failed_review_uses_up_no_iteration_and_never_approves() {
    let mut events = vec![Event::Start];
    events.extend(implemented("a"));
    events.extend([Event::ReviewFailed, Event::ReviewFailed]);
    let (state, effects) = drive(&Rules::default(), &events);
    assert_eq!((state.work, state.iteration, state.tries), (Work::Reviewing, 1, 2));
    assert!(!effects.contains(&Effect::ReviewFailed));
    events.push(Event::ReviewFailed);
    let (state, effects) = drive(&Rules::default(), &events);
    assert_eq!((state.status.clone(), state.pause), (Status::CodeReview, Some(Pause::ReviewFailed)));
    assert!(effects.contains(&Effect::ReviewFailed));
    events.extend([Event::Retry, Event::Approved("a".to_owned())]);
    let (state, _) = drive(&Rules::default(), &events);
    assert_eq!((state.status, state.iteration), (Status::WaitingApproval, 1));
}

#[test]
fn changes_of_a_step_are_reviewed_before_the_final_status() {
    let rules = Rules { skip_tests: false, steps: steps(&["lint"]), ..Rules::default() };
    let mut events = vec![Event::Start];
    events.extend(implemented("a"));
    events.extend([Event::Approved("a".to_owned()), Event::StepDone, Event::StepCommitted("b".to_owned())]);
    let (state, _) = drive(&rules, &events);
    assert_eq!(
        (state.status.clone(), state.work, state.iteration, state.round),
        (Status::CodeReview, Work::Reviewing, 2, 1)
    );
    events.push(Event::Approved("b".to_owned()));
    let (state, _) = drive(&rules, &events);
    assert_eq!(state.status, Status::Verified);
}

#[test]
fn an_agent_without_changes_is_retried_once_and_then_paused() {
    let idle = [Event::AgentStarted, Event::AgentDone, Event::NothingChanged];
    let mut events = vec![Event::Start];
    events.extend(idle.clone());
    let (state, effects) = drive(&Rules::default(), &events);
    assert_eq!((state.work, state.iteration), (Work::Queued, 2));
    assert!(effects.contains(&Effect::RecordNothing));
    events.extend(idle);
    let (state, _) = drive(&Rules::default(), &events);
    assert_eq!((state.pause, state.iteration), (Some(Pause::NoProgress), 2));
}

#[test]
fn names_parse_to_their_values() {
    for work in Work::ALL {
        assert_eq!(Work::parse(work.as_str()), Some(work));
    }
    for pause in Pause::ALL {
        assert_eq!(Pause::parse(pause.as_str()), Some(pause));
    }
    for review in Review::ALL {
        assert_eq!(Review::parse(review.as_str()), Some(review));
    }
    let words = ["backlog", "in_progress", "code_review", "waiting_approval", "verified", "completed", "pipeline_lint"];
    for word in words.into_iter().chain(["interrupted", "pipeline_", "pipeline_a b", ""]) {
        assert_eq!(Status::parse(word).to_string(), word);
    }
    assert_eq!(Status::parse("ready"), Status::Backlog);
}

#[test]
fn available_actions_agree_with_the_state_machine() {
    for rules in all_rules() {
        for state in reachable(&rules) {
            for AvailableAction { action, target } in available_actions(&state, &rules) {
                let done = action.event().and_then(|event| next(&state, &event, &rules));
                assert_eq!(target.ok(), done.ok().map(|(after, _)| after.status), "{action:?} {state:?}");
                assert_ne!(action, Action::Move(state.status.clone()), "{state:?}");
            }
            for status in [Status::Backlog, Status::InProgress, Status::WaitingApproval, Status::Completed] {
                if status != state.status
                    && let Ok(action) = action_towards(&status, &state, &rules)
                {
                    assert_eq!(action.target(&state, &rules), Ok(status), "{action:?} {state:?}");
                }
            }
        }
    }
}

/// The available actions after these events, one per line.
fn offered(rules: &Rules, events: &[Event]) -> String {
    let (state, _) = drive(rules, events);
    let line = |AvailableAction { action, target }: AvailableAction| match (action, target) {
        (Action::Move(to), Ok(_)) => format!("to {to}\n"),
        (Action::Move(to), Err(illegal)) => format!("not to {to}: {}\n", illegal.why),
        (action, Ok(target)) => format!("{} -> {target}\n", action.as_str()),
        (action, Err(illegal)) => format!("no {}: {}\n", action.as_str(), illegal.why),
    };
    available_actions(&state, rules).into_iter().map(line).collect()
}

#[test]
fn available_actions_have_a_target_or_a_reason() {
    let rules = Rules { steps: steps(&["lint"]), ..Rules::default() };
    insta::assert_snapshot!(offered(&rules, &[]), @"
    start -> in_progress
    no stop: it is in the backlog
    no resume: it is in the backlog
    no approve: it is in the backlog
    no reject: it is in the backlog
    no retry: it is in the backlog
    to in_progress
    not to code_review: a feature enters code review by itself, once an agent's work is committed
    not to pipeline_lint: a feature enters the step `lint` by itself, once it has passed the gate
    not to waiting_approval: only the gate sets this status
    not to verified: only the gate sets this status
    not to completed: it is in the backlog
    ");
    insta::assert_snapshot!(offered(&rules, &[Event::Start, Event::AgentStarted]), @"
    no start: an agent is working on it
    stop -> backlog
    no resume: an agent is working on it
    no approve: an agent is working on it
    no reject: an agent is working on it
    no retry: an agent is working on it
    not to backlog: an agent is working on it
    not to code_review: a feature enters code review by itself, once an agent's work is committed
    not to pipeline_lint: a feature enters the step `lint` by itself, once it has passed the gate
    not to waiting_approval: an agent is working on it
    not to verified: an agent is working on it
    not to completed: an agent is working on it
    ");
    let mut failed = vec![Event::Start];
    failed.extend(implemented("a"));
    failed.extend([Event::ReviewFailed, Event::ReviewFailed, Event::ReviewFailed]);
    insta::assert_snapshot!(offered(&rules, &failed), @"
    no start: it is paused: the review failed
    no stop: it is paused: the review failed
    resume -> code_review
    approve -> pipeline_lint
    reject -> in_progress
    retry -> code_review
    to backlog
    not to in_progress: it is paused: the review failed
    not to pipeline_lint: a feature enters the step `lint` by itself, once it has passed the gate
    not to waiting_approval: only the gate sets this status
    not to verified: only the gate sets this status
    not to completed: it is paused: the review failed
    ");
}

#[test]
fn a_verified_feature_reaches_in_progress_by_sending_it_back() {
    let mut events = vec![Event::Start];
    events.extend(implemented("a"));
    events.push(Event::Approved("a".to_owned()));
    let (state, _) = drive(&Rules::default(), &events);
    assert_eq!(action_towards(&Status::InProgress, &state, &Rules::default()), Ok(Action::SendBack));
    assert_eq!(action_towards(&Status::Backlog, &state, &Rules::default()), Ok(Action::Move(Status::Backlog)));
    let refused = action_towards(&Status::CodeReview, &state, &Rules::default()).unwrap_err();
    insta::assert_snapshot!(refused.why, @"a feature enters code review by itself, once an agent's work is committed");
    let (working, _) = drive(&Rules::default(), &[Event::Start, Event::AgentStarted]);
    assert_eq!(action_towards(&Status::Backlog, &working, &Rules::default()), Ok(Action::Stop));
}
