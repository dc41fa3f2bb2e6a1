//! What a card shows, and which cards fit a question.

use tollgate_core::board::iteration::Identity;
use tollgate_engine::store::board::{Blocker, Card, Lane, Order, Progress};

use super::*;

impl Board {
    fn card(&self, feature: &FeatureId) -> Card {
        let card = only(&self.database, self.project, feature);
        let filter = CardFilter { limit: 99, ..CardFilter::default() };
        let listed = self.database.cards(self.project, &filter).unwrap();
        assert!(listed.contains(&card), "one card is as it is in a list");
        card
    }

    fn at(&self, feature: &FeatureId, event: Event, at_ms: u64) {
        let transition = Transition { at_ms, ..self.transition(feature, event) };
        self.database.transition(transition).unwrap();
    }
}

/// One card, asked for by its name.
fn only(database: &Database, project: i64, feature: &FeatureId) -> Card {
    let filter = CardFilter { id: Some(feature.clone()), limit: 9, ..CardFilter::default() };
    let [card] = database.cards(project, &filter).unwrap().try_into().unwrap();
    card
}

fn finding(fingerprint: &str) -> Remark {
    let identity = Identity { id: "F001".to_owned(), fingerprint: fingerprint.to_owned(), key: None };
    // Each is about code of its own.
    let (title, evidence) = (format!("finding {fingerprint}"), Some(format!("let value_of_{fingerprint} = 1;")));
    let line = fingerprint.bytes().next().map(u32::from);
    Remark { identity: Some(identity), title, evidence, line, ..remark(Severity::High) }
}

/// Rejects a feature whose commit is under review, with these findings.
fn reject(board: &Board, feature: &FeatureId, commit: &str, findings: &[&str]) {
    let number = board.feature(feature).state.iteration;
    let mut iteration = review(number, Outcome::Rejected, Some(commit));
    iteration.findings = findings.iter().map(|fingerprint| finding(fingerprint)).collect();
    iteration.late = vec![finding("late")];
    board.database.transition(with_review(board.transition(feature, rejected(commit)), iteration)).unwrap();
}

fn implement(board: &Board, feature: &FeatureId, commit: &str) {
    for event in [Event::AgentStarted, Event::AgentDone, Event::Committed(commit.to_owned())] {
        board.happen(feature, event);
    }
}

#[test]
fn a_card_says_what_is_new_and_what_is_gone_since_the_review_before() {
    let board = Board::new();
    let feature = board.add("one");
    board.to_review(&feature, "c1");
    reject(&board, &feature, "c1", &["a", "b", "c"]);
    let card = board.card(&feature);
    assert_eq!((card.progress, card.counts.high, card.counts.late), (None, 3, 1));
    implement(&board, &feature, "c2");
    reject(&board, &feature, "c2", &["c", "d"]);
    assert_eq!(board.card(&feature).progress, Some(Progress { n_new: 1, n_resolved: 2 }));
    // A review without an answer is no review to compare with.
    implement(&board, &feature, "c3");
    for n_tries in 1..=3 {
        let failed = board.transition(&feature, Event::ReviewFailed);
        let failed = if n_tries == 3 { with_review(failed, review(3, Outcome::Failed, Some("c3"))) } else { failed };
        board.database.transition(failed).unwrap();
    }
    assert_eq!(board.card(&feature).progress, None);
    board.happen(&feature, Event::Retry);
    reject(&board, &feature, "c3", &["d"]);
    assert_eq!(board.card(&feature).progress, Some(Progress { n_new: 0, n_resolved: 1 }));
}

#[test]
fn a_card_says_since_when_it_is_where_it_is() {
    let board = Board::new();
    let feature = board.add("one");
    assert_eq!(board.card(&feature).since_ms, 5);
    board.at(&feature, Event::Start, 20);
    assert_eq!(board.card(&feature).since_ms, 20);
    board.at(&feature, Event::AgentStarted, 30);
    let again = Transition {
        set: Changes { add_tokens: 1, ..Changes::default() },
        at_ms: 35,
        ..board.transition(&feature, Event::Interrupted)
    };
    board.database.transition(again).unwrap();
    board.at(&feature, Event::AgentStarted, 40);
    board.at(&feature, Event::AgentDone, 50);
    board.at(&feature, Event::Committed("c1".to_owned()), 60);
    assert_eq!(board.card(&feature).since_ms, 60);
    // It is still being reviewed.
    board.at(&feature, Event::ReviewFailed, 70);
    let card = board.card(&feature);
    assert_eq!((card.since_ms, card.updated_ms), (60, 70));
}

#[test]
fn a_card_names_what_it_still_waits_for() {
    let board = Board::new();
    let (open, done) = (board.add("open"), board.add("done"));
    let mut passed = State::new();
    passed.status = Status::Verified;
    board.database.hide_feature(board.project, &done, "somebody", 6, vec![]).unwrap();
    let facts = Facts { title: "Done".to_owned(), ..Facts::default() };
    board.database.insert_feature(NewFeature { state: passed, ..new_feature(board.project, "done", facts) }).unwrap();
    let names = ["done", "open", "never-there", "../no name"].map(str::to_owned);
    let late = board.add_with("late", Facts { dependencies: names.to_vec(), ..Facts::default() });
    assert_eq!(board.card(&late).blocked_by, [Blocker { id: open, title: "Feature open".to_owned() }]);
}

