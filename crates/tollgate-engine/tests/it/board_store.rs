//! The board in its database.

use std::path::Path;

use tollgate_core::board::machine::{Effect, Event, Pause, Review, State, Status, Work};
use tollgate_core::board::{Compliance, FeatureId, Iteration, Outcome, Override, Remark};
use tollgate_core::finding::{Category, Severity};
use tollgate_engine::config::Retention;
use tollgate_engine::store::board::{
    CardFilter, Changes, Claim, ClaimRequest, ConcurrencyLimit, Counts, Facts, FeatureRow, FencingToken, Field,
    FileImport, LeaseAfter, LeaseRequest, NewEvent, NewFeature, NewIteration, Projected, Transition, TransitionError,
    Transitioned, silence,
};

use crate::place::{Place, again_on_a_server};
use tollgate_core::suppress::Dismissal;
use tollgate_engine::store::queue::Queue;
use tollgate_engine::store::{Database, DismissalRow, Filter, Location, OfFeature, RunRecord, Store, Subject};

mod cards;
mod durable;
mod model;

fn open(place: &Place) -> Database {
    Database::open_at(&Location::parse(&place.address()).unwrap()).unwrap()
}

/// A database with one project.
struct Board {
    place: Place,
    database: Database,
    project: i64,
}

impl Board {
    fn new() -> Self {
        let place = Place::new();
        let database = open(&place);
        let project = database.add_project(Path::new("/p"), "p", 1).unwrap().id;
        Self { place, database, project }
    }

    /// As after a restart.
    fn reopen(self) -> Self {
        let Self { place, database, project } = self;
        drop(database);
        let database = open(&place);
        Self { place, database, project }
    }

    fn add(&self, name: &str) -> FeatureId {
        self.add_with(name, Facts { title: format!("Feature {name}"), priority: 2, ..Facts::default() })
    }

    fn add_with(&self, name: &str, facts: Facts) -> FeatureId {
        let feature = new_feature(self.project, name, facts);
        let id = feature.id.clone();
        self.database.insert_feature(feature).unwrap().unwrap();
        id
    }

    fn feature(&self, feature: &FeatureId) -> FeatureRow {
        self.database.feature(self.project, feature).unwrap().unwrap()
    }

    fn transition(&self, feature: &FeatureId, event: Event) -> Transition {
        let mut transition = Transition::new(self.project, feature, event, "somebody", 10);
        transition.announce = Box::new(|feature, before, _| vec![event_of(feature, before)]);
        transition
    }

    #[track_caller]
    fn happen(&self, feature: &FeatureId, event: Event) -> Transitioned {
        self.database.transition(self.transition(feature, event)).unwrap()
    }

    /// Brings a feature so far that its commit is under review.
    fn to_review(&self, feature: &FeatureId, commit: &str) {
        for event in [Event::Start, Event::AgentStarted, Event::AgentDone, Event::Committed(commit.to_owned())] {
            self.happen(feature, event);
        }
    }

    fn bid(&self, feature: &FeatureId, work: Work, now_ms: u64) -> ClaimRequest {
        ClaimRequest {
            project: self.project,
            feature: feature.clone(),
            work,
            lease: LeaseRequest { owner: "me".to_owned(), now_ms, lease_ms: 100 },
            limit: None,
        }
    }

    #[track_caller]
    fn claim(&self, feature: &FeatureId, work: Work, now_ms: u64) -> Claim {
        self.database.claim(&self.bid(feature, work, now_ms)).unwrap().unwrap()
    }

    fn events(&self) -> Vec<String> {
        let events = self.database.events_after(0, 1_000, None).unwrap();
        events.into_iter().map(|row| format!("{} {}", row.seq, row.event.payload)).collect()
    }
}

fn new_feature(project: i64, name: &str, facts: Facts) -> NewFeature {
    NewFeature {
        project,
        id: FeatureId::parse(name).unwrap(),
        state: State::new(),
        facts,
        document: b"{}".to_vec(),
        file_hash: None,
        broken: None,
        iterations: Vec::new(),
        set: Changes::default(),
        created_ms: 5,
        who: "somebody".to_owned(),
        at_ms: 5,
        events: Vec::new(),
    }
}

