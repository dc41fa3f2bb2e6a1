//! Cards and columns, rendered in full.

use insta::assert_snapshot;
use tollgate_core::board::document::Step;
use tollgate_core::board::machine::{Pause, Review, State, Work};
use tollgate_core::board::{Outcome, StepId};
use tollgate_engine::store::board::{Blocker, Card, Counts, Facts, FeatureRow, Progress};

use super::cards::CardSearch;
use super::*;

const HOSTILE: &str = "</a><script>alert(1)</script>\" onload='x'\u{202e}\u{1b}[2J";
const NOW: u64 = 1_767_968_520_000;

fn id(name: &str) -> FeatureId {
    FeatureId::parse(name).unwrap()
}

fn frame() -> Frame {
    let docs = Step { id: StepId::parse("docs").unwrap(), name: "Docs".to_owned(), instructions: String::new() };
    Frame { name: "shop".to_owned(), steps: vec![docs], max_rounds: 3, ..Frame::default() }
}

fn card(state: State) -> Card {
    let facts = Facts { title: "Add login".to_owned(), priority: 2, skip_tests: true, ..Facts::default() };
    Card { since_ms: NOW - 200_000, ..Card::new(id("login"), state, facts) }
}

/// A card as markup.
fn markup(card: Card, frame: &Frame) -> String {
    let card = Some(CardView::new(1, card, frame, NOW));
    CardFragment { card, counts: Vec::new(), waiting: Vec::new(), n_fitting: 1, found: String::new() }.render().unwrap()
}

