//! Anything may happen to features, in any order; what the board promises holds all the same.
//!
//! The model knows nothing of how the machine works. It compares the stored state with the one before, and with
//! the invariants.

use proptest::prelude::*;
use tollgate_core::board::StepId;
use tollgate_core::board::machine::{MAX_ROUNDS, Rules};
use tollgate_engine::store::board::{IterationRow, TransitionRow};

use super::*;

/// One thing that may happen.
#[derive(Debug, Clone, Copy)]
enum Op {
    /// What would happen next if all went well; the number decides where there is a choice.
    Next(u8),
    /// Anything else, by number, with or without its grounds.
    Any { event: u8, founded: bool, commit: u8 },
    /// A worker claims the job, at a time when the last lease is or is not over.
    Claim { later: bool },
    /// A worker writes with a stale fencing token.
    Late(u8),
    /// The file says another status.
    Edit(u8),
    /// The server ends and starts again.
    Reopen,
}

fn op() -> impl Strategy<Value = (bool, Op)> {
    let op = prop_oneof![
        12 => any::<u8>().prop_map(Op::Next),
        6 => (any::<u8>(), any::<bool>(), any::<u8>()).prop_map(|(event, founded, commit)| Op::Any { event, founded, commit }),
        3 => any::<bool>().prop_map(|later| Op::Claim { later }),
        1 => any::<u8>().prop_map(Op::Late),
        2 => any::<u8>().prop_map(Op::Edit),
        1 => Just(Op::Reopen),
    ];
    (prop::bool::weighted(0.8), op)
}

fn rules() -> impl Strategy<Value = Rules> {
    let steps = prop::sample::select(vec![vec![], vec!["lint"], vec!["lint", "docs"]]);
    (any::<bool>(), steps).prop_map(|(skip_tests, steps)| Rules {
        unchecked: false,
        skip_tests,
        steps: steps.into_iter().map(|step| StepId::parse(step).unwrap()).collect(),
        max_rounds: MAX_ROUNDS,
    })
}

/// All there is to see of a feature.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    feature: FeatureRow,
    history: Vec<TransitionRow>,
    reviews: Vec<IterationRow>,
    events: Vec<String>,
}

struct Model {
    board: Option<Board>,
    rules: Rules,
    features: [FeatureId; 2],
    n_commits: u32,
    now_ms: u64,
    tokens: Vec<FencingToken>,
    /// How many iterations each feature began by itself since a person last decided.
    n_alone: [u32; 2],
}

impl Model {
    fn new(rules: Rules) -> Self {
        let board = Board::new();
        let features = [board.add("one"), board.add("two")];
        Self { board: Some(board), rules, features, n_commits: 0, now_ms: 1_000, tokens: Vec::new(), n_alone: [0; 2] }
    }

    fn board(&self) -> &Board {
        self.board.as_ref().unwrap()
    }

    fn see(&self, which: usize) -> Seen {
        let (board, feature) = (self.board(), &self.features[which]);
        let events = board.database.events_after(0, 10_000, Some(board.project)).unwrap();
        let is_own = |event: &NewEvent| event.feature.as_ref() == Some(feature);
        Seen {
            feature: board.feature(feature),
            history: board.database.transitions(board.project, feature).unwrap(),
            reviews: board.database.iterations(board.project, feature).unwrap(),
            events: events.into_iter().filter(|row| is_own(&row.event)).map(|row| row.event.payload).collect(),
        }
    }

    fn new_commit(&mut self) -> String {
        self.n_commits += 1;
        format!("c{}", self.n_commits)
    }

    /// What would happen next if all went well, or as well as it often goes.
    fn next_event(&mut self, state: &State, pick: u8) -> Event {
        let commit = state.commit.clone().unwrap_or_default();
        match state.work {
            Work::Queued => Event::AgentStarted,
            Work::Implementing => Event::AgentDone,
            Work::Committing => Event::Committed(self.new_commit()),
            Work::Reviewing if pick.is_multiple_of(3) => Event::Approved(commit),
            Work::Reviewing => Event::Rejected { commit, same_again: pick.is_multiple_of(16) },
            Work::Stepping => Event::StepDone,
            Work::CommittingStep if pick.is_multiple_of(2) => Event::StepCommitted(self.new_commit()),
            Work::CommittingStep => Event::StepCommitted(commit),
            Work::Nothing if state.pause.is_some() => match pick % 4 {
                0 => Event::Approve,
                1 => Event::SendBack,
                2 => Event::Retry,
                _ => Event::Resume,
            },
            Work::Nothing if state.status == Status::Backlog => Event::Start,
            Work::Nothing if pick.is_multiple_of(3) => Event::Complete,
            Work::Nothing => Event::SendBack,
        }
    }