/// What tests announce: from where to where.
fn event_of(feature: &FeatureRow, before: &State) -> NewEvent {
    NewEvent {
        project: Some(feature.project),
        feature: Some(feature.id.clone()),
        kind: "moved".to_owned(),
        payload: format!("{} {} -> {}", feature.id, before.status, feature.state.status),
    }
}

fn review(number: u32, outcome: Outcome, commit: Option<&str>) -> Iteration {
    Iteration {
        number,
        outcome,
        reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
        model: "tollgate/offline".to_owned(),
        provider: "tollgate".to_owned(),
        commit: commit.map(str::to_owned),
        base: None,
        findings: Vec::new(),
        late: Vec::new(),
        summary: "said".to_owned(),
        reason: None,
        compliance: Compliance::default(),
        notes: Vec::new(),
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    }
}

fn with_review(mut transition: Transition, iteration: Iteration) -> Transition {
    transition.iteration = Some(NewIteration { iteration, diff: Some(b"diff".to_vec()), delta: None, review: None });
    transition
}

fn rejected(commit: &str) -> Event {
    Event::Rejected { commit: commit.to_owned(), same_again: false }
}

fn remark(severity: Severity) -> Remark {
    Remark {
        category: Category::Logic,
        severity,
        title: "wrong".to_owned(),
        description: String::new(),
        suggestion: None,
        file: None,
        line: None,
        evidence: None,
        identity: None,
    }
}

fn by_hand() -> Override {
    Override { who: "ann".to_owned(), reason: "it is urgent".to_owned(), at: "2026-01-09T14:22:00.000Z".to_owned() }
}

#[test]
fn a_project_comes_back_with_all_it_had() {
    let board = Board::new();
    let feature = board.add("one");
    let database = &board.database;
    assert_eq!(database.add_project(Path::new("/p"), "other", 9).unwrap().name, "p", "it is there already");
    assert!(database.remove_project(board.project, 2).unwrap());
    assert!(!database.remove_project(board.project, 2).unwrap());
    assert_eq!(database.projects().unwrap(), []);
    assert_eq!(database.feature(board.project, &feature).unwrap(), None);
    assert!(database.insert_feature(new_feature(board.project, "two", Facts::default())).unwrap().is_none());
    let revived = database.add_project(Path::new("/p"), "new name", 3).unwrap();
    assert_eq!((revived.id, revived.name.as_str()), (board.project, "new name"));
    assert_eq!(database.project_at(Path::new("/p")).unwrap(), database.project(board.project).unwrap());
    assert_eq!(board.feature(&feature).facts.title, "Feature one");
}

#[test]
fn everything_that_follows_is_stored_together() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let mut iteration = review(1, Outcome::Rejected, Some("c1"));
    iteration.findings = vec![remark(Severity::Critical), remark(Severity::Low), remark(Severity::Low)];
    let mut transition = with_review(board.transition(&feature, rejected("c1")), iteration.clone());
    transition.set = Changes {
        problem: Field::Set("no".to_owned()),
        hook_output: Field::Clear,
        add_cost_usd: 0.5,
        add_tokens: 7,
        ..Changes::default()
    };
    transition.note = Some("see there".to_owned());
    let done = board.database.transition(transition).unwrap();
    assert_eq!(done.effects, [Effect::ReviewCompleted, Effect::ReviewRejected]);
    let board = board.reopen();
    let after = board.feature(&feature);
    assert_eq!(after, done.feature);
    assert_eq!((after.rev, after.state.iteration, after.state.work), (6, 2, Work::Queued));
    assert_eq!((after.problem.as_deref(), after.cost_usd, after.n_tokens), (Some("no"), 0.5, 7));
    let [stored] = &board.database.iterations(board.project, &feature).unwrap()[..] else { panic!() };
    assert_eq!(stored.iteration, iteration);
    assert_eq!(board.database.diff(&stored.diff.unwrap()).unwrap().unwrap(), b"diff");
    assert_eq!(board.database.iteration(board.project, &feature, 1).unwrap().as_ref(), Some(stored));
    let history = board.database.transitions(board.project, &feature).unwrap();
    let words: Vec<&str> = history.iter().map(|row| row.event.as_str()).collect();
    assert_eq!(words, ["added", "start", "agent_started", "agent_done", "committed", "rejected"]);
    let last = history.last().unwrap();
    assert_eq!((last.who.as_str(), last.note.as_deref(), last.at_ms), ("somebody", Some("see there"), 10));
    assert_eq!((last.iteration, &last.to), (Some(stored.row), &after.state));
    assert_eq!(board.events().last().unwrap(), "5 one code_review -> in_progress");
    assert_eq!(done.last_seq, 5);
    let card = &board.database.cards(board.project, &CardFilter { limit: 9, ..CardFilter::default() }).unwrap()[0];
    assert_eq!(card.pips, [Outcome::Rejected]);
    assert_eq!(card.counts, Counts { critical: 1, low: 2, ..Counts::default() });
}