/// The text of a card, a line for each part of it. Text for screen readers stands in brackets.
fn text(card: Card, frame: &Frame) -> String {
    let markup = markup(card, frame).replace('\n', " ");
    let mut text = String::new();
    for part in markup.split('<').skip(1) {
        let (tag, words) = part.split_once('>').unwrap();
        match tag {
            "span class=\"sr-only\"" => text.push_str(&format!(" [{words}]")),
            _ if ["p", "div", "button"].iter().any(|name| tag.split(' ').next() == Some(name)) => {
                text.push_str(&format!("\n{words}"));
            }
            _ => text.push_str(&format!(" {words}")),
        }
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn state(status: Status, work: Work, iteration: u32) -> State {
    State { status, work, iteration, round: iteration, ..State::new() }
}

#[test]
fn a_card_in_the_backlog_says_what_it_is_and_what_it_waits_for() {
    let mut late = card(State::new());
    late.facts.priority = 1;
    late.facts.category = Some("Accounts".to_owned());
    late.facts.model = Some("small".to_owned());
    let open = |name: &str, title: &str| Blocker { id: id(name), title: title.to_owned() };
    late.blocked_by = vec![open("mail", ""), open("db", "Store users")];
    assert_snapshot!(text(late, &frame()), @"
    Add login
    ⋯ [Actions for Add login]
    ⊘ blocked by mail and 1 more
    ↑ high Accounts model small
    Start [ Add login]
    ");
    let bare = Card { facts: Facts { priority: 3, ..Facts::default() }, ..card(State::new()) };
    assert_snapshot!(text(bare, &frame()), @"
    login
    ⋯ [Actions for login]
    ↓ low
    Start [ login]
    ");
}

#[test]
fn a_card_that_is_worked_on_says_for_how_long_and_what_the_last_review_said() {
    let mut working = card(state(Status::InProgress, Work::Implementing, 2));
    working.pips = vec![Outcome::Rejected];
    working.counts = Counts { critical: 1, high: 1, medium: 3, nit: 1, late: 1, ..Counts::default() };
    working.cost_usd = 0.42;
    let frame = Frame { implementer: Some("claude".to_owned()), reviewers: vec!["gpt".to_owned()], ..frame() };
    assert_snapshot!(text(working, &frame), @"
    Add login
    ⋯ [Actions for Add login]
    ▶ agent at work 3 min 20 s
    2/3 [iteration 2: rejected, under way] ✕ rejected
    2 errors 3 warnings 1 info 1 late
    claude → rules, gpt $0.42
    Stop [ Add login]
    ");
}

#[test]
fn a_card_at_the_gate_says_whether_it_runs_and_what_changed() {
    let mut reviewed = card(State { tries: 1, ..state(Status::CodeReview, Work::Reviewing, 3) });
    reviewed.pips = vec![Outcome::Rejected, Outcome::Rejected];
    reviewed.counts = Counts { high: 1, ..Counts::default() };
    reviewed.progress = Some(Progress { n_new: 1, n_resolved: 4 });
    let queued = CardView::new(1, reviewed.clone(), &frame(), NOW);
    assert_eq!(
        (queued.place.as_str(), queued.line.unwrap().words.as_str()),
        ("code_review.queued", "queued for review, try 2 of 3")
    );
    reviewed.is_claimed = true;
    assert_snapshot!(text(reviewed, &frame()), @"
    Add login
    ⋯ [Actions for Add login]
    ▶ under review, try 2 of 3 3 min 20 s
    3/3 [iteration 3: rejected, rejected, under way] ✕ rejected
    1 error −4 resolved +1 new
    no agent → rules
    Stop [ Add login]
    ");
}

#[test]
fn a_card_that_waits_for_a_person_says_why_and_what_can_be_done() {
    let mut paused = card(State {
        pause: Some(Pause::ReviewFailed),
        review: Review::Failed,
        commit: Some("c".to_owned()),
        committed: true,
        ..state(Status::CodeReview, Work::Nothing, 1)
    });
    paused.pips = vec![Outcome::Failed];
    paused.problem = Some("the service answered 503\nthree times".to_owned());
    let view = CardView::new(1, paused.clone(), &frame(), NOW);
    assert_snapshot!(view.ways, @"backlog:move in_progress:reject pipeline_docs:approve");
    assert_snapshot!(text(paused, &frame()), @"
    Add login
    ⋯ [Actions for Add login]
    ⚑ needs you: the review brought no answer 3 min 20 s ago
    ⚠ the service answered 503 three times
    1/3 [iteration 1: no answer] ! review failed
    no agent → rules
    Retry [ Add login]
    ");
}

#[test]
fn a_card_that_passed_says_who_let_it_pass() {
    // A person resumed it after three rounds.
    let passed = State { review: Review::Approved, round: 1, ..state(Status::WaitingApproval, Work::Nothing, 4) };
    let mut passed = card(passed);
    passed.pips = vec![Outcome::Rejected, Outcome::Rejected, Outcome::Rejected, Outcome::Approved];
    assert_snapshot!(text(passed.clone(), &frame()), @"
    Add login
    ⋯ [Actions for Add login]
    ⚑ approved, awaiting your approval 3 min 20 s ago
    1/3 [iteration 4: rejected, rejected, rejected, approved] ✓ approved
    no agent → rules
    Complete [ Add login]
    ");
    passed.pips.pop();
    assert_eq!(CardView::new(1, passed, &frame(), NOW).verdict.unwrap().words, "approved by hand");
}

#[test]
fn a_card_of_another_program_and_one_that_cannot_be_read_say_so() {
    let foreign = card(State { status: Status::Other("interrupted".to_owned()), ..State::new() });
    let view = CardView::new(1, foreign.clone(), &frame(), NOW);
    assert_eq!(
        (view.place.as_str(), view.first.is_none(), view.ways.as_str()),
        ("elsewhere", true, "waiting_approval:move verified:move")
    );
    assert_snapshot!(text(foreign, &frame()), @"
    Add login
    ⋯ [Actions for Add login]
    interrupted
    ");
    let broken = Card { broken: Some("line 1: expected `{`".to_owned()), ..card(State::new()) };
    let view = CardView::new(1, broken.clone(), &frame(), NOW);
    assert_eq!((view.first.is_none(), view.ways.as_str()), (true, ""));
    assert_snapshot!(text(broken, &frame()), @"
    Add login
    ⋯ [Actions for Add login]
    ⚠ its file cannot be read: line 1: expected `{`
    ");
}

/// Every text that comes from outside is hostile.
fn hostile_frame() -> Frame {
    let step = Step { id: StepId::parse("docs").unwrap(), name: HOSTILE.to_owned(), instructions: HOSTILE.to_owned() };
    let broken = BrokenBody { folder: HOSTILE.to_owned(), problem: HOSTILE.to_owned() };
    Frame {
        name: HOSTILE.to_owned(),
        steps: vec![step],
        notes: vec![HOSTILE.to_owned()],
        max_rounds: 3,
        implementer: Some(HOSTILE.to_owned()),
        reviewers: vec![HOSTILE.to_owned()],
        categories: vec![HOSTILE.to_owned()],
        broken: vec![broken],
    }
}

fn hostile_card() -> Card {
    let facts = Facts {
        title: HOSTILE.to_owned(),
        first_line: HOSTILE.to_owned(),
        category: Some(HOSTILE.to_owned()),
        model: Some(HOSTILE.to_owned()),
        ..Facts::default()
    };
    Card {
        branch: Some(HOSTILE.to_owned()),
        problem: Some(HOSTILE.to_owned()),
        broken: Some(HOSTILE.to_owned()),
        blocked_by: vec![Blocker { id: id("other"), title: HOSTILE.to_owned() }],
        ..Card::new(
            id("hostile"),
            State { status: Status::Other(HOSTILE.to_owned()), work: Work::Queued, iteration: 1, ..State::new() },
            facts,
        )
    }
}

#[track_caller]
fn check_harmless(markup: &str) {
    assert!(markup.contains("&lt;script&gt;"), "{markup}");
    for harm in ["<script>alert", "onload='x'", "\u{202e}", "\u{1b}", " style="] {
        assert!(!markup.contains(harm), "`{harm}` in {markup}");
    }
}

#[test]
fn nothing_that_people_or_programs_write_becomes_markup() {
    let frame = hostile_frame();
    check_harmless(&markup(hostile_card(), &frame));
    let search = Search {
        wanted: CardSearch {
            text: Some(HOSTILE.to_owned()),
            category: Some(HOSTILE.to_owned()),
            ..CardSearch::default()
        },
        ..Search::default()
    };
    let cards = vec![CardView::new(1, hostile_card(), &frame, NOW)];
    let place = BoardPlace::Column(Status::Step(StepId::parse("docs").unwrap()));
    let lane = column::LaneView::new(1, &place, &search, cards, 1, 900);
    let columns = vec![Column::new(1, &place, &frame, &search, vec![lane], 3, false)];
    let broken = frame.broken.clone();
    let board = BoardView { project: 1, search, columns, broken, n_fitting: 1, n_all: 1 };
    let page = BoardPage {
        chrome: Visitor::default().bare(HOSTILE),
        board,
        has_no_agent: true,
        notes: frame.notes.clone(),
        choices: column::choices(&frame),
        categories: frame.categories.clone(),
    };
    check_harmless(&page.render().unwrap());
    let feature = FeatureBody { broken: Some(HOSTILE.to_owned()), ..feature(State::new()) };
    check_harmless(&ActsFragment { acts: Acts::new(&feature, &frame) }.render().unwrap());
}

fn feature(state: State) -> FeatureBody {
    let row = FeatureRow {
        project: 1,
        id: id("login"),
        rev: 1,
        projected_rev: 1,
        state,
        facts: Facts { priority: 2, ..Facts::default() },
        document: Vec::new(),
        file_hash: None,
        broken: None,
        branch: None,
        target: None,
        base: None,
        worktree: None,
        problem: None,
        note: None,
        hook_output: None,
        cost_usd: 0.0,
        n_tokens: 0,
        created_ms: 0,
        updated_ms: 0,
    };
    FeatureBody::new(row, 3)
}

#[test]
fn actions_are_listed_with_the_reason_why_the_rest_is_not_possible() {
    let passed = State {
        review: Review::Approved,
        commit: Some("c".to_owned()),
        committed: true,
        stepped: true,
        ..state(Status::WaitingApproval, Work::Nothing, 1)
    };
    let acts = Acts::new(&feature(passed), &frame());
    let line = |choice: &acts::Choice| {
        let sign = if choice.is_possible { "+" } else { "-" };
        let note = choice.note.as_deref().map_or_else(String::new, |note| format!(": {note}"));
        format!("{sign} {} [{} {}]{note}\n", choice.words, choice.act, choice.to)
    };
    let said: String = acts.own.iter().chain(&acts.moves).map(line).collect();
    assert_snapshot!(said, @"
    + Send back … [reject ]: asks for a note, which the agent reads first
    + Backlog [move backlog]
    + In progress [reject in_progress]: send back leads there
    - Code review [move code_review]: a feature enters code review by itself, once an agent's work is committed
    - Docs [move pipeline_docs]: a feature enters the step `docs` by itself, once it has passed the gate
    + Verified [move verified]
    + Completed [move completed]
    ");
}

#[test]
fn the_rest_of_a_lane_is_offered_with_how_much_there_is() {
    let search =
        Search { wanted: CardSearch { text: Some("log in".to_owned()), ..CardSearch::default() }, ..Search::default() };
    let view = |shown, total| {
        let cards = vec![CardView::new(1, card(State::new()), &frame(), NOW)];
        let lane = column::LaneView::new(1, &BoardPlace::Column(Status::Backlog), &search, cards, shown, total);
        lane.more.map(|more| (more.words, more.fragment, more.href))
    };
    let (words, fragment, href) = view(50, 1812).unwrap();
    assert_eq!(words, "Show 50 more of 1,812");
    assert_eq!(fragment, "/projects/1/columns/backlog?q=log%20in&after=login&n=50");
    assert_eq!(href, "/projects/1?q=log%20in&after=login&n=50&status=backlog");
    assert_eq!(view(1790, 1812).unwrap().0, "Show 22 more of 1,812");
    assert!(view(50, 50).is_none());
}