    fn any_event(&mut self, state: &State, event: u8, commit: u8) -> Event {
        let commit = match commit % 4 {
            0 => self.new_commit(),
            1 => format!("c{}", self.n_commits.min(1)),
            _ => state.commit.clone().unwrap_or_default(),
        };
        match event % 22 {
            0 => Event::Start,
            1 => Event::Stop,
            2 => Event::Resume,
            3 => Event::Approve,
            4 => Event::SendBack,
            5 => Event::Retry,
            6 => Event::Shelve,
            7 => Event::Complete,
            8 => Event::AgentStarted,
            9 => Event::AgentDone,
            10 => Event::AgentFailed,
            11 => Event::Interrupted,
            12 => Event::OverBudget,
            13 => Event::Committed(commit),
            14 => Event::NothingChanged,
            15 => Event::HookRefused,
            16 => Event::CommitFailed,
            17 => Event::Approved(commit),
            18 => Event::Rejected { commit, same_again: false },
            19 => Event::ReviewFailed,
            20 => Event::HeadMoved(commit),
            _ => Event::StepFailed,
        }
    }

    /// A transition with its grounds, if it is to have them.
    fn transition(&self, which: usize, state: &State, event: Event, founded: bool) -> Transition {
        let mut transition = self.board().transition(&self.features[which], event.clone());
        transition.rules = self.rules.clone();
        let stored = |outcome, commit: &str| review(state.iteration, outcome, Some(commit));
        match &event {
            _ if !founded => transition,
            Event::Approved(commit) => with_review(transition, stored(Outcome::Approved, commit)),
            Event::Rejected { commit, .. } => with_review(transition, stored(Outcome::Rejected, commit)),
            Event::Approve => {
                transition.overridden = Some(by_hand());
                transition
            }
            _ => transition,
        }
    }

    /// Applies one event, and compares the state with the one before.
    fn step(&mut self, which: usize, op: &Op) {
        let before = self.see(which);
        let other = self.see(1 - which);
        let state = before.feature.state.clone();
        let transition = match *op {
            Op::Next(pick) => {
                let event = self.next_event(&state, pick);
                Some(self.transition(which, &state, event, true))
            }
            Op::Any { event, founded, commit } => {
                let event = self.any_event(&state, event, commit);
                Some(self.transition(which, &state, event, founded))
            }
            Op::Late(pick) => {
                let event = self.next_event(&state, pick);
                let mut transition = self.transition(which, &state, event, true);
                transition.token = Some(self.tokens.first().copied().unwrap_or(FencingToken(0)));
                self.claim(which, true);
                let error = self.board().database.transition(transition).unwrap_err();
                assert_eq!(error, TransitionError::Stale, "a token that is not the current one");
                None
            }
            Op::Claim { later } => {
                self.claim(which, later);
                None
            }
            Op::Edit(pick) => {
                let words =
                    ["backlog", "in_progress", "code_review", "verified", "completed", "parked", "waiting_approval"];
                let status = Status::parse(words[usize::from(pick) % words.len()]);
                Some(self.transition(which, &state, Event::Edited(status), false))
            }
            Op::Reopen => {
                self.board = self.board.take().map(Board::reopen);
                None
            }
        };
        match transition.map(|transition| (transition.event.clone(), self.board().database.transition(transition))) {
            None => assert_eq!(self.see(which), before),
            Some((_, Err(_))) => assert_eq!(self.see(which), before, "of what is refused nothing is stored"),
            Some((event, Ok(done))) => self.check(which, &before, &event, &done),
        }
        assert_eq!(self.see(1 - which), other, "what happens to one feature does not happen to another");
        self.check_work(which);
    }

    fn claim(&mut self, which: usize, later: bool) {
        self.now_ms += if later { 1_000 } else { 1 };
        let work = self.see(which).feature.state.work;
        let bid = self.board().bid(&self.features[which], work, self.now_ms);
        let claim = self.board().database.claim(&bid).unwrap();
        assert!(work == Work::Nothing || !later || claim.is_some(), "what nobody holds can be claimed");
        self.tokens.extend(claim.map(|claim| claim.token));
    }