#[test]
fn a_review_is_remembered_with_what_it_meant() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let remembered = |event: Event| {
        let subject = Subject { repository: "r".to_owned(), name: "branch one".to_owned(), scope: "branch".to_owned() };
        let run =
            RunRecord { subject, time: (1, 2), version: "0.1.0".to_owned(), outcome: Err("no answer".to_owned()) };
        let mut transition = with_review(board.transition(&feature, event), review(1, Outcome::Failed, Some("c1")));
        transition.iteration.as_mut().unwrap().review = Some(run);
        board.database.transition(transition)
    };
    let runs = || board.database.store().unwrap().runs(&Filter { limit: 9, ..Filter::default() }).unwrap();
    remembered(Event::Start).unwrap_err();
    assert_eq!(runs(), [], "of what is refused nothing is remembered");
    remembered(Event::ReviewFailed).unwrap();
    let [(run, _)] = &runs()[..] else { panic!() };
    assert_eq!(run.problem.as_deref(), Some("no answer"));
    assert_eq!(board.database.iterations(board.project, &feature).unwrap()[0].run, Some(run.id));
    let of = || board.database.run(run.id).unwrap().unwrap().1.feature;
    let expected = OfFeature { project: board.project, feature, title: "Feature one".to_owned(), iteration: 1 };
    assert_eq!(of(), Some(expected), "who looks at the run finds the feature");
    board.database.remove_project(board.project, 2).unwrap();
    assert_eq!(of(), None, "nothing leads to what is gone");
}

#[test]
fn of_what_is_refused_nothing_is_stored() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let before = (board.feature(&feature), board.events());
    let check = |transition: Transition, expected: &str| {
        let error = board.database.transition(transition).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!((board.feature(&feature), board.events()), before);
        assert_eq!(board.database.iterations(board.project, &feature).unwrap(), []);
    };
    let approved = || board.transition(&feature, Event::Approved("c1".to_owned()));
    let mut outdated = review(1, Outcome::Approved, Some("c1"));
    outdated.outdated = true;
    check(board.transition(&feature, Event::Start), "cannot start it: it is being reviewed");
    let unfounded = "an approval needs the review of that commit that approves";
    check(approved(), unfounded);
    check(with_review(approved(), review(1, Outcome::Approved, Some("c2"))), unfounded);
    check(with_review(approved(), review(1, Outcome::Approved, None)), unfounded);
    check(with_review(approved(), review(1, Outcome::Rejected, Some("c1"))), unfounded);
    check(with_review(approved(), outdated), unfounded);
    check(
        with_review(approved(), review(2, Outcome::Approved, Some("c1"))),
        "the review has another number than the iteration",
    );
    check(board.transition(&feature, rejected("c1")), "a rejection needs the review of that commit that rejects");
    let mut stale = with_review(approved(), review(1, Outcome::Approved, Some("c1")));
    stale.token = Some(FencingToken(99));
    check(stale, "the lease was lost or the job was cancelled");
    let mut missing = board.transition(&feature, Event::Stop);
    missing.feature = FeatureId::parse("none").unwrap();
    check(missing, "there is no such feature");
}