#[test]
fn a_feature_at_the_gate_runs_or_is_queued_or_waits_for_a_person() {
    let board = Board::new();
    let [runs, waits, stopped] = ["runs", "waits", "stopped"].map(|name| board.add(name));
    for feature in [&runs, &waits, &stopped] {
        board.to_review(feature, "c1");
    }
    board.claim(&runs, Work::Reviewing, 100);
    board.happen(&stopped, Event::Stop);
    assert!(board.card(&runs).is_claimed && !board.card(&waits).is_claimed);
    let in_lane = |lane| {
        let filter =
            CardFilter { status: Some(Status::CodeReview), lane: Some(lane), limit: 9, ..CardFilter::default() };
        let cards = board.database.cards(board.project, &filter).unwrap();
        assert_eq!(board.database.n_cards(board.project, &filter).unwrap(), cards.len());
        cards.into_iter().map(|card| card.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(in_lane(Lane::Running), ["runs"]);
    assert_eq!(in_lane(Lane::NeedsYou), ["stopped"]);
    assert_eq!(in_lane(Lane::Queued), ["waits"]);
    board.add("other");
    let outside = CardFilter { outside: vec![Status::CodeReview, Status::Verified], ..CardFilter::default() };
    assert_eq!(board.database.n_cards(board.project, &outside).unwrap(), 1);
    let counts = board.database.lane_counts(board.project, &CardFilter::default()).unwrap();
    assert_eq!(
        counts,
        [
            (Status::Backlog, Lane::NeedsYou, 1),
            (Status::CodeReview, Lane::Running, 1),
            (Status::CodeReview, Lane::NeedsYou, 1),
            (Status::CodeReview, Lane::Queued, 1)
        ]
    );
    let waiting = CardFilter { text: Some("WAITS".to_owned()), ..CardFilter::default() };
    assert_eq!(board.database.lane_counts(board.project, &waiting).unwrap(), [(Status::CodeReview, Lane::Queued, 1)]);
}

#[test]
fn cards_are_asked_for_by_group_urgency_and_whether_they_need_a_person() {
    let board = Board::new();
    for (name, category, priority) in
        [("a", Some("Core"), 3), ("b", None, 1), ("c", Some("core"), 1), ("d", Some("Core"), 1)]
    {
        let category = category.map(str::to_owned);
        board.add_with(name, Facts { category, priority, ..Facts::default() });
    }
    board.to_review(&FeatureId::parse("d").unwrap(), "c1");
    board.happen(&FeatureId::parse("d").unwrap(), Event::Stop);
    board.at(&FeatureId::parse("a").unwrap(), Event::Start, 50);
    let check = |filter: CardFilter, expected: &str| {
        let mut names = String::new();
        // Page by page, two at a time.
        let mut after = None;
        loop {
            let page = CardFilter { limit: 2, after: after.clone(), ..filter.clone() };
            let cards = board.database.cards(board.project, &page).unwrap();
            names.extend(cards.iter().map(|card| card.id.as_str()));
            let Some(last) = cards.last() else { break };
            after = Some(last.id.clone());
        }
        assert_eq!(names, expected);
        assert_eq!(board.database.n_cards(board.project, &filter).unwrap(), expected.len());
    };
    check(CardFilter { category: Some("Core".to_owned()), ..CardFilter::default() }, "ad");
    check(CardFilter { priority: Some(1), ..CardFilter::default() }, "bcd");
    check(CardFilter { needs_person: true, ..CardFilter::default() }, "d");
    check(CardFilter { order: Order::Urgency, ..CardFilter::default() }, "bcda");
    check(CardFilter { order: Order::Recent, ..CardFilter::default() }, "adcb");
    check(CardFilter { category: Some("' OR 1 = 1 --".to_owned()), ..CardFilter::default() }, "");
    assert_eq!(board.database.categories(board.project, 9).unwrap(), ["Core", "core"]);
    assert_eq!(board.database.categories(board.project, 1).unwrap(), ["Core"]);
}

#[test]
fn a_board_of_the_second_version_learns_what_its_cards_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../../src/store/0001.sql")).unwrap();
    old.execute_batch(include_str!("../../../src/store/0002.sql")).unwrap();
    old.execute_batch(include_str!("second.sql")).unwrap();
    drop(old);
    let database = Database::open(&path).unwrap();
    let card = |name: &str| only(&database, 1, &FeatureId::parse(name).unwrap());
    let known = card("known");
    assert_eq!((known.facts.category.as_deref(), known.facts.model.as_deref()), (Some("Core"), Some("small")));
    assert!(!known.facts.skip_tests);
    assert_eq!((known.since_ms, known.counts.late), (200, 1));
    assert_eq!(known.progress, Some(Progress { n_new: 1, n_resolved: 2 }));
    let broken = card("broken");
    assert_eq!((broken.facts.category, broken.facts.skip_tests, broken.since_ms), (None, true, 7));
    let connection = rusqlite::Connection::open(&path).unwrap();
    let error = connection.execute("UPDATE iteration SET n_new = 0", []).unwrap_err().to_string();
    assert!(error.contains("a stored iteration does not change"), "{error}");
}