    fn check(&mut self, which: usize, before: &Seen, event: &Event, done: &Transitioned) {
        let after = self.see(which);
        let (from, to) = (&before.feature.state, &after.feature.state);
        assert_eq!(done.feature, after.feature);
        assert_eq!(after.feature.rev, before.feature.rev + 1);
        // History only grows, by what happened.
        assert_eq!(after.history[..before.history.len()], before.history[..]);
        let [record] = &after.history[before.history.len()..] else { panic!("one record for one change") };
        assert_eq!((record.from.as_ref(), &record.to, record.rev), (Some(from), to, after.feature.rev));
        assert_eq!(record.event, event.as_str());
        // So do the reviews, but for what a person says of the last.
        let plain = |rows: &[IterationRow]| {
            let plain = |row: &IterationRow| Iteration { overridden: None, note: None, ..row.iteration.clone() };
            rows.iter().map(plain).collect::<Vec<_>>()
        };
        assert_eq!(plain(&after.reviews)[..before.reviews.len()], plain(&before.reviews)[..]);
        let is_judged = matches!(event, Event::Approved(_) | Event::Rejected { .. });
        assert_eq!(after.reviews.len(), before.reviews.len() + usize::from(is_judged));
        // Events say what the states say.
        assert_eq!(after.events[..before.events.len()], before.events[..]);
        assert_eq!(after.events[before.events.len()..], [event_of(&after.feature, from).payload]);
        self.check_rounds(which, from, to, event);
        check_gate(&after, from, event);
    }

    /// At most three iterations for each decision of a person.
    fn check_rounds(&mut self, which: usize, from: &State, to: &State, event: &Event) {
        let by_a_person = matches!(event, Event::Start | Event::Resume | Event::SendBack | Event::Retry);
        if by_a_person {
            self.n_alone[which] = 0;
        } else if to.iteration > from.iteration && to.work == Work::Queued {
            self.n_alone[which] += 1;
        }
        assert!(self.n_alone[which] < MAX_ROUNDS, "{} iterations without a person", self.n_alone[which] + 1);
        assert!(to.iteration <= from.iteration + 1);
    }

    /// One piece of work at most, and the one that the state says.
    fn check_work(&self, which: usize) {
        let state = self.see(which).feature.state;
        let found = self.board().database.candidates(&Work::ALL, self.now_ms + 1_000, 99).unwrap();
        let owed: Vec<Work> = found
            .into_iter()
            .filter(|candidate| candidate.feature == self.features[which])
            .map(|candidate| candidate.work)
            .collect();
        let expected = if state.work == Work::Nothing { vec![] } else { vec![state.work] };
        assert_eq!(owed, expected);
    }
}

/// Nothing is beyond the gate but what a review of that very commit, or a person, let through.
fn check_gate(after: &Seen, from: &State, event: &Event) {
    let to = &after.feature.state;
    let passed = |state: &State| matches!(state.status, Status::WaitingApproval | Status::Verified | Status::Completed);
    let approves = |row: &IterationRow| {
        row.iteration.outcome == Outcome::Approved && row.iteration.commit == to.commit && to.commit.is_some()
    };
    let by_hand =
        |record: &TransitionRow| record.event == "approve" && record.to.commit == to.commit && record.note.is_some();
    // What another program took before it was ever begun here is its own; nothing says then that it passed.
    let is_others = to.iteration == 0 && to.review == Review::Pending;
    if passed(to) && !is_others {
        let is_let_through = after.reviews.iter().any(approves) || after.history.iter().any(by_hand);
        assert!(is_let_through, "{to:?} passed by {event:?}");
    }
    // Between an implementation and the states beyond the gate there is always the gate.
    let is_beyond = |state: &State| passed(state) || matches!(state.status, Status::Step(_));
    if is_beyond(to) && !is_beyond(from) && !is_others {
        let is_from_gate = from.work == Work::Reviewing || *event == Event::Approve;
        // Another program may put it back where it took it from.
        let is_back = matches!((&from.status, event), (Status::Other(_), Event::Edited(_)));
        assert!(is_from_gate || is_back, "{from:?} passed by {event:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn the_board_keeps_its_invariants_under_any_sequence_of_events(rules in rules(), ops in prop::collection::vec(op(), 1..70)) {
        let mut model = Model::new(rules);
        for (is_first, op) in &ops {
            model.step(usize::from(!is_first), op);
        }
    }
}

/// Found by the model: what steps had committed passed when a file was edited twice.
#[test]
fn an_unreviewed_feature_does_not_pass_by_way_of_another_program() {
    let steps = ["lint", "docs"].map(|step| StepId::parse(step).unwrap()).to_vec();
    let mut model = Model::new(Rules { steps, ..Rules::default() });
    let approved_then_changed_by_a_step = [Op::Next(0); 7];
    let failed = Op::Any { event: 21, founded: true, commit: 0 };
    let (parked, verified) = (Op::Edit(5), Op::Edit(3));
    for op in approved_then_changed_by_a_step.iter().chain([&failed, &parked, &verified]) {
        model.step(0, op);
    }
    let state = model.see(0).feature.state;
    assert_eq!((state.status, state.stale), (Status::Other("parked".to_owned()), true));
}