#[test]
fn an_approval_by_hand_is_recorded_with_who_and_why() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    for _ in 0..3 {
        board.happen(&feature, Event::ReviewFailed);
    }
    let mut failed = review(1, Outcome::Failed, Some("c1"));
    failed.reason = Some("no answer".to_owned());
    let retried = board.happen(&feature, Event::Retry);
    assert_eq!(retried.feature.state.work, Work::Reviewing);
    board.happen(&feature, Event::ReviewFailed);
    board.happen(&feature, Event::ReviewFailed);
    board.database.transition(with_review(board.transition(&feature, Event::ReviewFailed), failed)).unwrap();
    assert_eq!(board.feature(&feature).state.pause, Some(Pause::ReviewFailed));
    let error = board.database.transition(board.transition(&feature, Event::Approve)).unwrap_err();
    assert_eq!(error, TransitionError::Unfounded("a manual approval needs a person and a reason"));
    let mut approve = board.transition(&feature, Event::Approve);
    approve.overridden = Some(by_hand());
    let done = board.database.transition(approve).unwrap();
    assert_eq!((done.feature.state.status, done.feature.state.review), (Status::WaitingApproval, Review::Approved));
    let stored = board.database.iteration(board.project, &feature, 1).unwrap().unwrap();
    assert_eq!(stored.iteration.overridden, Some(by_hand()));
    let history = board.database.transitions(board.project, &feature).unwrap();
    assert_eq!(history.last().unwrap().note.as_deref(), Some("it is urgent"));
    let mut back = board.transition(&feature, Event::SendBack);
    back.note = Some("look again".to_owned());
    board.database.transition(back).unwrap();
    let stored = board.database.iteration(board.project, &feature, 1).unwrap().unwrap();
    assert_eq!(stored.iteration.note.as_deref(), Some("look again"));
}

#[test]
fn work_is_done_by_one_at_a_time() {
    let board = Board::new();
    let feature = board.add("one");
    board.happen(&feature, Event::Start);
    let database = &board.database;
    let first = board.claim(&feature, Work::Queued, 1_000);
    assert_eq!(database.claim(&board.bid(&feature, Work::Queued, 1_050)).unwrap(), None, "it is held");
    assert_eq!(database.claim(&board.bid(&feature, Work::Reviewing, 9_999)).unwrap(), None, "something else is owed");
    assert!(database.heartbeat(first.token, 2_000).unwrap());
    assert_eq!(database.claim(&board.bid(&feature, Work::Queued, 1_900)).unwrap(), None, "it is held for longer");
    let second = board.claim(&feature, Work::Queued, 2_001);
    assert!(second.token > first.token);
    assert_eq!(second.attempt, first.attempt, "it is the same try");
    assert!(!database.heartbeat(first.token, 9_000).unwrap());
    assert!(!database.release(first.token, 0).unwrap());
    assert!(!database.record_process(first.token, "1").unwrap());
    let mut late = board.transition(&feature, Event::AgentStarted);
    late.token = Some(first.token);
    assert_eq!(database.transition(late).unwrap_err(), TransitionError::Stale);
    let mut start = board.transition(&feature, Event::AgentStarted);
    (start.token, start.hold) = (Some(second.token), LeaseAfter::Keep);
    database.transition(start).unwrap();
    assert!(database.record_process(second.token, "2").unwrap());
    let mut done = board.transition(&feature, Event::AgentDone);
    done.token = Some(second.token);
    database.transition(done).unwrap();
    assert!(!database.heartbeat(second.token, 9_000).unwrap(), "what is owed next is free");
    let third = board.claim(&feature, Work::Committing, 2_002);
    assert!(third.attempt > second.attempt);
    assert!(database.release(third.token, 5_000).unwrap());
    assert_eq!(
        database.claim(&board.bid(&feature, Work::Committing, 4_999)).unwrap(),
        None,
        "it is not to be done yet"
    );
    let fourth = board.claim(&feature, Work::Committing, 5_000);
    board.happen(&feature, Event::Stop);
    assert!(!database.heartbeat(fourth.token, 9_000).unwrap(), "nothing is owed");
    let marks: Vec<String> = database.processes().unwrap().into_iter().map(|process| process.mark).collect();
    assert_eq!(marks, ["2"], "its end was not seen, whatever became of the work");
    database.forget_process(second.token).unwrap();
    assert_eq!(database.processes().unwrap(), []);
}

#[test]
fn a_lease_of_a_clock_that_was_wrong_does_not_hold() {
    let board = Board::new();
    let feature = board.add("one");
    board.happen(&feature, Event::Start);
    let year_ms = 365 * 24 * 3_600 * 1_000;
    board.claim(&feature, Work::Queued, 10 * year_ms);
    board.claim(&feature, Work::Queued, 2_000);
}

#[test]
fn claims_of_somebody_who_is_gone_are_given_back() {
    let board = Board::new();
    let feature = board.add("one");
    board.happen(&feature, Event::Start);
    board.claim(&feature, Work::Queued, 1_000);
    assert_eq!(board.database.lease_owners(Queue::Features).unwrap(), ["me"]);
    assert_eq!(board.database.release_owner(Queue::Features, "you").unwrap(), 0);
    assert_eq!(board.database.release_owner(Queue::Features, "me").unwrap(), 1);
    board.claim(&feature, Work::Queued, 1_001);
}

#[test]
fn only_so_much_is_done_at_once() {
    let board = Board::new();
    let features: Vec<FeatureId> = ["a", "b", "c"].map(|name| board.add(name)).to_vec();
    for feature in &features {
        board.happen(feature, Event::Start);
    }
    let limit = ConcurrencyLimit { works: vec![Work::Queued, Work::Implementing], most: 2 };
    let claim = |feature: &FeatureId, now_ms| {
        let bid = ClaimRequest { limit: Some(limit.clone()), ..board.bid(feature, Work::Queued, now_ms) };
        board.database.claim(&bid).unwrap()
    };
    let first = claim(&features[0], 1_000).unwrap();
    assert!(claim(&features[1], 1_000).is_some());
    assert_eq!(claim(&features[2], 1_000), None);
    board.database.release(first.token, 0).unwrap();
    assert!(claim(&features[2], 1_000).is_some());
    assert!(claim(&features[0], 1_101).is_some(), "leases that are over take no room");
}

#[test]
fn the_most_urgent_work_comes_first_then_the_longest_owed() {
    let board = Board::new();
    for (name, priority) in [("mild", 3), ("first", 2), ("second", 2), ("urgent", 1)] {
        let facts = Facts { priority, dependencies: vec!["x".to_owned()], ..Facts::default() };
        let feature = board.add_with(name, facts);
        board.happen(&feature, Event::Start);
    }
    let names = |now_ms, limit| -> Vec<String> {
        let found = board.database.candidates(&[Work::Queued], now_ms, limit).unwrap();
        found.into_iter().map(|candidate| candidate.feature.to_string()).collect()
    };
    assert_eq!(names(1_000, 9), ["urgent", "first", "second", "mild"]);
    board.claim(&FeatureId::parse("first").unwrap(), Work::Queued, 1_000);
    assert_eq!(names(1_000, 2), ["urgent", "second"]);
    assert_eq!(names(1_101, 9).len(), 4, "a lease that is over holds nothing");
    assert_eq!(board.database.candidates(&[Work::Reviewing], 1_000, 9).unwrap(), []);
    assert_eq!(board.database.candidates(&[Work::Queued], 1_000, 1).unwrap()[0].dependencies, ["x"]);
}

#[test]
fn a_review_that_is_to_be_tried_later_is_let_go() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let claim = board.claim(&feature, Work::Reviewing, 1_000);
    let mut failed = board.transition(&feature, Event::ReviewFailed);
    (failed.token, failed.hold) = (Some(claim.token), LeaseAfter::Keep);
    failed.set.not_before_ms = Some(3_000);
    board.database.transition(failed).unwrap();
    assert_eq!(board.database.claim(&board.bid(&feature, Work::Reviewing, 2_999)).unwrap(), None);
    board.claim(&feature, Work::Reviewing, 3_000);
}

fn take_in(board: &Board, feature: &FeatureId, edit: Option<Status>) -> FileImport {
    FileImport {
        project: board.project,
        feature: feature.clone(),
        document: b"{\"title\":\"new\"}".to_vec(),
        file_hash: [7; 32],
        facts: Facts { title: "new".to_owned(), ..Facts::default() },
        set: Changes::default(),
        edit,
        rules: tollgate_core::board::machine::Rules::default(),
        seen_rev: board.feature(feature).rev,
        is_current: true,
        who: "file".to_owned(),
        at_ms: 20,
        announce: silence(),
    }
}

#[test]
fn a_file_is_taken_in_and_a_status_the_gate_forbids_is_not() {
    let board = Board::new();
    let feature = board.add("one");
    board.database.set_broken(board.project, &feature, Some("line 3"), 19, Vec::new()).unwrap();
    assert_eq!(board.feature(&feature).broken.as_deref(), Some("line 3"));
    assert_eq!(board.database.unprojected().unwrap(), [], "a broken file is not written");
    let taken = board.database.import_file(take_in(&board, &feature, Some(Status::Verified))).unwrap();
    assert_eq!(taken.refused.unwrap().why, "only the gate sets this status");
    assert_eq!(taken.feature, board.feature(&feature));
    let FeatureRow { state, facts, broken, file_hash, .. } = taken.feature;
    assert_eq!((state.status, facts.title.as_str(), broken), (Status::Backlog, "new", None));
    assert_eq!(file_hash, Some([7; 32]));
    assert_eq!(board.database.unprojected().unwrap()[0].rev, 2, "the file is to be put right");
    let taken =
        board.database.import_file(take_in(&board, &feature, Some(Status::Other("parked".to_owned())))).unwrap();
    assert_eq!((taken.refused, taken.feature.rev), (None, 3));
    assert_eq!(board.database.unprojected().unwrap(), []);
    let history = board.database.transitions(board.project, &feature).unwrap();
    let words: Vec<&str> = history.iter().map(|row| row.event.as_str()).collect();
    assert_eq!(words, ["added", "edit_refused", "edited"]);
    // Another program has it now, and moves it as it likes.
    let taken = board.database.import_file(take_in(&board, &feature, Some(Status::Verified))).unwrap();
    assert_eq!((taken.refused, taken.feature.state.status), (None, Status::Verified));
}

#[test]
fn a_file_is_judged_anew_when_something_happened_while_it_was_read() {
    let board = Board::new();
    let feature = board.add("one");
    let taking = take_in(&board, &feature, None);
    board.happen(&feature, Event::Start);
    assert!(matches!(board.database.import_file(taking), Err(TransitionError::Stale)));
    assert_eq!(board.database.unprojected().unwrap()[0].rev, 2);
    board.database.import_file(take_in(&board, &feature, None)).unwrap();
    assert_eq!(board.database.unprojected().unwrap(), []);
}

#[test]
fn taking_in_a_file_does_not_disturb_the_work_on_it() {
    let board = Board::new();
    let feature = board.add("one");
    board.happen(&feature, Event::Start);
    let claim = board.claim(&feature, Work::Queued, 1_000);
    board.database.import_file(take_in(&board, &feature, Some(Status::InProgress))).unwrap();
    assert!(board.database.heartbeat(claim.token, 2_000).unwrap());
}

#[test]
fn a_written_file_never_replaces_a_later_edit() {
    let board = Board::new();
    let feature = board.add("one");
    let projected = |text: &str| Some(Projected { document: text.as_bytes().to_vec(), hash: [text.len() as u8; 32] });
    let mark = |rev, text| board.database.mark_projected(board.project, &feature, rev, projected(text)).unwrap();
    mark(1, "first");
    let row = board.feature(&feature);
    assert_eq!((row.projected_rev, &row.document[..], row.file_hash), (1, &b"first"[..], Some([5; 32])));
    board.happen(&feature, Event::Start);
    board.happen(&feature, Event::Stop);
    mark(2, "second");
    assert_eq!(board.feature(&feature).document, b"second", "it moved on, but nobody wrote the file");
    let mut taking = take_in(&board, &feature, None);
    taking.is_current = false;
    let rev = board.database.import_file(taking).unwrap().feature.rev;
    mark(rev - 1, "too late");
    let row = board.feature(&feature);
    assert_eq!((&row.document[..], row.file_hash), (&b"{\"title\":\"new\"}"[..], Some([7; 32])));
    assert_eq!((row.projected_rev, board.database.unprojected().unwrap()[0].rev), (rev - 1, rev));
    mark(rev + 1, "from nowhere");
    assert_eq!(board.feature(&feature).projected_rev, rev - 1);
}

#[test]
fn a_hidden_feature_is_owed_nothing_and_comes_back_with_its_history() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let claim = board.claim(&feature, Work::Reviewing, 1_000);
    board
        .database
        .transition(with_review(board.transition(&feature, rejected("c1")), review(1, Outcome::Rejected, Some("c1"))))
        .unwrap();
    assert!(board.database.hide_feature(board.project, &feature, "somebody", 30, Vec::new()).unwrap());
    assert!(!board.database.hide_feature(board.project, &feature, "somebody", 30, Vec::new()).unwrap());
    assert_eq!(board.database.feature(board.project, &feature).unwrap(), None);
    assert_eq!(board.database.cards(board.project, &CardFilter { limit: 9, ..CardFilter::default() }).unwrap(), []);
    assert!(!board.database.heartbeat(claim.token, 9_000).unwrap());
    let gone = board.database.transition(board.transition(&feature, Event::Start)).unwrap_err();
    assert_eq!(gone, TransitionError::NoSuchFeature);
    board.add("one");
    let row = board.feature(&feature);
    assert_eq!((row.state.status, row.state.iteration), (Status::Backlog, 2), "numbers of reviews are not given twice");
    let history = board.database.transitions(board.project, &feature).unwrap();
    let words: Vec<&str> = history.iter().map(|row| row.event.as_str()).skip(5).collect();
    assert_eq!(words, ["rejected", "deleted", "added"]);
}

#[test]
fn a_feature_is_rebuilt_from_what_its_file_knows() {
    let board = Board::new();
    let mut new = new_feature(board.project, "one", Facts::default());
    let iterations = vec![review(1, Outcome::Rejected, Some("c1")), review(2, Outcome::Approved, Some("c2"))];
    new.state = State { status: Status::Verified, iteration: 2, review: Review::Approved, ..State::new() };
    (new.iterations, new.file_hash) = (iterations.clone(), Some([1; 32]));
    let feature = board.database.insert_feature(new.clone()).unwrap().unwrap();
    assert_eq!(feature, board.feature(&feature.id));
    assert_eq!(board.database.unprojected().unwrap(), []);
    let stored = board.database.iterations(board.project, &feature.id).unwrap();
    assert_eq!(stored.into_iter().map(|row| row.iteration).collect::<Vec<_>>(), iterations);
    assert_eq!(board.database.insert_feature(new).unwrap(), None, "it is there already");
}

#[test]
fn cards_are_listed_oldest_first_page_by_page() {
    let board = Board::new();
    for (index, (name, title)) in [("z", "Log in"), ("y", "LOG out"), ("x", "Größe"), ("w", "")].into_iter().enumerate()
    {
        let mut new = new_feature(board.project, name, Facts { title: title.to_owned(), ..Facts::default() });
        new.created_ms = index as u64 / 2;
        board.database.insert_feature(new).unwrap().unwrap();
    }
    board.happen(&FeatureId::parse("x").unwrap(), Event::Start);
    let check = |filter: CardFilter, expected: &[&str]| {
        let cards = board.database.cards(board.project, &filter).unwrap();
        assert_eq!(cards.iter().map(|card| card.id.as_str()).collect::<Vec<_>>(), expected);
    };
    let all = || CardFilter { limit: 9, ..CardFilter::default() };
    check(all(), &["y", "z", "w", "x"]);
    check(CardFilter { limit: 2, ..all() }, &["y", "z"]);
    check(CardFilter { after: FeatureId::parse("z").ok(), ..all() }, &["w", "x"]);
    check(CardFilter { text: Some("log".to_owned()), ..all() }, &["y", "z"]);
    check(CardFilter { text: Some("GRÖSSE".to_owned()), ..all() }, &[]);
    check(CardFilter { text: Some("GRÖ".to_owned()), ..all() }, &["x"]);
    check(CardFilter { status: Some(Status::Backlog), ..all() }, &["y", "z", "w"]);
    check(CardFilter { status: Some(Status::InProgress), text: Some("x".to_owned()), ..all() }, &["x"]);
    assert_eq!(board.database.column_counts(board.project).unwrap(), [(Status::Backlog, 3), (Status::InProgress, 1)]);
    let asked = ["x", "none"].map(|name| FeatureId::parse(name).unwrap());
    let statuses = board.database.statuses(board.project, &asked).unwrap();
    assert_eq!(statuses, [(asked[0].clone(), Status::InProgress)]);
}

#[test]
fn of_two_reviews_with_one_number_the_later_stands() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    let mut outdated = review(1, Outcome::Rejected, Some("c1"));
    outdated.outdated = true;
    let moved = board.transition(&feature, Event::HeadMoved("c2".to_owned()));
    board.database.transition(with_review(moved, outdated)).unwrap();
    let approved = board.transition(&feature, Event::Approved("c2".to_owned()));
    board.database.transition(with_review(approved, review(1, Outcome::Approved, Some("c2")))).unwrap();
    let stored = board.database.iteration(board.project, &feature, 1).unwrap().unwrap();
    assert_eq!(stored.iteration.commit.as_deref(), Some("c2"));
    let card = &board.database.cards(board.project, &CardFilter { limit: 9, ..CardFilter::default() }).unwrap()[0];
    assert_eq!(card.pips, [Outcome::Approved]);
}

#[test]
fn events_are_read_by_project_and_forgotten_by_age() {
    let board = Board::new();
    let database = &board.database;
    let event = |project: Option<i64>, payload: &str| NewEvent {
        project,
        feature: None,
        kind: "said".to_owned(),
        payload: payload.to_owned(),
    };
    let other = database.add_project(Path::new("/q"), "q", 1).unwrap().id;
    assert_eq!(database.announce(event(Some(board.project), "a"), 100).unwrap(), 1);
    let more = [event(Some(other), "b"), event(None, "c"), event(Some(board.project), "d")];
    assert_eq!(more.map(|event| database.announce(event, 200).unwrap()), [2, 3, 4]);
    let after = |seq, limit, project| -> String {
        database.events_after(seq, limit, project).unwrap().into_iter().map(|row| row.event.payload).collect()
    };
    assert_eq!(after(0, 9, None), "abcd");
    assert_eq!(after(1, 2, None), "bc");
    assert_eq!(after(0, 9, Some(board.project)), "ad");
    forget_events(database, 200);
    assert_eq!((after(0, 9, None).as_str(), database.oldest_seq().unwrap()), ("bcd", Some(2)));
    forget_events(database, 9_999);
    assert_eq!((database.last_seq().unwrap(), database.oldest_seq().unwrap()), (4, None));
    assert_eq!(database.announce(event(None, "e"), 300).unwrap(), 5);
    assert_eq!(after(4, 9, None), "e");
}

/// Forgets the events from before a time.
fn forget_events(database: &Database, before_ms: u64) {
    let day_ms = 24 * 60 * 60 * 1_000;
    let kept = Retention { events: 1, deliveries: 0, ..Retention::default() };
    database.forget(&kept, day_ms + before_ms, || true).unwrap();
}

#[test]
fn the_board_store_suite_passes_on_postgresql() {
    again_on_a_server(&["board_store::", "stored::"], &["passes_on_postgresql"]);
}
